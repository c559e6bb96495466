package pose

import (
	"fmt"
	"math"

	"github.com/seed-301d4374/engram"
)

// Vec3 is a vector in metres (or, as a rotation vector, radians).
type Vec3 struct{ X, Y, Z float64 }

// Quat is a rotation as a unit quaternion. Q and -Q are the same rotation.
type Quat struct{ W, X, Y, Z float64 }

// Pose is a rigid transform: rotate by R, then translate by T. The zero Pose is
// no pose; [Identity] is.
type Pose struct {
	T Vec3
	R Quat
}

// Identity returns the pose that moves nothing.
func Identity() Pose { return Pose{R: Quat{W: 1}} }

// Translation returns a pose that only translates.
func Translation(x, y, z float64) Pose { return Pose{T: Vec3{x, y, z}, R: Quat{W: 1}} }

// RPY returns the rotation of the URDF's and ROS's roll, pitch and yaw: about the
// fixed axes x, then y, then z, in radians.
func RPY(roll, pitch, yaw float64) Quat {
	sr, cr := math.Sincos(roll / 2)
	sp, cp := math.Sincos(pitch / 2)
	sy, cy := math.Sincos(yaw / 2)
	return Quat{
		W: cr*cp*cy + sr*sp*sy,
		X: sr*cp*cy - cr*sp*sy,
		Y: cr*sp*cy + sr*cp*sy,
		Z: cr*cp*sy - sr*sp*cy,
	}
}

// AxisAngle returns the rotation by angle radians about the unit vector axis.
func AxisAngle(axis Vec3, angle float64) Quat {
	s, c := math.Sincos(angle / 2)
	return Quat{c, s * axis.X, s * axis.Y, s * axis.Z}
}

// Mul returns q·r: rotate by r, then by q.
func (q Quat) Mul(r Quat) Quat {
	return Quat{
		q.W*r.W - q.X*r.X - q.Y*r.Y - q.Z*r.Z,
		q.W*r.X + q.X*r.W + q.Y*r.Z - q.Z*r.Y,
		q.W*r.Y - q.X*r.Z + q.Y*r.W + q.Z*r.X,
		q.W*r.Z + q.X*r.Y - q.Y*r.X + q.Z*r.W,
	}
}

// Conj returns the inverse rotation.
func (q Quat) Conj() Quat { return Quat{q.W, -q.X, -q.Y, -q.Z} }

// Rotate returns v rotated by q.
func (q Quat) Rotate(v Vec3) Vec3 {
	// v + 2w(u×v) + 2u×(u×v), u the vector part
	tx := 2 * (q.Y*v.Z - q.Z*v.Y)
	ty := 2 * (q.Z*v.X - q.X*v.Z)
	tz := 2 * (q.X*v.Y - q.Y*v.X)
	return Vec3{
		v.X + q.W*tx + q.Y*tz - q.Z*ty,
		v.Y + q.W*ty + q.Z*tx - q.X*tz,
		v.Z + q.W*tz + q.X*ty - q.Y*tx,
	}
}

// Norm returns the length of q, 1 of a rotation.
func (q Quat) Norm() float64 { return math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z) }

// Angle returns the angle of the rotation in [0, π].
func (q Quat) Angle() float64 {
	return 2 * math.Atan2(math.Sqrt(q.X*q.X+q.Y*q.Y+q.Z*q.Z), math.Abs(q.W))
}

// Add returns v+w.
func (v Vec3) Add(w Vec3) Vec3 { return Vec3{v.X + w.X, v.Y + w.Y, v.Z + w.Z} }

// Sub returns v-w.
func (v Vec3) Sub(w Vec3) Vec3 { return Vec3{v.X - w.X, v.Y - w.Y, v.Z - w.Z} }

// Scale returns k·v.
func (v Vec3) Scale(k float64) Vec3 { return Vec3{k * v.X, k * v.Y, k * v.Z} }

// Dot returns the inner product of v and w.
func (v Vec3) Dot(w Vec3) float64 { return v.X*w.X + v.Y*w.Y + v.Z*w.Z }

// Cross returns v×w.
func (v Vec3) Cross(w Vec3) Vec3 {
	return Vec3{v.Y*w.Z - v.Z*w.Y, v.Z*w.X - v.X*w.Z, v.X*w.Y - v.Y*w.X}
}

// Norm returns the length of v.
func (v Vec3) Norm() float64 { return math.Sqrt(v.Dot(v)) }

// Mul returns a·b: targetFromSource·sourceFromOther is targetFromOther.
func (a Pose) Mul(b Pose) Pose {
	return Pose{T: a.R.Rotate(b.T).Add(a.T), R: a.R.Mul(b.R)}
}

