package predict

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/seed-301d4374/engram"
)

// Bounds of a Tracker.
const (
	// history is how many snapshots a Tracker keeps. A power of 2.
	history = 128
	// lags is how many differences to earlier values the regression sees.
	lags = 6
	// recent is how many snapshots' states are kept to be judged later. A power of 2.
	recent = 64
	// farthest is the last of the horizons that errors are known of, in steps.
	farthest = 32
	// largest is the largest value that is learned from.
	largest = 1e15
	// MaxMembers bounds the members of one Tracker.
	MaxMembers = 512
)

// lagged are the snapshots back from the newest that the regression compares it with.
var lagged = [lags]int{1, 2, 3, 5, 8, 12}

// horizons are those that errors and weights are kept for, in steps of the usual time between
// snapshots. Between them predictions are interpolated.
var horizons = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, farthest}

// Kind is how a member goes on.
type Kind uint8

const (
	Number Kind = iota
	Angle       // rad; it wraps, at ±π or at 0 and 2π
	Held        // enumerations and flags: they stay until they change
	Radian      // rad; an Angle from the first time on that it was seen to wrap
)

// The models of level 1, and the one of level 2.
const (
	hold = iota
	linear
	damped
	filtered
	told     // the value and the rate that is told beside it
	smoothed // and the value smoothed along the rate
	periodic
	regression
	trained
	anew // when it is told anew, and what then
	models
)

var modelNames = [models]string{"hold", "linear", "damped trend", "alpha-beta", "told rate", "told rate, smoothed", "periodic", "regression", "trained", "trained, told anew"}

// Tracker follows the numbers of one entity. It is used by one goroutine.
type Tracker struct {
	kinds []Kind
	n     int

	times  [history]engram.Time
	values []float64 // history × n; angles without jumps
	count  int       // of snapshots since the last break
	period float64   // the usual time between snapshots, ns
	stride int       // the steps between lags, as a Model's; 0 as long as that is not known

	members []member
	states  []state                // recent × n: of the alpha-beta filter
	errors  []cell                 // horizons × n
	bands   [len(horizons)]float64 // how many standard deviations hold 90 % of the truths
	turn    int                    // which of the horizons learn next
	lag     int                    // the period that is tried next
	repeat  int                    // the period in use, in steps; 0 is none
	match   float64                // how well it does: mean square of differences, to those of hold
	model   *Model
	said    []float32 // recent × horizons × n × 2: what the model said, and of members that repeat; nil without one
	inputs  []float64 // recent × inputs
	rated   *rated    // nil without rates
	ages    []int     // of the model's groups: the steps since they were told
}

// member is what is learned of one member beside its errors.
type member struct {
	p        [lags][lags]float64 // inverse correlation of the regression's features
	w        [len(horizons)][lags]float32
	position float64 // of the alpha-beta filter
	velocity float64 // per step
	power    float64 // mean square of a step
	unit     float64 // and its root
	least    float64 // the smallest step that is none of rounding
	changes  float64 // how often a held member changes, per step
	positive bool    // an angle that is told from 0 to 2π
	doubt    doubt
	since    int // the snapshot that it begins with, counted as count is: what lies before says nothing of it
}

// state is where the alpha-beta filter was.
type state struct{ off, velocity float32 } // off from the value; per step

// cell is what is known of predictions of one member at one horizon.
type cell struct {
	square [models]float32 // mean square of the errors of each model
	first  float32         // and of what level 1 says of itself
	blend  float32         // and of what is answered
	seen   uint32
}

// NewTracker returns a Tracker of members of these kinds. The error is Exhausted if there are
// more than MaxMembers.
func NewTracker(kinds []Kind) (*Tracker, error) {
	if len(kinds) > MaxMembers {
		return nil, engram.Errorf(engram.Exhausted, "", "%d members to predict; at most %d are", len(kinds), MaxMembers)
	}
	t := &Tracker{kinds: slices.Clone(kinds), n: len(kinds), values: make([]float64, history*len(kinds)), members: make([]member, len(kinds)), states: make([]state, recent*len(kinds)), errors: make([]cell, len(horizons)*len(kinds)), lag: 2}
	for i := range t.members {
		for k := range lags {
			t.members[i].p[k][k] = 1
		}
		t.members[i].least = math.Inf(1)
	}
	for h := range t.bands {
		// As of a normal distribution; wider far ahead, where errors come in a row.
		t.bands[h] = 1.645 + 0.03*float64(horizons[h])
	}
	return t, nil
}

// Break forgets what went before and keeps what was learned: after a jump that says nothing of
// how things go on, such as a recharge.
func (t *Tracker) Break() {
	t.count, t.repeat = 0, 0
	for i := range t.members {
		t.members[i].since, t.members[i].doubt = 0, doubt{}
	}
}

