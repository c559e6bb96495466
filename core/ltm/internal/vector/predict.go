package vector

import (
	"math"
	"math/bits"
)

// predictor says how an integer is predicted from those before it.
type predictor byte

const (
	byNothing predictor = iota
	byLast              // delta
	byLine              // delta of deltas
	byTrend1            // the delta is a fraction of the one before
	byTrend2            // the delta is a combination of the two before
	byBits              // what differs are bits: exclusive or
	predictors
)

// prediction is a predictor with its coefficients, in 64ths.
type prediction struct {
	by predictor
	w  [2]int8
}

func (p prediction) coefficients() int {
	switch p.by {
	case byTrend1:
		return 1
	case byTrend2:
		return 2
	}
	return 0
}

// weights returns the coefficients of the deltas before.
func (p prediction) weights() (w1, w2 int64) {
	if p.by == byLine {
		return 64, 0
	}
	return int64(p.w[0]), int64(p.w[1])
}

// residuals writes what prediction leaves of v to res. All arithmetic wraps.
func (p prediction) residuals(v, res []int64) {
	var last, d1, d2 int64
	w1, w2 := p.weights()
	switch p.by {
	case byNothing:
		copy(res, v)
	case byLast:
		for i, x := range v {
			res[i], last = x-last, x
		}
	case byBits:
		for i, x := range v {
			res[i], last = x^last, x
		}
	default:
		for i, x := range v {
			d := x - last
			res[i], last = d-(w1*d1+w2*d2+32)>>6, x
			if i > 0 { // the first value is not a delta
				d1, d2 = d, d1
			}
		}
	}
}

// values undoes residuals in place.
func (p prediction) values(v []int64) {
	var last, d1, d2 int64
	w1, w2 := p.weights()
	switch p.by {
	case byNothing:
	case byLast:
		for i := range v {
			last += v[i]
			v[i] = last
		}
	case byBits:
		for i := range v {
			last ^= v[i]
			v[i] = last
		}
	default:
		for i := range v {
			d := v[i] + (w1*d1+w2*d2+32)>>6
			last += d
			v[i] = last
			if i > 0 {
				d1, d2 = d, d1
			}
		}
	}
}

// predictionsOf returns the predictions worth trying for v.
func predictionsOf(v []int64) []prediction {
	ps := []prediction{{by: byLast}, {by: byNothing}, {by: byLine}, {by: byBits}}
	if len(v) < 16 {
		return ps
	}
	// Least squares over deltas, each weighted down by how large those around are, so
	// that still spans count as much as fast ones.
	var a11, a12, a22, b1, b2 float64
	for i := 3; i < len(v); i++ {
		d, d1, d2 := float64(v[i]-v[i-1]), float64(v[i-1]-v[i-2]), float64(v[i-2]-v[i-3])
		w := 1 / (1 + math.Abs(d) + math.Abs(d1) + math.Abs(d2))
		a11 += w * d1 * d1
		a12 += w * d1 * d2
		a22 += w * d2 * d2
		b1 += w * d * d1
		b2 += w * d * d2
	}
	if a11 > 0 {
		ps = append(ps, prediction{by: byTrend1, w: [2]int8{in64ths(b1 / a11)}})
	}
	if det := a11*a22 - a12*a12; det > 1e-9*a11*a22 {
		ps = append(ps, prediction{by: byTrend2, w: [2]int8{in64ths((b1*a22 - b2*a12) / det), in64ths((b2*a11 - b1*a12) / det)}})
	}
	return ps
}

func in64ths(w float64) int8 { return int8(math.Round(min(max(w*64, -128), 127))) }

// cost estimates the bits that residuals take after the first.
func cost(res []int64) int {
	sum := 0
	for _, r := range res[1:] {
		sum += bits.Len64(uint64(r ^ r>>63))
		if r != 0 {
			sum++
		}
	}
	return sum
}
