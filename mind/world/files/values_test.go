package files_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// TestYAMLIntegers has the integers of YAML 1.1, which come back as written.
func TestYAMLIntegers(t *testing.T) {
	for text, want := range map[string]any{
		"+5": int64(5), "-0": int64(0), "00": int64(0), "1_000": int64(1000), "0x10": int64(16), "+0x1F": int64(31), "0o17": int64(15), "010": int64(8), "0b11": int64(3),
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64), "-0x8000000000000000": int64(math.MinInt64),
		"9223372036854775808": uint64(1 << 63), "9223372036854775809": uint64(1<<63 + 1), "18446744073709551615": uint64(math.MaxUint64), "+18446744073709551615": uint64(math.MaxUint64),
		"18_446_744_073_709_551_615": uint64(math.MaxUint64), "0xFFFFFFFFFFFFFFFF": uint64(math.MaxUint64), "0o1777777777777777777777": uint64(math.MaxUint64), "01777777777777777777777": uint64(math.MaxUint64),
		"!!int 18446744073709551615": uint64(math.MaxUint64), "!!str 18446744073709551615": "18446744073709551615", "!!float 3": 3.0,
		"18446744073709551616": "18446744073709551616", "-9223372036854775809": "-9223372036854775809", "0x1FFFFFFFFFFFFFFFF": "0x1FFFFFFFFFFFFFFFF", "08": "08",
	} {
		c := read(t, "- name: cup\n  properties: {c: "+text+"}\n  states: {s: "+text+"}\n", "f.yaml")
		if p, s := c.Items[0].Description.Properties["c"], c.States[0].Value; p != want || s != want {
			t.Errorf("%s is %T %v and %T %v, not %T %v", text, p, p, s, s, want, want)
		}
	}
	c := read(t, "- name: cup\n  place: {level: room, number: 007}\n  label: 18446744073709551615\n  spoken_names: [1.10, 0x10, True]\n  pose: [18446744073709551615, 0, 0]\n", "f.yaml")
	d := c.Items[0].Description
	if d.Place.Number != "007" || d.Label != "18446744073709551615" || !slices.Equal(d.SpokenNames, []string{"1.10", "0x10", "True"}) || c.Items[0].Placement.Pose.T.X != 1<<64 {
		t.Errorf("%+v, %v", d, c.Items[0].Placement.Pose)
	}
}

// TestJSONIntegers has integers that fit 64 bits, and those that would be rounded.
func TestJSONIntegers(t *testing.T) {
	for text, want := range map[string]any{
		"9007199254740993": int64(1<<53 + 1), "-0": 0.0, "18446744073709551615": uint64(math.MaxUint64), "18446744073709551616": float64(1 << 64), "18446744073709551617.0": float64(1 << 64), "123456789012345680000": 123456789012345680000.0, "1e20": 1e20,
	} {
		if got := read(t, `[{"name": "cup", "properties": {"c": `+text+`}}]`, "f.json").Items[0].Description.Properties["c"]; got != want {
			t.Errorf("%s is %T %v, not %T %v", text, got, got, want, want)
		}
	}
	for _, text := range []string{"18446744073709551617", "-9223372036854775809"} {
		_, err := files.Read([]byte("[\n"+text+"]"), "f.json")
		if want := "f.json:2: the integer " + text + " does not fit 64 bits; write " + text + ".0"; engram.CodeOf(err) != engram.Invalid || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// anyValue is any value that a property can hold.
func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(rapid.StringMatching(`[a-z#:'" \n\\{\[~!&*-]{0,8}`), rapid.SampledFrom([]string{"true", "NaN", ".inf", "1", "0x1", "1e3", "null", "~", "", "$int32", "<<", "---", "2026-01-02"}), rapid.String())
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.Int64().AsAny(), rapid.Uint64Min(1 << 63).AsAny(), rapid.Float32().AsAny(), rapid.Float64().AsAny(), text.AsAny(),
		rapid.SampledFrom([]any{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), float32(math.Inf(-1)), int64(math.MinInt64), int64(math.MaxInt64), uint64(math.MaxUint64), 1e300, 1e21}),
		rapid.Custom(func(t *rapid.T) any { return engram.Time(rapid.Int64().Draw(t, "ns")) }),
		rapid.Custom(func(t *rapid.T) any { return time.Duration(rapid.Int64().Draw(t, "ns")) }),
		rapid.SampledFrom([]any{engram.MustID("Object/Instance/eye/cup"), engram.MustID("r1:Object/Class")}),
		rapid.Custom(func(t *rapid.T) any {
			n := rapid.SampledFrom([]int{0, 2, 300}).Draw(t, "n")
			a, err := idf.NewNDArray(rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "data"))
			if n < 300 {
				a, err = idf.NewNDArray(rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "data"), 1, int64(n))
			}
			if err != nil {
				t.Fatal(err)
			}
			return a
		}),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny(), rapid.MapOfN(text, anyValue(depth-1), 0, 3).AsAny(),
			rapid.Custom(func(t *rapid.T) any { return map[string]any{"$time": anyValue(depth-1).Draw(t, "content")} }))
	}
	return rapid.OneOf(kinds...)
}

