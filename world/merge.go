package world

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// Merged is an item as all say it is: of each group the statement that counts.
type Merged struct {
	Name string
	*Item
	// Structured, Placed and Described are the statements that the groups are of; nil for a
	// group that nobody stated.
	Structured, Placed, Described *Statement
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
	best := func(time func(*Statement) (engram.Time, bool), own, aside bool) *Statement {
		var win claim
		for _, s := range live {
			t, said := time(s)
			if !said || own && s.Provider != name && s.Robot != name {
				continue
			}
			c := claim{s, r.stamp(s, t, kinds)}
			c.aside = aside && s.Home != InWorld
			if win.s == nil || c.over(win.stamp) {
				win = c
			}
		}
		return win.s
	}
	if m.Structured = best(structureTime, robot, false); m.Structured != nil {
		m.Structure = m.Structured.Item.Structure
	}
	if m.Placed = best(placementTime, robot, false); m.Placed != nil {
		m.Placement, m.SeenIn = m.placement(), m.Placed.Item.SeenIn
	}
	// What a localiser knows of the class is no description of the item.
	if m.Described = best(descriptionTime, false, true); m.Described != nil {
		m.Description = m.Described.Item.Description
		m.complete(r, live)
	}
	m.sum(live)
	if only := live[0].Item; len(live) == 1 && m.sameGroups(only) {
		m.Item = only // as most are: nothing is kept twice
	}
	return m
}

// complete takes the class and the box that a description lacks from the newest of what
// localisers say.
func (m *Merged) complete(r *Rules, live []*Statement) {
	if d := m.Description; m.Described.Home != InWorld || d.Class != nil && d.Box != nil {
		return
	}
	var class, box claim
	for _, s := range live {
		d := s.Item.Description
		if s.Home == InWorld || d == nil {
			continue
		}
		c := claim{s, r.stamp(s, d.Time, nil)}
		if d.Class != nil && (class.s == nil || c.over(class.stamp)) {
			class = c
		}
		if d.Box != nil && (box.s == nil || c.over(box.stamp)) {
			box = c
		}
	}
	if class.s == nil && box.s == nil {
		return
	}
	d := *m.Description
	if d.Class == nil && class.s != nil {
		d.Class = class.s.Item.Description.Class
	}
	if d.Box == nil && box.s != nil {
		d.Box = box.s.Item.Description.Box
	}
	m.Description = &d
}

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
	if m.Described != nil && m.Described.Item.Source == Operator && stated != "" {
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
