package computed

import "github.com/seed-301d4374/engram"

// Allen is how one interval lies to another one (Allen 1983). Between any two intervals exactly
// one holds.
type Allen uint8

// The thirteen relations. Seven are with their inverses six apart, Equals its own.
const (
	Before Allen = iota
	Meets
	Overlaps
	Starts
	During
	Finishes
	Equals
	FinishedBy
	Contains
	StartedBy
	OverlappedBy
	MetBy
	After
)

var allenNames = [...]string{"before", "meets", "overlaps", "starts", "during", "finishes", "equals",
	"finishedBy", "contains", "startedBy", "overlappedBy", "metBy", "after"}

// String returns the local name of the relation's property.
func (r Allen) String() string {
	if int(r) < len(allenNames) {
		return allenNames[r]
	}
	return "unknown relation"
}

// Inverse returns how the second interval lies to the first.
func (r Allen) Inverse() Allen { return After - r }

// Between returns how a lies to b. An interval that ends when it starts is an instant: at the
// start of a longer one it Starts it, at its end it Finishes it. One that ends at
// [engram.MaxTime] is still going on: it ends after all that have ended, and with the others
// that go on.
func Between(a, b engram.Interval) Allen {
	switch {
	case a.Start == b.Start && a.End == b.End:
		return Equals
	case a.Start == b.Start:
		if a.End < b.End {
			return Starts
		}
		return StartedBy
	case a.End == b.End:
		if a.Start > b.Start {
			return Finishes
		}
		return FinishedBy
	case a.Start > b.Start:
		return Between(b, a).Inverse()
	case a.End < b.Start:
		return Before
	case a.End == b.Start:
		return Meets
	case a.End < b.End:
		return Overlaps
	}
	return Contains
}
