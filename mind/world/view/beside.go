package view

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// Joints returns the joints of a forest by name.
func Joints(f *world.Forest) (all []answer.Joint) {
	for j := range f.Joints().All() {
		o := answer.Joint{
			Name: j.Name, Moved: j.Moved, ItemJoint: *jointOf(j.Articulation), Reference: j.Reference,
			Pose: j.Pose, Direction: j.Direction, SaidBy: j.Described.Who(),
		}
		for _, name := range []string{j.Base, j.Moved} {
			if !f.Has(name) {
				o.Notes = append(o.Notes, strings.TrimSuffix(Missing(f, name), " yet"))
			}
		}
		if l := j.Limits; j.Value != nil && l != nil && (*j.Value < l.Lower-1e-9 || *j.Value > l.Upper+1e-9) {
			o.Notes = append(o.Notes, "its value is outside of its limits")
		}
		all = append(all, o)
	}
	return all
}

// chooseMaps returns the maps that serve, and then those that do not.
func (v *view) chooseMaps(of *answer.Maps) ([]answer.Map, error) {
	q := world.MapQuery{Sensors: of.Sensors, Algorithms: of.Algorithms}
	if of.Kind != "" {
		i := slices.Index(world.MapKinds, of.Kind)
		if i < 0 {
			return nil, engram.Errorf(engram.Invalid, of.Kind, "there is no such kind of map; there are %s", strings.Join(world.MapKinds, ", "))
		}
		q.Kind = new(world.MapKind(i))
	}
	if of.Place != "" {
		place, err := v.place(of.Place)
		if err != nil {
			return nil, err
		}
		q.Place = place.Name
	}
	serving, left, err := v.Maps().Choose(q)
	if err != nil {
		return nil, err
	}
	var all []answer.Map
	for i := range serving {
		all = append(all, mapOf(&serving[i], true))
	}
	for i := range left {
		all = append(all, mapOf(&left[i], false))
	}
	return all, nil
}

func mapOf(c *world.MapChoice, serves bool) answer.Map {
	m := c.Map
	o := answer.Map{
		Name: c.Name, Serves: serves, Why: c.Reasons, Kind: m.Kind.String(), Describes: m.Describes, Frame: m.Frame, Resolution: m.Resolution,
		Format: m.Format, URL: m.URL, SHA256: m.SHA256, Sensors: m.Sensors, Algorithms: m.Algorithms, Author: m.Author, Created: m.Created,
		Quality: m.Quality, SaidBy: c.Who(), Time: c.Time, Properties: properties(m.Properties),
	}
	if m.Link != (engram.ID{}) {
		o.Link = m.Link.String()
	}
	return o
}

// component tells of a component.
func (v *view) component(s *world.ComponentStatement) *answer.Component {
	c := s.Component
	return &answer.Component{
		Name: s.Name, Kind: c.Kind, Robot: c.Robot, Running: c.Running, Item: v.Has(s.Name), Frame: c.Frame,
		Inputs: c.Inputs, Outputs: c.Outputs, StartedBy: c.StartedBy, SaidBy: s.Who(),
	}
}

// components returns the components by name, and their pipes.
func (v *view) components() (all []answer.Component, pipes []answer.Pipe) {
	for s := range v.Components().All() {
		all = append(all, *v.component(s))
	}
	for _, p := range v.Components().Pipes() {
		pipes = append(pipes, answer.Pipe(p))
	}
	return all, pipes
}

// covers returns which sensors reach something.
func (v *view) covers(what string) ([]answer.Cover, error) {
	var covers []world.Cover
	var unknown []world.Uncovered
	place, err := v.place(what)
	if err == nil {
		covers, unknown, err = v.Components().CoverItem(place.Name)
	} else if strings.Contains(what, ",") {
		frame, at, problem := v.point(what)
		if problem != nil {
			return nil, problem
		}
		covers, unknown, err = v.Components().CoverPoint(frame, at)
	} else if !strings.Contains(what, "/") {
		err = Unknown(v.Forest, what)
	}
	if err != nil {
		return nil, err
	}
	var all []answer.Cover
	for i := range covers {
		c := &covers[i]
		all = append(all, answer.Cover{Component: *v.component(c.ComponentStatement), Distance: c.Distance, Share: c.Share})
	}
	for _, u := range unknown {
		all = append(all, answer.Cover{Component: *v.component(u.ComponentStatement), Unknown: u.Why})
	}
	return all, nil
}
