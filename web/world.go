package web

import (
	"net/http"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// itemJSON is an item of the world.
type itemJSON struct {
	Name    string    `json:"name"`
	Label   string    `json:"label,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Waiting bool      `json:"waiting,omitempty"` // nobody has stated its parent
	Kinds   []string  `json:"kinds,omitempty"`
	Class   string    `json:"class,omitempty"`
	ID      string    `json:"id,omitempty"`   // of the entity in which most is said of it
	Root    string    `json:"root,omitempty"` // of the tree of frames that it is in
	Pose    *poseJSON `json:"pose,omitempty"` // of its box's centre there, or of itself
	Size    []float64 `json:"size,omitempty"` // of its box, m
	// How sure it is that it is where it is said to be, when it was seen last, and who says so; not
	// of what is nowhere.
	Belief *float64     `json:"belief,omitempty"`
	Seen   *nanoseconds `json:"seen,omitempty"`
	By     string       `json:"by,omitempty"`
	Held   bool         `json:"held,omitempty"`   // by a robot
	Inside bool         `json:"inside,omitempty"` // in its parent, not on it
}

// world answers with the items of the world, by their names, and its occupancy grids, at a time or now:
//
//	/view/world?t=TIME&asof=TIME
func (p *Page) world(w http.ResponseWriter, r *http.Request, q query) error {
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	f, err := p.forest(r.Context(), when)
	if err != nil {
		return err
	}
	all := struct {
		Items []itemJSON `json:"items"`
		Maps  []thing    `json:"maps"`
	}{[]itemJSON{}, []thing{}}
	if f != nil {
		waits := map[string]string{} // for which parent
		for w := range f.Waiting() {
			waits[w.Item.Name] = w.Parent
		}
		for it := range f.All() {
			j := describe(f, it, when.at)
			if parent, ok := waits[it.Name]; ok {
				j.Parent, j.Waiting = parent, true
			}
			all.Items = append(all.Items, j)
		}
		all.Maps = append(all.Maps, drawMaps(f)...)
	}
	return answer(w, all)
}

func describe(f *world.Forest, it *world.Merged, at engram.Time) itemJSON {
	j := itemJSON{Name: it.Name, Label: it.Label()}
	if it.Structure != nil {
		j.Parent = it.Structure.Parent
	}
	for _, s := range []*world.Statement{it.Placed, it.Described, it.Structured} {
		if s != nil {
			j.ID = entityOf(s)
			break
		}
	}
	center := pose.Identity()
	if d := it.Description; d != nil {
		j.Kinds, j.Class = d.Kinds, d.ClassName()
		switch {
		case d.Box != nil:
			center, j.Size = d.Box.Pose, []float64{d.Box.Size.X, d.Box.Size.Y, d.Box.Size.Z}
		case d.Shape != nil && slices.Contains([]world.ShapeKind{world.ShapeBox, world.ShapeCylinder, world.ShapeSphere}, d.Shape.Kind):
			j.Size = []float64{d.Shape.Size.X, d.Shape.Size.Y, d.Shape.Size.Z}
			if d.Shape.Pose != nil {
				center = *d.Shape.Pose
			}
		}
	}
	if root, rootFromItem, ok := world.Root(f, it.Name); ok {
		j.Root, j.Pose = root, jsonPose(rootFromItem.Mul(center))
	}
	if a, err := f.Account(it.Name, at, nil); err == nil {
		j.Held, j.Inside = a.Held, a.Inside
		if a.Known {
			seen := nanoseconds(a.Seen)
			j.Belief, j.Seen, j.By = &a.P, &seen, a.By
		}
	}
	return j
}
