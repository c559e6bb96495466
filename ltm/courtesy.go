package ltm

import (
	"sync"
	"sync/atomic"
	"time"
)

// What nobody waits for steps back while the CPU is wanted, but not for ever.
const (
	wantedCPU  = 0.2 // of the time some task waits for the CPU: it is wanted
	mostPutOff = 10  // times ForgetEvery a pass is put off
	mostSealed = 2   // times SealAge an episode becomes old
)

// cpu tells whether others want the CPU. Safe for concurrent use.
type cpu struct {
	mu   sync.Mutex
	wait func() float64 // the share of the time since the call before in which a task waited for the CPU; nil is never
}

func (c *cpu) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wait != nil && c.wait() > wantedCPU
}

// courtesy puts offline work off. Its methods are called by the forgetter's goroutine, but for
// figures.
type courtesy struct {
	*cpu
	spell
	most time.Duration // that a pass is put off

	overdue bool // the pass has waited long enough
}

// pass reports whether a pass may begin, or go on where it was stopped.
func (c *courtesy) pass(now time.Time) bool {
	wanted := c.wanted()
	since := c.since()
	c.overdue = !since.IsZero() && now.Sub(since) >= c.most
	return !c.set(wanted && !c.overdue, now)
}

// stops reports whether a pass that began is to stop before its next episode.
func (c *courtesy) stops() bool { return !c.overdue && c.wanted() }

// thrift has what is recorded take less of the CPU while that is wanted. look is called by the
// recorder's goroutine; the rest is safe for concurrent use.
type thrift struct {
	*cpu
	spell
	on atomic.Bool
}

// look looks whether it is wanted.
func (t *thrift) look(now time.Time) { t.on.Store(t.set(t.wanted(), now)) }

// isOn reports whether the CPU was wanted at the last look.
func (t *thrift) isOn() bool { return t.on.Load() }

// spell is for how long something was so. Safe for concurrent use.
type spell struct {
	mu    sync.Mutex
	from  time.Time // since when it is so; zero if it is not
	total time.Duration
}

// set notes whether it is so, and returns that.
func (s *spell) set(is bool, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case is && s.from.IsZero():
		s.from = now
	case !is && !s.from.IsZero():
		s.total += now.Sub(s.from)
		s.from = time.Time{}
	}
	return is
}

func (s *spell) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from
}

// figures returns whether it is so, and for how long in all it was.
func (s *spell) figures(now time.Time) (is bool, total time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total = s.total
	if is = !s.from.IsZero(); is {
		total += now.Sub(s.from)
	}
	return is, total
}
