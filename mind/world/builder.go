package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// MaxItems is how many names a builder takes, of items and of what they refer to.
const MaxItems = 4 << 20

// Builder merges statements into forests. One goroutine may use it at a time; the forests
// that it returns are not changed by it.
type Builder struct {
	f      Forest // its pages, nodes and sets of this edit are changed in place
	edit   uint32
	next   int32
	joints map[speaker]*JointStatement  // the newest on each joint
	states map[speaker]*StateStatement  // the newest of each entity
	groups map[group]*group             // that there ever were
	values map[string][]*JointStatement // what the memory Object says of the joint of the name
	valued map[source][]string          // of which joints what is said there has values
	moves  map[string][]int32           // by joint, nodes that it was ever said to move
	loops  [2]map[int32]*loop           // by each node that is on one, per graph
	moved  map[int32]bool               // nodes whose place has to be found anew
	heard  map[int32]engram.Time        // nodes that may differ since it was asked for them, and from when on

	given   Rules  // with the offsets that outrank what was measured
	robot   string // by whose clock times are told
	clocks  map[speaker]*ClockStatement
	untimed bool // whether what was measured of clocks has changed

	borrowed bool // whether the table of names is that of the builder that it was forked from
}

// NewBuilder returns a builder without statements that merges by the rules.
func NewBuilder(rules Rules) *Builder {
	return &Builder{
		f:      Forest{rules: rules.clone(), graph: graph{names: newNameTable()}},
		edit:   1,
		joints: map[speaker]*JointStatement{},
		states: map[speaker]*StateStatement{},
		groups: map[group]*group{},
		values: map[string][]*JointStatement{},
		valued: map[source][]string{},
		moves:  map[string][]int32{},
		heard:  map[int32]engram.Time{},
		given:  rules.clone(),
		loops:  [2]map[int32]*loop{{}, {}},
		moved:  map[int32]bool{},
	}
}

// anew returns a builder of the same rules without statements.
func (b *Builder) anew() *Builder {
	n := NewBuilder(b.given)
	n.robot = b.robot
	return n
}

// Put takes a statement on an item. One that is older than what its provider says already
// changes nothing. The error is Exhausted if there are too many names.
func (b *Builder) Put(s Statement) error {
	n, err := b.intern(s.Name)
	if err != nil {
		return err
	}
	s = s.vetted()
	said, counts := hear(n.said, &s, func(s *Statement) *Said { return &s.Said }, func(_, _ *Statement) int { return 0 })
	if counts || !slices.ContainsFunc(said, s.repeats) {
		b.hear(n.id, s.Time.Add(b.f.rules.Offsets[s.Robot]))
	}
	if !counts {
		return nil
	}
	return b.merge(n.id, said)
}

// merge gives a node what statements come to.
func (b *Builder) merge(id int32, said []*Statement) (err error) {
	merged := b.f.rules.merge(b.f.node(id).name, said)
	up, frame := int32(none), int32(none)
	if merged == nil {
		frame, err = b.refer(sharedFrame(b.f.node(id).name))
	} else {
		merged.id = id
		if up, err = b.refer(merged.parent()); err == nil && merged.Placement != nil {
			frame, err = b.refer(ownFrame(merged.Placed.Robot, merged.Placement.Frame))
		}
	}
	if err != nil {
		return err
	}
	n := b.own(id)
	old, joined := n.merged, b.f.joins(id)
	n.said, n.merged = said, merged
	b.count(old, merged)
	b.retag(n, old)
	b.link(n, up, frame)
	if (old == nil) != (merged == nil) || joined != b.f.joins(id) {
		b.hearIn(n)
	}
	return nil
}

// hearIn says that what is in the frame of a node may differ, since that came or went.
func (b *Builder) hearIn(n *node) {
	n.children.all(func(k *named) bool {
		if b.f.node(k.id).frame == none {
			b.hear(k.id, engram.MaxTime)
		}
		return true
	})
	n.framed.all(func(k *named) bool {
		if in := b.f.node(k.id); in.merged == nil { // a robot's frame
			b.hearIn(in)
		} else {
			b.hear(k.id, engram.MaxTime)
		}
		return true
	})
}

