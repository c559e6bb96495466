package pose

import "math"

// Between two samples whose errors are independent, the error of what is interpolated
// is, to first order, J_a·e_a + J_b·e_b. Along a one-parameter subgroup the derivatives
// are J_b = u·Jr(u·x)·Jr(x)⁻¹ with x = Log(a⁻¹·b) and Jr the right Jacobian of the
// group, and J_a the same from the other end. (J. Solà, J. Deray, D. Atchuthan, "A micro
// Lie theory for state estimation in robotics", 2018.)

// matrix6 is a 6×6 matrix, row by row.
type matrix6 = [6][6]float64

// PropagateCov returns the covariance of [Interpolate](a, b, u) for independent errors
// of a and b, by first order propagation. It is what an edge with [Propagate] answers.
func PropagateCov(a Pose, ca *Cov, b Pose, cb *Cov, u float64) Cov {
	p := Interpolate(a, b, u)
	turn := Twist{Phi: Log(Pose{R: a.R.Conj().Mul(b.R)}).Phi}
	ja, jb := endJacobian(turn.Scale(-1), 1-u), endJacobian(turn, u)
	moveOnLine(&ja, &p, &a, 1-u)
	moveOnLine(&jb, &p, &b, u)
	return propagated(&ja, ca, &jb, cb)
}

// PropagateGeodesicCov is PropagateCov for [Geodesic], by which anchors move from key to
// key.
func PropagateGeodesicCov(a Pose, ca *Cov, b Pose, cb *Cov, u float64) Cov {
	ja, jb := geodesicJacobians(a, b, u)
	return propagated(&ja, ca, &jb, cb)
}

func geodesicJacobians(a, b Pose, u float64) (ja, jb matrix6) {
	x := Log(a.Inverse().Mul(b))
	return endJacobian(x.Scale(-1), 1-u), endJacobian(x, u)
}

func propagated(ja *matrix6, ca *Cov, jb *matrix6, cb *Cov) Cov {
	out := ExactCov()
	out.addLinear(ja, ca)
	out.addLinear(jb, cb)
	out.settle()
	return out
}

// addLinear adds the covariance of J·e for an error e with the covariance c. What an
// unestimated dimension of e moves is not estimated.
func (c *Cov) addLinear(j *matrix6, e *Cov) {
	for k := range 6 {
		for i := range 6 {
			if e.Mask>>k&1 == 0 && math.Abs(j[i][k]) > mixes {
				c.Mask &^= 1 << i
			}
		}
	}
	c.S.addCongruence(j, &e.S)
}

// endJacobian returns the derivative of the motion that is at the fraction u of the
// way along x, by the error at the end of that.
func endJacobian(x Twist, u float64) (j matrix6) {
	whole, part := rightJacobian(x), rightJacobian(x.Scale(u))
	inv := inverse6(&whole)
	j = multiply6(&part, &inv)
	for i := range 6 {
		for k := range 6 {
			j[i][k] *= u
		}
	}
	return j
}

// moveOnLine replaces the derivatives of the translation by those of one on a line: p
// is what is interpolated, and end the pose whose error it is.
func moveOnLine(j *matrix6, p, end *Pose, u float64) {
	r := p.R.Conj().Mul(end.R)
	for k := range 3 {
		c := r.Rotate(basisTwist(k).Rho).Scale(u)
		for i, x := range [3]float64{c.X, c.Y, c.Z} {
			j[i][k], j[i][k+3], j[i+3][k] = x, 0, 0
		}
	}
}

// rightJacobian returns Jr(x) = Σ (-ad x)ⁿ/(n+1)!. The angle of x is at most π, for which
// 32 terms leave an error of rounding.
func rightJacobian(x Twist) (sum matrix6) {
	var ad, term matrix6
	for k := range 6 {
		e := basisTwist(k)
		c := Twist{
			Rho: x.Phi.Cross(e.Rho).Add(x.Rho.Cross(e.Phi)),
			Phi: x.Phi.Cross(e.Phi),
		}.components()
		for i := range 6 {
			ad[i][k] = -c[i]
		}
		term[k][k] = 1
	}
	sum = term
	for n := 1; n < 32; n++ {
		term = multiply6(&term, &ad)
		for i := range 6 {
			for k := range 6 {
				term[i][k] /= float64(n + 1)
				sum[i][k] += term[i][k]
			}
		}
	}
	return sum
}

func multiply6(a, b *matrix6) (out matrix6) {
	for i := range 6 {
		for k := range 6 {
			for l := range 6 {
				out[i][k] += a[i][l] * b[l][k]
			}
		}
	}
	return out
}

// inverse6 inverts a matrix by elimination, largest pivot first.
func inverse6(a *matrix6) (inv matrix6) {
	m := *a
	for i := range 6 {
		inv[i][i] = 1
	}
	for c := range 6 {
		p := c
		for i := c + 1; i < 6; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[p][c]) {
				p = i
			}
		}
		m[c], m[p], inv[c], inv[p] = m[p], m[c], inv[p], inv[c]
		k := 1 / m[c][c]
		for j := range 6 {
			m[c][j] *= k
			inv[c][j] *= k
		}
		for i := range 6 {
			if f := m[i][c]; i != c && f != 0 {
				for j := range 6 {
					m[i][j] -= f * m[c][j]
					inv[i][j] -= f * inv[c][j]
				}
			}
		}
	}
	return inv
}
