package world

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// The kinds of items that the package knows; there may be others.
const (
	KindMap       = "map" // a place
	KindObject    = "object"
	KindComponent = "component"
	KindRobot     = "robot"
)

// kindStatic is of what stays where it is until somebody moves it, such as a shelf.
const kindStatic = "static"

// Source is where a statement comes from.
type Source uint8

// The sources of statements. An operator outranks the others. Nothing is stated whose source is not set.
const (
	SourceUnset Source = iota
	Perception
	PriorKnowledge
	Operator
)

var sourceNames = [...]string{"unset", "perception", "prior knowledge", "operator"}

// String returns the source's words.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown source"
}

// Item is what one provider says of an item, or what came of merging several. Groups
// that are nil are not said. Items are not changed once they are handed over.
type Item struct {
	Structure   *Structure
	Placement   *Placement
	Description *Description
	Source      Source
	// Views is how many views the statement rests on; 0 if they were not counted.
	Views int
	// LabelEvidence is the evidence for each label: a sum over views, of each at most 1.
	LabelEvidence Evidence
	SeenIn        *engram.ID // what it was seen in; nil if nothing
	// Removed says that the item was no more at a time; what anybody said up to then does not
	// count. A provider that states the item again goes on saying it, so that what others
	// said before does not come back.
	Removed *Removal
}

// Structure says where an item belongs.
type Structure struct {
	Parent string      // "" is none
	Time   engram.Time // when this was last stated; 0 is the statement's time
}

// Placement says where an item is.
type Placement struct {
	Frame string    // name of the item in whose frame Pose is; "" is the parent
	Pose  pose.Pose // frameFromItem, metres
	Cov   pose.Cov  // unknown if the mask is 0
	Time  engram.Time
}

// Description says what an item is.
type Description struct {
	Kinds       []string
	Label       string     // what to call it in a display
	SpokenNames []string   // by which people call it, the usual one first
	Class       *engram.ID // an entity of Object/Class; nil if unknown
	Shape       *Shape
	Box         *Box // bounding box in the item's frame
	Detection   *Detection
	Place       *Place
	Robot       *RobotFrames
	Maintainer  string
	Properties  map[string]any // values as package idf decodes them
	Time        engram.Time
}

// ShapeKind says which members of a [Shape] count.
type ShapeKind uint8

// The kinds of shapes.
const (
	ShapeBox ShapeKind = iota
	ShapeCylinder
	ShapeSphere
	ShapeMesh
	ShapePolygon
)

var shapeNames = [...]string{"box", "cylinder", "sphere", "mesh", "polygon"}

// String returns the kind's word.
func (k ShapeKind) String() string {
	if int(k) < len(shapeNames) {
		return shapeNames[k]
	}
	return "unknown shape"
}

// Shape is the form of an item, in the item's frame or one of its own.
type Shape struct {
	Kind    ShapeKind
	Size    pose.Vec3   // full extents, metres; of a mesh its scale, negative where it is mirrored, zeros for 1
	Mesh    string      // path or URL
	Outline []pose.Vec3 // corners of a polygon, metres
	Pose    *pose.Pose  // of the shape's own frame in the item's; nil is the item's frame
}

// extents returns the size, which of a mesh is a scale and may mirror.
func (s *Shape) extents() pose.Vec3 {
	if s.Kind != ShapeMesh {
		return s.Size
	}
	return pose.Vec3{X: math.Abs(s.Size.X), Y: math.Abs(s.Size.Y), Z: math.Abs(s.Size.Z)}
}

// Box is an oriented box.
type Box struct {
	Pose pose.Pose // of its centre, in the item's frame
	Size pose.Vec3 // full edge lengths, metres
}

// ClassName returns the name of its class; "" if that is unknown.
func (d *Description) ClassName() string {
	if d.Class == nil {
		return ""
	}
	return d.Class.Entity()
}

// Detection says how an item is recognised.
type Detection struct{ Methods, Tags []string }

// Place says what a place is in an address.
type Place struct {
	Level  string // country, city, street, building, floor, room, site, area or another
	Number string
}

// RobotFrames are a robot's frames in the pose store.
type RobotFrames struct{ Odom, Base string }

// Removal says that an item is no more.
type Removal struct {
	Reason string
	Time   engram.Time // since when; 0 is the statement's time
}

// Is reports whether the item is of the kind.
func (it *Item) Is(kind string) bool {
	return it.Description != nil && slices.Contains(it.Description.Kinds, kind)
}

