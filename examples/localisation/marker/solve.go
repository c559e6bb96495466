package marker

import (
	"math"

	"github.com/seed-301d4374/engram/pose"
)

// observation is what was measured at one point of a marker: how far the image's edge is
// from where the pose puts it, along a direction of the image.
type observation struct {
	row    [6]float64 // how that changes with the pose, pixels per m and rad
	offset float64    // pixels
	weight float64
}

// modelCorners are the corners of a marker of size 1 in its own frame.
var modelCorners = [4]pose.Vec3{{X: -0.5, Y: 0.5}, {X: 0.5, Y: 0.5}, {X: 0.5, Y: -0.5}, {X: -0.5, Y: -0.5}}

// startFrom returns a pose whose square of that size is seen about as the quad.
func startFrom(c *Camera, q quad, size float64) (pose.Pose, bool) {
	for i := range q {
		q[i] = vec2{(q[i].x - c.CX) / c.FX, (q[i].y - c.CY) / c.FY}
	}
	h, ok := homographyTo(q)
	if !ok {
		return pose.Pose{}, false
	}
	// With the marker's own coordinates: u = 0.5 + x/size, v = 0.5 - y/size.
	column := func(i int) pose.Vec3 { return pose.Vec3{X: h[i], Y: h[3+i], Z: h[6+i]} }
	x, y := column(0), column(1).Scale(-1)
	t := column(2).Add(column(0).Scale(0.5)).Add(column(1).Scale(0.5))
	scale := size / math.Sqrt(x.Norm()*y.Norm())
	if t.Z < 0 {
		scale = -scale
	}
	x, y, t = x.Scale(scale/size), y.Scale(scale/size), t.Scale(scale)
	// The nearest right angle to x and y, both moved alike.
	x, y = x.Scale(1/x.Norm()), y.Scale(1/y.Norm())
	sum, difference := x.Add(y), x.Sub(y)
	if sum.Norm() < 1e-6 || difference.Norm() < 1e-6 {
		return pose.Pose{}, false
	}
	sum, difference = sum.Scale(math.Sqrt2/2/sum.Norm()), difference.Scale(math.Sqrt2/2/difference.Norm())
	x, y = sum.Add(difference), sum.Sub(difference)
	p := pose.Pose{T: t, R: fromColumns(x, y, x.Cross(y))}
	return p, finite(p)
}

func finite(p pose.Pose) bool {
	_, err := p.Checked()
	return err == nil
}

// fromColumns returns the rotation whose matrix has these columns.
func fromColumns(x, y, z pose.Vec3) pose.Quat {
	w := [4]float64{1 + x.X + y.Y + z.Z, 1 + x.X - y.Y - z.Z, 1 - x.X + y.Y - z.Z, 1 - x.X - y.Y + z.Z}
	best := 0
	for i := range w {
		if w[i] > w[best] {
			best = i
		}
	}
	s := 0.5 / math.Sqrt(w[best])
	a, b, c := (y.Z-z.Y)*s, (z.X-x.Z)*s, (x.Y-y.X)*s
	d, e, f := (y.X+x.Y)*s, (z.X+x.Z)*s, (z.Y+y.Z)*s
	k := 0.25 / s
	switch best {
	case 0:
		return pose.Quat{W: k, X: a, Y: b, Z: c}
	case 1:
		return pose.Quat{W: a, X: k, Y: d, Z: e}
	case 2:
		return pose.Quat{W: b, X: d, Y: k, Z: f}
	}
	return pose.Quat{W: c, X: e, Y: f, Z: k}
}

// mirrored returns the other pose at which a flat thing looks nearly the same: tilted to
// the other side of the line of sight.
func mirrored(p pose.Pose) pose.Pose {
	sight := p.T.Scale(-1 / p.T.Norm())
	normal := p.R.Rotate(pose.Vec3{Z: 1})
	axis := sight.Cross(normal)
	sin := axis.Norm()
	if sin < 1e-9 {
		// Seen from straight ahead there is no other side; a little off there is.
		return pose.Pose{T: p.T, R: p.R.Mul(pose.AxisAngle(pose.Vec3{X: 1}, 0.02))}
	}
	tilt := math.Atan2(sin, sight.Dot(normal))
	return pose.Pose{T: p.T, R: pose.AxisAngle(axis.Scale(1/sin), -2*tilt).Mul(p.R)}
}

// pinhole projects a point of the camera's frame without the lens, and returns how the
// pixel changes with the point.
func pinhole(c *Camera, p pose.Vec3) (at vec2, dx, dy pose.Vec3, ok bool) {
	if p.Z < 1e-6 {
		return vec2{}, dx, dy, false
	}
	iz := 1 / p.Z
	at = vec2{c.FX*p.X*iz + c.CX, c.FY*p.Y*iz + c.CY}
	return at, pose.Vec3{X: c.FX * iz, Z: -c.FX * p.X * iz * iz}, pose.Vec3{Y: c.FY * iz, Z: -c.FY * p.Y * iz * iz}, true
}

