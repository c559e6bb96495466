package files

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
	"github.com/seed-301d4374/engram/mind/world"
)

// Description says how a robot description becomes items.
type Description struct {
	Name   string // of the robot or piece of furniture; "" is that in the file
	Robot  bool   // it is a robot, and its links components of it; else an object with objects
	Parent string // name of the item that it stands in; "" is none
}

// LeftOut is a kind of values of a file that a world does not have.
type LeftOut struct {
	What  string   // such as "link/inertial/mass value"
	Where []string // what has one, such as "link door" or "joint hinge", each once for each value
}

// ReadURDF reads a robot description: of each link an item NAME/link in the frame of its
// parent link, of each joint that moves an articulation NAME/joint whose reference is the value
// 0, and an item NAME above the root link. The form of a link is that of its first
// visual, else of its first collision; its box is the bounding box of what it collides with, else of
// what is to be seen, without meshes. What of the file is not carried over is returned, too.
// The errors are those of [urdf.Read].
func ReadURDF(text []byte, file string, d Description) (*Content, []LeftOut, error) {
	robot, err := urdf.Read(bytes.NewReader(text), file)
	if err != nil {
		return nil, nil, err
	}
	tree, err := urdf.Elements(text, file)
	if err != nil {
		return nil, nil, err
	}
	u := &urdfReader{file: file, robot: robot, d: d, c: &Content{}, left: map[string][]string{}}
	if u.d.Name == "" {
		u.d.Name = robot.Name
	}
	if err := engram.CheckName(u.d.Name); err != nil {
		return nil, nil, engram.Errorf(engram.Invalid, file, "the robot's name: %w; give another one", err)
	}
	for _, doubt := range robot.Doubts {
		u.c.Notes = append(u.c.Notes, doubt.Error())
	}
	u.top()
	u.elements(tree)
	u.links()
	var left []LeftOut
	for _, what := range slices.Sorted(maps.Keys(u.left)) {
		left = append(left, LeftOut{what, u.left[what]})
	}
	return u.c, left, nil
}

type urdfReader struct {
	file   string
	robot  *urdf.Robot
	d      Description
	c      *Content
	left   map[string][]string
	bodies map[string]*body // by link
}

// body is what a link looks like.
type body struct {
	visuals, collisions []form
}

// form is one geometry of a link.
type form struct {
	shape  world.Shape
	origin pose.Pose
}

func (u *urdfReader) at(line int) string { return fmt.Sprintf("%s:%d", u.file, line) }

// top states what all links belong to.
func (u *urdfReader) top() {
	kinds := []string{world.KindObject}
	if u.d.Robot {
		kinds = []string{world.KindRobot}
	}
	it := Item{At: u.file, NamedItem: world.NamedItem{Name: u.d.Name}}
	it.Description = &world.Description{Kinds: kinds}
	if u.d.Parent != "" {
		it.Structure = &world.Structure{Parent: u.d.Parent}
	}
	u.c.Items = append(u.c.Items, it)
}

// skip notes that a value is not carried over.
func (u *urdfReader) skip(what, where string) { u.left[what] = append(u.left[what], where) }

// elements looks at all elements: of links it keeps the geometry, the rest is left out unless
// it is in the robot.
func (u *urdfReader) elements(tree *urdf.Element) {
	u.bodies = map[string]*body{}
	for i := range tree.Children {
		e := &tree.Children[i]
		name, _ := e.Attr("name")
		where := e.Name
		if name != "" {
			where += " " + name
		}
		switch e.Name {
		case "link":
			u.bodies[name] = u.body(e, where)
			for _, a := range e.Attributes {
				if a.Name != "name" {
					u.skip("link "+a.Name, where)
				}
			}
		case "joint":
			u.jointRest(e, where)
		default:
			if reference, ok := e.Attr("reference"); ok && name == "" {
				where += " of " + reference
			}
			u.rest(e, e.Name, where)
		}
	}
	for _, a := range tree.Attributes {
		if a.Name != "name" && a.Name != "version" && !strings.HasPrefix(a.Name, "xmlns") {
			u.skip("robot "+a.Name, "robot "+u.robot.Name)
		}
	}
}

