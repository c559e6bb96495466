package world

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Local is a [Model] in plain RAM, without a memory: of one provider, with its present only.
type Local struct {
	keeper
	epoch  uint64
	number uint64   // of the last update; under the turn
	data   sync.Map // of maps, by name
}

// NewLocal returns an empty world whose statements are of the provider. Of the options it has the
// clock and the source.
func NewLocal(provider string, rules Rules, more ...Option) *Local {
	o := options{now: engram.Now}
	for _, set := range more {
		set(&o)
	}
	l := &Local{}
	l.keeper = keeper{hub: newHub(rules), provider: provider, source: o.source, now: o.now, store: l.put, check: func(context.Context, []update) []error { return nil }, begin: func(context.Context) error { return nil }}
	l.storeData = func(_ context.Context, name string, _ engram.Time, data []byte) error {
		if l.data.Store(name, slices.Clone(data)); len(data) == 0 {
			l.data.Delete(name)
		}
		return nil
	}
	l.epoch = rand.Uint64() | 1
	return l
}

// Past implements [Model]; it is unsupported.
func (l *Local) Past(context.Context, engram.Time, *engram.Time) (*Forest, error) {
	return nil, engram.Errorf(engram.Unsupported, "world", "a world in plain RAM has only its present; use one over a memory")
}

// put stores updates at once.
func (l *Local) put(_ context.Context, updates []update) ([]error, Mark, error) {
	failed := make([]error, len(updates))
	names := map[string]engram.Time{}
	l.number += uint64(len(updates))
	to := Mark{Epoch: l.epoch, Number: l.number}
	l.change(func(b *Builder) map[string]engram.Time {
		for i, u := range updates {
			said := Said{Provider: l.provider, Time: u.time, Arrived: u.time, Confidence: u.confidence}
			name, err := b.put(u.name, said, u.what)
			failed[i] = err
			from := u.time
			if _, item := u.what.(*Item); item {
				from = engram.MaxTime // the builder knows better
			}
			hearFrom(names, name, from)
		}
		return names
	}, to)
	return failed, to, nil
}

// see takes what the memory Object says. Of joints, too, only what somebody says of an object at
// present counts.
func (b *Builder) see(s Seen) error {
	if n := b.f.any(s.Name); n != nil && slices.ContainsFunc(n.said, func(o *Statement) bool { return o.compare(&s.Said) == 0 && !s.newer(&o.Said) }) {
		return b.Put(s.Statement) // it changes nothing
	}
	who := source{speaker{s.Name, s.Provider, s.Robot}, s.Home}
	before := b.valued[who]
	delete(b.valued, who)
	for _, j := range s.Joints {
		b.putValue(j)
		b.valued[who] = append(b.valued[who], j.Name)
	}
	for _, joint := range before {
		if !slices.Contains(b.valued[who], joint) {
			b.putValue(JointStatement{joint, s.Said, &Articulation{}})
		}
	}
	return b.Put(s.Statement)
}

// put takes what somebody says of anything, and returns the name of the item concerned.
func (b *Builder) put(name string, said Said, what any) (string, error) {
	switch v := what.(type) {
	case *Item:
		return name, b.Put(Statement{name, said, v})
	case *Articulation:
		moved := v.Moved
		if old := b.joints[speaker{name, said.Provider, said.Robot}]; moved == "" && old != nil {
			moved = old.Joint.Moved
		}
		return moved, b.PutJoint(JointStatement{name, said, v})
	case *State:
		return v.Item, b.PutState(StateStatement{name, said, v})
	case *Map:
		b.PutMap(MapStatement{name, said, v})
		return name, nil
	case *Component:
		b.PutComponent(ComponentStatement{name, said, v})
		return name, nil
	}
	return name, engram.Errorf(engram.Internal, name, "a statement of %T", what)
}

// MapData implements [Model].
func (l *Local) MapData(ctx context.Context, name string) ([]byte, error) {
	s, err := l.mapNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	data, ok := l.data.Load(name)
	if !ok {
		return nil, s.noData()
	}
	return s.checked(slices.Clone(data.([]byte)), nil)
}
