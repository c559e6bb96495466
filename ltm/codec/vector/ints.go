package vector

import (
	"encoding/binary"
	"math/bits"
)

// How integers are written.
const (
	intsZero     = iota // all are 0
	intsSame            // all are one number
	intsCoded           // residuals, range coded
	intsPlanes          // residuals, split into planes of bytes, compressed with zstd
	relative     = 0x40 // flag: of the differences to the reference
	intsKindMask = 0x3f
)

// AppendInts appends the vector v. If reference has v's length, values close to it
// at the same index cost nearly nothing; the same one is needed to read them.
func AppendInts(dst []byte, v, reference []int64) []byte {
	if len(v) == 0 {
		return append(dst, intsZero)
	}
	best, res, flags := prediction{}, []int64(nil), byte(0)
	least := -1
	try := func(v []int64, f byte) bool {
		if allSame(v) {
			dst = appendSame(dst, v[0], f)
			return true
		}
		scratch := make([]int64, len(v))
		for _, p := range predictionsOf(v) {
			p.residuals(v, scratch)
			if c := cost(scratch) + 8*p.coefficients(); least < 0 || c < least {
				least, best, flags = c, p, f
				res, scratch = scratch, res
				if scratch == nil {
					scratch = make([]int64, len(v))
				}
			}
		}
		return false
	}
	if try(v, 0) {
		return dst
	}
	if len(reference) == len(v) {
		diff := make([]int64, len(v))
		for i := range v {
			diff[i] = v[i] - reference[i]
		}
		if try(diff, relative) {
			return dst
		}
	}
	return appendResiduals(dst, best, res, flags)
}

func allSame(v []int64) bool {
	for _, x := range v {
		if x != v[0] {
			return false
		}
	}
	return true
}

func appendSame(dst []byte, x int64, flags byte) []byte {
	if x == 0 {
		return append(dst, intsZero|flags)
	}
	return binary.AppendVarint(append(dst, intsSame|flags), x)
}

// appendResiduals writes kind, predictor, coefficients, the first residual, and the
// others in the shorter of two ways.
func appendResiduals(dst []byte, p prediction, res []int64, flags byte) []byte {
	head := func(kind byte) []byte {
		dst = append(dst, kind|flags, byte(p.by))
		for i := range p.coefficients() {
			dst = append(dst, byte(p.w[i]))
		}
		return binary.AppendVarint(dst, res[0])
	}
	rest := res[1:]
	second := uint64(rest[0])
	if rest[0] < 0 {
		second = -second
	}
	first := bits.Len64(second)
	coded, raw := encodeResiduals(rest, first)
	packed, width := packPlanes(rest)
	if len(packed)+2 < len(coded)+len(raw)+3 {
		return appendBytes(append(head(intsPlanes), byte(width)), packed)
	}
	return appendBytes(appendBytes(append(head(intsCoded), byte(first)), coded), raw)
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
	return compress(planes), width
}

func unpackPlanes(packed []byte, width int, res []int64) error {
	planes, err := decompress(packed, width*len(res))
	if err != nil {
		return err
	}
	n := len(res)
	for i := range res {
		u := uint64(0)
		for p := range width {
			u |= uint64(planes[p*n+i]) << (8 * p)
		}
		res[i] = unzigzag(u)
	}
	return nil
}

// Ints reads a vector of len(v) integers into v and returns the bytes after it.
func Ints(b []byte, v, reference []int64) (rest []byte, err error) {
	r := reader{b: b}
	r.ints(v, reference)
	return r.b, r.err
}

func (r *reader) ints(v, reference []int64) {
	if len(v) > MaxCount {
		r.fail("%d elements; at most %d are allowed", len(v), MaxCount)
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

func (r *reader) residuals(kind byte, v []int64) {
	p := prediction{by: predictor(r.byte())}
	if p.by >= predictors {
		r.fail("unknown predictor %d", p.by)
	}
	for i := range p.coefficients() {
		p.w[i] = int8(r.byte())
	}
	first := unzigzag(r.uvarint())
	parameter := int(r.byte()) // the first class, or the number of planes
	packed := r.bytes()
	var raw []byte
	if kind == intsCoded {
		raw = r.bytes()
	}
	switch {
	case r.err != nil:
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
