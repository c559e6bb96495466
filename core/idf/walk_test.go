package idf

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// foundIn walks and writes down each thing found.
func foundIn(t rapid.TB, ty *Type, b []byte, kinds Kind) []string {
	t.Helper()
	var found []string
	err := ty.Walk(b, kinds, func(f *Found) bool {
		found = append(found, showFound(string(f.Path), f.Kind, f.Num, f.Int, f.Bytes))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func showFound(path string, kind Kind, num float64, i int64, b []byte) string {
	switch kind {
	case KindNumber:
		return fmt.Sprintf("%s = %v", path, num)
	case KindTime:
		return fmt.Sprintf("%s @ %d", path, i)
	}
	return fmt.Sprintf("%s (%d) %q", path, kind, b)
}

// mustEncode encodes plain values.
func mustEncode(t testing.TB, ty *Type, v any) []byte {
	t.Helper()
	b, err := ty.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func zooPayload(t testing.TB) []byte {
	point := func(x float64) map[string]any { return map[string]any{"x": x, "label": "p"} }
	return mustEncode(t, zoo(t), map[string]any{
		"name": "cup", "count": 3, "total": uint64(math.MaxUint64), "ratio": 0.5, "ok": true,
		"raw": bytes.Repeat([]byte{7}, 100), "mood": "glad", "joints": []float64{1, 2.5}, "tags": []string{"a", "b"},
		"points":   []any{point(1), point(2)},
		"named":    map[string]any{"knee": point(3), `"odd" ½`: point(4)},
		"numbered": map[int32]string{5: "five"}, "rows": [][]map[string]any{{point(5)}, {point(6), point(7)}},
		"pair": []any{"left", point(8)}, "time": engram.Time(9e9), "took": "1.5s",
		"seen_in": engram.MustID("Vision/ImageRGB/cam/left"),
		"links":   []string{"Object/Instance", "", "Object//not an ID"},
		"array":   [][]float64{{1, 2}, {3, 4}}, "matrix": [][]int{{1, 0}, {0, 1}},
		"any":    map[string]any{"n": 5, "deep": []any{1.5, "text", map[string]any{"at": engram.Time(1), "link": engram.MustID("A/B")}}},
		"extras": map[string]any{"z": float32(0.25)},
		"pose":   map[string]any{"position": map[string]any{"x": 1, "z": 3}},
		"image":  map[string]any{"width": 2, "data": []byte{1, 2}, "timestamp": engram.Time(2e9)},
		"word":   "w", "child": map[string]any{"count": 1, "seen_in": engram.MustID("C")}, "far": -5,
	})
}

func TestWalk(t *testing.T) {
	ty, b := zoo(t), zooPayload(t)
	for _, c := range []struct {
		kinds Kind
		want  []string
	}{
		{KindLink, []string{
			`seen_in (1) "Vision/ImageRGB/cam/left"`,
			`links[0] (1) "Object/Instance"`, `links[1] (1) ""`, `links[2] (1) "Object//not an ID"`,
			`any["deep"][2]["link"] (1) "A/B"`, `child.seen_in (1) "C"`,
		}},
		{KindTime, []string{"time @ 9000000000", `any["deep"][2]["at"] @ 1`, "image.timestamp @ 2000000000"}},
		{KindTime | KindImage, []string{
			"time @ 9000000000", `any["deep"][2]["at"] @ 1`,
			`image (16) "\n\x02\b\x02\x15\x02\x00\x00\x002\x02\x01\x02"`,
		}},
		{KindPose, []string{`pose (4) "\n\x12\t\x00\x00\x00\x00\x00\x00\xf0?\x19\x00\x00\x00\x00\x00\x00\b@"`}},
		{KindNumber | KindPose | KindImage, []string{
			"count = 3", "total = 1.8446744073709552e+19", "ratio = 0.5", "joints[0] = 1", "joints[1] = 2.5",
			"points[0].x = 1", "points[1].x = 2", `named["\"odd\" ½"].x = 4`, `named["knee"].x = 3`,
			"rows[0][0].x = 5", "rows[1][0].x = 6", "rows[1][1].x = 7", "pair[1].x = 8",
			`any["deep"][0] = 1.5`, `any["n"] = 5`, `extras["z"] = 0.25`,
			`pose (4) "\n\x12\t\x00\x00\x00\x00\x00\x00\xf0?\x19\x00\x00\x00\x00\x00\x00\b@"`,
			`image (16) "\n\x02\b\x02\x15\x02\x00\x00\x002\x02\x01\x02"`,
			"child.count = 1", "far = -5",
		}},
		{KindFlag, []string{`ok (64) ""`, `mood (64) ""`}},
		{KindVector | KindOrientation, []string{`pose.position (256) "\t\x00\x00\x00\x00\x00\x00\xf0?\x19\x00\x00\x00\x00\x00\x00\b@"`}},
		{KindBytes | KindImage, []string{
			fmt.Sprintf("raw (128) %q", bytes.Repeat([]byte{7}, 100)),
			`array (128) "\n\x02\x02\x02\x10\n\x1a \x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\b@\x00\x00\x00\x00\x00\x00\x10@"`,
			`matrix (128) "\b\x02\x10\x02\x18\t\"\x10\x00\x00\x80?\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80?"`,
			`image (16) "\n\x02\b\x02\x15\x02\x00\x00\x002\x02\x01\x02"`,
		}},
		{0, nil},
	} {
		got := foundIn(t, ty, b, c.kinds)
		if !slices.Equal(got, c.want) {
			t.Errorf("kinds %b:\n%s\nnot\n%s", c.kinds, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestWalkOfWholePayload(t *testing.T) {
	pose, err := proto.Marshal(&foxglove.Pose{Position: &foxglove.Vector3{X: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := foundIn(t, known(t, "foxglove.Pose"), pose, KindPose|KindNumber); len(got) != 1 || !strings.HasPrefix(got[0], " (4)") {
		t.Errorf("a pose as payload: %q", got)
	}
	v, err := EncodeValue(engram.MustID("A/B"))
	if err != nil {
		t.Fatal(err)
	}
	links, err := known(t, engram.ValueType).Links(v)
	if err != nil || len(links) != 1 || links[0] != (Link{"", engram.MustID("A/B")}) {
		t.Errorf("a link as payload: %v, %v", links, err)
	}
}

func TestLinks(t *testing.T) {
	links, err := zoo(t).Links(zooPayload(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range links {
		got = append(got, l.Path+" "+l.ID.String())
	}
	want := []string{"seen_in Vision/ImageRGB/cam/left", "links[0] Object/Instance", `any["deep"][2]["link"] A/B`, "child.seen_in C"}
	if !slices.Equal(got, want) {
		t.Errorf("links %q, not %q", got, want)
	}
}

func TestWalkStops(t *testing.T) {
	n := 0
	err := zoo(t).Walk(zooPayload(t), KindNumber, func(f *Found) bool {
		n++
		return string(f.Path) != "rows[1][0].x"
	})
	if err != nil || n != 11 {
		t.Errorf("visited %d numbers, %v", n, err)
	}
	// The walk after it begins afresh.
	if got := foundIn(t, zoo(t), zooPayload(t), KindNumber); got[0] != "count = 3" {
		t.Errorf("the next walk begins with %s", got[0])
	}
}

func TestWalkErrors(t *testing.T) {
	ty := zoo(t)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"cut":        {wire{}.bytes(1, []byte("x"))[:1], "not the wire form"},
		"in a list":  {wire{}.bytes(10, nil).bytes(10, wire{}.varint(1, 5)), "member points[1].x: has wire type 0, not 1"},
		"in a Value": {wire{}.bytes(22, wire{}.bytes(1, []byte("k")).bytes(2, wire{}.varint(4, 1))), `member extras["k"]: field 4 of a Value has wire type 0, not 5`},
	} {
		err := ty.Walk(c.b, KindNumber, func(*Found) bool { return true })
		if engram.CodeOf(err) != engram.Corrupt || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
}

// TestWalkAgainstProtobuf compares with a walk by reflection over what protobuf-go
// decodes.
func TestWalkAgainstProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, m := contents{t: t, regular: true}.wire(ty.Descriptor())
		kinds := Kind(rapid.IntRange(0, 63).Draw(t, "kinds"))
		var want []string
		reflectWalk(m, "", kinds, &want)
		got := foundIn(t, ty, b, kinds)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("found\n%s\nprotobuf-go has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func reflectWalk(m protoreflect.Message, path string, kinds Kind, out *[]string) {
	fds := m.Descriptor().Fields()
	emit := func(kind Kind, num float64, i int64, b []byte) {
		if kinds&kind != 0 {
			*out = append(*out, showFound(path, kind, num, i, b))
		}
	}
	switch name := m.Descriptor().FullName(); {
	case name == "engram.idf.v1.Link":
		emit(KindLink, 0, 0, []byte(m.Get(fds.ByName("id")).String()))
		return
	case name == "google.protobuf.Timestamp":
		emit(KindTime, 0, m.Get(fds.ByName("seconds")).Int()*1e9+m.Get(fds.ByName("nanos")).Int(), nil)
		return
	case name == "google.protobuf.Duration" || name == "engram.idf.v1.NDArray" || name == "engram.idf.v1.Matrix":
		return
	case name == "foxglove.Pose" && kinds&KindPose != 0, name == "foxglove.RawImage" && kinds&KindImage != 0:
		b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
		emit(map[bool]Kind{true: KindPose, false: KindImage}[name == "foxglove.Pose"], 0, 0, b)
		return
	}
	inValue := m.Descriptor().FullName() == engram.ValueType
	wrapper := wrapperOf(m.Descriptor())
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		p := path
		switch {
		case inValue && (fd.Name() == "list" || fd.Name() == "dict"):
			v = v.Message().Get(fd.Message().Fields().ByName("items"))
			fd = fd.Message().Fields().ByName("items")
		case inValue, wrapper == idfv1.Wrapper_WRAPPER_LIST, wrapper == idfv1.Wrapper_WRAPPER_DICT, wrapper == idfv1.Wrapper_WRAPPER_OPTIONAL:
		case wrapper == idfv1.Wrapper_WRAPPER_TUPLE:
			p += fmt.Sprintf("[%d]", fd.Index())
		case p == "":
			p = string(fd.Name())
		default:
			p += "." + string(fd.Name())
		}
		switch {
		case fd.IsList():
			for i := range v.List().Len() {
				reflectWalkValue(fd, v.List().Get(i), fmt.Sprintf("%s[%d]", p, i), kinds, out)
			}
		case fd.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				reflectWalkValue(fd.MapValue(), v, p+"["+strconv.Quote(k.String())+"]", kinds, out)
				return true
			})
		default:
			reflectWalkValue(fd, v, p, kinds, out)
		}
		return true
	})
}

func reflectWalkValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, path string, kinds Kind, out *[]string) {
	var found string
	kind := KindNumber
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		reflectWalk(x, path, kinds, out)
		return
	case string:
		kind, found = KindString, showFound(path, KindString, 0, 0, []byte(x))
	case int32, int64, uint32, uint64, float32, float64:
		found = showFound(path, KindNumber, numberAsFloat(x), 0, nil)
	default:
		return
	}
	if kinds&kind != 0 {
		*out = append(*out, found)
	}
}

func numberAsFloat(v any) float64 {
	switch v := v.(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case uint32:
		return float64(v)
	case uint64:
		return float64(v)
	case float32:
		return float64(v)
	}
	return v.(float64)
}

func FuzzWalk(f *testing.F) {
	types := fuzzTypes(f)
	f.Add(uint8(0), uint16(63), zooPayload(f))
	f.Add(uint8(1), uint16(KindNumber), bytes.Repeat([]byte{0x52, 0x7e, 0x0a, 0x7c}, 60))
	f.Fuzz(func(t *testing.T, which uint8, kinds uint16, b []byte) {
		ty := types[int(which)%len(types)]
		checked := ty.Check(b)
		n := 0
		err := ty.Walk(b, Kind(kinds), func(f *Found) bool {
			n += len(f.Path)
			return n < 1<<20
		})
		if err != nil && checked == nil {
			t.Fatalf("passes Check, but: %v", err)
		}
		if _, err := ty.Links(b); err != nil && checked == nil {
			t.Fatalf("passes Check, but: %v", err)
		}
	})
}

// imageWithLink is a payload of 49 KB: an image, and one link beside it.
func imageWithLink(t testing.TB) (*Type, []byte) {
	ty := zoo(t)
	return ty, mustEncode(t, ty, map[string]any{
		"image":   map[string]any{"width": 640, "height": 480, "encoding": "rgb8", "data": make([]byte, 49_000), "timestamp": engram.Now()},
		"seen_in": engram.MustID("Vision/ImageRGB/cam/left/2022-02-18 13:06:56.492182"),
	})
}

func TestWalkDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector a sync.Pool drops what it holds")
	}
	ty, b := imageWithLink(t)
	joints := zooPayload(t)
	sum := 0.0
	add := func(f *Found) bool { sum += f.Num; return true }
	for name, walk := range map[string]func(){
		"numbers": func() { _ = ty.Walk(joints, KindNumber, add) },
		"no pose": func() { _ = ty.Walk(b, KindPose, add) },
	} {
		walk() // compiles the plan
		if n := testing.AllocsPerRun(100, walk); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if sum == 0 {
		t.Error("no numbers were found")
	}
}

func BenchmarkLinks(b *testing.B) {
	ty, payload := imageWithLink(b)
	b.ReportAllocs()
	for b.Loop() {
		if links, err := ty.Links(payload); err != nil || len(links) != 1 {
			b.Fatal(links, err)
		}
	}
}

func BenchmarkWalkNumbers(b *testing.B) {
	ty := compiled(b, "acme.Joints", `syntax = "proto3"; package acme;
		message Joints { map<string, double> position = 1; repeated double effort = 2; }`)
	position := map[string]any{}
	for i := range 43 {
		position[fmt.Sprintf("joint_%d", i)] = float64(i)
	}
	payload := mustEncode(b, ty, map[string]any{"position": position, "effort": make([]float64, 43)})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := ty.Walk(payload, KindNumber, func(*Found) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
	}
}
