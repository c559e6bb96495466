package computed

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Pose returns where a thing was at a time by KnowRob's perceptions: that of the newest event
// up to then which acted on the thing (objectActedOn) and has a matrix or a translation and a
// quaternion as the place where it occurred (eventOccursAt). An event without a time is older
// than all others, and older still is an orientation of the thing itself. It returns the event's
// start, too; [engram.MinTime] is none. A time of 0 is the present. ok is false if there is no
// pose, or if the thing was destroyed since (inputsDestroyed).
func Pose(v *knowledge.View, thing rdf.Term, at engram.Time) (p pose.Pose, when engram.Time, ok bool) {
	is, ok := perceived(v, thing, at)
	return is.pose, is.when, ok
}

// sighting is where a thing was perceived.
type sighting struct {
	place rdf.Term // what has the pose
	pose  pose.Pose
	axes  axes // its rotation as the file has it; zero if it is no matrix
	when  engram.Time
}

// axes are the columns of a rotation matrix.
type axes [3]pose.Vec3

func perceived(v *knowledge.View, thing rdf.Term, at engram.Time) (newest sighting, ok bool) {
	if at == 0 {
		at = engram.MaxTime
	}
	var by string
	for _, ns := range [...]string{KnowRob, formerly} {
		var last rdf.Term // it counts among events of one time
		for t := range v.Has(thing, rdf.NewIRI(ns+"latestDetectionOfObject"), rdf.Term{}) {
			last = t.O
		}
		for t := range v.Has(rdf.Term{}, rdf.NewIRI(ns+"objectActedOn"), thing) {
			start, _, timed := times(v, t.S, "startTime")
			if !timed {
				start = engram.MinTime
			}
			if start > at || ok && (start < newest.when || start == newest.when && (by == last.Value || t.S.Value < by && t.S != last)) {
				continue
			}
			for place := range v.Has(t.S, rdf.NewIRI(ns+"eventOccursAt"), rdf.Term{}) {
				if s, is := poseOf(v, ns, place.O); is {
					newest, by, ok = s, t.S.Value, true
					newest.when = start
				}
			}
		}
		for t := range v.Has(thing, rdf.NewIRI(ns+"orientation"), rdf.Term{}) {
			if s, is := poseOf(v, ns, t.O); is && !ok {
				newest, ok = s, true
				newest.when = engram.MinTime
			}
		}
		for t := range v.Has(rdf.Term{}, rdf.NewIRI(ns+"inputsDestroyed"), thing) {
			if end, _, timed := times(v, t.S, "startTime"); timed && end <= at && end >= newest.when {
				return sighting{}, false
			}
		}
	}
	return newest, ok
}

// poseOf reads a RotationMatrix3D, also one that has its numbers in its name, or a pose of a
// translation and a quaternion.
func poseOf(v *knowledge.View, ns string, place rdf.Term) (s sighting, ok bool) {
	s.place = place
	if place.Kind == rdf.Literal {
		return s, false
	}
	if t, ok := vector(v, place, ns+"translation", 3); ok {
		q, ok := vector(v, place, ns+"quaternion", 4)
		if !ok {
			return s, false
		}
		s.pose, ok = upright(pose.Vec3{X: t[0], Y: t[1], Z: t[2]}, pose.Quat{W: q[0], X: q[1], Y: q[2], Z: q[3]})
		return s, ok
	}
	var m [3][4]float64
	_, named, _ := strings.Cut(place.Value, "rotMat3D_")
	inName, isNamed := numbers(strings.ReplaceAll(named, "_", " "), 16)
	for i := range m {
		for j := range m[i] {
			e, ok := vector(v, place, ns+"m"+strconv.Itoa(i)+strconv.Itoa(j), 1)
			switch {
			case ok:
				m[i][j] = e[0]
			case isNamed:
				m[i][j] = inName[4*i+j]
			default:
				return s, false
			}
		}
	}
	for j := range s.axes {
		s.axes[j] = pose.Vec3{X: m[0][j], Y: m[1][j], Z: m[2][j]}
	}
	s.pose, ok = upright(pose.Vec3{X: m[0][3], Y: m[1][3], Z: m[2][3]}, Rotation(&m))
	return s, ok
}

// upright returns a pose with a rotation of unit length; files have rounded ones.
func upright(t pose.Vec3, q pose.Quat) (pose.Pose, bool) {
	n := math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	if !(n > 0.5 && n < 2) {
		return pose.Pose{}, false
	}
	p, err := pose.Pose{T: t, R: pose.Quat{W: q.W / n, X: q.X / n, Y: q.Y / n, Z: q.Z / n}}.Checked()
	return p, err == nil && t.Norm() <= world.MaxLength
}

