package navigation

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Goal is where a robot is to be.
type Goal struct {
	Name string    // as it was asked for; "" of a pose
	Of   engram.ID // the place, item or object that the name is of; the root of a pose
	Pose pose.Pose // of the robot's root link in the map's frame, if there is no Ring; else of the thing
	// Ring is how near to the thing the robot is to be, if any place there will do; it looks at the thing then.
	Ring *plan.Ring
}

// World is the world that goals are in, such as that of [world.Over].
type World interface {
	world.Model
	// Locations returns the places of Navigation/Location that belong to an item; all if it is "".
	Locations(ctx context.Context, item string) ([]world.Location, error)
}

// Goal returns what a name means: a place of Navigation/Location, by its own or a spoken name, else an item of the world, such as
// a thing, to which the robot goes as near as reach says, or a room, into which it goes. The error is NotFound if nothing is
// called so or it is not known where that is, and Invalid if several places are.
func (p *Planner) Goal(ctx context.Context, name string) (*Goal, error) {
	f, err := p.world.View(ctx)
	if err != nil {
		return nil, err
	}
	frame := p.costs.frame
	places, err := p.world.Locations(ctx, "")
	if err != nil {
		return nil, err
	}
	if l, err := located(places, name); l != nil || err != nil {
		if err != nil {
			return nil, err
		}
		at, err := l.In(f, frame)
		if err != nil {
			return nil, err
		}
		id, err := engram.NewID("Navigation", "Location", l.Provider, l.Name)
		return &Goal{Name: name, Of: id.At(l.Time).Instance(0), Pose: at.Pose}, err
	}
	if m := p.item(f, name); m != nil {
		return p.itemGoal(f, m, name)
	}
	known := slices.Collect(f.Spoken())
	for m := range f.All() {
		known = append(known, m.Name)
	}
	for _, l := range places {
		known = append(known, l.Name)
	}
	text := "nothing is called so: no place (Navigation/Location) and no item of the world"
	if near := spelling.Nearest(name, known); near != "" {
		text += "; did you mean " + near + "?"
	}
	return nil, engram.Errorf(engram.NotFound, name, "%s", text)
}

// located returns the place of a name; nil if there is none.
func located(places []world.Location, name string) (found *world.Location, err error) {
	called := func(l *world.Location) bool {
		return l.Name == name || slices.ContainsFunc(l.Names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	var same []string
	for i := range places {
		if l := &places[i]; called(l) {
			same = append(same, l.Who()+"/"+l.Name)
			if found == nil || l.Name == name && found.Name != name || l.Name == found.Name && l.Time > found.Time {
				found = l
			}
		}
	}
	if found != nil && found.Name != name && len(same) > 1 {
		return nil, engram.Errorf(engram.Invalid, name, "several places are called so: %s; name one by its entity", strings.Join(same, ", "))
	}
	return found, nil
}

// item returns the item of a name, or the only one that is called so; nil if there is none.
func (p *Planner) item(f *world.Forest, name string) *world.Merged {
	if m, err := f.Get(name); err == nil {
		return m
	}
	var found *world.Merged
	for m := range f.All() {
		d := m.Description
		if d == nil || !strings.EqualFold(d.Label, name) && !slices.ContainsFunc(d.SpokenNames, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
}

// itemGoal returns the goal to be near an item, or in it if it is a place.
func (p *Planner) itemGoal(f *world.Forest, m *world.Merged, name string) (*Goal, error) {
	at, err := f.Pose(p.costs.frame, m.Name)
	if err != nil {
		return nil, err
	}
	g := &Goal{Name: name, Pose: at.Pose, Ring: &p.config.Reach}
	if s := m.Placed; s != nil {
		g.Of, err = statementID(s)
	}
	if d := m.Description; d != nil && d.Box != nil {
		g.Pose = at.Pose.Mul(d.Box.Pose)
		if slices.Contains(d.Kinds, world.KindMap) {
			g.Ring = &plan.Ring{Max: min(d.Box.Size.X, d.Box.Size.Y) / 2}
		}
	}
	return g, err
}

// statementID returns the snapshot that a statement is.
func statementID(s *world.Statement) (engram.ID, error) {
	memory, segment := "World", "Item"
	switch s.Home {
	case world.InInstance:
		memory, segment = "Object", "Instance"
	case world.InAttachment:
		memory, segment = "Object", "Attachments"
	}
	id, err := engram.NewID(memory, segment, s.Provider, s.Entity)
	return id.At(s.Time), err
}

// floor returns where a pose is on the floor.
func floor(p pose.Pose) grid.Point { return grid.Point{X: p.T.X, Y: p.T.Y} }

// heading returns the pose of a robot that stands somewhere and looks at something.
func heading(at, to grid.Point) pose.Pose {
	return pose.Pose{T: pose.Vec3{X: at.X, Y: at.Y}, R: pose.RPY(0, 0, math.Atan2(to.Y-at.Y, to.X-at.X))}
}
