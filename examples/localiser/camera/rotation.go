package camera

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// Rotation returns the rotation that turns the axes x and y to the directions of two unit
// vectors. If these are not quite perpendicular it turns them as near as it can, both alike.
func Rotation(x, y pose.Vec3) pose.Quat {
	between, apart := x.Add(y), y.Sub(x)
	between, apart = between.Scale(1/between.Norm()), apart.Scale(1/apart.Norm())
	x, y = between.Sub(apart).Scale(math.Sqrt2/2), between.Add(apart).Scale(math.Sqrt2/2)
	z := x.Cross(y)
	// The largest of the quaternion's components first (S. Shepperd, 1978).
	var q pose.Quat
	switch {
	case x.X+y.Y+z.Z > 0:
		q = pose.Quat{W: 1 + x.X + y.Y + z.Z, X: y.Z - z.Y, Y: z.X - x.Z, Z: x.Y - y.X}
	case x.X > y.Y && x.X > z.Z:
		q = pose.Quat{W: y.Z - z.Y, X: 1 + x.X - y.Y - z.Z, Y: x.Y + y.X, Z: z.X + x.Z}
	case y.Y > z.Z:
		q = pose.Quat{W: z.X - x.Z, X: x.Y + y.X, Y: 1 - x.X + y.Y - z.Z, Z: y.Z + z.Y}
	default:
		q = pose.Quat{W: x.Y - y.X, X: z.X + x.Z, Y: y.Z + z.Y, Z: 1 - x.X - y.Y + z.Z}
	}
	n := q.Norm()
	return pose.Quat{W: q.W / n, X: q.X / n, Y: q.Y / n, Z: q.Z / n}
}
