package files

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Read reads items from YAML or JSON; file is its name in errors, of which there may be up to
// [MaxProblems], each with a line. What is not known is an error. The content is not checked
// as a whole yet.
func Read(b []byte, file string) (*Content, error) {
	n, err := parse(b, file)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file, c: &Content{}}
	list := n
	if _, ok := n.value.(*mapping); ok {
		f := r.fields(n, "the file", "items", "articulations", "maps", "components")
		for _, j := range r.list(f.m.at["articulations"], "articulations") {
			r.joint(j, "", "", 0)
		}
		for _, m := range r.list(f.m.at["maps"], "maps") {
			r.mapOf(m, "")
		}
		for _, x := range r.list(f.m.at["components"], "components") {
			r.component(x, "")
		}
		list = f.m.at["items"]
	}
	for _, it := range r.list(list, "items") {
		r.item(it, "")
	}
	if len(r.problems) > 0 { // with what is wrong with values that could be read
		r.c.checkEach(&r.problems)
		return nil, r.problems.err()
	}
	return r.c, nil
}

type reader struct {
	file     string
	c        *Content
	problems problems
}

func (r *reader) at(line int) string { return fmt.Sprintf("%s:%d", r.file, line) }

func (r *reader) fail(line int, of, format string, args ...any) {
	r.problems.add(r.at(line), engram.Errorf(engram.Invalid, of, "%w", fmt.Errorf(format, args...)))
}

// list returns the nodes of a list; nothing for one that is not there.
func (r *reader) list(n *node, of string) []*node {
	if n == nil || n.value == nil {
		return nil
	}
	list, ok := n.value.([]*node)
	if !ok {
		r.fail(n.line, of, "a list is expected, not %s", n.what())
	}
	return list
}

// about says what a node is, for errors: with its name, which it may have or say.
func about(what string, n *node, name string) string {
	if m, ok := n.value.(*mapping); ok && name == "" && m.at["name"] != nil {
		name = m.at["name"].text()
	}
	if name == "" {
		return what
	}
	return fmt.Sprintf("%s %q", what, name)
}

var itemMembers = []string{
	"name", "kinds", "parent", "pose", "frame", "covariance", "label", "spoken_names", "called", "class", "shape", "box", "detection", "place", "robot",
	"maintainer", "properties", "states", "component", "articulations", "maps", "children",
}

var shapeKinds = []string{"box", "cylinder", "sphere", "mesh", "polygon"}

// item reads an item and its children; parent is the item that it stands in, or "".
func (r *reader) item(n *node, parent string) {
	of := about("item", n, "")
	f := r.fields(n, of, itemMembers...)
	name := f.text("name")
	if name == "" {
		r.fail(n.line, of, "it has no name")
		return
	}
	if called := f.m.at["called"]; called != nil { // as the command line may have it
		if f.has("spoken_names") {
			f.fail(called, "it has both spoken_names and called, which are one; give spoken_names")
		}
		f.m.at["spoken_names"] = called
	}
	it := Item{At: r.at(n.line), NamedItem: world.NamedItem{Name: name}}
	wrong := engram.CheckName(name)
	if wrong != nil {
		r.fail(n.line, of, "%w", wrong)
	}
	it.Structure = r.structure(f, parent)
	it.Placement = r.placement(f)
	it.Description = r.description(f)
	for member := range members {
		if f.has(member) {
			it.said = append(it.said, member)
		}
	}
	if wrong == nil {
		r.c.Items = append(r.c.Items, it)
	}
	r.parts(f, &it)
	for _, child := range r.list(f.m.at["children"], of+", children") {
		r.item(child, name)
	}
}

func (r *reader) structure(f *fields, parent string) *world.Structure {
	if parent != "" {
		if f.has("parent") && f.text("parent") != parent {
			f.fail(f.m.at["parent"], "its parent is %q, and it stands among the children of %q", f.text("parent"), parent)
		}
		return &world.Structure{Parent: parent}
	}
	if !f.has("parent") {
		return nil
	}
	return &world.Structure{Parent: f.text("parent")}
}

