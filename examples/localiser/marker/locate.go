package marker

import (
	"image"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Solution is a pose from which the corners are seen where they are.
type Solution struct {
	Pose pose.Pose // cameraFromMarker
	Cov  pose.Cov
	// Error is the root of the mean square of the distances between the corners and where
	// they would be, in pixels.
	Error float64
	// Mismatch is the sum of the squares of the eight differences, each in units of its
	// standard deviation. It is about 2 where model and covariance hold.
	Mismatch float64
}

// Estimate is where a marker is.
type Estimate struct {
	Solution
	// Other is the second solution that four points of a plane have, turned away to the
	// other side; nil where there is none.
	Other *Solution
	// Ambiguous is set where Other explains the corners nearly as well, as where the marker
	// is far away or seen head on. A guess then decides, or else the smaller mismatch.
	Ambiguous bool
}

// clearly is by how much a solution's mismatch must be smaller for the other to be ruled
// out: it is e^4.5, about 90, times as likely then.
const clearly = 9

// Locate returns the pose of a marker whose black border has edges of a length in metres.
// Where two poses fit, the one is chosen whose orientation is nearer to that of guess, a
// prediction of cameraFromMarker; without one (nil) the better one. Lens distortion is taken
// out of the corners. The error is Invalid for a camera or a length that is none, and for
// corners that have no covariance or are those of no square before the camera.
func Locate(d *Detection, edge float64, cam *camera.Camera, guess *pose.Pose) (Estimate, error) {
	if err := cam.Check(); err != nil {
		return Estimate{}, err
	}
	if !(edge > 0) || math.IsInf(edge, 1) {
		return Estimate{}, engram.Errorf(engram.Invalid, "edge", "a marker's edge is %g m long; it must be positive and finite", edge)
	}
	for i, c := range d.Corners {
		if !(c.UU > 0 && c.UU*c.VV > c.UV*c.UV) {
			return Estimate{}, engram.Errorf(engram.Invalid, d.Family.Name, "corner %d of marker %d has the covariance %g %g %g; it must be positive definite", i, d.ID, c.UU, c.UV, c.VV)
		}
	}
	s := newSolver(&d.Corners, edge, cam)
	first, ok := s.solve(s.fromHomography())
	if !ok {
		return Estimate{}, engram.Errorf(engram.Invalid, d.Family.Name, "no square before the camera has the corners of marker %d; check the camera's intrinsics", d.ID)
	}
	e := Estimate{Solution: first}
	if second, ok := s.solve(mirrored(first.Pose)); ok {
		if _, turn := second.Pose.Distance(first.Pose); turn > 0.02 {
			e.Other = &second
		}
	}
	e.choose(guess)
	return e, nil
}

// choose puts the better solution first.
func (e *Estimate) choose(guess *pose.Pose) {
	if e.Other == nil {
		return
	}
	swap := e.Other.Mismatch < e.Mismatch
	e.Ambiguous = math.Abs(e.Other.Mismatch-e.Mismatch) < clearly
	if e.Ambiguous && guess != nil {
		_, turn := e.Pose.Distance(*guess)
		_, otherTurn := e.Other.Pose.Distance(*guess)
		swap = otherTurn < turn
	}
	if swap {
		e.Solution, *e.Other = *e.Other, e.Solution
	}
}

// Region returns the part of the image in which a marker is seen if its pose is about
// cameraFromMarker: the rectangle around its corners, larger by the margin, a part of its
// size. The error is OutOfRange for a marker that is not in the image as a whole.
func Region(cameraFromMarker pose.Pose, edge float64, cam *camera.Camera, margin float64) (image.Rectangle, error) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, p := range cornersOf(edge) {
		u, v, ok := cam.Project(cameraFromMarker.Apply(p))
		if !ok || !cam.Contains(u, v, 0) {
			return image.Rectangle{}, engram.Errorf(engram.OutOfRange, "marker", "at %v it is not in the image as a whole; turn the camera towards it", cameraFromMarker.T)
		}
		low, high = point{min(low.x, u), min(low.y, v)}, point{max(high.x, u), max(high.y, v)}
	}
	more := high.sub(low).scale(margin)
	low, high = low.sub(more), high.add(more)
	r := image.Rect(int(low.x), int(low.y), int(high.x)+1, int(high.y)+1)
	return r.Intersect(image.Rect(0, 0, cam.Width, cam.Height)), nil
}

// cornersOf returns the corners of a marker in its frame.
func cornersOf(edge float64) [4]pose.Vec3 {
	h := edge / 2
	return [4]pose.Vec3{{X: -h, Y: h}, {X: h, Y: h}, {X: h, Y: -h}, {X: -h, Y: -h}}
}

