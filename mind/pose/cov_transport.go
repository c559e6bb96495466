package pose

import "math"

// rot3 is a rotation matrix, row by row.
type rot3 [9]float64

func (q *Quat) matrix() rot3 {
	x2, y2, z2 := q.X+q.X, q.Y+q.Y, q.Z+q.Z
	xx, yy, zz := q.X*x2, q.Y*y2, q.Z*z2
	xy, xz, yz := q.X*y2, q.X*z2, q.Y*z2
	wx, wy, wz := q.W*x2, q.W*y2, q.W*z2
	return rot3{
		1 - (yy + zz), xy - wz, xz + wy,
		xy + wz, 1 - (xx + zz), yz - wx,
		xz - wy, yz + wx, 1 - (xx + yy),
	}
}

// addTransported adds k·Ad(p)·S·Ad(p)ᵀ to s. With S = [A B; Bᵀ C] and
// Ad = [I X; 0 I]·diag(R, R), X = [t]×, it rotates the three blocks and then
// shears them; this takes a fifth of the time of two general 6×6 products.
func (s *Sym6) addTransported(k float64, p *Pose, c *Sym6) {
	r := p.R.matrix()
	r0, r1, r2, r3, r4, r5, r6, r7, r8 := r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]

	a0, a1, a2, a4, a5, a8 := c[0], c[1], c[2], c[6], c[7], c[11]
	b0, b1, b2, b3, b4, b5, b6, b7, b8 := c[3], c[4], c[5], c[8], c[9], c[10], c[12], c[13], c[14]
	c0, c1, c2, c4, c5, c8 := c[15], c[16], c[17], c[18], c[19], c[20]
	if c.diagonalOnly() { // as most that come from a sensor are: half the work
		x0, x1, x2, y0, y1, y2 := r0*a0, r1*a4, r2*a8, r3*a0, r4*a4, r5*a8
		a1, a2, a5 = x0*r3+x1*r4+x2*r5, x0*r6+x1*r7+x2*r8, y0*r6+y1*r7+y2*r8
		a0, a4, a8 = x0*r0+x1*r1+x2*r2, y0*r3+y1*r4+y2*r5, r6*a0*r6+r7*a4*r7+r8*a8*r8
		x0, x1, x2, y0, y1, y2 = r0*c0, r1*c4, r2*c8, r3*c0, r4*c4, r5*c8
		c1, c2, c5 = x0*r3+x1*r4+x2*r5, x0*r6+x1*r7+x2*r8, y0*r6+y1*r7+y2*r8
		c0, c4, c8 = x0*r0+x1*r1+x2*r2, y0*r3+y1*r4+y2*r5, r6*c0*r6+r7*c4*r7+r8*c8*r8
	} else {
		// A: rows of R·A, then ·Rᵀ, upper triangle.
		x0, x1, x2 := r0*a0+r1*a1+r2*a2, r0*a1+r1*a4+r2*a5, r0*a2+r1*a5+r2*a8
		y0, y1, y2 := r3*a0+r4*a1+r5*a2, r3*a1+r4*a4+r5*a5, r3*a2+r4*a5+r5*a8
		z0, z1, z2 := r6*a0+r7*a1+r8*a2, r6*a1+r7*a4+r8*a5, r6*a2+r7*a5+r8*a8
		a0, a1, a2 = x0*r0+x1*r1+x2*r2, x0*r3+x1*r4+x2*r5, x0*r6+x1*r7+x2*r8
		a4, a5, a8 = y0*r3+y1*r4+y2*r5, y0*r6+y1*r7+y2*r8, z0*r6+z1*r7+z2*r8

		// C likewise.
		x0, x1, x2 = r0*c0+r1*c1+r2*c2, r0*c1+r1*c4+r2*c5, r0*c2+r1*c5+r2*c8
		y0, y1, y2 = r3*c0+r4*c1+r5*c2, r3*c1+r4*c4+r5*c5, r3*c2+r4*c5+r5*c8
		z0, z1, z2 = r6*c0+r7*c1+r8*c2, r6*c1+r7*c4+r8*c5, r6*c2+r7*c5+r8*c8
		c0, c1, c2 = x0*r0+x1*r1+x2*r2, x0*r3+x1*r4+x2*r5, x0*r6+x1*r7+x2*r8
		c4, c5, c8 = y0*r3+y1*r4+y2*r5, y0*r6+y1*r7+y2*r8, z0*r6+z1*r7+z2*r8

		// B is not symmetric.
		x0, x1, x2 = r0*b0+r1*b3+r2*b6, r0*b1+r1*b4+r2*b7, r0*b2+r1*b5+r2*b8
		y0, y1, y2 = r3*b0+r4*b3+r5*b6, r3*b1+r4*b4+r5*b7, r3*b2+r4*b5+r5*b8
		z0, z1, z2 = r6*b0+r7*b3+r8*b6, r6*b1+r7*b4+r8*b7, r6*b2+r7*b5+r8*b8
		b0, b1, b2 = x0*r0+x1*r1+x2*r2, x0*r3+x1*r4+x2*r5, x0*r6+x1*r7+x2*r8
		b3, b4, b5 = y0*r0+y1*r1+y2*r2, y0*r3+y1*r4+y2*r5, y0*r6+y1*r7+y2*r8
		b6, b7, b8 = z0*r0+z1*r1+z2*r2, z0*r3+z1*r4+z2*r5, z0*r6+z1*r7+z2*r8
	}

	// Shear: B' = B + X·C, A' = A + X·Bᵀ + B'·Xᵀ.
	tx, ty, tz := p.T.X, p.T.Y, p.T.Z
	d0, d1, d2 := b0+ty*c2-tz*c1, b1+ty*c5-tz*c4, b2+ty*c8-tz*c5
	d3, d4, d5 := b3+tz*c0-tx*c2, b4+tz*c1-tx*c5, b5+tz*c2-tx*c8
	d6, d7, d8 := b6+tx*c1-ty*c0, b7+tx*c4-ty*c1, b8+tx*c5-ty*c2
	// X·Bᵀ has the columns t×(row of B); B'·Xᵀ has the rows t×(row of B').
	s[0] += k * (a0 + ty*b2 - tz*b1 + ty*d2 - tz*d1)
	s[1] += k * (a1 + ty*b5 - tz*b4 + tz*d0 - tx*d2)
	s[2] += k * (a2 + ty*b8 - tz*b7 + tx*d1 - ty*d0)
	s[6] += k * (a4 + tz*b3 - tx*b5 + tz*d3 - tx*d5)
	s[7] += k * (a5 + tz*b6 - tx*b8 + tx*d4 - ty*d3)
	s[11] += k * (a8 + tx*b7 - ty*b6 + tx*d7 - ty*d6)
	s[3] += k * d0
	s[4] += k * d1
	s[5] += k * d2
	s[8] += k * d3
	s[9] += k * d4
	s[10] += k * d5
	s[12] += k * d6
	s[13] += k * d7
	s[14] += k * d8
	s[15] += k * c0
	s[16] += k * c1
	s[17] += k * c2
	s[18] += k * c4
	s[19] += k * c5
	s[20] += k * c8
}

