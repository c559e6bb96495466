package base

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/mind/knowledge"
)

// past is what was known of an earlier time.
type past struct {
	at    engram.Time
	asOf  engram.Time // MaxTime is what is known now
	view  *knowledge.View
	open  bool // more may come to be known of it
	stale bool // something that was so then was said since
}

// maxPast is how many earlier times are kept ready. What they share with the present they
// do not keep twice.
const maxPast = 16

// Past returns what was so at a time, as it was known at the time asOf; MaxTime is what is known
// now. A time that was asked for lately is answered from RAM, as long as nothing was said of it
// since; another one is read from the memories.
func (b *Base) Past(ctx context.Context, at, asOf engram.Time) (*knowledge.View, error) {
	// The past differs little from the present, and what was said of it late has come with that.
	if _, err := b.View(ctx); err != nil {
		return nil, err
	}
	if v := b.remembered(at, asOf); v != nil {
		return v, nil
	}
	p := &past{at: at, asOf: asOf, open: asOf >= engram.Now()}
	b.mu.Lock()
	s := b.present.fork()
	b.past = append([]*past{p}, b.past...) // hears from now on of what is said of its time
	b.mu.Unlock()
	if err := b.goBack(ctx, &s, at, asOf); err != nil {
		b.forget(p)
		return nil, err
	}
	v, err := b.viewOf(ctx, &s, at, asOf)
	if err != nil {
		b.forget(p)
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p.view = v
	b.past = b.past[:min(len(b.past), maxPast)]
	return v, nil
}

// remembered returns what was asked for lately; nil if it was not.
func (b *Base) remembered(at, asOf engram.Time) *knowledge.View {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.past, func(p *past) bool { return p.at == at && p.asOf == asOf && p.view != nil })
	if i < 0 {
		return nil
	}
	p := b.past[i]
	b.past = slices.Delete(b.past, i, i+1)
	if p.stale {
		return nil
	}
	b.past = slices.Insert(b.past, 0, p)
	return p.view
}

func (b *Base) forget(p *past) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past = slices.DeleteFunc(b.past, func(other *past) bool { return other == p })
}

// goBack has a state be that of an earlier time.
func (b *Base) goBack(ctx context.Context, s *state, at, asOf engram.Time) error {
	p := follow.Past{At: at}
	if asOf != engram.MaxTime {
		p.AsOf = &asOf
	}
	then, err := b.saidThen(ctx, s, p)
	if err != nil {
		return err
	}
	for entity, snapshot := range then {
		if is := s.said[entity]; snapshot == nil || is == nil || is.Time != snapshot.Time || is.Arrived != snapshot.Arrived {
			b.say(s, entity, snapshot)
		}
	}
	if b.world == nil {
		return nil
	}
	present, past, err := b.world.Back(ctx, at, p.AsOf)
	if err != nil {
		return err
	}
	if present != nil && present == s.forest {
		b.turn(s, past.Forest, affected(present, past.Forest, past.Names))
	} else {
		b.turn(s, past.Forest, differing(s.forest, past.Forest))
	}
	return nil
}

// saidThen returns what was said of a past beside the world that differs from a state; nil is nothing.
func (b *Base) saidThen(ctx context.Context, s *state, p follow.Past) (map[engram.ID]*engram.Snapshot, error) {
	then := map[engram.ID]*engram.Snapshot{}
	documents := false // which come whole, by imports
	for entity, is := range s.said {
		if p.Differs(is.Time, is.Arrived) {
			then[entity] = nil
			documents = documents || entity.Memory() == knowledgeMemory
		}
	}
	var items []engram.Item
	var err error
	if !documents && p.IsLess(len(then), len(s.said)+1) {
		items, err = p.Of(ctx, b.svc, engram.SourceAny, slices.Collect(maps.Keys(then)))
	} else {
		for entity := range s.said {
			then[entity] = nil
		}
		items, _, err = b.query(ctx, engram.AtOrBefore(p.At), p.AsOf)
	}
	for _, it := range items {
		then[it.ID.Truncate(engram.LevelEntity)] = it.Snapshot
	}
	return then, err
}
