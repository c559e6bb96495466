package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// itemJSON is an item as the commands of world print it.
type itemJSON struct {
	Name        string             `json:"name"`
	Kinds       []string           `json:"kinds,omitempty"`
	Parent      string             `json:"parent,omitempty"`
	Path        []string           `json:"path"` // from the root to the item
	Distance    *float64           `json:"distance,omitempty"`
	Label       string             `json:"label,omitempty"`
	SpokenNames []string           `json:"spoken_names,omitempty"`
	Class       string             `json:"class,omitempty"`
	Pose        *itemPoseJSON      `json:"pose,omitempty"`    // in the parent, or in the frame that it was stated in
	InRoot      *itemPoseJSON      `json:"in_root,omitempty"` // of the tree, as far up as poses are known
	Shape       *itemShapeJSON     `json:"shape,omitempty"`
	Box         *itemBoxJSON       `json:"box,omitempty"`
	Place       *itemPlaceJSON     `json:"place,omitempty"`
	Robot       *itemRobotJSON     `json:"robot,omitempty"`
	Detection   *itemDetectionJSON `json:"detection,omitempty"`
	Maintainer  string             `json:"maintainer,omitempty"`
	Properties  map[string]any     `json:"properties,omitempty"`
	SeenIn      string             `json:"seen_in,omitempty"`
	States      []itemStateJSON    `json:"states,omitempty"`
	Joint       *itemJointJSON     `json:"joint,omitempty"` // that moves it
	Component   *componentJSON     `json:"component,omitempty"`
	Maps        []string           `json:"maps,omitempty"` // that describe it
	Belief      *itemBeliefJSON    `json:"belief,omitempty"`
	Present     bool               `json:"present"`
	Provisional string             `json:"provisional,omitempty"` // why
	Notes       []string           `json:"notes,omitempty"`
	Statements  []itemSaidJSON     `json:"statements"`
}

type itemPoseJSON struct {
	Frame       string          `json:"frame"`
	Translation [3]float64      `json:"translation"`
	Rotation    quatJSON        `json:"rotation"`
	Uncertainty string          `json:"uncertainty"`
	Covariance  *[6][6]*float64 `json:"covariance,omitempty"`
}

type itemShapeJSON struct {
	Kind    string       `json:"kind"`
	Pose    *placeJSON   `json:"pose,omitempty"` // of its own frame
	Size    [3]float64   `json:"size"`
	Mesh    string       `json:"mesh,omitempty"`
	Outline [][3]float64 `json:"outline,omitempty"`
}

type itemBoxJSON struct {
	Pose placeJSON  `json:"pose"`
	Size [3]float64 `json:"size"`
}

type itemPlaceJSON struct {
	Level  string `json:"level,omitempty"`
	Number string `json:"number,omitempty"`
}

type itemRobotJSON struct {
	Odom string `json:"odom,omitempty"`
	Base string `json:"base,omitempty"`
}

