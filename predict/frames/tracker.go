package frames

import (
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// keep is how many frames a Tracker keeps, at most; each takes 128 KiB, and three with their motion 512 KiB more.
	keep = 24
	// faded is what counts of what was learned before, with each frame that is learned from.
	faded = 0.97
	// judgedFaded is that of how good predictions were.
	judgedFaded = 0.85
	// lately is how fast what was there lately follows, with each step.
	lately = 0.15
)

// Names of what a Forecast is made by.
const (
	Hold   = "hold"   // the last frame
	Motion = "motion" // moved on and blended
)

// Forecast is what a frame will be.
type Forecast struct {
	Frame Frame
	Last  Frame         // the newest frame; not to be changed
	From  []engram.Time // of the frames that it rests on, the newest first
	// SD is the root mean square of the errors of pixels, in luma levels, and Band the distance within which 9 of 10
	// pixels lie; infinite if nothing was judged yet. The expected PSNR is 20 log10(255/SD) dB.
	SD, Band float64
	Model    string  // Hold or Motion
	Skill    float64 // by how much errors were smaller lately than those of the last frame; NaN is not known
	Judged   int     // predictions that SD rests on
}

// Tracker follows a camera. One goroutine uses it. Its memory is bounded.
type Tracker struct {
	apart   time.Duration
	seen    []*seen // by time
	model   Model
	learned engram.Time // the newest frame that was learned from
	any     bool
	judged  [Ahead]judgement
}

// seen is a frame with what was there lately.
type seen struct {
	at                engram.Time
	frame, background Frame
	past              *Past // nil until it is needed
}

// judgement is how good predictions were, so many steps ahead.
type judgement struct {
	n           int
	pixels      float64
	error, held float64          // sums of squares, of what was answered and of the last frame
	errors      [256]float64     // pixels by their errors
	with, moved [classes]float64 // of what was predicted beside the last frame: with the truth, and with itself
}

// NewTracker returns a Tracker of a camera that is predicted in steps of so much time. The error is OutOfRange for less
// than 1 ms.
func NewTracker(apart time.Duration) (*Tracker, error) {
	if apart < time.Millisecond {
		return nil, engram.Errorf(engram.OutOfRange, "", "frames %s apart: 1 ms at least", apart)
	}
	return &Tracker{apart: apart}, nil
}

// Apart returns the time of a step.
func (t *Tracker) Apart() time.Duration { return t.apart }

// Bytes returns about how much memory the Tracker takes.
func (t *Tracker) Bytes() int {
	bytes := 1 << 16
	for _, s := range t.seen {
		bytes += 8 * Side * Side
		if s.past != nil {
			bytes += 28 * Side * Side
		}
	}
	return bytes
}

// Has reports whether the frame of a time is kept.
func (t *Tracker) Has(at engram.Time) bool {
	_, ok := t.find(at)
	return ok
}

func (t *Tracker) find(at engram.Time) (int, bool) {
	return slices.BinarySearchFunc(t.seen, at, func(s *seen, at engram.Time) int {
		switch {
		case s.at < at:
			return -1
		case s.at > at:
			return 1
		}
		return 0
	})
}

// Learned returns the time of the newest frame that was learned from, false if there is none.
func (t *Tracker) Learned() (engram.Time, bool) { return t.learned, t.any }

// Observe takes a frame of Side x Side pixels, in the order of time as a rule. It judges what would have been predicted for
// it, and learns from it, if it is about a step after the one that was learned from last. A frame of a time that it has is
// left out.
func (t *Tracker) Observe(at engram.Time, f Frame) {
	i, has := t.find(at)
	if has || len(f) != Side*Side {
		return
	}
	s := &seen{at: at, frame: f, background: slices.Clone(f)}
	if i > 0 && at.Sub(t.seen[i-1].at) <= 4*t.apart {
		before := t.seen[i-1]
		share := float32(1 - math.Pow(1-lately, float64(at.Sub(before.at))/float64(t.apart)))
		for k, x := range f {
			s.background[k] = before.background[k] + share*(x-before.background[k])
		}
	}
	t.seen = slices.Insert(t.seen, i, s)
	t.learn(s)
	if len(t.seen) > keep {
		t.seen = slices.Delete(t.seen, 0, len(t.seen)-keep)
	}
	for _, old := range t.seen {
		if old.at < t.seen[len(t.seen)-1].at.Add(-(Ahead+1)*t.apart) {
			old.past = nil
		}
	}
}

// learn judges and learns what a frame tells.
func (t *Tracker) learn(s *seen) {
	if t.any && s.at.Sub(t.learned) < t.apart*3/4 {
		return
	}
	fresh := false
	for step := 1; step <= Ahead; step++ {
		p, _ := t.past(s.at.Add(-time.Duration(step) * t.apart))
		if p == nil {
			continue
		}
		if !fresh {
			t.model.fade(faded)
			fresh = true
		}
		c := p.candidates(float64(step))
		t.judge(c, step, s.frame)
		t.model.learn(c, step, s.frame)
	}
	if fresh {
		t.model.Fit()
		t.learned, t.any = s.at, true
	}
}

