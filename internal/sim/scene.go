package sim

import (
	"math"

	"github.com/seed-301d4374/engram/pose"
)

// Scene is a small world of its own, for cameras anywhere in it: boxes, and square
// markers whose edges are where they are to a fraction of a pixel. Its frame has z up.
// The methods may be called concurrently while nobody changes the scene.
type Scene struct {
	Floor   bool // a tiled one at z = 0, 12 m square
	Boxes   []Box
	Markers []Marker
}

// Box is a box about the origin of its pose.
type Box struct {
	Pose   pose.Pose
	Size   pose.Vec3 // m
	Colour [3]uint8
}

// Marker is a flat square of dark and white cells on white paper, as fiducial markers
// are: x to the right, y up, z out of the paper, the origin in the middle.
type Marker struct {
	Pose pose.Pose
	Size float64  // side of the cells together, m; the paper is a cell wider all around
	Bits [][]bool // rows from the top, true where white
}

// SceneCamera is a camera in a scene: a pinhole with its principal point in the middle
// of the image, where pixel (i, j) has its centre at (i, j).
type SceneCamera struct {
	Pose          pose.Pose // in the scene; x right, y down, z ahead
	Width, Height int       // pixels
	Focal         float64   // pixels
	// What the sensor does to the image.
	Blur  float64 // standard deviation of a Gaussian, pixels
	Noise float64 // standard deviation, grey levels
	Gain  float64 // brightness, 0 for 1
	// Standard deviation of a depth of 1 m, m; it grows with the square of the distance.
	DepthNoise float64
	Seed       uint64 // of the noise
}

// LookingFrom returns the pose of a camera at a place that looks at another, upright.
func LookingFrom(from, at pose.Vec3) pose.Pose {
	z := unit(at.Sub(from))
	up := vec3{Z: 1}
	if math.Abs(z.Z) > 0.999 {
		up = vec3{X: 1}
	}
	x := unit(z.Cross(up))
	y := z.Cross(x)
	// The rotation that brings (1,0,0) to x and (0,0,1) to z.
	return pose.Pose{T: from, R: rotationTo(x, y, z)}
}

// rotationTo returns the rotation whose matrix has the columns x, y and z.
func rotationTo(x, y, z vec3) pose.Quat {
	q := pose.Quat{
		W: math.Sqrt(max(0, 1+x.X+y.Y+z.Z)) / 2,
		X: math.Copysign(math.Sqrt(max(0, 1+x.X-y.Y-z.Z))/2, y.Z-z.Y),
		Y: math.Copysign(math.Sqrt(max(0, 1-x.X+y.Y-z.Z))/2, z.X-x.Z),
		Z: math.Copysign(math.Sqrt(max(0, 1-x.X-y.Y+z.Z))/2, x.Y-y.X),
	}
	return q
}

// Picture is what a camera saw: rgb8 without padding, and the depth along the optical
// axis in metres, 0 where nothing is.
type Picture struct {
	RGB   []byte
	Depth []float32
}

// Render paints what a camera sees.
func (s *Scene) Render(c SceneCamera) Picture {
	r := &renderer{raster: raster{
		width: c.Width, height: c.Height, focal: c.Focal,
		cx: float64(c.Width-1) / 2, cy: float64(c.Height-1) / 2,
		depth: make([]float32, c.Width*c.Height),
	}, tex: roomTextures()}
	p := Picture{RGB: make([]byte, 3*c.Width*c.Height), Depth: make([]float32, c.Width*c.Height)}
	for i := range p.RGB {
		p.RGB[i] = 150
	}
	r.begin(c.Pose, p.RGB)
	for _, b := range s.Boxes {
		r.box(b.Pose, b.Size, b.Colour)
	}
	if s.Floor {
		const side = 6.0
		r.fill([]vec3{xyz(-side, -side, 0), xyz(side, -side, 0), xyz(side, side, 0), xyz(-side, side, 0)}, colour{}, &r.tex.floor)
	}
	for _, m := range s.Markers {
		r.marker(m)
	}
	n := noise(c.Seed)
	for i, iz := range r.depth {
		if iz > 0 {
			z := 1 / float64(iz)
			p.Depth[i] = float32(max(z+c.DepthNoise*z*z*n.gauss(noiseDepth, 0, i), 0))
		}
	}
	c.sense(p.RGB)
	return p
}

// subpixels is how many samples a pixel of a marker has in each direction.
const subpixels = 8

