package world

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// update is something to be stated.
type update struct {
	name       string // of the entity
	time       engram.Time
	confidence float64
	what       any // *Item, *Articulation, *State, *Map, *Component, or the data of a map as []byte

	// The core segment that it is written to, and how. They are empty before it was checked; it does not change afterwards.
	segment string
	payload engram.Payload
}

// sourced returns an Invalid error for what says something and not where that comes from.
func (u *update) sourced() error {
	unset := false
	switch v := u.what.(type) {
	case *Item:
		unset = v.Source == SourceUnset && (v.says() || v.Removed != nil)
	case *Articulation:
		unset = v.Source == SourceUnset && v.Moved != ""
	case *State:
		unset = v.Source == SourceUnset && v.Value != nil
	}
	if unset {
		return errUnsourced(u.name)
	}
	return nil
}

func errUnsourced(name string) error {
	return engram.Errorf(engram.Invalid, name, "it is not said where this comes from; set its Source (Perception, PriorKnowledge or Operator), or give the world one by FromSource")
}

// keeper states what one provider says. What it has stated is in the world that all see, so it
// keeps nothing of it beside.
type keeper struct {
	*hub
	provider string
	robot    string // that the provider belongs to, as far as is known
	source   Source // of what is stated where no source is given; may be unset
	now      func() engram.Time
	// begin has the world have all that was stored before.
	begin func(context.Context) error
	// hear has the world have what was said in the own memory World of items before they are placed: that one is
	// a robot may just have been said. It is nil where the world hears all at once.
	hear func(ctx context.Context, items []string) error
	// check returns an error for each update that cannot be stored.
	check func(context.Context, []update) []error
	// store writes updates, one error each, and returns the mark of the last. Its own error says that none was
	// written, or if it is Unavailable or Canceled that nobody knows.
	store func(context.Context, []update) ([]error, Mark, error)
	// storeData stores the data of a map, of which no world has more than that they are there; none are deleted.
	storeData func(ctx context.Context, name string, t engram.Time, data []byte) error

	stated engram.Time // the time that was stated last; under the provider's turn
}

// tick returns the time of what is said next: later than all before, and than what it takes the
// place of, also if the clock was put back since. If that was by more than a second, it is later than the latter only.
func (k *keeper) tick(after engram.Time) engram.Time {
	now := k.now()
	if k.stated > now.Add(time.Second) {
		k.stated = 0
	}
	k.stated = max(now, k.stated+1, after+1)
	return k.stated
}

// says reports whether the provider itself says something, in the memory World.
func (k *keeper) says(s *Said) bool {
	return s.Provider == k.provider && s.Robot == k.robot && s.Home == InWorld
}

// lastSaid returns when the provider said what it says at present, of statements on one thing by
// several; 0 if it says nothing.
func lastSaid[S any](k *keeper, all []*S, said func(*S) *Said) engram.Time {
	for _, s := range all {
		if o := said(s); k.says(o) {
			return o.Time
		}
	}
	return 0
}

// write reads the world, and stores what change makes of it, which may place some items.
func (k *keeper) write(ctx context.Context, placed []string, change func(*Forest) ([]update, error)) ([]error, Mark, error) {
	release, err := k.takeTurn(ctx, k.provider)
	if err != nil {
		return nil, Mark{}, err
	}
	defer release()
	f, err := k.upToDate(ctx, placed)
	if err != nil {
		return nil, Mark{}, err
	}
	updates, err := change(f)
	for i := range updates {
		if err == nil {
			err = updates[i].sourced()
		}
	}
	if err != nil || len(updates) == 0 {
		return nil, Mark{}, err
	}
	return k.store(ctx, updates)
}

// upToDate returns the world with all that the provider has stated, and that items that it is about to place are
// robots. It is the turn of the provider.
func (k *keeper) upToDate(ctx context.Context, placed []string) (*Forest, error) {
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	placed = slices.DeleteFunc(placed, func(name string) bool { return name == k.provider || name == k.robot || engram.CheckName(name) != nil })
	if k.hear != nil && len(placed) > 0 {
		if err := k.hear(ctx, placed); err != nil {
			return nil, err
		}
	}
	return k.View(ctx)
}

// placedOf returns the names of items of which something is said that would be a robot's own.
func placedOf(items iter.Seq[NamedItem]) (names []string) {
	for it := range items {
		if it.Placement != nil || it.Structure != nil && it.Structure.Parent != "" {
			names = append(names, it.Name)
		}
	}
	return names
}