func (r *reader) placement(f *fields) *world.Placement {
	p, ok := f.pose("pose")
	if !ok {
		for _, key := range []string{"frame", "covariance"} {
			if n := f.get(key); n != nil {
				f.fail(n, "it has a %s and no pose", key)
			}
		}
		return nil
	}
	out := &world.Placement{Frame: f.text("frame"), Pose: p}
	n := f.get("covariance")
	switch {
	case n == nil:
		return out
	case n.value == "exact":
		out.Cov = pose.ExactCov()
		return out
	}
	v := f.numbers(n, "covariance", 6, 36)
	if v == nil {
		return out
	}
	var m [36]float64
	if copy(m[:], v); len(v) == 6 {
		m = [36]float64{}
		for i := range 6 {
			m[7*i] = v[i]
		}
	}
	var err error
	if m == [36]float64{} {
		out.Cov = pose.ExactCov()
	} else if m[0] < 0 {
		f.fail(n, "covariance: the first variance is %g; leave an unknown covariance out", m[0])
	} else if out.Cov, err = pose.CovFromROS(p, &m); err != nil {
		f.fail(n, "covariance: %w", err)
	}
	return out
}

func (r *reader) description(f *fields) *world.Description {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(members)), f.has) {
		return nil
	}
	d := &world.Description{
		Kinds: f.texts("kinds"), Label: f.text("label"), SpokenNames: f.texts("spoken_names"),
		Class: f.class(), Box: r.box(f, "box"), Shape: r.shape(f),
		Maintainer: f.text("maintainer"), Properties: f.properties("properties"),
	}
	if n := f.get("detection"); n != nil {
		g := r.fields(n, f.of+", detection", "methods", "tags")
		d.Detection = &world.Detection{Methods: g.texts("methods"), Tags: g.texts("tags")}
	}
	if n := f.get("place"); n != nil {
		g := r.fields(n, f.of+", place", "level", "number")
		d.Place = &world.Place{Level: g.text("level"), Number: g.text("number")}
	}
	if n := f.get("robot"); n != nil {
		g := r.fields(n, f.of+", robot", "odom", "base")
		d.Robot = &world.RobotFrames{Odom: g.text("odom"), Base: g.text("base")}
	}
	return d
}

// box reads a box: its edges alone, or with the pose of its centre.
func (r *reader) box(f *fields, key string) *world.Box {
	n := f.get(key)
	if n == nil {
		return nil
	}
	b := &world.Box{Pose: pose.Identity()}
	if _, ok := n.value.([]*node); ok {
		b.Size, _ = f.vector(key)
		return b
	}
	g := r.fields(n, f.of+", "+key, "size", "pose")
	if !g.has("size") {
		g.fail(n, "it has no size")
	}
	b.Size, _ = g.vector("size")
	b.Pose, _ = g.pose("pose")
	return b
}

func (r *reader) shape(f *fields) *world.Shape {
	n := f.get("shape")
	if n == nil {
		return nil
	}
	g := r.fields(n, f.of+", shape", "kind", "size", "radius", "height", "mesh", "scale", "outline", "pose")
	if !g.has("kind") {
		g.fail(n, "it has no kind; it is one of box, cylinder, sphere, mesh, polygon")
	}
	s := &world.Shape{Kind: world.ShapeKind(g.choice("kind", shapeKinds)), Mesh: g.text("mesh")}
	s.Size, _ = g.vector("size")
	if p, ok := g.pose("pose"); ok {
		s.Pose = &p
	}
	radius, round := g.number("radius")
	height, _ := g.number("height")
	if round {
		s.Size = pose.Vec3{X: 2 * radius, Y: 2 * radius, Z: 2 * radius}
		if s.Kind == world.ShapeCylinder {
			s.Size.Z = height
		}
	}
	switch {
	case s.Kind == world.ShapeMesh:
		if s.Mesh == "" {
			g.fail(n, "a mesh needs a path or URL as mesh")
		}
		if scale, ok := g.vector("scale"); ok {
			if s.Size = scale; scale.X == 0 || scale.Y == 0 || scale.Z == 0 {
				g.fail(g.get("scale"), "the scale is %g, %g, %g; it is not 0, and negative where the mesh is mirrored", scale.X, scale.Y, scale.Z)
			}
		}
	case s.Kind == world.ShapePolygon:
		s.Outline = r.outline(g)
	case !g.has("size") && !round:
		g.fail(n, "a %s needs a size", shapeKinds[s.Kind])
	}
	return s
}

