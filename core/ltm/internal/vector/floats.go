package vector

import (
	"encoding/binary"
	"math"
)

// How floats become integers.
const (
	floatsOrdered = iota // their bits, ordered as their values are
	floatsSingle         // as above, of float64 that are all float32
	floatsDecimal        // k / 10^e
	floatsStep           // k * step
	floatsQuant          // k * step, within the error that is allowed
	singleFlag    = 0x40 // of decimals and steps: rounded to float32
)

// FloatOptions say what is known of floats, and what may be lost.
type FloatOptions struct {
	// Single says that the elements are bits of float32.
	Single bool
	// MaxError is how far a value that is read may be from the one written; 0 gives
	// the same bits. NaN, infinities and -0 are always kept to the bit.
	MaxError float64
}

// Floats writes a vector of the floats whose bits v holds: as math.Float64bits gives
// them, or with Single as math.Float32bits does.
func (w *Writer) Floats(v []uint64, o FloatOptions) {
	if len(v) == 0 {
		return
	}
	values, native := valuesOf(v, o.Single)
	best := Writer{Head: []byte{floatsOrdered}}
	best.Ints(native, nil)
	if allSame(native) {
		w.append(best)
		return
	}
	try := func(t Writer) {
		if t.Len() < best.Len() {
			best = t
		}
	}
	single := o.Single
	if !o.Single && allSingle(v) {
		single = true
		ordered := make([]int64, len(v))
		for i, x := range values {
			ordered[i] = order32(math.Float32bits(float32(x)))
		}
		t := Writer{Head: []byte{floatsSingle}}
		t.Ints(ordered, nil)
		try(t)
	}
	if e, ok := findDecimal(values, single); ok {
		g := grid{kind: floatsDecimal, exponent: byte(e), single: single, native32: o.Single}
		try(g.write(values, native, 0))
	} else if step, ok := findStep(values, single); ok {
		g := grid{kind: floatsStep, step: step, single: single, native32: o.Single}
		try(g.write(values, native, 0))
	}
	if o.MaxError > 0 && o.MaxError < math.MaxFloat64/4 {
		g := grid{kind: floatsQuant, step: quantum(values, o), native32: o.Single}
		try(g.write(values, native, o.MaxError))
	}
	w.append(best)
}

// valuesOf returns the values of floats and their bits as integers in the order of
// the values.
func valuesOf(v []uint64, single bool) (values []float64, ordered []int64) {
	values, ordered = make([]float64, len(v)), make([]int64, len(v))
	for i, b := range v {
		if single {
			values[i], ordered[i] = float64(math.Float32frombits(uint32(b))), order32(uint32(b))
		} else {
			values[i], ordered[i] = math.Float64frombits(b), order64(b)
		}
	}
	return values, ordered
}

// order64 and order32 map the bits of floats to integers that are ordered as the
// values are, one to one: negative ones count down from -1, which is -0.
func order64(b uint64) int64 {
	if b>>63 != 0 {
		return ^int64(b &^ (1 << 63))
	}
	return int64(b)
}

func bits64(o int64) uint64 {
	if o < 0 {
		return uint64(^o) | 1<<63
	}
	return uint64(o)
}

func order32(b uint32) int64 {
	if b>>31 != 0 {
		return ^int64(b &^ (1 << 31))
	}
	return int64(b)
}

func bits32(o int64) uint32 {
	if o < 0 {
		return uint32(^o) | 1<<31
	}
	return uint32(o)
}

// allSingle reports whether float32 holds all of them to the bit.
func allSingle(v []uint64) bool {
	for _, b := range v {
		x := math.Float64frombits(b)
		if math.Float64bits(float64(float32(x))) != b {
			return false
		}
	}
	return true
}

// grid is a way to make floats of integers.
type grid struct {
	kind     byte
	exponent byte    // floatsDecimal
	step     float64 // floatsStep, floatsQuant
	single   bool    // rounded to float32
	native32 bool    // the vector's own floats are float32
}

// at returns the float of k. No step of it may be fused with another one, lest it
// differs between processors.
func (g *grid) at(k int64) float64 {
	var x float64
	if g.kind == floatsDecimal {
		x = float64(k) / powers[g.exponent]
	} else {
		x = float64(float64(k) * g.step)
	}
	if g.single {
		return float64(float32(x))
	}
	return x
}

