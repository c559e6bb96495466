package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func roundTripInts(t interface{ Fatalf(string, ...any) }, v, reference []int64) {
	var w Writer
	w.Ints(v, reference)
	got := make([]int64, len(v))
	r := Reader{Head: append(w.Head, 9), Data: append(w.Data, 9)}
	r.Ints(got, reference)
	if r.Err != nil || !slices.Equal(got, v) || len(r.Head) != 1 || len(r.Data) != 1 {
		t.Fatalf("%+v of %v is read as %v, %d and %d bytes are left, %v", w, v, got, len(r.Head), len(r.Data), r.Err)
	}
}

func TestIntsAreReadAsTheyWere(t *testing.T) {
	extreme := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, math.MinInt64, math.MinInt64, math.MaxInt64, 1 << 57, -1 << 60}
	for _, v := range [][]int64{nil, {0}, {7}, {-7, -7}, {0, 1}, extreme, slices.Repeat(extreme, 9)} {
		roundTripInts(t, v, nil)
		roundTripInts(t, v, slices.Repeat([]int64{math.MaxInt64}, len(v)))
	}
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Just(int64(0)))
		v := rapid.SliceOf(element).Draw(t, "v")
		if rapid.Bool().Draw(t, "walk") { // as measurements do
			for i := 1; i < len(v); i++ {
				v[i] = v[i-1] + v[i]>>40
			}
		}
		var reference []int64
		if rapid.Bool().Draw(t, "has reference") {
			reference = rapid.SliceOfN(rapid.Int64(), len(v), len(v)).Draw(t, "reference")
		}
		roundTripInts(t, v, reference)
	})
}

// floatsOf are the kinds of floats that tell the ways to write them apart.
var weird = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64,
	math.SmallestNonzeroFloat64, -1e-310, math.Float64frombits(0x7ff0000000000001), 1e22, 0.1, 1 << 53}

func drawFloats(t *rapid.T) []float64 {
	scale := rapid.SampledFrom([]float64{1, 1e-3, 2 * math.Pi / 4096, 1e-9, 1e15, 0.1}).Draw(t, "scale")
	v := rapid.SliceOf(rapid.Map(rapid.Int32Range(-5000, 5000), func(k int32) float64 { return float64(k) * scale })).Draw(t, "v")
	for i := range v {
		switch rapid.IntRange(0, 20).Draw(t, "kind") {
		case 0:
			v[i] = rapid.SampledFrom(weird).Draw(t, "weird")
		case 1:
			v[i] = rapid.Float64().Draw(t, "any")
		}
	}
	return v
}

func TestFloatsAreReadToTheBitOrWithinTheError(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, v []float64, o FloatOptions) {
		in := make([]uint64, len(v))
		for i, x := range v {
			if in[i] = math.Float64bits(x); o.Single {
				in[i] = uint64(math.Float32bits(float32(x)))
			}
		}
		r := written(func(w *Writer) { w.Floats(in, o) })
		out := make([]uint64, len(v))
		r.Floats(out, o.Single)
		if r.Err != nil || len(r.Head)+len(r.Data) != 0 {
			t.Fatalf("%v: %d bytes left, %v", v, len(r.Head)+len(r.Data), r.Err)
		}
		for i := range v {
			if in[i] == out[i] {
				continue
			}
			x, y := math.Float64frombits(in[i]), math.Float64frombits(out[i])
			if o.Single {
				x, y = float64(math.Float32frombits(uint32(in[i]))), float64(math.Float32frombits(uint32(out[i])))
			}
			if o.MaxError == 0 || !(math.Abs(x-y) <= o.MaxError) || x == 0 && math.Signbit(x) {
				t.Fatalf("%v is read as %v with %+v in %v", x, y, o, v)
			}
		}
	}
	errors := []float64{0, 1e-4, 1e-12, 0.5, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64}
	for _, e := range errors {
		check(t, slices.Repeat(weird, 4), FloatOptions{MaxError: e})
		check(t, slices.Repeat(weird, 4), FloatOptions{MaxError: e, Single: true})
	}
	rapid.Check(t, func(t *rapid.T) {
		o := FloatOptions{Single: rapid.Bool().Draw(t, "single"), MaxError: rapid.SampledFrom(errors).Draw(t, "max error")}
		check(t, drawFloats(t), o)
	})
}

func TestTextsAreReadAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{nil, []byte("map"), []byte("base_link")}))
		v := rapid.SliceOf(text).Draw(t, "v")
		r := written(func(w *Writer) { w.Texts(v) })
		got := r.Texts(len(v))
		if r.Err != nil || len(r.Head)+len(r.Data) != 0 || !slices.EqualFunc(got, v, slices.Equal) {
			t.Fatalf("%q is read as %q, %v", v, got, r.Err)
		}
	})
}

// Who passes over a vector stands where who reads it does.
func TestVectorsArePassedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ints := rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.Just(int64(7)))).Draw(t, "ints")
		var reference []int64
		if rapid.Bool().Draw(t, "has reference") {
			reference = slices.Repeat([]int64{5}, len(ints))
		}
		floats := drawFloats(t)
		bits := make([]uint64, len(floats))
		for i, v := range floats {
			bits[i] = math.Float64bits(v)
		}
		options := FloatOptions{MaxError: rapid.SampledFrom([]float64{0, 1e-4}).Draw(t, "error")}
		texts := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(t, "texts")
		r := written(func(w *Writer) {
			w.Ints(ints, reference)
			w.Floats(bits, options)
			w.Texts(texts)
			w.Ints([]int64{1, 9, 4}, nil)
		})
		r.SkipInts(len(ints))
		r.SkipFloats(len(bits))
		r.SkipTexts(len(texts))
		last := make([]int64, 3)
		if r.Ints(last, nil); r.Err != nil || !slices.Equal(last, []int64{1, 9, 4}) || len(r.Head)+len(r.Data) != 0 {
			t.Fatalf("%v is left, of %d and %d bytes, %v", last, len(r.Head), len(r.Data), r.Err)
		}
	})
}

// walk returns n values as an encoder of that step gives them, from a fixed seed.
func walk(n int, offset int64, speed float64, value func(k int64) float64) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	v, k, d := make([]uint64, n), float64(offset), 0.0
	for i := range v {
		d = 0.8*d + r.NormFloat64()*speed
		k += d
		v[i] = math.Float64bits(value(int64(math.Round(k))))
	}
	return v
}

// What an encoder or rounding made is found again: the bits are those of the counts,
// not those of the floats.
func TestStepsOfEncodersAreFound(t *testing.T) {
	const n = 400
	pi32 := float64(float32(math.Pi))
	for _, c := range []struct {
		name  string
		most  float64 // bits per value
		value func(k int64) float64
	}{
		{"decimals", 5.5, func(k int64) float64 { return float64(k) / 1000 }},
		{"decimals as float32", 5.5, func(k int64) float64 { return float64(float32(float64(k) / 10000)) }},
		{"decimals by multiplication", 5.5, func(k int64) float64 { return float64(k) * 1e-5 }},
		{"19 bits per turn", 5.5, func(k int64) float64 { return float64(k) * (2 * math.Pi / (1 << 19)) }},
		{"19 bits per turn as float32", 6.5, func(k int64) float64 { return float64(float32(float64(k) * 2 * pi32 / (1 << 19))) }},
		{"any scale", 5.5, func(k int64) float64 { return float64(k) * 9.80665 / 16384 }},
		{"fixed point", 5.5, func(k int64) float64 { return float64(k) / 4096 }},
	} {
		var w Writer
		w.Floats(walk(n, 60_000, 5, c.value), FloatOptions{})
		if got := float64(w.Len()*8) / n; got > c.most {
			t.Errorf("%s: %.1f bits per value, want at most %.1f", c.name, got, c.most)
		}
	}
}

