package vector

import "math/bits"

// How integers are written.
const (
	intsZero     = iota // all are 0
	intsSame            // all are one number
	intsCoded           // residuals, range coded
	intsPlanes          // residuals, split into planes of bytes, compressed with zstd
	relative     = 0x40 // flag: of the differences to the reference
	intsKindMask = 0x3f
)

// Ints writes a vector. If reference has v's length, values close to it at the same
// index cost nearly nothing; the same one is needed to read them.
func (w *Writer) Ints(v, reference []int64) {
	if len(v) == 0 || w.same(v, 0) {
		return
	}
	var c choice
	c.among(v, 0)
	if len(reference) == len(v) {
		diff := make([]int64, len(v))
		for i := range v {
			diff[i] = v[i] - reference[i]
		}
		if w.same(diff, relative) {
			return
		}
		c.among(diff, relative)
	}
	w.residuals(c)
}

// choice is the cheapest prediction so far.
type choice struct {
	prediction
	flags     byte
	residuals []int64
	cost      int
}

// among tries the predictions for v.
func (c *choice) among(v []int64, flags byte) {
	scratch := make([]int64, len(v))
	for _, p := range predictionsOf(v) {
		p.residuals(v, scratch)
		if cost := cost(scratch) + 8*p.coefficients(); c.residuals == nil || cost < c.cost {
			spare := c.residuals
			*c = choice{p, flags, scratch, cost}
			if scratch = spare; scratch == nil {
				scratch = make([]int64, len(v))
			}
		}
	}
}

func allSame(v []int64) bool {
	for _, x := range v {
		if x != v[0] {
			return false
		}
	}
	return true
}

// same writes a vector of one number, if v is one.
func (w *Writer) same(v []int64, flags byte) bool {
	switch {
	case !allSame(v):
		return false
	case v[0] == 0:
		w.byte(intsZero | flags)
	default:
		w.byte(intsSame | flags)
		w.varint(v[0])
	}
	return true
}

// residuals writes kind, predictor, coefficients, the first residual, and the others
// in the shorter of two ways.
func (w *Writer) residuals(c choice) {
	rest := c.residuals[1:]
	second := uint64(rest[0])
	if rest[0] < 0 {
		second = -second
	}
	parameter := bits.Len64(second)
	coded, raw := encodeResiduals(rest, parameter)
	kind := byte(intsCoded)
	packed, width := packPlanes(rest)
	if len(packed) < len(coded)+len(raw) {
		kind, parameter = intsPlanes, width
	}
	w.byte(kind|c.flags, byte(c.by))
	for i := range c.coefficients() {
		w.byte(byte(c.w[i]))
	}
	w.varint(c.residuals[0])
	w.byte(byte(parameter))
	if kind == intsPlanes {
		w.data(packed)
		return
	}
	w.data(coded)
	w.data(raw)
}

// packPlanes splits residuals into planes, the lowest bytes of all first, and
// compresses them. width is the number of planes.
func packPlanes(res []int64) (packed []byte, width int) {
	highest := uint64(0)
	for _, r := range res {
		highest |= zigzag(r)
	}
	width = (bits.Len64(highest) + 7) / 8
	planes := make([]byte, width*len(res))
	for i, r := range res {
		u := zigzag(r)
		for p := range width {
			planes[p*len(res)+i] = byte(u >> (8 * p))
		}
	}
	return Compress(planes), width
}

func unpackPlanes(packed []byte, width int, res []int64) error {
	own := scratches.Get().(*scratch)
	defer own.free()
	planes, err := decompress(packed, width*len(res), own.bytes)
	if err != nil {
		return err
	}
	own.bytes = planes[:0]
	n := len(res)
	if width == 0 {
		clear(res)
		return nil
	}
	for i, b := range planes[:n] {
		res[i] = int64(b)
	}
	for p := 1; p < width; p++ {
		for i, b := range planes[p*n : p*n+n] {
			res[i] |= int64(b) << (8 * p)
		}
	}
	for i, u := range res {
		res[i] = unzigzag(uint64(u))
	}
	return nil
}

// Ints reads a vector of len(v) integers into v.
func (r *Reader) Ints(v, reference []int64) {
	if len(v) > MaxCount {
		r.fail("%d elements; at most %d are allowed", len(v), MaxCount)
	}
	if len(v) == 0 {
		return
	}
	head := r.byte()
	switch head & intsKindMask {
	case intsZero:
		clear(v)
	case intsSame:
		x := unzigzag(r.uvarint())
		for i := range v {
			v[i] = x
		}
	case intsCoded, intsPlanes:
		r.residuals(head&intsKindMask, v)
	default:
		r.fail("unknown kind %d of integers", head)
	}
	if head&relative != 0 {
		if len(reference) != len(v) {
			r.fail("the reference has %d elements, the vector %d", len(reference), len(v))
			return
		}
		for i := range v {
			v[i] += reference[i]
		}
	}
}

// SkipInts passes over a vector of n integers.
func (r *Reader) SkipInts(n int) {
	if n == 0 {
		return
	}
	switch head := r.byte(); head & intsKindMask {
	case intsZero:
	case intsSame:
		r.uvarint()
	case intsCoded, intsPlanes:
		r.residualsHead(head & intsKindMask)
	default:
		r.fail("unknown kind %d of integers", head)
	}
}

// residualsHead reads all of a vector of residuals but these. The parameter is the first class, or the number of planes.
func (r *Reader) residualsHead(kind byte) (p prediction, first int64, parameter int, packed, raw []byte) {
	p.by = predictor(r.byte())
	if p.by >= predictors {
		r.fail("unknown predictor %d", p.by)
	}
	for i := range p.coefficients() {
		p.w[i] = int8(r.byte())
	}
	first = unzigzag(r.uvarint())
	parameter = int(r.byte())
	packed = r.data()
	if kind == intsCoded {
		raw = r.data()
	}
	return p, first, parameter, packed, raw
}

func (r *Reader) residuals(kind byte, v []int64) {
	p, first, parameter, packed, raw := r.residualsHead(kind)
	switch {
	case r.Err != nil:
		return
	case len(v) < 2:
		r.fail("%d elements are written as residuals", len(v))
		return
	case kind == intsCoded && parameter > 64 || kind == intsPlanes && parameter > 8:
		r.fail("parameter %d is out of range", parameter)
		return
	}
	v[0] = first
	if kind == intsCoded {
		decodeResiduals(v[1:], parameter, packed, raw)
	} else if err := unpackPlanes(packed, parameter, v[1:]); err != nil {
		r.fail("%v", err)
		return
	}
	p.values(v)
}