// readAgain takes back that what somebody says aside of items cannot be read.
func (b *Builder) readAgain(name string, said Said) {
	n := b.f.any(name)
	rest := without(n.said, func(s *Statement) bool { return s.fault != nil && s.compare(&said) == 0 && said.newer(&s.Said) })
	if len(rest) < len(n.said) {
		b.hear(n.id, said.Time.Add(b.f.rules.Offsets[said.Robot]))
		_ = b.merge(n.id, rest) // it refers to no new name
	}
}

// Forest returns what all statements so far come to. It costs what has changed since the
// one before.
func (b *Builder) Forest() *Forest {
	b.correct()
	b.place()
	b.heard = emptied(b.heard)
	f := b.f
	f.pages = slices.Clone(f.pages)
	b.edit++
	return &f
}

// refer returns the index of a name that somebody refers to; none for "".
func (b *Builder) refer(name string) (int32, error) {
	if name == "" {
		return none, nil
	}
	n, err := b.intern(name)
	if err != nil {
		return none, err
	}
	return n.id, nil
}

// intern returns the node of a name, made if there is none.
func (b *Builder) intern(name string) (*node, error) {
	if n := b.f.any(name); n != nil {
		return n, nil
	}
	if b.next >= MaxItems {
		return nil, engram.Errorf(engram.Exhausted, name, "with it the world would speak of more than %d names; forget items that are gone and begin anew", MaxItems)
	}
	n := &node{edit: b.edit, named: &named{name, b.next}, rare: nothing, up: none, frame: none, root: b.next, rootFromItem: pose.Identity()}
	if n.id%pageSize == 0 {
		b.f.pages = append(b.f.pages, &page{edit: b.edit})
	}
	if b.next++; b.borrowed {
		b.f.names, b.borrowed = b.f.names.copy(&b.f, n.id), false
	}
	b.ownPage(n.id).nodes[n.id%pageSize] = n
	b.f.names.add(&b.f, n.named)
	is, err := b.refer(sharedFrame(name))
	if is != none {
		n = b.own(n.id)
		b.link(n, none, is)
	}
	return n, err
}

// own returns the node for a change in this edit.
func (b *Builder) own(id int32) *node {
	p := b.ownPage(id)
	n := p.nodes[id%pageSize]
	if n.edit != b.edit {
		c := *n
		c.edit = b.edit
		n = &c
		p.nodes[id%pageSize] = n
	}
	return n
}

func (b *Builder) ownPage(id int32) *page {
	p := b.f.pages[id/pageSize]
	if p.edit != b.edit {
		c := *p
		c.edit = b.edit
		p = &c
		b.f.pages[id/pageSize] = p
	}
	return p
}

func (b *Builder) count(old, merged *Merged) {
	if merged != nil {
		b.f.size++
	}
	if old != nil {
		b.f.size--
	}
}

// retag brings the index of what items are up to date.
func (b *Builder) retag(n *node, old *Merged) {
	if old != nil && n.merged != nil && old.Description == n.merged.Description {
		return
	}
	before, now := old.groups(), n.merged.groups()
	for _, g := range before {
		if !slices.Contains(now, g) {
			b.f.tags.remove(tag{b.group(g), n.named}, byTag, b.edit)
		}
	}
	for _, g := range now {
		if !slices.Contains(before, g) {
			b.f.tags.add(tag{b.group(g), n.named}, byTag, b.edit)
		}
	}
}

// group returns the one copy of a group that all its tags have.
func (b *Builder) group(g group) *group {
	one := b.groups[g]
	if one == nil {
		one = &g
		b.groups[g] = one
	}
	return one
}

// member puts a node into a set or takes it out.
func (b *Builder) member(s *set[*named], n *node, in bool) {
	if in {
		s.add(n.named, byName, b.edit)
	} else {
		s.remove(n.named, byName, b.edit)
	}
}

// rare returns what few nodes have, of one that was made for this edit, for a change.
func (b *Builder) rare(n *node) *rare {
	if n.rare.edit != b.edit {
		c := *n.rare
		c.edit = b.edit
		n.rare = &c
	}
	return n.rare
}

// speaker is who speaks of something.
type speaker struct{ name, provider, robot string }

// source is who speaks of something, and where.
type source struct {
	speaker
	home Home
}

