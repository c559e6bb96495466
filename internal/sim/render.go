package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
)

// renderer paints what a camera of the robot sees. It is not safe for concurrent
// use; it holds one image's depth buffer.
type renderer struct {
	raster
	tex           *textures
	hull, corners []vec3 // scratch
}

// newRenderer returns a renderer of images of that size with the field of view of
// a common RGB-D camera, 62.7° wide at 4:3.
func newRenderer(width, height int) *renderer {
	return &renderer{
		raster: raster{
			width: width, height: height,
			focal: focalLength(width),
			cx:    float64(width-1) / 2, cy: float64(height-1) / 2,
			depth: make([]float32, width*height),
		},
		tex: roomTextures(),
	}
}

// focalLength is 525 pixels for an image of 640.
func focalLength(width int) float64 { return float64(width) * 525 / 640 }

// sun is the direction to the light.
var sun = unit(xyz(-0.35, 0.45, 0.95))

func shade(normal vec3) float64 { return 0.46 + 0.62*max(normal.Dot(sun), 0) }

// render paints the world as a camera sees it into pix, width*height pixels of
// rgb8. What is near is painted first, so that most of what it hides is skipped.
func (r *renderer) render(s *state, side int, pix []byte) {
	r.begin(s.camera(side), pix)
	r.arms(s)
	for i := range objects {
		r.object(&objects[i], s.objects[i])
	}
	r.table(s)
	r.room()
}

func (r *renderer) room() {
	const y, back, ceiling = 6.0, -3.0, 4.0
	// Skirting board and a picture stand a little before the wall.
	r.wallRect(wallX-0.01, -y, y, 0, 0.10, colour{120, 105, 90})
	r.wallRect(wallX-0.02, 0.45, 1.55, 1.30, 2.10, colour{70, 55, 45})
	r.wallRect(wallX-0.03, 0.50, 1.50, 1.35, 2.05, colour{120, 165, 190})
	r.wallRect(wallX-0.04, 0.50, 1.50, 1.35, 1.60, colour{90, 130, 80})
	r.fill([]vec3{xyz(back, -y, 0), xyz(wallX, -y, 0), xyz(wallX, y, 0), xyz(back, y, 0)}, colour{}, &r.tex.floor)
	r.fill([]vec3{xyz(wallX, -y, 0), xyz(wallX, y, 0), xyz(wallX, y, ceiling), xyz(wallX, -y, ceiling)}, colour{}, &r.tex.wall)
}

func (r *renderer) wallRect(x, y0, y1, z0, z1 float64, c colour) {
	r.fill([]vec3{xyz(x, y0, z0), xyz(x, y1, z0), xyz(x, y1, z1), xyz(x, y0, z1)}, c, nil)
}

func (r *renderer) table(s *state) {
	const x0, x1 = tableX - tableDepth/2, tableX + tableDepth/2
	const y0, y1 = tableY - tableWidth/2, tableY + tableWidth/2
	for i := range objects {
		r.shadow(&objects[i], s.objects[i])
	}
	r.fill([]vec3{xyz(x0, y0, tableZ), xyz(x1, y0, tableZ), xyz(x1, y1, tableZ), xyz(x0, y1, tableZ)}, colour{}, &r.tex.wood)
	wood := colour{150, 102, 60}
	// Half a millimetre lower than the textured top, which stays visible.
	r.box(pose.Translation(tableX, tableY, tableZ-tableThickness/2-0.0005), xyz(tableDepth, tableWidth, tableThickness), wood)
	const leg, height = 0.06, tableZ - tableThickness
	for _, x := range []float64{x0 + leg, x1 - leg} {
		for _, y := range []float64{y0 + leg, y1 - leg} {
			r.box(pose.Translation(x, y, height/2), xyz(leg, leg, height), wood)
		}
	}
}

func (r *renderer) object(o *object, p pose.Pose) {
	switch o.shape {
	case boxShape:
		r.box(p, o.size, o.colour)
		// A label on the largest faces.
		label := o.size.Scale(0.62)
		label.X = o.size.X + 0.001
		r.box(p, label, o.colour.scale(1.5))
	case cylinderShape:
		h, d := o.size.Z, o.size.X
		if h > 2*d { // a bottle: a neck and a cap above the body
			r.cylinder(p, d/2, -h/2, 0.18*h, o.colour, false)
			r.cylinder(p, d/2+0.0005, -0.2*h, 0.05*h, colour{240, 235, 225}, false)
			r.cylinder(p, 0.17*d, 0.18*h, 0.42*h, o.colour, false)
			r.cylinder(p, 0.2*d, 0.42*h, h/2, colour{60, 60, 65}, false)
			return
		}
		r.cylinder(p, d/2, -h/2, h/2, colour{165, 168, 172}, false)
		r.cylinder(p, d/2+0.0005, -0.42*h, 0.42*h, o.colour, false)
	case cupShape:
		h, d := o.size.Z, o.size.X
		r.cylinder(p, d/2, -h/2, h/2, o.colour, true)
		for _, z := range []float64{-0.25 * h, 0.25 * h} { // the handle
			r.box(p.Mul(pose.Translation(0, -d/2-0.012, z)), xyz(0.012, 0.026, 0.012), o.colour)
		}
		r.box(p.Mul(pose.Translation(0, -d/2-0.025, 0)), xyz(0.012, 0.01, 0.62*h), o.colour)
	}
}