// writeAll is write of what is to be written as a whole.
func (k *keeper) writeAll(ctx context.Context, placed []string, change func(*Forest) ([]update, error)) (Mark, error) {
	failed, mark, err := k.write(ctx, placed, func(f *Forest) ([]update, error) {
		updates, err := change(f)
		if err == nil && len(updates) > 1 { // of one, storing it tells the same
			err = cmp.Or(k.check(ctx, updates)...)
		}
		return updates, err
	})
	for _, e := range failed {
		if err == nil {
			err = e
		}
	}
	return mark, err
}

// own returns what the provider says of an item at present, to be changed, and the time of
// what is said next: after that.
func (k *keeper) own(f *Forest, name string) (Item, engram.Time) {
	it, said := Own(f, name, k.provider, k.robot)
	it.Source = max(it.Source, k.source)
	return it, k.tick(said)
}

// Own returns what a provider of a robot says of an item at present, each group with its time, and when it
// said so; nothing, and 0, if it says nothing.
func Own(f *Forest, name, provider, robot string) (it Item, said engram.Time) {
	for _, s := range f.Statements(name) {
		if s.Provider != provider || s.Robot != robot || s.Home != InWorld {
			continue
		}
		return s.stands(), s.Time
	}
	return Item{}, 0
}

// stands returns what of a statement its provider goes on saying, each group with its time.
func (s *Statement) stands() Item {
	it := *s.Item
	if it.pin(s); s.fault != nil {
		it.Placement = nil
	}
	if r := it.Removed; r != nil && s.newestGroup() <= r.Time {
		it = Item{Removed: r} // what it said before, it says no more
	}
	return it
}

// pin writes the statement's time to the groups, and to the removal, that had none of their own.
func (it *Item) pin(s *Statement) {
	if r := it.Removed; r != nil && r.Time == 0 {
		it.Removed = &Removal{r.Reason, s.Time}
	}
	if g := it.Structure; g != nil && g.Time == 0 {
		it.Structure = &Structure{g.Parent, s.Time}
	}
	if g := it.Placement; g != nil && g.Time == 0 {
		p := *g
		p.Time, it.Placement = s.Time, &p
	}
	if g := it.Description; g != nil && g.Time == 0 {
		d := *g
		d.Time, it.Description = s.Time, &d
	}
}

// revise states what of an item is set over what was stated before.
func (it *Item) revise(by Item) {
	if by.Source != SourceUnset {
		it.Source = by.Source
	}
	if by.Structure != nil {
		it.Structure = by.Structure
	}
	if by.Placement != nil {
		it.Placement = by.Placement
	}
	if by.Description != nil {
		it.Description = by.Description
	}
	if by.Views != 0 {
		it.Views = by.Views
	}
	if by.LabelEvidence != nil {
		it.LabelEvidence = by.LabelEvidence
	}
	if by.SeenIn != nil {
		it.SeenIn = by.SeenIn
	}
}

// Update implements [Model].
func (k *keeper) Update(ctx context.Context, items ...NamedItem) ([]Refusal, Mark, error) {
	var refused []Refusal
	var stated []string
	failed, mark, err := k.write(ctx, placedOf(slices.Values(items)), func(f *Forest) ([]update, error) {
		var updates []update
		revised := map[string]*update{} // one that is named twice is revised twice
		for _, by := range items {
			it, now, err := k.revisedItem(f, by, revised[by.Name])
			if err == nil && by.Structure != nil {
				err = f.checkParent(by.Name, by.Structure.Parent)
			}
			if err != nil {
				refused = append(refused, Refusal{by.Name, err})
				continue
			}
			u := update{name: by.Name, time: now, confidence: 1, what: it.upright()}
			revised[by.Name] = &u
			stated, updates = append(stated, by.Name), append(updates, u)
		}
		return updates, nil
	})
	for i, e := range failed {
		if e != nil {
			refused = append(refused, Refusal{stated[i], e})
		}
	}
	return refused, mark, err
}

