package semmap

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Triples returns what is said of an item: its classes, its whole, its box, its pose, its states, and what a
// component of its name is; nothing for what is no item and no component. No two items, joints or
// maps have a triple in common, but for joints between the same two items. The same forest gives the same.
//
// Its matrix is relativeTo the frame that it is placed in, so that only this item's triples
// change when it moves. Those of the children change, too, when an item comes or goes.
func Triples(f *world.Forest, names *Names, name string) []rdf.Triple {
	w := &writer{f: f, names: names, triples: make([]rdf.Triple, 0, 48)}
	w.item(name)
	if e, stated, ok := w.edge(name); ok {
		w.perception(name, stated, e.Frame, e.Pose, e.Time, "")
	}
	w.component(name)
	return w.triples
}

// JointTriples returns what is said of an articulation.
func JointTriples(f *world.Forest, names *Names, name string) []rdf.Triple {
	w := &writer{f: f, names: names}
	w.joint(name)
	return w.triples
}

// MapTriples returns what is said of a map, and that it describes what it does.
func MapTriples(f *world.Forest, names *Names, name string) []rdf.Triple {
	w := &writer{f: f, names: names}
	w.mapped(name)
	return w.triples
}

// All returns what is said of all items, joints, maps and components, without [Ontology].
func All(f *world.Forest, names *Names) []rdf.Triple {
	var all []rdf.Triple
	for m := range f.All() {
		all = append(all, Triples(f, names, m.Name)...)
	}
	last := ""
	for j := range f.Joints().All() {
		if j.Name != last {
			all = append(all, JointTriples(f, names, j.Name)...)
		}
		last = j.Name
	}
	for m := range f.Maps().All() {
		all = append(all, MapTriples(f, names, m.Name)...)
	}
	for c := range f.Components().All() {
		if !f.Has(c.Name) {
			all = append(all, Triples(f, names, c.Name)...)
		}
	}
	return all
}

// writer collects triples.
type writer struct {
	f       *world.Forest
	names   *Names
	triples []rdf.Triple
}

func (w *writer) add(s, p, o rdf.Term) { w.triples = append(w.triples, rdf.Triple{S: s, P: p, O: o}) }

func (w *writer) iri(item string) rdf.Term { return rdf.NewIRI(w.names.IRI(item)) }

// own returns an IRI for something that belongs to an item.
func (w *writer) own(what, name string) rdf.Term {
	return rdf.NewIRI(w.names.own + what + "@" + escape(name))
}

// put writes the fields of v that are said.
func put[T any](w *writer, s rdf.Term, fields []field[T], v *T) {
	if v == nil {
		return
	}
	for _, f := range fields {
		for _, o := range literals(f.at(v)) {
			w.add(s, own(f.name), o)
		}
	}
}

// ordered writes texts of which the first is distinguished.
func (w *writer) ordered(s rdf.Term, first, each string, texts []string) {
	for i, t := range texts {
		if w.add(s, own(each), text(t)); i == 0 {
			w.add(s, own(first), text(t))
		}
	}
}

func (w *writer) properties(s rdf.Term, prefix string, properties map[string]any, but ...string) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(but, name) {
			continue
		}
		if o, ok := value(properties[name]); ok {
			w.add(s, rdf.NewIRI(NSProperty+prefix+escapeProperty(name)), o)
		}
	}
}

func (w *writer) said(s rdf.Term, said *world.Said) {
	w.add(s, own("saidBy"), text(said.Provider))
	if said.Robot != "" {
		w.add(s, own("robot"), text(said.Robot))
	}
	if said.Confidence != 1 {
		w.add(s, own("confidence"), number(said.Confidence))
	}
}

