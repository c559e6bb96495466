package depth

import (
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Image is the depth of each pixel, row by row, in metres along the line of sight.
type Image struct {
	Width, Height int
	Z             []float32 // 0, NaN and infinity mean none
}

// FromMillimetres returns the image of depths in millimetres, as cameras give them (16UC1);
// 0 means none. The error is Invalid for another number of depths than pixels.
func FromMillimetres(width, height int, depths []uint16) (*Image, error) {
	img := &Image{width, height, make([]float32, len(depths))}
	for i, mm := range depths {
		img.Z[i] = float32(mm) / 1000
	}
	return img, img.check()
}

func (img *Image) check() error {
	if img.Width <= 0 || img.Height <= 0 || len(img.Z) != img.Width*img.Height {
		return engram.Errorf(engram.Invalid, "depth", "%d depths are no image of %d × %d pixels", len(img.Z), img.Width, img.Height)
	}
	return nil
}

// cloud is every stride-th point of every stride-th row, in the camera's frame. A point
// without depth is the origin.
type cloud struct {
	width, height, stride int
	points                []pose.Vec3
	valid                 int
}

// mostAcross is about how many points a row of a cloud has.
const mostAcross = 640

func newCloud(img *Image, cam *camera.Camera) *cloud {
	stride := max(1, img.Width/mostAcross)
	c := &cloud{width: img.Width / stride, height: img.Height / stride, stride: stride}
	c.points = make([]pose.Vec3, c.width*c.height)
	for row := range c.height {
		for column := range c.width {
			u, v := column*stride, row*stride
			z := float64(img.Z[v*img.Width+u])
			if !(z > 0) || math.IsInf(z, 1) {
				continue
			}
			x, y := cam.Ray(float64(u), float64(v))
			c.points[row*c.width+column] = pose.Vec3{X: x * z, Y: y * z, Z: z}
			c.valid++
		}
	}
	return c
}