// Inverse returns the inverse transform.
func (a Pose) Inverse() Pose {
	r := a.R.Conj()
	return Pose{T: r.Rotate(a.T).Scale(-1), R: r}
}

// Apply returns the point p mapped by a.
func (a Pose) Apply(p Vec3) Vec3 { return a.R.Rotate(p).Add(a.T) }

// Distance returns how far b is from a: the metres between their origins and the
// radians between their orientations.
func (a Pose) Distance(b Pose) (trans, rot float64) {
	return a.T.Sub(b.T).Norm(), chordAngle(chord(&a.R, &b.R))
}

// chord returns the distance between two rotations' quaternions, whichever signs
// they have: 2·sin(θ/4) for the angle θ. It is exactly zero for equal ones, grows
// with the angle and costs no arctangent.
func chord(a, b *Quat) float64 {
	sign := 1.0
	if a.W*b.W+a.X*b.X+a.Y*b.Y+a.Z*b.Z < 0 {
		sign = -1
	}
	w, x, y, z := a.W-sign*b.W, a.X-sign*b.X, a.Y-sign*b.Y, a.Z-sign*b.Z
	return math.Sqrt(w*w + x*x + y*y + z*z)
}

// chordAngle returns the angle in [0, π] that a chord belongs to.
func chordAngle(c float64) float64 { return 4 * math.Asin(min(c/2, math.Sqrt2/2)) }

// String returns the pose as "[x y z] q[w x y z]".
func (a Pose) String() string {
	return fmt.Sprintf("[%.6g %.6g %.6g] q[%.6g %.6g %.6g %.6g]", a.T.X, a.T.Y, a.T.Z, a.R.W, a.R.X, a.R.Y, a.R.Z)
}

// maxUnitError is how far the square of a quaternion's length may be from 1 for it to be
// taken as a rotation, as in tf2 (QUATERNION_NORMALIZATION_TOLERANCE, 10e-3) and rviz.
const maxUnitError = 1e-2

// Checked returns p with its quaternion normalised. The error is Invalid if a
// number is NaN or infinite, or if the square of the quaternion's length differs from 1 by
// more than 0.01.
func (a Pose) Checked() (Pose, error) {
	if !a.check() {
		return Pose{}, a.refusal()
	}
	return a, nil
}

// check normalises the quaternion in place and reports whether the pose is one.
func (a *Pose) check() bool {
	q := a.R
	n2 := q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z
	// x-x is 0 for every finite x and NaN for the others.
	s := a.T.X + a.T.Y + a.T.Z
	if d := n2 - 1; d > -1e-8 && d < 1e-8 && s-s == 0 {
		// One Newton step. What it leaves of an error is left alone, so that a pose
		// that was checked is the same when it is checked again.
		if d > 1e-15 || d < -1e-15 {
			k := 1 - 0.5*d
			a.R = Quat{q.W * k, q.X * k, q.Y * k, q.Z * k}
		}
		return true
	}
	n := math.Sqrt(n2)
	if !(math.Abs(n2-1) <= maxUnitError) || !finite(a.T.X) || !finite(a.T.Y) || !finite(a.T.Z) {
		return false
	}
	a.R = Quat{q.W / n, q.X / n, q.Y / n, q.Z / n}
	return true
}

func finite(x float64) bool { return x-x == 0 }

// refusal says why check failed.
func (a *Pose) refusal() *engram.Error {
	q := a.R
	n := math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	if finite(n) && finite(a.T.X) && finite(a.T.Y) && finite(a.T.Z) {
		return engram.Errorf(engram.Invalid, "", "the quaternion of pose %v has length %.6g; the square of it must be 1 within %g", *a, n, maxUnitError)
	}
	return engram.Errorf(engram.Invalid, "", "pose %v holds a number that is not finite", *a)
}

// mul sets a to a·b.
func (a *Pose) mul(b *Pose) {
	aw, ax, ay, az := a.R.W, a.R.X, a.R.Y, a.R.Z
	vx, vy, vz := b.T.X, b.T.Y, b.T.Z
	tx := 2 * (ay*vz - az*vy)
	ty := 2 * (az*vx - ax*vz)
	tz := 2 * (ax*vy - ay*vx)
	a.T.X += vx + aw*tx + ay*tz - az*ty
	a.T.Y += vy + aw*ty + az*tx - ax*tz
	a.T.Z += vz + aw*tz + ax*ty - ay*tx
	bw, bx, by, bz := b.R.W, b.R.X, b.R.Y, b.R.Z
	a.R.W = aw*bw - ax*bx - ay*by - az*bz
	a.R.X = aw*bx + ax*bw + ay*bz - az*by
	a.R.Y = aw*by - ax*bz + ay*bw + az*bx
	a.R.Z = aw*bz + ax*by - ay*bx + az*bw
}
