package pose

import (
	"math"

	"github.com/seed-301d4374/engram"
)

// Left returns the full matrix of the left perturbation T = Exp([ρ φ])·T̄, in the
// axes of the parent (target) frame: Ad(p)·c·Ad(p)ᵀ.
func (c *Cov) Left(p Pose) [6][6]float64 {
	t := c.Transported(p)
	return t.Matrix()
}

// CovFromLeft is the reverse of [Cov.Left]. It returns the errors of [NewCov].
func CovFromLeft(p Pose, m *[6][6]float64) (Cov, error) {
	c, err := NewCov(m)
	if err != nil {
		return Cov{}, err
	}
	return c.Transported(p.Inverse()), nil
}

// ROS returns the covariance as ROS's geometry_msgs/PoseWithCovariance has it:
// row by row, x y z and then the rotation about the fixed axes x y z of the parent
// frame, the translation in the parent's axes, each perturbed on its own. An
// unknown covariance is all zeros, and what is not estimated of one that is known in
// part has the variance 1e9, as is the custom there; ask [Cov.State].
func (c *Cov) ROS(p Pose) (m [36]float64) {
	t := c.Transported(Pose{R: p.R})
	for i := range 6 {
		for j := range 6 {
			m[6*i+j] = t.S.at(i, j)
		}
		if t.Mask != 0 && t.Mask>>i&1 == 0 {
			m[7*i] = 1e9
		}
	}
	return m
}

// CovFromROS is the reverse of [Cov.ROS]. All zeros, or a negative first element,
// mean unknown, as is the custom in ROS, and so does a variance so large that it was not
// measured ([NewCov]). It returns the errors of [NewCov].
func CovFromROS(p Pose, m *[36]float64) (Cov, error) {
	if m[0] < 0 || *m == [36]float64{} {
		return Cov{}, nil
	}
	var full [6][6]float64
	for i := range 36 {
		full[i/6][i%6] = m[i]
	}
	c, err := NewCov(&full)
	if err != nil {
		return Cov{}, err
	}
	return c.Transported(Pose{R: p.R.Conj()}), nil
}

// MeasuredROS returns a pose with its rotation normalised, and its covariance of the numbers that [Cov.ROS] has;
// without numbers it is unknown. It returns the errors of [Pose.Checked] and [CovFromROS]; the pose of numbers that are
// no covariance is returned all the same.
func MeasuredROS(p Pose, numbers []float64) (Pose, Cov, error) {
	p, err := p.Checked()
	if err != nil || len(numbers) == 0 {
		return p, Cov{}, err
	}
	if len(numbers) != 36 {
		return p, Cov{}, engram.Errorf(engram.Invalid, "pose_covariance", "it has %d numbers instead of 36", len(numbers))
	}
	c, err := CovFromROS(p, (*[36]float64)(numbers))
	return p, c, err
}

// maxEulerPitch is the pitch in radians beyond which Euler angles have no usable
// covariance: roll and yaw turn about nearly the same axis there.
const maxEulerPitch = 85 * math.Pi / 180

// EulerZYX returns the roll, pitch and yaw of R = Rz(yaw)·Ry(pitch)·Rx(roll).
func (q Quat) EulerZYX() (roll, pitch, yaw float64) {
	r := q.matrix()
	return math.Atan2(r[7], r[8]), math.Atan2(-r[6], math.Hypot(r[7], r[8])), math.Atan2(r[3], r[0])
}

// EulerZYX returns the covariance of x, y, z in the parent's axes and of roll,
// pitch and yaw, in that order. The error is OutOfRange if the pitch is within 5°
// of ±90°, where those angles are singular.
func (c *Cov) EulerZYX(p Pose) (m [6][6]float64, err error) {
	roll, pitch, _ := p.R.EulerZYX()
	if math.Abs(pitch) > maxEulerPitch {
		return m, eulerSingular(pitch)
	}
	var j [6][6]float64
	r := p.R.matrix()
	for i := range 9 {
		j[i/3][i%3] = r[i]
	}
	sr, cr := math.Sincos(roll)
	sp, cp := math.Sincos(pitch)
	// d(rpy)/dφ, the inverse of the matrix in CovFromEulerZYX
	j[3][3], j[3][4], j[3][5] = 1, sr*sp/cp, cr*sp/cp
	j[4][4], j[4][5] = cr, -sr
	j[5][4], j[5][5] = sr/cp, cr/cp
	var s Sym6
	s.addCongruence(&j, &c.S)
	for i := range 6 {
		for k := range 6 {
			m[i][k] = s.at(i, k)
		}
	}
	return m, nil
}

// CovFromEulerZYX is the reverse of [Cov.EulerZYX]. It returns its errors and those
// of [NewCov].
func CovFromEulerZYX(p Pose, m *[6][6]float64) (Cov, error) {
	roll, pitch, _ := p.R.EulerZYX()
	if math.Abs(pitch) > maxEulerPitch {
		return Cov{}, eulerSingular(pitch)
	}
	c, err := NewCov(m)
	if err != nil {
		return Cov{}, err
	}
	var j [6][6]float64
	conj := p.R.Conj()
	r := conj.matrix()
	for i := range 9 {
		j[i/3][i%3] = r[i]
	}
	sr, cr := math.Sincos(roll)
	sp, cp := math.Sincos(pitch)
	// φ = E·d(rpy), body axes
	j[3][3], j[3][5] = 1, -sp
	j[4][4], j[4][5] = cr, sr*cp
	j[5][4], j[5][5] = -sr, cr*cp
	out := Cov{Mask: AllDims}
	out.S.addCongruence(&j, &c.S)
	return out, nil
}

func eulerSingular(pitch float64) error {
	return engram.Errorf(engram.OutOfRange, "", "pitch %.1f° is within 5° of ±90°, where roll and yaw have no covariance of their own", pitch*180/math.Pi)
}

// addCongruence adds J·C·Jᵀ for a general J.
func (s *Sym6) addCongruence(j *[6][6]float64, c *Sym6) {
	var jc [6][6]float64
	for i := range 6 {
		for k := range 6 {
			for l := range 6 {
				jc[i][k] += j[i][l] * c.at(l, k)
			}
		}
	}
	n := 0
	for i := range 6 {
		for k := i; k < 6; k++ {
			for l := range 6 {
				s[n] += jc[i][l] * j[k][l]
			}
			n++
		}
	}
}