// nearest returns the k whose float is nearest to x, 0 for what has none.
func (g *grid) nearest(x float64) int64 {
	var k float64
	if g.kind == floatsDecimal {
		k = math.Round(x * powers[g.exponent])
	} else {
		k = math.Round(x / g.step)
	}
	if !(math.Abs(k) < 1<<53) {
		return 0
	}
	return int64(k)
}

// ordered returns x's own bits as an ordered integer.
func (g *grid) ordered(x float64) int64 {
	if g.native32 {
		return order32(math.Float32bits(float32(x)))
	}
	return order64(math.Float64bits(x))
}

// write writes floats as multiples, and beside them by how many of the smallest steps
// between floats each is corrected; none where it is within maxError.
func (g *grid) write(values []float64, native []int64, maxError float64) (w Writer) {
	ks, corrections := make([]int64, len(values)), make([]int64, len(values))
	for i, x := range values {
		ks[i] = g.nearest(x)
		got := g.at(ks[i])
		if g.native32 {
			got = float64(float32(got))
		}
		// -0 is not 0, NaN is not near to anything.
		if maxError > 0 && math.Abs(x-got) <= maxError && (x != 0 || native[i] == 0) {
			continue
		}
		corrections[i] = native[i] - g.ordered(got)
	}
	head := g.kind
	if g.single {
		head |= singleFlag
	}
	if w.byte(head); g.kind == floatsDecimal {
		w.byte(g.exponent)
	} else {
		w.Head = binary.LittleEndian.AppendUint64(w.Head, math.Float64bits(g.step))
	}
	w.Ints(ks, nil)
	w.Ints(corrections, nil)
	return w
}

// floatsHead reads how the integers of a vector become floats.
func (r *Reader) floatsHead(single bool) (g grid) {
	head := r.byte()
	g = grid{kind: head &^ singleFlag, single: head&singleFlag != 0, native32: single}
	switch g.kind {
	case floatsOrdered, floatsSingle:
	case floatsDecimal:
		if g.exponent = r.byte(); int(g.exponent) >= len(powers) {
			r.fail("decimals of %d digits", g.exponent)
			g.exponent = 0
		}
	case floatsStep, floatsQuant:
		g.step = math.Float64frombits(r.uint64())
	default:
		r.fail("unknown kind %d of floats", head)
	}
	return g
}

// SkipFloats passes over a vector of n floats.
func (r *Reader) SkipFloats(n int) {
	if n == 0 {
		return
	}
	g := r.floatsHead(false)
	r.SkipInts(n)
	if g.kind != floatsOrdered && g.kind != floatsSingle {
		r.SkipInts(n)
	}
}

// Floats reads a vector of len(v) floats, as bits, into v. single says what the
// writer was told.
func (r *Reader) Floats(v []uint64, single bool) {
	if len(v) == 0 {
		return
	}
	g := r.floatsHead(single)
	own := scratches.Get().(*scratch)
	defer own.free()
	ks, corrections := own.twice(len(v))
	switch g.kind {
	case floatsOrdered, floatsSingle:
		if g.kind == floatsSingle && single {
			r.fail("float32 written as what float64 may be")
			return
		}
		if r.Ints(ks, nil); r.Err != nil {
			clear(v)
			return
		}
		for i, o := range ks {
			switch {
			case g.kind == floatsSingle:
				v[i] = math.Float64bits(float64(math.Float32frombits(bits32(o))))
			case single:
				v[i] = uint64(bits32(o))
			default:
				v[i] = bits64(o)
			}
		}
		return
	}
	r.Ints(ks, nil)
	r.Ints(corrections, nil)
	if r.Err != nil {
		clear(v)
		return
	}
	for i, k := range ks {
		x := g.at(k)
		switch {
		case single:
			v[i] = uint64(bits32(g.ordered(x) + corrections[i]))
		case corrections[i] == 0:
			v[i] = math.Float64bits(x)
		default:
			v[i] = bits64(g.ordered(x) + corrections[i])
		}
	}
}
