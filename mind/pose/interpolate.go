package pose

import "math"

// interpolate sets p to the pose at the fraction u from a to b; see [Interpolate].
func interpolate(p, a, b *Pose, u float64) {
	k0, k1 := slerpWeights(a.R.W*b.R.W+a.R.X*b.R.X+a.R.Y*b.R.Y+a.R.Z*b.R.Z, u)
	p.R = Quat{k0*a.R.W + k1*b.R.W, k0*a.R.X + k1*b.R.X, k0*a.R.Y + k1*b.R.Y, k0*a.R.Z + k1*b.R.Z}
	p.T = Vec3{a.T.X + u*(b.T.X-a.T.X), a.T.Y + u*(b.T.Y-a.T.Y), a.T.Z + u*(b.T.Z-a.T.Z)}
}

// mulInterpolated sets acc to acc·p, p the pose at the fraction u from a to b.
func (acc *Pose) mulInterpolated(a, b *Pose, u float64) {
	var k0, k1 float64
	dot := a.R.W*b.R.W + a.R.X*b.R.X + a.R.Y*b.R.Y + a.R.Z*b.R.Z
	if x := dot - 1; x > -seriesFewX {
		k0, k1 = sineRatioFew(x, 1-u), sineRatioFew(x, u)
	} else {
		k0, k1 = slerpWeights(dot, u)
	}
	aw, ax, ay, az := acc.R.W, acc.R.X, acc.R.Y, acc.R.Z
	vx, vy, vz := a.T.X+u*(b.T.X-a.T.X), a.T.Y+u*(b.T.Y-a.T.Y), a.T.Z+u*(b.T.Z-a.T.Z)
	tx := 2 * (ay*vz - az*vy)
	ty := 2 * (az*vx - ax*vz)
	tz := 2 * (ax*vy - ay*vx)
	acc.T.X += vx + aw*tx + ay*tz - az*ty
	acc.T.Y += vy + aw*ty + az*tx - ax*tz
	acc.T.Z += vz + aw*tz + ax*ty - ay*tx
	bw, bx, by, bz := k0*a.R.W+k1*b.R.W, k0*a.R.X+k1*b.R.X, k0*a.R.Y+k1*b.R.Y, k0*a.R.Z+k1*b.R.Z
	acc.R.W = aw*bw - ax*bx - ay*by - az*bz
	acc.R.X = aw*bx + ax*bw + ay*bz - az*by
	acc.R.Y = aw*by - ax*bz + ay*bw + az*bx
	acc.R.Z = aw*bz + ax*by - ay*bx + az*bw
}

// seriesMaxX and seriesFewX bound 1-cos θ for six and for three terms of the series
// for slerp, θ the angle between the two quaternions, which is half the angle
// between the rotations: 23 degrees, and 2 degrees as is usual between samples at
// 100 Hz.
const (
	seriesMaxX = 0.02
	seriesFewX = 2e-4
)

// slerpWeights returns the weights of two unit quaternions with inner product dot
// in their spherical interpolation at u, sin((1-u)θ)/sin θ and ±sin(uθ)/sin θ.
//
// Between neighbouring samples θ is small, and the series of D. Eberly, "A Fast
// and Accurate Algorithm for Computing SLERP" (2011), sin(uθ)/sin θ =
// u(1+c₁(1+c₂(…))) with cᵢ = (u²-i²)/(i(2i+1))·(cos θ-1), needs neither
// trigonometry nor division. Six terms leave an error below 1.5e-13, three, within
// seriesFewX, one below 1e-15.
func slerpWeights(dot, u float64) (k0, k1 float64) {
	sign := 1.0
	if dot < 0 {
		dot, sign = -dot, -1
	}
	switch x := dot - 1; {
	case x < -seriesMaxX:
		return slerpTrig(dot, u, sign)
	case x > -seriesFewX:
		return sineRatioFew(x, 1-u), sign * sineRatioFew(x, u)
	default:
		return sineRatio(x, 1-u), sign * sineRatio(x, u)
	}
}

// sineRatio returns sin(uθ)/sin θ for x = cos θ-1 by six terms of the series.
func sineRatio(x, u float64) float64 {
	v := u * u
	return u * (1 + (third*v-third)*x*(1+(0.1*v-0.4)*x*(1+(v*(1.0/21)-3.0/7)*x*(1+(v*(1.0/36)-4.0/9)*x*(1+(v*(1.0/55)-5.0/11)*x*(1+(v*(1.0/78)-6.0/13)*x))))))
}

// sineRatioFew is sineRatio by three terms; it is small enough to be inlined.
func sineRatioFew(x, u float64) float64 {
	v := u * u
	return u * (1 + (third*v-third)*x*(1+(0.1*v-0.4)*x*(1+(v*(1.0/21)-3.0/7)*x)))
}

const third = 1.0 / 3

// slerpTrig is slerpWeights for large angles; dot is in [0, 1-seriesMaxX].
func slerpTrig(dot, u, sign float64) (k0, k1 float64) {
	th := math.Acos(dot)
	s := 1 / math.Sin(th)
	return math.Sin((1-u)*th) * s, sign * math.Sin(u*th) * s
}
