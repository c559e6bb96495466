package episode

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// Entities implements [Source].
func (w *Writer) Entities() []Entity {
	w.pub.RLock()
	states := make([]*writeEntity, 0, len(w.pub.entities))
	for _, e := range w.pub.entities {
		states = append(states, e)
	}
	w.pub.RUnlock()
	slices.SortFunc(states, func(a, b *writeEntity) int { return a.id.Compare(b.id) }) // they are small, what they hold is not
	list := make([]Entity, 0, len(states))
	for _, e := range states {
		e.view.Lock()
		one := e.view.Entity
		if len(e.view.tail) == 0 {
			one.Times = timesOf(e.view.blocks)
		}
		e.view.Unlock()
		if one.Snapshots > 0 { // else nothing of it could be stored
			list = append(list, one)
		}
	}
	return list
}

// Timeline implements [Source]. What it returns stays as it is while more is added.
func (w *Writer) Timeline(entity engram.ID) (Timeline, error) {
	w.pub.RLock()
	e := w.pub.entities[entity]
	w.pub.RUnlock()
	if e == nil {
		return nil, engram.Errorf(engram.NotFound, entity.String(), "the episode %s holds nothing of it", w.path)
	}
	e.view.Lock()
	if e.view.table == nil {
		e.view.table = newBlockTable(e.view.blocks)
	}
	table, tail, ordered := e.view.table, e.view.tail, e.view.ordered
	e.view.Unlock()
	return w.timelineOf(entity, e.number, table, tail[:len(tail):len(tail)], ordered), nil
}

// Unwritten returns how many versions of each entity are not in the file yet, but for
// values in force: what a disk that refuses keeps from it.
func (w *Writer) Unwritten() map[engram.ID]uint64 {
	w.pub.RLock()
	defer w.pub.RUnlock()
	of := map[engram.ID]uint64{}
	for id, e := range w.pub.entities {
		e.view.Lock()
		written := uint64(0)
		for _, b := range e.view.blocks {
			written += uint64(b.Count)
		}
		n := uint64(len(e.view.tail))
		if force := e.view.InForce; force > written { // these come first
			n -= min(force-written, n)
		}
		e.view.Unlock()
		if n > 0 {
			of[id] = n
		}
	}
	return of
}
