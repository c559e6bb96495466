package world

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// Past implements [Model].
func (m *Memory) Past(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error) {
	_, past, err := m.Back(ctx, at, asOf)
	return past.Forest, err
}

// Back is [Memory.Past] that tells, too, which items may differ in it from a present world. Without that world, which
// is nil then, the past one was read and shares nothing with another.
func (m *Memory) Back(ctx context.Context, at engram.Time, asOf *engram.Time) (present *Forest, past Change, err error) {
	if _, err := m.View(ctx); err != nil {
		return nil, past, err
	}
	m.mu.Lock()
	present = m.viewLocked()
	b := m.builder.fork()
	m.mu.Unlock()
	p := follow.Past{At: at, AsOf: asOf}
	if later, less := since(b, p); less {
		past, err = m.goBack(ctx, b, p, later)
		if engram.CodeOf(err) != engram.Unavailable { // else a part is away, of which reading says more
			return present, past, err
		}
	}
	past.Forest, err = m.readPast(ctx, p, present.rules.Offsets)
	return nil, past, err
}

// homeName is the name of something that somebody says in a home; "" is all that they say there.
type homeName struct {
	provider, robot string
	home            Home
	name            string
}

// differs reports whether something was said since a past, or not known as of its belief.
func (r *Rules) differs(p follow.Past) func(*Said) bool {
	return func(s *Said) bool { return p.Differs(s.Time.Add(r.Offsets[s.Robot]), s.Arrived) }
}

// since returns who says something that is not of a past; less is false if it is less to read that whole.
func since(b *Builder, p follow.Past) (later map[homeName]bool, less bool) {
	later = map[homeName]bool{}
	all, many := 0, 0
	differs := b.f.rules.differs(p)
	look := func(s *Said, home Home, name string) {
		if all++; !differs(s) {
			return
		}
		if many++; home == InAttachment || home == inHeldPart { // it speaks of one object after another
			name = ""
		}
		later[homeName{s.Provider, s.Robot, home, name}] = true
	}
	for id := range b.next {
		n := b.f.node(id)
		for _, s := range n.said {
			look(&s.Said, s.Home, n.name)
		}
	}
	for who, s := range b.joints {
		look(&s.Said, inJoint, who.name)
	}
	for who, s := range b.states {
		look(&s.Said, inState, who.name)
	}
	for name, said := range b.f.maps.said {
		for _, s := range said {
			look(&s.Said, inMap, name)
		}
	}
	for name, said := range b.f.components.said {
		for _, s := range said {
			look(&s.Said, inPart, name)
		}
	}
	for _, s := range b.clocks {
		if p.AsOf != nil && s.Arrived > *p.AsOf { // other offsets held then
			return nil, false
		}
	}
	return later, p.IsLess(many, all)
}

// segments are where something is said, by home.
var segments = map[Home]string{
	InWorld: ownMemory + "/" + itemSegment, InInstance: beside[instanceType], InAttachment: beside[attachmentType], inHeldPart: beside[heldPartType],
	inJoint: ownMemory + "/" + jointSegment, inMap: ownMemory + "/" + mapSegment, inPart: ownMemory + "/" + partSegment, inState: ownMemory + "/" + stateSegment,
}

// id returns the ID of an entity, or of a provider segment, as it is called here.
func (m *Memory) id(h homeName) (engram.ID, error) {
	id, err := engram.MustID(segments[h.home]).Child(h.provider)
	if err == nil && h.name != "" {
		id, err = id.Child(h.name)
	}
	if err == nil && h.robot != "" && h.robot != m.codec.robot {
		id, err = id.InMemory(h.robot + ":" + id.Memory())
	}
	return id, err
}

// goBack has a fork of the present world be that of a past, since which some have said something else.
func (m *Memory) goBack(ctx context.Context, b *Builder, p follow.Past, later map[homeName]bool) (past Change, err error) {
	differs := b.f.rules.differs(p)
	names := b.unsay(func(_ Home, s *Said) bool { return differs(s) })
	entities := map[time.Duration][]engram.ID{} // by how far the clock of their robot is from the own one
	several := engram.Query{Source: engram.SourceNear, AsOf: p.AsOf}
	for h := range later {
		id, err := m.id(h)
		if err != nil {
			return past, err
		}
		d := b.f.rules.Offsets[h.robot]
		if h.name == "" {
			several.Memories = append(several.Memories, engram.PatternOf(id).Select(engram.AtOrBefore(p.At.Add(-d))).Memories...)
		} else {
			entities[d] = append(entities[d], id)
		}
	}
	var items []engram.Item
	for d, entities := range entities {
		some, err := follow.Past{At: p.At.Add(-d), AsOf: p.AsOf}.Of(ctx, m.svc, engram.SourceNear, entities)
		if err != nil {
			return past, err
		}
		items = append(items, some...)
	}
	if len(several.Memories) > 0 {
		r, err := m.svc.Query(ctx, several)
		if err != nil {
			return past, err
		}
		held, err := m.heldBefore(ctx, r, p.AsOf)
		if err != nil {
			return past, err
		}
		items = append(items, held...)
	}
	names = b.takeHeard(m.putAll(b, slices.Values(m.upTo(b, p.At, items)), names))
	return Change{Forest: b.Forest(), Names: slices.Sorted(maps.Keys(names)), heard: names}, nil
}

