package depth

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Options are what is looked for. The zero Options are usable.
type Options struct {
	// Up is a direction in the camera's frame. The plane's normal is within 15° of it. Zero
	// means that the largest plane counts, which may be a wall.
	Up pose.Vec3
	// MinHeight is how far above the plane things begin to count; 0 means 15 mm.
	MinHeight float64
	// MaxSize is the longest edge of a box; 0 means 0.5 m. What is larger is no box.
	MaxSize float64
	// Classes are the boxes whose names are known.
	Classes []Class
	// Tolerance is by how much an edge may differ from that of a class; 0 means 10 mm.
	Tolerance float64
}

// Scene is what is seen.
type Scene struct {
	Plane Plane
	Boxes []Box // the one with the most points first
}

// Box is a box on the plane.
type Box struct {
	Pose   pose.Pose // cameraFromBox
	Cov    pose.Cov
	Size   pose.Vec3 // length and width on the plane, and height
	Points int       // of its upper face
	// Matches are the classes that it may be, the best first.
	Matches []Match
}

// tilt is how far a plane's normal may be from up.
const tilt = 15 * math.Pi / 180

// fewest is how many points the upper face of a box has at least.
const fewest = 60

// narrowest is how wide the upper face of a box is at least, metres.
const narrowest = 0.01

// Find returns the plane that is seen and the boxes on it. The errors are Invalid for an
// image that does not fit the camera or has no depth at all, and NotFound without a plane.
func Find(img *Image, cam *camera.Camera, opts Options) (*Scene, error) {
	if err := cmp.Or(img.check(), cam.Check()); err != nil {
		return nil, err
	}
	if img.Width != cam.Width || img.Height != cam.Height {
		return nil, engram.Errorf(engram.Invalid, "depth", "the image has %d × %d pixels and the camera %d × %d; give the intrinsics of the depth image", img.Width, img.Height, cam.Width, cam.Height)
	}
	opts.MinHeight = cmp.Or(opts.MinHeight, 0.015)
	opts.MaxSize = cmp.Or(opts.MaxSize, 0.5)
	opts.Tolerance = cmp.Or(opts.Tolerance, 0.01)
	c := newCloud(img, cam)
	if c.valid == 0 {
		return nil, engram.Errorf(engram.Invalid, "depth", "none of the %d pixels has a depth; look at the sensor, or use markers", len(img.Z))
	}
	plane, err := findPlane(c, opts.Up, tilt)
	if err != nil {
		return nil, err
	}
	scene := &Scene{Plane: plane}
	for _, cluster := range c.clusters(&plane, &opts) {
		if box, ok := fitBox(cluster, &plane, &opts); ok {
			box.Matches = matches(&box, &opts)
			scene.Boxes = append(scene.Boxes, box)
		}
	}
	slices.SortStableFunc(scene.Boxes, func(a, b Box) int { return b.Points - a.Points })
	return scene, nil
}

// gap is how far apart neighbours in the image may be to belong together, metres.
const gap = 0.025

// clusters returns what stands on the plane: the points above it that hang together in the
// image and in space. What the image's edge cuts is left out.
func (c *cloud) clusters(plane *Plane, opts *Options) (found [][]pose.Vec3) {
	above := make([]bool, len(c.points))
	for i, p := range c.points {
		h := plane.height(p)
		above[i] = p.Z > 0 && h > opts.MinHeight && h < 2*opts.MaxSize
	}
	var queue []int
	for start := range above {
		if !above[start] {
			continue
		}
		above[start] = false
		queue = append(queue[:0], start)
		cut := false
		for next := 0; next < len(queue); next++ {
			i := queue[next]
			for _, step := range [4][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
				column, row := i%c.width+step[0], i/c.width+step[1]
				if column < 0 || row < 0 || column == c.width || row == c.height {
					cut = true
					continue
				}
				if j := row*c.width + column; above[j] && c.points[i].Sub(c.points[j]).Norm() < gap {
					above[j] = false
					queue = append(queue, j)
				}
			}
		}
		if cut || len(queue) < fewest {
			continue
		}
		cluster := make([]pose.Vec3, len(queue))
		for k, i := range queue {
			cluster[k] = c.points[i]
		}
		found = append(found, cluster)
	}
	return found
}

