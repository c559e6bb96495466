package codec

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// noFFmpeg makes the machine one without ffmpeg.
func noFFmpeg(t testing.TB) { t.Setenv("PATH", t.TempDir()) }

// Whatever an image looks like, its exact codec gives back the bytes of its payload.
func TestExactWithoutFFmpeg(t *testing.T) {
	noFFmpeg(t)
	noLeaks(t)
	var names []string
	for name := range encodings {
		names = append(names, name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "encoding")
		width, height := rapid.IntRange(1, 40).Draw(rt, "width"), rapid.IntRange(1, 40).Draw(rt, "height")
		row := width * encodings[name].bytes
		step := row + rapid.SampledFrom([]int{0, 0, 1, 64}).Draw(rt, "padding")
		data := rapid.SliceOfN(rapid.Byte(), step*height, step*height).Draw(rt, "data")
		if rapid.Bool().Draw(rt, "clean") {
			for y := range height {
				clear(data[y*step+row : (y+1)*step])
			}
		}
		p := rawPayload(t, width, height, step, name, data, timeOf(0))
		want := []*engram.Snapshot{snapshotOf(0, p, p), snapshotOf(1, p)}
		sameSnapshots(t, decodeAll(t, Config{Codec: Image}, encodeAll(t, Config{Codec: Image}, want...)...), want, 0)
	})
}

// Colours survive their way through planes: exactly in luma, nearly in 4:4:4.
func TestPlanes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"rgb8", "bgr8", "rgba8", "bgra8", "mono8"}).Draw(rt, "encoding")
		width, height := rapid.IntRange(1, 20).Draw(rt, "width"), rapid.IntRange(1, 20).Draw(rt, "height")
		n := rapid.IntRange(1, 3).Draw(rt, "views")
		e := encodings[name]
		g := geometry{width, height, width*e.bytes + rapid.IntRange(0, 5).Draw(rt, "padding"), e}
		for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio444} {
			frame, at := planesOf(n, width, height, ratio)
			for i := range n {
				data := rapid.SliceOfN(rapid.Byte(), g.step*height, g.step*height).Draw(rt, "data")
				p := picture{shape: rawImage, geometry: g, pixels: data}
				p.fill(frame, at(i), frame.Rect.Dx()*(i+1)/n)
				back := make([]byte, len(data))
				g.paint(back, view(frame, at(i), width, height), 7)
				for y := range height {
					for x := range width {
						px, got := data[y*g.step+x*e.bytes:], back[y*g.step+x*e.bytes:]
						if e.alpha >= 0 && got[e.alpha] != 7 {
							rt.Fatalf("alpha came back as %d", got[e.alpha])
						}
						for _, o := range []int{e.r, e.g, e.b} {
							if diff := int(px[o]) - int(got[o]); ratio == image.YCbCrSubsampleRatio444 && (diff > 2 || diff < -2) {
								rt.Fatalf("%s pixel %d,%d of view %d is %v, was %v", name, x, y, i, got[:e.bytes], px[:e.bytes])
							}
						}
					}
				}
			}
		}
	})
}

// What is beyond the image's edge repeats it, so that it costs nothing.
func TestPlanesExtend(t *testing.T) {
	p := picture{shape: rawImage, geometry: geometry{17, 3, 51, encodings["rgb8"]}, pixels: bytes.Repeat([]byte{200, 10, 30}, 51)}
	frame, at := planesOf(2, 17, 3, image.YCbCrSubsampleRatio420)
	p.fill(frame, at(0), at(1))
	p.fill(frame, at(1), frame.Rect.Dx())
	for _, plane := range [][]byte{frame.Y, frame.Cb, frame.Cr} {
		if !bytes.Equal(plane, bytes.Repeat(plane[:1], len(plane))) {
			t.Errorf("a picture of one colour has several: %v", plane)
		}
	}
}

// A payload that is taken apart is put together to the same bytes, or stays plain.
func TestEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			number := protowire.Number(rapid.SampledFrom([]int32{1, 2, 6, 7, 99, 5000}).Draw(t, "number"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), rapid.Uint64().Draw(t, "v"))
			case 1:
				b = protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), rapid.Uint32().Draw(t, "v"))
			case 2:
				// A length that takes a byte more than it needs.
				b = append(protowire.AppendTag(b, number, protowire.BytesType), 0x81, 0x00, 'x')
			default:
				b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), rapid.SliceOf(rapid.Byte()).Draw(t, "v"))
			}
		}
		p := engram.Payload{Type: "some.Type", Bytes: b}
		e, data, ok := openEnvelope(p, 6)
		if !ok {
			return
		}
		parsed, ok := parseEnvelope(e.append(nil))
		if !ok || !parsed.same(&e) {
			t.Fatalf("%+v comes back as %+v", e, parsed)
		}
		parsed.stamp = e.stamp
		if got := parsed.payload(data); !bytes.Equal(got.Bytes, b) || got.Type != p.Type {
			t.Fatalf("% x\ncomes back as\n% x", b, got.Bytes)
		}
	})
}

