package world

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"

	"github.com/seed-301d4374/engram"
)

// together are things that are stated as a whole.
type together struct {
	k       *keeper
	f       *Forest
	items   map[string]bool // that are stated
	said    map[subject]bool
	last    map[entity]engram.Time // of the last update of each entity
	maps    *mapIndex              // nil before it is needed
	failed  []error                // of each thing
	updates []update               // what comes of them
	of      []int                  // the thing that each update is of
}

// subject is what one of several things is about.
type subject struct {
	kind Home
	name string
}

// mapIndex finds maps of a forest.
type mapIndex struct {
	first  map[string][]*MapStatement // the provider's own, by the item that they describe first
	linked map[engram.ID]int          // how many have these data
}

// entity is what an update is of: its name, and the type of what it says.
type entity struct {
	name string
	what reflect.Type
}

func (u *update) entity() entity { return entity{u.name, reflect.TypeOf(u.what)} }

// StateAll implements [Model].
func (k *keeper) StateAll(ctx context.Context, dryRun bool, all ...Stated) ([]error, Mark, error) {
	release, err := k.takeTurn(ctx, k.provider)
	if err != nil {
		return nil, Mark{}, err
	}
	defer release()
	f, err := k.upToDate(ctx, placedOf(func(yield func(NamedItem) bool) {
		for _, s := range all {
			if it, is := s.What.(Item); is && !yield(NamedItem{s.Name, it}) {
				return
			}
		}
	}))
	if err != nil {
		return nil, Mark{}, err
	}
	t := together{k: k, f: f, items: map[string]bool{}, said: map[subject]bool{}, last: map[entity]engram.Time{}, failed: make([]error, len(all))}
	t.take(all)
	if dryRun || len(all) > 1 || len(t.updates) > 1 { // else storing it tells the same
		t.note(k.check(ctx, t.updates))
	}
	if dryRun || t.refused() || len(t.updates) == 0 {
		return t.errors(), Mark{}, nil
	}
	var rest, deleted []update
	var of, by []int
	for i, u := range t.updates {
		if data, is := u.what.([]byte); !is {
			rest, of = append(rest, u), append(of, t.of[i])
		} else if len(data) == 0 {
			deleted, by = append(deleted, u), append(by, t.of[i])
		} else if err := k.storeData(ctx, u.name, u.time, data); err != nil { // first: who has the map shall find them
			return nil, Mark{}, err
		}
	}
	t.updates, t.of = rest, of
	failed, mark, err := k.store(ctx, rest)
	t.note(failed)
	for i, u := range deleted { // last, for the same reason
		if err != nil || t.failed[by[i]] != nil {
			continue
		}
		if err := k.storeData(ctx, u.name, u.time, nil); err != nil {
			t.failed[by[i]] = engram.Errorf(engram.CodeOf(err), u.name, "the map is taken back, and its data are not deleted: %w", err)
		}
	}
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
			if last, again := t.last[u.entity()]; again { // taken back, and stated
				u.time = max(u.time, last+1)
			}
			t.last[u.entity()] = u.time
			t.updates, t.of = append(t.updates, u), append(t.of, i)
		}
	}
	for i, u := range t.updates {
		if m, is := u.what.(*Map); is && u.time == t.last[u.entity()] && t.leaves(u.name, m) {
			t.updates, t.of = append(t.updates, update{name: u.name, time: u.time, confidence: 1, what: []byte{}}), append(t.of, t.of[i])
		}
	}
}

// leaves reports whether nothing has the own data of a map any more once m is stated.
func (t *together) leaves(name string, m *Map) bool {
	for _, s := range t.f.maps.said[name] {
		if s.Map.Link == s.dataID() && t.k.says(&s.Said) {
			return m.Link != s.Map.Link && t.mapIndex().linked[s.Map.Link] == 1
		}
	}
	return false
}

