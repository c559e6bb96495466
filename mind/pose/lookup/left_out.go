package lookup

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// LeftOut counts what was committed about frames and is not among the poses, such
// as the data of a second source of an edge. The memory holds it all the same.
type LeftOut struct {
	Entity engram.ID   // the root for those that there was no more room to tell apart
	Reason error       // the last one; an *engram.Error
	Count  uint64      // instances, since the store was begun
	Last   engram.Time // the time of the newest of them
}

// maxLeftOut bounds what is told apart.
const maxLeftOut = 10_000

// leftOut counts by entity, code and thing. The zero value is ready.
type leftOut struct {
	mu     sync.Mutex
	counts map[leftKey]*LeftOut
}

type leftKey struct {
	entity engram.ID
	code   engram.Code
	thing  string
}

// LeaveOut counts an instance of an entity's snapshot at t that is not among the
// poses, for the reason err.
func (l *Local) LeaveOut(entity engram.ID, t engram.Time, err error) {
	e, ok := err.(*engram.Error)
	if !ok {
		e = engram.Errorf(engram.CodeOf(err), entity.String(), "%w", err)
	}
	key := leftKey{entity, e.Code, e.Thing}
	o := &l.left
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[leftKey]*LeftOut{}
	}
	if o.counts[key] == nil {
		if len(o.counts) >= maxLeftOut {
			key = leftKey{}
		}
		if o.counts[key] == nil {
			o.counts[key] = &LeftOut{Entity: key.entity, Last: t}
		}
	}
	c := o.counts[key]
	c.Count++
	c.Last = max(c.Last, t)
	c.Reason = e
}

// LeftOut implements [Service].
func (l *Local) LeftOut(context.Context) ([]LeftOut, error) {
	l.left.mu.Lock()
	defer l.left.mu.Unlock()
	out := make([]LeftOut, 0, len(l.left.counts))
	for _, c := range l.left.counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(a.Entity.String(), b.Entity.String()), cmp.Compare(a.Reason.Error(), b.Reason.Error()))
	})
	return out, nil
}
