package vision

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

func payload(t testing.TB, m proto.Message) engram.Payload {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b}
}

func raw(encoding string, width, height, step uint32, data ...byte) *foxglove.RawImage {
	return &foxglove.RawImage{Width: width, Height: height, Step: step, Encoding: encoding, Data: data, FrameId: "camera"}
}

func le32(f ...float32) (b []byte) {
	for _, v := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestDecodeRaw(t *testing.T) {
	red, blue := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 255, 255}
	for _, c := range []struct {
		name string
		img  *foxglove.RawImage
		want []color.Color // row by row
	}{
		{"rgb8", raw("rgb8", 2, 1, 6, 255, 0, 0, 0, 0, 255), []color.Color{red, blue}},
		{"rgb8 with padded rows, the last one not", raw("rgb8", 1, 2, 5, 255, 0, 0, 9, 9, 0, 0, 255), []color.Color{red, blue}},
		{"rgb8 without a step", raw("rgb8", 1, 2, 0, 255, 0, 0, 0, 0, 255), []color.Color{red, blue}},
		{"bgr8", raw("bgr8", 2, 1, 6, 0, 0, 255, 255, 0, 0), []color.Color{red, blue}},
		{"8UC3", raw("8UC3", 1, 1, 3, 0, 0, 255), []color.Color{red}},
		{"rgba8", raw("rgba8", 1, 1, 4, 1, 2, 3, 4), []color.Color{color.NRGBA{1, 2, 3, 4}}},
		{"bgra8", raw("bgra8", 1, 1, 4, 3, 2, 1, 4), []color.Color{color.NRGBA{1, 2, 3, 4}}},
		{"mono8", raw("mono8", 2, 1, 2, 0, 200), []color.Color{color.Gray{0}, color.Gray{200}}},
		{"bayer", raw("bayer_rggb8", 2, 1, 2, 7, 200), []color.Color{color.Gray{7}, color.Gray{200}}},
		{"mono16", raw("mono16", 1, 1, 2, 0x34, 0x12), []color.Color{color.Gray16{0x1234}}},
		{"16UC1", raw("16UC1", 1, 1, 2, 0xe8, 0x03), []color.Color{color.Gray16{1000}}},
		{"32FC1 in mm", raw("32FC1", 4, 1, 16, le32(1.2345, float32(math.NaN()), -1, 100)...), []color.Color{
			color.Gray16{1235}, color.Gray16{0}, color.Gray16{0}, color.Gray16{65535},
		}},
		{"32FC1 infinity", raw("32FC1", 1, 1, 4, le32(float32(math.Inf(1)))...), []color.Color{color.Gray16{0}}},
		{"uyvy", raw("uyvy", 2, 1, 4, 100, 10, 150, 20), []color.Color{color.YCbCr{10, 100, 150}, color.YCbCr{20, 100, 150}}},
		{"yuyv", raw("yuyv", 2, 1, 4, 10, 100, 20, 150), []color.Color{color.YCbCr{10, 100, 150}, color.YCbCr{20, 100, 150}}},
		{"yuyv of odd width", raw("yuyv", 1, 1, 2, 10, 128), []color.Color{color.YCbCr{10, 128, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, err := Decode(payload(t, c.img))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := img.Bounds(), image.Rect(0, 0, int(c.img.Width), int(c.img.Height)); got != want {
				t.Fatalf("bounds %v, want %v", got, want)
			}
			for i, want := range c.want {
				if got := img.At(i%int(c.img.Width), i/int(c.img.Width)); got != want {
					t.Errorf("pixel %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 32, 32)), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    engram.Payload
		code engram.Code
	}{
		{"another type", engram.Payload{Type: "foxglove.PointCloud"}, engram.Unsupported},
		{"not wire form", engram.Payload{Type: rawType, Bytes: []byte{0xff}}, engram.Corrupt},
		{"unknown encoding", payload(t, raw("cmyk", 1, 1, 4, 1, 2, 3, 4)), engram.Unsupported},
		{"too few bytes", payload(t, raw("rgb8", 2, 2, 6, 1, 2, 3, 4, 5, 6, 7)), engram.Corrupt},
		{"step shorter than a row", payload(t, raw("rgb8", 2, 1, 5, 1, 2, 3, 4, 5, 6)), engram.Corrupt},
		{"no pixels", payload(t, raw("rgb8", 0, 0, 0)), engram.Corrupt},
		{"too many pixels", payload(t, raw("mono8", 1<<31-1, 1<<31-1, 0, 1)), engram.Exhausted},
		{"more pixels than a number holds", payload(t, raw("mono8", math.MaxUint32, math.MaxUint32, 0, 1)), engram.Exhausted},
		{"empty compressed", payload(t, &foxglove.CompressedImage{Format: "jpeg"}), engram.Corrupt},
		{"avif", payload(t, &foxglove.CompressedImage{Format: "avif", Data: []byte("ftypavif")}), engram.Unsupported},
		{"cut jpeg", payload(t, &foxglove.CompressedImage{Format: "jpeg", Data: jpg.Bytes()[:jpg.Len()-20]}), engram.Corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(c.p); engram.CodeOf(err) != c.code {
				t.Errorf("got %v (%v), want %v", err, engram.CodeOf(err), c.code)
			}
		})
	}
}

func TestExport(t *testing.T) {
	gradient := raw("rgb8", 16, 8, 48)
	for i := range 16 * 8 {
		gradient.Data = append(gradient.Data, byte(i), byte(2*i), 128)
	}
	for _, format := range []string{"", "png", ".PNG", "jpg", ".jpeg"} {
		var out bytes.Buffer
		if err := Export(&out, payload(t, gradient), format); err != nil {
			t.Fatalf("%q: %v", format, err)
		}
		img, got, err := image.Decode(&out)
		if err != nil || img.Bounds() != image.Rect(0, 0, 16, 8) {
			t.Fatalf("%q: %v, %v", format, img, err)
		}
		if want := map[bool]string{true: "jpeg", false: "png"}[formatName(format) == "jpeg"]; got != want {
			t.Errorf("%q was written as %s", format, got)
		}
		if r, g, b, _ := img.At(3, 1).RGBA(); got == "png" && (r>>8 != 19 || g>>8 != 38 || b>>8 != 128) {
			t.Errorf("%q: pixel (3, 1) is %d %d %d", format, r>>8, g>>8, b>>8)
		}
	}
	if err := Export(&bytes.Buffer{}, payload(t, gradient), "bmp"); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("bmp: %v", err)
	}

	// A compressed image passes through byte by byte, or is converted.
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 32, 24)), nil); err != nil {
		t.Fatal(err)
	}
	p := payload(t, &foxglove.CompressedImage{Format: "rgb8; jpeg compressed bgr8", Data: jpg.Bytes()})
	var out bytes.Buffer
	if err := Export(&out, p, "jpg"); err != nil || !bytes.Equal(out.Bytes(), jpg.Bytes()) {
		t.Errorf("a JPEG did not pass through: %v", err)
	}
	out.Reset()
	if err := Export(&out, p, "png"); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&out); err != nil || img.Bounds() != image.Rect(0, 0, 32, 24) {
		t.Errorf("a JPEG became %v, %v", img, err)
	}
}

