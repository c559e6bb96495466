package predict

import (
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Series are the snapshots of one entity in order, beside the values of its inputs that were in
// force when each came.
type Series struct {
	Times  []engram.Time
	Values [][]float64 // a row for each snapshot
	Inputs [][]float64 // a row for each, or nil
	Rates  Rates       // of the members; may be empty
}

// Model is level 2: a ridge regression for each member and horizon on what went before and on an
// input. It keeps the sums that its weights come from, not the snapshots: an episode is added to
// them, and can be taken out again, without a look at the others. It must not be changed while
// Trackers use it.
type Model struct {
	// Kinds and Pairs have an entry for each member; a pair is the input that belongs to it, or -1.
	Kinds []Kind
	Pairs []int
	// Episodes are how many were added.
	Episodes int

	stride  int // the steps between the own lags of features: what comes often is looked at farther back; 0 before an episode
	members []modelMember
	// groups are members that are told anew together and in between repeat what they said.
	groups []group
	fitted bool
}

// folds are the parts that are left out in turn to find out how well a model does.
const folds = 5

// The features of a model: differences of the newest value to earlier ones, and to those of its input; without an input the rates that it is told with.
var (
	ownLags   = [...]int{1, 2, 3, 5, 8, 12}
	inputLags = [...]int{0, 2, 4, 5, 6, 7, 8, 9, 10, 12}
)

const (
	most     = len(ownLags) + len(inputLags)
	backmost = 12 // times the stride
	// usual is the time between the lags of features, ns, and mostStride the most steps for it.
	usual      = 33e6
	mostStride = 4
)

// strideOf is the stride for times.
func strideOf(times []engram.Time) int {
	steps := make([]float64, 0, len(times))
	for i := 1; i < len(times); i++ {
		steps = append(steps, float64(times[i]-times[i-1]))
	}
	if len(steps) == 0 {
		return 1
	}
	slices.Sort(steps)
	return max(1, min(int(math.Round(usual/math.Max(steps[len(steps)/2], 1))), mostStride))
}

// sums are those of a least-squares problem with several right-hand sides.
type sums struct {
	Count float64
	Gram  [most * (most + 1) / 2]float64 // a symmetric matrix, see tri
	Right [][most]float64
	Truth []float64 // of the squares
}

func newSums(sides int) sums {
	return sums{Right: make([][most]float64, sides), Truth: make([]float64, sides)}
}

// tri is where a lower triangle has the element of row a and column b, which is not above a.
func tri(a, b int) int { return a*(a+1)/2 + b }

type modelMember struct {
	sums  [folds]sums
	w     [len(horizons)][most]float64
	error [len(horizons)]float64 // mean square, of what was left out
	hold  [len(horizons)]float64
	// What was said when it is told anew, so many steps later; nil of one that does not repeat.
	told []sums
	wd   [][most]float64
}

// group tells how long after it was told last a group is told again.
type group struct {
	Members []int
	// Next counts, by steps since the last change, after how many steps from now the last change
	// within a horizon came; 0 is none.
	Next [toldAges][len(horizons)][toldWithin + 1]float64
}

const (
	toldWithin = 8 // steps ahead in which it is asked when a member is told anew
	toldAges   = 8
	repeats    = 0.6 // the share of equal values from which on a member is one that repeats
)

// NewModel returns a model that has learned nothing, of members of these kinds and of the inputs
// that belong to them; nil pairs are none.
func NewModel(kinds []Kind, pairs []int) (*Model, error) {
	if len(kinds) > MaxMembers {
		return nil, engram.Errorf(engram.Exhausted, "", "%d members to predict; at most %d are", len(kinds), MaxMembers)
	}
	if pairs == nil {
		pairs = make([]int, len(kinds))
		for i := range pairs {
			pairs[i] = -1
		}
	}
	if len(pairs) != len(kinds) {
		return nil, engram.Errorf(engram.Invalid, "", "%d pairs for %d members", len(pairs), len(kinds))
	}
	m := &Model{Kinds: kinds, Pairs: pairs, members: make([]modelMember, len(kinds))}
	for i := range m.members {
		for f := range folds {
			m.members[i].sums[f] = newSums(len(horizons))
		}
	}
	return m, nil
}

// repeat notes the groups of members that repeat.
func (m *Model) repeat(groups []group) {
	m.groups = groups
	for g := range groups {
		for _, i := range groups[g].Members {
			b := &m.members[i]
			b.told, b.wd = make([]sums, toldWithin), make([][most]float64, toldWithin)
			for d := range b.told {
				b.told[d] = newSums(1)
			}
		}
	}
}

// features writes those of member i after row s.
func (m *Model) features(values, inputs func(back int) []float64, rates func(back int) []float32, i int, out *[most]float64) {
	x := values(0)[i]
	for k, l := range ownLags {
		out[k] = x - values(l * m.stride)[i]
	}
	p := m.Pairs[i]
	for k, l := range inputLags {
		if p >= 0 {
			out[len(ownLags)+k] = inputs(l)[p] - x
		} else if rates != nil {
			out[len(ownLags)+k] = float64(rates(l * m.stride)[i])
		} else {
			out[len(ownLags)+k] = 0
		}
	}
}

// Remove takes an episode out again, that was added before. What remains of it by rounding is taken out, too.
func (m *Model) Remove(e Series) error {
	if m.Episodes == 0 {
		return engram.Errorf(engram.Invalid, "", "the model has learned from no episode that could be taken out")
	}
	o, err := NewModel(m.Kinds, m.Pairs)
	if err != nil {
		return err
	}
	groups := make([]group, len(m.groups))
	for g := range groups {
		groups[g].Members = m.groups[g].Members
	}
	o.repeat(groups)
	o.stride = m.stride
	if err := o.Add(e); err != nil {
		return err
	}
	var out []float64
	o.floats(func(f *float64) bool {
		out = append(out, *f)
		return true
	})
	k := 0
	m.floats(func(f *float64) bool {
		if *f -= out[k]; math.Abs(*f) <= 1e-9*math.Abs(out[k]) {
			*f = 0
		}
		k++
		return true
	})
	m.Episodes--
	m.fitted = false
	return nil
}

// Add learns from an episode; Fit makes use of it.
func (m *Model) Add(e Series) error {
	n := len(m.Kinds)
	if len(e.Values) != len(e.Times) || e.Inputs != nil && len(e.Inputs) != len(e.Times) {
		return engram.Errorf(engram.Invalid, "", "an episode of %d times, %d rows of values and %d of inputs", len(e.Times), len(e.Values), len(e.Inputs))
	}
	for _, p := range m.Pairs {
		if p >= 0 && e.Inputs == nil {
			return engram.Errorf(engram.Invalid, "", "the model has inputs, and the episode has none")
		}
	}
	for _, row := range e.Values {
		if len(row) != n {
			return engram.Errorf(engram.TypeMismatch, "", "an episode of %d members for a model of %d", len(row), n)
		}
	}
	m.fitted = false
	m.Episodes++
	if m.stride == 0 {
		m.stride = strideOf(e.Times)
	}
	if m.groups == nil {
		m.repeat(repeating(e.Values))
	}
	var f [most]float64
	first := 0 // which of the folds is up to the episode, so that it is taken out of them again
	if len(e.Times) > 0 {
		first = int(uint64(e.Times[0]) / 1e6 % folds)
	}
	all := e.ratesOf()
	for s := backmost * m.stride; s < len(e.Values); s++ {
		values := func(back int) []float64 { return e.Values[s-back] }
		inputs := func(back int) []float64 { return e.Inputs[s-back] }
		var rates func(back int) []float32
		if all != nil {
			rates = func(back int) []float32 { return all[s-back] }
		}
		// A fold is a stretch of time, so that neighbours are not on both sides.
		fold := (first + s*folds/len(e.Values)) % folds
		for i := range m.members {
			if m.Kinds[i] == Held {
				continue
			}
			m.features(values, inputs, rates, i, &f)
			m.members[i].sums[fold].add(&f, e.Values, s, i)
		}
	}
	for g := range m.groups {
		m.addTold(&m.groups[g], e, all)
	}
	return nil
}

func (u *sums) add(f *[most]float64, values [][]float64, s, i int) {
	if s+horizons[0] >= len(values) {
		return
	}
	u.count(f)
	for h, steps := range horizons {
		if s+steps >= len(values) {
			break
		}
		u.truth(h, f, values[s+steps][i]-values[s][i])
	}
}

// count takes features in.
func (u *sums) count(f *[most]float64) {
	u.Count++
	for a := range most {
		for b := range a + 1 {
			u.Gram[tri(a, b)] += f[a] * f[b]
		}
	}
}

// truth takes in what followed features, as right-hand side h.
func (u *sums) truth(h int, f *[most]float64, y float64) {
	u.Truth[h] += y * y
	for a := range most {
		u.Right[h][a] += f[a] * y
	}
}

// merge adds others.
func (u *sums) merge(v *sums) {
	u.Count += v.Count
	for k := range u.Gram {
		u.Gram[k] += v.Gram[k]
	}
	for h := range u.Truth {
		u.Truth[h] += v.Truth[h]
		for a := range most {
			u.Right[h][a] += v.Right[h][a]
		}
	}
}

// solve returns the weights of a ridge for one right-hand side; ridge is in shares of the mean square
// of each feature.
func (u *sums) solve(h int, ridge float64, w *[most]float64) {
	var l [most][most]float64
	var scale [most]float64
	for a := range most {
		scale[a] = math.Sqrt(math.Max(u.Gram[tri(a, a)], 0))
	}
	*w = [most]float64{}
	// Cholesky's decomposition of the matrix of correlations.
	var y [most]float64
	for a := range most {
		if scale[a] == 0 {
			continue
		}
		for b := range a + 1 {
			if scale[b] == 0 {
				continue
			}
			v := u.Gram[tri(a, b)] / (scale[a] * scale[b])
			if a == b {
				v += ridge
			}
			for k := range b {
				v -= l[a][k] * l[b][k]
			}
			if a == b {
				l[a][a] = math.Sqrt(math.Max(v, 1e-12))
			} else {
				l[a][b] = v / l[b][b]
			}
		}
		v := u.Right[h][a] / scale[a]
		for k := range a {
			v -= l[a][k] * y[k]
		}
		y[a] = v / l[a][a]
	}
	for a := most - 1; a >= 0; a-- {
		if scale[a] == 0 {
			continue
		}
		v := y[a]
		for k := a + 1; k < most; k++ {
			v -= l[k][a] * w[k]
		}
		w[a] = v / l[a][a]
	}
	for a := range most {
		if scale[a] > 0 {
			w[a] /= scale[a]
		}
		if math.IsNaN(w[a]) || math.IsInf(w[a], 0) {
			*w = [most]float64{} // sums that are none: it holds
			return
		}
	}
}

// error is the sum of the squares of what weights leave.
func (u *sums) error(h int, w *[most]float64) float64 {
	e := u.Truth[h]
	for a := range most {
		e -= 2 * w[a] * u.Right[h][a]
		for b := range a {
			e += 2 * w[a] * w[b] * u.Gram[tri(a, b)]
		}
		e += w[a] * w[a] * u.Gram[tri(a, a)]
	}
	return math.Max(e, 0)
}

// Fit computes the weights from what was added, each horizon with the ridge that does best where it
// was left out.
func (m *Model) Fit() {
	ridges := [...]float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1}
	for i := range m.members {
		if m.Kinds[i] == Held {
			continue
		}
		b := &m.members[i]
		all := newSums(len(horizons))
		var without [folds]sums
		for f := range folds {
			without[f] = newSums(len(horizons))
		}
		for f := range folds {
			all.merge(&b.sums[f])
			for g := range folds {
				if g != f {
					without[g].merge(&b.sums[f])
				}
			}
		}
		for h := range horizons {
			best, ridge := math.Inf(1), 0.0
			var w [most]float64
			for _, r := range ridges {
				e := 0.0
				for f := range folds {
					without[f].solve(h, r, &w)
					e += b.sums[f].error(h, &w)
				}
				if e < best {
					best, ridge = e, r
				}
			}
			if math.IsInf(best, 1) {
				best = all.Truth[h]
			}
			all.solve(h, ridge, &b.w[h])
			if all.Count > 0 {
				b.error[h], b.hold[h] = best/all.Count, all.Truth[h]/all.Count
			}
		}
		for d := range b.told {
			b.told[d].solve(0, 1e-3, &b.wd[d])
		}
	}
	m.fitted = true
}

// say writes by how much each member changes within each horizon from a row on; of members that
// repeat also as it follows from when they are told anew, and NaN for others.
func (m *Model) say(values, inputs func(back int) []float64, rates func(back int) []float32, ages []int, out []float32) {
	n := len(m.Kinds)
	var f [most]float64
	for i := range m.members {
		if m.Kinds[i] == Held {
			continue
		}
		m.features(values, inputs, rates, i, &f)
		for h := range horizons {
			out[(h*n+i)*2] = float32(dot(&m.members[i].w[h], &f))
			out[(h*n+i)*2+1] = float32(math.NaN())
		}
	}
	for g := range m.groups {
		m.sayTold(&m.groups[g], values, inputs, rates, ages[g], out)
	}
}

func dot(w, f *[most]float64) (y float64) {
	for a := range most {
		y += w[a] * f[a]
	}
	return y
}
