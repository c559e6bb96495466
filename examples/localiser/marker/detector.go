package marker

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Options are what a detector looks for. The zero Options are usable.
type Options struct {
	Families []*Family // none means AprilTag36h11
	// MinSide is how many pixels a marker's shortest side has at least; 0 means 12. Cells
	// of less than about 3 pixels cannot be read.
	MinSide float64
	// MinContrast is how many levels white is brighter than black; 0 means 25.
	MinContrast int
	// MinMargin is how clearly the cells must be black or white, from 0, grey, to 1; 0
	// means 0.5.
	MinMargin float64
}

// Detector finds markers in images. It reuses its memory, and is not safe for concurrent
// use.
type Detector struct {
	opts    Options
	largest int // cells in a row of the largest family, without border
	binary  binary
	outline []point
	edges   edges
	result  Result
}

// Corner is a corner of a marker in an image, with the covariance of its place.
type Corner struct {
	U, V       float64 // pixels
	UU, UV, VV float64 // square pixels
}

// Detection is a marker in an image.
type Detection struct {
	Family  *Family
	ID      int
	Corners [4]Corner // in the order of the package's documentation
	// Corrected is how many cells were read wrongly.
	Corrected int
	// Margin is how clearly the cells are black or white, from 0, grey, to 1.
	Margin float64
	// Contrast is how many levels white is brighter than black.
	Contrast float64
}

// Reason says why something square is no detection.
type Reason uint8

// The reasons for which something square is rejected.
const (
	Cut         Reason = iota + 1 // the edge of the image goes through it
	Blurred                       // its sides have no clear edges
	Unframed                      // it has no black border with white around it
	UnknownCode                   // no family has its code
	Unclear                       // its cells are not clearly black or white
	Ambiguous                     // several IDs, or turns of one, fit equally
)

var reasons = [...]string{"", "cut by the image's edge", "blurred", "without a black border on white", "of an unknown code", "unclear", "ambiguous"}

// String returns the reason's words, such as "cut by the image's edge".
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "of an unknown reason"
}

// Rejection is something square that is no detection. Most rectangles are no markers, so
// that there are many.
type Rejection struct {
	Bounds image.Rectangle
	Why    Reason
}

// Result is what is found in an image.
type Result struct {
	Detections []Detection
	Rejections []Rejection
}

// NewDetector returns a detector. The error is Invalid for a family that is none.
func NewDetector(opts Options) (*Detector, error) {
	if len(opts.Families) == 0 {
		opts.Families = []*Family{AprilTag36h11()}
	}
	d := &Detector{opts: opts}
	d.opts.MinSide = cmp.Or(opts.MinSide, 12)
	d.opts.MinContrast = cmp.Or(opts.MinContrast, 25)
	d.opts.MinMargin = cmp.Or(opts.MinMargin, 0.5)
	for _, f := range opts.Families {
		if err := f.check(); err != nil {
			return nil, err
		}
		d.largest = max(d.largest, f.Size)
	}
	return d, nil
}

// Detect returns the markers in an image, or in its part that [image.Gray.SubImage] gives.
// Corners are in the coordinates of the image as a whole. The result is valid until the
// next call. The error is Invalid for an image without pixels.
func (d *Detector) Detect(img *image.Gray) (*Result, error) {
	if img.Rect.Empty() || len(img.Pix) < (img.Rect.Dy()-1)*img.Stride+img.Rect.Dx() {
		return nil, engram.Errorf(engram.Invalid, "image", "it is %v with %d bytes; a grey image with all of its pixels is needed", img.Rect, len(img.Pix))
	}
	d.result.Detections, d.result.Rejections = d.result.Detections[:0], d.result.Rejections[:0]
	if float64(min(img.Rect.Dx(), img.Rect.Dy())) < max(d.opts.MinSide/2, tile) {
		return &d.result, nil // too small for a marker
	}
	d.binary.threshold(img, d.opts.MinContrast)
	// A square of that side that is turned away by 60° has half of its width.
	shortest := int(3 * d.opts.MinSide)
	d.outline = d.binary.outlines(d.outline, shortest, func(outline []point, cut bool) {
		d.candidate(img, outline, cut)
	})
	d.dropRepeated()
	return &d.result, nil
}

// DetectNear looks in a part of the image first, where a marker is expected, and in all of
// it if nothing is found there. It is as Detect otherwise.
func (d *Detector) DetectNear(img *image.Gray, region image.Rectangle) (*Result, error) {
	if part := region.Intersect(img.Rect); !part.Empty() {
		result, err := d.Detect(img.SubImage(part).(*image.Gray))
		if err != nil || len(result.Detections) > 0 {
			return result, err
		}
	}
	return d.Detect(img)
}