// TestExportColourJPEG expects 8 bits per channel and the colours of the JPEG.
func TestExportColourJPEG(t *testing.T) {
	colours := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 256 {
		colours.Set(i%16, i/16, color.RGBA{200, 80, uint8(i), 255})
	}
	var jpg, out bytes.Buffer
	if err := jpeg.Encode(&jpg, colours, nil); err != nil {
		t.Fatal(err)
	}
	want, err := jpeg.Decode(bytes.NewReader(jpg.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	p := payload(t, &foxglove.CompressedImage{Format: "jpeg", Data: jpg.Bytes()})
	if err := Export(&out, p, "png"); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := img.(*image.RGBA); !ok {
		t.Errorf("the PNG decodes as %T, not as one of 8 bits per channel", img)
	}
	for i := range 256 {
		r, g, b, _ := img.At(i%16, i/16).RGBA()
		wr, wg, wb, _ := want.At(i%16, i/16).RGBA()
		if r>>8 != wr>>8 || g>>8 != wg>>8 || b>>8 != wb>>8 {
			t.Fatalf("pixel %d is %d %d %d, want %d %d %d", i, r>>8, g>>8, b>>8, wr>>8, wg>>8, wb>>8)
		}
	}
}

func TestCompressedDepth(t *testing.T) {
	depth := image.NewGray16(image.Rect(0, 0, 4, 4))
	depth.SetGray16(1, 2, color.Gray16{Y: 1234})
	var file bytes.Buffer
	if err := png.Encode(&file, depth); err != nil {
		t.Fatal(err)
	}
	p := payload(t, &foxglove.CompressedImage{
		Format: "16UC1; compressedDepth", Data: append(make([]byte, 12), file.Bytes()...),
	})
	img, err := Decode(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := img.At(1, 2); got != (color.Gray16{1234}) {
		t.Errorf("depth is %v", got)
	}
	var out bytes.Buffer
	if err := Export(&out, p, "png"); err != nil || !bytes.Equal(out.Bytes(), file.Bytes()) {
		t.Errorf("the PNG inside did not pass through: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	info, err := Describe(payload(t, raw("mono8", 2, 2, 2, 1, 2, 3, 4)))
	if want := (Info{Width: 2, Height: 2, Encoding: "mono8", FrameID: "camera", Bytes: 4}); err != nil || info != want {
		t.Errorf("got %+v, %v; want %+v", info, err, want)
	}
	if got := info.String(); got != "2x2 mono8, 4 B" {
		t.Errorf("text %q", got)
	}
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 320, 200)), nil); err != nil {
		t.Fatal(err)
	}
	info, err = Describe(payload(t, &foxglove.CompressedImage{Format: "jpg", Data: jpg.Bytes(), FrameId: "left"}))
	if want := (Info{Width: 320, Height: 200, Format: "jpeg", FrameID: "left", Bytes: jpg.Len()}); err != nil || info != want {
		t.Errorf("got %+v, %v; want %+v", info, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	var jpg, pic bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		f.Fatal(err)
	}
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		f.Fatal(err)
	}
	f.Add(true, payload(f, raw("rgb8", 2, 1, 6, 1, 2, 3, 4, 5, 6)).Bytes)
	f.Add(true, payload(f, raw("yuyv", 3, 1, 6, 1, 2, 3, 4, 5, 6)).Bytes)
	f.Add(true, payload(f, raw("32FC1", 1, 1, 4, 1, 2, 3, 4)).Bytes)
	f.Add(false, payload(f, &foxglove.CompressedImage{Format: "jpeg", Data: jpg.Bytes()}).Bytes)
	f.Add(false, payload(f, &foxglove.CompressedImage{Format: "png", Data: pic.Bytes()}).Bytes)
	f.Fuzz(func(t *testing.T, isRaw bool, b []byte) {
		p := engram.Payload{Type: compressedType, Bytes: b}
		if isRaw {
			p.Type = rawType
		}
		if info, err := Describe(p); err == nil && info.Width*info.Height > 1<<20 {
			return // allocates as much as it should
		}
		img, err := Decode(p)
		if err == nil && img.Bounds().Empty() {
			t.Error("an image without pixels")
		}
		if c := engram.CodeOf(err); err != nil && c != engram.Corrupt && c != engram.Unsupported && c != engram.Exhausted {
			t.Errorf("%v has code %v", err, c)
		}
	})
}