func TestEnvelopeFindsPixels(t *testing.T) {
	p := rawPayload(t, 2, 1, 6, "rgb8", []byte("pixels"), timeOf(0))
	e, data, ok := openEnvelope(p, rawData)
	if !ok || string(data) != "pixels" || string(e.stringField(rawFrameID)) != "camera" || e.stampAt != 0 {
		t.Fatalf("%+v %q %v", e, data, ok)
	}
}

// extended is a provider's type: a RawImage with members of its own.
const extended = `syntax = "proto3";
package lab;
import "google/protobuf/timestamp.proto";
message Thermal {
  google.protobuf.Timestamp timestamp = 1;
  string frame_id = 7;
  fixed32 width = 2;
  fixed32 height = 3;
  string encoding = 4;
  fixed32 step = 5;
  bytes data = 6;
  double exposure = 20;
  string note = 21;
}`

func extendedPayload(t testing.TB, p engram.Payload, note string) engram.Payload {
	b := protowire.AppendFixed64(protowire.AppendTag(bytes.Clone(p.Bytes), 20, protowire.Fixed64Type), 4611686018427387904)
	b = protowire.AppendString(protowire.AppendTag(b, 21, protowire.BytesType), note)
	return engram.Payload{Type: "lab.Thermal", Bytes: b}
}

