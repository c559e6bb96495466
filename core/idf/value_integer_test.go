package idf

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// edges are where integers are rounded, where they are.
var integerEdges = []uint64{0, 1, 1<<24 + 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}

// TestIntegersOfAValue writes every integer of 64 bits, with and without a sign, as JSON, and reads it back.
func TestIntegersOfAValue(t *testing.T) {
	value, _ := NewRegistry().Get(engram.ValueType)
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom(integerEdges)).Draw(t, "magnitude")
		text, want := strconv.FormatUint(u, 10), any(u)
		if u <= math.MaxInt64 {
			want = int64(u)
		}
		if rapid.Bool().Draw(t, "negative") && u > 0 && u <= 1<<63 {
			text, want = "-"+text, any(int64(-u))
		}
		for _, form := range []string{"%s", "[%s]", `{"a": {"b": [%s]}}`} {
			b, err := value.FromJSON(fmt.Appendf(nil, form, text))
			if err != nil {
				t.Fatal(err)
			}
			v, err := DecodeValue(b)
			if err != nil || show(v) != show(wrapped(form, want)) {
				t.Fatalf("%s is %s, %v, want %s", text, show(v), err, show(wrapped(form, want)))
			}
			again, err := EncodeValue(v)
			if err != nil || string(again) != string(b) {
				t.Fatalf("%s is encoded as %x, %v, and from Go as %x", text, b, err, again)
			}
			if err := value.Check(b); err != nil {
				t.Fatal(err)
			}
			j, err := value.JSON(b, JSONOptions{})
			if err != nil || !strings.Contains(string(j), text) || !json.Valid(j) {
				t.Fatalf("%s is shown as %s, %v", text, j, err)
			}
			if back, err := value.FromJSON(j); err != nil || string(back) != string(b) {
				t.Fatalf("%s is shown as %s, which is read as %x, %v, not as %x", text, j, back, err, b)
			}
			seen := int64(0)
			if err := value.Walk(b, KindNumber, func(f *Found) bool { seen = f.Int; return true }); err != nil || uint64(seen) != integerBits(want) {
				t.Fatalf("%s is walked as %d, %v", text, seen, err)
			}
		}
	})
}

func integerBits(v any) uint64 {
	if i, ok := v.(int64); ok {
		return uint64(i)
	}
	return v.(uint64)
}

func wrapped(form string, v any) any {
	switch form {
	case "[%s]":
		return []any{v}
	case "%s":
		return v
	}
	return map[string]any{"a": map[string]any{"b": []any{v}}}
}

// An integer beyond 64 bits is a double if that is the same, and refused else.
func TestIntegersBeyond64Bits(t *testing.T) {
	value, _ := NewRegistry().Get(engram.ValueType)
	for text, want := range map[string]any{
		"18446744073709551616": float64(1 << 64), "18446744073709551617": nil, "-9223372036854775809": nil, "-18446744073709551616": -float64(1 << 64),
		"100000000000000000000000": nil, "18446744073709551617.0": float64(1 << 64), "1e400": nil, "1" + strings.Repeat("0", 400): nil,
	} {
		b, err := value.FromJSON([]byte(text))
		if want == nil {
			if engram.CodeOf(err) != engram.OutOfRange {
				t.Errorf("%s: %v, want out of range", text, err)
			}
			continue
		}
		if v, err2 := DecodeValue(b); err != nil || err2 != nil || v != want {
			t.Errorf("%s is %v, %v, %v, want %v", text, v, err, err2, want)
		}
	}
}

// TestFilterComparesIntegersExactly compares integers that are one and the same as doubles.
func TestFilterComparesIntegersExactly(t *testing.T) {
	value, _ := NewRegistry().Get(engram.ValueType)
	for _, c := range []struct {
		payload, filter string
		want            bool
	}{
		{`{"n": 9007199254740993}`, "n == 9007199254740993", true},
		{`{"n": 9007199254740993}`, "n == 9007199254740992", false},
		{`{"n": 9007199254740993}`, "n > 9007199254740992", true},
		{`{"n": 18446744073709551615}`, "n == 18446744073709551615u", true},
		{`{"n": 18446744073709551615}`, "n == 18446744073709551614u", false},
		{`{"n": 18446744073709551615}`, "n > 9223372036854775807", true},
		{`{"n": -9223372036854775808}`, "n == -9223372036854775808", true},
		{`{"n": -9223372036854775808}`, "n < -9223372036854775807", true},
	} {
		b, err := value.FromJSON([]byte(c.payload))
		if err != nil {
			t.Fatal(err)
		}
		s := &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: b})}}
		if got := compileFilter(t, c.filter).Match(value, s, 0); got != c.want {
			t.Errorf("%s of %s is %v", c.filter, c.payload, got)
		}
	}
}