// item writes all of an item but where it is.
func (w *writer) item(name string) {
	m, err := w.f.Get(name)
	if err != nil {
		return
	}
	s := w.iri(name)
	w.add(s, rdfType, own("Item"))
	if path, _ := w.f.PathToRoot(name); len(path) > 1 {
		w.add(w.iri(path[1].Name), kr("properPhysicalParts"), s)
	}
	put(w, s, itemFields, m.Item)
	w.description(s, m)
	if by := cmp.Or(m.Described, m.Structured, m.Placed); by != nil {
		w.said(s, &by.Said)
	}
	states, _ := w.f.States(name)
	for _, st := range states {
		w.state(s, name, st)
	}
}

func (w *writer) description(s rdf.Term, m *world.Merged) {
	for _, iri := range classesOf(m.Description) {
		w.add(s, rdfType, rdf.NewIRI(iri))
	}
	if label := m.Label(); label != "" {
		w.add(s, rdfsLabel, text(label))
	}
	d := m.Description
	if d == nil {
		return
	}
	for _, spoken := range d.SpokenNames {
		if spoken != m.Label() {
			w.add(s, rdfsLabel, text(spoken))
		}
	}
	w.ordered(s, "usualName", "spokenName", d.SpokenNames)
	w.ordered(s, "mainKind", "kind", d.Kinds)
	if p := d.Place; p != nil {
		w.add(s, own("level"), text(p.Level))
		if p.Number != "" {
			w.add(s, numberOf(p.Level), text(p.Number))
		}
	}
	if b := d.Box; b != nil {
		w.add(s, kr("depthOfObject"), number(b.Size.X))
		w.add(s, kr("widthOfObject"), number(b.Size.Y))
		w.add(s, kr("heightOfObject"), number(b.Size.Z))
		if b.Pose != pose.Identity() {
			w.add(s, own("boxPose"), literals(&b.Pose)[0])
		}
	}
	if d.Shape != nil && d.Shape.Kind == world.ShapeMesh && d.Shape.Mesh != "" {
		w.add(s, kr("pathToCadModel"), text(d.Shape.Mesh))
	}
	put(w, s, descriptionFields, d)
	put(w, s, shapeFields, d.Shape)
	put(w, s, detectionFields, d.Detection)
	put(w, s, robotFields, d.Robot)
	for _, iri := range list(d.Properties[propertySame]) {
		w.add(s, sameAs, rdf.NewIRI(iri))
	}
	for _, iri := range list(d.Properties[propertyJoined]) {
		w.add(s, own("joinedWith"), rdf.NewTyped(iri, rdf.NSXSD+"anyURI"))
	}
	said := []string{propertySame, propertyJoined}
	if s.Value != w.names.plain("", m.Name) { // its IRI and its classes are said
		said = append(said, PropertyIRI, propertyTypes)
	}
	w.properties(s, "", d.Properties, said...)
}

// numberOf returns the property that numbers places of a level.
func numberOf(level string) rdf.Term {
	for _, l := range levels {
		if l.level == level && l.number != "" {
			return kr(l.number)
		}
	}
	return own("number")
}

// state writes a state: its value at the item, and how sure that is at an individual of its own.
func (w *writer) state(item rdf.Term, name string, st *world.StateStatement) {
	o, ok := value(st.State.Value)
	if !ok {
		return
	}
	if device, is := st.State.Value.(string); is && st.State.Name == "stateOfObject" {
		w.add(item, kr("stateOfObject"), kr(device))
	}
	w.add(item, rdf.NewIRI(NSState+escapeProperty(st.State.Name)), o)
	s := rdf.NewIRI(w.own("state", name).Value + "@" + escape(st.State.Name))
	w.add(s, rdfType, own("State"))
	w.add(s, own("stateOf"), item)
	w.add(s, own("value"), o)
	w.add(s, kr("startTime"), TimePoint(st.Time))
	put(w, s, stateFields, &State{State: *st.State, Confidence: st.Confidence})
	w.add(s, own("saidBy"), text(st.Provider))
}

// edge returns where an item hangs, and the same as it is stated: at the reference of its joint.
func (w *writer) edge(name string) (e, stated world.Edge, ok bool) {
	if e, ok = w.f.Edge(name); !ok || e.Frame == "" {
		return e, e, false
	}
	m, _ := w.f.Get(name)
	stated = e
	stated.Pose, stated.Cov = m.Placement.Pose, m.Placement.Cov
	return e, stated, true
}

