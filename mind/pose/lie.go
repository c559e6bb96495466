package pose

import "math"

// Twist is an element of the Lie algebra of SE(3): [ρ φ], translation part first.
type Twist struct{ Rho, Phi Vec3 }

// Scale returns k·x.
func (x Twist) Scale(k float64) Twist { return Twist{x.Rho.Scale(k), x.Phi.Scale(k)} }

func (x Twist) components() [6]float64 {
	return [6]float64{x.Rho.X, x.Rho.Y, x.Rho.Z, x.Phi.X, x.Phi.Y, x.Phi.Z}
}

// Exp returns the pose reached by moving along the twist x for one unit of time.
func Exp(x Twist) Pose {
	th2 := x.Phi.Dot(x.Phi)
	sh, ch, b, c := expCoefficients(th2)
	w := x.Phi.Cross(x.Rho)
	return Pose{
		T: x.Rho.Add(w.Scale(b)).Add(x.Phi.Cross(w).Scale(c)),
		R: Quat{ch, sh * x.Phi.X, sh * x.Phi.Y, sh * x.Phi.Z},
	}
}

// smallAngle2 is the square of the angle in radians up to which series replace
// the trigonometric functions. The series below end at a relative error of 1e-16
// there.
const smallAngle2 = 0.0625

// expCoefficients returns, for the angle θ = √th2, sin(θ/2)/θ, cos(θ/2),
// (1-cos θ)/θ² and (θ-sin θ)/θ³.
func expCoefficients(th2 float64) (sh, ch, b, c float64) {
	if th2 < smallAngle2 {
		h := th2 * 0.25 // (θ/2)²
		s := 1 + h*(-1.0/6+h*(1.0/120+h*(-1.0/5040+h*(1.0/362880-h*(1.0/39916800)))))
		ch = 1 + h*(-1.0/2+h*(1.0/24+h*(-1.0/720+h*(1.0/40320-h*(1.0/3628800)))))
		c = 1.0/6 + th2*(-1.0/120+th2*(1.0/5040+th2*(-1.0/362880+th2*(1.0/39916800-th2*(1.0/6227020800)))))
		return 0.5 * s, ch, 0.5 * s * s, c
	}
	th := math.Sqrt(th2)
	s, ch := math.Sincos(th / 2)
	sh = s / th
	return sh, ch, 2 * sh * sh, (th - 2*s*ch) / (th2 * th)
}

// Log returns the twist x with Exp(x) = p and an angle in [0, π].
func Log(p Pose) Twist {
	q := p.R
	if q.W < 0 {
		q = Quat{-q.W, -q.X, -q.Y, -q.Z}
	}
	n2 := q.X*q.X + q.Y*q.Y + q.Z*q.Z
	k, d := logCoefficients(n2, q.W)
	phi := Vec3{k * q.X, k * q.Y, k * q.Z}
	w := phi.Cross(p.T)
	return Twist{
		Rho: p.T.Sub(w.Scale(0.5)).Add(phi.Cross(w).Scale(d)),
		Phi: phi,
	}
}

// logCoefficients returns θ/sin(θ/2) and (1-(θ/2)cot(θ/2))/θ² for the rotation
// with sin²(θ/2) = n2 and cos(θ/2) = w ≥ 0.
func logCoefficients(n2, w float64) (k, d float64) {
	if n2 < 1e-3 {
		// asin series in n = sin(θ/2): θ/2 = n(1 + n²/6 + 3n⁴/40 + …)
		k = 2 * (1 + n2*(1.0/6+n2*(3.0/40+n2*(15.0/336+n2*(105.0/3456+n2*(945.0/42240))))))
		th2 := k * k * n2
		d = 1.0/12 + th2*(1.0/720+th2*(1.0/30240+th2*(1.0/1209600)))
		return k, d
	}
	n := math.Sqrt(n2)
	th := 2 * math.Atan2(n, w)
	return th / n, (1 - th*w/(2*n)) / (th * th)
}

// Adjoint returns Ad(p)·x: the twist x, given in the axes of p's source frame, in
// the axes of its target frame.
func (a Pose) Adjoint(x Twist) Twist {
	phi := a.R.Rotate(x.Phi)
	return Twist{Rho: a.R.Rotate(x.Rho).Add(a.T.Cross(phi)), Phi: phi}
}

// Interpolate returns the pose at the fraction u in [0, 1] of the way from a to b:
// the translation on a line, the rotation on the shorter great circle at constant
// speed. This is what tf2 does between two samples.
func Interpolate(a, b Pose, u float64) Pose {
	var p Pose
	interpolate(&p, &a, &b, u)
	return p
}

// Geodesic returns a·Exp(u·Log(a⁻¹·b)): the screw motion from a to b. Anchors are
// interpolated this way, because a correction may rotate about a far origin.
func Geodesic(a, b Pose, u float64) Pose {
	return a.Mul(Exp(Log(a.Inverse().Mul(b)).Scale(u)))
}
