// Package due keeps what is to be done at times, the earliest first.
package due

import (
	"container/heap"

	"github.com/seed-301d4374/engram"
)

// Timer is when something is to be done for Of. One belongs to one [Timers].
type Timer[T any] struct {
	Of    T
	at    engram.Time // 0 is never
	index int         // in the heap, plus one; 0 is not in it
}

// Timers are what is set. The zero value is empty. One goroutine at a time.
type Timers[T any] struct{ heap byTime[T] }

// Set sets a timer, or with 0 takes it out.
func (t *Timers[T]) Set(one *Timer[T], at engram.Time) {
	one.at = at
	switch {
	case at == 0 && one.index > 0:
		heap.Remove(&t.heap, one.index-1)
	case at == 0:
	case one.index > 0:
		heap.Fix(&t.heap, one.index-1)
	default:
		heap.Push(&t.heap, one)
	}
}

// Next returns the earliest time that is set, 0 if none is.
func (t *Timers[T]) Next() engram.Time {
	if len(t.heap) == 0 {
		return 0
	}
	return t.heap[0].at
}

// Take takes out the earliest timer of those that are due at a time; nil if none is.
func (t *Timers[T]) Take(now engram.Time) *Timer[T] {
	if len(t.heap) == 0 || t.heap[0].at > now {
		return nil
	}
	one := heap.Pop(&t.heap).(*Timer[T])
	one.at = 0
	return one
}

type byTime[T any] []*Timer[T]

func (t byTime[T]) Len() int           { return len(t) }
func (t byTime[T]) Less(i, k int) bool { return t[i].at < t[k].at }
func (t byTime[T]) Swap(i, k int) {
	t[i], t[k] = t[k], t[i]
	t[i].index, t[k].index = i+1, k+1
}

func (t *byTime[T]) Push(x any) {
	one := x.(*Timer[T])
	*t = append(*t, one)
	one.index = len(*t)
}

func (t *byTime[T]) Pop() any {
	last := (*t)[len(*t)-1]
	(*t)[len(*t)-1], *t = nil, (*t)[:len(*t)-1]
	last.index = 0
	return last
}