// rest leaves all values of an element out.
func (u *urdfReader) rest(e *urdf.Element, path, where string) {
	if len(e.Attributes) == 0 && len(e.Children) == 0 {
		u.skip(path, where)
	}
	for _, a := range e.Attributes {
		if a.Name == "name" || a.Name == "reference" { // who has the values below
			if len(e.Attributes) > 1 || len(e.Children) > 0 {
				continue
			}
		}
		u.skip(path+" "+a.Name, where)
	}
	for i := range e.Children {
		u.rest(&e.Children[i], path+"/"+e.Children[i].Name, where)
	}
}

func (u *urdfReader) body(e *urdf.Element, where string) *body {
	b := &body{}
	for i := range e.Children {
		c := &e.Children[i]
		path := "link/" + c.Name
		if c.Name != "visual" && c.Name != "collision" {
			u.rest(c, path, where)
			continue
		}
		f, ok := u.form(c, path, where)
		switch {
		case !ok:
		case c.Name == "collision":
			b.collisions = append(b.collisions, f)
		default:
			b.visuals = append(b.visuals, f)
		}
	}
	return b
}

// form reads the geometry of a visual or a collision.
func (u *urdfReader) form(e *urdf.Element, path, where string) (f form, ok bool) {
	f.origin = pose.Identity()
	for i := range e.Children {
		c := &e.Children[i]
		switch {
		case c.Name == "origin":
			p, good := u.origin(c)
			if f.origin = p; !good {
				u.skip(path+"/origin, which is no pose", where)
			}
		case c.Name == "geometry" && len(c.Children) > 0:
			if f.shape, ok = geometry(&c.Children[0]); !ok {
				u.rest(c, path+"/geometry", where)
			} else if c.Children[0].Name == "capsule" {
				u.skip(path+"/geometry/capsule, of which the cylinder about it is kept", where)
			}
		default:
			u.rest(c, path+"/"+c.Name, where)
		}
	}
	return f, ok
}

// values returns the numbers in an attribute; nil if they are not as many.
func values(e *urdf.Element, attr string, n int) []float64 {
	text, ok := e.Attr(attr)
	fields := strings.Fields(text)
	if !ok || len(fields) != n {
		return nil
	}
	v := make([]float64, n)
	for i, f := range fields {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil || x-x != 0 {
			return nil
		}
		v[i] = x
	}
	return v
}

// origin reads where a visual or a collision is in its link; ok is false if some of it is no pose.
func (u *urdfReader) origin(e *urdf.Element) (p pose.Pose, ok bool) {
	p, ok = pose.Identity(), true
	if v := values(e, "xyz", 3); v != nil {
		p.T = pose.Vec3{X: v[0], Y: v[1], Z: v[2]}
	} else if _, has := e.Attr("xyz"); has {
		ok = false
	}
	_, turned := e.Attr("rpy")
	if v := values(e, "rpy", 3); v != nil {
		p.R = pose.RPY(v[0], v[1], v[2])
	} else if turned {
		ok = false
	}
	if _, has := e.Attr("quat_xyzw"); has {
		v := values(e, "quat_xyzw", 4)
		if v == nil || turned || u.robot.Minor < 1 { // it belongs to version 1.1 of the format
			return p, false
		}
		q, err := pose.Pose{R: pose.Quat{X: v[0], Y: v[1], Z: v[2], W: v[3]}}.Checked()
		if err != nil {
			return p, false
		}
		p.R = q.R
	}
	return p, ok
}

