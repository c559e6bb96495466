package files

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Options say how a world is written.
type Options struct {
	Item   string // only this item and all below it; "" is all
	Nested bool   // children stand inside their parents
	JSON   bool   // not YAML
}

// MaxNesting is how deep children stand inside their parents; what is deeper names its parent.
const MaxNesting = 30

// Write returns a world as a file that [Read] reads: items in an order in which parents come
// before children, with what there is to say of them, and what is not in the file. A file that
// was read into an empty world is written with the same bytes again. The error is NotFound for an
// item that is not there.
func Write(f *world.Forest, o Options) (text []byte, notes []string, err error) {
	if o.Item != "" && !f.Has(o.Item) {
		_, err := f.Get(o.Item)
		return nil, nil, err
	}
	w := &writer{f: f, in: map[string]bool{}, joints: map[string][]world.NamedJoint{}, maps: map[string][]*world.MapStatement{}, json: o.JSON}
	all := f.All()
	if o.Item != "" {
		all = f.Subtree(o.Item)
	}
	for m := range all {
		w.order = append(w.order, m)
		w.in[m.Name] = true
	}
	top := w.collect(o.Item == "")
	var items []any
	if o.Nested {
		items = w.nested()
	} else {
		for _, m := range w.order {
			items = append(items, w.item(m, w.parent(m.Name)))
		}
	}
	var tree any = items
	if len(top) > 0 {
		tree = append(object{{"items", items}}, top...)
	}
	if o.JSON {
		return appendJSON(nil, tree, 0), w.notes, nil
	}
	if text = encodeYAML(tree); len(text) > MaxYAML {
		w.notes = append(w.notes, fmt.Sprintf("the YAML has %d bytes, and at most %d are read again; write JSON", len(text), MaxYAML))
	}
	return text, w.notes, nil
}

// object is a mapping in order.
type object []field

type field struct {
	key   string
	value any // object, []any, string, float64, int64, uint64, bool or nil
}

// add adds a member unless it is the zero value.
func add[T comparable](o *object, key string, v T) {
	if zero := *new(T); v != zero {
		*o = append(*o, field{key, v})
	}
}

func (o *object) list(key string, texts []string) {
	if len(texts) == 0 {
		return
	}
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	*o = append(*o, field{key, list})
}

type writer struct {
	f      *world.Forest
	order  []*world.Merged
	in     map[string]bool // items that are written
	joints map[string][]world.NamedJoint
	maps   map[string][]*world.MapStatement
	notes  []string
	json   bool
}

// collect files joints and maps under the items that they are written in, and returns the
// members beside the items of what has none.
func (w *writer) collect(all bool) (top object) {
	var joints, maps, components []any
	for j := range w.f.Joints().All() {
		switch {
		case w.in[j.Moved]:
			w.joints[j.Moved] = append(w.joints[j.Moved], j)
		case all:
			joints = append(joints, w.joint(j, "", ""))
		}
	}
	for m := range w.f.Maps().All() {
		if m.Map.Link.CoreSegment() == "MapData" {
			w.notes = append(w.notes, fmt.Sprintf("the data of the map %s are not in the file; 'engram world maps --save DIR' fetches them", m.Name))
		}
		home := slices.IndexFunc(m.Map.Describes, func(name string) bool { return w.in[name] })
		switch {
		case home >= 0:
			name := m.Map.Describes[home]
			w.maps[name] = append(w.maps[name], m)
		case all:
			maps = append(maps, w.mapOf(m, ""))
		}
	}
	for c := range w.f.Components().All() {
		if !w.in[c.Name] && all {
			components = append(components, append(object{{"name", c.Name}}, w.component(c)...))
		}
	}
	for _, list := range []field{{"articulations", joints}, {"maps", maps}, {"components", components}} {
		if l := list.value.([]any); len(l) > 0 {
			top = append(top, field{list.key, l})
		}
	}
	return top
}

