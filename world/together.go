package world

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
)

// together are things that are stated as a whole.
type together struct {
	k       *keeper
	f       *Forest
	items   map[string]bool // that are stated
	said    map[subject]bool
	failed  []error  // of each thing
	updates []update // what comes of them
	of      []int    // the thing that each update is of
}

// subject is what one of several things is about.
type subject struct {
	kind Home
	name string
}

// StateAll implements [Model].
func (k *keeper) StateAll(ctx context.Context, dryRun bool, all ...Stated) ([]error, Mark, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	f, err := k.upToDate(ctx)
	if err != nil {
		return nil, Mark{}, err
	}
	t := together{k: k, f: f, items: map[string]bool{}, said: map[subject]bool{}, failed: make([]error, len(all))}
	t.take(all)
	t.note(k.check(ctx, t.updates))
	if dryRun || t.refused() || len(t.updates) == 0 {
		return t.errors(), Mark{}, nil
	}
	var rest []update
	var of []int
	for i, u := range t.updates {
		if data, is := u.what.([]byte); !is {
			rest, of = append(rest, u), append(of, t.of[i])
		} else if err := k.storeData(ctx, u.name, u.time, data); err != nil { // first: who has the map shall find them
			return nil, Mark{}, err
		}
	}
	t.updates, t.of = rest, of
	failed, mark, err := k.store(ctx, rest)
	t.note(failed)
	return t.errors(), mark, err
}

// stateOne is StateAll of one thing.
func (k *keeper) stateOne(ctx context.Context, s Stated) (Mark, error) {
	failed, mark, err := k.StateAll(ctx, false, s)
	return mark, cmp.Or(err, cmp.Or(failed...))
}

// take finds out what comes of all, and which of them cannot be.
func (t *together) take(all []Stated) {
	var items []NamedItem
	var of []int
	for i := range all {
		if it, is := all[i].What.(Item); is {
			items, of = append(items, NamedItem{all[i].Name, it}), append(of, i)
			t.items[all[i].Name] = true
		}
	}
	for j, err := range CheckParents(t.f, items) {
		t.failed[of[j]] = err
	}
	for i := range all {
		updates, err := t.updatesOf(&all[i])
		for j := range updates {
			if err == nil {
				err = updates[j].sourced()
			}
		}
		if t.failed[i] = cmp.Or(t.failed[i], err); t.failed[i] != nil {
			continue
		}
		for _, u := range updates {
			t.updates, t.of = append(t.updates, u), append(t.of, i)
		}
	}
}

// updatesOf returns what comes of one thing.
func (t *together) updatesOf(s *Stated) ([]update, error) {
	k, name := t.k, s.Name
	once := func(kind Home) error {
		if t.said[subject{kind, name}] {
			return engram.Errorf(engram.AlreadyExists, name, "it is stated twice; state it once")
		}
		t.said[subject{kind, name}] = true
		return nil
	}
	switch v := s.What.(type) {
	case Item:
		it, now, err := k.revisedItem(t.f, NamedItem{name, v}, nil)
		return []update{{name, now, 1, it.upright()}}, cmp.Or(once(InWorld), err)
	case Articulation:
		a, now, err := k.revisedJoint(t.f, name, v)
		return []update{{name, now, 1, a}}, cmp.Or(once(inJoint), err)
	case State:
		name = v.Item + "/" + v.Name
		updates, err := k.revisedState(t.f, v, s.Confidence, t.items[v.Item])
		return updates, cmp.Or(once(inState), err)
	case Map:
		updates, err := k.revisedMap(t.f, name, v, s.Data)
		return updates, cmp.Or(once(inMap), err)
	case Component:
		c, now, err := k.revisedComponent(t.f, name, v)
		return []update{{name, now, 1, c}}, cmp.Or(once(inPart), err)
	case Withdrawal:
		return k.withdrawal(t.f, name, v), engram.CheckName(name)
	}
	return nil, engram.Errorf(engram.Invalid, name, "a %T cannot be stated; state an Item, Articulation, State, Map, Component or Withdrawal", s.What)
}

// note takes the errors of updates as those of their things.
func (t *together) note(failed []error) {
	for i, err := range failed {
		if of := t.of[i]; t.failed[of] == nil {
			t.failed[of] = err
		}
	}
}

func (t *together) refused() bool {
	return slices.ContainsFunc(t.failed, func(err error) bool { return err != nil })
}

// errors returns the error of each thing, or nothing if there is none.
func (t *together) errors() []error {
	if !t.refused() {
		return nil
	}
	return t.failed
}

// CheckParents returns for each of several items a Conflict error if it would be above itself were they all
// stated; else nil.
func CheckParents(f *Forest, items []NamedItem) []error {
	failed := make([]error, len(items))
	parents := map[string]string{}
	for i := range items {
		if s := items[i].Structure; s != nil {
			parents[items[i].Name] = s.Parent
		}
	}
	rooted := map[string]bool{} // names whose way is known to end at a root, so that a deep tree costs one step per item
	for i := range items {
		if items[i].Structure != nil {
			failed[i] = checkLoop(f, items[i].Name, parents, rooted)
		}
	}
	return failed
}

func checkLoop(f *Forest, item string, parents map[string]string, rooted map[string]bool) error {
	way, on := []string{item}, map[string]bool{item: true}
	for name := parents[item]; name != "" && !rooted[name]; {
		if name == item {
			if len(way) == 1 {
				return nil // its own parent: for [Item.Check]
			}
			return engram.Errorf(engram.Conflict, item, "it would be above itself: %v", append(way, name))
		}
		if on[name] {
			return nil // on a loop above, which is told of its own items
		}
		way, on[name] = append(way, name), true
		if parent, said := parents[name]; said {
			name = parent
			continue
		}
		n := f.item(name)
		if n == nil || f.parent(n) == nil {
			break
		}
		name = f.parent(n).name
	}
	for _, name := range way {
		rooted[name] = true
	}
	return nil
}

// SaidBeside yields who says something under a name beside an item: a state of it, a joint that moves it or has the
// name, a map or a component.
func SaidBeside(f *Forest, name string) iter.Seq[*Said] {
	return func(yield func(*Said) bool) {
		var said []*Said
		if n := f.any(name); n != nil {
			for _, s := range n.states {
				if s.State.Value != nil {
					said = append(said, &s.Said)
				}
			}
			for _, s := range n.joints {
				said = append(said, &s.Said)
			}
		}
		f.jointed.from(hung{name, &named{}}, byJoint, func(k hung) bool {
			for _, s := range f.node(k.id).joints {
				if s.Name == name && k.joint == name {
					said = append(said, &s.Said)
				}
			}
			return k.joint == name
		})
		for _, s := range f.maps.said[name] {
			if s.Map.says() {
				said = append(said, &s.Said)
			}
		}
		for _, s := range f.components.said[name] {
			if s.Component.Kind != "" {
				said = append(said, &s.Said)
			}
		}
		for _, s := range said {
			if !yield(s) {
				return
			}
		}
	}
}
