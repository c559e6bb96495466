package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// partSize is how many rows are handed over together.
const partSize = 512

// rows hands rows over in parts.
type rows struct {
	v     *view
	whole bool
	part  func([]answer.Row) error
	ready []answer.Row
}

// add adds a row for the caller to fill. It hands a part over first if that is full.
func (r *rows) add() (*answer.Row, error) {
	if r.ready == nil {
		r.ready = make([]answer.Row, 0, partSize)
	}
	if len(r.ready) == partSize {
		if err := r.flush(); err != nil {
			return nil, err
		}
	}
	r.ready = append(r.ready, answer.Row{Distance: -1})
	return &r.ready[len(r.ready)-1], nil
}

// flush hands over what is left.
func (r *rows) flush() error {
	if len(r.ready) == 0 {
		return nil
	}
	err := r.part(r.ready)
	r.ready = r.ready[:0]
	return err
}

// item adds the row of an item, with all that is known of it where that is wanted.
func (r *rows) item(m *world.Merged, a *world.Account) (*answer.Row, error) {
	row, err := r.add()
	if err != nil {
		return nil, err
	}
	r.v.tell(row, m, a)
	if r.whole {
		row.Item = r.v.item(m)
	}
	return row, nil
}

// tell has a row tell of an item in brief.
func (v *view) tell(row *answer.Row, m *world.Merged, a *world.Account) {
	row.Name, row.Kinds, row.SaidBy = m.Name, Kinds(m), Speakers(m)
	row.Known, row.Provisional, row.Notes = a.Known, a.Provisional, v.remarks(m, a)
	if a.Known {
		row.Age, row.Belief = a.Age(), a.P
	}
	if j := world.Moving(v.Forest, m); j != nil {
		row.Joint = jointOf(j)
	}
}

// tree adds an item of a level and those below it. It keeps its own stack: a tree may be as deep as there are items.
func (r *rows) tree(m *world.Merged, level int, last bool) error {
	type branch struct {
		m     *world.Merged
		level int
		last  bool
	}
	for stack := []branch{{m, level, last}}; len(stack) > 0; {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		a := r.v.account(b.m)
		row, err := r.item(b.m, &a)
		if err != nil {
			return err
		}
		row.Level, row.Last = b.level, b.last
		first := len(stack)
		for c := range world.Below(r.v.Forest, b.m) {
			stack = append(stack, branch{c, b.level + 1, false})
		}
		if len(stack) > first {
			stack[len(stack)-1].last = true
		}
		slices.Reverse(stack[first:])
	}
	return nil
}

// all adds the trees of the roots, then, below the names of parents that are not there, the
// items that wait for them.
func (r *rows) all() error {
	for m := range r.v.Roots() {
		if err := r.tree(m, 1, false); err != nil {
			return err
		}
	}
	waiting := slices.Collect(r.v.Waiting())
	for i, w := range waiting {
		if i == 0 || waiting[i-1].Parent != w.Parent {
			row, err := r.add()
			if err != nil {
				return err
			}
			row.Name, row.Level, row.Absent = w.Parent, 1, world.Absence(r.v.Forest, w.Parent)
		}
		if err := r.tree(w.Item, 2, i == len(waiting)-1 || waiting[i+1].Parent != w.Parent); err != nil {
			return err
		}
	}
	return nil
}

// list adds the items that a filter wants, and returns how many it left out because of their presence.
func (r *rows) list(found []world.Neighbour, f *answer.Filter) (left answer.LeftOut, err error) {
	for _, n := range found {
		if f.Kind != "" && !n.Is(f.Kind) || f.Class != "" && (n.Description == nil || n.Description.ClassName() != f.Class) {
			continue
		}
		a := r.v.account(n.Merged)
		if f.Presence != answer.All && a.Present() != (f.Presence == answer.Present) {
			if a.Provisional != "" {
				left.Provisional++
			} else {
				left.Gone++
			}
			continue
		}
		row, err := r.item(n.Merged, &a)
		if err != nil {
			return left, err
		}
		row.Distance = n.Distance
	}
	return left, r.flush()
}

// near returns what lies around an item or a point, the nearest first, without the item.
func (v *view) near(n *answer.Near) ([]world.Neighbour, error) {
	frame, at, err := v.point(n.Around)
	if err != nil {
		return nil, err
	}
	found, err := v.Near(frame, at, n.Radius)
	return slices.DeleteFunc(found, func(m world.Neighbour) bool { return m.Name == n.Around }), err
}

// in returns what is in a place, the nearest to its origin first.
func (v *view) in(called string) ([]world.Neighbour, error) {
	place, err := v.place(called)
	if err != nil {
		return nil, err
	}
	items, err := v.In(place.Name)
	var found []world.Neighbour
	for _, m := range items {
		n := world.Neighbour{Merged: m, Distance: -1}
		if at, err := v.Pose(place.Name, m.Name); err == nil {
			n.Distance = at.Pose.T.Norm()
		}
		found = append(found, n)
	}
	slices.SortStableFunc(found, func(a, b world.Neighbour) int {
		if (a.Distance < 0) != (b.Distance < 0) {
			return cmp.Compare(b.Distance, a.Distance) // those of unknown distance are last
		}
		return cmp.Compare(a.Distance, b.Distance)
	})
	return found, err
}

// point returns an item's origin, or a point that is written x,y,z@FRAME; without a frame in
// that of the only root.
func (v *view) point(text string) (frame string, at pose.Vec3, err error) {
	if v.Has(text) {
		return text, at, nil
	}
	numbers, frame, framed := strings.Cut(text, "@")
	if !strings.Contains(numbers, ",") {
		return "", at, Unknown(v.Forest, text)
	}
	if at, err = parsePoint(numbers); err != nil {
		return "", at, err
	}
	if framed {
		if _, err := v.Near(frame, at, 0); err != nil {
			return "", at, Unknown(v.Forest, frame)
		}
		return frame, at, nil
	}
	var roots []string
	for m := range v.Roots() {
		roots = append(roots, m.Name)
	}
	if len(roots) != 1 {
		return "", at, engram.Errorf(engram.Invalid, text, "in which frame? There are %d roots; write x,y,z@FRAME", len(roots))
	}
	return roots[0], at, nil
}

// parsePoint reads a point that is written x,y,z.
func parsePoint(text string) (at pose.Vec3, err error) {
	words := strings.Split(text, ",")
	if len(words) != 3 {
		return at, engram.Errorf(engram.Invalid, text, "a point has 3 numbers, and not %d; write x,y,z or x,y,z@FRAME", len(words))
	}
	for i, n := range []*float64{&at.X, &at.Y, &at.Z} {
		if *n, err = strconv.ParseFloat(strings.TrimSpace(words[i]), 64); err != nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
			return at, engram.Errorf(engram.Invalid, text, "%q is no finite number; write x,y,z or x,y,z@FRAME", words[i])
		}
	}
	return at, nil
}
