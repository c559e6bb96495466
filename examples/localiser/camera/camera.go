// Package camera is the pinhole model that the packages of the localiser share.
//
// The camera's frame has x to the right of the image, y down and z along the line of
// sight, as ROS's optical frames have it. Lengths are metres. Image coordinates are
// pixels; the centre of pixel (i, j) is (i, j), so the image reaches from -0.5 to
// Width-0.5. Intrinsics are those of ROS's sensor_msgs/CameraInfo: K holds Fx, Fy, Cx and
// Cy, D the distortion of the model plumb_bob.
package camera

import (
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Camera is a pinhole camera with lens distortion. It is a value; its methods are safe for
// concurrent use.
type Camera struct {
	Width, Height  int
	Fx, Fy, Cx, Cy float64    // pixels
	Distortion     [5]float64 // plumb_bob: k1 k2 p1 p2 k3; zero for an ideal lens
}

// FieldOfView returns an ideal camera with square pixels that sees the angle horizontal,
// in radians, across the width of its image.
func FieldOfView(width, height int, horizontal float64) Camera {
	f := float64(width) / 2 / math.Tan(horizontal/2)
	return Camera{Width: width, Height: height, Fx: f, Fy: f, Cx: float64(width-1) / 2, Cy: float64(height-1) / 2}
}

// Check returns an Invalid error for intrinsics that are those of no camera.
func (c *Camera) Check() error {
	if c.Width <= 0 || c.Height <= 0 {
		return engram.Errorf(engram.Invalid, "camera", "the image has %d × %d pixels; both must be positive", c.Width, c.Height)
	}
	if !(c.Fx > 0 && c.Fy > 0) || math.IsInf(c.Fx+c.Fy, 0) {
		return engram.Errorf(engram.Invalid, "camera", "the focal lengths are %g and %g pixels; both must be positive and finite", c.Fx, c.Fy)
	}
	sum := c.Cx + c.Cy
	for _, d := range c.Distortion {
		sum += d
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return engram.Errorf(engram.Invalid, "camera", "the principal point or the distortion is not finite")
	}
	return nil
}

// Project returns the pixel that a point of the camera's frame is seen at. It is false for
// a point that is not before the camera. The pixel may lie outside of the image.
func (c *Camera) Project(p pose.Vec3) (u, v float64, ok bool) {
	if !(p.Z > 1e-9) {
		return 0, 0, false
	}
	x, y := c.distort(p.X/p.Z, p.Y/p.Z)
	return c.Fx*x + c.Cx, c.Fy*y + c.Cy, true
}

// Ray returns the point of the plane z = 1 that is seen at a pixel.
func (c *Camera) Ray(u, v float64) (x, y float64) {
	xd, yd := (u-c.Cx)/c.Fx, (v-c.Cy)/c.Fy
	if c.Distortion == [5]float64{} {
		return xd, yd
	}
	// The distortion is small, so its inverse is found by fixed-point iteration.
	x, y = xd, yd
	for range 20 {
		dx, dy := c.distort(x, y)
		x, y = x+xd-dx, y+yd-dy
	}
	return x, y
}

// Contains reports whether a pixel lies in the image, at least margin pixels from its edge.
func (c *Camera) Contains(u, v, margin float64) bool {
	return u >= margin-0.5 && v >= margin-0.5 && u <= float64(c.Width)-0.5-margin && v <= float64(c.Height)-0.5-margin
}

func (c *Camera) distort(x, y float64) (xd, yd float64) {
	k1, k2, p1, p2, k3 := c.Distortion[0], c.Distortion[1], c.Distortion[2], c.Distortion[3], c.Distortion[4]
	r2 := x*x + y*y
	radial := 1 + r2*(k1+r2*(k2+r2*k3))
	return x*radial + 2*p1*x*y + p2*(r2+2*x*x), y*radial + p1*(r2+2*y*y) + 2*p2*x*y
}