// mapIndex returns the index of maps.
func (t *together) mapIndex() *mapIndex {
	if t.maps != nil {
		return t.maps
	}
	t.maps = &mapIndex{map[string][]*MapStatement{}, map[engram.ID]int{}}
	for _, said := range t.f.maps.said {
		for _, s := range said {
			if s.Robot == t.k.robot {
				t.maps.linked[s.Map.Link]++
			}
			if t.k.says(&s.Said) && len(s.Map.Describes) > 0 {
				t.maps.first[s.Map.Describes[0]] = append(t.maps.first[s.Map.Describes[0]], s)
			}
		}
	}
	return t.maps
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
		var before *update
		if last, back := t.last[entity{name, reflect.TypeFor[*Item]()}]; back {
			before = &update{name: name, time: last, confidence: 1, what: &Item{Source: k.source}}
		}
		it, now, err := k.revisedItem(t.f, NamedItem{name, v}, before)
		return []update{{name: name, time: now, confidence: 1, what: it.upright()}}, cmp.Or(once(InWorld), err)
	case Articulation:
		_, back := t.last[entity{name, reflect.TypeFor[*Articulation]()}]
		a, now, err := k.revisedJoint(t.f, name, v, back)
		return []update{{name: name, time: now, confidence: 1, what: a}}, cmp.Or(once(inJoint), err)
	case State:
		name = v.Item + "/" + v.Name
		updates, err := k.revisedState(t.f, v, s.Confidence, t.items[v.Item])
		return updates, cmp.Or(once(inState), err)
	case Map:
		updates, err := k.revisedMap(t.f, name, v, s.Data)
		return updates, cmp.Or(once(inMap), err)
	case Component:
		c, now, err := k.revisedComponent(t.f, name, v)
		return []update{{name: name, time: now, confidence: 1, what: c}}, cmp.Or(once(inPart), err)
	case Withdrawal:
		return t.withdrawal(name, v), engram.CheckName(name)
	}
	return nil, engram.Errorf(engram.Invalid, name, "a %T cannot be stated; state an Item, Articulation, State, Map, Component or Withdrawal", s.What)
}

// withdrawal takes back what the provider says under a name.
func (t *together) withdrawal(name string, w Withdrawal) (updates []update) {
	k, f := t.k, t.f
	back := func(name string, said *Said, says bool, nothing any) {
		if says && k.says(said) {
			updates = append(updates, update{name: name, time: k.tick(said.Time), confidence: 1, what: nothing})
		}
	}
	if w.Item {
		_, now := k.own(f, name)
		updates = append(updates, update{name: name, time: now, confidence: 1, what: &Item{}})
	}
	var beside rare
	if n := f.any(name); n != nil {
		beside = *n.rare
	}
	for _, s := range beside.states {
		back(s.Name, &s.Said, w.States && s.State.Value != nil, &State{Item: name, Name: s.State.Name})
	}
	for _, s := range beside.joints {
		back(s.Name, &s.Said, w.Joints, &Articulation{})
	}
	if s := k.ownJoint(name); s != nil {
		back(name, &s.Said, w.Joint && s.Joint.Moved != "" && !(w.Joints && s.Joint.Moved == name), &Articulation{})
	}
	var maps []*MapStatement
	if w.Map {
		maps = f.maps.said[name]
	}
	if w.Maps {
		for _, s := range t.mapIndex().first[name] {
			if !w.Map || s.Name != name {
				maps = append(slices.Clip(maps), s)
			}
		}
	}
	for _, s := range maps {
		back(s.Name, &s.Said, s.Map.says(), &Map{})
	}
	for _, s := range f.components.said[name] {
		back(name, &s.Said, w.Component && s.Component.Kind != "", &Component{})
	}
	return updates
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
		s := items[i].Structure
		if n := f.item(items[i].Name); s == nil || n != nil && n.merged.parent() == s.Parent { // it makes no loop that there is not yet
			continue
		}
		failed[i] = checkLoop(f, items[i].Name, parents, rooted)
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
		if n == nil {
			break
		}
		name = n.merged.parent() // the stated one, be it there or not
	}
	for _, name := range way {
		rooted[name] = true
	}
	return nil
}

// Stating yields each joint, map and component of which somebody who is meant says something, whether it counts or not,
// as what takes it back; one of several statements is there several times, in no order.
func Stating(f *Forest, meant func(*Said) bool) iter.Seq[Stated] {
	var all []Stated
	f.jointed.all(func(k hung) bool {
		for _, s := range f.node(k.id).joints {
			if s.Name == k.joint && s.Home == InWorld && meant(&s.Said) {
				all = append(all, Stated{Name: s.Name, What: Withdrawal{Joint: true}})
			}
		}
		return true
	})
	for name, said := range f.maps.said {
		for _, s := range said {
			if s.Map.says() && meant(&s.Said) {
				all = append(all, Stated{Name: name, What: Withdrawal{Map: true}})
			}
		}
	}
	for name, said := range f.components.said {
		for _, s := range said {
			if s.Component.Kind != "" && meant(&s.Said) {
				all = append(all, Stated{Name: name, What: Withdrawal{Component: true}})
			}
		}
	}
	return slices.Values(all)
}

// SaidBeside yields who says something under a name beside an item: a state of it, a joint that moves it or has the
// name, a map or a component.
func SaidBeside(f *Forest, name string) iter.Seq[*Said] {
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
	return slices.Values(said)
}