// arms paints the robot's own arms and hands, as far as it can see them.
func (r *renderer) arms(s *state) {
	skin, metal := colour{190, 192, 198}, colour{75, 80, 90}
	for side := range sideNames {
		link := func(i int) pose.Pose { return s.base.Mul(s.joints.link(i)) }
		r.box(link(arm(side, 3)).Mul(pose.Translation(0, 0, -0.05)), xyz(0.08, 0.08, 0.24), skin)
		r.box(link(arm(side, 5)).Mul(pose.Translation(0, 0, -0.04)), xyz(0.065, 0.065, 0.2), skin)
		palm := link(hand(side))
		r.box(palm.Mul(pose.Translation(-0.01, 0, -0.055)), xyz(0.03, 0.085, 0.09), metal)
		for i := 1; i < fingerJoints; i++ {
			r.box(link(finger(side, i)).Mul(pose.Translation(0, 0, -0.02)), xyz(0.016, 0.016, 0.04), metal)
		}
	}
}

// box paints a box about a pose's origin.
func (r *renderer) box(p pose.Pose, size vec3, c colour) {
	h := size.Scale(0.5)
	for axis := range 3 {
		for _, sign := range []float64{-1, 1} {
			var n, u, v vec3
			switch axis {
			case 0:
				n, u, v = vec3{X: sign}, vec3{Y: h.Y}, vec3{Z: h.Z}
			case 1:
				n, u, v = vec3{Y: sign}, vec3{X: h.X}, vec3{Z: h.Z}
			default:
				n, u, v = vec3{Z: sign}, vec3{X: h.X}, vec3{Y: h.Y}
			}
			normal := p.R.Rotate(n)
			middle := p.Apply(xyz(n.X*h.X, n.Y*h.Y, n.Z*h.Z))
			if normal.Dot(r.eye.Sub(middle)) <= 0 {
				continue
			}
			u, v = p.R.Rotate(u), p.R.Rotate(v)
			r.corners = append(r.corners[:0], middle.Sub(u).Sub(v), middle.Add(u).Sub(v), middle.Add(u).Add(v), middle.Sub(u).Add(v))
			r.fill(r.corners, c.scale(shade(normal)), nil)
		}
	}
}

// facets is how many flat sides stand for a round one.
const facets = 36

// unitCircle are the corners of those sides.
var unitCircle = func() (c [facets + 1]vec3) {
	for i := range c {
		s, cos := math.Sincos(2 * math.Pi * float64(i) / facets)
		c[i] = xyz(cos, s, 0)
	}
	return c
}()

// cylinder paints a cylinder about the z axis of a pose.Pose from z0 to z1. An open one
// shows its inside and its bottom, a closed one its top.
func (r *renderer) cylinder(p pose.Pose, radius, z0, z1 float64, c colour, open bool) {
	for i := range facets {
		a, b := unitCircle[i], unitCircle[i+1]
		normal := p.R.Rotate(unit(a.Add(b)))
		outside := normal.Dot(r.eye.Sub(p.Apply(a.Scale(radius)))) > 0
		if !outside && !open {
			continue
		}
		brightness := shade(normal)
		if !outside {
			brightness = 0.7 * shade(normal.Scale(-1))
		}
		low, high := vec3{Z: z0}, vec3{Z: z1}
		a, b = a.Scale(radius), b.Scale(radius)
		r.corners = append(r.corners[:0], p.Apply(a.Add(low)), p.Apply(b.Add(low)), p.Apply(b.Add(high)), p.Apply(a.Add(high)))
		r.fill(r.corners, c.scale(brightness), nil)
	}
	end, brightness := z1, 1.0
	if open {
		end, brightness = z0+0.005, 0.5
	}
	r.corners = r.corners[:0]
	for _, a := range unitCircle[:facets] {
		a = a.Scale(radius)
		a.Z = end
		r.corners = append(r.corners, p.Apply(a))
	}
	r.fill(r.corners, c.scale(brightness*shade(p.R.Rotate(vec3{Z: 1}))), nil)
}

// shadow paints the table darker where the object keeps the sun away: the convex
// hull of its corners, moved along the light onto the table and cut at its edges.
func (r *renderer) shadow(o *object, p pose.Pose) {
	h := o.size.Scale(0.5)
	pts := r.hull[:0]
	for _, z := range []float64{-h.Z, h.Z} {
		if o.shape == boxShape {
			for _, c := range [4]vec3{xyz(-h.X, -h.Y, z), xyz(h.X, -h.Y, z), xyz(h.X, h.Y, z), xyz(-h.X, h.Y, z)} {
				pts = append(pts, onto(p.Apply(c)))
			}
			continue
		}
		for i := 0; i < facets; i += 2 {
			c := unitCircle[i].Scale(h.X)
			c.Z = z
			pts = append(pts, onto(p.Apply(c)))
		}
	}
	r.hull = pts
	if hull := convexHull(pts); len(hull) >= 3 {
		r.fill(hull, colour{}, &r.tex.woodShade)
	}
}

// onto moves a point along the light to just above the table, and into its edges.
func onto(v vec3) vec3 {
	const above = 0.0008
	v = v.Sub(sun.Scale((v.Z - tableZ - above) / sun.Z))
	v.X = min(max(v.X, tableX-tableDepth/2), tableX+tableDepth/2)
	v.Y = min(max(v.Y, tableY-tableWidth/2), tableY+tableWidth/2)
	return v
}

// convexHull returns the convex hull of points of one height, counterclockwise
// (Andrew's monotone chain). It sorts the points.
func convexHull(points []vec3) []vec3 {
	slices.SortFunc(points, func(a, b vec3) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	hull := make([]vec3, 0, 2*len(points))
	for range 2 { // the lower side, then the upper one backwards
		first := len(hull)
		for _, p := range points {
			for len(hull) >= first+2 && hull[len(hull)-1].Sub(hull[len(hull)-2]).Cross(p.Sub(hull[len(hull)-2])).Z <= 0 {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, p)
		}
		hull = hull[:len(hull)-1]
		slices.Reverse(points)
	}
	return hull
}