// revisedItem returns what the provider says of an item once it has stated more of it, over what it is about to say
// (nil is what it says at present), and when.
func (k *keeper) revisedItem(f *Forest, by NamedItem, before *update) (Item, engram.Time, error) {
	it, now := k.own(f, by.Name)
	if before != nil {
		it, now = *before.what.(*Item), max(now, before.time+1)
	}
	becomes := by.Is(KindRobot) && !it.Is(KindRobot)
	it.revise(by.Item)
	it.pin(&Statement{Said: Said{Time: now}})
	err := it.Check(by.Name)
	switch {
	case err != nil:
	case by.Source == SourceUnset && k.source == SourceUnset:
		err = errUnsourced(by.Name)
	case by.Removed != nil:
		err = engram.Errorf(engram.Invalid, by.Name, "it is stated as removed; remove it")
	default:
		place := Item{Description: it.Description, Structure: by.Structure, Placement: by.Placement}
		err = k.checkPlace(f, NamedItem{by.Name, place})
		if err == nil && becomes && PlacesItself(f, NamedItem{by.Name, it}, k.provider, k.robot) {
			err = engram.Errorf(engram.Conflict, by.Name, "where a robot is counts from itself only, and %q has stated where it is; withdraw that, then state what it is", k.provider)
		}
	}
	return it, now, err
}

// PlacesItself reports whether an item is a robot, by what is said of it or others say, and of its place or parent
// something is said that does not count, since neither the provider nor the robot of its memory World is it.
func PlacesItself(f *Forest, it NamedItem, provider, robot string) bool {
	return PlacesOther(it, provider, robot) && (it.Is(KindRobot) || SaidRobot(f, it.Name, provider, robot))
}

// PlacesOther reports whether of an item's place or parent something is said, and neither the provider nor the robot of its
// memory World is it.
func PlacesOther(it NamedItem, provider, robot string) bool {
	return provider != it.Name && robot != it.Name && (it.Placement != nil || it.Structure != nil && it.Structure.Parent != "")
}

// SaidRobot reports whether an item is a robot by what is said of it, whatever the provider says of its being removed.
func SaidRobot(f *Forest, name, provider, robot string) bool {
	n := f.any(name)
	return n != nil && slices.Contains(kindsOf(f.rules.living(unremoved(n.said, provider, robot))), KindRobot)
}

// checkPlace returns a Conflict error for the place of a robot that the provider has no say in.
func (k *keeper) checkPlace(f *Forest, it NamedItem) error {
	if PlacesItself(f, it, k.provider, k.robot) {
		return engram.Errorf(engram.Conflict, it.Name, "where a robot is counts from itself only: from the provider %q, or any of the robot's own memory World, and not from %q; state its place and parent there, and here the rest",
			it.Name, k.provider)
	}
	return nil
}

// checkParent returns a Conflict error if a parent lies below its child. A parent that is the
// child itself is for [Item.Check].
func (f *Forest) checkParent(name, parent string) error {
	path, err := f.PathToRoot(parent)
	if err == nil && parent != name && (slices.ContainsFunc(path, func(m *Merged) bool { return m.Name == name }) || path[len(path)-1].parent() == name) {
		return engram.Errorf(engram.Conflict, name, "its parent %q lies below it; give that one another parent first", parent)
	}
	return nil // it may come later
}

// UpdatePose implements [Model].
func (k *keeper) UpdatePose(ctx context.Context, name, frame string, p pose.Pose, c pose.Cov) (Mark, error) {
	return k.writeAll(ctx, []string{name}, func(f *Forest) ([]update, error) {
		if !f.Has(name) {
			return nil, notFound(name)
		}
		it, now := k.own(f, name)
		it.Placement = &Placement{frame, p, c, now}
		if frame == "" && it.Structure == nil { // the parent that others say
			m, _ := f.Get(name)
			it.Placement.Frame = m.parent()
		}
		return []update{{name: name, time: now, confidence: 1, what: it.upright()}}, cmp.Or(it.Check(name), k.checkPlace(f, NamedItem{name, Item{Placement: it.Placement}}))
	})
}

// Attach implements [Model].
func (k *keeper) Attach(ctx context.Context, name, parent string, at *pose.Pose) (Mark, error) {
	return k.writeAll(ctx, []string{name}, func(f *Forest) ([]update, error) {
		if !f.Has(name) {
			return nil, notFound(name)
		}
		if err := k.checkPlace(f, NamedItem{name, Item{Structure: &Structure{Parent: parent}}}); err != nil {
			return nil, err
		}
		if !f.Has(parent) {
			return nil, notFound(parent)
		}
		if err := f.checkParent(name, parent); err != nil {
			return nil, err
		}
		it, now := k.own(f, name)
		where := Located{Cov: pose.Cov{}}
		if at != nil {
			where.Pose = *at
		} else {
			var err error
			if where, err = f.Pose(parent, name); err != nil {
				return nil, err
			}
		}
		it.Structure = &Structure{parent, now}
		it.Placement = &Placement{parent, where.Pose, where.Cov, now}
		return []update{{name: name, time: now, confidence: 1, what: it.upright()}}, it.Check(name)
	})
}

