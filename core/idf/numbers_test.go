package idf

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func numbersAt(t rapid.TB, ty *Type, b []byte, paths ...string) []float64 {
	t.Helper()
	r, err := ty.Numbers(paths)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(paths))
	for range 2 { // what was read before leaves nothing behind
		if err := r.Read(b, out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestNumbers(t *testing.T) {
	ty, b := zoo(t), zooPayload(t)
	want := map[string]float64{
		"count": 3, "ratio": 0.5, "ok": 1, "joints[0]": 1, "joints[1]": 2.5, "joints[2]": math.NaN(),
		"points[1].x": 2, "points[2].x": math.NaN(), `named["knee"].x`: 3, "named.knee.x": 3, `named["\"odd\" ½"].x`: 4, "named.hip.x": math.NaN(),
		"rows[1][1].x": 7, "rows[1][2].x": math.NaN(), "pair[1].x": 8, "time": 9, "took": 1.5,
		`any["n"]`: 5, "any.deep[0]": 1.5, "any.deep[2].at": 1e-9, "any.deep[1]": math.NaN(), "any.deep": math.NaN(),
		"pose.position.x": 1, "pose.position.y": 0, "pose.orientation.w": math.NaN(),
		"image.width": 2, "image.height": 0, "child.count": 1, "child.child.count": math.NaN(), "far": -5, "total": math.MaxUint64,
	}
	for path, v := range want {
		if got := numbersAt(t, ty, b, path)[0]; got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
			t.Errorf("%s is %v, want %v", path, got, v)
		}
	}
	for path, code := range map[string]engram.Code{
		"nothing": engram.NotFound, "name": engram.TypeMismatch, "joints": engram.TypeMismatch, "named": engram.TypeMismatch,
		"pose": engram.TypeMismatch, "count.x": engram.NotFound, "seen_in": engram.TypeMismatch, "pair[7]": engram.NotFound,
		"a..b": engram.Invalid, "joints[-1]": engram.Invalid, "array": engram.TypeMismatch,
	} {
		if _, err := ty.Numbers([]string{path}); engram.CodeOf(err) != code {
			t.Errorf("%s: %v, want %v", path, err, code)
		}
	}
}

// Every number that a walk finds is read at its path, and is listed.
func TestNumbersAreThoseOfWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, _ := contents{t: t, regular: true}.wire(ty.Descriptor())
		var paths []string
		var want []float64
		err := ty.Walk(b, KindNumber|KindFlag|KindTime, func(f *Found) bool {
			v := f.Num
			if f.Kind == KindTime {
				v = float64(f.Int) / 1e9
			}
			paths, want = append(paths, string(f.Path)), append(want, v)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) > maxProjectPaths {
			paths, want = paths[:maxProjectPaths], want[:maxProjectPaths]
		}
		listed := map[string]bool{}
		members, err := ty.NumberMembers(b, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			listed[m.Path] = true
		}
		for i, got := range numbersAt(t, ty, b, paths...) {
			if diff := math.Abs(got - want[i]); diff > 1e-6*math.Abs(want[i]) || math.IsNaN(got) != math.IsNaN(want[i]) {
				t.Errorf("%s is %v, want %v", paths[i], got, want[i])
			}
			if !listed[paths[i]] {
				t.Errorf("%s is not listed", paths[i])
			}
		}
	})
}

func TestNumbersOfDamagedPayloads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		b, _ := contents{t: t}.wire(ty.Descriptor())
		members, err := ty.NumberMembers(b, 100)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, m := range members {
			paths = append(paths, m.Path)
		}
		r, err := ty.Numbers(paths)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, len(paths))
		if err := r.Read(b, out); err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			return
		}
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "length")]
		_, listing := ty.NumberMembers(b, 100)
		for _, err := range []error{listing, r.Read(b, out)} {
			if err != nil && engram.CodeOf(err) != engram.Corrupt {
				t.Fatal(err)
			}
		}
	})
}

// Whole numbers are read with all their digits, from members, lists, dicts and Values; what is none is told as a number only.
func TestNumbersReadExactly(t *testing.T) {
	ty := compiled(t, "acme.Counts", `
		syntax = "proto3";
		package acme;
		import "engram/idf/v1/value.proto";
		message Counts { int64 n = 1; repeated uint64 list = 2; map<string, sint64> by = 3; double x = 4; bool on = 5; engram.idf.v1.Value any = 6; int64 none = 7; }`)
	const big = int64(1<<53 + 1)
	b := mustEncode(t, ty, map[string]any{"n": -big, "list": []any{uint64(1), uint64(math.MaxUint64)}, "by": map[string]any{"a": big}, "x": 1e17, "on": true, "any": map[string]any{"k": big}})
	paths := []string{"n", "list[1]", "by.a", "x", "on", "any.k", "none", "list[2]"}
	r, err := ty.Numbers(paths)
	if err != nil {
		t.Fatal(err)
	}
	out, texts := make([]float64, len(paths)), make([]string, len(paths))
	for range 2 {
		if err := r.ReadExactly(b, out, texts); err != nil {
			t.Fatal(err)
		}
		if want := []string{"-9007199254740993", "18446744073709551615", "9007199254740993", "", "1", "9007199254740993", "", ""}; !slices.Equal(texts, want) {
			t.Errorf("%q, want %q", texts, want)
		}
	}
	if out[0] != float64(-big) || out[3] != 1e17 || out[6] != 0 || !math.IsNaN(out[7]) {
		t.Error(out)
	}
}

