package world

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Merged is an item as all say it is: of each group the statement that counts, and of the description
// the members that it does not say as others say them.
type Merged struct {
	Name string
	*Item
	// Structured, Placed and Described are the statements that the groups are of; nil for a
	// group that nobody stated.
	Structured, Placed, Described *Statement

	labelled bool  // the stated label is an operator's
	id       int32 // of its node, in the forests of the builder that merged it
}

// claim is a statement's say on one group.
type claim struct {
	s *Statement
	stamp
}

// merge returns what statements of one item come to; nil if there is none. The order of
// the statements does not matter.
func (r *Rules) merge(name string, statements []*Statement) *Merged {
	live := r.living(statements)
	if len(live) == 0 {
		return nil
	}
	kinds := kindsOf(live)
	robot := slices.Contains(kinds, KindRobot)
	m := &Merged{Name: name, Item: &Item{}}
	claims := func(time func(*Statement) (engram.Time, bool), own, aside bool) (all []claim) {
		for _, s := range live {
			t, said := time(s)
			if !said || own && !s.ofRobot(name) {
				continue
			}
			c := claim{s, r.stamp(s, t, kinds)}
			c.aside = aside && s.Home != InWorld
			all = append(all, c)
		}
		return all
	}
	if m.Structured = best(claims(structureTime, robot, false)); m.Structured != nil {
		m.Structure = m.Structured.Item.Structure
	}
	if m.Placed = best(claims(placementTime, robot, false)); m.Placed != nil {
		m.Placement, m.SeenIn = m.placement(), m.Placed.Item.SeenIn
	}
	// What a localiser knows of the class is no description of the item.
	if described := claims(descriptionTime, false, true); len(described) > 0 {
		m.Described, m.Description = describe(described)
		i := slices.IndexFunc(described, func(c claim) bool { return c.s.Item.Description.Label != "" })
		m.labelled = i >= 0 && described[i].s.Item.Source == Operator
	}
	m.sum(live)
	if only := live[0].Item; len(live) == 1 && m.sameGroups(only) {
		m.Item = only // as most are: nothing is kept twice
	}
	return m
}

// best returns the statement of the claim that counts; nil if there is none.
func best(claims []claim) *Statement {
	var win claim
	for _, c := range claims {
		if win.s == nil || c.over(win.stamp) {
			win = c
		}
	}
	return win.s
}

// describe returns the statement whose description counts, and that with the members that it does not
// say, each as the next says it that counts. So who says one thing of an item takes nothing from what others say. The claims
// are sorted then.
func describe(claims []claim) (*Statement, *Description) {
	if len(claims) == 1 {
		return claims[0].s, claims[0].s.Item.Description
	}
	slices.SortFunc(claims, func(a, b claim) int {
		if a.over(b.stamp) {
			return -1
		}
		return 1
	})
	d := *claims[0].s.Item.Description
	for _, c := range claims[1:] {
		d.complete(c.s.Item.Description)
	}
	return claims[0].s, &d
}

// Describes reports whether anything of an item's description is as it is because of a statement on the item.
func Describes(f *Forest, s *Statement) bool {
	m, err := f.Get(s.Name)
	if err != nil || m.Described == s {
		return err == nil
	}
	others := f.rules.merge(s.Name, slices.DeleteFunc(f.Statements(s.Name), func(o *Statement) bool { return o == s }))
	return others == nil || !reflect.DeepEqual(m.Description, others.Description)
}

// complete takes over the members, and the properties, that a description does not say from another one.
func (d *Description) complete(o *Description) {
	if len(d.Kinds) == 0 {
		d.Kinds = o.Kinds
	}
	if len(d.SpokenNames) == 0 {
		d.SpokenNames = o.SpokenNames
	}
	d.Label, d.Maintainer = cmp.Or(d.Label, o.Label), cmp.Or(d.Maintainer, o.Maintainer)
	d.Class, d.Shape, d.Box = cmp.Or(d.Class, o.Class), cmp.Or(d.Shape, o.Shape), cmp.Or(d.Box, o.Box)
	d.Robot = cmp.Or(d.Robot, o.Robot)
	if d.Place = cmp.Or(d.Place, o.Place); o.Place != nil {
		d.Place = &Place{cmp.Or(d.Place.Level, o.Place.Level), cmp.Or(d.Place.Number, o.Place.Number)}
	}
	if d.Detection == nil || o.Detection == nil {
		d.Detection = cmp.Or(d.Detection, o.Detection)
	} else {
		both := *d.Detection
		if len(both.Methods) == 0 {
			both.Methods = o.Detection.Methods
		}
		if len(both.Tags) == 0 {
			both.Tags = o.Detection.Tags
		}
		d.Detection = &both
	}
	switch {
	case len(d.Properties) == 0:
		d.Properties = o.Properties
	case len(o.Properties) > 0:
		all := maps.Clone(o.Properties)
		maps.Copy(all, d.Properties)
		d.Properties = all
	}
}

// ofRobot reports whether a statement is the robot's own: of the provider of its name, or in its memory World.
func (s *Said) ofRobot(name string) bool { return s.Provider == name || s.Robot == name }

// sameGroups reports whether what came of all is what one says.
func (m *Merged) sameGroups(it *Item) bool {
	return m.Structure == it.Structure && m.Placement == it.Placement && m.Description == it.Description
}

// placement returns where it is. A pose without a frame is meant in the parent that its own
// statement names, whatever parent has come of all statements.
func (m *Merged) placement() *Placement {
	p, own := m.Placed.Item.Placement, m.Placed.Item.Structure
	if p.Frame != "" || own == nil || own.Parent == m.parent() {
		return p
	}
	q := *p
	q.Frame = own.Parent
	return &q
}

