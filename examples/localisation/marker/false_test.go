package marker_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// clutter paints an image without a marker that has much of what a marker has: dark quads
// on bright paper, with bright spots in them, chessboards, bars, stripes, writing, noise.
func clutter(rnd *rand.Rand) *image.Gray {
	const w, h = 640, 480
	img := image.NewGray(image.Rect(0, 0, w, h))
	base, dx, dy := 40+170*rnd.Float64(), 120*(rnd.Float64()-0.5)/w, 120*(rnd.Float64()-0.5)/h
	wave, angle := 0.02+0.5*rnd.Float64()*rnd.Float64(), rnd.Float64()*math.Pi
	depth := 40 * rnd.Float64() * float64(rnd.IntN(2))
	sin, cos := math.Sincos(angle)
	v := make([]float64, w*h)
	for y := range h {
		for x := range w {
			v[y*w+x] = base + dx*float64(x-w/2) + dy*float64(y-h/2) + depth*math.Sin(wave*(cos*float64(x)+sin*float64(y)))
		}
	}
	// quad fills a square that is turned and squeezed, by the colour of each of its cells.
	quad := func(cx, cy, side float64, n int, colour func(x, y int) float64) {
		sin, cos := math.Sincos(rnd.Float64() * 2 * math.Pi)
		squeeze := 0.4 + 0.6*rnd.Float64()
		tilt, skew := rnd.Float64()*2*math.Pi, 0.4*(rnd.Float64()-0.5)/side
		ts, tc := math.Sincos(tilt)
		for y := max(int(cy-side), 0); y < min(int(cy+side), h); y++ {
			for x := max(int(cx-side), 0); x < min(int(cx+side), w); x++ {
				px, py := float64(x)-cx, float64(y)-cy
				a, b := tc*px+ts*py, (tc*py-ts*px)/squeeze
				k := 1 / (1 + skew*a)
				a, b = a*k, b*k
				u, t := cos*a+sin*b, cos*b-sin*a
				i, j := math.Floor((u/side+0.5)*float64(n)), math.Floor((t/side+0.5)*float64(n))
				if i >= 0 && j >= 0 && i < float64(n) && j < float64(n) {
					v[y*w+x] = colour(int(i), int(j))
				}
			}
		}
	}
	for range 10 + rnd.IntN(25) {
		cx, cy, side := rnd.Float64()*w, rnd.Float64()*h, 12+140*rnd.Float64()*rnd.Float64()
		dark, bright := 60*rnd.Float64(), 120+130*rnd.Float64()
		switch rnd.IntN(5) {
		case 0:
			quad(cx, cy, side, 1, func(int, int) float64 { return dark })
		case 1: // paper with a dark quad, and spots of any size in it
			quad(cx, cy, 1.4*side, 1, func(int, int) float64 { return bright })
			n := 5 + rnd.IntN(9)
			var spots [14 * 14]bool
			for range rnd.IntN(n) {
				spots[rnd.IntN(n)*14+rnd.IntN(n)] = true
			}
			quad(cx, cy, side, n, func(x, y int) float64 {
				if spots[y*14+x] {
					return bright
				}
				return dark
			})
		case 2: // a chessboard
			quad(cx, cy, side, 2+rnd.IntN(9), func(x, y int) float64 {
				if (x+y)%2 == 0 {
					return dark
				}
				return bright
			})
		case 3: // frames in frames
			n := 4 + 2*rnd.IntN(5)
			quad(cx, cy, side, n, func(x, y int) float64 {
				if min(x, y, n-1-x, n-1-y)%2 == 0 {
					return dark
				}
				return bright
			})
		default: // something like writing
			bits := rnd.Uint64()
			quad(cx, cy, side, 24, func(x, y int) float64 {
				if y%3 == 2 || bits>>((x*7+y*13)%64)&1 == 0 {
					return bright
				}
				return dark
			})
		}
	}
	noise := 15 * rnd.Float64() * rnd.Float64()
	for i := range img.Pix {
		img.Pix[i] = uint8(min(max(v[i]+noise*rnd.NormFloat64(), 0), 255))
	}
	return img
}

// TestNoFalseDetections looks at images without markers.
func TestNoFalseDetections(t *testing.T) {
	images := testkit.Repeats(30, 1000)
	rnd := rand.New(rand.NewPCG(7, 7))
	d := marker.Detector{Camera: camera640, Families: marker.Families(), Size: func(*marker.Family, int) (float64, bool) { return 0.1, true }}
	var found [2]int
	for i := range images {
		var img *image.Gray
		if i%10 == 9 {
			img = image.NewGray(image.Rect(0, 0, 640, 480))
			for k := range img.Pix {
				img.Pix[k] = uint8(rnd.Uint32())
			}
		} else {
			img = clutter(rnd)
		}
		got, _, err := d.Detect(img)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range got {
			t.Logf("image %d: %s %d at %v, margin %.2f, %d wrong, rms %.2f", i, g.Family, g.ID, g.Corners, g.Margin, g.Wrong, g.RMS)
			if g.Family == marker.Aruco4x4 {
				found[0]++
			} else {
				found[1]++
			}
		}
	}
	t.Logf("%d images: %d markers of ArUco, %d of AprilTag that are not there", images, found[0], found[1])
	for _, n := range found {
		if n*1000 >= images && n > 0 {
			t.Errorf("%d false detections in %d images", n, images)
		}
	}
}
