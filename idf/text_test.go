package idf

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func TestText(t *testing.T) {
	ty := zoo(t)
	joints := make([]float64, 43)
	joints[0], joints[1] = 0.1, 1.23456789
	b := mustEncode(t, ty, map[string]any{
		"name": "cup", "ratio": 0.1, "raw": make([]byte, 1234), "mood": "glad", "joints": joints,
		"points": []any{map[string]any{"x": 1, "label": "p"}, map[string]any{"x": 2}},
		"named":  map[string]any{"knee": map[string]any{"x": 3}, "a b": map[string]any{}},
		"rows":   [][]map[string]any{{{"x": 5}}}, "pair": []any{"l", nil}, "time": engram.Time(9e9), "took": "90s",
		"seen_in": engram.MustID("Vision/ImageRGB"), "array": [][]float64{{1, 2}, {3, 4}},
		"any":   map[string]any{"n": 5, "none": nil},
		"pose":  map[string]any{"position": map[string]any{"x": 0.1, "y": 0.2, "z": 0.3}, "orientation": map[string]any{"w": 1}},
		"image": map[string]any{"width": 640, "height": 480, "encoding": "rgb8", "frame_id": "cam", "data": make([]byte, 921_600)},
		"child": map[string]any{"count": 1},
	})
	for _, c := range []struct {
		opts TextOptions
		want string
	}{
		{TextOptions{Items: 2}, `name: "cup", ratio: 0.1, raw: 1,234 bytes, mood: glad, joints: [0.1, 1.23457, … 43 values], ` +
			`points: [{x: 1, label: "p"}, {x: 2}], named: {"a b": {}, knee: {x: 3}}, rows: [[{x: 5}]], pair: ("l", null), ` +
			`time: 1970-01-01 00:00:09.000000, took: 1m30s, seen_in: Vision/ImageRGB, array: float64 2x2 [1, 2, 3, 4], any: {n: 5, none: null}, ` +
			`pose: {position: (0.1, 0.2, 0.3), orientation: (x 0, y 0, z 0, w 1)}, image: RawImage rgb8 640x480, 921,600 bytes, frame "cam", child: {count: 1}`},
		{TextOptions{Lines: true, Items: 1}, `name: "cup"
count: 0
total: 0
ratio: 0.1
ok: false
raw: 1,234 bytes
mood: glad
joints: [0.1, … 43 values]
tags: []
points:
  [0]:
    x: 1
    y: 0
    label: "p"
  … 2 items
named:
  "a b":
    x: 0
    y: 0
    label: ""
  … 2 entries
numbered: {}
rows: [[{x: 5}]]
nested: {}
pair: ("l", null)
time: 1970-01-01 00:00:09.000000
took: 1m30s
seen_in: Vision/ImageRGB
links: []
array: float64 2x2 [1, 2, … 4 values]
any: {n: 5, … 2 entries}
extras: {}
pose:
  position: (0.1, 0.2, 0.3)
  orientation: (x 0, y 0, z 0, w 1)
image: RawImage rgb8 640x480, 921,600 bytes, frame "cam"
child:
  name: ""
  count: 1
  total: 0
  ratio: 0
  ok: false
  raw: 0 bytes
  mood: none
  joints: []
  tags: []
  points: []
  named: {}
  numbered: {}
  rows: []
  nested: {}
  links: []
  extras: {}
  far: 0
far: 0`},
	} {
		got, err := ty.Text(b, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%+v:\n%s\nnot\n%s", c.opts, got, c.want)
		}
	}
}

func TestTextSummaries(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	var asJPEG, asPNG bytes.Buffer
	if err := jpeg.Encode(&asJPEG, img, nil); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&asPNG, img); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ  string
		v    map[string]any
		want string
	}{
		{"foxglove.CompressedImage", map[string]any{"format": "jpeg", "data": asJPEG.Bytes()}, "CompressedImage jpeg 64x48, " + grouped(asJPEG.Len()) + " bytes"},
		{"foxglove.CompressedImage", map[string]any{"format": "png", "data": asPNG.Bytes(), "frame_id": "cam"}, "CompressedImage png 64x48, " + grouped(asPNG.Len()) + ` bytes, frame "cam"`},
		{"foxglove.CompressedImage", map[string]any{"format": "webp", "data": []byte("RIFF")}, "CompressedImage webp, 4 bytes"},
		{"foxglove.PointCloud", map[string]any{"point_stride": 16, "data": make([]byte, 16*1200)}, "PointCloud of 1,200 points, 19,200 bytes"},
		{"foxglove.PointCloud", map[string]any{}, "PointCloud, 0 bytes"},
		{"foxglove.CompressedImage", map[string]any{"format": "png"}, `format: "png"`}, // the one member that was asked for
		{"foxglove.Vector3", map[string]any{"x": 1e-9, "z": -1234567.891}, "(1e-09, 0, -1.23457e+06)"},
	} {
		ty := known(t, c.typ)
		if got, err := ty.Text(mustEncode(t, ty, c.v), TextOptions{}); err != nil || got != c.want {
			t.Errorf("%s: %q, not %q (%v)", c.typ, got, c.want, err)
		}
	}
	value := known(t, engram.ValueType)
	b, err := EncodeValue([]any{1, "x", nil, map[string]any{"t": engram.Time(0)}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := value.Text(b, TextOptions{Lines: true}); err != nil || got != `[1, "x", null, {t: 1970-01-01 00:00:00.000000}]` {
		t.Errorf("%s (%v)", got, err)
	}
}

// TestTextOfAnything: every payload that is a wire form has a text.
func TestTextOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, _ := contents{t: t}.wire(ty.Descriptor())
		one, err := ty.Text(b, TextOptions{})
		if err != nil || bytes.ContainsRune([]byte(one), '\n') {
			t.Fatalf("%q, %v", one, err)
		}
		if _, err := ty.Text(b, TextOptions{Lines: true, Items: -1}); err != nil {
			t.Fatal(err)
		}
	})
}