// diagonalOnly reports whether all but the diagonal is zero.
func (s *Sym6) diagonalOnly() bool {
	return s[3] == 0 && s[4] == 0 && s[5] == 0 && s[8] == 0 && s[9] == 0 && s[10] == 0 && s[12] == 0 && s[13] == 0 && s[14] == 0 &&
		s[1] == 0 && s[2] == 0 && s[7] == 0 && s[16] == 0 && s[17] == 0 && s[19] == 0
}

// mixes is how much of an unestimated dimension makes another one unestimated. Quaternions of
// float32 are tilted by some 1e-7 rad. A tilt below this moves x and y by less than a centimetre,
// even if the height is wrong by a kilometre.
const mixes = 1e-5

// transportMask returns the dimensions that stay estimated when a covariance with
// the mask is transported by Ad(p): those that no unestimated one mixes into.
func transportMask(mask uint8, p *Pose) uint8 {
	if mask == AllDims || mask == 0 {
		return mask
	}
	out := uint8(AllDims)
	for j := range 6 {
		if mask>>j&1 == 1 {
			continue
		}
		column := p.Adjoint(basisTwist(j))
		for i, x := range column.components() {
			if math.Abs(x) > mixes {
				out &^= 1 << i
			}
		}
	}
	return out
}

// basisTwist returns the unit twist along dimension i.
func basisTwist(i int) (x Twist) {
	switch i {
	case 0:
		x.Rho.X = 1
	case 1:
		x.Rho.Y = 1
	case 2:
		x.Rho.Z = 1
	case 3:
		x.Phi.X = 1
	case 4:
		x.Phi.Y = 1
	default:
		x.Phi.Z = 1
	}
	return x
}

// Transported returns Ad(p)·c·Ad(p)ᵀ: the covariance of the same perturbation seen
// in the axes of p's target frame instead of its source frame.
func (c *Cov) Transported(p Pose) Cov {
	out := Cov{Mask: transportMask(c.Mask, &p)}
	out.S.addTransported(1, &p, &c.S)
	out.settle()
	return out
}

// scaled returns k·c for k >= 0.
func (c *Cov) scaled(k float64) Cov {
	out := *c
	for i := range out.S {
		out.S[i] *= k
	}
	return out
}

// plus returns the covariance of the sum of two independent perturbations.
func (c *Cov) plus(d *Cov) Cov {
	out := Cov{Mask: c.Mask & d.Mask}
	for i := range out.S {
		out.S[i] = c.S[i] + d.S[i]
	}
	out.settle()
	return out
}

// ComposeCov returns the covariance of a·b for independent a and b:
// Ad(b⁻¹)·ca·Ad(b⁻¹)ᵀ + cb.
func ComposeCov(ca *Cov, b Pose, cb *Cov) Cov {
	moved := ca.Transported(b.Inverse())
	return moved.plus(cb)
}

// InverseCov returns the covariance of a⁻¹: Ad(a)·ca·Ad(a)ᵀ.
func InverseCov(a Pose, ca *Cov) Cov { return ca.Transported(a) }

// BetweenCov returns the covariance of a⁻¹·b for independent a and b. The
// derivative by a is -Ad((a⁻¹·b)⁻¹), that by b the identity.
func BetweenCov(a Pose, ca *Cov, b Pose, cb *Cov) Cov {
	moved := ca.Transported(b.Inverse().Mul(a))
	return moved.plus(cb)
}

// InterpolateCov returns the covariance at p, the pose at the fraction u between a
// and b: (1-u)·ca + u·cb, each transported to p, as it is for what moves along a screw
// ([Geodesic]). On a line ([Interpolate]) the position errs by what the positions of a and b
// err, however these are turned; look-ups between samples therefore give a and b the position of p.
func InterpolateCov(a Pose, ca *Cov, b Pose, cb *Cov, u float64, p Pose) Cov {
	inv := p.Inverse()
	fromA, fromB := inv.Mul(a), inv.Mul(b)
	out := Cov{Mask: transportMask(ca.Mask, &fromA) & transportMask(cb.Mask, &fromB)}
	out.S.addTransported(1-u, &fromA, &ca.S)
	out.S.addTransported(u, &fromB, &cb.S)
	out.settle()
	return out
}
