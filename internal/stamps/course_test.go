package stamps

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func at(seconds float64) engram.Time {
	return engram.Time(1e18).Add(time.Duration(seconds * float64(time.Second)))
}

// TestCourse tells clocks that go back from messages that are late, wild stamps, jumps forward, slow clocks and several
// publishers.
func TestCourse(t *testing.T) {
	type pair struct{ log, stamp float64 }
	evenly := func(n int, log, stamp, step, rate float64) (out []pair) {
		for i := range n {
			out = append(out, pair{log + float64(i)*step, stamp + float64(i)*step*rate})
		}
		return out
	}
	runsWithLate := func() (out []pair) {
		for run := range 5 {
			for i, p := range evenly(1000, float64(run)*100, 0, 0.1, 1) {
				if out = append(out, p); run > 0 && i == 3 {
					out = append(out, pair{p.log + 0.05, 99.95})
				}
			}
		}
		return out
	}
	for _, tt := range []struct {
		name string
		of   []pair
		want []float64 // log times
	}{
		{"one run", evenly(50, 0, 3, 0.1, 1), nil},
		{"two runs", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(50, 7, 0, 0.1, 1)), []float64{7}},
		{"three runs of one message a second", slices.Concat(evenly(4, 0, 1, 1, 1), evenly(4, 5, 1, 1, 1), evenly(4, 10, 1, 1, 1)), []float64{5, 10}},
		{"runs of a slow simulation", slices.Concat(evenly(9, 0, 0, 2, 0.2), evenly(9, 20, 0, 2, 0.2)), []float64{20}},
		{"runs of a fast simulation", slices.Concat(evenly(9, 0, 0, 1, 5), evenly(9, 20, 0, 1, 5)), []float64{20}},
		{"the last run has two messages", slices.Concat(evenly(9, 0, 0, 1, 1), evenly(2, 20, 0, 1, 1)), []float64{20}},
		{"into the middle of the run before", slices.Concat(evenly(90, 0, 0, 0.1, 1), evenly(90, 10, 4, 0.1, 1)), []float64{10}},
		{"by less than what is late", slices.Concat(evenly(90, 0, 0, 0.1, 1), evenly(90, 9, 8.3, 0.1, 1)), nil},
		{"late messages", slices.Concat(evenly(50, 0, 0, 0.1, 1), []pair{{5, 1}, {5.01, 2}}, evenly(50, 5.1, 5.1, 0.1, 1)), nil},
		{"what another sender held back for long", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(40, 5, 1, 0.001, 100), evenly(50, 5.1, 5.1, 0.1, 1)), nil},
		{"a late message at the end", slices.Concat(evenly(50, 0, 0, 0.1, 1), []pair{{5, 1}}), nil},
		{"a wild stamp", slices.Concat(evenly(50, 0, 0, 0.1, 1), []pair{{5, 999}}, evenly(50, 5.1, 5.1, 0.1, 1)), nil},
		{"a wild stamp of a slow clock", slices.Concat(evenly(9, 0, 0, 2, 0.1), []pair{{18, 999}}, evenly(9, 20, 2, 2, 0.1)), nil},
		{"a jump forward", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(50, 5, 60, 0.1, 1)), nil},
		{"a pause", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(50, 60, 5, 0.1, 1)), nil},
		{"a late message of the run before", slices.Concat(evenly(1000, 0, 0, 0.1, 1), []pair{{100, 0}, {100.05, 99.95}}, evenly(1000, 100.1, 0.1, 0.1, 1)), []float64{100}},
		{"the same after a pause", slices.Concat(evenly(1000, 0, 0, 0.1, 1), []pair{{120, 0}, {120.05, 99.95}}, evenly(1000, 120.1, 0.1, 0.1, 1)), []float64{120}},
		{"late once a run is certain, in each of five", runsWithLate(), []float64{100, 200, 300, 400}},
		{"messages that are late by two seconds, and a reset", slices.Concat(evenly(20, 0, 0, 0.1, 1), []pair{{2, 0}}, evenly(20, 2, 2, 0.1, 1), []pair{{4, 2}},
			evenly(20, 4, 4, 0.1, 1), []pair{{6, 4}}, evenly(20, 6, 6, 0.1, 1), evenly(20, 8.1, 5.5, 0.1, 1)), []float64{8.1}},
		{"old messages of several senders, and a jump forward", slices.Concat(evenly(9, 0, 500, 0.01, 1), []pair{{1, 40}, {1, 44}, {1, 50}, {1, 43}, {1, 46}, {1.01, 30}}, evenly(50, 3, 511, 0.1, 1)), nil},
		{"a reset right after a late message", slices.Concat(evenly(50, 0, 0, 0.1, 1), []pair{{5, 2}}, evenly(50, 5.1, 0, 0.1, 1)), []float64{5.1}},
		{"a run of two messages between two", slices.Concat(evenly(11, 0, 1, 1, 1), evenly(2, 20, 1, 1, 1), evenly(11, 30, 1, 1, 1)), []float64{20, 30}},
		{"an aborted run", slices.Concat(evenly(250, 0, 100, 0.02, 1), evenly(10, 10, 100, 0.02, 1), evenly(250, 12, 100, 0.02, 1)), []float64{10, 12}},
		{"three in a row, the last one at the end", slices.Concat(evenly(250, 0, 100, 0.02, 1), evenly(10, 10, 100, 0.02, 1), evenly(5, 12, 100, 0.02, 1), evenly(3, 14, 100, 0.02, 1)), []float64{10, 12, 14}},
		{"two, and the first message of a third", slices.Concat(evenly(250, 0, 100, 0.02, 1), evenly(10, 10, 100, 0.02, 1), []pair{{12, 100}}), []float64{10}},
		{"an aborted run, and one that begins later", slices.Concat(evenly(250, 0, 100, 0.02, 1), evenly(10, 10, 100, 0.02, 1), evenly(250, 12, 300, 0.02, 1)), []float64{10}},
		{"runs of less than a second", slices.Concat(evenly(9, 0, 10, 0.1, 1), evenly(9, 2, 10, 0.1, 1), evenly(9, 4, 10, 0.1, 1)), []float64{2, 4}},
		{"twenty of two messages", func() (out []pair) {
			for run := range 20 {
				out = append(out, evenly(2, float64(run)*10, 1, 1, 1)...)
			}
			return out
		}(), []float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190}},
		{"stamps of a millisecond, not in order", func() (out []pair) {
			for i := range 500 {
				out = append(out, pair{float64(i), float64(99-i%100) / 1000})
			}
			return out
		}(), nil},
		{"held back at the end", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(40, 5, 1, 0.001, 100)), nil},
		{"two late messages at the pace of the stamps", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(2, 5, 2, 0.1, 1), evenly(50, 5.2, 5.2, 0.1, 1)), nil},
		{"a pause of the simulation", slices.Concat(evenly(50, 0, 0, 0.1, 1), evenly(50, 5, 5, 0.1, 0), evenly(50, 12, 5, 0.1, 1)), nil},
		{"back, and forward to a third clock", slices.Concat(evenly(50, 0, 100, 0.1, 1), evenly(50, 5, 0, 0.1, 1), evenly(50, 10, 300, 0.1, 1)), []float64{5}},
	} {
		var c Course
		for _, p := range tt.of {
			c.Follow(at(p.stamp), at(p.log))
		}
		var got []float64
		for _, r := range c.End() {
			got = append(got, r.At.Sub(at(0)).Seconds())
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: goes back at %v, want %v", tt.name, got, tt.want)
		}
	}
	turns := Course{} // two publishers whose clocks lie a minute apart, each sends five at a time
	for i := range 100 {
		turns.Follow(at(100+float64(i)/10-float64(i/5%2*60)), at(float64(i)/10))
	}
	if got := turns.End(); len(got) > 0 {
		t.Errorf("two publishers: goes back at %v", got)
	}
	for i := range 40 { // then both clocks go back
		turns.Follow(at(float64(i)/10-10), at(20+float64(i)/10))
	}
	if got := turns.Resets(); len(got) != 1 || got[0].At != at(20) {
		t.Errorf("two publishers, and a reset: goes back at %v", got)
	}
}

