package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// depthScene returns a tilted floor with a box before it, noise as of a structured
// light sensor and a shadow where it sees nothing, in millimetres.
func depthScene(width, height int, seed uint64) []uint16 {
	r := random(seed)
	values := make([]uint16, width*height)
	for y := range height {
		for x := range width {
			z := 900 + 4*float64(height-y)
			switch {
			case x > width/3 && x < width/2 && y > height/3 && y < height/2:
				z = 800
			case x >= width/2 && x < width/2+9 && y > height/3 && y < height/2:
				continue
			}
			values[y*width+x] = uint16(z + r.NormFloat64()*z*z*2e-6)
		}
	}
	return values
}

func le16(values []uint16) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func genValues(t *rapid.T, n int) []uint16 {
	some := rapid.SliceOfN(rapid.Uint16(), 1, 4).Draw(t, "some")
	any := rapid.OneOf(rapid.Just(uint16(0)), rapid.SampledFrom(some), rapid.Uint16(), rapid.Uint16Range(1000, 1010))
	return rapid.SliceOfN(any, n, n).Draw(t, "values")
}

// What each way of coding depth writes, it reads back.
func TestDepthWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 20).Draw(t, "width"), rapid.IntRange(1, 20).Draw(t, "height")
		values := genValues(t, width*height)
		back := make([]uint16, len(values))
		if !readRVL(back, appendRVL(nil, values)) || !slices.Equal(back, values) {
			t.Fatal("RVL")
		}
		clear(back)
		if b := appendPalette(nil, values); b != nil && (!readPalette(back, b) || !slices.Equal(back, values)) {
			t.Fatal("palette")
		}
		errors := make([]byte, 2*len(values))
		planes(errors, values, width)
		clear(back)
		fromPlanes(back, errors, width)
		if !slices.Equal(back, values) {
			t.Fatal("planes")
		}
		words, wordsBack := make([]uint32, len(values)), make([]uint32, len(values))
		for i, v := range values {
			words[i] = uint32(v) * 2654435761
		}
		errors = make([]byte, 4*len(values))
		planes(errors, words, width)
		fromPlanes(wordsBack, errors, width)
		if !slices.Equal(wordsBack, words) {
			t.Fatal("words")
		}
	})
}

func TestPaletteOf256And257(t *testing.T) {
	values := make([]uint16, 257)
	for i := range values {
		values[i] = uint16(i * 3)
	}
	if b := appendPalette(nil, values); b != nil {
		t.Error("257 values have a palette")
	}
	values = values[:256]
	back := make([]uint16, 256)
	if b := appendPalette(nil, values); !readPalette(back, b) || !slices.Equal(back, values) {
		t.Error("256 values do not come back from their palette")
	}
}

// Depth of every kind and form comes back bit by bit, without ffmpeg and, where it
// races against it, with it.
func TestDepthIsExact(t *testing.T) {
	const width, height = 160, 120
	scene := depthScene(width, height, 1)
	words := func(f func(v uint16) uint32) (b []byte) {
		for _, v := range scene {
			b = binary.LittleEndian.AppendUint32(b, f(v))
		}
		return b
	}
	nan := math.Float32bits(float32(math.NaN()))
	steps := make([]uint16, len(scene))
	for i, v := range scene {
		steps[i] = v / 100 * 100
	}
	cases := []struct {
		name, encoding string
		data           []byte
		most           float64 // of the raw bytes
	}{
		{"noise", "16UC1", le16(scene), 0.45},
		{"few values", "mono16", le16(steps), 0.05},
		{"empty", "16UC1", make([]byte, 2*width*height), 0.01},
		{"metres", "32FC1", words(func(v uint16) uint32 { return metres(v, false) }), 0.25},
		{"metres by multiplication", "32FC1", words(func(v uint16) uint32 { return metres(v, true) }), 0.25},
		{"metres with gaps", "32FC1", words(func(v uint16) uint32 {
			if v == 0 {
				return nan
			}
			return metres(v, false)
		}), 0.25},
		{"computed", "32FC1", words(func(v uint16) uint32 { return math.Float32bits(1 / float32(v+1)) }), 0.95},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			step := len(test.data) / height
			var want []*engram.Snapshot
			for i := range 3 {
				want = append(want, snapshotOf(i, rawPayload(t, width, height, step, test.encoding, test.data, timeOf(i))))
			}
			for _, codec := range []string{Image, Video, JPEG} {
				messages := encodeAll(t, Config{Codec: codec}, want...)
				for _, m := range messages {
					if share := float64(len(m.Bytes)) / float64(len(test.data)); share > test.most {
						t.Errorf("%s takes %.3f of the raw bytes", codec, share)
					}
				}
				sameSnapshots(t, decodeAll(t, Config{Codec: codec}, messages...), want, 0)
			}
		})
	}
}

func BenchmarkDepth(b *testing.B) {
	scene := depthScene(640, 480, 1)
	p := &picture{geometry: geometry{640, 480, 1280, encodings["16UC1"]}, pixels: le16(scene)}
	var d depthCoder
	coded := d.encode(p)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			coded = d.encode(p)
		}
		b.ReportMetric(float64(len(coded))/float64(len(p.pixels)), "ratio")
	})
	for name, way := range map[string]byte{"RVL": depthRVL, "planes": depthPlanes} {
		b.Run(name, func(b *testing.B) {
			var size int
			for b.Loop() {
				size = len(d.in(way, nil, scene, 640))
			}
			b.ReportMetric(float64(size)/float64(len(p.pixels)), "ratio")
		})
	}
	b.Run("decode", func(b *testing.B) {
		back := make([]byte, len(p.pixels))
		for b.Loop() {
			if err := decodeDepth(coded, &p.geometry, back); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func FuzzDepth(f *testing.F) {
	var d depthCoder
	scene := depthScene(16, 12, 1)
	p := &picture{geometry: geometry{16, 12, 32, encodings["16UC1"]}, pixels: le16(scene)}
	f.Add(d.encode(p), true)
	for _, way := range []byte{depthRVL, depthPlanes, depthPalette} {
		f.Add(d.in(way, nil, scene, 16), true)
	}
	if b, ok := d.millimetres(make([]uint32, 16*12), 16); ok {
		f.Add(b, false)
	}
	f.Add([]byte{depthWords}, false)
	f.Fuzz(func(t *testing.T, b []byte, narrow bool) {
		g := geometry{16, 12, 16 * 4, encodings["32FC1"]}
		if narrow {
			g = geometry{16, 12, 16 * 2, encodings["16UC1"]}
		}
		err := decodeDepth(b, &g, make([]byte, g.step*g.height))
		if err != nil && engram.CodeOf(err) != engram.Corrupt {
			t.Fatal(err)
		}
	})
}
