package idf

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func TestDiff(t *testing.T) {
	ty := zoo(t)
	big, bigger := bytes.Repeat([]byte{1}, 100), bytes.Repeat([]byte{2}, 101)
	large := func(last float64) any {
		data := make([]float64, 300)
		data[299] = last
		a, err := NewNDArray(data)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	object := func(name string, v any) map[string]any { return map[string]any{name: v} }
	for _, c := range []struct {
		a, b map[string]any
		want []string
	}{
		{object("count", 1), object("count", 2), []string{"count: 1 -> 2"}},
		{object("count", 1), nil, []string{"count: 1 -> 0"}},
		{object("pose", object("position", object("z", 1))), object("pose", object("position", object("z", 2))), []string{"pose.position.z: 1 -> 2"}},
		{nil, object("pose", object("position", object("z", 1))), []string{"pose: <nil> -> map[position:map[x:0 y:0 z:1]]"}},
		{object("tags", []string{"a", "b"}), object("tags", []string{"a", "c", "d"}), []string{"tags[1]: b -> c", "tags[2]: <nil> -> d"}},
		{object("named", object("knee", object("x", 1))), object("named", object("knee", object("x", 2))), []string{`named["knee"].x: 1 -> 2`}},
		{object("named", object("a", object("x", 1))), object("named", object("b", nilObject())), []string{`named["a"]: map[label: x:1 y:0] -> <nil>`, `named["b"]: <nil> -> map[label: x:0 y:0]`}},
		{object("rows", []any{[]any{object("x", 1)}}), object("rows", []any{[]any{object("x", 2)}}), []string{"rows[0][0].x: 1 -> 2"}},
		{object("pair", []any{"l", nil}), object("pair", []any{"r", object("x", 1)}), []string{"pair[0]: l -> r", "pair[1]: <nil> -> map[label: x:1 y:0]"}},
		{object("raw", big), object("raw", bigger), []string{"raw: " + SummarizeBytes(big).String() + " -> " + SummarizeBytes(bigger).String()}},
		{object("image", object("data", big)), nil, []string{"image: map[data:" + SummarizeBytes(big).String() + " encoding: frame_id: height:0 step:0 width:0] -> <nil>"}},
		{object("array", [][]float64{{1, 2}, {3, 4}}), object("array", [][]float64{{1, 2}, {5, 4}}), []string{"array[1][0]: 3 -> 5"}},
		{object("array", [][]float64{{1, 2}}), object("array", []float64{1, 2}), []string{"array: float64 1x2 -> float64 2"}},
		{object("array", large(0)), object("array", large(1)), []string{"array: 2400 bytes"}},
		{object("any", map[string]any{"a": []any{1, 2.5}, "b": nil}), object("any", map[string]any{"a": []any{1, "x"}}), []string{`any["a"][1]: 2.5 -> x`}},
		{object("any", 1), object("any", map[string]any{}), []string{"any: 1 -> map[]"}},
		{object("ratio", math.NaN()), object("ratio", math.NaN()), nil},
		{object("ratio", 0.0), object("ratio", math.Copysign(0, -1)), []string{"ratio: 0 -> -0"}},
		{object("seen_in", engram.MustID("A")), object("seen_in", "A//B"), []string{"seen_in: A -> A//B"}},
		{map[string]any{"name": "x", "far": 1}, map[string]any{"name": "y", "far": 2}, []string{"name: x -> y", "far: 1 -> 2"}},
	} {
		changes, err := Diff(ty, mustEncode(t, ty, c.a), mustEncode(t, ty, c.b))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ch := range changes {
			got = append(got, fmt.Sprintf("%s: %v -> %v", ch.Path, ch.A, ch.B))
		}
		if len(got) != len(c.want) {
			t.Errorf("%v, %v:\n%q\nnot\n%q", c.a, c.b, got, c.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%q\nnot\n%q", got[i], c.want[i])
			}
		}
	}
	if _, err := Diff(ty, []byte{1}, nil); engram.CodeOf(err) != engram.Corrupt {
		t.Error(err)
	}
}

func nilObject() map[string]any { return map[string]any{} }

// TestDiffIsComplete: no changes means the same values, and the other way round the
// same changes with their sides exchanged.
func TestDiffIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := randomType(t, false)
		g := contents{t: t, regular: true}
		a, _ := g.wire(ty.Descriptor())
		b := a
		if rapid.Bool().Draw(t, "another") {
			b, _ = g.wire(ty.Descriptor())
		}
		forth, err := Diff(ty, a, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Diff(ty, b, a)
		if err != nil {
			t.Fatal(err)
		}
		if len(forth) != len(back) {
			t.Fatalf("%d changes forth, %d back", len(forth), len(back))
		}
		for i := range forth {
			if forth[i].Path != back[i].Path || fmt.Sprint(forth[i].A) != fmt.Sprint(back[i].B) {
				t.Fatalf("%v forth, %v back", forth[i], back[i])
			}
		}
		va, _ := ty.Decode(a)
		vb, _ := ty.Decode(b)
		if same := show(va) == show(vb); same && len(forth) > 0 {
			t.Fatalf("changes between equal payloads: %v", forth)
		} else if !same && len(forth) == 0 && !onlyNulls(va, vb) {
			t.Fatalf("no changes between\n%s\n%s", show(va), show(vb))
		}
	})
}

// onlyNulls reports whether two payloads differ only in Values that are null in one
// and absent in the other.
func onlyNulls(a, b any) bool {
	return strings.ReplaceAll(show(withoutNulls(a)), ", ", "") == strings.ReplaceAll(show(withoutNulls(b)), ", ", "")
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x != nil {
				out[k] = withoutNulls(x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, withoutNulls(x))
		}
		for len(out) > 0 && out[len(out)-1] == nil {
			out = out[:len(out)-1]
		}
		return out
	}
	return v
}
