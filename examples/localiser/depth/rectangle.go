package depth

import (
	"math"
	"slices"
)

// spot is a point of a plane, in metres along its axes.
type spot struct{ x, y float64 }

// rectangle is a rectangle in a plane.
type rectangle struct {
	angle         float64 // from the plane's x to the rectangle's length, radians
	centre        spot
	length, width float64 // length is the longer
}

// outside is the part of the points on each side that does not decide where a rectangle
// ends, because noise and the edges of things put points far out.
const outside = 0.04

// fitRectangle returns the rectangle that the points fill evenly: of those in all
// directions the smallest, moved to where the points end.
func fitRectangle(spots []spot) rectangle {
	var few []spot // some hundreds decide on the direction
	for i := 0; i < len(spots); i += 1 + len(spots)/500 {
		few = append(few, spots[i])
	}
	scratch := make([]float64, len(few))
	best := rectangle{length: math.Inf(1), width: 1}
	const step = math.Pi / 60
	for i := range 30 {
		if r := along(few, float64(i)*step, scratch); r.length*r.width < best.length*best.width {
			best = r
		}
	}
	for range 3 {
		best = best.tighten(spots)
	}
	if best.length < best.width {
		best.length, best.width = best.width, best.length
		best.angle += math.Pi / 2
	}
	return best
}

// Along a side its edge is looked for in bins, each at least binWidth times as wide as the
// points are apart. Those at the corners do not count.
const (
	mostBins, fewestBins = 12, 5
	binWidth             = 3
)

// binsOf returns how many bins a side of a length has.
func binsOf(length, spacing float64) int {
	return min(max(int(length/(binWidth*spacing)), fewestBins), mostBins)
}

// tighten returns the rectangle whose sides are where the points end.
func (r *rectangle) tighten(spots []spot) rectangle {
	sin, cos := math.Sincos(r.angle)
	spacing := math.Sqrt(r.length * r.width / float64(len(spots)))
	across, down := binsOf(r.length, spacing), binsOf(r.width, spacing)
	right, left, top, bottom := side{bins: down}, side{bins: down}, side{bins: across}, side{bins: across}
	for _, p := range spots {
		dx, dy := p.x-r.centre.x, p.y-r.centre.y
		x, y := cos*dx+sin*dy, cos*dy-sin*dx
		right.add(y/r.width, x)
		left.add(-y/r.width, -x)
		top.add(-x/r.length, y)
		bottom.add(x/r.length, -y)
	}
	var ends [4]float64
	var turn, weight float64
	for i, s := range [4]*side{&right, &left, &top, &bottom} {
		length, reach := r.width, r.length/2
		if i >= 2 {
			length, reach = r.length, r.width/2
		}
		ends[i] = reach
		if end, slope, ok := s.line(); ok {
			ends[i] = end + spacing/2 // on average, beyond the last point
			turn -= slope * length * length
			weight += length * length * length
		}
	}
	if weight > 0 {
		turn /= weight
	}
	x, y := (ends[0]-ends[1])/2, (ends[2]-ends[3])/2
	return rectangle{
		angle:  r.angle + turn,
		centre: spot{r.centre.x + cos*x - sin*y, r.centre.y + sin*x + cos*y},
		length: ends[0] + ends[1], width: ends[2] + ends[3],
	}
}

// side is where the points end along a side: in each bin the last and the last but one, of
// which the latter counts, because a single point may be anywhere.
type side struct {
	bins         int
	last, before [mostBins]float64
	n            [mostBins]int
}

// add adds a point at a place along the side, -½ to ½, that lies out by a distance.
func (s *side) add(place, out float64) {
	i := int(math.Floor((place + 0.5) * float64(s.bins)))
	if i < 0 || i >= s.bins {
		return
	}
	s.n[i]++
	switch {
	case s.n[i] == 1 || out > s.last[i]:
		s.last[i], s.before[i] = out, s.last[i]
	case s.n[i] == 2 || out > s.before[i]:
		s.before[i] = out
	}
}

// line returns how far out a side is in its middle, and by how much more per length of it,
// by least squares. It is false where too little of the side is seen.
func (s *side) line() (end, slope float64, ok bool) {
	var n, place, out, product, squares float64
	for i := 1; i < s.bins-1; i++ {
		if s.n[i] >= 2 {
			x := (float64(i)+0.5)/float64(s.bins) - 0.5
			n, place, out = n+1, place+x, out+s.before[i]
			product, squares = product+x*s.before[i], squares+x*x
		}
	}
	if n < 3 {
		return 0, 0, false
	}
	slope = (product - place*out/n) / (squares - place*place/n)
	return (out - slope*place) / n, slope, true
}

// along returns the rectangle in a direction.
func along(spots []spot, angle float64, scratch []float64) rectangle {
	sin, cos := math.Sincos(angle)
	for i, p := range spots {
		scratch[i] = cos*p.x + sin*p.y
	}
	x0, x1 := extent(scratch)
	for i, p := range spots {
		scratch[i] = cos*p.y - sin*p.x
	}
	y0, y1 := extent(scratch)
	x, y := (x0+x1)/2, (y0+y1)/2
	return rectangle{angle, spot{cos*x - sin*y, sin*x + cos*y}, x1 - x0, y1 - y0}
}

// extent returns where evenly spread values begin and end.
func extent(values []float64) (low, high float64) {
	slices.Sort(values)
	n := float64(len(values) - 1)
	low, high = values[int(outside*n+0.5)], values[int((1-outside)*n+0.5)]
	beyond := (high - low) * outside / (1 - 2*outside)
	return low - beyond, high + beyond
}