// PutJoint takes a statement on a joint, as [Builder.Put] does on an item. One that says
// nothing, not even which item moves, withdraws what was said.
func (b *Builder) PutJoint(s JointStatement) error {
	who := speaker{s.Name, s.Provider, s.Robot}
	old := b.joints[who]
	if old != nil && !s.newer(&old.Said) {
		return nil
	}
	if old != nil && old.Joint.Moved != s.Joint.Moved && old.Joint.Moved != "" {
		if err := b.unhang(old, s.Time.Add(b.f.rules.Offsets[s.Robot])); err != nil {
			return err
		}
	}
	if s.Joint.Moved == "" {
		b.joints[who] = &s
		return nil
	}
	n, err := b.intern(s.Joint.Moved)
	if err != nil {
		return err
	}
	b.joints[who] = &s
	b.f.jointed.add(hung{s.Name, n.named}, byJoint, b.edit)
	b.hearJoint(n.id, &s)
	if !slices.Contains(b.moves[s.Name], n.id) {
		b.moves[s.Name] = append(b.moves[s.Name], n.id)
		for _, v := range b.values[s.Name] {
			b.hearJoint(n.id, v)
		}
	}
	return nil
}

// unhang takes a statement on a joint from the node that it said to move, from a time on.
func (b *Builder) unhang(s *JointStatement, from engram.Time) error {
	n, err := b.intern(s.Joint.Moved)
	if err != nil {
		return err
	}
	n = b.own(n.id)
	b.rare(n).joints = without(n.joints, func(o *JointStatement) bool { return o == s })
	if !slices.ContainsFunc(n.joints, func(o *JointStatement) bool { return o.Name == s.Name && o.Home == InWorld }) {
		b.f.jointed.remove(hung{s.Name, n.named}, byJoint, b.edit)
	}
	b.touch(n.id, from)
	return nil
}

// putValue takes what the memory Object says of the value of a joint.
func (b *Builder) putValue(s JointStatement) {
	values, counts := hear(b.values[s.Name], &s, func(s *JointStatement) *Said { return &s.Said }, func(_, _ *JointStatement) int { return 0 })
	if !counts || len(b.values) >= MaxItems {
		return
	}
	b.values[s.Name] = values
	for _, id := range b.moves[s.Name] {
		b.hearJoint(id, &s)
	}
}

// hearJoint adds a statement on a joint to the node that it moves.
func (b *Builder) hearJoint(id int32, s *JointStatement) {
	n := b.own(id)
	b.rare(n).joints, _ = hear(n.joints, s, func(s *JointStatement) *Said { return &s.Said },
		func(x, y *JointStatement) int { return strings.Compare(x.Name, y.Name) })
	b.touch(id, s.Time.Add(b.f.rules.Offsets[s.Robot]))
}

// touch says that a node's place has to be found anew, and that its item may differ from a time on,
// by the clock that rules compare with.
func (b *Builder) touch(id int32, from engram.Time) {
	b.moved[id] = true
	b.hear(id, from)
}

func (b *Builder) hear(id int32, from engram.Time) {
	hearFrom(b.heard, id, from)
}

// takeHeard adds the names of what may differ since it was called last, each with the time from which
// on.
func (b *Builder) takeHeard(heard map[string]engram.Time) map[string]engram.Time {
	b.correct()
	for id, from := range b.heard {
		hearFrom(heard, b.f.node(id).name, from)
	}
	b.heard = emptied(b.heard)
	return heard
}

// emptied returns an empty map; one that had much in it would be slow to go over.
func emptied[V any](m map[int32]V) map[int32]V {
	if len(m) > 64 {
		return map[int32]V{}
	}
	clear(m)
	return m
}

// PutState takes a statement on a state of an item, as [Builder.Put] does on an item. One on another item, or on
// none, withdraws what its entity said before.
func (b *Builder) PutState(s StateStatement) error {
	s.Name = cmp.Or(s.Name, s.State.Item+"/"+s.State.Name)
	who := speaker{s.Name, s.Provider, s.Robot}
	old := b.states[who]
	if old != nil && !s.newer(&old.Said) {
		return nil
	}
	var n *node
	if s.State.Item != "" {
		var err error
		if n, err = b.intern(s.State.Item); err != nil {
			return err
		}
	}
	if old != nil && old.State.Item != "" && old.State.Item != s.State.Item {
		before := b.own(b.f.any(old.State.Item).id)
		b.rare(before).states = without(before.states, func(o *StateStatement) bool { return o == old })
		b.hear(before.id, s.Time.Add(b.f.rules.Offsets[s.Robot]))
	}
	b.states[who] = &s
	if n != nil {
		n = b.own(n.id)
		b.rare(n).states, _ = hear(n.states, &s, func(s *StateStatement) *Said { return &s.Said },
			func(x, y *StateStatement) int { return strings.Compare(x.Name, y.Name) })
	}
	return nil
}

