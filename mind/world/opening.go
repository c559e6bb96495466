package world

import (
	"iter"

	"github.com/seed-301d4374/engram"
)

// Opening has [Over] say how far it is: of the statements that it reads, so many are in the world. It is called now and
// then, by one goroutine, before Over returns.
func Opening(told func(done, of int)) Option { return func(o *options) { o.opening = told } }

// tellEvery is after how many statements the next word is said.
const tellEvery = 2000

// Done is closed when the world follows its memories no more.
func (m *Memory) Done() <-chan struct{} { return m.follower.Done() }

// PatternsOf match what a world is made of that is over robots as [Robots] names them, beside the own one, as far as there
// is such a thing. The error is Invalid for what names no robot.
func PatternsOf(robots ...string) ([]engram.Pattern, error) {
	own := PatternsIn(ownMemory)
	for _, typ := range besideTypes {
		own = append(own, engram.MustPattern(beside[typ]))
	}
	return (&options{robots: robots}).patterns(own)
}

// told yields items, and tells how many of them were yielded while the world is opened.
func (m *Memory) told(items []engram.Item) iter.Seq[engram.Item] {
	return func(yield func(engram.Item) bool) {
		for i, it := range items {
			if m.opening != nil && i%tellEvery == 0 {
				m.opening(i, len(items))
			}
			if !yield(it) {
				return
			}
		}
	}
}
