package schedule

import (
	"container/heap"

	"github.com/seed-301d4374/engram"
)

// timer is when something is to be done for an execution or a provider.
type timer struct {
	at    engram.Time // 0 is never
	index int         // in the heap, plus one; 0 is not in it
	task  *entry      // or
	of    *provider
}

// timers is a heap of what is set.
type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, k int) bool { return t[i].at < t[k].at }
func (t timers) Swap(i, k int) {
	t[i], t[k] = t[k], t[i]
	t[i].index, t[k].index = i+1, k+1
}

func (t *timers) Push(x any) {
	one := x.(*timer)
	*t = append(*t, one)
	one.index = len(*t)
}

func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	(*t)[len(*t)-1], *t = nil, (*t)[:len(*t)-1]
	last.index = 0
	return last
}

// set sets a timer, or with 0 takes it out.
func (t *timers) set(one *timer, at engram.Time) {
	one.at = at
	switch {
	case at == 0 && one.index > 0:
		heap.Remove(t, one.index-1)
	case at == 0:
	case one.index > 0:
		heap.Fix(t, one.index-1)
	default:
		heap.Push(t, one)
	}
}
