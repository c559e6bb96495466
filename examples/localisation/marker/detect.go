package marker

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// Detection is a marker that was found.
type Detection struct {
	Family *Family
	ID     int
	// Corners in the image, pixels: top left, top right, bottom right and bottom left of
	// the marker as it is printed.
	Corners [4][2]float64
	// Pose of the marker in the camera's frame.
	Pose pose.Pose
	// Covariance of the pose, in package pose's convention: a perturbation in the
	// marker's axes. Cov.ROS gives the matrix of messages.
	Covariance pose.Cov
	// A flat thing looks nearly the same at two poses. Other is the second one and
	// OtherProbability how likely it is the true one: next to 0 if the image tells, at
	// most 0.5.
	Other            pose.Pose
	OtherCovariance  pose.Cov
	OtherProbability float64

	Size   float64 // m, of the marker's side
	Wrong  int     // cells that were read wrong, and corrected
	Margin float64 // how clearly black and white were told, 0 to 1
	RMS    float64 // of the marker's edges from where the pose puts them, pixels
}

// Confidence says how sure it is that there is such a marker, from 0 to 1.
func (d *Detection) Confidence() float64 {
	return min(d.Margin, 1) / (1 + 0.5*float64(d.Wrong)) / (1 + d.RMS*d.RMS)
}

// Cut is something dark at the border of the image that may be a part of a marker.
type Cut struct {
	Border string     // "left", "right", "top" or "bottom"
	X, Y   float64    // middle of what is seen, pixels
	Bounds [4]float64 // x and y of the least and the greatest corner, pixels
}

// Err returns what to tell of it: an OutOfRange error.
func (c Cut) Err() error {
	return engram.Errorf(engram.OutOfRange, "image", "what may be a marker near (%.0f, %.0f) is cut by the image's %s border; turn the camera until all of it is seen", c.X, c.Y, c.Border)
}

// Detector finds markers. It may be used by several goroutines.
type Detector struct {
	Camera   Camera
	Families []*Family // that are looked for
	// Size returns the side of a marker with its black border, m; ok false if it is not
	// looked for.
	Size func(f *Family, id int) (size float64, ok bool)
}

// Detect finds the markers of one family and size in an image of a camera. A marker that
// the image's border cuts is not found; if one seems to be and none is found whole, the
// error is OutOfRange. An image that is not of the camera's size, or no camera, is Invalid.
func Detect(img image.Image, c Camera, f *Family, size float64) ([]Detection, error) {
	d := Detector{Camera: c, Families: []*Family{f}, Size: func(*Family, int) (float64, bool) { return size, true }}
	if !(size > 0) || math.IsInf(size, 0) {
		return nil, engram.Errorf(engram.Invalid, "marker", "a side of %g m: it must be positive", size)
	}
	found, cut, err := d.Detect(img)
	if err == nil && len(found) == 0 && len(cut) > 0 {
		err = cut[0].Err()
	}
	return found, err
}