// solver finds the poses of a square whose corners are seen on the rays (x, y, 1).
type solver struct {
	edge    float64
	corners [4]pose.Vec3 // in the marker's frame
	rays    [4]point
	white   [4][3]float64 // xx, xy, yy of the inverse covariances of the rays
	cam     *camera.Camera
}

func newSolver(corners *[4]Corner, edge float64, cam *camera.Camera) *solver {
	s := &solver{edge: edge, corners: cornersOf(edge), cam: cam}
	for i, c := range corners {
		x, y := cam.Ray(c.U, c.V)
		s.rays[i] = point{x, y}
		xx, xy, yy := c.UU/(cam.Fx*cam.Fx), c.UV/(cam.Fx*cam.Fy), c.VV/(cam.Fy*cam.Fy)
		det := xx*yy - xy*xy
		s.white[i] = [3]float64{yy / det, -xy / det, xx / det}
	}
	return s
}

// fromHomography returns the pose that the homography from the marker to the rays is near.
func (s *solver) fromHomography() pose.Pose {
	h := fromSquare(s.edge, quad(s.rays))
	// The homography's square has its origin in the top left corner, and y down.
	right, down := pose.Vec3{X: h[0], Y: h[3], Z: h[6]}, pose.Vec3{X: h[1], Y: h[4], Z: h[7]}
	centre := pose.Vec3{X: h[2], Y: h[5], Z: 1}.Add(right.Add(down).Scale(s.edge / 2))
	scale := 2 / (right.Norm() + down.Norm())
	x, y := right.Scale(1/right.Norm()), down.Scale(-1/down.Norm())
	return pose.Pose{T: centre.Scale(scale), R: camera.Rotation(x, y)}
}

// mirrored returns the other pose in which a marker looks the same from far away: reflected
// at the plane through its centre across the line of sight (T. Collins and A. Bartoli,
// Infinitesimal Plane-based Pose Estimation, IJCV 2014, find the same two).
func mirrored(p pose.Pose) pose.Pose {
	sight := p.T.Scale(1 / p.T.Norm())
	reflect := func(v pose.Vec3) pose.Vec3 { return v.Sub(sight.Scale(2 * v.Dot(sight))) }
	x, y := p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1})
	return pose.Pose{T: p.T, R: camera.Rotation(reflect(x), reflect(y))}
}

// solve minimises the mismatch from a pose on, by Levenberg and Marquardt. It is false if
// the marker would be behind the camera or seen from its back.
func (s *solver) solve(p pose.Pose) (Solution, bool) {
	n, ok := s.linearise(p)
	if !ok {
		return Solution{}, false
	}
	damping := 1e-4
	for range 50 {
		step, ok := n.step(damping)
		if !ok {
			break
		}
		next, _ := p.Mul(pose.Exp(step)).Checked()
		m, ok := s.linearise(next)
		if !ok || m.mismatch > n.mismatch {
			damping *= 10
			if damping > 1e6 {
				break
			}
			continue
		}
		done := n.mismatch-m.mismatch <= 1e-9*(1+n.mismatch)
		p, n, damping = next, m, damping/10
		if done {
			break
		}
	}
	if p.R.Rotate(pose.Vec3{Z: 1}).Dot(p.T) >= 0 {
		return Solution{}, false
	}
	cov, ok := n.covariance()
	return Solution{Pose: p, Cov: cov, Error: s.pixels(p), Mismatch: n.mismatch}, ok
}

// pixels returns the reprojection error of a pose.
func (s *solver) pixels(p pose.Pose) float64 {
	var sum float64
	for i, c := range s.corners {
		q := p.Apply(c)
		du, dv := s.cam.Fx*(q.X/q.Z-s.rays[i].x), s.cam.Fy*(q.Y/q.Z-s.rays[i].y)
		sum += du*du + dv*dv
	}
	return math.Sqrt(sum / 4)
}

// linearise returns the normal equations at a pose, for a right perturbation p·Exp(x). It
// is false if a corner would be behind the camera.
func (s *solver) linearise(p pose.Pose) (n normal, ok bool) {
	axes := [3]pose.Vec3{p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1}), p.R.Rotate(pose.Vec3{Z: 1})}
	for i, c := range s.corners {
		q := p.Apply(c)
		if !(q.Z > 1e-6) {
			return n, false
		}
		x, y := q.X/q.Z, q.Y/q.Z
		var jx, jy [6]float64 // the derivatives of x and y
		for k := range 3 {
			unit := [3]pose.Vec3{{X: 1}, {Y: 1}, {Z: 1}}[k]
			for j, v := range [2]pose.Vec3{axes[k], p.R.Rotate(unit.Cross(c))} {
				jx[3*j+k], jy[3*j+k] = (v.X-x*v.Z)/q.Z, (v.Y-y*v.Z)/q.Z
			}
		}
		n.add(&jx, &jy, s.rays[i].x-x, s.rays[i].y-y, &s.white[i])
	}
	return n, true
}
