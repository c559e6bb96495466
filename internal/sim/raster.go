package sim

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// raster fills convex polygons into an RGB image with a depth buffer.
type raster struct {
	width, height int
	focal         float64   // pixels
	cx, cy        float64   // principal point; pixel (i, j) has its centre at (i, j)
	depth         []float32 // 1/z per pixel; 0 is infinitely far
	pix           []byte    // rgb8 without padding, being painted
	view          pose.Pose // world to camera
	eye           vec3      // the camera's place in the world
	points        []vec3    // scratch: a polygon in camera coordinates, clipped
	edges         []edge    // scratch
}

// nearPlane is the nearest that is drawn, metres.
const nearPlane = 0.05

// texture is a square pattern that repeats in both directions of a plane.
type texture struct {
	texels   *[textureSize * textureSize]colour
	perMetre float64 // texels
	s, t     vec3    // world directions in which the columns and the rows count up
}

const (
	textureBits = 8
	textureSize = 1 << textureBits
)

// edge is one side of a projected polygon, from top to bottom.
type edge struct {
	y0, y1 float64
	X0, dx float64 // x where y = y0, and its change per row
}

// begin starts a new image seen from a camera in the world.
func (r *raster) begin(camera pose.Pose, pix []byte) {
	r.view, r.eye, r.pix = camera.Inverse(), camera.T, pix
	clear(r.depth)
}

// fill paints a convex polygon of the world in one colour, or with a texture if
// tex is not nil. It is drawn whichever side it shows.
func (r *raster) fill(polygon []vec3, c colour, tex *texture) {
	if !r.clip(polygon) {
		return
	}
	// The polygon's plane n·p = d gives 1/z = n·ray/d, which is affine in the image.
	p0 := r.view.Apply(polygon[0])
	n := r.view.Apply(polygon[1]).Sub(p0).Cross(r.view.Apply(polygon[2]).Sub(p0))
	d := n.Dot(p0)
	if math.Abs(d) < 1e-12 {
		return // seen exactly from its edge
	}
	iz := r.overImage(n.Scale(1 / d))
	var s, t affine
	if tex != nil {
		s, t = r.textureCoordinate(tex.s, tex.perMetre, iz), r.textureCoordinate(tex.t, tex.perMetre, iz)
	}
	top, bottom := r.project()
	for y := max(int(math.Ceil(top)), 0); y < r.height && float64(y) < bottom; y++ {
		x0, x1 := r.span(float64(y))
		if x0 >= x1 {
			continue
		}
		at := y*r.width + x0
		depth, pix := r.depth[at:at+x1-x0], r.pix[3*at:3*(at+x1-x0)]
		fx, fy := float64(x0), float64(y)
		if tex == nil {
			flatSpan(depth, pix, c, float32(iz.at(fx, fy)), float32(iz.dx))
		} else {
			texturedSpan(depth, pix, tex, iz.from(fx, fy), s.from(fx, fy), t.from(fx, fy))
		}
	}
}

// affine is a function of the image's coordinates: c + dx*x + dy*y.
type affine struct{ c, dx, dy float64 }

func (a affine) at(x, y float64) float64  { return a.c + a.dx*x + a.dy*y }
func (a affine) from(x, y float64) affine { a.c = a.at(x, y); return a }
func (a affine) plus(b affine, f float64) affine {
	return affine{a.c + f*b.c, a.dx + f*b.dx, a.dy + f*b.dy}
}

// overImage returns v·ray over the image, where ray is a pixel's ray of depth 1.
func (r *raster) overImage(v vec3) affine {
	dx, dy := v.X/r.focal, v.Y/r.focal
	return affine{v.Z - dx*r.cx - dy*r.cy, dx, dy}
}

// textureCoordinate returns a texture coordinate divided by z: with the world's
// point eye + z*R*ray, u·point/z = (Rᵀu)·ray + u·eye/z.
func (r *raster) textureCoordinate(u vec3, scale float64, iz affine) affine {
	u = u.Scale(scale)
	return r.overImage(r.view.R.Rotate(u)).plus(iz, u.Dot(r.eye))
}