// A joint that hardly moves has few different distances between values, and they are found all the same.
func TestStepsOfSlowEncodersAreFound(t *testing.T) {
	const n = 98
	for name, value := range map[string]func(k int64) float64{
		"14 bits per turn":             func(k int64) float64 { return float64(k) / (1 << 14 / (2 * math.Pi)) },
		"14 bits per turn, multiplied": func(k int64) float64 { return float64(k) * (2 * math.Pi / (1 << 14)) },
		"as float32":                   func(k int64) float64 { return float64(float32(float64(k) * (2 * math.Pi / (1 << 14)))) },
	} {
		for speed, most := range map[float64]float64{0.05: 3, 0.3: 5, 1: 6.5} {
			var w Writer
			v := walk(n, 1000, speed, value)
			w.Floats(v, FloatOptions{})
			if got := float64(w.Len()*8) / n; got > most {
				t.Errorf("%s: %.1f bits per value at %g steps each, want at most %g", name, got, speed, most)
			}
			r, read := Reader{Head: w.Head, Data: w.Data}, make([]uint64, n)
			if r.Floats(read, false); r.Err != nil || !slices.Equal(read, v) {
				t.Errorf("%s: %x are read as %x, %v", name, v, read, r.Err)
			}
		}
	}
}

func BenchmarkFloats(b *testing.B) {
	v := walk(1024, 60_000, 5, func(k int64) float64 { return float64(float32(float64(k) * (2 * math.Pi / (1 << 19)))) })
	var enc Writer
	enc.Floats(v, FloatOptions{})
	out := make([]uint64, len(v))
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			new(Writer).Floats(v, FloatOptions{})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(v)), "ns/value")
		b.ReportMetric(float64(enc.Len()*8)/float64(len(v)), "bits/value")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r := Reader{Head: enc.Head, Data: enc.Data}
			if r.Floats(out, false); r.Err != nil {
				b.Fatal(r.Err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(v)), "ns/value")
	})
}

// written returns a reader of what f writes.
func written(f func(w *Writer)) Reader {
	var w Writer
	f(&w)
	return Reader{Head: w.Head, Data: w.Data}
}

// Whatever the bytes, reading them ends, within bounds, and what is read whole can
// be written again.
func FuzzVectors(f *testing.F) {
	v := walk(40, 600, 5, func(k int64) float64 { return float64(k) / 1000 })
	add := func(n int, write func(w *Writer)) {
		r := written(write)
		f.Add(r.Head, r.Data, n)
	}
	add(40, func(w *Writer) { w.Floats(v, FloatOptions{}) })
	add(40, func(w *Writer) { w.Floats(v, FloatOptions{MaxError: 0.01}) })
	add(8, func(w *Writer) { w.Ints([]int64{1, 5, 2, 9, -4, 3, 3, 3}, nil) })
	add(4, func(w *Writer) { w.Texts([][]byte{[]byte("a"), []byte("b"), []byte("a"), []byte("a")}) })
	add(2, func(w *Writer) { w.Texts([][]byte{make([]byte, 5000), []byte("b")}) })
	f.Fuzz(func(t *testing.T, head, data []byte, n int) {
		n = min(max(n, 0), 4096)
		ints := make([]int64, n)
		r := Reader{Head: head, Data: data}
		if r.Ints(ints, nil); r.Err == nil {
			roundTripInts(t, ints, nil)
		}
		for _, single := range []bool{false, true} {
			bits := make([]uint64, n)
			r := Reader{Head: head, Data: data}
			if r.Floats(bits, single); r.Err != nil {
				continue
			}
			again := make([]uint64, n)
			r = written(func(w *Writer) { w.Floats(bits, FloatOptions{Single: single}) })
			if r.Floats(again, single); r.Err != nil || !slices.Equal(bits, again) {
				t.Fatalf("%x is read as %x, %v", bits, again, r.Err)
			}
		}
		r = Reader{Head: head, Data: data}
		if texts := r.Texts(n); r.Err == nil {
			new(Writer).Texts(texts)
		}
	})
}
