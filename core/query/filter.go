package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Filter is a filter at work for one reader: a type, a link, an expression, or several of these. It has a
// budget, counts the snapshots on which evaluating it fails, and takes turns with others if
// it takes long. It is used by one goroutine.
type Filter struct {
	*work  // of all that the query computes
	types  *idf.Registry
	ofType *OfType     // nil takes all types
	links  *LinksTo    // nil takes whatever links
	filter *idf.Filter // nil takes all values

	entity engram.ID
	known  map[moment]bool // of the entity: on what evaluating failed; at most maxKnown
	failed engram.Missing  // Count is 0 if it did not fail
}

// moment identifies a snapshot among those of an entity.
type moment struct {
	time   engram.Time
	number uint64
}

// maxKnown bounds how many failures of one entity are known apart: beyond it, one that
// is met twice counts twice.
const maxKnown = 1 << 16

// Filter compiles a CEL expression for one reader; "" gives nil, which takes everything.
// All that it evaluates may take budget steps (see [idf.FilterMeter]); 0 is no bound.
func (c *Compiler) Filter(ctx context.Context, where string, types *idf.Registry, budget int64) (*Filter, error) {
	return c.filter(c.work(ctx, budget), &engram.Query{Where: where}, types)
}

// filter is Filter of what a query asks for.
func (c *Compiler) filter(w *work, q *engram.Query, types *idf.Registry) (*Filter, error) {
	compiled, err := c.Expression(q.Where)
	if compiled == nil && q.Type == "" && len(q.LinksTo) == 0 || err != nil {
		return nil, err
	}
	f := &Filter{work: w, types: types, filter: compiled}
	if q.Type != "" {
		f.ofType = NewOfType(q.Type, types)
	}
	if len(q.LinksTo) > 0 {
		f.links = NewLinksTo(q.LinksTo, q.LinksExactly, c.naming, types)
	}
	return f, nil
}

// Condition returns the condition of the filter that an index may know best; nil if there is none. It may be called on a
// nil filter.
func (f *Filter) Condition() Condition {
	switch {
	case f == nil:
		return nil
	case f.links != nil:
		return f.links
	case f.ofType != nil:
		return f.ofType
	}
	return nil
}

// NeedsPayloads reports whether the filter looks at the payloads' bytes.
func (f *Filter) NeedsPayloads() bool { return f != nil && (f.filter != nil || f.links != nil) }

// Excludes reports whether no instance of s can satisfy the filter, as far as can be told
// without the payloads' bytes.
func (f *Filter) Excludes(s *engram.Snapshot) bool {
	if f == nil || f.ofType == nil && f.links == nil {
		return false
	}
	for i := range s.Instances {
		if f.mayTake(s.Instances[i].Payload.Type) {
			return false
		}
	}
	return true
}

// mayTake reports whether a payload of the type of that name can satisfy the filter, as far as can be told of its type.
func (f *Filter) mayTake(typ string) bool {
	return (f.ofType == nil || f.ofType.Includes(typ)) && (f.links == nil || f.links.mayBeIn(typ))
}

// Entity says whose snapshots are looked at next.
func (f *Filter) Entity(id engram.ID) {
	if f != nil && f.entity != id {
		f.entity = id
		clear(f.known)
	}
}

// Snapshot returns s with the instances that satisfy the filter, or nil if none does, or
// it cannot go on: see [Filter.Err].
func (f *Filter) Snapshot(s *engram.Snapshot) *engram.Snapshot {
	if f.err != nil {
		return nil
	}
	if f.long() {
		if f.err = f.take(); f.err != nil {
			return nil
		}
		defer f.Yield()
	}
	var kept []engram.Instance
	all := true
	for i := range s.Instances {
		if f.match(s, i) {
			if !all {
				kept = append(kept, s.Instances[i])
			}
		} else if all {
			all = false
			kept = append(kept, s.Instances[:i]...)
		}
		if f.err != nil {
			return nil
		}
	}
	if all {
		return s
	}
	if len(kept) == 0 {
		return nil
	}
	out := *s
	out.Instances = kept
	return &out
}

func (f *Filter) match(s *engram.Snapshot, i int) bool {
	name := s.Instances[i].Payload.Type
	if f.ofType != nil && !f.ofType.Includes(name) {
		return false
	}
	if f.filter == nil && f.links == nil || f.links != nil && !f.links.mayBeIn(name) {
		return f.links == nil
	}
	t, ok := f.types.Get(name)
	if !ok {
		f.fail(s, i, engram.Errorf(engram.Invalid, "filter", "the type %s is not known here", name))
		return false
	}
	if f.links != nil && !f.links.in(f.entity, t, s.Instances[i].Payload.Bytes) {
		return false
	}
	if f.filter == nil {
		return true
	}
	match, err := f.filter.Evaluate(t, s, i, &f.meter)
	switch stop := f.meter.Err(); {
	case engram.CodeOf(stop) == engram.Exhausted:
		f.err = f.exhausted("filter", fmt.Sprintf("%.60s: evaluating it", f.filter))
	case stop != nil:
		f.err = stop
	case err != nil:
		f.fail(s, i, err)
	}
	return match && f.err == nil
}

// fail notes that evaluating failed.
func (f *Filter) fail(s *engram.Snapshot, i int, err error) {
	at := moment{s.Time, s.Number}
	if f.known[at] {
		return
	}
	if len(f.known) < maxKnown {
		if f.known == nil {
			f.known = map[moment]bool{}
		}
		f.known[at] = true
	}
	m := &f.failed
	if m.Count == 0 {
		*m = engram.Missing{ID: f.entity, Reason: engram.MissingFilterFailed, Interval: engram.Interval{Start: s.Time, End: s.Time}}
		m.Example, m.Detail = f.entity.At(s.Time).Instance(i), words(err)
	}
	m.Count++
	for l := m.ID.Level(); m.ID != f.entity.Truncate(l); l-- {
		m.ID = m.ID.Truncate(l - 1)
	}
	m.Interval.Start, m.Interval.End = min(m.Interval.Start, s.Time), max(m.Interval.End, s.Time.Add(1))
}

// words returns an error's text without what it is about.
func words(err error) string {
	if e, ok := errors.AsType[*engram.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}

// Err returns why the filter cannot go on: Exhausted, if its budget is used up, or Canceled.
func (f *Filter) Err() error {
	if f == nil {
		return nil
	}
	return f.err
}

// Failures returns on how many snapshots evaluating has failed.
func (f *Filter) Failures() uint64 {
	if f == nil {
		return 0
	}
	return f.failed.Count
}

// Failed returns what evaluating has failed on, if that is anything.
func (f *Filter) Failed() engram.Missing { return f.failed }