// An element of a list beside as many names is read by its name, wherever it stands, in members and in Values; what has no
// such name is told from what is no number.
func TestNumbersByName(t *testing.T) {
	ty := compiled(t, "acme.Joints", `
		syntax = "proto3";
		package acme;
		import "engram/idf/v1/value.proto";
		message Pair { double low = 1; }
		message Joints { repeated double position = 1; repeated Pair limit = 2; repeated string name = 3; engram.idf.v1.Value any = 4; repeated double velocity = 5; }`)
	paths := []string{`position["knee"]`, `limit["knee"].low`, `any["q"]["knee"]`, "position[0]", `velocity["knee"]`}
	joints := func(names []any, values ...any) []byte {
		var limits []any
		for _, v := range values {
			limits = append(limits, map[string]any{"low": v})
		}
		return mustEncode(t, ty, map[string]any{"position": values, "limit": limits, "name": names, "any": map[string]any{"q": values, "name": names}})
	}
	r, err := ty.Numbers(paths)
	if err != nil {
		t.Fatal(err)
	}
	unset := math.NaN()
	for i, tt := range []struct {
		b    []byte
		want []float64
	}{
		{joints([]any{"hip", "knee"}, 1.0, 2.0), []float64{2, 2, 2, 1, notNamed}},
		{joints([]any{"knee"}, 3.0), []float64{3, 3, 3, 3, notNamed}},
		{joints([]any{"wheel", "hip"}, 4.0, 5.0), []float64{notNamed, notNamed, notNamed, 4, notNamed}},
		{joints([]any{"knee", "hip"}, 6.0), []float64{notNamed, notNamed, notNamed, 6, notNamed}},
		{joints([]any{"knee", "knee"}, math.NaN(), 7.0), []float64{unset, unset, unset, unset, notNamed}},
		{joints([]any{"knee"}, 8.0), []float64{8, 8, 8, 8, notNamed}},
	} {
		got := make([]float64, len(paths))
		if err := r.Read(tt.b, got); err != nil {
			t.Fatal(err)
		}
		for k, want := range tt.want {
			if got[k] != want && !(math.IsNaN(want) && math.IsNaN(got[k]) && IsUnnamed(want) == IsUnnamed(got[k])) {
				t.Errorf("payload %d: %s is %v (not named: %v), want %v", i, paths[k], got[k], IsUnnamed(got[k]), want)
			}
		}
	}

	b := joints([]any{"knee", "hip", "knee"}, 1.0, 2.0, 3.0)
	members, err := ty.NumberMembers(b, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := ty.NameNumbers(b, members); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range members {
		listed = append(listed, m.Path+" "+m.Name)
	}
	if want := []string{`position["knee"] knee`, `position["hip"] hip`, "position[2] ", "limit[0].low ", "limit[1].low ", "limit[2].low ",
		`any["q"]["knee"] knee`, `any["q"]["hip"] hip`, `any["q"][2] `}; !slices.Equal(listed, want) {
		t.Errorf("%q, want %q", listed, want)
	}
	if _, err := compiled(t, "acme.Bare", `syntax = "proto3"; package acme; message Bare { repeated double position = 1; }`).Numbers(paths[:1]); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
}

// Ten joints of 43, with all that a robot feels.
func BenchmarkNumbers(b *testing.B) {
	ty := compiled(b, "acme.Feeling", `
		syntax = "proto3";
		package acme;
		message Feeling { repeated string name = 1; repeated double position = 2; repeated double velocity = 3; repeated double effort = 4; }`)
	names, values := make([]string, 43), make([]float64, 43)
	for i := range names {
		names[i], values[i] = "arm_left_joint", float64(i)+0.5
	}
	payload := mustEncode(b, ty, map[string]any{"name": names, "position": values, "velocity": values, "effort": values})
	var paths []string
	for i := range 10 {
		paths = append(paths, "position"+indexSegment(3*i))
	}
	r, err := ty.Numbers(paths)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]float64, len(paths))
	for b.Loop() {
		if err := r.Read(payload, out); err != nil || out[9] != 27.5 {
			b.Fatal(out, err)
		}
	}
}
