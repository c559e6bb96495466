package idf

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

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
			`pose: {position: (0.1, 0.2, 0.3), orientation: (0, 0, 0, 1)}, image: RawImage rgb8 640x480, 921,600 bytes, frame "cam", child: {count: 1}`},
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
  orientation: (0, 0, 0, 1)
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

// A payload beside the one before: what differs stands first, also what is zero or unset now; a
// timestamp that stands beside the line is left out.
func TestDifference(t *testing.T) {
	ty := zoo(t)
	nan := math.NaN()
	before := map[string]any{"name": "cup", "ratio": nan, "count": 3, "seen_in": engram.MustID("Vision/ImageRGB"), "joints": []float64{1, nan}}
	for _, c := range []struct {
		change        map[string]any
		changed, same string
	}{
		{nil, "", `name: "cup", count: 3, ratio: NaN, joints: [1, NaN], seen_in: Vision/ImageRGB`},
		{map[string]any{"count": 4}, "count: 4", `name: "cup", ratio: NaN, joints: [1, NaN], seen_in: Vision/ImageRGB`},
		{map[string]any{"count": nil, "seen_in": nil}, "count: 0, seen_in: unset", `name: "cup", ratio: NaN, joints: [1, NaN]`},
		{map[string]any{"name": "jug", "count": nil, "ratio": nil, "seen_in": nil, "joints": nil}, `name: "jug", count: 0, ratio: 0, joints: [], seen_in: unset`, ""},
	} {
		now := maps.Clone(before)
		for k, v := range c.change {
			if now[k] = v; v == nil {
				delete(now, k)
			}
		}
		changed, same, err := ty.Difference(mustEncode(t, ty, now), mustEncode(t, ty, before), TextOptions{})
		if err != nil || changed != c.changed || same != c.same {
			t.Errorf("with %v changed it is\n%s\n%s, %v; want\n%s\n%s", c.change, changed, same, err, c.changed, c.same)
		}
	}
	// Equal values may be written in several ways.
	now, then := mustEncode(t, ty, map[string]any{"numbered": map[int32]string{1: "a"}}), mustEncode(t, ty, map[string]any{"numbered": map[int32]string{2: "b"}})
	both, other := append(slices.Clone(now), then...), append(slices.Clone(then), now...)
	if changed, same, err := ty.Difference(append(both, 0x10, 0), other, TextOptions{}); err != nil || changed != "" || same != `numbered: {1: "a", 2: "b"}` {
		t.Errorf("a dict in another order differs in %q, and not in %q, %v", changed, same, err)
	}
	// What is shown as a summary differs if that does.
	image := func(width, pixel int) []byte {
		return mustEncode(t, known(t, "foxglove.RawImage"), map[string]any{"width": width, "height": 1, "encoding": "mono8", "step": width, "data": bytes.Repeat([]byte{byte(pixel)}, width)})
	}
	for _, c := range []struct {
		before        []byte
		changed, same string
	}{{image(2, 5), "", "RawImage mono8 2x1, 2 bytes"}, {image(3, 5), "RawImage mono8 2x1, 2 bytes", ""}} {
		if changed, same, err := known(t, "foxglove.RawImage").Difference(image(2, 4), c.before, TextOptions{}); err != nil || changed != c.changed || same != c.same {
			t.Errorf("an image differs in %q, not in %q, %v", changed, same, err)
		}
	}
	if _, _, err := ty.Difference([]byte{0xff}, nil, TextOptions{}); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("damaged bytes: %v", err)
	}
}

func TestBriefText(t *testing.T) {
	ty := zoo(t)
	at := engram.Time(1_700_000_000_500_000_000)
	image := engram.MustID("Vision/ImageRGB/robot/left")
	for _, c := range []struct {
		value map[string]any
		want  string
	}{
		{map[string]any{"joints": []float64{1.23456, 0.0012345, 123456.789, 1e9, -0.5}, "ratio": 0.123456789}, "ratio: 0.123457, joints: [1.235, 0.00123, 123457, 1e+09, -0.5]"},
		{map[string]any{"seen_in": engram.MustID(`robot1:A/B/left\/right/c\\d`), "word": "links come last"}, `word: "links come last", seen_in: robot1:left\/right/c\\d`},
		{map[string]any{"time": at.Add(10 * time.Second)}, "time: 22:13:30.5"},
		{map[string]any{"time": at.Add(24 * time.Hour)}, "time: 2023-11-15 22:13:20.500000"},
		{map[string]any{"seen_in": image.At(at).Instance(0)}, "seen_in: robot/left"},
		{map[string]any{"seen_in": image.At(at.Add(time.Second)).Instance(2)}, "seen_in: robot/left 22:13:21.5/2"},
		{map[string]any{"seen_in": engram.MustID("Vision/ImageRGB")}, "seen_in: Vision/ImageRGB"},
		{map[string]any{"pose": map[string]any{"position": map[string]any{"x": 0.1234567}, "orientation": map[string]any{"w": 1}}}, "pose: (0.123, 0, 0) (0, 0, 0, 1)"},
		{map[string]any{"pose": map[string]any{"position": map[string]any{"x": 1}}}, "pose: {position: (1, 0, 0)}"},
	} {
		if got, err := ty.Text(mustEncode(t, ty, c.value), TextOptions{Brief: true, Time: at}); err != nil || got != c.want {
			t.Errorf("%v is %q, %v; want %q", c.value, got, err, c.want)
		}
	}
}

// What changes from one thing to another stands together, and differs together.
func TestBriefChange(t *testing.T) {
	ty := compiled(t, "acme.Move", `
		syntax = "proto3";
		package acme;
		message Move {
			string who = 1;
			optional string from_room = 2;
			string to_room = 3;
			int32 to_be = 4;
			int32 from_it = 5;
		}`)
	before := map[string]any{"who": "cup", "from_room": "hall", "to_room": "kitchen", "to_be": 1, "from_it": 2}
	for _, c := range []struct {
		now           map[string]any
		brief         bool
		changed, same string
	}{
		{before, true, "", `who: "cup", room: "hall" → "kitchen", to_be: 1, from_it: 2`},
		{map[string]any{"who": "cup", "from_room": "hall", "to_room": "attic", "to_be": 1, "from_it": 2}, true, `room: "hall" → "attic"`, `who: "cup", to_be: 1, from_it: 2`},
		{map[string]any{"who": "cup", "from_room": "hall", "to_be": 1, "from_it": 2}, true, `room: "hall" → ""`, `who: "cup", to_be: 1, from_it: 2`},
		{map[string]any{"who": "cup", "to_room": "kitchen", "to_be": 1, "from_it": 2}, true, `from_room: unset`, `who: "cup", to_room: "kitchen", to_be: 1, from_it: 2`},
		{map[string]any{"who": "cup", "from_room": "hall", "to_room": "attic", "to_be": 1, "from_it": 2}, false, `to_room: "attic"`, `who: "cup", from_room: "hall", to_be: 1, from_it: 2`},
	} {
		changed, same, err := ty.Difference(mustEncode(t, ty, c.now), mustEncode(t, ty, before), TextOptions{Brief: c.brief})
		if err != nil || changed != c.changed || same != c.same {
			t.Errorf("%v differs in\n%s\n%s, %v; want\n%s\n%s", c.now, changed, same, err, c.changed, c.same)
		}
	}
}