type itemDetectionJSON struct {
	Methods []string `json:"methods,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

type itemStateJSON struct {
	Name       string      `json:"name"`
	Value      any         `json:"value"`
	Confidence float64     `json:"confidence"` // at the time asked for
	Source     string      `json:"source"`
	Provider   string      `json:"provider"`
	Time       engram.Time `json:"time"` // by the clock of who says so
	HalfLife   string      `json:"half_life,omitempty"`

	since engram.Time // Time by this robot's clock
}

type itemJointJSON struct {
	Kind   string   `json:"kind"`
	Base   string   `json:"base"`
	Value  *float64 `json:"value,omitempty"` // rad or m
	Sigma  float64  `json:"sigma,omitempty"`
	Lower  *float64 `json:"lower,omitempty"`
	Upper  *float64 `json:"upper,omitempty"`
	Radius float64  `json:"radius,omitempty"`
	Serves []string `json:"serves,omitempty"`
}

type itemBeliefJSON struct {
	P      float64     `json:"p"`
	Seen   engram.Time `json:"seen"` // or stated
	By     string      `json:"by"`
	Source string      `json:"source"`
	Looked int         `json:"looked"` // since, and not seen
	Text   string      `json:"text"`
}

type itemSaidJSON struct {
	Provider string      `json:"provider"`
	Robot    string      `json:"robot,omitempty"`
	Home     string      `json:"home,omitempty"`   // where it stands if not in World/Item
	Source   string      `json:"source,omitempty"` // of what it says; "" if that is nothing
	Time     engram.Time `json:"time"`             // by the clock of who says so
	Says     []string    `json:"says"`             // structure, pose, description or removed
	Counts   []string    `json:"counts"`           // of these
	Reason   string      `json:"reason,omitempty"`

	since engram.Time // Time by this robot's clock
}

func list3(v pose.Vec3) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// object returns all that is known of an item that is there.
func (v *worldView) object(m *world.Merged) itemJSON {
	a := v.account(m.Name)
	o := itemJSON{Name: m.Name, Parent: a.Parent, Label: m.Label(), Present: a.Present(), Provisional: a.Provisional, Notes: v.remarks(m, &a)}
	o.Path = v.pathTo(m.Name)
	if a.Provisional != "" {
		o.Notes = o.Notes[1:]
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
		o.describe(d)
	}
	if m.SeenIn != nil {
		o.SeenIn = m.SeenIn.String()
	}
	states, _ := v.States(m.Name) // the item is there
	for _, s := range states {
		since := world.Corrected(v.Forest, &s.Said, s.Time)
		state := itemStateJSON{
			Name: s.State.Name, Value: valueObject(s.State.Value), Confidence: s.ConfidenceAt(v.at.Add(s.Time.Sub(since))), Source: s.State.Source.String(),
			Provider: s.Who(), Time: s.Time, since: since,
		}
		if s.State.HalfLife > 0 {
			state.HalfLife = words.Duration(s.State.HalfLife)
		}
		o.States = append(o.States, state)
	}
	if j, err := v.Joint(m.Name); err == nil {
		o.Joint = jointObject(j)
	}
	if c, err := v.Components().Get(m.Name); err == nil {
		o.Component = v.componentObject(c)
	}
	for s := range v.Maps().All() {
		if slices.Contains(s.Map.Describes, m.Name) {
			o.Maps = append(o.Maps, s.Name)
		}
	}
	if a.Known {
		o.Belief = &itemBeliefJSON{a.P, a.Seen, a.By, a.Source.String(), a.Looked, a.String()}
	}
	for _, s := range v.Statements(m.Name) {
		said := saidObject(v.Forest, m, s)
		said.since = world.Corrected(v.Forest, &s.Said, s.Time)
		o.Statements = append(o.Statements, said)
	}
	return o
}

// pathTo returns the names from the root to an item.
func (v *worldView) pathTo(name string) []string {
	path, _ := v.PathToRoot(name) // the item is there
	names := make([]string, len(path))
	for i, m := range path {
		names[len(path)-1-i] = m.Name
	}
	return names
}

// poseIn returns where an item is in its parent or another item, or, without one, in the frame
// that its pose names; nil if nobody knows.
func (v *worldView) poseIn(frame string, m *world.Merged) *itemPoseJSON {
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
	o := &itemPoseJSON{Frame: frame, Translation: list3(at.Pose.T), Rotation: quatObject(at.Pose.R)}
	o.Uncertainty, o.Covariance = covObject(&at.Cov)
	if at.Cov.State() == pose.Exact {
		o.Covariance = nil
	}
	return o
}

func (o *itemJSON) describe(d *world.Description) {
	o.Kinds, o.SpokenNames, o.Maintainer, o.Properties = d.Kinds, d.SpokenNames, d.Maintainer, valueObjects(d.Properties)
	if d.Class != nil {
		o.Class = d.Class.String()
	}
	if s := d.Shape; s != nil {
		o.Shape = &itemShapeJSON{Kind: s.Kind.String(), Size: list3(s.Size), Mesh: s.Mesh}
		if s.Pose != nil {
			o.Shape.Pose = placeObject(*s.Pose)
		}
		for _, corner := range s.Outline {
			o.Shape.Outline = append(o.Shape.Outline, list3(corner))
		}
	}
	if d.Box != nil {
		o.Box = &itemBoxJSON{*placeObject(d.Box.Pose), list3(d.Box.Size)}
	}
	if d.Place != nil {
		o.Place = &itemPlaceJSON{d.Place.Level, d.Place.Number}
	}
	if d.Robot != nil {
		o.Robot = &itemRobotJSON{d.Robot.Odom, d.Robot.Base}
	}
	if d.Detection != nil {
		o.Detection = &itemDetectionJSON{d.Detection.Methods, d.Detection.Tags}
	}
}

// valueObject returns a value of a state or property as JSON has it, as payloads do: what JSON has
// no number for is a text.
func valueObject(v any) any {
	b, err := idf.EncodeValue(v)
	t, known := memories.Type(engram.ValueType)
	if err != nil || !known {
		return fmt.Sprint(v)
	}
	j, err := t.JSON(b, idf.JSONOptions{SummarizeBytes: 256})
	if err != nil {
		return fmt.Sprint(v)
	}
	return json.RawMessage(j)
}

func valueObjects(values map[string]any) map[string]any {
	objects := make(map[string]any, len(values))
	for name, v := range values {
		objects[name] = valueObject(v)
	}
	return objects
}

func jointObject(j *world.Articulation) *itemJointJSON {
	o := &itemJointJSON{Kind: j.Kind.String(), Base: j.Base, Value: j.Value, Sigma: j.Sigma, Radius: j.Radius, Serves: j.Serves}
	if j.Limits != nil {
		o.Lower, o.Upper = &j.Limits.Lower, &j.Limits.Upper
	}
	return o
}

func saidObject(f *world.Forest, m *world.Merged, s *world.Statement) itemSaidJSON {
	home := map[world.Home]string{world.InInstance: "Object/Instance", world.InAttachment: "Object/Attachments"}[s.Home]
	o := itemSaidJSON{Provider: s.Provider, Robot: s.Robot, Home: home, Time: s.Time, Says: []string{}, Counts: []string{}}
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

// text puts a pose into words.
func (p *itemPoseJSON) text() string {
	t := p.Translation
	q := pose.Quat{W: p.Rotation.W, X: p.Rotation.X, Y: p.Rotation.Y, Z: p.Rotation.Z}
	roll, pitch, yaw := q.EulerZYX()
	if math.Abs(pitch) > math.Pi/2-1e-6 { // roll and yaw turn about one axis there: all is told as yaw
		y := q.Rotate(pose.Vec3{Y: 1})
		roll, yaw = 0, math.Atan2(-y.X, y.Y)
	}
	text := fmt.Sprintf("%s, %s, %s m", formatRounded(t[0], 3), formatRounded(t[1], 3), formatRounded(t[2], 3))
	switch tilt := math.Abs(roll) + math.Abs(pitch); {
	case tilt < 1e-6 && math.Abs(yaw) < 1e-6:
	case tilt < 1e-6:
		text += "; yaw " + shortDegrees(yaw)
	default:
		text += fmt.Sprintf("; roll %s, pitch %s, yaw %s", shortDegrees(roll), shortDegrees(pitch), shortDegrees(yaw))
	}
	if p.Covariance == nil {
		if p.Uncertainty == pose.Unknown.String() {
			return text + "; uncertainty unknown"
		}
		return text + "; " + p.Uncertainty
	}
	var sigma [6]string
	for i := range sigma {
		sigma[i] = "?"
		if v := p.Covariance[i][i]; v != nil {
			s := math.Sqrt(*v)
			if i >= 3 {
				s *= 180 / math.Pi
			}
			sigma[i] = formatNumber(s)
		}
	}
	return text + fmt.Sprintf("; ± %s m, %s°", same(sigma[:3]), same(sigma[3:]))
}

// same writes equal values once.
func same(values []string) string {
	for _, v := range values[1:] {
		if v != values[0] {
			return strings.Join(values, ", ")
		}
	}
	return values[0]
}

// shortDegrees writes an angle with no more digits than it has.
func shortDegrees(rad float64) string { return formatNumber(rad*180/math.Pi) + "°" }

// formatNumber writes a number to a thousandth, or to two digits if it is less.
func formatNumber(v float64) string {
	if v == 0 || math.Abs(v) >= 0.001 {
		s := formatRounded(v, 3)
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return fmt.Sprintf("%.2g", v)
}