// Detect finds markers in an image, in order of family and ID, and what may be cut ones.
// An image that is not of the camera's size, or no camera, is Invalid.
func (d *Detector) Detect(img image.Image) (found []Detection, cut []Cut, err error) {
	if err := d.Camera.Check(); err != nil {
		return nil, nil, err
	}
	if b := img.Bounds(); b.Dx() != d.Camera.Width || b.Dy() != d.Camera.Height {
		return nil, nil, engram.Errorf(engram.Invalid, "image", "%d x %d pixels from a camera of %d x %d", b.Dx(), b.Dy(), d.Camera.Width, d.Camera.Height)
	}
	grey := Grey(img)
	w, h := grey.Rect.Dx(), grey.Rect.Dy()
	s := &sampler{grey, &d.Camera}
	t := newThresholds(grey)
	pixels := make([]uint8, w*h)
	var points []vec2
	for pass, threshold := range []func(low, high uint8) uint8{middle, middleInShadow} {
		t.binary(pixels, threshold)
		outlines(pixels, w, h, func(outline []point, isCut bool) {
			x0, y0, x1, y1 := bounds(outline)
			if max(x1-x0, y1-y0) < leastSide || min(x1-x0, y1-y0) < leastSide/2 {
				return
			}
			points = points[:0]
			for _, p := range outline {
				x, y := d.Camera.Undistort(float64(p.x)-0.5, float64(p.y)-0.5)
				points = append(points, vec2{x, y})
			}
			if isCut {
				if pass == 0 {
					if c, ok := s.cutOf(points, x0, y0, x1, y1); ok {
						cut = append(cut, c)
					}
				}
				return
			}
			q, ok := quadOf(points)
			if !ok || slices.ContainsFunc(found, func(f Detection) bool { return f.at((x0+x1)/2, (y0+y1)/2, (x1-x0+y1-y0)/4) }) {
				return
			}
			if q, ok = s.refine(q); !ok {
				return
			}
			if one, ok := d.identify(s, q, t.noise); ok {
				found = append(found, one)
			}
		})
	}
	slices.SortFunc(found, func(a, b Detection) int {
		return cmp.Or(cmp.Compare(a.Family.name, b.Family.name), cmp.Compare(a.ID, b.ID), cmp.Compare(b.Margin, a.Margin))
	})
	return found, cut, nil
}

// at reports whether the marker's middle is near a place of the image.
func (d *Detection) at(x, y, near float64) bool {
	a, b := d.Corners[0], d.Corners[2]
	return math.Hypot((a[0]+b[0])/2-x, (a[1]+b[1])/2-y) < near/2
}

func bounds(outline []point) (x0, y0, x1, y1 float64) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range outline {
		x0, y0 = min(x0, float64(p.x)), min(y0, float64(p.y))
		x1, y1 = max(x1, float64(p.x)), max(y1, float64(p.y))
	}
	return x0, y0, x1, y1
}

// wellEnough is the standard deviation of a marker's place, in metres, up to which the fit of its
// edges is not improved upon.
const wellEnough = 0.0015

// identify reads a quad and finds its pose.
func (d *Detector) identify(s *sampler, q quad, noise float64) (Detection, bool) {
	for _, f := range d.Families {
		r, ok := s.read(f, q, noise)
		if !ok {
			continue
		}
		size, wanted := d.Size(f, r.id)
		if !wanted || !(size > 0) {
			continue
		}
		// Corner 0 is the marker's upper left one.
		var turned quad
		for i := range turned {
			turned[i] = q[(i+r.turns)%4]
		}
		best, other, ok := s.solve(turned, f.borders(r.id), f.Cells(), size)
		if !ok {
			continue
		}
		// Where edges say it well enough, grey levels cost more than they bring.
		if m := best.cov.Matrix(); m[0][0]+m[1][1]+m[2][2] > wellEnough*wellEnough {
			if fine, ok := s.fitGrey(best.pose, f, r.id, size); ok {
				best.pose, best.cov = fine.pose, fine.cov
			}
		}
		one := Detection{
			Family: f, ID: r.id, Pose: best.pose, Covariance: best.cov, Other: other.pose, OtherCovariance: other.cov,
			Size: size, Wrong: r.wrong, Margin: r.margin, RMS: best.rms,
		}
		if other.sum > 0 {
			// Residuals are not all noise, so that they tell less than their number says.
			sigma := max(best.rms, 2*cornerError)
			one.OtherProbability = 1 / (1 + math.Exp(min((other.cost/other.sum-best.cost/best.sum)*best.sum/(8*sigma*sigma), 60)))
		}
		for i, m := range modelCorners {
			x, y, _ := d.Camera.Project(best.pose.Apply(m.Scale(size)))
			one.Corners[i] = [2]float64{x, y}
		}
		return one, true
	}
	return Detection{}, false
}