func extendedTypes(t testing.TB) *idf.Registry {
	t.Helper()
	defs, err := idf.CompileProto(idf.Source{mapFS("thermal.proto", extended)}, "thermal.proto")
	if err != nil {
		t.Fatal(err)
	}
	types := idf.NewRegistry()
	for _, d := range defs {
		if _, err := types.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return types
}

// A committed PNG or JPEG that a policy has stored as another file is of its format
// when it comes back; what cannot be stays as it was.
func TestCompressedImages(t *testing.T) {
	noFFmpeg(t)
	files := realJPEGs(t, "g1_bottle_2", 10, 1, 1)
	img, _, err := image.Decode(bytes.NewReader(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	rgba := image.NewRGBA(img.Bounds())
	for y := range 480 {
		for x := range 640 {
			rgba.Set(x, y, img.At(x, y))
		}
	}
	var asPNG, grey16 bytes.Buffer
	if err := png.Encode(&asPNG, rgba); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&grey16, image.NewGray16(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	compressed := func(format string, data []byte) engram.Payload {
		return payloadOf(t, &foxglove.CompressedImage{Timestamp: timestamppb.New(timeOf(0).Std()), FrameId: "c", Format: format, Data: data})
	}
	want := []*engram.Snapshot{
		snapshotOf(0, compressed("jpeg", files[0])),
		snapshotOf(1, compressed("png", asPNG.Bytes())),
		snapshotOf(2, compressed("16UC1; png", grey16.Bytes())),
		snapshotOf(3, compressed("webp", []byte("RIFF0000WEBP"))),
		snapshotOf(4, compressed("jpeg", files[0][:200])),
	}
	got := decodeAll(t, Config{Codec: JPEG}, encodeAll(t, Config{Codec: JPEG}, want...)...)
	sameSnapshots(t, got[:2], want[:2], 39)
	sameSnapshots(t, got[2:], want[2:], 0)
	for i, magic := range []string{"\xff\xd8\xff", "\x89PNG"} {
		pic, _ := openPicture(got[i].Instances[0].Payload, newShapes(Config{}))
		if !bytes.HasPrefix(pic.pixels, []byte(magic)) {
			t.Errorf("image %d is not of its format any more", i)
		}
	}
	sameSnapshots(t, decodeAll(t, Config{Codec: Image}, encodeAll(t, Config{Codec: Image}, want...)...), want, 0)
}

// Without ffmpeg, real images become JPEGs that are as good as asked.
func TestJPEGIsAsGoodAsAsked(t *testing.T) {
	noFFmpeg(t)
	noLeaks(t)
	want := stereo(t, 3, 30, "rgba8")
	for _, quality := range []float64{34, 40, 45} {
		c := Config{Codec: Video, Quality: quality}
		messages := encodeAll(t, c, want...)
		for _, m := range messages {
			if m.Type != compressedType {
				t.Errorf("a message is a %s", m.Type)
			}
		}
		sameSnapshots(t, decodeAll(t, c, messages...), want, quality)
	}
	// Beyond what JPEG can do, it is exact.
	sameSnapshots(t, decodeAll(t, Config{Codec: JPEG}, encodeAll(t, Config{Codec: JPEG, Quality: 60}, want...)...), want, 0)
}

func TestQualityMustBeOne(t *testing.T) {
	for _, quality := range []float64{-1, 101} {
		if _, _, err := NewEncoder(Config{Codec: Video, Quality: quality}); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("a quality of %v dB: %v", quality, err)
		}
	}
}

func TestForImages(t *testing.T) {
	types := extendedTypes(t)
	for name, want := range map[string]string{
		"foxglove.RawImage": Video, "lab.Thermal": Video, "foxglove.CompressedImage": Plain, "foxglove.Log": "",
	} {
		typ, ok := types.Get(name)
		if !ok {
			t.Fatal(name)
		}
		if got, ok := ForImages(typ, false); got != want || ok != (want != "") {
			t.Errorf("%s is coded as %q, %v", name, got, ok)
		}
	}
}

// FuzzImageDecoder feeds the decoder messages; video finds no ffmpeg.
func FuzzImageDecoder(f *testing.F) {
	f.Setenv("PATH", f.TempDir())
	small := rawPayload(f, 4, 3, 12, "rgb8", bytes.Repeat([]byte{9, 200, 30}, 12), timeOf(0))
	depth := rawPayload(f, 4, 3, 8, "16UC1", make([]byte, 24), timeOf(0))
	for _, codec := range []string{JPEG, Image} {
		for _, m := range encodeAll(f, Config{Codec: codec}, snapshotOf(0, small), snapshotOf(1, depth)) {
			f.Add(m.Bytes, m.Type == videoType, m.Key)
		}
	}
	e, _, _ := openEnvelope(small, rawData)
	for _, format := range []string{formatH264, formatFFV1, formatJPEG, formatPNG, formatDepth} {
		c := coded{format: format, data: []byte{1, 2, 3}, envelopes: []envelope{e}, width: 4, height: 3, extra: []byte{1}, alpha: []byte{0}}
		_, b := c.message()
		f.Add(b, c.isVideo(), true)
		c.repeated = true
		_, b = c.message()
		f.Add(b, c.isVideo(), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, video, key bool) {
		d := &imageDecoder{last: &coded{format: formatH264, envelopes: []envelope{e}, width: 4, height: 3}}
		m := Message{Type: compressedType, Bytes: b, Key: key, Snapshots: []*engram.Snapshot{snapshotOf(0, small)}}
		if video {
			m.Type = videoType
		}
		s, err := d.Decode(t.Context(), m, nil)
		switch code := engram.CodeOf(err); code {
		case 0:
			if len(s) != 1 || len(s[0].Instances) != 1 {
				t.Fatalf("%d snapshots", len(s))
			}
		case engram.Corrupt, engram.Unsupported, engram.Unavailable:
		default:
			t.Fatal(err)
		}
	})
}

func FuzzOpenPicture(f *testing.F) {
	f.Add(rawPayload(f, 4, 3, 12, "rgb8", make([]byte, 36), timeOf(0)).Bytes, true)
	f.Add(payloadOf(f, &foxglove.CompressedImage{Format: "jpeg", Data: []byte("\xff\xd8\xff\xe0")}).Bytes, false)
	f.Fuzz(func(t *testing.T, b []byte, raw bool) {
		p := engram.Payload{Type: compressedType, Bytes: b}
		if raw {
			p.Type = rawType
		}
		pic, ok := openPicture(p, newShapes(Config{}))
		if !ok {
			return
		}
		if got := pic.payload(pic.pixels); !bytes.Equal(got.Bytes, b) {
			t.Fatalf("% x\ncomes back as\n% x", b, got.Bytes)
		}
		s := stillCoder{quality: 40}
		for _, code := range []func(*picture) (*coded, bool){s.lossy, s.exact} {
			if c, ok := code(pic); ok {
				if _, err := decodeStill(c); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
