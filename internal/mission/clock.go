package mission

import (
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Clock is the time that passes in the hallway, which counts for what moves and waits there; the
// memories have the wall clock's. It runs some times faster than real time, as far as the
// computer keeps up. Where those who sleep wake late, it goes slower for a while, so that robots
// react within the same simulated time wherever a mission runs; and no faster than the wall clock
// while something happens that takes real time. Safe for concurrent use.
type Clock struct {
	speed float64 // the most

	mu    sync.Mutex
	start engram.Time // when the mission began
	at    engram.Time // at a wall time
	wall  time.Time
	rate  float64       // at present
	calm  time.Time     // since when nobody woke late, or the rate was changed
	slow  time.Time     // when the rate was lowered last
	holds int           // what happens that takes real time
	turn  chan struct{} // closed when the rate changes
}

const (
	lateness  = 150 * time.Millisecond // simulated: who wakes so late cannot keep up
	calmAfter = 300 * time.Millisecond // of the wall clock, without lateness
	slowest   = 1
)

// newClock returns a clock that begins now.
func newClock(speed float64) *Clock {
	now := engram.Now()
	return &Clock{speed: speed, start: now, at: now, wall: time.Now(), rate: speed, calm: time.Now(), turn: make(chan struct{})}
}

func (c *Clock) nowLocked() engram.Time {
	wall := time.Now()
	c.at = c.at.Add(time.Duration(float64(wall.Sub(c.wall)) * c.paceLocked()))
	c.wall = wall
	return c.at
}

// paceLocked returns how many times faster than real time it is at present.
func (c *Clock) paceLocked() float64 {
	if c.holds > 0 {
		return min(slowest, c.rate)
	}
	return c.rate
}

// changedLocked wakes those who sleep, as the rate has changed.
func (c *Clock) changedLocked() {
	close(c.turn)
	c.turn = make(chan struct{})
}

// Hold has simulated time pass no faster than real time until release is called: while
// something happens that takes real time, such as what computers and links do.
func (c *Clock) Hold() (release func()) {
	add := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.nowLocked()
		held := c.holds > 0
		if c.holds += n; held != (c.holds > 0) {
			c.changedLocked()
		}
	}
	add(1)
	return sync.OnceFunc(func() { add(-1) })
}

// Now returns the present simulated time.
func (c *Clock) Now() engram.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nowLocked()
}

// Begin says that the mission begins now.
func (c *Clock) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start = c.nowLocked()
}

// Passed returns how much simulated time has passed.
func (c *Clock) Passed() time.Duration { return c.Now().Sub(c.At()) }

// At returns when the mission began, simulated.
func (c *Clock) At() engram.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start
}

// Ago returns how much simulated time has passed since a time of the wall clock, not long ago.
func (c *Clock) Ago(wall engram.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(engram.Now().Sub(wall)) * c.paceLocked())
}

// Wall returns the time of the wall clock at a simulated time, not long ago.
func (c *Clock) Wall(simulated engram.Time) engram.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return engram.Now().Add(-time.Duration(float64(c.nowLocked().Sub(simulated)) / c.paceLocked()))
}

// Sleep waits for a simulated duration; the error is that of ctx.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	until := c.nowLocked().Add(d)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		now := c.nowLocked()
		left, rate, turn := until.Sub(now), c.paceLocked(), c.turn
		if left <= 0 {
			c.wokeLocked(-left)
		}
		c.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(time.Duration(float64(left)/rate) + time.Microsecond)
		select {
		case <-timer.C:
		case <-turn:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// wokeLocked takes by how much somebody woke late.
func (c *Clock) wokeLocked(late time.Duration) {
	switch {
	case late > lateness:
		c.calm = c.wall
		if c.wall.Sub(c.slow) > calmAfter/3 {
			c.slow = c.wall
			c.rate = max(min(slowest, c.speed), c.rate*0.9)
			c.changedLocked()
		}
	case c.wall.Sub(c.calm) > calmAfter:
		c.calm = c.wall
		if c.rate < c.speed {
			c.rate = min(c.speed, c.rate*1.1)
			c.changedLocked()
		}
	}
}

// Every calls f once in each simulated period until ctx ends or f returns false. What is
// late is left out.
func (c *Clock) Every(ctx context.Context, period time.Duration, f func() bool) {
	next := c.Now()
	for ctx.Err() == nil && f() {
		next = next.Add(period)
		if now := c.Now(); next < now {
			next = now
		} else if c.Sleep(ctx, next.Sub(now)) != nil {
			return
		}
	}
}