// solve returns the pose of a marker and the other one at which it looks nearly so; the
// other has no weight if there is none.
func (s *sampler) solve(q quad, borders []border, cells int, size float64) (best, other fit, ok bool) {
	start, ok := startFrom(s.lens, q, size)
	if !ok {
		return best, other, false
	}
	var fits []fit
	for range 2 {
		p, ok := fitCorners(s.lens, start, q, size)
		if ok {
			if f, ok := s.fitEdges(p, borders, cells, size); ok {
				fits = append(fits, f)
			}
			start = p
		}
		start = mirrored(start)
	}
	if len(fits) == 0 {
		return best, other, false
	}
	if len(fits) == 2 && fits[1].cost/fits[1].sum < fits[0].cost/fits[0].sum {
		fits[0], fits[1] = fits[1], fits[0]
	}
	best = fits[0]
	// Edges that lie off by more than blur and noise can make them are of something else.
	if best.rms > 1 {
		return best, other, false
	}
	if len(fits) == 2 {
		if _, angle := fits[0].pose.Distance(fits[1].pose); angle > 0.01 {
			other = fits[1]
		}
	}
	return best, other, true
}

// cutOf tells whether an outline that ends at the image's border may be part of a marker:
// its hull has straight sides of its own, dark within and bright without, and there are
// bright cells in it. The border itself opens the outline, so that it is no quad.
func (s *sampler) cutOf(outline []vec2, x0, y0, x1, y1 float64) (Cut, bool) {
	w, h := float64(s.img.Rect.Dx()), float64(s.img.Rect.Dy())
	if min(x1-x0, y1-y0) < leastSide {
		return Cut{}, false
	}
	hull := hullOf(outline)
	if len(hull) < 3 {
		return Cut{}, false
	}
	v := corners(hull)
	if len(v) < 3 || len(v) > 6 {
		return Cut{}, false
	}
	middle := vec2{}
	for _, i := range v {
		middle = middle.add(hull[i].scale(1 / float64(len(v))))
	}
	var inside, outside []float64
	good, own := 0, 0
	for i := range v {
		a, b := hull[v[i]], hull[v[(i+1)%len(v)]]
		along := b.sub(a)
		length := along.norm()
		if length < 4 {
			continue
		}
		n := vec2{along.y / length, -along.x / length}
		for k := 3.0; k < length-3; k++ {
			p := a.add(along.scale(k / length))
			in, ok1 := s.at(p.sub(n.scale(2.5)))
			out, ok2 := s.at(p.add(n.scale(2.5)))
			if !ok1 || !ok2 {
				continue // the image's border
			}
			own++
			inside, outside = append(inside, in), append(outside, out)
			if out > 1.35*in+8 {
				good++
			}
		}
	}
	if float64(own) < 1.5*leastSide || good*10 < 8*own {
		return Cut{}, false
	}
	black, white := median(inside), median(outside)
	bright, all := 0, 0
	for y := y0 + 1; y < y1; y += 2 {
		for x := x0 + 1; x < x1; x += 2 {
			p := vec2{x, y}
			within := true
			for i := range v {
				a, b := hull[v[i]], hull[v[(i+1)%len(v)]]
				if b.sub(a).cross(p.sub(a)) < 0 {
					within = false
					break
				}
			}
			if g, ok := s.at(p); within && ok {
				all++
				if 2*g > black+white {
					bright++
				}
			}
		}
	}
	if bright*10 < all || bright*10 > 7*all {
		return Cut{}, false
	}
	c := Cut{X: middle.x, Y: middle.y, Bounds: [4]float64{x0, y0, x1, y1}}
	switch {
	case x0 == 0:
		c.Border = "left"
	case x1 == w:
		c.Border = "right"
	case y0 == 0:
		c.Border = "top"
	case y1 == h:
		c.Border = "bottom"
	}
	return c, true
}

// hullOf returns the convex hull of points, clockwise as it is seen (Andrew's monotone
// chain).
func hullOf(points []vec2) []vec2 {
	p := slices.Clone(points)
	slices.SortFunc(p, func(a, b vec2) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	var hull []vec2
	for range 2 { // one side, then the other one backwards
		first := len(hull)
		for _, q := range p {
			for len(hull) >= first+2 && hull[len(hull)-1].sub(hull[len(hull)-2]).cross(q.sub(hull[len(hull)-2])) <= 0 {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, q)
		}
		hull = hull[:len(hull)-1]
		slices.Reverse(p)
	}
	return hull
}
