// Package render paints what a pinhole camera sees of boards and boxes, in colour and in
// depth, for tests of what looks at images.
//
// A scene is a list of [Board]: flat rectangles with a paint. Its world frame is that of
// the poses given. A [Sensor] says what the camera does to the light: blur, vignetting,
// noise. The same seed gives the same image. Lengths are metres, brightness is 0 to 255.
package render

import (
	"math"
	"math/rand/v2"

	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Colour is red, green and blue, 0 to 255.
type Colour [3]float32

// Grey returns the colour of equal red, green and blue.
func Grey(level float32) Colour { return Colour{level, level, level} }

// Paint is the colour of a board at a place in its frame, in metres.
type Paint func(x, y float64) Colour

// Plain returns the paint of one colour.
func Plain(c Colour) Paint { return func(x, y float64) Colour { return c } }

// Board is a rectangle in the plane z = 0 of its frame, centred on the origin. It is seen
// from the side that z points to.
type Board struct {
	Pose          pose.Pose // of the board in the world
	Width, Height float64   // along x and y
	Paint         Paint
}

// Box returns the six faces of a cuboid that is centred on its frame's origin. Each face
// is somewhat darker or brighter, as under light from above.
func Box(p pose.Pose, size pose.Vec3, c Colour) []Board {
	face := func(axis pose.Vec3, angle, distance, width, height float64, light float32) Board {
		turn := pose.Pose{R: pose.AxisAngle(axis, angle)}
		shaded := Colour{c[0] * light, c[1] * light, c[2] * light}
		return Board{p.Mul(turn).Mul(pose.Translation(0, 0, distance/2)), width, height, Plain(shaded)}
	}
	x, y := pose.Vec3{X: 1}, pose.Vec3{Y: 1}
	return []Board{
		face(x, 0, size.Z, size.X, size.Y, 1),
		face(x, math.Pi, size.Z, size.X, size.Y, 0.5),
		face(y, math.Pi/2, size.X, size.Z, size.Y, 0.85),
		face(y, -math.Pi/2, size.X, size.Z, size.Y, 0.65),
		face(x, math.Pi/2, size.Y, size.X, size.Z, 0.6),
		face(x, -math.Pi/2, size.Y, size.X, size.Z, 0.75),
	}
}

// Sensor is what a camera makes of light. The zero Sensor is perfect.
type Sensor struct {
	Blur       float64 // standard deviation of the point spread, pixels
	Vignetting float64 // part of the light that is missing in the corners, 0 to 1
	Noise      float64 // standard deviation, levels of brightness
	// The depth's standard deviation is DepthNoise·z² for z in metres; this part of the
	// pixels has none.
	DepthNoise, DepthMissing float64
	Seed                     uint64
}

// Image is what a camera saw: RGB row by row without padding, and of each pixel the
// distance along the line of sight (z) in metres, 0 where there is none.
type Image struct {
	Width, Height int
	RGB           []byte
	Depth         []float32
}

// Renderer paints images. It reuses its memory; it is not safe for concurrent use.
type Renderer struct {
	Background Colour // where no board is
	light      []Colour
	blurred    []Colour
	owner      []int16 // the board seen at a pixel, -1 for none
	depth      []float32
	boards     []seen
}

// samples is how many rays look at a pixel with an edge in it.
const samples = 32

// contrast is the difference in brightness of neighbours from which on more rays look.
const contrast = 8

// Render returns what a camera with the pose worldFromCamera sees of the boards.
func (r *Renderer) Render(boards []Board, cam *camera.Camera, worldFromCamera pose.Pose, s Sensor) *Image {
	n := cam.Width * cam.Height
	if len(r.light) != n {
		r.light, r.blurred = make([]Colour, n), make([]Colour, n)
		r.owner, r.depth = make([]int16, n), make([]float32, n)
	}
	r.look(boards, worldFromCamera.Inverse())
	for v := range cam.Height {
		for u := range cam.Width {
			i := v*cam.Width + u
			x, y := cam.Ray(float64(u), float64(v))
			owner, z, c := r.trace(x, y)
			r.owner[i], r.depth[i], r.light[i] = int16(owner), float32(z), c
		}
	}
	r.smoothEdges(cam)
	if s.Blur > 0 {
		r.blur(cam.Width, cam.Height, s.Blur)
	}
	return r.expose(cam, s)
}

// seen is a board in the camera's frame: the ray (x, y, 1)·z meets its plane where
// z = distance/(normal·ray), at the coordinates across·p - across0 and up·p - up0.
type seen struct {
	board                  *Board
	normal, across, up     pose.Vec3
	distance, across0, up0 float64
}

func (r *Renderer) look(boards []Board, cameraFromWorld pose.Pose) {
	r.boards = r.boards[:0]
	for i := range boards {
		p := cameraFromWorld.Mul(boards[i].Pose)
		b := seen{board: &boards[i], across: p.R.Rotate(pose.Vec3{X: 1}), up: p.R.Rotate(pose.Vec3{Y: 1})}
		b.normal = p.R.Rotate(pose.Vec3{Z: 1})
		b.distance, b.across0, b.up0 = b.normal.Dot(p.T), b.across.Dot(p.T), b.up.Dot(p.T)
		if b.distance < 0 { // its front is towards the camera
			r.boards = append(r.boards, b)
		}
	}
}

// trace follows the ray (x, y, 1) to the nearest board.
func (r *Renderer) trace(x, y float64) (owner int, z float64, c Colour) {
	owner, z = -1, math.Inf(1)
	var hitX, hitY float64
	for i := range r.boards {
		b := &r.boards[i]
		along := b.normal.X*x + b.normal.Y*y + b.normal.Z
		if along >= 0 {
			continue
		}
		at := b.distance / along
		if at >= z {
			continue
		}
		px := at*(b.across.X*x+b.across.Y*y+b.across.Z) - b.across0
		py := at*(b.up.X*x+b.up.Y*y+b.up.Z) - b.up0
		if 2*math.Abs(px) <= b.board.Width && 2*math.Abs(py) <= b.board.Height {
			owner, z, hitX, hitY = i, at, px, py
		}
	}
	if owner < 0 {
		return -1, 0, r.Background
	}
	return owner, z, r.boards[owner].board.Paint(hitX, hitY)
}

// smoothEdges looks with more rays at pixels that differ from a neighbour.
func (r *Renderer) smoothEdges(cam *camera.Camera) {
	w, h := cam.Width, cam.Height
	copy(r.blurred, r.light) // neighbours as they were
	differ := func(i, j int) bool {
		return r.owner[i] != r.owner[j] || r.blurred[i] != r.blurred[j] && difference(r.blurred[i], r.blurred[j]) > contrast
	}
	for v := range h {
		for u := range w {
			i := v*w + u
			if u > 0 && differ(i, i-1) || u < w-1 && differ(i, i+1) || v > 0 && differ(i, i-w) || v < h-1 && differ(i, i+w) {
				r.light[i] = r.average(cam, float64(u), float64(v))
			}
		}
	}
}

// average returns the mean colour in a pixel, by the points of a Hammersley set.
func (r *Renderer) average(cam *camera.Camera, u, v float64) (sum Colour) {
	for k := range samples {
		x, y := cam.Ray(u-0.5+(float64(k)+0.5)/samples, v-0.5+vanDerCorput(k))
		_, _, c := r.trace(x, y)
		for i := range sum {
			sum[i] += c[i] / samples
		}
	}
	return sum
}

// vanDerCorput returns the bits of k after the point, in reverse, and the centre of that
// interval of 1/samples.
func vanDerCorput(k int) float64 {
	x, half := 0.5/samples, 0.5
	for ; k > 0; k >>= 1 {
		x += half * float64(k&1)
		half /= 2
	}
	return x
}

func difference(a, b Colour) float32 {
	var most float32
	for i := range a {
		most = max(most, a[i]-b[i], b[i]-a[i])
	}
	return most
}

// blur convolves the light with a Gaussian, along rows and then along columns.
func (r *Renderer) blur(w, h int, sigma float64) {
	reach := int(math.Ceil(3 * sigma))
	kernel := make([]float32, 2*reach+1)
	var sum float32
	for i := range kernel {
		d := float64(i-reach) / sigma
		kernel[i] = float32(math.Exp(-d * d / 2))
		sum += kernel[i]
	}
	for i := range kernel {
		kernel[i] /= sum
	}
	for y := range h {
		row := y * w
		for x := range w {
			r.blurred[row+x] = weighted(r.light, kernel, row, x, w, 1)
		}
	}
	for y := range h {
		for x := range w {
			r.light[y*w+x] = weighted(r.blurred, kernel, x, y, h, w)
		}
	}
}

// weighted returns the mean around element i of a line of pixels that begins at start, n of
// them step apart. The first and the last go on beyond the ends.
func weighted(pixels []Colour, kernel []float32, start, i, n, step int) (sum Colour) {
	reach := len(kernel) / 2
	if i >= reach && i < n-reach {
		at := start + (i-reach)*step
		for _, weight := range kernel {
			c := &pixels[at]
			sum[0] += weight * c[0]
			sum[1] += weight * c[1]
			sum[2] += weight * c[2]
			at += step
		}
		return sum
	}
	for k, weight := range kernel {
		c := &pixels[start+min(max(i+k-reach, 0), n-1)*step]
		sum[0] += weight * c[0]
		sum[1] += weight * c[1]
		sum[2] += weight * c[2]
	}
	return sum
}

// expose turns light and distances into the sensor's numbers.
func (r *Renderer) expose(cam *camera.Camera, s Sensor) *Image {
	random := rand.New(rand.NewPCG(s.Seed, 0))
	img := &Image{cam.Width, cam.Height, make([]byte, 3*len(r.light)), make([]float32, len(r.light))}
	toCorner2 := float64(cam.Width*cam.Width+cam.Height*cam.Height) / 4
	for i, light := range r.light {
		gain := float32(1)
		if s.Vignetting > 0 {
			x, y := float64(i%cam.Width)-cam.Cx, float64(i/cam.Width)-cam.Cy
			gain = float32(1 - s.Vignetting*(x*x+y*y)/toCorner2)
		}
		for k, x := range light {
			x *= gain
			if s.Noise > 0 {
				x += float32(s.Noise * random.NormFloat64())
			}
			img.RGB[3*i+k] = byte(min(max(x+0.5, 0), 255))
		}
		z := float64(r.depth[i])
		if s.DepthNoise > 0 {
			z += s.DepthNoise * z * z * random.NormFloat64()
		}
		if s.DepthMissing == 0 || random.Float64() >= s.DepthMissing {
			img.Depth[i] = float32(max(z, 0))
		}
	}
	return img
}
