package navigation

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// Platform is what a [Navigator] drives: a robot that moves ahead and turns. Poses are in the frame
// of the floor. Calls come from one goroutine.
type Platform interface {
	// Pose returns where the robot's root link is.
	Pose(ctx context.Context) (Pose2D, error)
	// Drive has it move at a speed ahead (metres per second) and turn (radians per second, from x to y)
	// until the next call. A platform stops by itself when calls cease to come.
	Drive(ctx context.Context, ahead, turn float64) error
	// Stop returns when it stands still. A platform that was told to stop and cannot says so.
	Stop(ctx context.Context) error
	// Sense returns what its sensors see around it now.
	Sense(ctx context.Context) ([]Obstacle, error)
}

// Obstacle is something that sensors see.
type Obstacle struct {
	Name   string // the same as long as it is the same thing
	At     Point
	Radius float64 // metres
	Person bool
	Link   engram.ID // what it was seen in, or the item that it is; may be zero
}

// Localised is a [Platform] that knows which snapshot says where it is.
type Localised interface {
	// Localization returns the newest snapshot of where the robot is.
	Localization() engram.ID
}

// Clock is the time in which a robot lives; simulated time may run at another speed.
type Clock interface {
	Now() engram.Time
	// Sleep waits for a time; the error is that of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

// ScaledClock runs at so many times the speed of the wall clock. Make one with [NewScaledClock].
type ScaledClock struct {
	start engram.Time
	began time.Time
	speed float64
}

// NewScaledClock returns a clock that begins at start and runs at a speed above 0; 1 is real time.
func NewScaledClock(start engram.Time, speed float64) *ScaledClock {
	return &ScaledClock{start, time.Now(), speed}
}

// Now implements [Clock].
func (c *ScaledClock) Now() engram.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.began)) * c.speed))
}

// Sleep implements [Clock].
func (c *ScaledClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(time.Duration(float64(d) / c.speed))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