// Remove implements [Model].
func (k *keeper) Remove(ctx context.Context, name, reason string, children Children) (Mark, error) {
	return k.writeAll(ctx, nil, func(f *Forest) ([]update, error) {
		m, err := f.Get(name)
		if err != nil {
			return nil, err
		}
		below := slices.Collect(f.Children(name))
		var updates []update
		switch {
		case len(below) > 0 && children == RefuseChildren:
			return nil, engram.Errorf(engram.Conflict, name, "it is the parent of %d, such as %q; remove it with its children, or leave them without a parent",
				len(below), below[0].Name)
		case children == WithChildren:
			below = slices.Collect(f.Subtree(name))
			slices.Reverse(below) // what is cut short leaves nothing that waits
		case children == OrphanChildren:
			for _, c := range below {
				if !PlacesItself(f, NamedItem{c.Name, Item{Structure: c.Structure}}, k.provider, k.robot) {
					updates = append(updates, k.orphan(f, c, m))
				}
			}
			below = []*Merged{m}
		default:
			below = []*Merged{m}
		}
		for _, gone := range below {
			said, now := k.own(f, gone.Name)
			updates = append(updates, update{name: gone.Name, time: now, confidence: 1, what: &Item{Source: said.Source, Removed: &Removal{reason, now}}})
		}
		return updates, nil
	})
}

// orphan states an item without its parent, which goes, in the frame that the parent was in.
func (k *keeper) orphan(f *Forest, c, parent *Merged) update {
	it, now := k.own(f, c.Name)
	it.Structure = &Structure{"", now}
	above := f.item(parent.Name)
	if f.frameOf(above) == none {
		it.Placement = nil
		return update{name: c.Name, time: now, confidence: 1, what: &it}
	}
	frame := f.in(above)
	if at, err := f.Pose(frame.name, c.Name); err == nil {
		it.Placement = &Placement{frame.name, at.Pose, at.Cov, now}
	}
	return update{name: c.Name, time: now, confidence: 1, what: &it}
}

// Withdraw implements [Model].
func (k *keeper) Withdraw(ctx context.Context, name string) (Mark, error) {
	return k.stateOne(ctx, Stated{Name: name, What: Withdrawal{Item: true, States: true, Joints: true, Joint: true, Map: true, Component: true}})
}

// Articulate implements [Model].
func (k *keeper) Articulate(ctx context.Context, joint string, a Articulation) (Mark, error) {
	return k.stateOne(ctx, Stated{Name: joint, What: a})
}

// SetState implements [Model].
func (k *keeper) SetState(ctx context.Context, s State, confidence float64) (Mark, error) {
	return k.stateOne(ctx, Stated{What: s, Confidence: confidence})
}

// revisedState returns what comes of a state of an item that there is, or that is stated with it.
func (k *keeper) revisedState(f *Forest, s State, confidence float64, stated bool) ([]update, error) {
	if !stated && !f.Has(s.Item) {
		return nil, notFound(s.Item)
	}
	if !(confidence >= 0 && confidence <= 1) {
		return nil, engram.Errorf(engram.Invalid, s.Item, "state %q is stated with the confidence %g; it lies between 0 and 1", s.Name, confidence)
	}
	s.Source = cmp.Or(s.Source, k.source)
	usual := s.Item + "/" + s.Name
	var mine engram.Time
	var updates []update
	var before []*StateStatement
	if n := f.any(s.Item); n != nil {
		before = n.states
	}
	for _, o := range before {
		if o.State.Name != s.Name || !k.says(&o.Said) {
			continue
		}
		if mine = max(mine, o.Time); o.Name != usual && o.State.Value != nil {
			updates = append(updates, update{name: o.Name, time: k.tick(o.Time), confidence: 1, what: &State{Item: s.Item, Name: s.Name}})
		}
	}
	return append(updates, update{name: usual, time: k.tick(mine), confidence: confidence, what: &s}), engram.CheckName(s.Name)
}