// TestEachValueComesBack exports properties and states of all kinds and imports them again.
func TestEachValueComesBack(t *testing.T) {
	encoded := func(v any) string {
		b, err := idf.EncodeValue(v)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", b)
	}
	rapid.Check(t, func(rt *rapid.T) {
		value := anyValue(3).Draw(rt, "value")
		p := map[string]any{rapid.SampledFrom([]string{"k", "$time", "1.10", "<<"}).Draw(rt, "key"): value}
		if rapid.Bool().Draw(rt, "more") {
			p["other"] = "x"
		}
		c := &files.Content{Items: []files.Item{{At: "f:1", NamedItem: world.NamedItem{Name: "cup", Item: world.Item{Structure: &world.Structure{}, Description: &world.Description{Properties: p}}}}}}
		if value != nil {
			c.States = []files.State{{State: world.State{Item: "cup", Name: "s", Value: value}, Confidence: rapid.SampledFrom([]float64{1, 0.5}).Draw(rt, "confidence")}}
		}
		f := state(t, c)
		for _, json := range []bool{false, true} {
			text, notes, err := files.Write(f, files.Options{JSON: json})
			if err != nil || len(notes) > 0 {
				rt.Fatalf("%v, %v", notes, err)
			}
			back, err := files.Read(text, "f")
			if err != nil {
				rt.Fatalf("%v in\n%s", err, text)
			}
			if got := back.Items[0].Description.Properties; encoded(got) != encoded(p) {
				rt.Fatalf("%v\nwas written\n%s\nand is read as\n%v", p, text, got)
			}
			if value != nil && encoded(back.States[0].Value) != encoded(value) {
				rt.Fatalf("%v\nwas written\n%s\nand is read as\n%v", value, text, back.States[0].Value)
			}
		}
	})
}

// TestTagsOfValues has tags that are wrong.
func TestTagsOfValues(t *testing.T) {
	for text, want := range map[string]string{
		"{$int32: x}": "f.yaml:2: item \"cup\"", "{$colour: red}": `"$colour" is not a tag of a Value`, "{a: [{$time: [1]}]}": "$time",
	} {
		if _, err := files.Read([]byte("- name: cup\n  properties: {k: "+text+"}\n"), "f.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
	d := read(t, "- name: cup\n  properties: {$time: 1, k: {$a: 1, $b: 2}}\n", "f.yaml").Items[0].Description
	if keys := slices.Sorted(maps.Keys(d.Properties)); !slices.Equal(keys, []string{"$time", "k"}) || len(d.Properties["k"].(map[string]any)) != 2 {
		t.Errorf("%v", d.Properties)
	}
}
