package main

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories/vision"
	"github.com/seed-301d4374/engram/predict/frames"
)

const (
	apart   = 200 * time.Millisecond // between frames: 5 Hz
	differs = 8                      // luma levels from which a pixel counts as changed
)

// camera are the frames of one.
type camera struct {
	times  []engram.Time
	frames []frames.Frame
}

// frameRow is how much better predicted frames are than the last one repeated.
type frameRow struct {
	Camera string `json:"camera"`
	// Model is what predicted: "trained" on the other recordings, or with what was learned "as it goes".
	Model     string  `json:"model"`
	HorizonMS float64 `json:"horizon_ms"`
	PSNR      float64 `json:"psnr"`
	PSNRHold  float64 `json:"psnr_hold"`
	Gain      float64 `json:"gain_db"`
	// GainChanged is that over the pixels that differ by more than 8 luma levels from the last frame, and Changed
	// their share.
	GainChanged float64 `json:"gain_changed_db"`
	Changed     float64 `json:"changed"`
	Frames      int     `json:"frames"`
}

// look takes down an image.
func (r *recording) look(u engram.EntityUpdate) error {
	img, err := vision.Decode(u.Instances[0].Payload)
	if engram.CodeOf(err) == engram.Unsupported {
		return nil
	}
	if err != nil {
		return err
	}
	name := u.Entity.Entity()
	c := r.cameras[name]
	if c == nil {
		c = &camera{}
		r.cameras[name] = c
	}
	c.times, c.frames = append(c.times, u.Time), append(c.frames, frames.Reduced(img))
	return nil
}

// sequences are the frames of a camera at 5 Hz, one sequence for each of those that it can begin with.
func (c *camera) sequences() (all [][]frames.Frame) {
	for first := 0; first < len(c.times) && c.times[first].Sub(c.times[0]) < apart-time.Millisecond; first++ {
		var s []frames.Frame
		next := c.times[first]
		for i := first; i < len(c.times); i++ {
			if c.times[i].Sub(next) < -apart/16 {
				continue
			}
			if c.times[i].Sub(next) > apart/4 { // a gap
				if len(s) > 0 {
					all = append(all, s)
				}
				s = nil
			}
			s = append(s, c.frames[i])
			next = c.times[i].Add(apart)
		}
		all = append(all, s)
	}
	return all
}

// cameras measures all cameras that all recordings have: with a model that was trained on the others, and with what is
// learned of the judged one as it goes.
func cameras(learned []*recording, judged *recording) (rows []frameRow, err error) {
	for _, name := range slices.Sorted(maps.Keys(judged.cameras)) {
		m := &frames.Model{}
		for _, l := range learned {
			if c := l.cameras[name]; c != nil {
				for _, s := range c.sequences() {
					walk(s, func(p *frames.Past, step int, _, truth frames.Frame) { m.Learn(p, step, truth) })
				}
			}
		}
		m.Fit()
		var trained, going [frames.Ahead]tally
		guess := make(frames.Frame, frames.Side*frames.Side)
		for _, s := range judged.cameras[name].sequences() {
			walk(s, func(p *frames.Past, step int, last, truth frames.Frame) {
				m.Predict(p, float64(step), guess)
				trained[step-1].add(guess, last, truth)
			})
			if err := follow(s, &going); err != nil {
				return nil, err
			}
		}
		for h := range frames.Ahead {
			rows = trained[h].row(rows, name, "trained", h)
		}
		for h := range frames.Ahead {
			rows = going[h].row(rows, name, "as it goes", h)
		}
	}
	return rows, nil
}

// follow judges what a Tracker says of a sequence. It learns from what it was judged by.
func follow(s []frames.Frame, sums *[frames.Ahead]tally) error {
	t, err := frames.NewTracker(apart)
	if err != nil {
		return err
	}
	for i, f := range s {
		at := engram.Time(0).Add(time.Duration(i) * apart)
		t.Observe(at, f)
		if i < 2 {
			continue
		}
		for step := 1; step <= frames.Ahead && i+step < len(s); step++ {
			p, err := t.Predict(at.Add(time.Duration(step) * apart))
			if err != nil {
				return err
			}
			sums[step-1].add(p.Frame, f, s[i+step])
		}
	}
	return nil
}

// tally sums up errors.
type tally struct{ all, hold, changed, held, pixels, differ, frames float64 }

func (u *tally) add(guess, last, truth frames.Frame) {
	u.frames++
	for i, x := range truth {
		e, held := float64((x-guess[i])*(x-guess[i])), float64((x-last[i])*(x-last[i]))
		u.pixels++
		u.all, u.hold = u.all+e, u.hold+held
		if held > differs*differs {
			u.differ++
			u.changed, u.held = u.changed+e, u.held+held
		}
	}
}

func (u *tally) row(rows []frameRow, camera, model string, h int) []frameRow {
	if u.differ == 0 || u.all == 0 {
		return rows
	}
	psnr := func(sum float64) float64 { return 10 * math.Log10(255*255*u.pixels/sum) }
	return append(rows, frameRow{Camera: camera, Model: model, HorizonMS: float64(h+1) * float64(apart) / 1e6, PSNR: psnr(u.all), PSNRHold: psnr(u.hold),
		Gain: 10 * math.Log10(u.hold/u.all), GainChanged: 10 * math.Log10(u.held/u.changed), Changed: u.differ / u.pixels, Frames: int(u.frames)})
}

// walk calls f for each frame of a sequence that has enough before it, and each horizon.
func walk(s []frames.Frame, f func(p *frames.Past, step int, last, truth frames.Frame)) {
	var background frames.Frame
	for t := range s {
		if background == nil {
			background = slices.Clone(s[t])
		}
		for i, x := range s[t] {
			background[i] += 0.15 * (x - background[i])
		}
		if t < 2 || t+1 >= len(s) {
			continue
		}
		p := frames.NewPast(s[t], s[t-1], s[t-2], background)
		for step := 1; step <= frames.Ahead; step++ {
			if t+step < len(s) {
				f(p, step, s[t], s[t+step])
			}
		}
	}
}
