package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// item returns all that is known of an item that is there.
func (v *view) item(m *world.Merged) *answer.Item {
	a := v.account(m)
	o := &answer.Item{
		Name: m.Name, Time: v.at, Parent: a.Parent, Label: m.Label(), Path: v.pathTo(m.Name), Maps: v.mapsOf(m.Name),
		Present: a.Present(), Provisional: a.Provisional, Notes: v.remarks(m, &a), Account: a.String(),
	}
	if o.Pose = v.poseIn(a.Parent, m); o.Pose == nil {
		o.Pose = v.poseIn("", m)
	}
	for _, above := range o.Path {
		if above == m.Name || above == a.Parent {
			break
		}
		if o.InRoot = v.poseIn(above, m); o.InRoot != nil {
			break // a city above may have no pose
		}
	}
	if d := m.Description; d != nil {
		describe(o, d)
	}
	if m.SeenIn != nil {
		o.SeenIn = m.SeenIn.String()
	}
	states, _ := v.States(m.Name) // the item is there
	for _, s := range states {
		since := world.Corrected(v.Forest, &s.Said, s.Time)
		o.States = append(o.States, answer.State{
			Name: s.State.Name, Value: valueJSON(s.State.Value), Confidence: s.ConfidenceAt(v.at.Add(s.Time.Sub(since))), Source: s.State.Source.String(),
			SaidBy: s.Who(), Time: s.Time, Since: since, HalfLife: s.State.HalfLife,
		})
	}
	if j := world.Moving(v.Forest, m); j != nil {
		o.Joint = jointOf(j)
	}
	if c, err := v.Components().Get(m.Name); err == nil {
		o.Component = v.component(c)
	}
	if a.Known {
		o.Belief = &answer.Belief{P: a.P, Seen: a.Seen, By: a.By, Source: a.Source.String(), Looked: a.Looked}
	}
	for _, s := range v.Statements(m.Name) {
		o.Statements = append(o.Statements, statementOf(v.Forest, m, s))
	}
	return o
}

// mapsOf returns the names of the maps that describe an item.
func (v *view) mapsOf(name string) []string {
	if v.maps == nil {
		v.maps = map[string][]string{}
		for s := range v.Maps().All() {
			for i, described := range s.Map.Describes {
				if !slices.Contains(s.Map.Describes[:i], described) {
					v.maps[described] = append(v.maps[described], s.Name)
				}
			}
		}
	}
	return v.maps[name]
}

// pathTo returns the names from the root to an item.
func (v *view) pathTo(name string) []string {
	path, _ := v.PathToRoot(name) // the item is there
	names := make([]string, len(path))
	for i, m := range path {
		names[len(path)-1-i] = m.Name
	}
	return names
}

// poseIn returns where an item is in its parent or another item, or, without one, in the frame
// that its pose names; nil if nobody knows.
func (v *view) poseIn(frame string, m *world.Merged) *answer.Pose {
	if frame == "" && m.Placement != nil {
		frame = m.Placement.Frame
	}
	if frame == "" {
		return nil
	}
	at, err := v.Pose(frame, m.Name)
	if err != nil {
		return nil
	}
	return &answer.Pose{Frame: frame, Pose: at.Pose, Cov: at.Cov}
}

func describe(o *answer.Item, d *world.Description) {
	o.Kinds, o.SpokenNames, o.Maintainer, o.Properties = d.Kinds, d.SpokenNames, d.Maintainer, properties(d.Properties)
	if d.Class != nil {
		o.Class = d.Class.String()
	}
	if s := d.Shape; s != nil {
		o.Shape = &answer.Shape{Kind: s.Kind.String(), Pose: s.Pose, Size: s.Size, Mesh: s.Mesh, Outline: s.Outline}
	}
	if d.Box != nil {
		o.Box = (*answer.Box)(d.Box)
	}
	o.Place, o.Robot, o.Detection = (*answer.Place)(d.Place), (*answer.RobotFrames)(d.Robot), (*answer.Detection)(d.Detection)
}

// valueType is the type of values of states and properties, which all registries know.
var valueType = sync.OnceValue(func() *idf.Type {
	t, _ := idf.NewRegistry().Get(engram.ValueType)
	return t
})

// valueJSON returns a value of a state or property as JSON has it, as payloads do: what JSON has
// no number for is a text.
func valueJSON(v any) json.RawMessage {
	b, err := idf.EncodeValue(v)
	if err == nil {
		var j []byte
		if j, err = valueType().JSON(b, idf.JSONOptions{SummarizeBytes: 256}); err == nil {
			return j
		}
	}
	text, _ := json.Marshal(fmt.Sprint(v)) // a string has JSON
	return text
}

func properties(values map[string]any) (all []answer.Property) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, answer.Property{Name: name, Value: valueJSON(values[name])})
	}
	return all
}

// jointOf returns a joint as a property of what it moves.
func jointOf(j *world.Articulation) *answer.ItemJoint {
	return &answer.ItemJoint{
		Kind: j.Kind.String(), Base: j.Base, Value: j.Value, Sigma: j.Sigma, Limits: (*answer.Limits)(j.Limits), Radius: j.Radius, Serves: j.Serves,
	}
}

// statementOf tells of a statement on an item, and what of it counts.
func statementOf(f *world.Forest, m *world.Merged, s *world.Statement) answer.Statement {
	home := map[world.Home]string{world.InInstance: "Object/Instance", world.InAttachment: "Object/Attachments"}[s.Home]
	o := answer.Statement{Provider: s.Provider, Robot: s.Robot, Home: home, Time: s.Time, Since: world.Corrected(f, &s.Said, s.Time)}
	for _, g := range []struct {
		name string
		said bool
		won  bool
	}{
		{"parent", s.Item.Structure != nil, m.Structured == s},
		{"pose", s.Item.Placement != nil, m.Placed == s},
		{"description", s.Item.Description != nil, s.Item.Description != nil && world.Describes(f, s)},
	} {
		if g.said {
			o.Says = append(o.Says, g.name)
		}
		if g.said && g.won {
			o.Counts = append(o.Counts, g.name)
		}
	}
	if r := s.Item.Removed; r != nil {
		o.Says, o.Reason = append(o.Says, "removed"), r.Reason
	}
	if len(o.Says) > 0 { // what is withdrawn has none
		o.Source = s.Item.Source.String()
	}
	return o
}
