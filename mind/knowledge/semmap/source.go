package semmap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// source is a graph that is read, and what is told of it.
type source struct {
	g      *knowledge.Graph
	kr     string              // KnowRob's namespace, as the graph has it
	supers map[string][]string // of classes, themselves included
	out    Import
}

func (s *source) k(name string) rdf.Term { return rdf.NewIRI(s.kr + name) }

func (s *source) note(iri, format string, args ...any) {
	s.out.Notes = append(s.out.Notes, Note{IRI: iri, Text: fmt.Sprintf(format, args...)})
}

func (s *source) refuse(iri string, err error) {
	s.out.Notes = append(s.out.Notes, Note{IRI: iri, Text: err.Error(), Refused: true})
}

// ref returns an IRI, "_:" and the label of a blank node, or the text of a literal; node is the
// individual of the first two.
func ref(t rdf.Term) string {
	if t.Kind == rdf.Blank {
		return "_:" + t.Value
	}
	return t.Value
}

func node(ref string) rdf.Term {
	if label, ok := strings.CutPrefix(ref, "_:"); ok {
		return rdf.NewBlank(label)
	}
	return rdf.NewIRI(ref)
}

// objects returns what a property has of one individual, sorted.
func (s *source) objects(of string, p rdf.Term) (objects []rdf.Term) {
	for t := range s.g.Match(node(of), p, rdf.Term{}) {
		objects = append(objects, t.O)
	}
	slices.SortFunc(objects, func(a, b rdf.Term) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Lang, b.Lang))
	})
	return objects
}

// object returns the first object; "" if there is none.
func (s *source) object(of string, p rdf.Term) string {
	if o := s.objects(of, p); len(o) > 0 {
		return ref(o[0])
	}
	return ""
}

// subjects returns the IRIs that have an object; all objects count if it is zero.
func (s *source) subjects(p, o rdf.Term) (iris []string) {
	for t := range s.g.Match(rdf.Term{}, p, o) {
		if t.S.Kind == rdf.IRI {
			iris = append(iris, t.S.Value)
		}
	}
	slices.Sort(iris)
	return slices.Compact(iris)
}

func (s *source) is(iri string, class rdf.Term) bool {
	for range s.g.Match(rdf.NewIRI(iri), rdfType, class) {
		return true
	}
	return false
}

// get reads the fields that are said of an individual, and reports whether any is.
func get[T any](r *source, iri string, fields []field[T], v *T) (any bool) {
	for _, f := range fields {
		terms := r.objects(iri, own(f.name))
		if len(terms) == 0 {
			continue
		}
		if any = true; !set(f.at(v), terms) {
			r.note(iri, "its %s is %q, which cannot be read", f.name, terms[0].Value)
		}
	}
	return any
}

func (s *source) readProperties(iri, prefix string) (properties map[string]any) {
	for t := range s.g.Match(rdf.NewIRI(iri), rdf.Term{}, rdf.Term{}) {
		local, ok := strings.CutPrefix(t.P.Value, NSProperty+prefix)
		if !ok || strings.Contains(local, "/") {
			continue
		}
		name := unescapeProperty(local)
		if name == PropertyIRI || name == propertySame || name == propertyJoined {
			continue // these are said otherwise
		}
		if properties == nil {
			properties = map[string]any{}
		}
		properties[name] = valueOf(t.O)
	}
	return properties
}

// number returns a number that a property has.
func (s *source) number(iri string, p rdf.Term) (x float64, ok bool) {
	for _, o := range s.objects(iri, p) {
		v, err := strconv.ParseFloat(strings.TrimSpace(o.Value), 64)
		if err == nil && v-v == 0 {
			return v, true
		}
		s.note(iri, "its %s is %q, which is no number", local(p.Value), o.Value)
	}
	return 0, false
}

func local(iri string) string { _, l := split(iri); return l }

// above are classes that are known to be below others if the graph has no ontology.
var above = map[string]string{
	"City": "Place", "Street": "Place", "Building": "HumanShelterConstruction", "LevelOfAConstruction": "SpaceInAFixedHOC",
	"RoomInAConstruction": "SpaceInAFixedHOC", "HospitalRoom": "RoomInAConstruction", "Kitchen": "RoomInAConstruction",
	"HingedJoint": "Joint-Physical", "RotationalJoint": "HingedJoint", "PrismaticJoint": "Joint-Physical",
	"SemanticEnvironmentMap": "Map", "OccupancyGridMap": "Map", "OctoMap": "Map", "ReVslamMap": "Map", "TopologicalMap": "Map",
	"MeshMap": "Map", "Cupboard": "FurniturePiece", "Table": "FurniturePiece", "Bed-PieceOfFurniture": "FurniturePiece",
}

// superclasses returns a class and all that it is a subclass of.
func (s *source) superclasses(class string) []string {
	if known, ok := s.supers[class]; ok {
		return known
	}
	all := []string{class}
	for i := 0; i < len(all); i++ {
		for t := range s.g.Match(rdf.NewIRI(all[i]), rdf.NewIRI(rdf.NSRDFS+"subClassOf"), rdf.Term{}) {
			if t.O.Kind == rdf.IRI && !slices.Contains(all, t.O.Value) {
				all = append(all, t.O.Value)
			}
		}
		if up, ok := above[local(all[i])]; ok && !slices.Contains(all, s.kr+up) {
			all = append(all, s.kr+up)
		}
	}
	s.supers[class] = all
	return all
}

// types returns the classes that an individual is said to be of, without those of OWL and ours.
func (s *source) types(iri string) (types []string) {
	for _, t := range s.objects(iri, rdfType) {
		if t.Kind == rdf.IRI && !strings.HasPrefix(t.Value, rdf.NSOWL) && !strings.HasPrefix(t.Value, NS) {
			types = append(types, t.Value)
		}
	}
	return types
}

