package world

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
)

// Difference is how an item differs in two forests.
type Difference struct {
	Name          string
	Before, After *Merged // nil where it is not
	// Moved says that it is elsewhere: in its parent, or if that has changed in the root of its
	// tree; by how far in metres and rad. What it is in may have moved with it, which is told of that.
	Moved       bool
	Trans, Rot  float64
	Reparented  bool // in Structure
	Relabelled  bool // what it is called
	Redescribed bool // in its Description otherwise
	States      []StateDifference
	// Linked says that there is a component of its name now and was none, Unlinked the reverse.
	Linked, Unlinked bool
}

// StateDifference is how a state of an item differs; nil is not stated.
type StateDifference struct {
	Name          string
	Before, After *StateStatement
}

// Diff returns how the items of two forests differ, by name: all, or those that are named. Moved
// is what moved further than the threshold.
func Diff(before, after *Forest, th pose.Threshold, names ...string) []Difference {
	if names == nil {
		all := map[string]bool{}
		for _, f := range []*Forest{before, after} {
			for m := range f.All() {
				all[m.Name] = true
			}
		}
		names = slices.Sorted(maps.Keys(all))
	}
	var differences []Difference
	for _, name := range names {
		if d, differs := diffItem(before, after, th, name); differs {
			differences = append(differences, d)
		}
	}
	return differences
}

// rounding is by how much poses may differ that are the same, in metres and rad.
const rounding = 1e-9

func diffItem(before, after *Forest, th pose.Threshold, name string) (Difference, bool) {
	d := Difference{Name: name}
	a, b := before.item(name), after.item(name)
	if a != nil {
		d.Before = a.merged
	}
	if b != nil {
		d.After = b.merged
	}
	if a == nil || b == nil {
		return d, a != nil || b != nil
	}
	d.Reparented = upward(before, a) != upward(after, b)
	d.Relabelled = a.merged.Label() != b.merged.Label()
	d.Redescribed = !sameDescription(a.merged.Description, b.merged.Description)
	d.States = diffStates(before, after, name)
	_, was := before.Components().Get(name)
	_, is := after.Components().Get(name)
	d.Linked, d.Unlinked = was != nil && is == nil, was == nil && is != nil
	posed := (a.merged.Placement == nil) != (b.merged.Placement == nil)
	if from, to, ok := d.places(before, after); ok {
		apart := from.Inverse().Mul(to)
		d.Trans, d.Rot = to.T.Sub(from.T).Norm(), pose.Log(apart).Phi.Norm()
		d.Moved = d.Trans > max(th.Trans, rounding) || d.Rot > max(th.Rot, rounding)
	}
	return d, d.Reparented || d.Relabelled || d.Redescribed || d.Moved || posed || len(d.States) > 0 || d.Linked || d.Unlinked
}

// upward returns the name of the parent that the forest gives the node; "" if none.
func upward(f *Forest, n *node) string {
	if p := f.parent(n); p != nil {
		return p.name
	}
	return ""
}

// places returns where the item was and is, in one frame.
func (d *Difference) places(before, after *Forest) (from, to pose.Pose, ok bool) {
	a, b := before.item(d.Name), after.item(d.Name)
	frame := upward(before, a)
	if d.Reparented || frame == "" {
		frame = before.node(a.root).name
	}
	x, err := before.Pose(frame, d.Name)
	y, err2 := after.Pose(frame, d.Name)
	if err != nil || err2 != nil || before.node(a.root).name != after.node(b.root).name {
		return from, to, false
	}
	return x.Pose, y.Pose, true
}

// sameDescription compares all but the label and the time.
func sameDescription(a, b *Description) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Label, x.Time, y.Label, y.Time = "", 0, "", 0
	return a == b || reflect.DeepEqual(x, y)
}

func diffStates(before, after *Forest, name string) (found []StateDifference) {
	old, _ := before.States(name) // the item is in both
	now, _ := after.States(name)
	byName := map[string]StateDifference{}
	for _, s := range old {
		byName[s.State.Name] = StateDifference{Name: s.State.Name, Before: s}
	}
	for _, s := range now {
		d := byName[s.State.Name]
		d.Name, d.After = s.State.Name, s
		byName[s.State.Name] = d
	}
	for _, state := range slices.Sorted(maps.Keys(byName)) {
		d := byName[state]
		if d.Before == nil || d.After == nil || !reflect.DeepEqual(d.Before.State.Value, d.After.State.Value) {
			found = append(found, d)
		}
	}
	return found
}

// Removed returns the newest statement that removed an item that is no more.
func (f *Forest) Removed(name string) (newest *Statement, ok bool) {
	if f.Has(name) {
		return nil, false
	}
	at := func(s *Statement) int64 { return int64(s.at(s.Item.Removed.Time).Add(f.rules.Offsets[s.Robot])) }
	for _, s := range f.Statements(name) {
		if s.Item.Removed != nil && (newest == nil || at(s) > at(newest)) {
			newest = s
		}
	}
	return newest, newest != nil
}

// Changed yields the names of items that may differ in two forests, or be elsewhere, or are in one
// of both only. Of forests of one world it costs what differs; else all may.
func Changed(before, after *Forest) iter.Seq[string] {
	return func(yield func(string) bool) {
		shared := before.names == after.names
		for _, pair := range [2][2]*Forest{{after, before}, {before, after}} {
			in, other := pair[0], pair[1]
			for i, p := range in.pages {
				if shared && i < len(other.pages) && other.pages[i] == p {
					continue
				}
				for _, n := range p.nodes {
					if n == nil || n.merged == nil {
						continue
					}
					switch o := other.item(n.name); {
					case o == n:
					case o != nil && in == before: // told already
					case !yield(n.name):
						return
					}
				}
			}
		}
	}
}
