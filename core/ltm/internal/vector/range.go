package vector

import "bytes"

// An adaptive binary range coder: LZMA's coder with probabilities of 16 bits whose
// rate falls with what they have seen, so that short vectors learn fast.

// prob is the probability of a 0.
type prob struct {
	p uint16
	n uint8 // bits seen, up to where the rate stays
}

const (
	probBits = 16
	rangeMin = 1 << 24
	lastRate = 30
)

// rates[n] is how far, of 65536, a probability that has seen n bits moves, and
// after[n] is what it has seen then.
var (
	rates [32]uint32
	after [32]uint8
)

func init() {
	for n := range rates {
		rates[n] = 65536 / uint32(min(n, lastRate)+2)
		after[n] = uint8(min(n+1, lastRate))
	}
}

// update learns that the bit was b, having been expected with probability v.
func (p *prob) update(v uint32, b uint32) {
	if b == 0 {
		v += ((1<<probBits - v) * rates[p.n&31]) >> 16
	} else {
		v -= (v * rates[p.n&31]) >> 16
	}
	p.p = uint16(min(max(v, 48), 1<<probBits-48))
	p.n = after[p.n&31]
}

// rangeEncoder writes bits of given probabilities.
type rangeEncoder struct {
	out   []byte
	low   uint64
	size  uint32
	cache byte
	carry int // bytes that a carry would change: the cache, and those of 0xff after it
}

func newRangeEncoder() *rangeEncoder { return &rangeEncoder{size: 1<<32 - 1, carry: 1} }

func (e *rangeEncoder) bit(p *prob, b uint32) {
	v := uint32(p.p)
	bound := (e.size >> probBits) * v
	if b == 0 {
		e.size = bound
	} else {
		e.low += uint64(bound)
		e.size -= bound
	}
	p.update(v, b)
	for e.size < rangeMin {
		e.size <<= 8
		e.shift()
	}
}

// shift moves the highest byte of low out, as far as no carry can change it.
func (e *rangeEncoder) shift() {
	if e.low < 0xff000000 || e.low >= 1<<32 {
		e.out = append(e.out, e.cache+byte(e.low>>32))
		for ; e.carry > 1; e.carry-- {
			e.out = append(e.out, 0xff+byte(e.low>>32))
		}
		e.carry = 0
		e.cache = byte(e.low >> 24)
	}
	e.carry++
	e.low = e.low & 0x00ffffff << 8
}

// finish returns what was written, without the first byte, which is always 0, and
// without the zeros at its end, which the decoder reads past the end anyway.
func (e *rangeEncoder) finish() []byte {
	for range 5 {
		e.shift()
	}
	return bytes.TrimRight(e.out[1:], "\x00")
}

// rangeDecoder reads what a rangeEncoder wrote, and zeros after its end.
type rangeDecoder struct {
	in   []byte
	at   int
	code uint32
	size uint32
}

func newRangeDecoder(in []byte) rangeDecoder {
	d := rangeDecoder{in: in, size: 1<<32 - 1}
	for range 4 {
		d.code = d.code<<8 | uint32(d.next())
	}
	return d
}

func (d *rangeDecoder) next() byte {
	if d.at < len(d.in) {
		d.at++
		return d.in[d.at-1]
	}
	return 0
}

func (d *rangeDecoder) bit(p *prob) uint32 {
	v := uint32(p.p)
	rate := rates[p.n&31]
	p.n = after[p.n&31]
	bound := (d.size >> probBits) * v
	b := uint32(0)
	if d.code < bound {
		d.size = bound
		v += ((1<<probBits - v) * rate) >> 16
		p.p = uint16(min(v, 1<<probBits-48))
	} else {
		d.code -= bound
		d.size -= bound
		v -= (v * rate) >> 16
		p.p = uint16(max(v, 48))
		b = 1
	}
	for d.size < rangeMin {
		d.size <<= 8
		d.code = d.code<<8 | uint32(d.next())
	}
	return b
}

// bitWriter and bitReader handle bits that are as likely 0 as 1.
type bitWriter struct {
	out  []byte
	acc  uint64
	fill uint
}

func (w *bitWriter) write(v uint64, n uint) {
	for n > 32 {
		w.write(v&(1<<32-1), 32)
		v >>= 32
		n -= 32
	}
	w.acc |= (v & (1<<n - 1)) << w.fill
	for w.fill += n; w.fill >= 8; w.fill -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) finish() []byte {
	if w.fill > 0 {
		w.out = append(w.out, byte(w.acc))
	}
	return w.out
}

type bitReader struct {
	in   []byte
	at   int
	acc  uint64
	fill uint
}

// read returns n bits, zeros past the end.
func (r *bitReader) read(n uint) uint64 {
	if n > 32 {
		low := r.read(32)
		return low | r.read(n-32)<<32
	}
	for r.fill < n {
		if r.at < len(r.in) {
			r.acc |= uint64(r.in[r.at]) << r.fill
			r.at++
		}
		r.fill += 8
	}
	v := r.acc & (1<<n - 1)
	r.acc >>= n
	r.fill -= n
	return v
}
