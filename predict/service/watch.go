package service

import (
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

const (
	// told is how many predictions are judged between two scores of a horizon.
	told = 64
	// lately is how many predictions a score is about, at most.
	lately = 256
	// unsure is how many snapshots nothing surprises after predictions begin.
	unsure = 32
	// DefaultThreshold is the sigma from which a surprise is told.
	DefaultThreshold = 4
)

// DefaultHorizons are those of an entity that is followed.
var DefaultHorizons = []time.Duration{200 * time.Millisecond, time.Second}

// watch judges the predictions of a layout of an entity that is followed. The entity's lock guards it.
type watch struct {
	of        engram.ID
	threshold float64
	scores    []score
	seen      int // snapshots since predictions began
	next      predict.Forecast
	before    []float64 // the values of the snapshot before
	then      engram.Time

	usual      float64 // mean square of the largest error of a snapshot, in standard deviations
	surprising bool
	since      engram.Time
}

// news are a score or a surprise.
type news struct {
	segment, provider, more string
	at                      engram.Time
	typ                     string
	value                   map[string]any
}

// score judges one horizon.
type score struct {
	horizon time.Duration
	pending []pending
	made    engram.Time // the last prediction
	square  []float64   // of each member the mean square of errors
	hold    []float64   // and of holding the value
	inside  float64     // the share within the band
	judged  int64
}

// pending is a prediction whose truth is to come.
type pending struct {
	at                    engram.Time
	mean, low, high, from []float64
}

// newWatch returns one of so many members; nil for nil.
func newWatch(f *Following, members int) *watch {
	if f == nil {
		return nil
	}
	w := &watch{of: f.Entity, threshold: f.Threshold, usual: 1}
	for _, h := range f.Horizons {
		w.scores = append(w.scores, score{horizon: h, square: make([]float64, members), hold: make([]float64, members)})
	}
	return w
}

// restart forgets what was expected: the entity was reset.
func (w *watch) restart() {
	w.seen, w.before = 0, nil
	for i := range w.scores {
		w.scores[i].pending = nil
	}
}

// judge compares a snapshot, which the entity's row has, with what was expected of it.
func (w *watch) judge(e *entity, now engram.Time) {
	if w.before != nil && now > w.then {
		if w.seen >= unsure {
			w.surprise(e, now)
		}
		for i := range w.scores {
			w.scores[i].judge(w, e, now)
		}
	}
}

// most is the largest error that is told, in standard deviations; a number that is too large to be predicted
// counts as one.
const most = 100

// surprise says how far a snapshot is off from what was expected for its time.
func (w *watch) surprise(e *entity, now engram.Time) {
	if e.tracker.Predict(now, &w.next) != nil {
		return
	}
	worst, at, told := 0.0, 0, false
	for i, x := range e.row {
		if math.IsNaN(x) {
			continue
		}
		told = true
		z := 0.0
		if math.IsInf(x, 0) {
			z = most
		} else if e.members.Kinds[i] == predict.Held {
			if x != w.next.Mean[i] {
				z = math.Sqrt(-2 * math.Log(math.Max(w.next.SD[i], 1e-6)))
			}
		} else if off := math.Abs(e.tracker.Off(i, x, w.next.Mean[i])); off > 0 {
			// The band knows of rounding and of how often it missed.
			sd := math.Max(w.next.SD[i], (w.next.High[i]-w.next.Low[i])/2/1.645)
			z = math.Min(off/math.Max(sd, 1e-9*(1+math.Abs(x))), most)
		}
		if z > worst {
			worst, at = z, i
		}
	}
	if !told {
		return // whether it still surprises is not known
	}
	usual := math.Sqrt(math.Max(w.usual, 1))
	sigma := worst / usual
	w.usual += 0.01 * (math.Min(worst*worst, 9*usual*usual) - w.usual)
	switch {
	case !w.surprising && sigma >= w.threshold:
		w.surprising, w.since = true, now
	case w.surprising && sigma < w.threshold/2:
		w.surprising = false
	default:
		return
	}
	if !e.live {
		return
	}
	e.news = append(e.news, news{segment: SurpriseSegment, provider: SurpriseProvider, at: now, typ: surpriseType, value: map[string]any{
		"timestamp": now, "entity": w.of, "sigma": sigma, "surprising": w.surprising, "member": e.members.Paths[at],
		"expected": w.next.Mean[at], "observed": e.row[at], "since": w.since, "snapshot": w.of.At(now),
	}})
}

// judge judges the predictions whose time has come.
func (c *score) judge(w *watch, e *entity, now engram.Time) {
	n := 0
	for n < len(c.pending) && c.pending[n].at <= now {
		n++
	}
	for k := range c.pending[:n] {
		p := &c.pending[k]
		if now.Sub(w.then) > max(c.horizon, 2*e.tracker.Period()) {
			continue // what was then is not known well enough
		}
		r := math.Min(float64(p.at-w.then)/float64(now-w.then), 1)
		inside, counted := 0.0, 0.0
		c.judged++
		share := 1 / float64(min(c.judged, lately))
		for i, x := range e.row {
			if notTold(x) || notTold(w.before[i]) || notTold(p.from[i]) || e.members.Kinds[i] == predict.Held {
				continue
			}
			truth := w.before[i] + r*e.tracker.Off(i, x, w.before[i])
			off, held := e.tracker.Off(i, truth, p.mean[i]), e.tracker.Off(i, truth, p.from[i])
			c.square[i] += share * (off*off - c.square[i])
			c.hold[i] += share * (held*held - c.hold[i])
			counted++
			if off >= p.low[i]-p.mean[i] && off <= p.high[i]-p.mean[i] {
				inside++
			}
		}
		if counted > 0 {
			c.inside += share * (inside/counted - c.inside)
		}
		if c.judged%told == 0 {
			c.tell(w, e, now)
		}
	}
	c.pending = append(c.pending[:0], c.pending[n:]...)
}

// tell has the scores of a horizon written: of all layouts together, each member that moves counting alike.
func (c *score) tell(w *watch, e *entity, now engram.Time) {
	add := func(model string, skill float64, samples int64, band float64) {
		v := map[string]any{"timestamp": now, "entity": w.of, "horizon": c.horizon, "model": model, "samples": samples}
		if !math.IsNaN(skill) {
			v["skill"] = skill
		}
		if !math.IsNaN(band) {
			v["band"] = band
		}
		e.news = append(e.news, news{segment: ScoreSegment, provider: model, more: "@" + c.horizon.String(), at: now, typ: scoreType, value: v})
	}
	ratio, moving, inside, judged := 0.0, 0.0, 0.0, int64(0)
	skills, weights := map[string]float64{}, map[string]float64{} // by model
	for _, l := range e.layouts {
		of := l.watch.score(c.horizon)
		for i := range of.square {
			if of.hold[i] > 0 {
				ratio += of.square[i] / of.hold[i]
				moving++
			}
		}
		inside, judged = inside+of.inside*float64(of.judged), judged+of.judged
		for model, skill := range l.tracker.Skills(c.horizon) {
			skills[model] += skill * float64(len(l.row))
			weights[model] += float64(len(l.row))
		}
	}
	skill := math.NaN()
	if moving > 0 {
		skill = 1 - math.Sqrt(ratio/moving)
	}
	add(Answer, skill, judged, inside/float64(judged))
	for model, skill := range skills {
		add(model, skill/weights[model], judged, math.NaN())
	}
	if len(e.news) > maxNews {
		e.news = append(e.news[:0], e.news[len(e.news)-maxNews:]...)
	}
}

func (w *watch) score(horizon time.Duration) *score {
	return &w.scores[slices.IndexFunc(w.scores, func(c score) bool { return c.horizon == horizon })]
}

const (
	// Answer is the model of a score that tells of what is answered.
	Answer = "answer"
	// maxNews bounds what is to be written of one entity at once; older scores are dropped.
	maxNews = 256
	// maxPending bounds the predictions of one horizon whose truth is to come.
	maxPending = 16
)

// expect predicts from a snapshot that the tracker has taken.
func (w *watch) expect(e *entity, now engram.Time) {
	if now <= w.then && w.before != nil {
		return
	}
	w.seen++
	w.then = now
	w.before = append(w.before[:0], e.row...)
	for i := range w.scores {
		c := &w.scores[i]
		if len(c.pending) >= maxPending || len(c.pending) > 0 && now.Sub(c.made) < c.horizon/8 {
			continue
		}
		var f predict.Forecast
		if e.tracker.Predict(now.Add(c.horizon), &f) != nil {
			continue
		}
		c.made = now
		c.pending = append(c.pending, pending{now.Add(c.horizon), f.Mean, f.Low, f.High, append([]float64(nil), e.row...)})
	}
}