// Rotation returns the quaternion of a rotation matrix, by its greatest component (Shepperd).
func Rotation(m *[3][4]float64) pose.Quat {
	xx, yy, zz := m[0][0], m[1][1], m[2][2]
	root := func(x float64) float64 { return math.Sqrt(max(0, 1+x)) / 2 }
	switch {
	case xx+yy+zz > 0:
		w := root(xx + yy + zz)
		return pose.Quat{W: w, X: (m[2][1] - m[1][2]) / (4 * w), Y: (m[0][2] - m[2][0]) / (4 * w), Z: (m[1][0] - m[0][1]) / (4 * w)}
	case xx >= yy && xx >= zz:
		x := root(xx - yy - zz)
		return pose.Quat{W: (m[2][1] - m[1][2]) / (4 * x), X: x, Y: (m[0][1] + m[1][0]) / (4 * x), Z: (m[0][2] + m[2][0]) / (4 * x)}
	case yy >= zz:
		y := root(yy - xx - zz)
		return pose.Quat{W: (m[0][2] - m[2][0]) / (4 * y), X: (m[0][1] + m[1][0]) / (4 * y), Y: y, Z: (m[1][2] + m[2][1]) / (4 * y)}
	}
	z := root(zz - xx - yy)
	return pose.Quat{W: (m[1][0] - m[0][1]) / (4 * z), X: (m[0][2] + m[2][0]) / (4 * z), Y: (m[1][2] + m[2][1]) / (4 * z), Z: z}
}

// vector reads n numbers of a literal, which restrictions may give to a whole class.
func vector(v *knowledge.View, of rdf.Term, property string, n int) ([]float64, bool) {
	for t := range v.OWLHas(of, rdf.NewIRI(property), rdf.Term{}) {
		if t.O.Kind == rdf.Literal {
			if x, ok := numbers(t.O.Value, n); ok {
				return x, true
			}
		}
	}
	return nil, false
}

// numbers reads n numbers with blanks or commas between them.
func numbers(text string, n int) ([]float64, bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' })
	if len(words) != n {
		return nil, false
	}
	found := make([]float64, n)
	for i, word := range words {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil || !(math.Abs(x) <= world.MaxLength) {
			return nil, false
		}
		found[i] = x
	}
	return found, true
}

// sizeOf returns the edges of a thing's box: its depth along x, width along y, height along z.
func sizeOf(v *knowledge.View, thing rdf.Term) (size pose.Vec3) {
	for _, ns := range [...]string{KnowRob, formerly} {
		d, okD := vector(v, thing, ns+"depthOfObject", 1)
		w, okW := vector(v, thing, ns+"widthOfObject", 1)
		h, okH := vector(v, thing, ns+"heightOfObject", 1)
		if okD && okW && okH {
			return pose.Vec3{X: math.Abs(d[0]), Y: math.Abs(w[0]), Z: math.Abs(h[0])}
		}
	}
	for _, property := range [...]string{KnowRob + "boundingBoxSize", "http://knowrob.org/kb/srdl2-comp.owl#box_size"} {
		if s, ok := vector(v, thing, property, 3); ok {
			return pose.Vec3{X: math.Abs(s[0]), Y: math.Abs(s[1]), Z: math.Abs(s[2])}
		}
	}
	return size
}

// FromView returns the scene of the things of which the facts have a pose at the view's time, in
// one frame, as [Pose] has it; their boxes are about their poses.
func FromView(v *knowledge.View, rules Rules) *Scene {
	e := (&Scene{rules: rules, source: stated{v: v}}).edit()
	for thing := range things(v) {
		if at, ok := perceived(v, thing, v.At); ok {
			e.put(Body{Name: thing.Value, Pose: at.pose, axes: at.axes, Box: world.Box{Pose: pose.Identity(), Size: sizeOf(v, thing)}, Place: isPlace(v, thing)})
		}
	}
	return e.Scene
}

// things yields the IRIs of what may have a pose in the facts.
func things(v *knowledge.View) iter.Seq[rdf.Term] {
	return func(yield func(rdf.Term) bool) {
		seen := map[rdf.Term]bool{}
		once := func(t rdf.Term) bool {
			if seen[t] || t.Kind != rdf.IRI {
				return true
			}
			seen[t] = true
			return yield(t)
		}
		for _, ns := range [...]string{KnowRob, formerly} {
			for t := range v.Has(rdf.Term{}, rdf.NewIRI(ns+"objectActedOn"), rdf.Term{}) {
				if !once(t.O) {
					return
				}
			}
			for t := range v.Has(rdf.Term{}, rdf.NewIRI(ns+"orientation"), rdf.Term{}) {
				if !once(t.S) {
					return
				}
			}
		}
	}
}

// isPlace reports whether a thing is a room or the like. KnowRob has cupboards among the places, too.
func isPlace(v *knowledge.View, thing rdf.Term) bool {
	return isA(v, thing, "Place") && !isA(v, thing, "StorageConstruct", "Container", "FixedObstacle")
}

// stated is the source of bodies that are in facts.
type stated struct {
	alone
	v *knowledge.View
}

func (s stated) within(a, place *Body) (stated, may bool) {
	for _, ns := range [...]string{KnowRob, formerly} {
		for range s.v.OWLHas(rdf.NewIRI(place.Name), rdf.NewIRI(ns+"properPhysicalParts"), rdf.NewIRI(a.Name)) {
			return true, true
		}
	}
	return false, true
}

func (s stated) places(of *Body) (names []string) {
	for _, ns := range [...]string{KnowRob, formerly} {
		for t := range s.v.OWLHas(rdf.Term{}, rdf.NewIRI(ns+"properPhysicalParts"), rdf.NewIRI(of.Name)) {
			names = append(names, t.S.Value)
		}
	}
	return names
}

func (s stated) parts(of *Body) (names []string) {
	for _, ns := range [...]string{KnowRob, formerly} {
		for t := range s.v.OWLHas(rdf.NewIRI(of.Name), rdf.NewIRI(ns+"properPhysicalParts"), rdf.Term{}) {
			names = append(names, t.O.Value)
		}
	}
	return names
}