// Reset has a member begin anew with the snapshot that is observed next: nothing is fitted over what lies
// between, such as a recharge or a homing. Which models did well is kept; how sure it is grows again with the snapshots.
func (t *Tracker) Reset(member int) { t.members[member].since = t.count }

// known is how many snapshots say something of a member.
func (t *Tracker) known(i int) int { return t.count - t.members[i].since }

// at returns the values of a snapshot, counted from 0 at the last break.
func (t *Tracker) at(i int) []float64 {
	k := (i & (history - 1)) * t.n
	return t.values[k : k+t.n]
}

// Observe learns from a snapshot and returns how surprising it was: the mean over the members of
// the square of the error of one step to what was expected; 1 is usual, 0 says that nothing was
// expected yet. Snapshots that are not newer than the last are ignored. Values that are not
// finite, or beyond 1e15, count as not told.
//
// A Tracker with a Model also takes the values of its inputs that are in force then.
func (t *Tracker) Observe(at engram.Time, x, inputs []float64) (surprise float64) {
	if t.count > 0 {
		step := float64(at - t.times[(t.count-1)&(history-1)])
		if step <= 0 {
			return 0
		}
		switch {
		case t.period == 0:
			t.period = step
		case step > 16*t.period:
			t.Break() // a gap: what lies before it does not lead here
			t.period = math.Min(t.period*2, step)
		default:
			// A median that follows: half of the steps are shorter.
			t.period += 0.05 * math.Max(-t.period, math.Min(t.period, step-t.period))
		}
	}
	t.add(at, x)
	if t.count > 1 {
		t.step()
	}
	if t.rated != nil {
		t.follow()
	}
	if t.model != nil {
		t.ask(inputs)
	}
	if t.stride == 0 && t.count > lagged[lags-1] {
		t.stride = max(1, min(int(math.Round(usual/t.period)), mostStride))
	}
	if t.stride > 0 && t.count > lagged[lags-1]*t.stride+1 {
		t.correlate()
	}
	// What comes often teaches less with each.
	stride := 2
	if t.period < 15e6 {
		stride = 5
	}
	for h := t.turn % stride; h < len(horizons); h += stride {
		if s := t.learn(h, stride); h == 0 {
			surprise = s
		}
	}
	t.turn++
	t.try()
	for i := range t.members {
		if t.doubts(i) > 0 {
			surprise += mostSurprise / float64(t.n)
		}
	}
	return surprise
}

// add appends a snapshot.
func (t *Tracker) add(at engram.Time, x []float64) {
	v := t.at(t.count)
	var earlier []float64
	if t.count > 0 {
		earlier = t.at(t.count - 1)
	}
	for i := range v {
		y, before := x[i], earlier
		if !(math.Abs(y) <= largest) {
			if since := &t.members[i].since; *since == t.count && t.count > 0 {
				*since++ // it begins when it is told
			}
			y = 0
			if before != nil {
				y = before[i]
			}
		}
		if t.count == t.members[i].since {
			before = nil // it begins
		}
		if k := t.kinds[i]; k == Angle || k == Radian {
			t.members[i].positive = t.members[i].positive || y > math.Pi+0.1
			if before != nil {
				if k == Radian && wrapped(before[i], y) {
					t.kinds[i] = Angle
				}
				if t.kinds[i] == Angle {
					y = before[i] + math.Remainder(y-before[i], 2*math.Pi)
				}
			}
		}
		if before != nil && t.kinds[i] != Held {
			y = t.believe(i, y, float64(at-t.times[(t.count-1)&(history-1)])/t.period)
		}
		v[i] = y
	}
	t.times[t.count&(history-1)] = at
	t.count++
}

// Bytes is what the Tracker takes in main memory, without its Model.
func (t *Tracker) Bytes() int {
	more := 0
	if t.rated != nil {
		more = 24*t.n + 4*(len(t.rated.rates)+len(t.rated.off))
	}
	return more + 4096 + 8*len(t.values) + len(t.members)*int(unsafe.Sizeof(member{})) + 8*len(t.states) + len(t.errors)*int(unsafe.Sizeof(cell{})) +
		4*len(t.said) + 8*len(t.inputs)
}

