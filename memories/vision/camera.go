package vision

import (
	"math"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/pose"
)

// Camera is a pinhole camera with a lens, as foxglove.CameraCalibration has it.
type Camera struct {
	Width, Height  int     // pixels
	FX, FY, CX, CY float64 // focal lengths and principal point, pixels
	// Model of the lens: "plumb_bob" (k1 k2 p1 p2 k3), "rational_polynomial" (k1 k2 p1 p2
	// k3 k4 k5 k6) or "kannala_brandt" (k1 k2 k3 k4); empty if the image is rectified.
	Model      string
	Distortion []float64 // parameters of the model; missing ones are 0
}

// Check returns an Invalid error if this is no camera.
func (c *Camera) Check() error {
	for _, v := range append([]float64{c.FX, c.FY, c.CX, c.CY}, c.Distortion...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return engram.Errorf(engram.Invalid, "camera", "a parameter is not finite: %+v", *c)
		}
	}
	limit := map[string]int{"": 0, "plumb_bob": 5, "rational_polynomial": 8, "kannala_brandt": 4}
	n, known := limit[c.Model]
	switch {
	case c.FX <= 0 || c.FY <= 0:
		return engram.Errorf(engram.Invalid, "camera", "focal lengths %g and %g pixels: both must be positive", c.FX, c.FY)
	case c.Width <= 0 || c.Height <= 0:
		return engram.Errorf(engram.Invalid, "camera", "%d x %d pixels: a camera has some", c.Width, c.Height)
	case !known:
		return engram.Errorf(engram.Unsupported, "camera", "lens model %q: plumb_bob, rational_polynomial and kannala_brandt are known", c.Model)
	case len(c.Distortion) > n && !zeros(c.Distortion[n:]):
		return engram.Errorf(engram.Invalid, "camera", "%d parameters for lens model %q, which has %d", len(c.Distortion), c.Model, n)
	}
	return nil
}

func zeros(v []float64) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// straight reports whether the lens leaves lines straight.
func (c *Camera) straight() bool { return c.Model == "" || zeros(c.Distortion) }

// Project returns the pixel of a point of the camera's frame, ok false behind the camera.
func (c *Camera) Project(p pose.Vec3) (x, y float64, ok bool) {
	if p.Z <= 1e-9 {
		return 0, 0, false
	}
	x, y = c.Distort(c.FX*p.X/p.Z+c.CX, c.FY*p.Y/p.Z+c.CY)
	return x, y, true
}

// Ray returns the direction of what a pixel sees, with z = 1.
func (c *Camera) Ray(x, y float64) pose.Vec3 {
	x, y = c.Undistort(x, y)
	return pose.Vec3{X: (x - c.CX) / c.FX, Y: (y - c.CY) / c.FY, Z: 1}
}

// d returns a parameter of the lens.
func (c *Camera) d(i int) float64 {
	if i < len(c.Distortion) {
		return c.Distortion[i]
	}
	return 0
}

// Distort returns where the lens shows what a pinhole would show at a pixel.
func (c *Camera) Distort(u, v float64) (x, y float64) {
	if c.straight() {
		return u, v
	}
	x, y = (u-c.CX)/c.FX, (v-c.CY)/c.FY
	r2 := x*x + y*y
	if c.Model == "kannala_brandt" {
		r := math.Sqrt(r2)
		if r < 1e-9 {
			return u, v
		}
		a := math.Atan(r)
		a2 := a * a
		k := a * (1 + a2*(c.d(0)+a2*(c.d(1)+a2*(c.d(2)+a2*c.d(3))))) / r
		return c.FX*k*x + c.CX, c.FY*k*y + c.CY
	}
	k := (1 + r2*(c.d(0)+r2*(c.d(1)+r2*c.d(4)))) / (1 + r2*(c.d(5)+r2*(c.d(6)+r2*c.d(7))))
	p1, p2 := c.d(2), c.d(3)
	xd := k*x + 2*p1*x*y + p2*(r2+2*x*x)
	yd := k*y + p1*(r2+2*y*y) + 2*p2*x*y
	return c.FX*xd + c.CX, c.FY*yd + c.CY
}

// Undistort is the reverse of Distort, by iteration: each step adds what Distort misses by.
func (c *Camera) Undistort(x, y float64) (u, v float64) {
	u, v = x, y
	if c.straight() {
		return u, v
	}
	for range 30 {
		xd, yd := c.Distort(u, v)
		u, v = u+x-xd, v+y-yd
		if math.Hypot(x-xd, y-yd) < 1e-6 {
			break
		}
	}
	return u, v
}

// CameraOf reads a calibration. The error is Invalid or Unsupported.
func CameraOf(m *foxglovepb.CameraCalibration) (c Camera, err error) {
	if len(m.GetK()) != 9 {
		return c, engram.Errorf(engram.Invalid, "camera", "K has %d numbers instead of 9", len(m.GetK()))
	}
	k := m.GetK()
	c = Camera{Width: int(m.GetWidth()), Height: int(m.GetHeight()), Model: m.GetDistortionModel(), FX: k[0], CX: k[2], FY: k[4], CY: k[5], Distortion: m.GetD()}
	return c, c.Check()
}
