package idf

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

func projected(t testing.TB, ty *Type, b []byte, fields ...string) string {
	t.Helper()
	p, err := ty.Project(fields)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Apply(b)
	if err != nil {
		t.Fatal(err)
	}
	j, err := ty.JSON(out, JSONOptions{SummarizeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	return string(j)
}

func TestProject(t *testing.T) {
	ty, b := zoo(t), zooPayload(t)
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{[]string{"count"}, `{"count":3}`},
		{[]string{"pose.position.z", "name"}, `{"name":"cup","pose":{"position":{"z":3}}}`},
		{[]string{"pose.position", "pose.position.z"}, `{"pose":{"position":{"x":1,"z":3}}}`},
		{[]string{"joints"}, `{"joints":[1,2.5]}`},
		{[]string{"points.x"}, `{"points":[{"x":1},{"x":2}]}`},
		{[]string{"points.y"}, `{"points":[{},{}]}`},
		{[]string{"joints[1]"}, `{"joints":[0,2.5]}`},
		{[]string{"joints[7]", "points[1].x"}, `{"joints":[0,0],"points":[{},{"x":2}]}`},
		{[]string{"points[0].label", "points.x"}, `{"points":[{"x":1,"label":"p"},{"x":2}]}`},
		{[]string{"rows[1][1].label"}, `{"rows":[[],[{},{"label":"p"}]]}`},
		{[]string{"rows.label"}, `{"rows":[[{"label":"p"}],[{"label":"p"},{"label":"p"}]]}`},
		{[]string{"named.knee"}, `{"named":{"knee":{"x":3,"label":"p"}}}`},
		{[]string{`named["\"odd\" ½"].x`, "named.none.x"}, `{"named":{"\"odd\" ½":{"x":4}}}`},
		{[]string{"named.*.x"}, `{"named":{"\"odd\" ½":{"x":4},"knee":{"x":3}}}`},
		{[]string{"named.*.x", "named.knee.label"}, `{"named":{"\"odd\" ½":{"x":4},"knee":{"x":3,"label":"p"}}}`},
		{[]string{"numbered.5", "numbered[\"6\"]"}, `{"numbered":{"5":"five"}}`},
		{[]string{"pair[1].x"}, `{"pair":["",{"x":8}]}`},
		{[]string{"any.deep"}, `{"any":{"deep":[1.5,"text",{"at":{"$time":"1970-01-01T00:00:00.000000001Z"},"link":{"$link":"A/B"}}]}}`},
		{[]string{"any.deep.at"}, `{"any":{"deep":[null,null,{"at":{"$time":"1970-01-01T00:00:00.000000001Z"}}]}}`},
		{[]string{"any.none"}, `{"any":{}}`},
		{[]string{"extras.z"}, `{"extras":{"z":{"$float":0.25}}}`},
		{[]string{"time", "seen_in"}, `{"time":"1970-01-01T00:00:09.000000Z","seen_in":"Vision/ImageRGB/cam/left"}`},
		{[]string{"seenIn"}, `{"seen_in":"Vision/ImageRGB/cam/left"}`},
		{[]string{"note", "child.child.count"}, `{"child":{}}`},
		{nil, `{}`},
	} {
		if got := projected(t, ty, b, c.fields...); got != c.want {
			t.Errorf("%q:\n%s\nnot\n%s", c.fields, got, c.want)
		}
	}
}

func TestProjectValuePayload(t *testing.T) {
	b, err := EncodeValue(map[string]any{"a": map[string]any{"x": 1, "y": 2}, "b": 3})
	if err != nil {
		t.Fatal(err)
	}
	ty := known(t, engram.ValueType)
	if got := projected(t, ty, b, "a.y", "b"); got != `{"a":{"y":2},"b":3}` {
		t.Error(got)
	}
}

func TestProjectErrors(t *testing.T) {
	ty := zoo(t)
	for _, c := range []struct {
		path string
		code engram.Code
		want string
	}{
		{"pose.positon.z", engram.NotFound, `member path "pose.positon.z": foxglove.Pose has no member "positon"; did you mean "position"?`},
		{"zzz", engram.NotFound, `acme.Zoo has no member "zzz"`},
		{"count.x", engram.NotFound, `a number (int32) has no member "x"`},
		{"time.seconds", engram.NotFound, `a time has no member "seconds"`},
		{"pair[2]", engram.NotFound, `a tuple of 2 items has no item "2"`},
		{"points[0].y.x", engram.NotFound, `a number (double) has no member "x"`},
		{"any.deep[0]", engram.Invalid, "leave [0] out"},
		{"numbered.five", engram.Invalid, `key "five": the key is not an integer`},
		{"", engram.Invalid, "a name is missing"},
		{"pose..z", engram.Invalid, "a name is missing"},
		{"pose.", engram.Invalid, "a name is missing"},
		{"named[", engram.Invalid, `after "["`},
		{"named[\"a\"]b", engram.Invalid, `"." or "["`},
		{"named.[\"a\"]", engram.Invalid, `between "." and "["`},
		{strings.Repeat("child.", 300), engram.Exhausted, "at most 1024"},
	} {
		_, err := ty.Project([]string{"count", c.path})
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, not %v: %s", c.path, err, c.code, c.want)
		}
	}
	if _, err := ty.Project(make([]string, maxProjectPaths+1)); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("too many paths: %v", err)
	}
	p, err := ty.Project([]string{"points.x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(wire{}.bytes(10, []byte{9})); engram.CodeOf(err) != engram.Corrupt || !strings.Contains(err.Error(), "member points") {
		t.Errorf("cut payload: %v", err)
	}
}

