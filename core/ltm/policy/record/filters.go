package record

import (
	"maps"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Filters hold the filters of all entities and follow the links between them. Its
// methods may be called by one goroutine at a time.
type Filters struct {
	policies *policy.Table
	types    *idf.Registry
	filters  map[engram.ID]*Filter
	segments map[engram.ID]Counts // of filters that were replaced, by core segment
	linked   bool                 // a filter holds snapshots for links
	held     int64                // bytes of these
	wanted   wanted
}

// NewFilters returns filters that follow the policies.
func NewFilters(policies *policy.Table, types *idf.Registry) *Filters {
	return &Filters{
		policies: policies, types: types, filters: map[engram.ID]*Filter{}, segments: map[engram.ID]Counts{},
		wanted: wanted{until: map[engram.ID]engram.Time{}},
	}
}

// Offer decides about a snapshot of an entity and calls keep with what is to be
// recorded because of it: the snapshot itself, and those that waited for its links,
// in the order in which they are to be recorded. It stops at keep's first error
// and returns it.
func (f *Filters) Offer(entity engram.ID, s *engram.Snapshot, keep func(entity engram.ID, s *engram.Snapshot) error) (Decision, error) {
	filter := f.Of(entity)
	d := filter.Offer(s)
	if d.Verdict == Hold && f.wanted.take(entity.At(s.Time)) {
		filter.Link(s.Time, true)
		d = Decision{Record, WhyLinked}
	}
	if d.Verdict != Record {
		return d, nil
	}
	return d, f.keep(entity, s, keep)
}

// keep records a snapshot after those it links to.
func (f *Filters) keep(entity engram.ID, s *engram.Snapshot, keep func(entity engram.ID, s *engram.Snapshot) error) error {
	type kept struct {
		entity engram.ID
		s      *engram.Snapshot
	}
	order := []kept{{entity, s}}
	// What is kept because of a link has links too. Each is taken once, so this ends.
	for i := 0; f.linked && i < len(order); i++ {
		for _, link := range f.linksOf(order[i].s) {
			if linked := f.follow(link, order[i].s); linked != nil {
				order = append(order, kept{link.Truncate(engram.LevelEntity), linked})
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if err := keep(order[i].entity, order[i].s); err != nil {
			return err
		}
	}
	return nil
}

// follow returns the snapshot that waited for a link of by, or notes that one of its
// time is wanted should it still come.
func (f *Filters) follow(link engram.ID, by *engram.Snapshot) *engram.Snapshot {
	if link.Level() < engram.LevelEntity {
		return nil
	}
	entity := link.Truncate(engram.LevelEntity)
	if f.policies.Of(entity).Mode() != policy.Linked {
		return nil
	}
	at, exact := link.Time()
	if !exact {
		return f.Of(entity).Link(by.Time, false)
	}
	s := f.Of(entity).Link(at, true)
	if s == nil {
		f.wanted.add(entity.At(at), by.Arrived)
	}
	return s
}

func (f *Filters) linksOf(s *engram.Snapshot) []engram.ID {
	var ids []engram.ID
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		t, ok := f.types.Get(p.Type)
		if !ok {
			continue
		}
		links, err := t.Links(p.Bytes)
		if err != nil { // a damaged payload, which was refused at its commit
			continue
		}
		for _, l := range links {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Of returns an entity's filter. It is made with the policy in force when the
// entity is first seen, or after [Filters.Changed].
func (f *Filters) Of(entity engram.ID) *Filter {
	filter := f.filters[entity]
	if filter == nil {
		filter = NewFilter(f.policies.Of(entity), f.types)
		filter.held.all = &f.held
		f.filters[entity] = filter
		f.linked = f.linked || filter.policy.Mode() == policy.Linked
	}
	return filter
}

// Changed makes entities follow policies that have changed since they were first
// seen. What waited for links in a segment that does so no more is given up.
func (f *Filters) Changed() {
	f.linked = false
	for entity, old := range f.filters {
		p := f.policies.Of(entity)
		if p != old.policy {
			old.counts.Skipped[WhyNotLinked] += uint64(len(old.held.snapshots))
			old.held.giveUp()
			f.retire(entity, old)
			filter := NewFilter(p, f.types)
			filter.held.all = &f.held
			// What was recorded last counts for the turn, but not as a likeness: the first
			// under a new policy is recorded.
			filter.turns, filter.newest, filter.any = old.turns, old.newest, old.any
			f.filters[entity] = filter
		}
		f.linked = f.linked || p.Mode() == policy.Linked
	}
}

// Forget drops an entity's filter, when the entity is no more.
func (f *Filters) Forget(entity engram.ID) {
	if old := f.filters[entity]; old != nil {
		old.held.giveUp()
		f.retire(entity, old)
		delete(f.filters, entity)
	}
}

func (f *Filters) retire(entity engram.ID, old *Filter) {
	core := entity.Truncate(engram.LevelCoreSegment)
	sum, ok := f.segments[core]
	if !ok {
		sum = newCounts()
	}
	f.segments[core] = sum.plus(old.counts)
}

func (c Counts) plus(o Counts) Counts {
	for why, n := range o.Recorded {
		c.Recorded[why] += n
	}
	for why, n := range o.Skipped {
		c.Skipped[why] += n
	}
	c.Held += o.Held
	return c
}

// Expire gives up what has waited too long for a link. It is to be called now and
// then, such as each second.
func (f *Filters) Expire(now engram.Time) {
	if !f.linked {
		return
	}
	for _, filter := range f.filters {
		filter.Expire(now)
	}
	f.wanted.expire(now)
}

// Counts returns what was decided so far, by core segment.
func (f *Filters) Counts() map[engram.ID]Counts {
	sums := map[engram.ID]Counts{}
	for core, c := range f.segments {
		sums[core] = Counts{maps.Clone(c.Recorded), maps.Clone(c.Skipped), c.Held}
	}
	for entity, filter := range f.filters {
		core := entity.Truncate(engram.LevelCoreSegment)
		sum, ok := sums[core]
		if !ok {
			sum = newCounts()
		}
		sums[core] = sum.plus(filter.Counts())
	}
	return sums
}

// maxWanted bounds the snapshots that links ask for and that have not come yet.
const maxWanted = 4096

// wanted are snapshots that links ask for and that have not come yet.
type wanted struct {
	until map[engram.ID]engram.Time
}

func (w *wanted) add(id engram.ID, now engram.Time) {
	if len(w.until) >= maxWanted {
		w.expire(now)
	}
	if len(w.until) < maxWanted {
		w.until[id] = now.Add(30 * time.Second)
	}
}

func (w *wanted) take(id engram.ID) bool {
	_, ok := w.until[id]
	delete(w.until, id)
	return ok
}

func (w *wanted) expire(now engram.Time) {
	maps.DeleteFunc(w.until, func(_ engram.ID, until engram.Time) bool { return until < now })
}
