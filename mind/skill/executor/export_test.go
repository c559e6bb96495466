package executor

import "github.com/seed-301d4374/engram"

// SetClock has an executor take the time that it shows from a clock of the test.
func (x *Executor) SetClock(clock func() engram.Time) { x.clock = clock }