// saidAside returns what somebody said last of a joint, a map, a component or a state; nil if nothing.
func (b *Builder) saidAside(home Home, name string, by *Said) *Said {
	who := speaker{name, by.Provider, by.Robot}
	switch home {
	case inJoint:
		if s := b.joints[who]; s != nil {
			return &s.Said
		}
	case inState:
		if s := b.states[who]; s != nil {
			return &s.Said
		}
	case inMap:
		for _, s := range b.f.maps.said[name] {
			if s.compare(by) == 0 {
				return &s.Said
			}
		}
	case inPart:
		for _, s := range b.f.components.said[name] {
			if s.compare(by) == 0 {
				return &s.Said
			}
		}
	}
	return nil
}

// unsay takes back what was said, as if it had not been: all of which gone is true, of what was said in a home. It returns
// the names of what it was said of beside items, each with the time from which on that may differ.
func (b *Builder) unsay(gone func(Home, *Said) bool) map[string]engram.Time {
	names := map[string]engram.Time{}
	from := func(s *Said) engram.Time { return s.Time.Add(b.f.rules.Offsets[s.Robot]) }
	saidGone := func(s *Statement) bool { return gone(s.Home, &s.Said) }
	jointGone := func(s *JointStatement) bool {
		if s.Home == InWorld {
			return gone(inJoint, &s.Said)
		}
		return gone(s.Home, &s.Said) // a value
	}
	stateGone := func(s *StateStatement) bool { return gone(inState, &s.Said) }
	for id := range b.next {
		n := b.f.node(id)
		if i := slices.IndexFunc(n.said, saidGone); i >= 0 {
			b.hear(id, from(&n.said[i].Said))
			for _, s := range n.said {
				if saidGone(s) {
					delete(b.valued, source{speaker{n.name, s.Provider, s.Robot}, s.Home})
				}
			}
			_ = b.merge(id, without(n.said, saidGone)) // it refers to no new name
		}
		if i := slices.IndexFunc(n.joints, jointGone); i >= 0 {
			b.touch(id, from(&n.joints[i].Said))
			b.rare(b.own(id)).joints = without(n.joints, jointGone)
		}
		if slices.ContainsFunc(n.states, stateGone) {
			b.rare(b.own(id)).states = without(n.states, stateGone)
		}
	}
	for joint, values := range b.values {
		b.values[joint] = without(values, jointGone)
	}
	for who, s := range b.joints {
		if jointGone(s) {
			if delete(b.joints, who); s.Joint.Moved != "" {
				_ = b.unhang(s, from(&s.Said)) // it refers to no new name
				hearFrom(names, s.Joint.Moved, from(&s.Said))
			}
		}
	}
	for who, s := range b.states {
		if stateGone(s) {
			delete(b.states, who)
			hearFrom(names, s.State.Item, from(&s.Said))
		}
	}
	b.f.maps.unsay(func(s *MapStatement) bool { return gone(inMap, &s.Said) }, b.edit, names)
	b.f.components.unsay(func(s *ComponentStatement) bool { return gone(inPart, &s.Said) }, b.edit, names)
	return names
}

// fork returns a builder of the same statements, from which the forest was made that the builder has made last. It and the
// builder go on without each other.
func (b *Builder) fork() *Builder {
	n := *b
	n.f.pages = slices.Clone(b.f.pages)
	n.borrowed = true
	n.joints, n.states, n.groups, n.values, n.valued, n.clocks = maps.Clone(b.joints), maps.Clone(b.states), maps.Clone(b.groups), maps.Clone(b.values), maps.Clone(b.valued), maps.Clone(b.clocks)
	n.loops = [2]map[int32]*loop{maps.Clone(b.loops[parents]), maps.Clone(b.loops[frames])}
	n.moves = make(map[string][]int32, len(b.moves))
	for joint, ids := range b.moves {
		n.moves[joint] = slices.Clip(ids)
	}
	n.moved, n.heard = map[int32]bool{}, map[int32]engram.Time{}
	return &n
}

// without returns those of which gone is false; the list is not changed.
func without[S any](all []S, gone func(S) bool) []S {
	if !slices.ContainsFunc(all, gone) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), gone)
}
