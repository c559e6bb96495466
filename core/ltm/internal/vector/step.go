package vector

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// powers of ten that float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17}

// findDecimal returns how many decimals nearly all values have, if they are few:
// with as many as floats resolve any value has them.
func findDecimal(values []float64, single bool) (digits int, ok bool) {
	for e := 0; e <= 15 && 1/powers[e] > 8*resolution(largest(values), single); e++ {
		g := grid{kind: floatsDecimal, exponent: byte(e), single: single}
		if g.fits(values) {
			return e, true
		}
	}
	return 0, false
}

// largest returns the largest finite magnitude.
func largest(values []float64) float64 {
	most := 0.0
	for _, x := range values {
		if a := math.Abs(x); a <= math.MaxFloat64 {
			most = max(most, a)
		}
	}
	return most
}

// fits reports whether nearly all values are of the grid. It gives up early where
// they are not, as is the usual case.
func (g *grid) fits(values []float64) bool {
	misses := 0
	for i, x := range values {
		if g.at(g.nearest(x)) != x {
			misses++
		}
		if misses > 2+i/16 {
			return false
		}
	}
	return misses < max(len(values)/2, 1)
}

// quantum returns the step whose multiples are within the error that is allowed of
// any value, as far as rounding to floats leaves it.
func quantum(values []float64, o FloatOptions) float64 {
	// Nearly always the same step, so that the vectors of one message have one.
	slack := o.MaxError / 4096
	if 2*resolution(largest(values), o.Single) < slack {
		return 2 * (o.MaxError - slack)
	}
	slack = 2 * resolution(largest(values), o.Single)
	if slack < o.MaxError/2 {
		return 2 * (o.MaxError - slack)
	}
	return 2 * o.MaxError
}

// resolution returns the distance between floats around x.
func resolution(x float64, single bool) float64 {
	if single {
		return math.Abs(x) * 0x1p-23
	}
	return math.Abs(x) * 0x1p-52
}

// findStep returns a step of which nearly all values are multiples, but for
// rounding, if there is one: counts of an encoder times radians per count, or of a
// converter times its scale. It needs values that are close to each other compared
// with how exactly they are known.
func findStep(values []float64, single bool) (step float64, ok bool) {
	if len(values) < 16 {
		return 0, false
	}
	noise := 0.0
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, false
		}
		noise = max(noise, 2*resolution(x, single))
	}
	near := distances(values, noise, func(i int) float64 { return values[i] - values[max(i-1, 0)] })
	if len(near) == 0 {
		return 0, false
	}
	far := distances(values, noise, func(i int) float64 { return values[i] - values[0] })
	whole := distances(values, noise, func(i int) float64 { return values[i] })
	for _, divisor := range []float64{1, 2, 3} {
		s := estimate{step: near[0] / divisor, multiple: divisor, noise: noise}
		if s.refine(near) && s.refine(far) && s.refine(whole) {
			most := len(values) / 3
			for _, candidate := range s.candidates() {
				if at, n := fit(values, candidate, single); n > most {
					step, most, ok = at, n, true
				}
			}
			if ok {
				return step, true
			}
		}
	}
	return 0, false
}

// distances returns the different magnitudes of what f gives, sorted, without those
// that may be rounding.
func distances(values []float64, noise float64, f func(i int) float64) []float64 {
	var ds []float64
	for i := range values {
		if d := math.Abs(f(i)); d > 8*noise {
			ds = append(ds, d)
		}
	}
	slices.Sort(ds)
	return slices.CompactFunc(ds, func(a, b float64) bool { return math.Abs(a-b) <= noise })
}

// estimate is a step as far as it is known: from a distance of multiple steps.
type estimate struct {
	step     float64
	multiple float64
	noise    float64
	sure     bool // it was enough to tell the multiples of all values
}

// unsure returns how far the multiple of a distance may be off.
func (s *estimate) unsure(d float64) float64 { return d / s.step * s.noise / (s.multiple * s.step) }

// refine learns from distances in ascending order. It reports whether most of them
// are multiples, of those of which that can be told.
func (s *estimate) refine(ds []float64) bool {
	misses, told := 0, 0
	s.sure = true
	for _, d := range ds {
		if s.unsure(d) > 0.25 {
			s.sure = false
			continue
		}
		told++
		k := math.Round(d / s.step)
		if k == 0 || math.Abs(d/s.step-k) > 0.3 {
			misses++
			if misses > 4+told/8 {
				return false
			}
			continue
		}
		if k > s.multiple {
			s.step, s.multiple = d/k, k
		}
	}
	return misses*8 <= told+8
}

// maxCandidates bounds how far around an estimate round parts are looked for.
const maxCandidates = 256

// candidates returns the steps to try: the estimate, or if that is not sure enough
// the roundest ones near it: parts of a turn, of one, or of a degree.
func (s *estimate) candidates() []float64 {
	if s.sure {
		return []float64{s.step}
	}
	var steps []float64
	for _, unit := range []float64{2 * math.Pi, 1, math.Pi / 180} {
		parts := unit / s.step
		span := parts * s.noise / (s.multiple * s.step)
		if span > maxCandidates || parts > 1e12 {
			continue
		}
		best, roundest := int64(0), -1
		for n := int64(math.Ceil(parts - span)); float64(n) <= parts+span; n++ {
			if r := roundness(n); n > 0 && r > roundest {
				best, roundest = n, r
			}
		}
		if roundest >= 8 {
			steps = append(steps, unit/float64(best))
		}
	}
	return steps
}

// roundness counts the twos and fives in n, a five as two twos.
func roundness(n int64) int {
	if n == 0 {
		return 0
	}
	r := bits.TrailingZeros64(uint64(n))
	for ; n%5 == 0; n /= 5 {
		r += 2
	}
	return r
}

// fit finds the step near a candidate that gives the most values to the bit, and how
// many these are. Each value, being rounded, allows an interval of steps.
func fit(values []float64, candidate float64, single bool) (step float64, hits int) {
	type edge struct {
		at float64
		d  int
	}
	edges := make([]edge, 0, 2*len(values))
	zeros := 0
	for _, x := range values {
		x = math.Abs(x)
		k := math.Round(x / candidate)
		if k == 0 {
			zeros++
			continue
		}
		half := (math.Nextafter(x, math.MaxFloat64) - x) / 2
		if single {
			half = float64(math.Nextafter32(float32(x), math.MaxFloat32)-float32(x)) / 2
		}
		edges = append(edges, edge{(x - half) / k, 1}, edge{(x + half) / k, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.d, a.d))
	})
	open, most := 0, 0
	for i, e := range edges {
		if open += e.d; open > most && i+1 < len(edges) {
			most, step = open, (e.at+edges[i+1].at)/2
		}
	}
	if most == 0 {
		return candidate, 0
	}
	return step, most + zeros
}