// TestProjectAgainstProtobuf compares with clearing what is not chosen in the
// message that protobuf-go decodes.
func TestProjectAgainstProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, m := contents{t: t, regular: true}.wire(ty.Descriptor())
		var paths []string
		keep := &kept{}
		for range rapid.IntRange(1, 4).Draw(t, "paths") {
			paths = append(paths, randomPath(t, ty.Descriptor(), keep, ""))
		}
		p, err := ty.Project(paths)
		if err != nil {
			t.Fatalf("%q: %v", paths, err)
		}
		out, err := p.Apply(b)
		if err != nil {
			t.Fatal(err)
		}
		keep.prune(m)
		if got := unmarshal(t, ty.Descriptor(), out); !proto.Equal(got, m) {
			t.Fatalf("projected onto %q:\n%v\nnot\n%v", paths, got, m)
		}
	})
}

// kept is the tree of the members that random paths name.
type kept struct {
	all    bool
	fields map[protoreflect.Name]*kept
	items  map[int]*kept // of a list, beside what is kept of each element
}

// and returns what either keeps of a value.
func (k *kept) and(o *kept) *kept {
	if k == nil || o == nil {
		return cmp.Or(k, o)
	}
	both := &kept{all: k.all || o.all, fields: maps.Clone(k.fields), items: maps.Clone(k.items)}
	for name, sub := range o.fields {
		if both.fields == nil {
			both.fields = map[protoreflect.Name]*kept{}
		}
		both.fields[name] = both.fields[name].and(sub)
	}
	for i, sub := range o.items {
		if both.items == nil {
			both.items = map[int]*kept{}
		}
		both.items[i] = both.items[i].and(sub)
	}
	return both
}

// randomPath draws a path and notes it in keep. In front of a wrapper's own field
// nothing is written.
func randomPath(t *rapid.T, md protoreflect.MessageDescriptor, keep *kept, path string) (whole string) {
	if md.Fields().Len() == 0 {
		keep.all = true
		return path
	}
	fd := md.Fields().Get(rapid.IntRange(0, md.Fields().Len()-1).Draw(t, "field"))
	if keep.fields == nil {
		keep.fields = map[protoreflect.Name]*kept{}
	}
	if keep.fields[fd.Name()] == nil {
		keep.fields[fd.Name()] = &kept{}
	}
	keep = keep.fields[fd.Name()]
	switch wrapperOf(md) {
	case idfv1.Wrapper_WRAPPER_LIST, idfv1.Wrapper_WRAPPER_DICT, idfv1.Wrapper_WRAPPER_OPTIONAL:
	case idfv1.Wrapper_WRAPPER_TUPLE:
		path += fmt.Sprintf("[%d]", fd.Index())
	default:
		if path != "" {
			path += "."
		}
		path += string(fd.Name())
	}
	if fd.IsList() && rapid.Bool().Draw(t, "element") {
		i := rapid.IntRange(0, 4).Draw(t, "index")
		path += fmt.Sprintf("[%d]", i)
		if keep.items == nil {
			keep.items = map[int]*kept{}
		}
		if keep.items[i] == nil {
			keep.items[i] = &kept{}
		}
		keep = keep.items[i]
	} else if fd.IsList() {
		defer func(before string) { // each, if an item in them is named
			if strings.HasPrefix(whole[len(before):], "[") {
				whole = before + ".*" + whole[len(before):]
			}
		}(path)
	}
	of := fd.Message()
	if fd.IsMap() {
		of = fd.MapValue().Message()
	}
	if of == nil || specialOf[string(of.FullName())] != isObject || len(path) > 40 || rapid.Bool().Draw(t, "whole") {
		keep.all = true
		return path
	}
	if fd.IsMap() {
		path += ".*"
	}
	return randomPath(t, of, keep, path)
}

func (k *kept) prune(m protoreflect.Message) {
	if k.all {
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		sub := k.fields[fd.Name()]
		switch {
		case sub == nil:
			m.Clear(fd)
		case sub.all:
		case fd.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				sub.prune(v.Message())
				return true
			})
		case fd.IsList():
			each := &kept{fields: sub.fields}
			for i := range v.List().Len() {
				switch of := each.and(sub.items[i]); {
				case fd.Message() != nil:
					of.prune(v.List().Get(i).Message())
				case !of.all:
					v.List().Set(i, v.List().NewElement())
				}
			}
		default:
			sub.prune(v.Message())
		}
		return true
	})
}

func FuzzProject(f *testing.F) {
	types := fuzzTypes(f)
	f.Add(uint8(0), "pose.position.z\npoints.x\nany.deep.at", zooPayload(f))
	f.Add(uint8(0), `named["knee"].x`+"\nnested.*.a\npair[1]", zooPayload(f))
	f.Add(uint8(1), "a.b", []byte{})
	f.Fuzz(func(t *testing.T, which uint8, paths string, b []byte) {
		ty := types[int(which)%len(types)]
		p, err := ty.Project(strings.Split(paths, "\n"))
		if err != nil {
			return
		}
		checked := ty.Check(b)
		out, err := p.Apply(b)
		if checked != nil && engram.CodeOf(checked) == engram.Corrupt {
			return
		}
		if err != nil {
			t.Fatalf("passes Check, but: %v", err)
		}
		if err := ty.Check(out); err != nil && engram.CodeOf(err) == engram.Corrupt {
			t.Fatalf("the projection does not pass Check: %v", err)
		}
		again, err := p.Apply(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("projected twice: %x, not %x (%v)", again, out, err)
		}
	})
}

func BenchmarkProject(b *testing.B) {
	ty, payload := imageWithLink(b)
	p, err := ty.Project([]string{"image.width", "image.height", "seen_in"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Apply(payload); err != nil {
			b.Fatal(err)
		}
	}
}