// says reports whether it says anything of the item but that it was no more.
func (it *Item) says() bool {
	return it.Structure != nil || it.Placement != nil || it.Description != nil
}

// Limits of one item. A merge ignores no item for them; writers refuse it.
const (
	MaxKinds = 32
	MaxNames = 64 // spoken names
	// MaxLength bounds coordinates and edges in metres, so that sums of them stay finite.
	MaxLength = 1e12
)

// Check returns an Invalid or Exhausted error if the item cannot be stated under the
// name: a parent or a frame that is itself, a pose that is none. It normalises nothing.
func (it *Item) Check(name string) error { return cmp.Or(it.Checks(name)...) }

// Checks is Check, which returns all that is wrong.
func (it *Item) Checks(name string) (wrong []error) {
	add := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if add(engram.CheckName(name)); len(wrong) > 0 {
		return wrong
	}
	if s := it.Structure; s != nil && s.Parent == name {
		add(engram.Errorf(engram.Invalid, name, "its parent is itself; name the item that it is in, on or part of, or none"))
	}
	if p := it.Placement; p != nil {
		if p.Frame == name {
			add(engram.Errorf(engram.Invalid, name, "its pose is in its own frame; name another item's"))
		}
		add(p.check(name))
	}
	if d := it.Description; d != nil {
		wrong = append(wrong, d.checks(name)...)
	}
	return wrong
}

func (p *Placement) check(name string) error {
	if _, err := p.Pose.Checked(); err != nil {
		return engram.Errorf(engram.Invalid, name, "%w", err)
	}
	if far := p.Pose.T.Norm(); !(far <= MaxLength) {
		return engram.Errorf(engram.OutOfRange, name, "it is %g m away from the frame that its pose is in; at most %g m are allowed", far, MaxLength)
	}
	if _, err := p.Cov.Checked(); err != nil {
		return engram.Errorf(engram.Invalid, name, "%w", err)
	}
	return nil
}

func (d *Description) check(name string) error { return cmp.Or(d.checks(name)...) }

func (d *Description) checks(name string) (wrong []error) {
	add := func(code engram.Code, format string, args ...any) {
		wrong = append(wrong, engram.Errorf(code, name, format, args...))
	}
	if len(d.Kinds) > MaxKinds || len(d.SpokenNames) > MaxNames {
		add(engram.Exhausted, "it has %d kinds and %d spoken names; at most %d and %d are allowed", len(d.Kinds), len(d.SpokenNames), MaxKinds, MaxNames)
	}
	if blank := func(s string) bool { return strings.TrimSpace(s) == "" }; slices.ContainsFunc(d.Kinds, blank) || slices.ContainsFunc(d.SpokenNames, blank) {
		add(engram.Invalid, "one of its kinds or spoken names is empty; leave it out")
	}
	if b := d.Box; b != nil {
		if _, err := b.Pose.Checked(); err != nil {
			add(engram.Invalid, "its box: %w", err)
		}
		if !extents(b.Size) {
			add(engram.Invalid, "its box has the size %s m; edges are not negative, and 1e12 m at most", numbersText(b.Size))
		}
	}
	if s := d.Shape; s != nil && !extents(s.extents()) {
		add(engram.Invalid, "its shape has the size %s; extents are not negative, and 1e12 at most as scales are", numbersText(s.Size))
	}
	if s := d.Shape; s != nil && s.Pose != nil {
		if _, err := s.Pose.Checked(); err != nil {
			add(engram.Invalid, "its shape: %w", err)
		}
	}
	return wrong
}

// upright returns the item with a rotation that is of unit length, as far as rounding goes:
// what is multiplied often must be.
func (it *Item) upright() *Item {
	if it.Placement == nil {
		return it
	}
	p, err := it.Placement.Pose.Checked()
	if err != nil || p == it.Placement.Pose {
		return it
	}
	item, placement := *it, *it.Placement
	placement.Pose, item.Placement = p, &placement
	return &item
}

// numbersText writes a vector as commands and files take it.
func numbersText(v pose.Vec3) string { return fmt.Sprintf("%g,%g,%g", v.X, v.Y, v.Z) }

// extents reports whether v can be lengths of edges.
func extents(v pose.Vec3) bool {
	return min(v.X, v.Y, v.Z) >= 0 && max(v.X, v.Y, v.Z) <= MaxLength
}