// clip brings a polygon into camera coordinates, into r.points, and cuts off what
// lies before the near plane; it reports whether something is left.
func (r *raster) clip(polygon []vec3) bool {
	r.points = r.points[:0]
	prev := r.view.Apply(polygon[len(polygon)-1])
	for _, w := range polygon {
		p := r.view.Apply(w)
		if (p.Z > nearPlane) != (prev.Z > nearPlane) {
			f := (nearPlane - prev.Z) / (p.Z - prev.Z)
			r.points = append(r.points, prev.Add(p.Sub(prev).Scale(f)))
		}
		if p.Z > nearPlane {
			r.points = append(r.points, p)
		}
		prev = p
	}
	return len(r.points) >= 3
}

// project makes r.edges from r.points and returns the first and the last y.
func (r *raster) project() (top, bottom float64) {
	r.edges = r.edges[:0]
	top, bottom = math.Inf(1), math.Inf(-1)
	for i, p := range r.points {
		x, y := r.focal*p.X/p.Z+r.cx, r.focal*p.Y/p.Z+r.cy
		r.points[i] = xyz(x, y, 0)
		top, bottom = min(top, y), max(bottom, y)
	}
	prev := r.points[len(r.points)-1]
	for _, p := range r.points {
		a, b := prev, p
		if a.Y > b.Y {
			a, b = b, a
		}
		if a.Y < b.Y {
			r.edges = append(r.edges, edge{a.Y, b.Y, a.X, (b.X - a.X) / (b.Y - a.Y)})
		}
		prev = p
	}
	return top, bottom
}

// span returns the pixels [x0, x1) of row y whose centres lie in the polygon.
func (r *raster) span(y float64) (x0, x1 int) {
	lo, hi := float64(r.width), 0.0
	for i := range r.edges {
		e := &r.edges[i]
		if e.y0 <= y && y < e.y1 {
			x := e.X0 + (y-e.y0)*e.dx
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return int(math.Ceil(max(lo, 0))), min(int(math.Ceil(hi)), r.width)
}

func flatSpan(depth []float32, pix []byte, c colour, iz, step float32) {
	pix = pix[:3*len(depth)]
	for i := range depth {
		if iz > depth[i] {
			depth[i] = iz
			p := pix[3*i : 3*i+3 : 3*i+3]
			p[0], p[1], p[2] = c[0], c[1], c[2]
		}
		iz += step
	}
}

// texturedSpan divides by the depth once in sixteen pixels and lets the texture's
// coordinates run straight between; the error is far below a texel.
func texturedSpan(depth []float32, pix []byte, tex *texture, iz, s, t affine) {
	const run = 16
	texels := tex.texels
	w := 1 / iz.c
	u, v := fixed(s.c*w), fixed(t.c*w)
	for len(depth) > 0 {
		n := min(run, len(depth))
		izHere := float32(iz.c)
		f := float64(n)
		iz.c, s.c, t.c = iz.c+f*iz.dx, s.c+f*s.dx, t.c+f*t.dx
		w = 1 / iz.c
		u1, v1 := fixed(s.c*w), fixed(t.c*w)
		du, dv := (u1-u)/int64(n), (v1-v)/int64(n)
		step := float32(iz.dx)
		for i := range depth[:n] {
			if izHere > depth[i] {
				depth[i] = izHere
				c := &texels[uint(v>>16)&(textureSize-1)<<textureBits|uint(u>>16)&(textureSize-1)]
				p := pix[3*i : 3*i+3 : 3*i+3]
				p[0], p[1], p[2] = c[0], c[1], c[2]
			}
			izHere += step
			u, v = u+du, v+dv
		}
		u, v = u1, v1
		depth, pix = depth[n:], pix[3*n:]
	}
}

// fixed converts a texture coordinate to 48.16 fixed point.
func fixed(x float64) int64 { return int64(x * 65536) }
