package stream

import "math/bits"

// Times of versions are written as bits, least significant first: a step is mostly
// noise of the clocks, and whole bytes would waste a third.

// maxUnary is how many ones say that a number is not worth splitting and follows whole.
const maxUnary = 20

// level is about how large the numbers of one kind were: what is written next is
// expected to be like them. Both sides keep the same.
type level uint64

// low returns how many of a number's low bits are written as they are.
func (l level) low() uint { return uint(max(bits.Len64(uint64(l)), 1) - 1) }

// follow takes a number in, one far off only in part.
func (l *level) follow(v uint64) {
	v = min(v, uint64(*l)*8+1<<16, 1<<40)
	*l += level((int64(v) - int64(*l)) >> 2)
}

type bitWriter struct {
	bytes []byte
	last  uint64 // bits that are no byte yet
	n     uint   // how many
}

func (w *bitWriter) reset() { w.bytes, w.last, w.n = w.bytes[:0], 0, 0 }

// put writes n bits, at most 32.
func (w *bitWriter) put(v uint64, n uint) {
	w.last |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.bytes = append(w.bytes, byte(w.last))
		w.last >>= 8
	}
}

// close fills the last byte up.
func (w *bitWriter) close() []byte {
	if w.n > 0 {
		w.bytes = append(w.bytes, byte(w.last))
	}
	return w.bytes
}

// int writes a number by the level of those like it: how often 2^low goes into it in
// ones and a zero, then the low bits.
func (w *bitWriter) int(n int64, l *level) {
	v, low := zigzag(n), l.low()
	if high := v >> low; high < maxUnary {
		w.put(1<<high-1, uint(high)+1)
	} else {
		w.put(1<<maxUnary-1, maxUnary)
		low = 64
	}
	w.put(v&(1<<min(low, 32)-1), min(low, 32))
	if low > 32 {
		w.put(v>>32&(1<<(low-32)-1), low-32)
	}
	l.follow(v)
}

// bitReader reads what a bitWriter wrote.
type bitReader struct {
	bytes []byte
	at    uint // bits that were read
	over  bool // something was read behind the end
}

func (r *bitReader) take(n uint) (v uint64) {
	for i := uint(0); i < n; {
		if r.at/8 >= uint(len(r.bytes)) {
			r.over = true
			return 0
		}
		part := min(8-r.at%8, n-i)
		v |= uint64(r.bytes[r.at/8]>>(r.at%8)&(1<<part-1)) << i
		r.at += part
		i += part
	}
	return v
}

func (r *bitReader) int(l *level) int64 {
	low, high := l.low(), uint64(0)
	for high < maxUnary && r.take(1) == 1 {
		high++
	}
	if high == maxUnary {
		low, high = 64, 0
	}
	v := r.take(low)
	if low < 64 {
		v |= high << low
	}
	l.follow(v)
	return unzigzag(v)
}

// left reports whether there are whole bytes that nobody read.
func (r *bitReader) left() bool { return r.at+7 < uint(len(r.bytes))*8 }