// nested returns the items with children inside their parents.
func (w *writer) nested() []any {
	depth := map[string]int{}
	inside := map[string][]*world.Merged{} // by parent
	var top []*world.Merged
	for _, m := range w.order { // parents come first
		parent := w.parent(m.Name)
		if w.in[parent] && depth[parent] < MaxNesting {
			depth[m.Name] = depth[parent] + 1
			inside[parent] = append(inside[parent], m)
			continue
		}
		top = append(top, m)
	}
	var tree func(m *world.Merged, parent string) object
	tree = func(m *world.Merged, parent string) object {
		o := w.item(m, parent)
		var children []any
		for _, c := range inside[m.Name] {
			children = append(children, tree(c, ""))
		}
		if len(children) > 0 {
			o = append(o, field{"children", children})
		}
		return o
	}
	var items []any
	for _, m := range top {
		items = append(items, tree(m, w.parent(m.Name)))
	}
	return items
}

// item returns an item; its parent is written unless it is "".
func (w *writer) item(m *world.Merged, parent string) object {
	o := object{{"name", m.Name}}
	d := m.Description
	if err := (&world.Item{Description: d}).Check(m.Name); err != nil {
		w.notes, d = append(w.notes, fmt.Sprintf("what is said of %s is not in the file, which could not be read again: %v", m.Name, err)), nil
	}
	if d != nil {
		o.list("kinds", d.Kinds)
	}
	add(&o, "parent", parent)
	if p := m.Placement; p != nil {
		o = append(o, field{"pose", poseObject(p.Pose)})
		if p.Frame != w.parent(m.Name) {
			add(&o, "frame", p.Frame)
		}
		if c := covariance(p); c != nil {
			o = append(o, field{"covariance", c})
		}
	}
	if d != nil {
		o = append(o, w.described(m.Name, d)...)
	}
	if states, _ := w.f.States(m.Name); len(states) > 0 {
		var s object
		for _, state := range states {
			s = append(s, field{state.State.Name, w.state(m.Name, state)})
		}
		o = append(o, field{"states", s})
	}
	if c, err := w.f.Components().Get(m.Name); err == nil {
		o = append(o, field{"component", w.component(c)})
	}
	var joints, maps []any
	for _, j := range w.joints[m.Name] {
		joints = append(joints, w.joint(j, w.parent(m.Name), m.Name))
	}
	if len(joints) > 0 {
		o = append(o, field{"articulations", joints})
	}
	for _, s := range w.maps[m.Name] {
		maps = append(maps, w.mapOf(s, m.Name))
	}
	if len(maps) > 0 {
		o = append(o, field{"maps", maps})
	}
	return o
}

// parent returns the parent that the forest gives an item, or the one that it waits for; "" if
// there is none.
func (w *writer) parent(name string) string {
	path, err := w.f.PathToRoot(name)
	switch {
	case err != nil:
		return ""
	case len(path) > 1:
		return path[1].Name
	}
	if s := path[0].Structure; s != nil && !w.f.Has(s.Parent) {
		return s.Parent
	}
	return ""
}

func numbers(v ...float64) []any {
	list := make([]any, len(v))
	for i, x := range v {
		list[i] = x + 0 // no negative zero
	}
	return list
}

func vector(v pose.Vec3) []any { return numbers(v.X, v.Y, v.Z) }

func poseObject(p pose.Pose) object {
	o := object{{"position", vector(p.T)}}
	if p.R != (pose.Quat{W: 1}) {
		o = append(o, field{"orientation", numbers(p.R.X, p.R.Y, p.R.Z, p.R.W)})
	}
	return o
}

// covariance returns a covariance as ROS has it, its diagonal alone if that is all; nil if it
// is unknown. Turning it into the axes of the frame rounds, so it is written with the 12 digits that
// stay what they are when it is read and written again.
func covariance(p *world.Placement) any {
	if p.Cov.Mask != pose.AllDims {
		return nil
	}
	m := p.Cov.ROS(p.Pose)
	if m == [36]float64{} {
		return "exact"
	}
	for range 3 { // what is rounded may be rounded to more
		roundCov(&m)
	}
	for i := range m {
		if i%7 != 0 && m[i] != 0 {
			return numbers(m[:]...)
		}
	}
	return numbers(m[0], m[7], m[14], m[21], m[28], m[35])
}

