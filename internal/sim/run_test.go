package sim

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
)

// recorder is a writer that notes when what came.
type recorder struct {
	mu     sync.Mutex
	began  time.Time
	joints []time.Duration // when joint states came
	images []time.Duration
	taken  map[engram.Time]bool // images
	linked []engram.Time        // of the images that objects were found in
	answer func(u engram.EntityUpdate) error
	delay  func(u engram.EntityUpdate)
	err    error
}

func (r *recorder) Commit(_ context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	results := make([]engram.UpdateResult, len(c.Updates))
	for i, u := range c.Updates {
		if r.delay != nil {
			r.delay(u)
		}
		r.mu.Lock()
		switch u.Entity.CoreSegment() {
		case "Proprioception":
			r.joints = append(r.joints, time.Since(r.began))
		case "ImageRGB":
			r.images = append(r.images, time.Since(r.began))
			r.taken[u.Time] = true
		case "Instance":
			r.linked = append(r.linked, u.Time)
		}
		r.mu.Unlock()
		if r.answer != nil {
			results[i].Err = r.answer(u)
		}
	}
	return results, r.err
}

func newRecorder() *recorder { return &recorder{began: time.Now(), taken: map[engram.Time]bool{}} }

func TestRunKeepsTime(t *testing.T) {
	for _, speed := range []float64{1, 2.5} {
		synctest.Test(t, func(t *testing.T) {
			w := newRecorder()
			report, err := small(t, 1).RunTicks(t.Context(), w, speed, 300)
			if err != nil || report.Ticks != 300 || report.Frames != 60 || report.Skipped != 0 || report.Refused != 0 {
				t.Fatalf("%+v, %v", report, err)
			}
			if len(w.joints) != 300 || len(w.images) != 60 {
				t.Fatalf("%d joint states, %d images", len(w.joints), len(w.images))
			}
			for i, d := range w.joints {
				if want := time.Duration(float64(i) * float64(Period) / speed); d != want {
					t.Fatalf("joint state %d came after %v, want %v", i, d, want)
				}
			}
			for i, d := range w.images {
				if want := time.Duration(float64(5*i) * float64(Period) / speed); d != want {
					t.Fatalf("image %d came after %v, want %v", i, d, want)
				}
			}
		})
	}
}

// TestRunSkipsImages has a writer that takes longer for an image than there is
// time: joint states do not suffer, and no object is found in an image that was
// not taken.
func TestRunSkipsImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRecorder()
		w.delay = func(u engram.EntityUpdate) {
			if u.Entity.CoreSegment() == "ImageRGB" {
				time.Sleep(170 * time.Millisecond)
			}
		}
		report, err := small(t, 1).RunTicks(t.Context(), w, 1, 400)
		if err != nil {
			t.Fatal(err)
		}
		if report.Skipped < 30 || report.Frames+report.Skipped != 80 || report.Frames != len(w.images) {
			t.Errorf("%+v with %d images", report, len(w.images))
		}
		for i, d := range w.joints {
			if want := time.Duration(i) * Period; d != want {
				t.Fatalf("joint state %d came after %v, want %v", i, d, want)
			}
		}
		if len(w.linked) == 0 {
			t.Error("no object was found")
		}
		for _, taken := range w.linked {
			if !w.taken[taken] {
				t.Errorf("an object was found in an image of %v, which was not taken", taken)
			}
		}
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1005*time.Millisecond)
		defer cancel()
		r := small(t, 1)
		report, err := r.Run(ctx, newRecorder(), 1)
		if err != nil || report.Ticks != 101 || report.Frames != 21 {
			t.Errorf("%+v, %v", report, err)
		}
		// The next run goes on where this one ended.
		w := newRecorder()
		if report, err = r.RunTicks(t.Context(), w, 0, 9); err != nil || report.Ticks != 9 || len(w.joints) != 9 || r.next != 110 {
			t.Errorf("%+v, %v; next %d", report, err, r.next)
		}
	})
}

func TestRunReportsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRecorder()
		w.answer = func(u engram.EntityUpdate) error {
			if u.Entity.CoreSegment() == "ImageRGB" {
				return engram.Errorf(engram.Exhausted, "", "too large")
			}
			return nil
		}
		report, err := small(t, 1).RunTicks(t.Context(), w, 1, 50)
		if err != nil || report.Refused != 10 || engram.CodeOf(report.Err) != engram.Exhausted {
			t.Errorf("%+v, %v", report, err)
		}
		for _, speed := range []float64{0, 1} {
			w := newRecorder()
			w.err = engram.Errorf(engram.Unavailable, "", "gone")
			if _, err := small(t, 1).Run(t.Context(), w, speed); engram.CodeOf(err) != engram.Unavailable {
				t.Errorf("speed %v: %v", speed, err)
			}
		}
	})
	if _, err := small(t, 1).Run(t.Context(), newRecorder(), -1); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("backwards: %v", err)
	}
}
