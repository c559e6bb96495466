package computed

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// A Body is what a scene has of a thing, a place or a robot.
type Body struct {
	Name  string    // its IRI
	Frame string    // bodies of different frames have no relations; z points up
	Pose  pose.Pose // frameFromBody; x points ahead, y to the left
	Cov   pose.Cov  // unknown counts as exact
	// Box is its bounding box; of no size if none is known.
	Box world.Box
	// Place says that it is a room or the like, which hides nothing and on which nothing is.
	Place bool
	// Outline has the corners of a place's floor in its own frame, where it is not that of its box.
	Outline []pose.Vec3
	// Reach is how far it reaches, metres; 0 is what the rules say.
	Reach float64
	// Item is the item that the body is made of; "" if it is of none.
	Item string

	axes axes // its rotation as a file has it, without rounding; zero is that of the pose
}

// solid is a body with what its geometry needs again and again.
type solid struct {
	*Body
	centre pose.Vec3  // of its box, in the frame
	axes   axes       // of its box, unit vectors in the frame
	half   [3]float64 // edges
}

func newSolid(b *Body) solid {
	s := b.at(b.Pose)
	for i, axis := range b.axes {
		if axis.Sub(s.axes[i]).Norm() > rounded { // a body that was turned since
			return s
		}
	}
	s.axes = b.axes
	return s
}

// rounded is by how much a file's rotation may differ from one of unit length.
const rounded = 1e-3

// at returns the body as it would be at a pose.
func (b *Body) at(p pose.Pose) solid {
	s := solid{Body: b, half: [3]float64{b.Box.Size.X / 2, b.Box.Size.Y / 2, b.Box.Size.Z / 2}}
	if b.Box.Pose.R != (pose.Quat{}) {
		p = p.Mul(b.Box.Pose)
	}
	s.centre = p.T
	s.axes = axes{p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1}), p.R.Rotate(pose.Vec3{Z: 1})}
	return s
}

// sized reports whether its box has an extent.
func (s *solid) sized() bool { return s.half != [3]float64{} }

// extent returns how far the box reaches from its centre along a direction.
func (s *solid) extent(along pose.Vec3) float64 {
	return s.half[0]*math.Abs(s.axes[0].Dot(along)) + s.half[1]*math.Abs(s.axes[1].Dot(along)) + s.half[2]*math.Abs(s.axes[2].Dot(along))
}

// bounds returns the box around its box along the frame's axes.
func (s *solid) bounds() bounds {
	e := pose.Vec3{X: s.extent(pose.Vec3{X: 1}), Y: s.extent(pose.Vec3{Y: 1}), Z: s.extent(pose.Vec3{Z: 1})}
	return bounds{s.centre.Sub(e), s.centre.Add(e)}
}

// local returns a point in the axes of the box, from its centre.
func (s *solid) local(p pose.Vec3) [3]float64 {
	d := p.Sub(s.centre)
	return [3]float64{d.Dot(s.axes[0]), d.Dot(s.axes[1]), d.Dot(s.axes[2])}
}

// contains reports whether a point lies in the box.
func (s *solid) contains(p pose.Vec3) bool {
	for i, x := range s.local(p) {
		if math.Abs(x) > s.half[i] {
			return false
		}
	}
	return s.sized()
}

// outlines reports whether a point is above the floor of a place, or below it.
func (b *Body) outlines(p pose.Vec3) bool {
	if len(b.Outline) == 0 {
		return true
	}
	p = b.Pose.Inverse().Apply(p)
	in := false
	for i, to := range b.Outline {
		from := b.Outline[(i+len(b.Outline)-1)%len(b.Outline)]
		if (from.Y > p.Y) != (to.Y > p.Y) && p.X < from.X+(p.Y-from.Y)/(to.Y-from.Y)*(to.X-from.X) {
			in = !in
		}
	}
	return in
}

// nearest returns the point of the box that is nearest to another one.
func (s *solid) nearest(p pose.Vec3) pose.Vec3 {
	q := s.centre
	for i, x := range s.local(p) {
		q = q.Add(s.axes[i].Scale(max(-s.half[i], min(s.half[i], x))))
	}
	return q
}

// parallel is the square of the sine between directions that count as parallel.
const parallel = 1e-18

// through returns where a line p + t·d enters the box and leaves it; ok is false if it misses
// it, or if the box has no extent across the line.
func (s *solid) through(p, d pose.Vec3) (enter, leave float64, ok bool) {
	if max(min(s.half[0], s.half[1]), min(s.half[1], s.half[2]), min(s.half[2], s.half[0])) == 0 {
		return 0, 0, false // a point, or a line
	}
	enter, leave = math.Inf(-1), math.Inf(1)
	at := s.local(p)
	for i, axis := range s.axes {
		along := axis.Dot(d)
		if along*along <= parallel*d.Dot(d) {
			if math.Abs(at[i]) > s.half[i] || s.half[i] == 0 {
				return 0, 0, false
			}
			continue
		}
		t0, t1 := (-s.half[i]-at[i])/along, (s.half[i]-at[i])/along
		enter, leave = max(enter, min(t0, t1)), min(leave, max(t0, t1))
	}
	return enter, leave, enter <= leave
}

