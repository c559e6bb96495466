package world

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// State is a state of an item that is not a pose, such as open, full or dirty.
type State struct {
	Item, Name string
	Value      any // as package idf decodes it; nil withdraws it
	Source     Source
	HalfLife   time.Duration // after which it is half as sure; 0 is never
}

// StateStatement is what one provider says of a state at present.
type StateStatement struct {
	Name string // of the entity that says it; "" is the usual one, "ITEM/STATE"
	Said
	State *State
}

// ConfidenceAt returns how sure the state is at a time, by the clock of who stated it.
func (s *StateStatement) ConfidenceAt(t engram.Time) float64 {
	return s.Confidence * faded(t.Sub(s.Time), s.State.HalfLife)
}

// faded returns what is left of a certainty after a time: half of it after each half-life.
func faded(age, halfLife time.Duration) float64 {
	if halfLife <= 0 || age <= 0 {
		return 1
	}
	return math.Exp2(-age.Seconds() / halfLife.Seconds())
}

// States returns the states of an item by name, of each what counts: an operator's before
// the others, then the newest. What was said before the item was removed does not count.
func (f *Forest) States(name string) ([]*StateStatement, error) {
	n := f.item(name)
	if n == nil {
		return nil, notFound(name)
	}
	best := map[string]*StateStatement{}
	removed := f.rules.removals(n.said)
	for _, s := range n.states {
		state := s.State.Name
		if o := best[state]; s.State.Value != nil && f.stateStamp(s).besideAll(removed) && (o == nil || f.stateStamp(s).over(f.stateStamp(o))) {
			best[state] = s
		}
	}
	var states []*StateStatement
	for _, state := range slices.Sorted(maps.Keys(best)) {
		states = append(states, best[state])
	}
	return states, nil
}

func (f *Forest) stateStamp(s *StateStatement) stamp {
	return stamp{rank: s.State.Source == Operator, time: s.Time.Add(f.rules.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot, home: s.Home}
}
