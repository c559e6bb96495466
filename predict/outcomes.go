package predict

import (
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Outcome is what may follow the newest situation.
type Outcome struct {
	Probability float64
	// Mean, SD, Low and High are of the numbers as a Forecast has them; NaN is a number of which past situations say nothing.
	Mean, SD, Low, High []float64
	Texts               []string
	// Free are texts of which nothing is said.
	Free []bool
	From []engram.Time // the nearest situations that it followed, at most 4
}

// Outcomes says what may follow, some time after the newest snapshot: in how many of the nearest past situations it did. There
// are several where what followed falls into groups that are clearly apart, or where a state, such as an enumeration or a text,
// came to be another one; one where it always did. None is said where the situation is new, and where
// nothing but numbers changed, and in one way.
func (s *Situations) Outcomes(horizon float64) []Outcome {
	if s == nil || len(s.times) < s.fewest() || horizon <= 0 {
		return nil
	}
	s.measure()
	found, then, numbers := []alike(nil), []int(nil), s.scale.regular
	if numbers {
		found, then = s.past(horizon, true)
	}
	if len(found) < fewestAlike && s.scale.changing {
		numbers = false
		found, then = s.past(horizon, false)
	}
	if len(found) < fewestAlike {
		return nil
	}
	now := len(s.times) - 1
	futures := make([]future, len(found))
	for k, a := range found {
		futures[k] = s.future(a.row, then[a.row], horizon)
	}
	groups := byState(futures)
	if numbers {
		for k := 0; k < len(groups) && len(groups) < MaxOutcomes; {
			a, b := s.split(groups[k])
			if b == nil {
				k++
				continue
			}
			groups[k] = a
			groups = append(groups, b)
		}
	}
	if len(groups) == 1 && s.n > 0 && (!s.scale.changing || groups[0][0].state == s.states(now)) {
		return nil
	}
	slices.SortStableFunc(groups, func(a, b []future) int { return len(b) - len(a) })
	var outcomes []Outcome
	for _, g := range groups {
		if share := float64(len(g)) / float64(len(futures)); share >= 0.03 && len(outcomes) < MaxOutcomes {
			outcomes = append(outcomes, s.outcome(g, share, numbers))
		}
	}
	return outcomes
}

// fewest are the snapshots that anything is said from: so many tell how numbers move, and those that follow
// are enough where there are none but states.
func (s *Situations) fewest() int {
	for _, k := range s.kinds {
		if k != Held {
			return 64
		}
	}
	return 2 * fewestAlike
}

// future is what followed a situation.
type future struct {
	row, then int
	state     uint64
	moved     []float64 // by how much numbers changed
}

// future returns what followed row i; row j is the first one at the horizon or after it.
func (s *Situations) future(i, j int, horizon float64) future {
	inForce := j
	if float64(s.times[j]-s.times[i]) > horizon {
		inForce = j - 1
	}
	f := future{row: i, then: inForce, moved: make([]float64, s.n)}
	f.state = s.states(inForce)
	r := 0.0
	if j > inForce {
		r = (horizon - float64(s.times[inForce]-s.times[i])) / float64(s.times[j]-s.times[inForce])
	}
	a, b, from := s.row(inForce), s.row(j), s.row(i)
	for m := range f.moved {
		f.moved[m] = s.off(m, a[m], from[m])
		if j > inForce && !s.scale.state[m] {
			f.moved[m] += r * s.off(m, b[m], a[m])
		}
	}
	return f
}

// byState groups futures by the states that came.
func byState(futures []future) (groups [][]future) {
	at := map[uint64]int{}
	for _, f := range futures {
		k, ok := at[f.state]
		if !ok {
			k = len(groups)
			at[f.state], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], f)
	}
	return groups
}

