package vector

import "math/bits"

// Residuals are written as a class, the number of bits of the magnitude, then the
// sign, the two bits below the highest, and the rest as it is. Classes are coded
// by their distance from a running mean, which learns how well prediction goes at
// present.

// model holds the probabilities of one vector.
type model struct {
	same  [66]prob    // the class is the expected one, by the expected
	above [66]prob    // it is above
	up    [66]prob    // it is farther above, by the distance
	down  [66]prob    // it is farther below
	sign  [3]prob     // by the sign before
	top   [66]prob    // the bit below the highest, by class
	next  [66][2]prob // the one below that
	mean  int32       // of the classes, times 256
	last  uint8       // the sign before: 0 none yet, 1 plus, 2 minus
}

// initial is the model before it has learned anything.
var initial = func() (m model) {
	for i := range m.same {
		for _, p := range []*prob{&m.same[i], &m.above[i], &m.up[i], &m.down[i], &m.top[i], &m.next[i][0], &m.next[i][1]} {
			p.p = 1 << (probBits - 1)
		}
	}
	for i := range m.sign {
		m.sign[i].p = 1 << (probBits - 1)
	}
	return m
}()

// reset begins a vector whose first residual has the class first.
func (m *model) reset(first int) {
	*m = initial
	m.mean = int32(first) << 8
}

func (m *model) expected() int { return int(m.mean+128) >> 8 }

// learn moves the mean by 5/32 towards a class.
func (m *model) learn(class int) { m.mean += ((int32(class) << 8) - m.mean) * 5 >> 5 }

// rawBits is how many of a magnitude's bits are written as they are.
func rawBits(class int) uint { return uint(max(class-3, 0)) }

// encodeResiduals returns residuals in two parts: range coded and raw bits.
func encodeResiduals(res []int64, first int) (coded, raw []byte) {
	var m model
	m.reset(first)
	e := newRangeEncoder()
	var w bitWriter
	for _, r := range res {
		magnitude, minus := uint64(r), uint32(0)
		if r < 0 {
			magnitude, minus = -magnitude, 1
		}
		class := bits.Len64(magnitude)
		m.encodeClass(e, class)
		if class > 0 {
			e.bit(&m.sign[m.last], minus)
			m.last = uint8(minus) + 1
		}
		if class > 1 {
			top := uint32(magnitude>>(class-2)) & 1
			e.bit(&m.top[class], top)
			if class > 2 {
				e.bit(&m.next[class][top], uint32(magnitude>>(class-3))&1)
				w.write(magnitude, rawBits(class))
			}
		}
		m.learn(class)
	}
	return e.finish(), w.finish()
}

func (m *model) encodeClass(e *rangeEncoder, class int) {
	expected := m.expected()
	if class == expected {
		e.bit(&m.same[expected], 0)
		return
	}
	e.bit(&m.same[expected], 1)
	if expected > 0 {
		if class < expected {
			e.bit(&m.above[expected], 0)
			for c := expected - 1; c > class; c-- {
				e.bit(&m.down[expected-c], 1)
			}
			if class > 0 {
				e.bit(&m.down[expected-class], 0)
			}
			return
		}
		e.bit(&m.above[expected], 1)
	}
	for c := expected + 1; c < class; c++ {
		e.bit(&m.up[c-expected], 1)
	}
	if class < 64 {
		e.bit(&m.up[class-expected], 0)
	}
}

// decodeResiduals fills res. Whatever the input, it makes some residuals of it.
func decodeResiduals(res []int64, first int, coded, raw []byte) {
	var m model
	m.reset(first)
	d := newRangeDecoder(coded)
	r := bitReader{in: raw}
	for i := range res {
		class := m.decodeClass(&d)
		m.learn(class)
		if class == 0 {
			res[i] = 0
			continue
		}
		minus := d.bit(&m.sign[m.last])
		m.last = uint8(minus) + 1
		magnitude := uint64(1)
		if class > 1 {
			top := d.bit(&m.top[class])
			magnitude = magnitude<<1 | uint64(top)
			if class > 2 {
				magnitude = magnitude<<1 | uint64(d.bit(&m.next[class][top]))
				if n := rawBits(class); n > 0 {
					magnitude = magnitude<<n | r.read(n)
				}
			}
		}
		res[i] = (int64(magnitude) ^ -int64(minus)) + int64(minus)
	}
}

func (m *model) decodeClass(d *rangeDecoder) int {
	expected := m.expected()
	if d.bit(&m.same[expected]) == 0 {
		return expected
	}
	if expected > 0 && d.bit(&m.above[expected]) == 0 {
		class := expected - 1
		for class > 0 && d.bit(&m.down[expected-class]) == 1 {
			class--
		}
		return class
	}
	class := expected + 1
	for class < 64 && d.bit(&m.up[class-expected]) == 1 {
		class++
	}
	return min(class, 64)
}