// outline reads the corners of a polygon, of two or three numbers each.
func (r *reader) outline(g *fields) []pose.Vec3 {
	var corners []pose.Vec3
	for _, n := range r.list(g.m.at["outline"], g.of+", outline") {
		if v := g.numbers(n, "a corner", 2, 3); v != nil {
			corners = append(corners, pose.Vec3{X: v[0], Y: v[1], Z: append(v, 0)[2]})
		}
	}
	if len(corners) < 3 {
		g.fail(g.n, "its outline has %d corners; three or more are needed", len(corners))
	}
	return corners
}

// parts reads what stands in an item and is not of it alone. What is null, or a list of nothing, is taken back, as are
// states if there are none in their mapping.
func (r *reader) parts(f *fields, it *Item) {
	none := func(key string) bool {
		n := f.m.at[key]
		if n == nil {
			return false
		}
		switch v := n.value.(type) {
		case nil:
			return true
		case []*node:
			return len(v) == 0
		case *mapping:
			return key == "states" && len(v.keys) == 0
		}
		return false
	}
	w := world.Withdrawal{States: none("states"), Joints: none("articulations"), Maps: none("maps"), Component: none("component")}
	if w != (world.Withdrawal{}) {
		r.c.Without = append(r.c.Without, Without{it.Name, w, it.At})
	}
	if n := f.get("states"); n != nil && !w.States {
		m, ok := n.value.(*mapping)
		if !ok {
			f.fail(n, "states are %s; a mapping is expected", n.what())
		} else {
			for _, key := range m.keys {
				r.state(m.at[key], it.Name, key, m.line[key])
			}
		}
	}
	if n := f.get("component"); n != nil {
		r.component(n, it.Name)
	}
	base := ""
	if it.Structure != nil {
		base = it.Structure.Parent
	}
	for i, n := range r.list(f.m.at["articulations"], f.of+", articulations") {
		r.joint(n, base, it.Name, i)
	}
	for _, n := range r.list(f.m.at["maps"], f.of+", maps") {
		r.mapOf(n, it.Name)
	}
}

func (r *reader) state(n *node, item, name string, line int) {
	s := State{State: world.State{Item: item, Name: name}, Confidence: 1, At: r.at(line)}
	of := fmt.Sprintf("state %q of %q", name, item)
	if m, ok := n.value.(*mapping); ok && m.at["value"] != nil {
		f := r.fields(n, of, "value", "confidence", "half_life")
		s.Value, s.HalfLife = r.plain(m.at["value"], of), f.duration("half_life")
		if c, ok := f.number("confidence"); ok {
			if s.Confidence = c; !(c >= 0 && c <= 1) {
				f.fail(f.get("confidence"), "the confidence is %g; it lies between 0 and 1", c)
			}
		}
	} else {
		s.Value = r.plain(n, of) // null takes it back
	}
	r.c.States = append(r.c.States, s)
}

var jointKinds = []string{"fixed", "revolute", "prismatic"}

// joint reads an articulation; base and moved are those of the item that it stands in.
func (r *reader) joint(n *node, base, moved string, index int) {
	of := about("articulation", n, "")
	if moved != "" && of == "articulation" {
		of = fmt.Sprintf("articulation of %q", moved)
	}
	f := r.fields(n, of, "name", "base", "moved", "kind", "pose", "axis", "direction", "limits", "radius", "reference", "value", "sigma", "serves")
	j := Joint{Name: f.text("name"), At: r.at(n.line)}
	if j.Base = f.text("base"); j.Base == "" {
		j.Base = base
	}
	if j.Moved = f.text("moved"); j.Moved == "" {
		j.Moved = moved
	}
	if j.Name == "" && index == 0 {
		j.Name = moved
	}
	switch {
	case j.Name == "":
		f.fail(n, "it has no name")
	case j.Base == "" || j.Moved == "":
		f.fail(n, "it does not say which items it joins; give base and moved")
	case !f.has("kind"):
		f.fail(n, "it has no kind; it is one of fixed, revolute, prismatic")
	}
	j.Kind = world.JointKind(f.choice("kind", jointKinds))
	j.Pose, _ = f.pose("pose")
	r.axis(f, &j.Articulation)
	if l := f.get("limits"); l != nil {
		if v := f.numbers(l, "limits", 2); v != nil {
			j.Limits = &world.Limits{Lower: v[0], Upper: v[1]}
		}
	}
	j.Radius, _ = f.number("radius")
	j.Reference, _ = f.number("reference")
	if v, ok := f.number("value"); ok {
		j.Value = &v
	}
	j.Sigma, _ = f.number("sigma")
	j.Serves = f.texts("serves")
	r.c.Joints = append(r.c.Joints, j)
}