// row returns how the image of a model point moves along n with the pose, for the
// perturbation p·Exp([ρ φ]) that package pose uses.
func row(p pose.Pose, model pose.Vec3, dx, dy pose.Vec3, n vec2) (r [6]float64) {
	// Of the camera's point, and in the marker's axes.
	g := p.R.Conj().Rotate(dx.Scale(n.x).Add(dy.Scale(n.y)))
	turn := model.Cross(g)
	return [6]float64{g.X, g.Y, g.Z, turn.X, turn.Y, turn.Z}
}

// moved returns the pose a small step further.
func moved(p pose.Pose, xi [6]float64) pose.Pose {
	phi := pose.Vec3{X: xi[3], Y: xi[4], Z: xi[5]}
	q := pose.Quat{W: 1}
	if a := phi.Norm(); a > 1e-15 {
		q = pose.AxisAngle(phi.Scale(1/a), a)
	}
	p.T = p.T.Add(p.R.Rotate(pose.Vec3{X: xi[0], Y: xi[1], Z: xi[2]}))
	p.R = p.R.Mul(q)
	norm := math.Sqrt(p.R.W*p.R.W + p.R.X*p.R.X + p.R.Y*p.R.Y + p.R.Z*p.R.Z)
	p.R = pose.Quat{W: p.R.W / norm, X: p.R.X / norm, Y: p.R.Y / norm, Z: p.R.Z / norm}
	return p
}

// normal is the normal equations of a least-squares step.
type normal struct {
	a [6][6]float64
	b [6]float64
}

func (n *normal) add(o observation) {
	for i := range 6 {
		for j := range 6 {
			n.a[i][j] += o.weight * o.row[i] * o.row[j]
		}
		n.b[i] += o.weight * o.row[i] * o.offset
	}
}

// solve returns the inverse of the normal matrix, scaled so that metres and radians do
// not disturb each other, and the step.
func (n *normal) solve() (inverse [6][6]float64, step [6]float64, ok bool) {
	var m [6][12]float64
	var scale [6]float64
	for i := range 6 {
		if n.a[i][i] <= 0 {
			return inverse, step, false
		}
		scale[i] = 1 / math.Sqrt(n.a[i][i])
	}
	for i := range 6 {
		for j := range 6 {
			m[i][j] = n.a[i][j] * scale[i] * scale[j]
		}
		m[i][i] += 1e-9
		m[i][6+i] = 1
	}
	for i := range 6 {
		at := i
		for k := i + 1; k < 6; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[at][i]) {
				at = k
			}
		}
		m[i], m[at] = m[at], m[i]
		if math.Abs(m[i][i]) < 1e-12 {
			return inverse, step, false
		}
		inv := 1 / m[i][i]
		for j := range m[i] {
			m[i][j] *= inv
		}
		for k := range 6 {
			if f := m[k][i]; k != i && f != 0 {
				for j := range m[k] {
					m[k][j] -= f * m[i][j]
				}
			}
		}
	}
	for i := range 6 {
		for j := range 6 {
			inverse[i][j] = (m[i][6+j]*scale[i]*scale[j] + m[j][6+i]*scale[i]*scale[j]) / 2
			step[i] += inverse[i][j] * n.b[j]
		}
	}
	return inverse, step, true
}

// fitCorners moves a pose until the corners of its square are seen where the quad's are.
func fitCorners(c *Camera, p pose.Pose, q quad, size float64) (pose.Pose, bool) {
	cost := math.Inf(1)
	for range 20 {
		var n normal
		sum := 0.0
		for i, m := range modelCorners {
			m = m.Scale(size)
			at, dx, dy, ok := pinhole(c, p.Apply(m))
			if !ok {
				return p, false
			}
			e := q[i].sub(at)
			sum += e.dot(e)
			n.add(observation{row(p, m, dx, dy, vec2{1, 0}), e.x, 1})
			n.add(observation{row(p, m, dx, dy, vec2{0, 1}), e.y, 1})
		}
		_, step, ok := n.solve()
		if !ok || sum > 4*cost+1 {
			return p, false
		}
		if cost-sum < 1e-9*cost && !math.IsInf(cost, 1) {
			break
		}
		cost = sum
		p = moved(p, limited(step, p.T.Norm()))
	}
	return p, finite(p)
}

// limited keeps a step of Gauss and Newton's method where its linear model is good.
func limited(step [6]float64, distance float64) [6]float64 {
	rho := math.Sqrt(step[0]*step[0]+step[1]*step[1]+step[2]*step[2]) / (0.3 * distance)
	phi := math.Sqrt(step[3]*step[3]+step[4]*step[4]+step[5]*step[5]) / 0.4
	if m := max(rho, phi); m > 1 {
		for i := range step {
			step[i] /= m
		}
	}
	return step
}