// marker paints a marker, each pixel the mean of many samples.
func (r *renderer) marker(m Marker) {
	cells := len(m.Bits)
	if cells == 0 {
		return
	}
	normal := m.Pose.R.Rotate(vec3{Z: 1})
	if normal.Dot(r.eye.Sub(m.Pose.T)) <= 0 {
		return // seen from behind
	}
	half := m.Size * (0.5 + 1/float64(cells))
	if !r.clip([]vec3{
		m.Pose.Apply(xyz(-half, -half, 0)), m.Pose.Apply(xyz(half, -half, 0)),
		m.Pose.Apply(xyz(half, half, 0)), m.Pose.Apply(xyz(-half, half, 0)),
	}) {
		return
	}
	left, right := math.Inf(1), math.Inf(-1)
	top, bottom := r.project()
	for _, p := range r.points {
		left, right = min(left, p.X), max(right, p.X)
	}
	// A ray's place on the marker: where origin + k*ray has no z in the marker's frame.
	toMarker := r.view.Mul(m.Pose).Inverse()
	brightness := shade(normal)
	for y := max(int(top), 0); y <= min(int(bottom)+1, r.height-1); y++ {
		for x := max(int(left), 0); x <= min(int(right)+1, r.width-1); x++ {
			before := float64(r.depth[y*r.width+x])
			hits, sum, izSum := 0, 0.0, 0.0
			for sy := range subpixels {
				for sx := range subpixels {
					u := float64(x) + (float64(sx)+0.5)/subpixels - 0.5
					v := float64(y) + (float64(sy)+0.5)/subpixels - 0.5
					ray := toMarker.R.Rotate(xyz((u-r.cx)/r.focal, (v-r.cy)/r.focal, 1))
					k := -toMarker.T.Z / ray.Z // the depth
					// A marker lies on what it is glued to, a millimetre or less before it.
					if k < nearPlane || (1/k)*1.002+1e-4 < before {
						continue
					}
					px, py := toMarker.T.X+k*ray.X, toMarker.T.Y+k*ray.Y
					if math.Abs(px) > half || math.Abs(py) > half {
						continue
					}
					hits++
					izSum += 1 / k
					col, row := int(math.Floor((px/m.Size+0.5)*float64(cells))), int(math.Floor((0.5-py/m.Size)*float64(cells)))
					if row < 0 || col < 0 || row >= cells || col >= cells || m.Bits[row][col] {
						sum += paper
					} else {
						sum += ink
					}
				}
			}
			if hits == 0 {
				continue
			}
			const all = subpixels * subpixels
			pix := r.pix[3*(y*r.width+x):][:3]
			for i := range pix {
				pix[i] = uint8(min(float64(pix[i])*float64(all-hits)/all+sum*brightness/all+0.5, 255))
			}
			if hits > all/2 {
				r.depth[y*r.width+x] = float32(izSum / float64(hits))
			}
		}
	}
}

// What paper and ink reflect of full light, grey levels.
const (
	paper = 215.0
	ink   = 22.0
)

// sense makes of a perfect image the one that the sensor gives.
func (c *SceneCamera) sense(pix []byte) {
	gain := c.Gain
	if gain == 0 {
		gain = 1
	}
	if c.Blur == 0 && c.Noise == 0 && gain == 1 {
		return
	}
	v := make([]float64, len(pix))
	for i, p := range pix {
		v[i] = gain * float64(p)
	}
	if c.Blur > 0 {
		blur(v, c.Width, c.Height, c.Blur)
	}
	n := noise(c.Seed)
	for i := range pix {
		pix[i] = uint8(min(max(v[i]+c.Noise*n.gauss(noisePixel, 0, i)+0.5, 0), 255))
	}
}

// blur smooths an image of three channels with a Gaussian.
func blur(v []float64, w, h int, sigma float64) {
	n := int(math.Ceil(3 * sigma))
	kernel := make([]float64, n+1)
	sum := 0.0
	for i := range kernel {
		kernel[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += kernel[i]
		if i > 0 {
			sum += kernel[i]
		}
	}
	for i := range kernel {
		kernel[i] /= sum
	}
	// Each line is copied between margins that repeat its ends, so that no sum looks for them.
	pass := func(length, lines, step, lineStep int) {
		line := make([]float64, length+2*n)
		for l := range lines {
			for ch := range 3 {
				first := 3*l*lineStep + ch
				for i := range length {
					line[n+i] = v[first+3*i*step]
				}
				for i := range n {
					line[i], line[n+length+i] = line[n], line[n+length-1]
				}
				for i := range length {
					around := line[i : i+2*n+1]
					s := kernel[0] * around[n]
					for k := 1; k <= n; k++ {
						s += kernel[k] * (around[n-k] + around[n+k])
					}
					v[first+3*i*step] = s
				}
			}
		}
	}
	pass(w, h, 1, w)
	pass(h, w, w, 1)
}
