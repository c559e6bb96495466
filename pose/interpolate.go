package pose

import "math"

// interpolate sets p to the pose at the fraction u from a to b; see [Interpolate].
func interpolate(p, a, b *Pose, u float64) {
	k0, k1 := slerpWeights(a.R.W*b.R.W+a.R.X*b.R.X+a.R.Y*b.R.Y+a.R.Z*b.R.Z, u)
	p.R = Quat{k0*a.R.W + k1*b.R.W, k0*a.R.X + k1*b.R.X, k0*a.R.Y + k1*b.R.Y, k0*a.R.Z + k1*b.R.Z}
	p.T = Vec3{a.T.X + u*(b.T.X-a.T.X), a.T.Y + u*(b.T.Y-a.T.Y), a.T.Z + u*(b.T.Z-a.T.Z)}
}

// seriesMaxX bounds 1-cos θ for the series of slerpWeights, θ the angle between
// the two quaternions, which is half the angle between the rotations: 23 degrees
// between two samples.
const seriesMaxX = 0.02

// slerpWeights returns the weights of two unit quaternions with inner product dot
// in their spherical interpolation at u, sin((1-u)θ)/sin θ and ±sin(uθ)/sin θ.
//
// Between neighbouring samples θ is small, and the series of D. Eberly, "A Fast
// and Accurate Algorithm for Computing SLERP" (2011), sin(uθ)/sin θ =
// u(1+c₁(1+c₂(…))) with cᵢ = (u²-i²)/(i(2i+1))·(cos θ-1), needs neither
// trigonometry nor division. Six terms leave an error below 1.5e-13.
func slerpWeights(dot, u float64) (k0, k1 float64) {
	sign := 1.0
	if dot < 0 {
		dot, sign = -dot, -1
	}
	x := dot - 1
	if x < -seriesMaxX {
		return slerpTrig(dot, u, sign)
	}
	v := 1 - u
	u2, v2 := u*u, v*v
	const (
		a1, b1 = 1.0 / 3, 1.0 / 3
		a2, b2 = 1.0 / 10, 2.0 / 5
		a3, b3 = 1.0 / 21, 3.0 / 7
		a4, b4 = 1.0 / 36, 4.0 / 9
		a5, b5 = 1.0 / 55, 5.0 / 11
		a6, b6 = 1.0 / 78, 6.0 / 13
	)
	k0 = v * (1 + (a1*v2-b1)*x*(1+(a2*v2-b2)*x*(1+(a3*v2-b3)*x*(1+(a4*v2-b4)*x*(1+(a5*v2-b5)*x*(1+(a6*v2-b6)*x))))))
	k1 = u * (1 + (a1*u2-b1)*x*(1+(a2*u2-b2)*x*(1+(a3*u2-b3)*x*(1+(a4*u2-b4)*x*(1+(a5*u2-b5)*x*(1+(a6*u2-b6)*x))))))
	return k0, sign * k1
}

// slerpTrig is slerpWeights for large angles; dot is in [0, 1-seriesMaxX].
func slerpTrig(dot, u, sign float64) (k0, k1 float64) {
	th := math.Acos(dot)
	s := 1 / math.Sin(th)
	return math.Sin((1-u)*th) * s, sign * math.Sin(u*th) * s
}