// parent returns the name of the stated parent, or "".
func (m *Merged) parent() string {
	if m.Structure == nil || m.Structure.Parent == m.Name {
		return ""
	}
	return m.Structure.Parent
}

// PlacedAt returns when its place was last stated, by the clock of who stated it.
func (m *Merged) PlacedAt() (t engram.Time, ok bool) {
	if m.Placed == nil {
		return 0, false
	}
	return m.Placed.at(m.Placement.Time), true
}

func structureTime(s *Statement) (engram.Time, bool) {
	if s.Item.Structure == nil {
		return 0, false
	}
	return s.Item.Structure.Time, true
}

// placementTime passes over a pose that is none, of which there is a note.
func placementTime(s *Statement) (engram.Time, bool) {
	if s.Item.Placement == nil || s.fault != nil {
		return 0, false
	}
	return s.Item.Placement.Time, true
}

func descriptionTime(s *Statement) (engram.Time, bool) {
	if s.Item.Description == nil {
		return 0, false
	}
	return s.Item.Description.Time, true
}

// stamp returns what decides on a group that was stated at t.
func (r *Rules) stamp(s *Statement, t engram.Time, kinds []string) stamp {
	return stamp{
		rank: s.Item.Source == Operator, place: r.place(kinds, s.Provider),
		time: s.at(t).Add(r.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot, home: s.Home,
	}
}

// living returns the statements that say something of the item after it was last removed.
// One of which any group is newer counts as a whole: a provider goes on saying all of it.
// A removal holds as long as its provider says it, with what it says of the item since, too.
func (r *Rules) living(statements []*Statement) []*Statement {
	removed := r.removals(statements)
	var live []*Statement
	for _, s := range statements {
		if !s.Item.says() {
			continue
		}
		if r.stamp(s, s.newestGroup(), nil).afterAll(removed) {
			live = append(live, s)
		}
	}
	return live
}

// unremoved returns the statements as they are once a provider says more of the item: that takes back its removal of it.
func unremoved(statements []*Statement, provider, robot string) []*Statement {
	statements = slices.Clone(statements)
	for i, s := range statements {
		if s.Provider == provider && (s.Robot == "" || s.Robot == robot) && s.Item.Removed != nil {
			again, item := *s, *s.Item
			item.Removed = nil
			again.Item = &item
			statements[i] = &again
		}
	}
	return statements
}

// removals returns the stamps by which an item was removed. What was said before of its states and of the joints that
// move it does not count either.
func (r *Rules) removals(statements []*Statement) (removed []stamp) {
	for _, s := range statements {
		if d := s.Item.Removed; d != nil {
			removed = append(removed, r.stamp(s, d.Time, nil))
		}
	}
	return removed
}

// newestGroup returns when a group was last stated, by the provider's clock.
func (s *Statement) newestGroup() engram.Time {
	newest := engram.MinTime
	for _, of := range [...]func(*Statement) (engram.Time, bool){structureTime, placementTime, descriptionTime} {
		if t, said := of(s); said {
			newest = max(newest, s.at(t))
		}
	}
	return newest
}

// kindsOf returns all kinds that anybody says, sorted.
func kindsOf(statements []*Statement) []string {
	var kinds []string
	for _, s := range statements {
		if d := s.Item.Description; d != nil {
			kinds = append(kinds, d.Kinds...)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// sum adds up what all statements give: views and evidence for labels, and whether
// anybody knows of the item otherwise than by seeing it.
func (m *Merged) sum(live []*Statement) {
	for _, s := range live {
		m.Source = max(m.Source, s.Item.Source)
		m.Views += s.Item.Views
	}
	// Sums of floats depend on their order: add them in that of the providers.
	live = slices.Clone(live)
	slices.SortFunc(live, func(a, b *Statement) int { return a.compare(&b.Said) })
	for _, s := range live {
		for label, w := range s.Item.LabelEvidence {
			if m.LabelEvidence == nil {
				m.LabelEvidence = Evidence{}
			}
			m.LabelEvidence[label] += w
		}
	}
}

// Label returns what to call the item: what an operator said, or what the evidence says,
// or its stated label.
func (m *Merged) Label() string {
	stated := ""
	if m.Description != nil {
		stated = m.Description.Label
	}
	if m.labelled {
		return stated
	}
	return m.LabelEvidence.Label(stated)
}

// whereabouts returns the statement that says where the item is, or without a pose what its
// parent is, and since when; nil if there is none.
func (m *Merged) whereabouts() (*Statement, engram.Time) {
	if t, ok := m.PlacedAt(); ok {
		return m.Placed, t
	}
	if m.Structured == nil {
		return nil, 0
	}
	return m.Structured, m.Structured.at(m.Structure.Time)
}

// atOdds returns two statements that cannot be of one thing: each says kinds that the package knows, and
// they have none of these in common. It returns nil if there are none.
func (r *Rules) atOdds(statements []*Statement) (a, b *Statement) {
	if len(statements) < 2 {
		return nil, nil
	}
	live := r.living(statements)
	for i, a := range live {
		for _, b := range live[:i] {
			if Unlike(a.Item.Description, b.Item.Description) {
				return b, a
			}
		}
	}
	return nil, nil
}

// Unlike reports whether two descriptions cannot be of one thing: each says kinds that the package knows, and they have none
// of these in common.
func Unlike(a, b *Description) bool {
	x, y := a.knownKinds(), b.knownKinds()
	return x != 0 && y != 0 && x&y == 0
}

// knownKinds returns a bit for each of the kinds that the package knows.
func (d *Description) knownKinds() (kinds uint8) {
	if d == nil {
		return 0
	}
	for i, k := range [...]string{KindMap, KindObject, KindComponent, KindRobot} {
		if slices.Contains(d.Kinds, k) {
			kinds |= 1 << i
		}
	}
	return kinds
}
