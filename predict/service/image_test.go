package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories/vision"
	"github.com/seed-301d4374/engram/server"
)

const wide, high = 320, 200

// sight is what a camera sees: a textured square that moves, in colour.
func sight(i float64) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, wide, high))
	for y := range high {
		for x := range wide {
			v := 90 + 12*math.Sin(float64(x)/20) + 12*math.Cos(float64(y)/17)
			if u, w := float64(x)-20-10*i, float64(y)-30-4*i; u >= 0 && w >= 0 && u < 90 && w < 80 {
				v = 160 + 40*math.Sin(u/8)*math.Cos(w/9)
			}
			img.Pix[img.PixOffset(x, y)] = uint8(v)
			img.Pix[img.PixOffset(x, y)+1] = uint8(v * 0.9)
			img.Pix[img.PixOffset(x, y)+2] = uint8(v * 0.8)
			img.Pix[img.PixOffset(x, y)+3] = 255
		}
	}
	return img
}

func rawOf(img *image.NRGBA) *foxglove.RawImage {
	b := img.Bounds()
	m := &foxglove.RawImage{Width: uint32(b.Dx()), Height: uint32(b.Dy()), Step: uint32(3 * b.Dx()), Encoding: "rgb8", FrameId: "eye"}
	for i := 0; i < len(img.Pix); i += 4 {
		m.Data = append(m.Data, img.Pix[i:i+3]...)
	}
	return m
}

func putImage(t testing.TB, s *server.Server, entity engram.ID, at engram.Time, m proto.Message) {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, s, engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{
		engram.NewInstance(engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b})}})
}