func geometry(e *urdf.Element) (s world.Shape, ok bool) {
	switch e.Name {
	case "box":
		v := values(e, "size", 3)
		if v == nil || v[0] < 0 || v[1] < 0 || v[2] < 0 {
			return s, false
		}
		return world.Shape{Kind: world.ShapeBox, Size: pose.Vec3{X: v[0], Y: v[1], Z: v[2]}}, true
	case "cylinder":
		r, l := values(e, "radius", 1), values(e, "length", 1)
		if r == nil || l == nil || r[0] < 0 || l[0] < 0 {
			return s, false
		}
		return world.Shape{Kind: world.ShapeCylinder, Size: pose.Vec3{X: 2 * r[0], Y: 2 * r[0], Z: l[0]}}, true
	case "capsule": // length is that of the cylinder between its half spheres
		r, l := values(e, "radius", 1), values(e, "length", 1)
		if r == nil || l == nil || r[0] < 0 || l[0] < 0 {
			return s, false
		}
		return world.Shape{Kind: world.ShapeCylinder, Size: pose.Vec3{X: 2 * r[0], Y: 2 * r[0], Z: l[0] + 2*r[0]}}, true
	case "sphere":
		r := values(e, "radius", 1)
		if r == nil || r[0] < 0 {
			return s, false
		}
		return world.Shape{Kind: world.ShapeSphere, Size: pose.Vec3{X: 2 * r[0], Y: 2 * r[0], Z: 2 * r[0]}}, true
	case "mesh":
		name, _ := e.Attr("filename")
		if name == "" {
			return s, false
		}
		s = world.Shape{Kind: world.ShapeMesh, Mesh: name}
		if _, scaled := e.Attr("scale"); scaled {
			v := values(e, "scale", 3)
			if v == nil || v[0]*v[1]*v[2] == 0 {
				return s, false
			}
			if s.Size = (pose.Vec3{X: v[0], Y: v[1], Z: v[2]}); s.Size == (pose.Vec3{X: 1, Y: 1, Z: 1}) {
				s.Size = pose.Vec3{}
			}
		}
		return s, true
	}
	return s, false
}

// jointRest leaves out what a joint has beside its place, axis and range.
func (u *urdfReader) jointRest(e *urdf.Element, where string) {
	for i := range e.Children {
		c := &e.Children[i]
		switch c.Name {
		case "origin", "parent", "child", "axis":
		case "limit":
			for _, a := range c.Attributes {
				if a.Name != "lower" && a.Name != "upper" {
					u.skip("joint/limit "+a.Name, where)
				}
			}
		default:
			u.rest(c, "joint/"+c.Name, where)
		}
	}
}

// links states the links, parents before children.
func (u *urdfReader) links() {
	below := map[string][]*urdf.Joint{}
	for i := range u.robot.Joints {
		j := &u.robot.Joints[i]
		below[j.Parent] = append(below[j.Parent], j)
	}
	lines := map[string]int{}
	for _, l := range u.robot.Links {
		lines[l.Name] = l.Line
	}
	u.link(u.robot.Root, lines[u.robot.Root], u.d.Name, pose.Identity())
	for queue := []string{u.robot.Root}; len(queue) > 0; queue = queue[1:] {
		for _, j := range below[queue[0]] {
			at := pose.JointOrigin(j)
			u.link(j.Child, lines[j.Child], u.d.Name+"/"+j.Parent, at)
			u.joint(j, at)
			queue = append(queue, j.Child)
		}
	}
}

func (u *urdfReader) link(name string, line int, parent string, at pose.Pose) {
	if p, err := at.Checked(); err == nil {
		at = p
	}
	it := Item{At: u.at(line), NamedItem: world.NamedItem{Name: u.d.Name + "/" + name}}
	it.Structure = &world.Structure{Parent: parent}
	it.Placement = &world.Placement{Pose: at}
	kind := world.KindObject
	if u.d.Robot {
		kind = world.KindComponent
	}
	d := &world.Description{Kinds: []string{kind}, Maintainer: ""}
	if u.d.Robot {
		d.Maintainer = u.d.Name
	}
	u.shape(d, u.bodies[name], "link "+name)
	it.Description = d
	u.c.Items = append(u.c.Items, it)
}