// axis reads about what or along what a joint moves: in the joint's frame, which is turned
// if a revolute joint's axis is not its z.
func (r *reader) axis(f *fields, a *world.Articulation) {
	key := "axis"
	if f.has("direction") {
		key = "direction"
	}
	v, ok := f.vector(key)
	switch {
	case f.has("axis") && f.has("direction"):
		f.fail(f.n, "it has both an axis and a direction")
	case !ok && a.Kind == world.Prismatic:
		f.fail(f.n, "a prismatic joint needs a direction")
	case !ok:
	case !(v.Norm() > 1e-9) || v.Norm() > 1e150:
		f.fail(f.get(key), "the %s %g,%g,%g gives no direction", key, v.X, v.Y, v.Z)
	case a.Kind == world.Revolute:
		a.SetAxis(v)
	case a.Kind == world.Prismatic:
		a.SetDirection(v)
	default:
		f.fail(f.get(key), "a fixed joint has no %s", key)
	}
}

func (r *reader) mapOf(n *node, describes string) {
	of := about("map", n, "")
	f := r.fields(n, of, "name", "kind", "describes", "frame", "resolution", "extent", "format", "link", "url", "sha256",
		"sensors", "algorithms", "author", "created", "quality", "properties")
	m := Map{Name: f.text("name"), At: r.at(n.line)}
	if m.Name == "" {
		f.fail(n, "it has no name")
	}
	m.Kind = world.MapKind(f.choice("kind", world.MapKinds))
	if m.Describes = f.texts("describes"); len(m.Describes) == 0 && describes != "" {
		m.Describes = []string{describes}
	}
	m.Frame, m.Format, m.URL, m.SHA256, m.Author = f.text("frame"), f.text("format"), f.text("url"), f.text("sha256"), f.text("author")
	m.Resolution, _ = f.number("resolution")
	m.Quality, _ = f.number("quality")
	m.Extent = r.box(f, "extent")
	m.Link = f.id("link", "")
	m.Sensors, m.Algorithms, m.Properties = f.texts("sensors"), f.texts("algorithms"), f.properties("properties")
	if text := f.text("created"); text != "" {
		t, err := engram.ParseTime(text)
		if err != nil {
			f.fail(f.get("created"), "created: %w", err)
		}
		m.Created = t
	}
	r.c.Maps = append(r.c.Maps, m)
}

func (r *reader) component(n *node, name string) {
	of := about("component", n, name)
	known := []string{"kind", "robot", "inputs", "outputs", "frame", "field_of_view", "running", "started_by", "properties"}
	if name == "" {
		known = append([]string{"name"}, known...)
	}
	f := r.fields(n, of, known...)
	x := Component{Name: name, At: r.at(n.line)}
	if name == "" {
		if x.Name = f.text("name"); x.Name == "" {
			f.fail(n, "it has no name")
		}
	}
	x.Kind, x.Robot, x.Frame, x.StartedBy = f.text("kind"), f.text("robot"), f.text("frame"), f.text("started_by")
	x.Inputs, x.Outputs, x.Properties = f.texts("inputs"), f.texts("outputs"), f.properties("properties")
	if v := f.get("running"); v != nil {
		running, ok := v.value.(bool)
		if !ok {
			f.fail(v, "running is %s; true or false is expected", v.what())
		}
		x.Running = running
	}
	if v := f.get("field_of_view"); v != nil {
		g := r.fields(v, f.of+", field_of_view", "horizontal", "vertical", "min_range", "max_range")
		view := &world.View{}
		view.Horizontal, _ = g.number("horizontal")
		view.Vertical, _ = g.number("vertical")
		view.MinRange, _ = g.number("min_range")
		view.MaxRange, _ = g.number("max_range")
		x.View = view
	}
	r.c.Components = append(r.c.Components, x)
}