var up = pose.Vec3{Z: 1}

// rise returns how far the box reaches up and down from its centre, on the vertical there.
func (s *solid) rise() float64 {
	rise := math.Inf(1)
	for i, axis := range s.axes {
		if z := math.Abs(axis.Z); z*z > parallel {
			rise = min(rise, s.half[i]/z)
		}
	}
	return rise
}

// distance returns how far two boxes are apart, 0 if they meet.
func distance(a, b *solid) float64 {
	if a.Name > b.Name { // the same either way
		a, b = b, a
	}
	// Points of both in turn, each the nearest to the one before, come ever nearer, most at once.
	p := a.centre
	for range quickSteps {
		q := b.nearest(p)
		p = a.nearest(q)
		way := p.Sub(q)
		d := way.Norm()
		if d < precision {
			return 0
		}
		if d-apart(a, b, way.Scale(1/d)) < precision { // a plane between them proves it
			return d
		}
	}
	if !separate(a, b) {
		return 0
	}
	// The nearest points are a corner of one of them and any of the other, or on an edge of each.
	least := math.Inf(1)
	for _, pair := range [2][2]*solid{{a, b}, {b, a}} {
		for _, p := range pair[0].corners(1) {
			least = min(least, p.Sub(pair[1].nearest(p)).Norm())
		}
	}
	edges := b.edges()
	for _, x := range a.edges() {
		for _, y := range edges {
			least = min(least, x.distance(y))
		}
	}
	return least
}

// precision is what a distance is wrong by at most, metres.
const precision = 1e-4

// quickSteps is after how many steps of the quick way the slow one is taken.
const quickSteps = 20

// separate reports whether a plane lies between two boxes: if there is one, then one along a face,
// or along an edge of each.
func separate(a, b *solid) bool {
	for _, x := range a.axes {
		if apart(a, b, x) > 0 {
			return true
		}
		for _, y := range b.axes {
			across := x.Cross(y)
			if n := across.Norm(); apart(a, b, y) > 0 || n > level && apart(a, b, across.Scale(1/n)) > 0 {
				return true
			}
		}
	}
	return false
}

// corners returns those of the box, at a share of their distances from its centre.
func (s *solid) corners(share float64) (all [8]pose.Vec3) {
	for corner := range all {
		all[corner] = s.centre
		for i, axis := range s.axes {
			all[corner] = all[corner].Add(axis.Scale(float64(corner>>i&1*2-1) * share * s.half[i]))
		}
	}
	return all
}

// edge goes from its start to its start and way.
type edge struct{ start, way pose.Vec3 }

func (s *solid) edges() (all []edge) {
	corners := s.corners(1)
	for i := range 3 {
		for from, p := range corners {
			if from>>i&1 == 0 {
				all = append(all, edge{p, corners[from|1<<i].Sub(p)})
			}
		}
	}
	return all
}

// distance returns that between two edges (Ericson, Real-Time Collision Detection, 5.1.9).
func (e edge) distance(o edge) float64 {
	d := e.start.Sub(o.start)
	ee, oo, eo := e.way.Dot(e.way), o.way.Dot(o.way), e.way.Dot(o.way)
	ed, od := e.way.Dot(d), o.way.Dot(d)
	clamp := func(over, under float64) float64 {
		if under <= 0 {
			return 0
		}
		return max(0, min(1, over/under))
	}
	s := clamp(eo*od-ed*oo, ee*oo-eo*eo)
	t := clamp(eo*s+od, oo)
	s = clamp(eo*t-ed, ee)
	return d.Add(e.way.Scale(s)).Sub(o.way.Scale(t)).Norm()
}

// apart returns how far two boxes are apart along a unit vector; negative if they overlap.
func apart(a, b *solid, along pose.Vec3) float64 {
	return math.Abs(a.centre.Sub(b.centre).Dot(along)) - (a.extent(along) + b.extent(along))
}

// bounds is a box along the axes of a frame.
type bounds struct{ lo, hi pose.Vec3 }

func (b bounds) grown(by float64) bounds {
	d := pose.Vec3{X: by, Y: by, Z: by}
	return bounds{b.lo.Sub(d), b.hi.Add(d)}
}

func (b bounds) meets(o bounds) bool {
	return b.lo.X <= o.hi.X && o.lo.X <= b.hi.X && b.lo.Y <= o.hi.Y && o.lo.Y <= b.hi.Y && b.lo.Z <= o.hi.Z && o.lo.Z <= b.hi.Z
}

// above and below are the bounds without an end up or down.
func (b bounds) above() bounds { b.hi.Z = math.Inf(1); return b }
func (b bounds) below() bounds { b.lo.Z = math.Inf(-1); return b }

// everywhere has all.
var everywhere = bounds{
	pose.Vec3{X: math.Inf(-1), Y: math.Inf(-1), Z: math.Inf(-1)},
	pose.Vec3{X: math.Inf(1), Y: math.Inf(1), Z: math.Inf(1)},
}