// candidate looks at the outline of a dark region.
func (d *Detector) candidate(img *image.Gray, outline []point, cut bool) {
	if cut {
		if d.cutSquare(outline) {
			d.reject(img, outline, Cut)
		}
		return
	}
	sq, ok := findSquare(outline)
	if !ok {
		return
	}
	corners, ok := d.refine(img, &sq)
	if !ok {
		d.reject(img, outline, Blurred)
		return
	}
	found, why := d.decode(img, &corners)
	if why != 0 {
		d.reject(img, outline, why)
		return
	}
	for i := range found.Corners {
		found.Corners[i].U += float64(img.Rect.Min.X)
		found.Corners[i].V += float64(img.Rect.Min.Y)
	}
	d.result.Detections = append(d.result.Detections, found)
}

func (d *Detector) reject(img *image.Gray, outline []point, why Reason) {
	d.result.Rejections = append(d.result.Rejections, Rejection{bounds(outline).Add(img.Rect.Min), why})
}

func bounds(outline []point) image.Rectangle {
	low, high := outline[0], outline[0]
	for _, p := range outline {
		low.x, low.y = min(low.x, p.x), min(low.y, p.y)
		high.x, high.y = max(high.x, p.x), max(high.y, p.y)
	}
	return image.Rect(int(low.x), int(low.y), int(high.x)+1, int(high.y)+1)
}

// refine fits lines to the sides of a square and returns where they meet.
func (d *Detector) refine(img *image.Gray, sq *square) (corners [4]Corner, ok bool) {
	rough := sq.quad()
	// A profile reaches less than a cell in and out, where the next cell's brightness begins.
	cell := rough.width() / float64(d.largest+2)
	pr := profile{samples: min(max(2*int(cell/1.2), 4), maxSamples), contrast: float64(d.opts.MinContrast) / 2}
	var sides [4]line
	for i := range sides {
		if sides[i], ok = d.edges.refine(img, sq, i, pr); !ok {
			return corners, false
		}
	}
	for i := range corners {
		if corners[i], ok = meet(&sides[(i+3)%4], &sides[i]); !ok {
			return corners, false
		}
		if math.Hypot(corners[i].U-rough[i].x, corners[i].V-rough[i].y) > 5+0.1*rough.width() {
			return corners, false
		}
	}
	return corners, true
}

// decode reads a candidate as a marker of each family and returns the best.
func (d *Detector) decode(img *image.Gray, corners *[4]Corner) (best Detection, why Reason) {
	var q quad
	for i, c := range corners {
		q[i] = point{c.U, c.V}
	}
	why = Unframed
	ambiguous := false
	for _, f := range d.opts.Families {
		n := f.Size + 2
		c := cells{img: img, h: fromSquare(float64(n), q), count: n}
		if !c.framed(float64(d.opts.MinContrast)) {
			continue
		}
		code, margin := c.code()
		read, ok := f.read(code)
		switch {
		case !ok:
			why = max(why, UnknownCode) // the reason of the family that came nearest
		case margin < d.opts.MinMargin:
			why = max(why, Unclear)
		case best.Family != nil && best.Corrected < read.distance:
		case best.Family != nil && best.Corrected == read.distance:
			ambiguous = true
		default:
			best = Detection{Family: f, ID: read.id, Corrected: read.distance, Margin: margin, Contrast: c.white.level - c.black.level}
			for i := range best.Corners {
				best.Corners[i] = corners[(i+read.turns)%4]
			}
			ambiguous = read.others > 0
		}
	}
	switch {
	case best.Family == nil:
		return Detection{}, why
	case ambiguous:
		return Detection{}, Ambiguous
	}
	return best, 0
}

// dropRepeated drops the less clear one of two detections of one marker in one place.
func (d *Detector) dropRepeated() {
	found := d.result.Detections
	slices.SortFunc(found, func(a, b Detection) int { return cmp.Compare(b.Margin, a.Margin) })
	kept := found[:0]
	for _, f := range found {
		if !slices.ContainsFunc(kept, func(k Detection) bool { return k.Family == f.Family && k.ID == f.ID && k.covers(&f) }) {
			kept = append(kept, f)
		}
	}
	d.result.Detections = kept
}

// covers reports whether the centre of another detection lies in this one.
func (f *Detection) covers(other *Detection) bool {
	var centre point
	for _, c := range other.Corners {
		centre = centre.add(point{c.U / 4, c.V / 4})
	}
	for i, a := range f.Corners {
		b := f.Corners[(i+1)%4]
		if (point{b.U - a.U, b.V - a.V}).cross(centre.sub(point{a.U, a.V})) < 0 {
			return false
		}
	}
	return true
}

// Find returns the detection of a marker. The error is NotFound if it was not seen, and
// OutOfRange if it may be what the edge of the image cuts.
func (r *Result) Find(f *Family, id int) (*Detection, error) {
	for i := range r.Detections {
		if d := &r.Detections[i]; d.Family.Name == f.Name && d.ID == id {
			return d, nil
		}
	}
	for _, rejected := range r.Rejections {
		if rejected.Why == Cut {
			return nil, engram.Errorf(engram.OutOfRange, f.Name, "marker %d is not seen as a whole; the edge of the image cuts something square at %v; turn the camera towards it", id, rejected.Bounds)
		}
	}
	return nil, engram.Errorf(engram.NotFound, f.Name, "marker %d is not in the image", id)
}
