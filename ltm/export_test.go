package ltm

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// What the tests of the package from outside share with those from inside.
var (
	SlowSelect   = slowSelect
	DrawSelector = drawSelector
)

// EpisodeMark is a mark with the same time kept before and after.
func EpisodeMark(at engram.Time, label string, around time.Duration) episode.Mark {
	return episode.Mark{Time: at, Label: label, Before: around, After: around}
}

// Orders are those that are not carried out yet.
func (s *Store) Orders() []order {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return s.state.mu.Orders
}

// SetMaxChannels sets how many entities an episode holds at most.
func SetMaxChannels(n int) (restore func()) {
	before := maxChannels
	maxChannels = n
	return func() { maxChannels = before }
}