// PerceptionIRI returns the IRIs of the perception that says where an item is, and of its matrix, for [Triples].
func PerceptionIRI(names *Names, name string) map[string]bool {
	w := &writer{names: names}
	return map[string]bool{w.own("perception", name).Value: true, w.own("matrix", name).Value: true}
}

// TimePoint returns the IRI of a point in time.
func TimePoint(t engram.Time) rdf.Term { return rdf.NewIRI(NSTime + "timepoint_" + decimal(int64(t))) }

// perception writes where an item is since a time: at is in a frame, or in that of the map if
// relative is "". Of several of one item each has its own mark. What the item's statement says is in edge.
func (w *writer) perception(name string, edge world.Edge, relative string, at pose.Pose, since engram.Time, mark string) {
	m, err := w.f.Get(name)
	if err != nil {
		return
	}
	s, matrix := rdf.NewIRI(w.own("perception", name).Value+mark), rdf.NewIRI(w.own("matrix", name).Value+mark)
	w.add(s, rdfType, kr("SemanticMapPerception"))
	w.add(s, kr("objectActedOn"), w.iri(name))
	w.add(s, kr("eventOccursAt"), matrix)
	w.add(s, kr("startTime"), TimePoint(since))
	if edge.Time != since {
		w.add(s, own("statedAt"), TimePoint(edge.Time))
	}
	w.add(s, own("placedIn"), w.iri(edge.Frame))
	if edge.Provider != "" {
		w.add(s, own("saidBy"), text(edge.Provider))
	}
	put(w, s, poseFields, &Pose{Pose: edge.Pose, Cov: edge.Cov})
	if m.Description != nil && m.Description.Box != nil {
		at = at.Mul(m.Description.Box.Pose)
	}
	w.matrix(matrix, at)
	if relative != "" {
		w.add(matrix, kr("relativeTo"), w.iri(relative))
	}
}

func (w *writer) matrix(s rdf.Term, p pose.Pose) {
	w.add(s, rdfType, kr("RotationMatrix3D"))
	for i, row := range rows(p) {
		for j, x := range row {
			w.add(s, kr("m"+string(rune('0'+i))+string(rune('0'+j))), number(x))
		}
	}
}

// rows returns a pose as a matrix.
func rows(p pose.Pose) (m [4][4]float64) {
	for j, axis := range [3]pose.Vec3{{X: 1}, {Y: 1}, {Z: 1}} {
		c := p.R.Rotate(axis)
		m[0][j], m[1][j], m[2][j] = c.X, c.Y, c.Z
	}
	m[0][3], m[1][3], m[2][3], m[3][3] = p.T.X, p.T.Y, p.T.Z, 1
	return m
}