// A clock that goes on, whose messages are late by less than a second or in another order, never goes back; one that
// begins anew always does, and where it does, even if some of its last messages come between the first ones after it.
func TestCourseOfAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := time.Duration(rapid.IntRange(5, 900).Draw(t, "period in ms")) * time.Millisecond
		n := rapid.IntRange(20, 60).Draw(t, "messages of a run")
		runs := rapid.IntRange(1, 4).Draw(t, "runs")
		length := time.Duration(n) * period
		begin := rapid.Int64Range(0, 1e18).Draw(t, "begin")
		var c Course
		var want []engram.Time
		log := engram.Time(1e18)
		for run := range runs {
			log = log.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "pause in ms")) * time.Millisecond)
			if run > 0 && length > 4*time.Second {
				want = append(want, log)
			}
			for i := range n {
				late := time.Duration(rapid.IntRange(0, 450).Draw(t, "late by ms")) * time.Millisecond
				c.Follow(engram.Time(begin).Add(time.Duration(i)*period-late), log)
				if run > 0 && i < 5 && rapid.Bool().Draw(t, "one of the run before follows") {
					late := time.Duration(rapid.IntRange(0, 450).Draw(t, "late by ms")) * time.Millisecond
					c.Follow(engram.Time(begin).Add(length-late), log.Add(period/2))
				}
				log = log.Add(period)
			}
		}
		var got []engram.Time
		for _, r := range c.End() {
			got = append(got, r.At)
		}
		if length > 4*time.Second && !slices.Equal(got, want) {
			t.Fatalf("goes back at %v, want %v", got, want)
		}
	})
}