// step brings what follows each snapshot up to date.
func (t *Tracker) step() {
	a, b := t.at(t.count-2), t.at(t.count-1)
	// Of a snapshot that is late, as many steps as passed.
	steps := math.Max(t.steps(t.count-2, t.count-1), 0.1)
	states := t.states[((t.count-1)&(recent-1))*t.n:][:t.n]
	for i := range t.members {
		m := &t.members[i]
		if t.known(i) < 2 {
			m.position, m.velocity, states[i] = b[i], 0, state{}
			continue
		}
		d := b[i] - a[i]
		if t.kinds[i] == Held {
			changed := 0.0
			if d != 0 {
				changed = 1
			}
			m.changes += math.Max(0.02, 1/float64(t.count)) * (changed - m.changes)
			continue
		}
		m.power += math.Max(0.02, 1/float64(t.count)) * (d*d - m.power)
		m.unit = math.Sqrt(m.power)
		if s := math.Abs(d); s > 1e-12*math.Abs(b[i]) && s < m.least {
			m.least = s
		}
		if t.known(i) == 2 {
			m.position, m.velocity = b[i], d/steps
		} else {
			m.position += m.velocity * steps
			r := b[i] - m.position
			m.position += 0.6 * r
			m.velocity += 0.25 * r / steps
		}
		states[i] = state{float32(m.position - b[i]), float32(m.velocity)}
	}
}

// steps is how many usual steps lie between two snapshots.
func (t *Tracker) steps(from, to int) float64 {
	return float64(t.times[to&(history-1)]-t.times[from&(history-1)]) / t.period
}

// correlate takes one more snapshot into the regressions' inverse correlations.
func (t *Tracker) correlate() {
	const forget = 0.998
	b := t.from(t.count-1, 0, 1)
	var guesses [models]float64
	var f, g [lags]float64
	for i := range t.members {
		if t.kinds[i] == Held || !t.guess(&b, i, &guesses, &f) {
			continue
		}
		p := &t.members[i].p
		// What nothing excites is not forgotten without bound.
		keep := forget
		if p[0][0]+p[1][1]+p[2][2]+p[3][3]+p[4][4]+p[5][5] > lags {
			keep = 1
		}
		q := keep
		for a := range lags {
			r := &p[a]
			g[a] = r[0]*f[0] + r[1]*f[1] + r[2]*f[2] + r[3]*f[3] + r[4]*f[4] + r[5]*f[5]
			q += f[a] * g[a]
		}
		for a := range lags {
			k := g[a] / q
			for b := range a + 1 {
				p[a][b] = (p[a][b] - k*g[b]) / keep
				p[b][a] = p[a][b]
			}
		}
	}
}

// Use has a trained model take part. The Tracker begins with what the model knows of its errors.
// The error is TypeMismatch if it is of other members.
func (t *Tracker) Use(m *Model) error {
	if len(m.Kinds) != t.n {
		return engram.Errorf(engram.TypeMismatch, "", "a model of %d members for %d", len(m.Kinds), t.n)
	}
	if !m.fitted {
		m.Fit()
	}
	most := 0
	for _, p := range m.Pairs {
		most = max(most, p+1)
	}
	t.model, t.said = m, make([]float32, recent*len(horizons)*t.n*2)
	t.inputs, t.ages = make([]float64, recent*most), make([]int, len(m.groups))
	for i := range t.members {
		for h := range horizons {
			c := &t.errors[h*t.n+i]
			*c = cell{first: float32(m.members[i].hold[h]), blend: float32(m.members[i].error[h]), seen: 50}
			for k := range c.square {
				c.square[k] = float32(m.members[i].hold[h])
			}
			// Which of the two is the better one shows.
			c.square[trained], c.square[anew] = c.blend, c.blend
		}
	}
	for i := range t.said {
		t.said[i] = float32(math.NaN())
	}
	return nil
}

// ask asks the model what follows the newest snapshot.
func (t *Tracker) ask(inputs []float64) {
	s := t.count - 1
	k := len(t.inputs) / recent
	row := func(back int) []float64 { return t.inputs[((s-back)&(recent-1))*k:][:k] }
	copy(row(0), inputs)
	for g := range t.model.groups {
		if t.ages[g]++; s == 0 || t.model.groups[g].changed(t.at(s-1), t.at(s)) {
			t.ages[g] = 0
		}
	}
	out := t.said[(s&(recent-1))*len(horizons)*t.n*2:][:len(horizons)*t.n*2]
	if s < backmost*max(t.model.stride, 1) || len(inputs) != k {
		for i := range out {
			out[i] = float32(math.NaN())
		}
		return
	}
	t.model.say(func(back int) []float64 { return t.at(s - back) }, row, t.rates(), t.ages, out)
	for i := range t.members {
		if t.members[i].since == 0 || t.known(i) > backmost*max(t.model.stride, 1) {
			continue
		}
		for h := range horizons { // it would compare what was before and after
			out[(h*t.n+i)*2], out[(h*t.n+i)*2+1] = float32(math.NaN()), float32(math.NaN())
		}
	}
}

// Period is the usual time between snapshots; 0 if it is not known.
func (t *Tracker) Period() time.Duration { return time.Duration(t.period) }