// fitBox fits a box to a cluster by its upper face.
func fitBox(cluster []pose.Vec3, plane *Plane, opts *Options) (Box, bool) {
	height, sigma, spots := upperFace(cluster, plane)
	if len(spots) < fewest {
		return Box{}, false
	}
	r := fitRectangle(spots)
	if max(r.length, height) > opts.MaxSize || r.width < narrowest || !filled(spots, &r) {
		return Box{}, false // too large, or seen only from its side, or not rectangular
	}
	across, up := plane.axes()
	sin, cos := math.Sincos(r.angle)
	x := across.Scale(cos).Add(up.Scale(sin))
	centre := across.Scale(r.centre.x).Add(up.Scale(r.centre.y)).Add(plane.Normal.Scale(plane.Distance + height/2))
	return Box{
		Pose:   pose.Pose{T: centre, R: camera.Rotation(x, plane.Normal.Cross(x))},
		Size:   pose.Vec3{X: r.length, Y: r.width, Z: height},
		Points: len(spots),
		Cov:    uncertainty(&r, plane, sigma, len(spots)),
	}, true
}

// upperFace returns the height of a cluster's upper face above the plane, the standard
// deviation of its points, and where these are on the plane.
func upperFace(cluster []pose.Vec3, plane *Plane) (height, sigma float64, spots []spot) {
	heights := make([]float64, len(cluster))
	for i, p := range cluster {
		heights[i] = plane.height(p)
	}
	sorted := slices.Clone(heights)
	slices.Sort(sorted)
	thickness := 3*plane.Sigma + 0.001
	top := densest(sorted, 2*thickness)
	across, up := plane.axes()
	var sum, squares float64
	for i, p := range cluster {
		if h := heights[i]; math.Abs(h-top) <= thickness {
			sum, squares = sum+h-top, squares+(h-top)*(h-top)
			spots = append(spots, spot{p.Dot(across), p.Dot(up)})
		}
	}
	n := float64(len(spots))
	return top + sum/n, math.Sqrt(squares / n), spots
}

// densest returns the middle of the interval of a width that has the most of sorted values.
func densest(sorted []float64, width float64) (middle float64) {
	most, end := 0, 0
	for i, from := range sorted {
		for end < len(sorted) && sorted[end] <= from+width {
			end++
		}
		if end-i > most {
			most, middle = end-i, (from+sorted[end-1])/2
		}
	}
	return middle
}

// filled reports whether the points of a face lie in the rectangle, nearly all, and are
// spread over it: a disc has only 0.79 of its area.
func filled(spots []spot, r *rectangle) bool {
	sin, cos := math.Sincos(r.angle)
	const n = 10
	var seen [n * n]bool
	cells, out := 0, 0
	for _, p := range spots {
		dx, dy := p.x-r.centre.x, p.y-r.centre.y
		i := int(math.Floor(((cos*dx+sin*dy)/r.length + 0.5) * n))
		j := int(math.Floor(((cos*dy-sin*dx)/r.width + 0.5) * n))
		switch {
		case i < 0 || j < 0 || i >= n || j >= n:
			out++
		case !seen[j*n+i]:
			seen[j*n+i] = true
			cells++
		}
	}
	return 100*cells >= 85*n*n && 20*out <= len(spots)
}

// uncertainty returns the covariance of a box whose n points have the standard deviation
// sigma: what follows from the points that decide on each edge, and what no sensor is
// better than, 1 mm and 0.3°.
func uncertainty(r *rectangle, plane *Plane, sigma float64, n int) pose.Cov {
	const floor, floorTurn = 0.001, 0.3 * math.Pi / 180
	spacing := r.length * r.width / float64(n) // the area of a point
	point := sigma*sigma + spacing/12
	edge := point / float64(binsOf(r.width, math.Sqrt(spacing)))
	level := plane.Sigma * plane.Sigma / float64(plane.Points)
	var m [6][6]float64
	m[0][0], m[1][1] = edge+floor*floor, edge+floor*floor
	m[2][2] = (sigma*sigma/float64(n)+level)/4 + floor*floor
	m[3][3], m[4][4] = floorTurn*floorTurn, floorTurn*floorTurn
	m[5][5] = 12*edge/(r.length*r.length) + floorTurn*floorTurn
	cov, _ := pose.NewCov(&m) // diagonal and positive
	return cov
}