// upTo returns the items that were said up to a time by the own robot's clock.
func (m *Memory) upTo(b *Builder, at engram.Time, items []engram.Item) []engram.Item {
	return slices.DeleteFunc(items, func(it engram.Item) bool {
		said := m.codec.said(it.ID, it.Snapshot)
		return isClock(it.ID) || said.Time.Add(b.f.rules.Offsets[said.Robot]) > at
	})
}

// readPast reads a past.
func (m *Memory) readPast(ctx context.Context, p follow.Past, offsets map[string]time.Duration) (*Forest, error) {
	q := m.queryPast(p.At, offsets)
	q.AsOf = p.AsOf
	r, err := follow.Query(ctx, m.svc, q)
	if err != nil {
		return nil, err
	}
	held, err := m.heldBefore(ctx, r, p.AsOf)
	if err != nil {
		return nil, err
	}
	b := m.builder.anew()
	for it := range r.All() {
		if isClock(it.ID) {
			_, _ = m.put(b, it)
		}
	}
	b.correct()
	for _, it := range m.upTo(b, p.At, slices.Concat(r.Items(), held)) {
		_, _ = m.put(b, it) // what cannot be read is left out, as it is at present
	}
	return b.Forest(), nil
}

// heldBefore reads the newest mostHeld snapshots of each entity of several objects, up to the one in r. How far
// back these go nobody knows: it looks ten times as far until they are found.
func (m *Memory) heldBefore(ctx context.Context, r *engram.Result, asOf *engram.Time) (all []engram.Item, err error) {
	last := map[engram.ID]engram.Time{}
	for it := range r.All() {
		if ofSeveral(it.ID.CoreSegment()) {
			last[it.ID.Parent()] = it.Snapshot.Time // of several the last one, which is the newest
		}
	}
	for window := time.Hour; len(last) > 0; window *= 10 {
		held := map[engram.ID][]engram.Item{}
		for some := range slices.Chunk(slices.Collect(maps.Keys(last)), mostAsked) {
			q := engram.Query{Source: engram.SourceNear, AsOf: asOf}
			for _, entity := range some {
				within := engram.Interval{Start: last[entity].Add(-window), End: last[entity] + 1}
				if window >= longest {
					within.Start = engram.MinTime
				}
				q.Memories = append(q.Memories, engram.PatternOf(entity).Select(engram.In(within)).Memories...)
			}
			r, err := follow.Query(ctx, m.svc, q)
			if err != nil {
				return nil, err
			}
			for it := range r.All() {
				held[it.ID.Parent()] = append(held[it.ID.Parent()], it)
			}
		}
		for entity := range last {
			if items := held[entity]; len(items) >= mostHeld || window >= longest {
				all = append(all, items[max(len(items)-mostHeld, 0):]...)
				delete(last, entity)
			}
		}
	}
	return all, nil
}

const (
	// longest is a window that reaches back to all that there is.
	longest = 100 * 365 * 24 * time.Hour
	// mostAsked is how many entities are asked for in one query.
	mostAsked = 1000
)

// queryPast selects what was said up to a time by this robot's clock, and possibly more, from how far the
// clocks of robots are from it.
func (m *Memory) queryPast(at engram.Time, offsets map[string]time.Duration) (q engram.Query) {
	q.Source = engram.SourceNear
	for _, p := range m.patterns {
		q.Memories = append(q.Memories, upTo(p, at)...)
	}
	for robot, d := range offsets {
		for _, p := range m.codec.Patterns() {
			memory := p.Levels[0].String()
			if robot != m.codec.robot {
				memory = robot + ":" + memory
			}
			if p.Levels[1].String() != clockSegment && m.follows(memory) {
				q.Memories = append(q.Memories, upTo(inMemory(p, engram.OneOf(memory)), at.Add(-d))...)
			}
		}
	}
	return q
}