// past returns what is predicted from at a time, nil if not enough is known, and the times of its frames.
func (t *Tracker) past(at engram.Time) (*Past, []engram.Time) {
	var of [3]*seen
	for k := range of {
		if of[k] = t.near(at); of[k] == nil {
			return nil, nil
		}
		at = of[k].at.Add(-t.apart)
	}
	if of[0].past == nil {
		of[0].past = NewPast(of[0].frame, of[1].frame, of[2].frame, of[0].background)
	}
	return of[0].past, []engram.Time{of[0].at, of[1].at, of[2].at}
}

// near returns the frame nearest to a time, nil if none is within a quarter of a step.
func (t *Tracker) near(at engram.Time) (best *seen) {
	i, _ := t.find(at)
	within := t.apart / 4
	for _, s := range t.seen[max(i-1, 0):min(i+1, len(t.seen))] {
		if d := s.at.Sub(at).Abs(); d <= within {
			best, within = s, d
		}
	}
	return best
}

// share returns how much of a prediction counts beside the last frame, for a class of pixels.
func (j *judgement) share(class int) float32 {
	const doubt = 1000 // so much evidence is for the half of it
	return float32(min(max((j.with[class]+doubt/2)/(j.moved[class]+doubt), 0), 1))
}

// judge compares what is predicted with what came.
func (t *Tracker) judge(c *candidates, step int, truth Frame) {
	j, p := &t.judged[step-1], c.p
	guess := make(Frame, len(truth))
	t.model.predict(c, float64(step), guess)
	j.pixels, j.error, j.held = judgedFaded*j.pixels, judgedFaded*j.error, judgedFaded*j.held
	for i := range j.errors {
		j.errors[i] *= judgedFaded
	}
	var share [classes]float32
	for class := range share {
		share[class] = j.share(class)
		j.with[class], j.moved[class] = faded*j.with[class], faded*j.moved[class]
	}
	last := p.frames[0]
	for i, x := range truth {
		class := p.class(i)
		more, came := guess[i]-last[i], x-last[i]
		off := float64(came - share[class]*more)
		j.error, j.held = j.error+off*off, j.held+float64(came*came)
		j.errors[min(int(math.Abs(off)+0.5), 255)]++
		j.with[class] += float64(more * came)
		j.moved[class] += float64(more * more)
	}
	j.pixels += float64(len(truth))
	j.n++
}

// Predict says what the frame of a time will be. The error is Unavailable before the first frame and for a time that is
// not after the newest, and OutOfRange for one more than [Ahead] steps after it.
func (t *Tracker) Predict(at engram.Time) (*Forecast, error) {
	if len(t.seen) == 0 {
		return nil, engram.Errorf(engram.Unavailable, "", "there is no image yet")
	}
	newest := t.seen[len(t.seen)-1]
	ahead := at.Sub(newest.at)
	switch {
	case ahead <= 0:
		return nil, engram.Errorf(engram.Unavailable, "", "images are predicted for times after the newest, which is of %s", newest.at)
	case ahead > Ahead*t.apart:
		return nil, engram.Errorf(engram.OutOfRange, "", "images are predicted up to %s after the newest, which is of %s; not for %s after it",
			(Ahead * t.apart).Round(time.Millisecond), newest.at, ahead.Round(time.Millisecond))
	}
	steps := float64(ahead) / float64(t.apart)
	f := &Forecast{Frame: slices.Clone(newest.frame), Last: newest.frame, From: []engram.Time{newest.at}, Model: Hold, Skill: math.NaN()}
	h := min(max(int(math.Ceil(steps)), 1), Ahead) - 1
	j := &t.judged[h]
	error2, held2, band := j.spread()
	if h > 0 {
		e, hold, b := t.judged[h-1].spread()
		u := float64(h+1) - steps
		error2, held2, band = error2+u*(e-error2), held2+u*(hold-held2), band+u*(b-band)
		if math.IsInf(e, 1) || j.n == 0 {
			error2, held2, band = math.Inf(1), math.Inf(1), math.Inf(1)
		}
	} else {
		error2, held2, band = error2*steps, held2*steps, band*math.Sqrt(steps)
	}
	f.SD, f.Band, f.Judged = math.Sqrt(error2), band, j.n
	if !math.IsInf(error2, 1) {
		f.Skill = 0
		if held2 > 0 {
			f.Skill = 1 - math.Sqrt(error2/held2)
		}
	}
	p, from := t.past(newest.at)
	if p == nil || !(f.Skill > 0) {
		if held2 < math.Inf(1) && f.Skill <= 0 {
			f.SD, f.Skill = math.Sqrt(held2), 0
		}
		return f, nil
	}
	f.Model, f.From = Motion, from
	t.model.Predict(p, steps, f.Frame)
	for i, last := range newest.frame {
		f.Frame[i] = last + j.share(p.class(i))*(f.Frame[i]-last)
	}
	return f, nil
}

// spread returns the mean squares of errors and of holding, and the distance within which 9 of 10 errors lie.
func (j *judgement) spread() (error, held, band float64) {
	if j.pixels == 0 {
		return math.Inf(1), math.Inf(1), math.Inf(1)
	}
	within := 0.0
	for i, n := range j.errors {
		if within += n; within >= 0.9*j.pixels {
			band = float64(i) + 0.5
			break
		}
	}
	const rounding = 1. / 12 // images have whole levels
	return j.error/j.pixels + rounding, j.held/j.pixels + rounding, band
}