// isA reports whether an individual is of a class of KnowRob, or of one below it.
func (s *source) isA(iri string, classes ...string) bool {
	return slices.ContainsFunc(s.types(iri), func(t string) bool {
		return slices.ContainsFunc(classes, func(c string) bool { return slices.Contains(s.superclasses(t), s.kr+c) })
	})
}

// edges yields each whole with each part of it, as the graph says it.
func (s *source) edges(yield func(whole, part string)) {
	take := func(whole, part rdf.Term) {
		switch {
		case whole.Kind == rdf.IRI && part.Kind == rdf.IRI:
			yield(whole.Value, part.Value)
		case part.Kind == rdf.Blank:
			s.note(ref(whole), "it has a part without an IRI, which is not taken")
		}
	}
	for t := range s.g.Has(rdf.Term{}, s.k("physicalParts"), rdf.Term{}) {
		take(t.S, t.O)
	}
	for _, p := range []string{"properPhysicalParts", "hasLevels"} {
		for t := range s.g.Match(rdf.Term{}, s.k(p), rdf.Term{}) {
			take(t.S, t.O)
		}
	}
	for t := range s.g.Match(rdf.Term{}, s.k("physicalPartOf"), rdf.Term{}) {
		take(t.O, t.S)
	}
}

// time returns when an event began; 0 if that is not known.
func (s *source) time(event string) engram.Time {
	start := cmp.Or(s.object(event, own("statedAt")), s.object(event, s.k("startTime")))
	if start == "" {
		return 0
	}
	l := local(start)
	t, ok := parseDecimal(l[strings.LastIndexByte(l, '_')+1:])
	if !ok {
		s.note(event, "its time is %s, which is no timepoint_ with seconds", start)
	}
	return t
}

// unitTolerance is how far rows of a rotation may be from unit vectors at right angles.
const unitTolerance = 1e-2

// matrix reads a pose: a matrix by rows, or a translation and a quaternion.
func (s *source) matrix(at string) (p pose.Pose, ok bool) {
	if v := parseNumbers(s.object(at, s.k("translation"))); len(v) == 3 {
		q := parseNumbers(s.object(at, s.k("quaternion")))
		if len(q) != 4 {
			s.note(at, "it has a translation and no quaternion of 4 numbers; it is no pose")
			return p, false
		}
		p, err := pose.Pose{T: pose.Vec3{X: v[0], Y: v[1], Z: v[2]}, R: pose.Quat{W: q[0], X: q[1], Y: q[2], Z: q[3]}}.Checked()
		if err != nil {
			s.note(at, "it is no pose: %v", err)
		}
		return p, err == nil
	}
	var m [3][4]float64
	for i := range 3 {
		for j := range 4 {
			if m[i][j], ok = s.number(at, s.k("m"+string(rune('0'+i))+string(rune('0'+j)))); !ok {
				s.note(at, "it has no number m%d%d; it is no pose", i, j)
				return p, false
			}
		}
	}
	column := func(j int) pose.Vec3 { return pose.Vec3{X: m[0][j], Y: m[1][j], Z: m[2][j]} }
	x, y, z := column(0), column(1), column(2)
	if x.Cross(y).Add(z).Norm() < unitTolerance {
		s.note(at, "its axes are left-handed; z is turned round")
		for i := range 3 {
			m[i][2] = -m[i][2]
		}
		z = column(2)
	}
	off := max(math.Abs(x.Norm()-1), math.Abs(y.Norm()-1), x.Cross(y).Sub(z).Norm())
	if !(off <= unitTolerance) {
		s.note(at, "its axes are not unit vectors at right angles, by %.3g; it is no pose", off)
		return p, false
	}
	p, err := pose.Pose{T: column(3), R: quaternion(m)}.Checked()
	if err != nil {
		s.note(at, "it is no pose: %v", err)
	}
	return p, err == nil
}

// quaternion returns the rotation of a matrix, by the largest of its four members.
func quaternion(m [3][4]float64) pose.Quat {
	w, x, y, z := 1+m[0][0]+m[1][1]+m[2][2], 1+m[0][0]-m[1][1]-m[2][2], 1-m[0][0]+m[1][1]-m[2][2], 1-m[0][0]-m[1][1]+m[2][2]
	a, b, c := m[2][1]-m[1][2], m[0][2]-m[2][0], m[1][0]-m[0][1]
	d, e, f := m[0][1]+m[1][0], m[0][2]+m[2][0], m[1][2]+m[2][1]
	var q pose.Quat
	switch max(w, x, y, z) {
	case w:
		q = pose.Quat{W: w, X: a, Y: b, Z: c}
	case x:
		q = pose.Quat{W: a, X: x, Y: d, Z: e}
	case y:
		q = pose.Quat{W: b, X: d, Y: y, Z: f}
	default:
		q = pose.Quat{W: c, X: e, Y: f, Z: z}
	}
	k := 1 / math.Sqrt(q.W*q.W+q.X*q.X+q.Y*q.Y+q.Z*q.Z)
	if q.W < 0 {
		k = -k
	}
	return pose.Quat{W: q.W * k, X: q.X * k, Y: q.Y * k, Z: q.Z * k}
}

func (s *source) direction(iri string) (v pose.Vec3) {
	d := s.object(iri, s.k("direction"))
	if d == "" {
		return v
	}
	for p, x := range map[string]*float64{"vectorX": &v.X, "vectorY": &v.Y, "vectorZ": &v.Z} {
		*x, _ = s.number(d, s.k(p))
	}
	return v
}