// roundCov rounds to the twelfth digit of the greatest variances of position and rotation.
func roundCov(m *[36]float64) {
	var most [2]float64
	for i := range 6 {
		most[i/3] = max(most[i/3], m[7*i])
	}
	for i := range m {
		scale := math.Sqrt(most[i/18] * most[i%6/3])
		if scale == 0 {
			m[i] = 0
			continue
		}
		digits := 11 - int(math.Floor(math.Log10(scale)+1e-9))
		if m[i], _ = strconv.ParseFloat(strconv.FormatFloat(m[i], 'f', max(digits, 0), 64), 64); m[i] == 0 { // it is a number
			m[i] = 0 // not a negative one
		}
	}
}

func (w *writer) described(name string, d *world.Description) object {
	var o object
	add(&o, "label", d.Label)
	o.list("spoken_names", d.SpokenNames)
	if d.Class != nil {
		add(&o, "class", d.Class.String())
	}
	if d.Shape != nil {
		o = append(o, field{"shape", shapeObject(d.Shape)})
	}
	if d.Box != nil {
		o = append(o, field{"box", boxValue(d.Box)})
	}
	if x := d.Detection; x != nil {
		var g object
		g.list("methods", x.Methods)
		g.list("tags", x.Tags)
		o = append(o, field{"detection", g})
	}
	if p := d.Place; p != nil {
		var g object
		add(&g, "level", p.Level)
		add(&g, "number", p.Number)
		o = append(o, field{"place", g})
	}
	if r := d.Robot; r != nil {
		var g object
		add(&g, "odom", r.Odom)
		add(&g, "base", r.Base)
		o = append(o, field{"robot", g})
	}
	add(&o, "maintainer", d.Maintainer)
	w.properties(&o, name, d.Properties)
	return o
}

func shapeObject(s *world.Shape) object {
	g := object{{"kind", shapeKinds[min(int(s.Kind), len(shapeKinds)-1)]}}
	switch {
	case s.Kind == world.ShapeMesh:
		add(&g, "mesh", s.Mesh)
		if s.Size != (pose.Vec3{}) {
			g = append(g, field{"scale", vector(s.Size)})
		}
	case s.Kind == world.ShapePolygon:
		var outline []any
		for _, c := range s.Outline {
			outline = append(outline, vector(c))
		}
		g = append(g, field{"outline", outline})
	default:
		g = append(g, field{"size", vector(s.Size)})
	}
	if s.Pose != nil {
		g = append(g, field{"pose", poseObject(*s.Pose)})
	}
	return g
}

func boxValue(b *world.Box) any {
	if b.Pose == pose.Identity() {
		return vector(b.Size)
	}
	return object{{"size", vector(b.Size)}, {"pose", poseObject(b.Pose)}}
}

func (w *writer) state(item string, s *world.StateStatement) any {
	value, ok := w.plain(s.State.Value)
	if !ok {
		w.notes = append(w.notes, fmt.Sprintf("the state %s of %s is a %T, which no file can hold", s.State.Name, item, s.State.Value))
	}
	if s.Confidence == 1 && s.State.HalfLife == 0 {
		if _, mapping := value.(object); !mapping {
			return value
		}
	}
	g := object{{"value", value}}
	if s.Confidence != 1 {
		g = append(g, field{"confidence", confidence(s.Confidence)})
	}
	if s.State.HalfLife != 0 {
		g = append(g, field{"half_life", s.State.HalfLife.String()})
	}
	return g
}

// confidence returns what a confidence was stated as: memories keep it in half the digits.
func confidence(c float64) float64 {
	if float64(float32(c)) != c {
		return c
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(c, 'g', -1, 32), 64) // it is a number
	return short
}