// joint writes an articulation. What an item says that is the joint is not said again.
func (w *writer) joint(name string) {
	j, err := w.f.Joints().Get(name)
	if err != nil {
		return
	}
	s := rdf.NewIRI(w.names.JointIRI(w.f, name))
	base, moved := w.iri(j.Base), w.iri(j.Moved)
	w.add(s, rdfType, own("Articulation"))
	twin := s.Value == w.names.IRI(name)
	if !twin {
		for _, class := range [...][]rdf.Term{
			world.Fixed:     {own("FixedJoint"), kr("Joint-Physical")},
			world.Revolute:  {kr("RotationalJoint"), kr("HingedJoint")},
			world.Prismatic: {kr("PrismaticJoint")},
		}[j.Kind] {
			w.add(s, rdfType, class)
		}
		w.add(base, kr("properPhysicalParts"), s)
		event, matrix := w.own("joint-perception", name), w.own("joint-matrix", name)
		w.add(event, rdfType, kr("TouchPerception"))
		w.add(event, kr("objectActedOn"), s)
		w.add(event, kr("eventOccursAt"), matrix)
		w.matrix(matrix, j.Pose)
		w.add(matrix, kr("relativeTo"), base)
	}
	w.add(s, kr("connectedTo-Rigidly"), base)
	w.add(s, kr("connectedTo-Rigidly"), moved)
	w.add(s, own("base"), base)
	w.add(s, own("moved"), moved)
	switch j.Kind {
	case world.Revolute:
		w.add(base, kr("hingedTo"), moved)
	case world.Prismatic:
		w.add(base, kr("prismaticallyConnectedTo"), moved)
	}
	if l := j.Limits; l != nil {
		w.add(s, kr("minJointValue"), number(l.Lower))
		w.add(s, kr("maxJointValue"), number(l.Upper))
	}
	if j.Radius > 0 {
		w.add(s, kr("turnRadius"), number(j.Radius))
	}
	if j.Direction != (pose.Vec3{}) {
		v := w.own("direction", name)
		w.add(s, kr("direction"), v)
		w.add(v, rdfType, kr("Vector"))
		w.add(v, kr("vectorX"), number(j.Direction.X))
		w.add(v, kr("vectorY"), number(j.Direction.Y))
		w.add(v, kr("vectorZ"), number(j.Direction.Z))
	}
	put(w, s, jointFields, j.Articulation)
	for _, floor := range j.Serves {
		w.add(s, own("serves"), w.iri(floor))
	}
	w.add(s, own("jointSaidBy"), text(j.Described.Provider))
}

func (w *writer) mapped(name string) {
	st, err := w.f.Maps().Get(name)
	if err != nil {
		return
	}
	m := st.Map
	s := rdf.NewIRI(w.names.MapIRI(name))
	w.add(s, rdfType, rdf.NewIRI(mapClasses[min(int(m.Kind), len(mapClasses)-1)]))
	for _, item := range m.Describes {
		w.add(w.iri(item), kr("describedInMap"), s)
	}
	if m.URL != "" {
		w.add(s, rdf.NewIRI(NSRoboEarth+"linkToMapFile"), text(m.URL))
	}
	if m.Frame != "" {
		w.add(s, own("mapFrame"), w.iri(m.Frame))
	}
	put(w, s, mapFields, m)
	put(w, s, boxFields, m.Extent)
	if image, ok := m.Properties["image"].(string); ok {
		w.add(s, rdf.NewIRI(NSRoboEarth+"linkToImageFile"), text(image))
	}
	w.properties(s, "map/", m.Properties, PropertyIRI, "image")
	w.add(s, own("mapSaidBy"), text(st.Provider))
}

func (w *writer) component(name string) {
	st, err := w.f.Components().Get(name)
	if err != nil {
		return
	}
	c, s := st.Component, w.iri(name)
	w.add(s, rdfType, own("Component"))
	if s.Value == w.names.plain("", name) { // what was imported has its classes
		w.add(s, rdfType, rdf.NewIRI(NSComponent+componentClass(c)))
	}
	if c.Robot != "" {
		w.add(s, own("onRobot"), w.iri(c.Robot))
		w.add(w.iri(c.Robot), rdf.NewIRI(NSComponent+"subComponent"), s)
	}
	if c.Frame != "" {
		w.add(s, own("dataFrame"), w.iri(c.Frame))
	}
	put(w, s, componentFields, c)
	put(w, s, viewFields, c.View)
	w.properties(s, "component/", c.Properties)
}

// componentClass returns the class of a component in SRDL, as far as its kind tells.
func componentClass(c *world.Component) string {
	switch kind := strings.ToLower(c.Kind); {
	case strings.Contains(kind, "camera"):
		return "Camera"
	case strings.Contains(kind, "laser") || strings.Contains(kind, "lidar"):
		return "LaserScanner"
	case c.View != nil:
		return "Sensor"
	}
	return "HardwareComponent"
}

// formatOf returns the format of a file by the end of its name.
func formatOf(url string) string { return strings.TrimPrefix(path.Ext(url), ".") }
