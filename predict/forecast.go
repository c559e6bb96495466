package predict

import (
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Forecast is what a Tracker says of a time. Its slices have an entry for each member; they are
// used again by the next call with it.
type Forecast struct {
	Time    engram.Time
	Horizon float64 // s after the newest snapshot; not above 0 between snapshots
	Mean    []float64
	SD      []float64 // standard deviation; of a held member the probability of another value
	Low     []float64 // the band that holds the truth in 9 of 10 cases
	High    []float64
	// Model is the model that counted most.
	Model []string
	// Skill is by how much the errors lately were smaller than those of holding the last value: 1
	// would be none, 0 as large; NaN is not known. It compares root mean squares.
	Skill []float64
}

// Predict says what the members are at a time. At the time of a snapshot and between two that
// the Tracker still has it is what they were, or lies between them. The error is Unavailable
// before the first snapshot, and for a time before what is kept.
func (t *Tracker) Predict(at engram.Time, f *Forecast) error {
	if t.count == 0 {
		return engram.Errorf(engram.Unavailable, "", "nothing is known yet")
	}
	f.reset(at, t.n)
	err := t.say(at, f)
	if err == nil {
		t.wrap(f)
	}
	return err
}

func (t *Tracker) say(at engram.Time, f *Forecast) error {
	last := t.count - 1
	newest := t.times[last&(history-1)]
	f.Horizon = float64(at-newest) / 1e9
	if at <= newest {
		return t.between(at, f)
	}
	if t.count == 1 {
		for i, x := range t.at(last) {
			f.Mean[i] = x
			f.Unknown(i)
		}
		return nil
	}
	steps := float64(at-newest) / t.period
	h := 0
	for h < len(horizons)-1 && float64(horizons[h]) < steps {
		h++
	}
	// Between two horizons, or beyond the last.
	far := t.from(last, h, float64(horizons[h]))
	var near *from
	if h > 0 {
		b := t.from(last, h-1, float64(horizons[h-1]))
		near = &b
	}
	for i := range t.members {
		t.member(near, &far, steps, i, f)
	}
	return nil
}

// member says what one member is, some steps ahead; near and far are the horizons around, near is nil
// before the first.
func (t *Tracker) member(near, far *from, steps float64, i int, f *Forecast) {
	x := far.x[i]
	if t.known(i) <= 1 { // nothing is known of how it goes on
		f.Mean[i] = x
		f.Unknown(i)
		return
	}
	if t.kinds[i] == Held {
		other := 1 - math.Pow(1-t.members[i].changes, steps)
		f.Mean[i], f.SD[i], f.Low[i], f.High[i] = x, other, x, x
		f.Model[i], f.Skill[i] = modelNames[hold], math.NaN()
		return
	}
	var guesses [models]float64
	var features [lags]float64
	var a, sdA, halfA, begin float64
	if near != nil {
		t.guess(near, i, &guesses, &features)
		_, a = t.errors[near.h*t.n+i].mix(&guesses)
		sdA, halfA = t.spread(0, 0, 0, near.h, i)
		begin = near.steps
	}
	t.guess(far, i, &guesses, &features)
	c := &t.errors[far.h*t.n+i]
	_, b := c.mix(&guesses)
	first := 0
	if near != nil {
		first = near.h + 1
	}
	sdB, halfB := t.spread(sdA, halfA, first, far.h, i)
	model, skill := t.best(far.h, i)
	j, farther, steady := -1, 0.0, false
	if c.seen <= 16 {
		j = t.judged(far.h, i)
	}
	if j >= 0 && (j < far.h || steps > far.steps) {
		farther, steady = t.farther(far.s, j, steps, i)
	}
	switch {
	case steady:
		b = farther
		sdB, halfB = t.spread(0, 0, 0, j, i)
		wider := steps / float64(horizons[j])
		sdB, halfB = sdB*wider, halfB*wider
		model, skill = t.best(j, i)
	case steps <= far.steps:
		r := (steps - begin) / (far.steps - begin)
		b, sdB, halfB = a+r*(b-a), sdA+r*(sdB-sdA), halfA+r*(halfB-halfA)
	case c.seen > 16 && c.blend < 0.25*c.square[hold]: // what went on steadily goes on
		b += (b - a) / (far.steps - begin) * (steps - far.steps)
		sdB, halfB = sdB*steps/far.steps, halfB*steps/far.steps
	default:
		wider := math.Pow(steps/far.steps, t.growth(far.h, i))
		sdB, halfB = sdB*wider, halfB*wider
	}
	if t.members[i].since > 0 {
		wider := math.Sqrt(1 + unsettled/float64(t.known(i)))
		sdB, halfB = sdB*wider, halfB*wider
	}
	if off := t.doubts(i) / 2; off > 0 { // it may go on from there
		sdB, halfB = math.Hypot(sdB, off), math.Hypot(halfB, 1.645*off)
	}
	f.set(i, x+b, sdB, halfB+t.rounding(i))
	f.Model[i], f.Skill[i] = model, skill
}

// growth is the power of time that a member's errors grow with from half of a horizon on: 0.5 is that of a random
// walk, and the least, 1 that of a speed that is not known.
func (t *Tracker) growth(h, i int) float64 {
	const least, most = 0.5, 1.5
	near := slices.Index(horizons[:], horizons[h]/2)
	if near < 0 {
		return least
	}
	a, b := &t.errors[near*t.n+i], &t.errors[h*t.n+i]
	if a.seen <= 16 || b.seen <= 16 || a.blend <= 0 {
		return least
	}
	return math.Max(least, math.Min(math.Log2(float64(b.blend/a.blend))/2, most))
}

// judged is the longest horizon up to h at which a member's predictions were judged often enough, -1 if there is none.
func (t *Tracker) judged(h, i int) int {
	j := -1
	for j < h && t.errors[(j+1)*t.n+i].seen >= enough {
		j++
	}
	return j
}

// farther is by how much a member changes farther ahead than predictions of it were judged: from what is said at horizon j
// it goes on as the models do that did best there, for a few times as long. It is not steady if none was clearly better than to hold.
func (t *Tracker) farther(s, j int, steps float64, i int) (change float64, steady bool) {
	const most = 8
	c := &t.errors[j*t.n+i]
	begin := float64(horizons[j])
	near, far := t.from(s, j, begin), t.from(s, j, math.Min(steps, most*begin))
	var here, there [models]float64
	var features [lags]float64
	t.guess(&near, i, &here, &features)
	_, said := c.mix(&here)
	t.guess(&far, i, &there, &features)
	for k := regression; k < models; k++ { // they say what is at horizon j
		here[k], there[k] = math.NaN(), math.NaN()
	}
	for k, g := range there {
		steady = steady || g == g && here[k] == here[k] && c.square[k] < 0.25*c.square[hold]
	}
	if !steady {
		return 0, false
	}
	_, a := c.mix(&here)
	_, b := c.mix(&there)
	return said + b - a, true
}

// unsettled is how many snapshots after a reset errors are twice as large as usual, in squares.
const unsettled = 16

// spread is the standard deviation at a horizon, and half of the width of the band: never smaller than
// at the horizons before it, from first on; those before that are given.
func (t *Tracker) spread(sd, half float64, first, h, i int) (float64, float64) {
	for k := first; k <= h; k++ {
		c := &t.errors[k*t.n+i]
		v := float64(c.blend)
		if c.seen == 0 {
			// Nothing came so late yet: as a random walk goes on.
			v = t.members[i].power * float64(horizons[k])
		}
		sd = math.Max(sd, math.Sqrt(v))
		half = math.Max(half, t.bands[k]*sd)
	}
	return sd, half
}

// best names the model that counts most at a horizon, and says how well predictions did.
func (t *Tracker) best(h, i int) (string, float64) {
	c := &t.errors[h*t.n+i]
	if c.seen < enough {
		return modelNames[hold], math.NaN()
	}
	k := hold
	for j, s := range c.square {
		usable := j < told || j < periodic && t.rated != nil && t.rated.has(i) || j == periodic && t.repeat > 0 || j == regression || j >= trained && t.said != nil
		if usable && s < c.square[k] {
			k = j
		}
	}
	if c.square[hold] == 0 {
		return modelNames[k], math.NaN()
	}
	return modelNames[k], 1 - math.Sqrt(float64(c.blend/c.square[hold]))
}

// between says what was, at a time that the Tracker has snapshots around.
func (t *Tracker) between(at engram.Time, f *Forecast) error {
	last := t.count - 1
	first := max(0, t.count-history)
	for s := last; s >= first; s-- {
		a := t.times[s&(history-1)]
		if a > at {
			continue
		}
		for i, x := range t.at(s) {
			if s == last && t.doubts(i) > 0 {
				x = t.members[i].doubt.value
			}
			f.Model[i], f.Skill[i] = "known", math.NaN()
			if a == at || s == last || t.kinds[i] == Held || s+1 == t.members[i].since {
				f.set(i, x, 0, 0)
				continue
			}
			b := t.times[(s+1)&(history-1)]
			r := float64(at-a) / float64(b-a)
			// As a bridge between two known ends.
			sd, _ := t.spread(0, 0, 0, 0, i)
			sd *= math.Sqrt(r * (1 - r))
			f.set(i, x+r*(t.at(s + 1)[i]-x), sd, 1.645*sd)
			f.Model[i] = "between"
		}
		return nil
	}
	return engram.Errorf(engram.Unavailable, "", "what was at %v is not kept for predictions; query it", at)
}

func (f *Forecast) reset(at engram.Time, n int) {
	f.Time = at
	if len(f.Mean) != n {
		f.Mean, f.SD, f.Low, f.High = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		f.Model, f.Skill = make([]string, n), make([]float64, n)
	}
}

func (f *Forecast) set(i int, mean, sd, half float64) {
	f.Mean[i], f.SD[i], f.Low[i], f.High[i] = mean, sd, mean-half, mean+half
}

// Unknown says of a member that it may be anything.
func (f *Forecast) Unknown(i int) {
	f.set(i, f.Mean[i], math.Inf(1), math.Inf(1))
	f.Model[i], f.Skill[i] = modelNames[hold], math.NaN()
}