// shape gives a link's item its form and its box.
func (u *urdfReader) shape(d *world.Description, b *body, where string) {
	if b == nil {
		return
	}
	forms, rest := b.visuals, b.collisions
	if len(forms) == 0 {
		forms, rest = b.collisions, nil
	}
	if len(forms) == 0 {
		return
	}
	s := forms[0].shape
	if forms[0].origin != pose.Identity() {
		s.Pose = &forms[0].origin
	}
	d.Shape = &s
	var meshes []any
	for _, f := range append(slices.Clone(forms[1:]), rest...) {
		if f.shape.Kind == world.ShapeMesh && f.shape.Mesh != s.Mesh && !slices.Contains(meshes, any(f.shape.Mesh)) {
			meshes = append(meshes, f.shape.Mesh)
		}
	}
	if len(meshes) > 0 { // none is lost
		d.Properties = map[string]any{"meshes": meshes}
	}
	for range forms[1:] {
		u.skip("link/visual or collision beyond the first, but for its mesh and its part of the box", where)
	}
	for _, f := range rest {
		if f.shape.Kind != world.ShapeMesh {
			u.skip("link/collision geometry, of which the bounding box is kept", where)
		} else if f.shape.Mesh != s.Mesh || f.origin != forms[0].origin || f.shape.Size != s.Size {
			u.skip("link/collision mesh's place and scale", where)
		}
	}
	solid := b.collisions
	if !slices.ContainsFunc(solid, form.extended) {
		solid = b.visuals
	}
	d.Box = bounds(solid)
}

func (f form) extended() bool { return f.shape.Kind != world.ShapeMesh }

// bounds returns the box about forms without meshes; along the axes of the one that there is,
// else along those of the link. It is nil if there is none.
func bounds(forms []form) *world.Box {
	var solid []form
	for _, f := range forms {
		if f.extended() {
			solid = append(solid, f)
		}
	}
	switch len(solid) {
	case 0:
		return nil
	case 1:
		return &world.Box{Pose: solid[0].origin, Size: solid[0].shape.Size}
	}
	var low, high pose.Vec3
	for i, f := range solid {
		for corner := range 8 {
			half := f.shape.Size.Scale(0.5)
			if corner&1 != 0 {
				half.X = -half.X
			}
			if corner&2 != 0 {
				half.Y = -half.Y
			}
			if corner&4 != 0 {
				half.Z = -half.Z
			}
			p := f.origin.Apply(half)
			if i == 0 && corner == 0 {
				low, high = p, p
			}
			low = pose.Vec3{X: min(low.X, p.X), Y: min(low.Y, p.Y), Z: min(low.Z, p.Z)}
			high = pose.Vec3{X: max(high.X, p.X), Y: max(high.Y, p.Y), Z: max(high.Z, p.Z)}
		}
	}
	middle := low.Add(high).Scale(0.5)
	return &world.Box{Pose: pose.Translation(middle.X, middle.Y, middle.Z), Size: high.Sub(low)}
}

// joint states what moves. A fixed joint is one, too, so that every joint is there.
func (u *urdfReader) joint(j *urdf.Joint, at pose.Pose) {
	a := Joint{Name: u.d.Name + "/" + j.Name, At: u.at(j.Line)}
	a.Base, a.Moved = u.d.Name+"/"+j.Parent, u.d.Name+"/"+j.Child
	a.Pose = at
	if p, err := at.Checked(); err == nil {
		a.Pose = p
	}
	axis := pose.Vec3{X: j.Axis[0], Y: j.Axis[1], Z: j.Axis[2]}
	where := "joint " + j.Name
	switch j.Type {
	case urdf.Revolute, urdf.Continuous:
		a.Kind = world.Revolute
		a.SetAxis(axis)
	case urdf.Prismatic:
		a.Kind = world.Prismatic
		a.SetDirection(axis)
	case urdf.Planar, urdf.Floating:
		u.skip("joint type "+j.Type.String()+", of which the place at zero is kept", where)
		return
	}
	if j.Limit != nil && (j.Type == urdf.Revolute || j.Type == urdf.Prismatic) {
		if j.Limit.Lower <= j.Limit.Upper {
			a.Limits = &world.Limits{Lower: j.Limit.Lower, Upper: j.Limit.Upper}
		} else {
			u.skip("joint/limit whose lower end is above the upper", where)
		}
	}
	u.c.Joints = append(u.c.Joints, a)
}
