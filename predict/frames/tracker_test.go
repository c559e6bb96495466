package frames_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict/frames"
)

const step = 200 * time.Millisecond

// scene is a textured square on a soft ground, moved by so much.
func scene(x, y float64) frames.Frame {
	f := make(frames.Frame, frames.Side*frames.Side)
	for i := range f {
		f[i] = 90 + float32(10*math.Sin(float64(i%frames.Side)/9)+10*math.Cos(float64(i/frames.Side)/7))
	}
	for v := range 40 {
		for u := range 40 {
			if px, py := int(x)+u, int(y)+v; px >= 0 && py >= 0 && px < frames.Side && py < frames.Side {
				f[py*frames.Side+px] = 160 + float32(40*math.Sin(float64(u)/3)*math.Cos(float64(v)/4))
			}
		}
	}
	return f
}

func rms(a, b frames.Frame) float64 {
	sum := 0.0
	for i := range a {
		sum += float64((a[i] - b[i]) * (a[i] - b[i]))
	}
	return math.Sqrt(sum / float64(len(a)))
}

func at(i float64) engram.Time { return engram.Time(0).Add(time.Duration(i * float64(step))) }

// What moves steadily is predicted better than by the last frame, as surely as it says, at whole steps and between.
func TestTracker(t *testing.T) {
	tr, err := frames.NewTracker(step)
	if err != nil {
		t.Fatal(err)
	}
	where := func(i float64) frames.Frame { return scene(5+4*i, 10+2*i) }
	first := -1
	for i := range 14 {
		tr.Observe(at(float64(i)), where(float64(i)))
		f, err := tr.Predict(at(float64(i) + 1))
		if err != nil {
			t.Fatal(err)
		}
		if f.Model == frames.Motion && first < 0 {
			first = i
		}
		if i < 3 && (f.Model != frames.Hold || !math.IsInf(f.SD, 1)) {
			t.Errorf("after %d frames: %s, SD %v", i+1, f.Model, f.SD)
		}
	}
	if first < 0 || first > 6 {
		t.Errorf("motion is used from frame %d on", first)
	}
	for _, ahead := range []float64{0.5, 1, 1.5, 2} {
		f, err := tr.Predict(at(13 + ahead))
		if err != nil {
			t.Fatal(err)
		}
		off, held := rms(f.Frame, where(13+ahead)), rms(f.Last, where(13+ahead))
		if f.Model != frames.Motion || off > 0.7*held || f.SD < off/2 || f.SD > off*4 || f.Skill <= 0.2 || len(f.From) != 3 {
			t.Errorf("%v ahead: %s is off by %.2f, says %.2f; the last frame is by %.2f; skill %.2f, from %v", ahead, f.Model, off, f.SD, held, f.Skill, f.From)
		}
	}
	for ahead, want := range map[float64]engram.Code{0: engram.Unavailable, -1: engram.Unavailable, 2.1: engram.OutOfRange} {
		if _, err := tr.Predict(at(13 + ahead)); !errors.Is(err, want) {
			t.Errorf("%v ahead: %v, want %v", ahead, err, want)
		}
	}
	before := tr.Bytes()
	for i := 14; i < 34; i++ {
		tr.Observe(at(float64(i)), where(13))
	}
	if tr.Bytes() > 16<<20 || before > 16<<20 {
		t.Errorf("it takes %d bytes", tr.Bytes())
	}
	// At rest nothing is better than the last frame.
	if f, err := tr.Predict(at(34)); err != nil || rms(f.Frame, f.Last) > 0.5 || f.SD > 2 {
		t.Errorf("at rest: %+v, %v", f.SD, err)
	}
}

// Frames in any order, at any time, are no harm.
func TestTrackerTakesAnything(t *testing.T) {
	tr, _ := frames.NewTracker(step)
	if _, err := tr.Predict(at(1)); !errors.Is(err, engram.Unavailable) {
		t.Errorf("without a frame: %v", err)
	}
	for _, i := range []float64{5, 3, 4, 4, 100, 6, -3, 7.1, 101} {
		tr.Observe(at(i), scene(i, i))
	}
	tr.Observe(at(102), frames.Frame{1, 2, 3})
	if f, err := tr.Predict(at(101.5)); err != nil || math.IsNaN(f.SD) || f.From[0] != at(101) {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := frames.NewTracker(0); !errors.Is(err, engram.OutOfRange) {
		t.Errorf("no step: %v", err)
	}
}

// An enlarged frame of differences has the same means when it is reduced.
func TestEnlarged(t *testing.T) {
	f := scene(30, 40)
	by := frames.Enlarged(f, 4*frames.Side, 3*frames.Side)
	sum := 0.0
	for y := range frames.Side {
		for x := range frames.Side {
			mean := float32(0)
			for v := range 3 {
				for u := range 4 {
					mean += by(4*x+u, 3*y+v) / 12
				}
			}
			d := float64(mean - f[y*frames.Side+x])
			sum += d * d
		}
	}
	if off := math.Sqrt(sum / float64(len(f))); off > 2 {
		t.Errorf("means are off by %.2f levels", off)
	}
}

// BenchmarkObserve is what one more frame costs: the motion to it, and to learn from it.
func BenchmarkObserve(b *testing.B) {
	tr, _ := frames.NewTracker(step)
	for i := 0; b.Loop(); i++ {
		tr.Observe(at(float64(i)), scene(float64(i%20), float64(i%20)))
	}
}
