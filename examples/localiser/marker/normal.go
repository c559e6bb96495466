package marker

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// normal are the normal equations of a least squares problem in a pose: information·x =
// gradient.
type normal struct {
	information [6][6]float64
	gradient    [6]float64
	mismatch    float64
}

// add adds a point whose coordinates differ by (dx, dy) from what is seen, with their
// derivatives and their inverse covariance.
func (n *normal) add(jx, jy *[6]float64, dx, dy float64, w *[3]float64) {
	wx, wy := w[0]*dx+w[1]*dy, w[1]*dx+w[2]*dy
	n.mismatch += dx*wx + dy*wy
	for i := range 6 {
		n.gradient[i] += jx[i]*wx + jy[i]*wy
		wix, wiy := jx[i]*w[0]+jy[i]*w[1], jx[i]*w[1]+jy[i]*w[2]
		for j := range 6 {
			n.information[i][j] += wix*jx[j] + wiy*jy[j]
		}
	}
}

// step returns the solution where the diagonal is larger by the part damping.
func (n *normal) step(damping float64) (t pose.Twist, ok bool) {
	m := n.information
	for i := range m {
		m[i][i] *= 1 + damping
	}
	if ok = cholesky(&m); !ok {
		return t, false
	}
	x := substitute(&m, n.gradient)
	return pose.Twist{Rho: pose.Vec3{X: x[0], Y: x[1], Z: x[2]}, Phi: pose.Vec3{X: x[3], Y: x[4], Z: x[5]}}, true
}

// covariance returns the inverse of the information. Where the mismatch is larger than two
// degrees of freedom explain, something is less exact than was thought, and the covariance
// is larger by as much.
func (n *normal) covariance() (pose.Cov, bool) {
	m := n.information
	if !cholesky(&m) {
		return pose.Cov{}, false
	}
	var inverse [6][6]float64
	for i := range 6 {
		var unit [6]float64
		unit[i] = max(1, n.mismatch/2)
		inverse[i] = substitute(&m, unit)
	}
	for i := range 6 {
		for j := range i {
			inverse[i][j] = inverse[j][i] // equal but for rounding
		}
	}
	cov, err := pose.NewCov(&inverse)
	return cov, err == nil
}

// cholesky puts L of m = L·Lᵀ into the lower triangle of m. It is false if m is not positive
// definite.
func cholesky(m *[6][6]float64) bool {
	for i := range 6 {
		for j := range i + 1 {
			sum := m[i][j]
			for k := range j {
				sum -= m[i][k] * m[j][k]
			}
			if i != j {
				m[i][j] = sum / m[j][j]
				continue
			}
			if !(sum > 0) {
				return false
			}
			m[i][i] = math.Sqrt(sum)
		}
	}
	return true
}

// substitute solves L·Lᵀ·x = b.
func substitute(l *[6][6]float64, b [6]float64) [6]float64 {
	for i := range 6 {
		for k := range i {
			b[i] -= l[i][k] * b[k]
		}
		b[i] /= l[i][i]
	}
	for i := 5; i >= 0; i-- {
		for k := i + 1; k < 6; k++ {
			b[i] -= l[k][i] * b[k]
		}
		b[i] /= l[i][i]
	}
	return b
}
