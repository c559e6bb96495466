package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world/answer"
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
}

func list3(v pose.Vec3) [3]float64 { return [3]float64{v.X, v.Y, v.Z} }

// itemObject returns an item as commands print it.
func itemObject(it *answer.Item) itemJSON {
	o := itemJSON{
		Name: it.Name, Kinds: it.Kinds, Parent: it.Parent, Path: it.Path, Label: it.Label, SpokenNames: it.SpokenNames, Class: it.Class,
		Pose: itemPoseObject(it.Pose), InRoot: itemPoseObject(it.InRoot), Place: (*itemPlaceJSON)(it.Place), Robot: (*itemRobotJSON)(it.Robot),
		Detection: (*itemDetectionJSON)(it.Detection), Maintainer: it.Maintainer, Properties: propertyObjects(it.Properties), SeenIn: it.SeenIn,
		Maps: it.Maps, Present: it.Present, Provisional: it.Provisional, Notes: it.Notes,
	}
	if s := it.Shape; s != nil {
		o.Shape = &itemShapeJSON{Kind: s.Kind, Size: list3(s.Size), Mesh: s.Mesh}
		if s.Pose != nil {
			o.Shape.Pose = placeObject(*s.Pose)
		}
		for _, corner := range s.Outline {
			o.Shape.Outline = append(o.Shape.Outline, list3(corner))
		}
	}
	if it.Box != nil {
		o.Box = &itemBoxJSON{*placeObject(it.Box.Pose), list3(it.Box.Size)}
	}
	for _, s := range it.States {
		state := itemStateJSON{Name: s.Name, Value: s.Value, Confidence: s.Confidence, Source: s.Source, Provider: s.SaidBy, Time: s.Time}
		if s.HalfLife > 0 {
			state.HalfLife = words.Duration(s.HalfLife)
		}
		o.States = append(o.States, state)
	}
	if it.Joint != nil {
		o.Joint = jointObject(it.Joint)
	}
	if it.Component != nil {
		o.Component = componentObject(it.Component)
	}
	if b := it.Belief; b != nil {
		o.Belief = &itemBeliefJSON{b.P, b.Seen, b.By, b.Source, b.Looked, it.Account}
	}
	for i := range it.Statements {
		s := &it.Statements[i]
		o.Statements = append(o.Statements, itemSaidJSON{
			Provider: s.Provider, Robot: s.Robot, Home: s.Home, Source: s.Source, Time: s.Time,
			Says: append([]string{}, s.Says...), Counts: append([]string{}, s.Counts...), Reason: s.Reason,
		})
	}
	return o
}

// itemPoseObject returns where an item is; nil if nobody knows.
func itemPoseObject(p *answer.Pose) *itemPoseJSON {
	if p == nil {
		return nil
	}
	o := &itemPoseJSON{Frame: p.Frame, Translation: list3(p.Pose.T), Rotation: quatObject(p.Pose.R)}
	o.Uncertainty, o.Covariance = covObject(&p.Cov)
	if p.Cov.State() == pose.Exact {
		o.Covariance = nil
	}
	return o
}

func propertyObjects(properties []answer.Property) map[string]any {
	objects := make(map[string]any, len(properties))
	for _, p := range properties {
		objects[p.Name] = p.Value
	}
	return objects
}

func jointObject(j *answer.ItemJoint) *itemJointJSON {
	o := &itemJointJSON{Kind: j.Kind, Base: j.Base, Value: j.Value, Sigma: j.Sigma, Radius: j.Radius, Serves: j.Serves}
	if j.Limits != nil {
		o.Lower, o.Upper = &j.Limits.Lower, &j.Limits.Upper
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