// apartFrom is the root mean square of the differences of two images' green.
func apartFrom(t testing.TB, p engram.Payload, truth *image.NRGBA) float64 {
	t.Helper()
	img, err := vision.Decode(p)
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != truth.Bounds() {
		t.Fatalf("the image is of %v", img.Bounds())
	}
	sum := 0.0
	for y := range truth.Rect.Dy() {
		for x := range truth.Rect.Dx() {
			_, a, _, _ := img.At(x, y).RGBA()
			_, b, _, _ := truth.At(x, y).RGBA()
			d := (float64(a) - float64(b)) / 257
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(truth.Rect.Dx()*truth.Rect.Dy()))
}

// Images of any format are predicted at their size, better than by the last one, and as surely as is said.
func TestPredictImages(t *testing.T) {
	s := memory(t)
	compressed := func(format string, encode func(*bytes.Buffer, image.Image) error) func(*image.NRGBA) proto.Message {
		return func(img *image.NRGBA) proto.Message {
			var b bytes.Buffer
			if err := encode(&b, img); err != nil {
				t.Fatal(err)
			}
			return &foxglove.CompressedImage{Format: format, Data: b.Bytes()}
		}
	}
	for name, message := range map[string]func(*image.NRGBA) proto.Message{
		"raw":  func(img *image.NRGBA) proto.Message { return rawOf(img) },
		"jpeg": compressed("jpeg", func(b *bytes.Buffer, img image.Image) error { return jpeg.Encode(b, img, nil) }),
		"png":  compressed("png", func(b *bytes.Buffer, img image.Image) error { return png.Encode(b, img) }),
	} {
		eye := engram.MustID("M/C/p/" + name)
		for i := range 20 { // at 10 Hz
			putImage(t, s, eye, engram.Time(0).Add(time.Duration(i)*step), message(sight(float64(i)/2)))
		}
		p := ask(t, s, eye, 21)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		truth := sight(10.5)
		last, err := s.Latest(t.Context(), eye)
		if err != nil {
			t.Fatal(err)
		}
		off, held := apartFrom(t, p.Snapshot.Instances[0].Payload, truth), apartFrom(t, last.Instances[0].Payload, truth)
		m := p.Members[0]
		if off > 0.8*held || !p.Snapshot.Predicted || p.Horizon != 2*step || len(p.From) != 3 {
			t.Errorf("%s: off by %.2f levels, the last image by %.2f; %v after, from %v", name, off, held, p.Horizon, p.From)
		}
		if len(p.Members) != 1 || m.Path != "luma" || m.Model != "motion" || m.Skill <= 0 || m.SD < off/3 || m.SD > off*2 || m.Low >= m.Mean || m.High <= m.Mean {
			t.Errorf("%s: off by %.2f, said %+v", name, off, p.Members)
		}
		if p := ask(t, s, eye, 19); p.Err != nil || p.Snapshot.Predicted {
			t.Errorf("%s: at the time of an image: %+v", name, p.Err)
		}
		if p := ask(t, s, eye, 18.5); !errors.Is(p.Err, engram.Unsupported) {
			t.Errorf("%s: between two: %v", name, p.Err)
		}
		if p := ask(t, s, eye, 60); !errors.Is(p.Err, engram.OutOfRange) {
			t.Errorf("%s: long after: %v", name, p.Err)
		}
	}
}

// What cannot be predicted says why: depth, a size that changes, images that come seldom, damaged ones.
func TestPredictImagesRefuses(t *testing.T) {
	s := memory(t)
	depth := engram.MustID("M/C/p/depth")
	seldom := engram.MustID("M/C/p/seldom")
	broken := engram.MustID("M/C/p/broken")
	for i := range 5 {
		putImage(t, s, depth, engram.Time(0).Add(time.Duration(i)*step), &foxglove.RawImage{Width: 2, Height: 1, Step: 4, Encoding: "16UC1", Data: []byte{1, 2, 3, 4}})
		putImage(t, s, seldom, engram.Time(0).Add(time.Duration(i)*time.Minute), &foxglove.RawImage{Width: 2, Height: 1, Step: 2, Encoding: "mono8", Data: []byte{1, 2}})
		putImage(t, s, broken, engram.Time(0).Add(time.Duration(i)*step), &foxglove.CompressedImage{Format: "jpeg", Data: []byte("no image")})
	}
	for of, want := range map[engram.ID]engram.Code{depth: engram.Unsupported, broken: engram.Corrupt} {
		if p := ask(t, s, of, 5); !errors.Is(p.Err, want) {
			t.Errorf("%s: %v, want %v", of, p.Err, want)
		}
	}
	if p := ask(t, s, seldom, float64(5*time.Minute/step)); !errors.Is(p.Err, engram.Unsupported) {
		t.Errorf("of images each minute: %v", p.Err)
	}
	eye := engram.MustID("M/C/p/eye")
	for i := range 20 {
		putImage(t, s, eye, engram.Time(0).Add(time.Duration(i)*step), rawOf(sight(float64(i)/2)))
	}
	small := rawOf(image.NewNRGBA(image.Rect(0, 0, 30, 20)))
	putImage(t, s, eye, engram.Time(0).Add(20*step), small)
	p := ask(t, s, eye, 21)
	if p.Err != nil || p.Members[0].Model != "hold" || !math.IsInf(p.Members[0].SD, 1) {
		t.Errorf("of another size: %+v, %v", p.Members, p.Err)
	}
}

// BenchmarkFirstImage is the first question about a camera of 1920 x 1080 pixels: ten images are read.
func BenchmarkFirstImage(b *testing.B) {
	s := memory(b)
	var file bytes.Buffer
	img := image.NewYCbCr(image.Rect(0, 0, 1920, 1080), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = uint8(128 + 60*math.Sin(float64(i%1920)/9)*math.Cos(float64(i/1920)/7))
	}
	if err := jpeg.Encode(&file, img, nil); err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		eye := engram.MustID(fmt.Sprintf("M/C/p/eye%d", n))
		for i := range 20 {
			putImage(b, s, eye, engram.Time(0).Add(time.Duration(i)*step), &foxglove.CompressedImage{Format: "jpeg", Data: file.Bytes()})
		}
		b.StartTimer()
		if p := ask(b, s, eye, 20); p.Err != nil {
			b.Fatal(p.Err)
		}
	}
}
