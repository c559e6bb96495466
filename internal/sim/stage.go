package sim

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// stage is where a story is played: the body that it moves, in the time of a clock. Its methods are safe for concurrent use if
// the clock's are.
type stage struct {
	clock
	robot  *Robot
	course atomic.Pointer[course]

	mu     sync.Mutex // of who changes the course
	grasps int        // that were tried
}

// clock is the time that a story is played in, in seconds since the world or the round began.
type clock interface {
	now() float64
	// wait waits until a time. The error is that ctx ended.
	wait(ctx context.Context, until float64) error
	// report reports what has come about at a time.
	report(at float64, what func(t engram.Time) []engram.EntityUpdate)
}

func newStage(r *Robot, c clock) *stage {
	s := &stage{clock: c, robot: r}
	s.course.Store(&course{})
	return s
}

// change changes what the body does from now on.
func (s *stage) change(how func(c *course, now float64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.course.Load().clone()
	how(c, s.now())
	s.course.Store(c)
}

func (s *stage) phase() phase { return s.course.Load().phase(s.now()) }

func (s *stage) holding() bool {
	_, held := s.course.Load().held(s.now())
	return held
}

// hold has the hand hold the cup.
func (s *stage) hold() {
	s.change(func(c *course, now float64) {
		c.holds = append(c.holds, hold{now, math.Inf(1)})
		s.report(now, func(t engram.Time) []engram.EntityUpdate { return s.robot.attached(t, true) })
	})
}

// letGo has it stand where it is.
func (s *stage) letGo() {
	s.change(func(c *course, now float64) {
		c.holds[len(c.holds)-1].until = now
		s.report(now, func(t engram.Time) []engram.EntityUpdate { return s.robot.attached(t, false) })
	})
}

// step is a movement that a skill is made of.
type step struct {
	what  string // is done, for people
	axis  axis
	to    float64
	takes time.Duration
}

// moves moves the body step by step, and tells how far that is. If ctx ends the body stands still, and the error says so.
func (d *deed) moves(ctx context.Context, steps ...step) error {
	var all, done time.Duration
	for _, s := range steps {
		all += s.takes
	}
	d.Expect(all)
	for _, s := range steps {
		err := d.move(ctx, s, func(passed float64) error {
			return d.Progress(ctx, (done.Seconds()+passed)/all.Seconds(), s.what)
		})
		if err != nil {
			return err
		}
		done += s.takes
	}
	return nil
}

// telling is how often it is told how far a movement is, in seconds.
const telling = 0.5

// move moves an axis, and tells how many seconds have passed.
func (s *stage) move(ctx context.Context, step step, tell func(passed float64) error) (err error) {
	if step.takes == 0 {
		return nil
	}
	var start, end float64
	s.change(func(c *course, now float64) {
		start, end = now, now+step.takes.Seconds()
		c.motions[step.axis] = append(c.motions[step.axis], motion{start, end, c.phase(now)[step.axis], step.to, math.Inf(1)})
	})
	for at := start; err == nil && at < end; at = min(at+telling, end) {
		if err = tell(at - start); err == nil {
			err = s.wait(ctx, min(at+telling, end))
		}
	}
	if err != nil {
		s.change(func(c *course, now float64) { c.motions[step.axis][len(c.motions[step.axis])-1].stopped = now })
	}
	return err
}
