package idf

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// roundTrip makes an array of elements and reads them back, by slice and by element.
func roundTrip[T Element](t *testing.T, dtype DType, data ...T) {
	t.Helper()
	a, err := NewNDArray(data)
	if err != nil {
		t.Fatal(err)
	}
	if a.DType != dtype || len(a.Data) != len(data)*dtype.Size() || a.Valid() != nil {
		t.Errorf("%v: %v, %d bytes, %v", dtype, a.DType, len(a.Data), a.Valid())
	}
	back, err := Elements[T](a)
	if err != nil || !slices.Equal(back, data) {
		t.Errorf("%v: read back %v (%v), not %v", dtype, back, err, data)
	}
	for i, v := range data {
		if a.Float(i) != float64(v) {
			t.Errorf("%v: element %d is %v, not %v", dtype, i, a.Float(i), v)
		}
		if dtype != Float32 && dtype != Float64 && T(a.Int(i)) != v {
			t.Errorf("%v: element %d is the integer %v, not %v", dtype, i, a.Int(i), v)
		}
	}
}

func TestNDArrayElements(t *testing.T) {
	roundTrip[uint8](t, Uint8, 0, 255)
	roundTrip[int8](t, Int8, -128, 127)
	roundTrip[uint16](t, Uint16, 1, math.MaxUint16)
	roundTrip[int16](t, Int16, -1, math.MinInt16)
	roundTrip[uint32](t, Uint32, 1, math.MaxUint32)
	roundTrip[int32](t, Int32, -1, math.MinInt32)
	roundTrip[uint64](t, Uint64, 1, math.MaxUint64)
	roundTrip[int64](t, Int64, -1, math.MinInt64)
	roundTrip[float32](t, Float32, -0.5, math.MaxFloat32)
	roundTrip[float64](t, Float64, -0.1, math.MaxFloat64)
	roundTrip[celsius](t, Float32, 36.5)
}

func TestNDArrayAt(t *testing.T) {
	a, err := NewNDArray([]int16{0, 1, 2, 3, 4, 5}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := a.At(1, 2); err != nil || v != 5 {
		t.Errorf("[1 2] is %v, %v", v, err)
	}
	for _, index := range [][]int64{{2, 0}, {0, 3}, {-1, 0}, {0}, {0, 0, 0}} {
		if _, err := a.At(index...); engram.CodeOf(err) != engram.OutOfRange {
			t.Errorf("%v: %v", index, err)
		}
	}
	if _, err := Elements[uint8](a); engram.CodeOf(err) != engram.TypeMismatch {
		t.Errorf("elements of another type: %v", err)
	}
	if a.String() != "int16 2x3" {
		t.Error(a.String())
	}
	if _, err := NewNDArray([]int8{1, 2}, 3); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a shape that does not fit: %v", err)
	}
}

func TestNDArrayValid(t *testing.T) {
	for name, c := range map[string]struct {
		a  NDArray
		ok bool
	}{
		"scalar":       {NDArray{DType: Uint8, Data: []byte{1}}, true},
		"empty":        {NDArray{Shape: []int64{0, 5}, DType: Float64}, true},
		"dtype 0":      {NDArray{Shape: []int64{0}}, false},
		"dtype -1":     {NDArray{Shape: []int64{0}, DType: -1}, false},
		"dtype 11":     {NDArray{Shape: []int64{0}, DType: 11}, false},
		"short":        {NDArray{Shape: []int64{2}, DType: Uint16, Data: make([]byte, 3)}, false},
		"negative":     {NDArray{Shape: []int64{-1, -1}, DType: Uint8, Data: []byte{1}}, false},
		"product wrap": {NDArray{Shape: []int64{1 << 32, 1 << 32}, DType: Uint8}, false},
		"size wrap":    {NDArray{Shape: []int64{1 << 61}, DType: Float64}, false},
	} {
		if err := c.a.Valid(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseDType(t *testing.T) {
	for d := Uint8; d <= Float64; d++ {
		if got, err := ParseDType(d.String()); err != nil || got != d {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if _, err := ParseDType("float16"); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}

// TestDecimal: a float stands for the decimal number that it prints as, and no two
// floats for the same.
func TestDecimal(t *testing.T) {
	for f, want := range map[float32]float64{0.8: 0.8, 0.1: 0.1, 1e-3: 1e-3, 123.456: 123.456, 3e20: 3e20, 1e-30: 1e-30, 0: 0, -2.5: -2.5, 16777216: 16777216} {
		if got := decimal(f); got != want {
			t.Errorf("%v: %v", f, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32().Draw(t, "f")
		if float32(decimal(f)) != f {
			t.Fatalf("%v became %v", f, decimal(f))
		}
		if n := math.Nextafter32(f, float32(math.Inf(1))); decimal(n) <= decimal(f) {
			t.Fatalf("%v became %v, and %v above it %v", f, decimal(f), n, decimal(n))
		}
	})
}
