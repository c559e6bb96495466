package navigation

import (
	"fmt"

	"github.com/seed-301d4374/engram"
)

// Reason is why there is no path.
type Reason string

const (
	Unreachable  Reason = "unreachable"   // nothing leads there
	StartBlocked Reason = "start blocked" // the start is in an obstacle, or nearer to one than the radius
	GoalBlocked  Reason = "goal blocked"
	StartOutside Reason = "start outside" // the start is not on the map
	GoalOutside  Reason = "goal outside"
	NoFreeCell   Reason = "no free cell" // the map has no cell that can be entered
)

// Failure is the error of a planner for a goal to which there is no path.
type Failure struct {
	Reason Reason
	At     Point // start or goal
	Why    string
}

func (f *Failure) Error() string { return f.Why }

// Unwrap returns the code: NotFound where nothing leads there, OutOfRange outside of the map,
// Invalid otherwise.
func (f *Failure) Unwrap() error {
	switch f.Reason {
	case Unreachable:
		return engram.NotFound
	case StartOutside, GoalOutside:
		return engram.OutOfRange
	}
	return engram.Invalid
}

func fail(r Reason, at Point, format string, args ...any) error {
	return &Failure{Reason: r, At: at, Why: fmt.Sprintf(format, args...)}
}