// TestStep tells a clock that goes back by less than a second from messages out of order.
func TestStep(t *testing.T) {
	follow := func(c *Course, n int, log, stamp float64) {
		for i := range n {
			c.Follow(at(stamp+float64(i)/10), at(log+float64(i)/10))
		}
	}
	for _, tt := range []struct {
		name  string
		feed  func(*Course)
		wants float64 // seconds
	}{
		{"evenly", func(c *Course) { follow(c, 90, 0, 5) }, 0},
		{"a pause", func(c *Course) { follow(c, 9, 0, 5); follow(c, 9, 8, 6) }, 0},
		{"set back", func(c *Course) { follow(c, 90, 0, 5); follow(c, 90, 9, 13.5) }, 0.4},
		{"a short bag, played in a loop", func(c *Course) { follow(c, 9, 0, 5); follow(c, 9, 0.9, 5); follow(c, 9, 1.8, 5) }, 0.8},
		{"a late message", func(c *Course) { follow(c, 90, 0, 5); c.Follow(at(13.4), at(9)); follow(c, 90, 9.1, 14.1) }, 0},
		{"two publishers", func(c *Course) {
			for i := range 50 {
				follow(c, 1, float64(i)/10, 5+float64(i)/10)
				follow(c, 1, float64(i)/10+0.05, 4.5+float64(i)/10)
			}
		}, 0},
		{"what is late, and catches up", func(c *Course) {
			for i := range 90 {
				follow(c, 1, float64(i)/50, 5+float64(i)/50-0.2*max(0, 1-float64(i%30)/20))
				c.Follow(at(5+float64(i)/50-0.005), at(float64(i)/50+0.01))
			}
		}, 0},
		{"a run anew", func(c *Course) { follow(c, 90, 0, 5); follow(c, 90, 9, 5) }, 0},
	} {
		var c Course
		tt.feed(&c)
		if r, ok := c.Step(); ok != (tt.wants > 0) || ok && (r.By()-time.Duration(tt.wants*1e9)).Abs() > time.Microsecond {
			t.Errorf("%s: goes back by %v, %v; want %v s", tt.name, r.By(), ok, tt.wants)
		}
	}
}

// Runs of any length from two messages on are told apart where there is a pause between them, however they differ.
func TestCourseOfShortRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Course
		var want, got []engram.Time
		log, period := engram.Time(1e18), time.Duration(0)
		for run := range rapid.IntRange(1, 12).Draw(t, "runs") {
			if run > 0 {
				log = log.Add(2*period + time.Duration(rapid.IntRange(1001, 9000).Draw(t, "pause in ms"))*time.Millisecond)
				want = append(want, log)
			}
			period = time.Duration(rapid.IntRange(5, 2000).Draw(t, "period in ms")) * time.Millisecond
			pace := rapid.IntRange(1, 10).Draw(t, "pace in tenths")
			for i := range rapid.IntRange(2, 30).Draw(t, "messages") {
				if i > 0 {
					log = log.Add(period)
				}
				c.Follow(at(1).Add(time.Duration(i*pace)*period/10), log)
			}
		}
		for _, r := range c.End() {
			got = append(got, r.At)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("goes back at %v, want %v", got, want)
		}
	})
}

// TestFastRunsInTurn follows a clock that goes eight times as fast as the log times and goes back twice, to places a second apart:
// the stamps are near both, and still a run becomes certain.
func TestFastRunsInTurn(t *testing.T) {
	var c Course
	log := engram.Time(time.Second)
	say := func(from time.Duration, n int) {
		for i := range n {
			c.Follow(engram.Time(from+time.Duration(i)*100*time.Millisecond), log)
			log = log.Add(12500 * time.Microsecond)
		}
	}
	say(10*time.Second, 100)
	say(time.Second, 2)
	say(0, 100)
	if all := c.Resets(); len(all) != 1 || !all[0].Even || c.Doubtful() {
		t.Errorf("found %+v", all)
	}
}
