package query

import (
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Index is a secondary index: it knows of which entities some version may satisfy a
// [Condition]. It lies in RAM and has nothing of its own: who keeps it tells it of the
// versions that the memories hold and of those that come, and may throw it away and fill a
// new one.
//
// What it names are candidates. A query evaluates its conditions on each of them as if
// there was no index, so one too many costs time and nothing else: an index need not hear
// of what is evicted, superseded or forgotten. One too few would cost an answer: it must
// name every entity that it was told a matching version of.
//
// An index needs no locks: Add is called alone, the others at the same time as each other.
type Index interface {
	// Add takes notice of a version, in no particular order, of some more than once. The
	// snapshot is shared: not to be changed, and not to be kept. From an archive its payloads
	// come without their bytes; an index that needs these is a [Digester].
	Add(entity engram.ID, s *engram.Snapshot)
	// Candidates calls yield with the entities of which a version may be what r asks for, each
	// with the times that such versions may have, ascending, or nil if they may have any; until it
	// returns false. One that comes more than once may be what either says. known is false if the
	// index can say nothing of such conditions.
	Candidates(r Request, yield func(entity engram.ID, times []engram.Time) bool) (known bool)
	// Size returns what the index holds.
	Size() IndexSize
}

// Digester is an index that looks into payloads. What it takes of a version are a few bytes, its
// digest. An archive may keep digests beside what it stores, so that payloads need not be
// read again. Add is Digest and AddDigest.
type Digester interface {
	Index
	// Format names the form of digests, with a version, such as "links 1". What was kept in
	// another one is made anew.
	Format() string
	// Takes reports whether the bytes of payloads of the type of that name are needed, as far as
	// types are known; others come without.
	Takes(typ string) bool
	// Digest appends to dst what the index takes of a version; nothing if that is nothing. It
	// depends on the version and on the types of its payloads alone, not on who asks or when:
	// what may change between two runs of a program belongs into AddDigest. Like Format and
	// Takes it may be called at any time, by any number of goroutines.
	Digest(dst []byte, s *engram.Snapshot) []byte
	// AddDigest is Add for a version of which there is the digest alone, at least one byte, which
	// is not to be kept. Corrupt says that it is none of this format. Like Add it is called alone.
	AddDigest(entity engram.ID, t engram.Time, digest []byte) error
}

// IndexSize is what an index holds: entries, such as one for each entity and value, and
// about how many bytes of RAM they take.
type IndexSize struct {
	Entries int
	Bytes   int64
}

// Request is what an index is asked for: versions that satisfy a condition, with times in
// Span, of those that arrived at or before AsOf ([engram.MaxTime] is now).
type Request struct {
	Condition Condition
	Span      engram.Interval
	AsOf      engram.Time
}

// Request returns what an index can be asked for the query at hand; ok is false if it has
// no condition or asks for names alone somewhere, which has nothing to do with conditions.
func (a *Answer) Request(asOf engram.Time) (r Request, ok bool) {
	c := a.Condition()
	if c == nil || asksNames(a.plan, engram.LevelMemory) {
		return r, false
	}
	span, any := AskedOf(a.plan)
	return Request{Condition: c, Span: span, AsOf: asOf}, any
}

// asksNames reports whether the names of entities are asked for by nodes of a level, or
// below them.
func asksNames(nodes []*Node, l engram.Level) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool {
		return l == engram.LevelEntity && n.Bare() || asksNames(n.children, l+1)
	})
}

// Candidates are the entities that a query has to look at. A nil one has all of them. Used
// by one goroutine.
type Candidates struct {
	below map[engram.ID][]string      // names, by provider segment, in no order, some twice
	times map[engram.ID][]engram.Time // nil as long as all of all are looked at
	count int
}

// Add adds an entity, of which versions of some times are looked at, or of all if that is nil.
func (c *Candidates) Add(entity engram.ID, times []engram.Time) {
	if c.below == nil {
		c.below = map[engram.ID][]string{}
	}
	if times != nil && c.times == nil {
		c.narrow()
	}
	p := entity.Parent()
	c.below[p] = append(c.below[p], entity.Entity())
	c.count++
	if c.times == nil {
		return
	}
	if before, again := c.times[entity]; again {
		if before == nil || times == nil {
			times = nil
		} else {
			times = append(slices.Clip(before), times...)
			slices.Sort(times)
			times = slices.Compact(times)
		}
	}
	c.times[entity] = times
}

