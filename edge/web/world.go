package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
)

// worldJSON is what there is in the world.
type worldJSON struct {
	Items   []itemJSON `json:"items"` // by their names
	Maps    []thing    `json:"maps"`  // occupancy grids
	LeftOut int        `json:"leftOut,omitempty"`
}

// itemJSON is an item of the world.
type itemJSON struct {
	Name    string    `json:"name"`
	Label   string    `json:"label,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Waiting bool      `json:"waiting,omitempty"` // nobody has stated its parent
	Kinds   []string  `json:"kinds,omitempty"`
	Class   string    `json:"class,omitempty"`
	ID      string    `json:"id,omitempty"`     // of the entity in which most is said of it
	Root    string    `json:"root,omitempty"`   // of the tree of frames that it is in
	Pose    *poseJSON `json:"pose,omitempty"`   // of its box's centre there, or of itself
	Size    []float64 `json:"size,omitempty"`   // of its box, m
	Colour  string    `json:"colour,omitempty"` // in which it is drawn, #rrggbb
	Held    bool      `json:"held,omitempty"`   // by a robot
	Inside  bool      `json:"inside,omitempty"` // in its parent, not on it
	Doubt   string    `json:"doubt,omitempty"`  // why it is not admitted yet
	// How sure it is that it is where it is said to be, when it was seen last, and who says so; not
	// of what is nowhere.
	Belief *float64     `json:"belief,omitempty"`
	Seen   *nanoseconds `json:"seen,omitempty"`
	By     string       `json:"by,omitempty"`

	base string // the frame of a robot's base, which is where nobody states that the item is
}

// world answers the items of the world, by their names, and its occupancy grids, at a time or now:
//
//	t, asof  as of scene
func (p *scenes) world(w http.ResponseWriter, r *http.Request, q query) error {
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	f, err := p.forest(r.Context(), when)
	if err != nil {
		return err
	}
	all := worldJSON{Items: []itemJSON{}, Maps: []thing{}}
	if f != nil {
		if err := p.tell(r.Context(), when, f, &all); err != nil {
			return err
		}
	}
	return answer(w, all)
}

// tell adds the items and maps of a world.
func (p *scenes) tell(ctx context.Context, when moment, f *world.Forest, all *worldJSON) error {
	c, err := p.classes(ctx, when, f)
	if err != nil {
		return err
	}
	waits := map[string]string{} // for which parent
	for w := range f.Waiting() {
		waits[w.Item.Name] = w.Parent
	}
	for it := range f.All() {
		if len(all.Items) == maxThings {
			all.LeftOut++
			continue
		}
		j := p.describe(f, c, it, when)
		if parent, ok := waits[it.Name]; ok {
			j.Parent, j.Waiting = parent, true
		}
		all.Items = append(all.Items, j)
	}
	all.Maps = append(all.Maps, p.drawMaps(ctx, when, f)...)
	return p.placeRobots(ctx, when, all.Items)
}

func (p *scenes) describe(f *world.Forest, c classes, it *world.Merged, when moment) itemJSON {
	j := itemJSON{Name: it.Name, Label: it.Label(), ID: p.saidOf(it)}
	if it.Structure != nil {
		j.Parent = it.Structure.Parent
	}
	center := pose.Identity()
	if d := it.Description; d != nil {
		j.Kinds, j.Class = d.Kinds, d.ClassName()
		color := colourOf(d)
		j.Colour = fmt.Sprintf("#%02x%02x%02x", byte(255*color.R), byte(255*color.G), byte(255*color.B))
		switch is := c.formOf(d); {
		case is.box != nil:
			center, j.Size = is.box.Pose, []float64{is.box.Size.X, is.box.Size.Y, is.box.Size.Z}
		case is.shape != nil && is.shape.Kind <= world.ShapeSphere:
			j.Size = []float64{is.shape.Size.X, is.shape.Size.Y, is.shape.Size.Z}
			if is.shape.Pose != nil {
				center = *is.shape.Pose
			}
		}
		if d.Robot != nil {
			j.base = lookup.Absolute(it.Name, d.Robot.Base)
		}
	}
	if root, rootFromItem, ok := world.Root(f, it.Name); ok {
		j.Root, j.Pose = root, jsonPose(rootFromItem.Mul(center))
	}
	if a, err := f.Account(it.Name, when.at, nil); err == nil {
		j.Held, j.Inside, j.Doubt = a.Held, a.Inside, a.Provisional
		if a.Known {
			seen := nanoseconds(a.Seen)
			j.Belief, j.Seen, j.By = &a.P, &seen, a.By
		}
	}
	return j
}

// placeRobots has robots of which nobody states where they are be where their bases are by the
// poses, in the tree of frames in which most items are.
func (p *scenes) placeRobots(ctx context.Context, when moment, items []itemJSON) error {
	count, root := map[string]int{}, ""
	var robots []*itemJSON
	for i := range items {
		j := &items[i]
		if j.base != "" && (j.Pose == nil || j.Root == j.Name) { // a tree of its own
			robots = append(robots, j)
			continue
		}
		if j.Pose == nil {
			continue
		}
		if count[j.Root]++; count[j.Root] > count[root] || count[j.Root] == count[root] && j.Root < root {
			root = j.Root
		}
	}
	if len(robots) == 0 || root == "" {
		return nil
	}
	questions := make([]lookup.Question, len(robots))
	for i, j := range robots {
		questions[i] = lookup.Question{Target: root, Source: j.base, Time: when.at}
		if when.now {
			questions[i].When = lookup.LatestCommon
		}
	}
	answers, err := p.poses.LookUp(ctx, questions)
	if err != nil {
		return ctx.Err() // who may not ask for poses sees no robots
	}
	// What was known at another time, and what the poses have no more, the memory knows.
	if when.asOf != nil || !when.now && slices.ContainsFunc(answers, func(a lookup.Answer) bool { return a.Err != nil }) {
		past, err := p.pastPoses(ctx, when)
		if err != nil {
			return err
		}
		if answers, err = past.LookUp(ctx, questions); err != nil {
			return err
		}
	}
	for i, a := range answers {
		if a.Err == nil {
			robots[i].Root, robots[i].Pose = root, jsonPose(a.Pose)
		}
	}
	return nil
}
