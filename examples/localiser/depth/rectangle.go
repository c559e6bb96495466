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
// directions the smallest. It reorders scratch, of the same length.
func fitRectangle(spots []spot, scratch []float64) rectangle {
	best := rectangle{length: math.Inf(1), width: 1}
	try := func(angle float64) {
		if r := along(spots, angle, scratch); r.length*r.width < best.length*best.width {
			best = r
		}
	}
	const coarse, fine = math.Pi / 60, math.Pi / 1800 // 3° and 0.1°
	for i := range 30 {
		try(float64(i) * coarse)
	}
	for i, middle := -30, best.angle; i <= 30; i++ {
		try(middle + float64(i)*fine)
	}
	if best.length < best.width {
		best.length, best.width = best.width, best.length
		best.angle += math.Pi / 2
	}
	return best
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