// narrow begins to tell times apart: of what was added before, all are looked at.
func (c *Candidates) narrow() {
	c.times = map[engram.ID][]engram.Time{}
	for provider, names := range c.below {
		for _, name := range names {
			if entity, err := provider.Child(name); err == nil { // it was one
				c.times[entity] = nil
			}
		}
	}
}

// Times returns the times of versions that are to be looked at of a candidate; nil are all.
func (c *Candidates) Times(entity engram.ID) []engram.Time {
	if c == nil || c.times == nil {
		return nil
	}
	return c.times[entity]
}

// Len returns how many entities were added.
func (c *Candidates) Len() int { return c.count }

// Names yields the names of the candidates of a provider segment, sorted; of a nil one those
// that there are.
func (c *Candidates) Names(provider engram.ID, all iter.Seq[string]) iter.Seq[string] {
	if c == nil {
		return all
	}
	return slices.Values(c.sorted(provider))
}

func (c *Candidates) sorted(provider engram.ID) []string {
	names := c.below[provider]
	slices.Sort(names)
	return slices.Compact(names)
}

// Among returns of t, the entities of a provider segment, those that are candidates.
func Among[V any](c *Candidates, provider engram.ID, t Table[V]) Table[V] {
	if c == nil {
		return t
	}
	return among[V]{t, c.sorted(provider)}
}

type among[V any] struct {
	table Table[V]
	names []string
}

// Get implements [Table].
func (a among[V]) Get(name string) (v V, ok bool) {
	if _, is := slices.BinarySearch(a.names, name); !is {
		return v, false
	}
	return a.table.Get(name)
}

// Sorted implements [Table].
func (a among[V]) Sorted() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range a.names {
			if v, ok := a.table.Get(name); ok && !yield(name, v) {
				return
			}
		}
	}
}

// TypeIndex is the index of payload types: it knows of [OfType].
type TypeIndex struct {
	byType  map[string]map[engram.ID]*extent
	entries int
}

// extent is within what an entity's payloads of a type lie.
type extent struct {
	first, last engram.Time
	arrived     engram.Time // the first
}

// NewTypeIndex returns an empty index of payload types.
func NewTypeIndex() Index { return &TypeIndex{byType: map[string]map[engram.ID]*extent{}} }

// Add implements [Index].
func (x *TypeIndex) Add(entity engram.ID, s *engram.Snapshot) {
	for i := range s.Instances {
		typ := s.Instances[i].Payload.Type
		if i > 0 && typ == s.Instances[i-1].Payload.Type {
			continue
		}
		of := x.byType[typ]
		if of == nil {
			of = map[engram.ID]*extent{}
			x.byType[typ] = of
		}
		e := of[entity]
		if e == nil {
			x.entries++
			of[entity] = &extent{s.Time, s.Time, s.Arrived}
			continue
		}
		e.first, e.last, e.arrived = min(e.first, s.Time), max(e.last, s.Time), min(e.arrived, s.Arrived)
	}
}

// Candidates implements [Index].
func (x *TypeIndex) Candidates(r Request, yield func(engram.ID, []engram.Time) bool) (known bool) {
	t, ok := r.Condition.(*OfType)
	if !ok {
		return false
	}
	for typ, of := range x.byType {
		if !t.Includes(typ) {
			continue
		}
		for entity, e := range of {
			if e.arrived <= r.AsOf && e.first < r.Span.End && e.last >= r.Span.Start && !yield(entity, nil) {
				return true
			}
		}
	}
	return true
}

// entryBytes is about what an entry of a TypeIndex takes: the entity's ID, its extent, and
// their part of the map. The names belong to the memory.
const entryBytes = 160

// Size implements [Index].
func (x *TypeIndex) Size() IndexSize { return IndexSize{x.entries, int64(x.entries) * entryBytes} }