func (w *writer) joint(j world.NamedJoint, parent, item string) object {
	var o object
	if j.Name != item || len(w.joints[item]) > 1 {
		o = append(o, field{"name", j.Name})
	}
	if j.Base != parent {
		add(&o, "base", j.Base)
	}
	if j.Moved != item {
		add(&o, "moved", j.Moved)
	}
	o = append(o, field{"kind", j.Kind.String()})
	if j.Articulation.Pose != pose.Identity() {
		o = append(o, field{"pose", poseObject(j.Articulation.Pose)})
	}
	if j.Kind == world.Prismatic {
		o = append(o, field{"direction", vector(j.Direction)})
	}
	if j.Limits != nil {
		o = append(o, field{"limits", numbers(j.Limits.Lower, j.Limits.Upper)})
	}
	add(&o, "radius", j.Radius)
	add(&o, "reference", j.Reference)
	if j.Value != nil {
		o = append(o, field{"value", *j.Value})
	}
	add(&o, "sigma", j.Sigma)
	o.list("serves", j.Serves)
	return o
}

func (w *writer) mapOf(s *world.MapStatement, item string) object {
	m := s.Map
	o := object{{"name", s.Name}, {"kind", m.Kind.String()}}
	if len(m.Describes) != 1 || m.Describes[0] != item {
		o.list("describes", m.Describes)
	}
	add(&o, "frame", m.Frame)
	add(&o, "resolution", m.Resolution)
	if m.Extent != nil {
		o = append(o, field{"extent", boxValue(m.Extent)})
	}
	add(&o, "format", m.Format)
	if m.Link != (engram.ID{}) && m.Link.CoreSegment() != "MapData" { // another memory does not have those
		add(&o, "link", m.Link.String())
	}
	add(&o, "url", m.URL)
	add(&o, "sha256", m.SHA256)
	o.list("sensors", m.Sensors)
	o.list("algorithms", m.Algorithms)
	add(&o, "author", m.Author)
	if m.Created != 0 {
		add(&o, "created", string(m.Created.AppendRFC3339(nil)))
	}
	add(&o, "quality", m.Quality)
	w.properties(&o, s.Name, m.Properties)
	return o
}

func (w *writer) component(s *world.ComponentStatement) object {
	c := s.Component
	o := object{{"kind", c.Kind}}
	add(&o, "robot", c.Robot)
	o.list("inputs", c.Inputs)
	o.list("outputs", c.Outputs)
	add(&o, "frame", c.Frame)
	if v := c.View; v != nil {
		o = append(o, field{"field_of_view", object{
			{"horizontal", v.Horizontal}, {"vertical", v.Vertical}, {"min_range", v.MinRange}, {"max_range", v.MaxRange},
		}})
	}
	add(&o, "running", c.Running)
	add(&o, "started_by", c.StartedBy)
	w.properties(&o, s.Name, c.Properties)
	return o
}

func (w *writer) properties(o *object, of string, p map[string]any) {
	if len(p) == 0 {
		return
	}
	v, ok := w.dict(p)
	if !ok {
		w.notes = append(w.notes, fmt.Sprintf("properties of %s hold what no file can hold; that is left out", of))
	}
	*o = append(*o, field{"properties", v})
}

// dict returns the members of a value as files have them, by key; ok is false if something is left out.
func (w *writer) dict(d map[string]any) (o object, ok bool) {
	ok = true
	for key, item := range d {
		value, whole := w.plain(item)
		o, ok = append(o, field{key, value}), ok && whole
	}
	slices.SortFunc(o, func(a, b field) int { return cmp.Compare(a.key, b.key) })
	return o, ok
}

// plain returns a value as files have it, which reader.plain reads as the same; ok is false if something is left out.
func (w *writer) plain(v any) (out any, ok bool) {
	switch v := v.(type) {
	case nil, bool, string, int64, uint64:
		return v, true
	case float64:
		if !w.json || !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, true
		}
	case []any:
		list := make([]any, len(v))
		ok = true
		for i := range v {
			item, whole := w.plain(v[i])
			list[i], ok = item, ok && whole
		}
		return list, ok
	case map[string]any:
		o, ok := w.dict(v)
		if len(o) == 1 && strings.HasPrefix(o[0].key, "$") {
			o = object{{"$dict", o}}
		}
		return o, ok
	}
	b, err := idf.EncodeValue(v)
	if err != nil {
		return nil, false
	}
	text, err := valueType().JSON(b, idf.JSONOptions{SummarizeBytes: -1})
	if err != nil {
		return nil, false
	}
	n, err := parseJSON(text, "")
	if err != nil {
		return nil, false
	}
	return n.tree(), true
}