// split divides futures into two groups that are clearly apart; b is nil if there are none: if one normal
// or even distribution could be cut so.
func (s *Situations) split(g []future) (a, b []future) {
	const rounds = 10
	if len(g) < fewestAlike {
		return g, nil
	}
	weigh := func(m int) float64 { return s.scale.place[m] }
	distance := func(x, y []float64) (d float64) {
		for m := range x {
			d += weigh(m) * (x[m] - y[m]) * (x[m] - y[m])
		}
		return d
	}
	mean := func(of []future) []float64 {
		c := make([]float64, s.n)
		for _, f := range of {
			for m, x := range f.moved {
				c[m] += x / float64(len(of))
			}
		}
		return c
	}
	farthest := func(from []float64) []float64 {
		return slices.MaxFunc(g, func(x, y future) int {
			return int(math.Copysign(1, distance(x.moved, from)-distance(y.moved, from)))
		}).moved
	}
	one := farthest(mean(g))
	two := farthest(one)
	for range rounds {
		a, b = nil, nil
		for _, f := range g {
			if distance(f.moved, one) <= distance(f.moved, two) {
				a = append(a, f)
			} else {
				b = append(b, f)
			}
		}
		if least := max(3, len(g)/20); min(len(a), len(b)) < least {
			return g, nil
		}
		one, two = mean(a), mean(b)
	}
	apart := math.Sqrt(distance(one, two))
	usual := 0.0
	for _, f := range g {
		usual += distance(f.moved, make([]float64, s.n)) / float64(len(g))
	}
	if !(apart > 0.25*math.Sqrt(usual)) {
		return g, nil // it matters little
	}
	// Steps of rounding are no groups.
	coarse := true
	for m := range one {
		coarse = coarse && (weigh(m) == 0 || math.Abs(one[m]-two[m]) <= 3*s.scale.least[m])
	}
	if coarse {
		return g, nil
	}
	along := func(x, c []float64) (p float64) {
		for m := range x {
			p += weigh(m) * (x[m] - c[m]) * (two[m] - one[m]) / apart
		}
		return p
	}
	within, end, begin := 0.0, math.Inf(-1), math.Inf(1)
	for _, f := range a {
		p := along(f.moved, one)
		within += p * p / float64(len(g))
		end = math.Max(end, p)
	}
	for _, f := range b {
		p := along(f.moved, two)
		within += p * p / float64(len(g))
		begin = math.Min(begin, apart+p)
	}
	// The fewer there are, the easier chance leaves a gap.
	if clearly := 4.5 * (1 + 12/float64(len(g))); apart > clearly*math.Sqrt(within) && begin-end > 0.35*apart {
		return a, b
	}
	return g, nil
}

// outcome sums a group up.
func (s *Situations) outcome(g []future, share float64, numbers bool) Outcome {
	now := s.row(len(s.times) - 1)
	o := Outcome{Probability: share, Mean: make([]float64, s.n), SD: make([]float64, s.n), Low: make([]float64, s.n), High: make([]float64, s.n), Texts: make([]string, s.d), Free: s.free}
	count := float64(len(g))
	for m := range s.n {
		switch {
		case s.scale.state[m]:
			o.Mean[m] = s.row(g[0].then)[m]
			o.Low[m], o.High[m] = o.Mean[m], o.Mean[m]
			if s.kinds[m] == Held {
				o.SD[m] = 1 - share
			}
		case !numbers:
			o.Mean[m] = math.NaN()
		default:
			mean, square := 0.0, 0.0
			for k, f := range g {
				d := f.moved[m] - mean
				mean += d / float64(k+1)
				square += d * (f.moved[m] - mean)
			}
			// The fewer there are, the less is known of how far they lie apart.
			sd := math.Sqrt(square / math.Max(count-1, 1) * (1 + 1/count))
			half := 1.645*(1+1.5/count)*sd + finite(s.scale.least[m])/2
			o.Mean[m], o.SD[m] = now[m]+mean, sd
			o.Low[m], o.High[m] = o.Mean[m]-half, o.Mean[m]+half
		}
	}
	for k := range s.d {
		if c := s.codes[g[0].then*s.d+k]; c >= 0 && !s.free[k] {
			o.Texts[k] = s.values[k][c]
		}
	}
	for _, f := range g[:min(len(g), 4)] {
		o.From = append(o.From, s.times[f.row])
	}
	return o
}

func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x
}
