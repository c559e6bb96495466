package marker

import (
	"image"
	"math"
	"slices"
)

// What a pixel is for the search of outlines.
const (
	light = iota // or where nothing can be told
	dark
)

// tile is the side of the squares whose extremes make the threshold, pixels.
const tile = 4

// thresholds are what tells dark pixels from others: the extremes of the tiles around
// them, where these are far enough apart to be more than noise.
type thresholds struct {
	w, h, tw, th int
	soft         []uint8 // the image, smoothed
	low, high    []uint8 // of each tile with its neighbours; equal where nothing can be told
	noise        float64 // of the image, standard deviation in grey levels
}

func newThresholds(img *image.Gray) *thresholds {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	tw, th := (w+tile-1)/tile, (h+tile-1)/tile
	t := &thresholds{w: w, h: h, tw: tw, th: th, soft: smooth(img), noise: noiseOf(img), low: make([]uint8, tw*th), high: make([]uint8, tw*th)}
	low, high := make([]uint8, tw*th), make([]uint8, tw*th)
	for ty := range th {
		for tx := range tw {
			lo, hi := uint8(255), uint8(0)
			for y := ty * tile; y < min(ty*tile+tile, h); y++ {
				for _, v := range t.soft[y*w+tx*tile : y*w+min(tx*tile+tile, w)] {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
			low[ty*tw+tx], high[ty*tw+tx] = lo, hi
		}
	}
	// The smoothing leaves 0.375 of the noise, whose extremes are some 6 sigmas apart.
	least := max(6, 6*0.375*t.noise*1.5)
	for ty := range th {
		for tx := range tw {
			lo, hi := uint8(255), uint8(0)
			for y := max(ty-1, 0); y <= min(ty+1, th-1); y++ {
				for x := max(tx-1, 0); x <= min(tx+1, tw-1); x++ {
					lo, hi = min(lo, low[y*tw+x]), max(hi, high[y*tw+x])
				}
			}
			if float64(hi)-float64(lo) >= least {
				t.low[ty*tw+tx], t.high[ty*tw+tx] = lo, hi
			}
		}
	}
	return t
}

// middle is the threshold between what is dark and what is bright around it.
func middle(low, high uint8) uint8 { return uint8((int(low) + int(high)) / 2) }

// middleInShadow is a lower one: across the edge of a shadow, white in it is still on the
// other side than ink in the light.
func middleInShadow(low, high uint8) uint8 {
	return uint8(math.Sqrt((float64(low)+6)*(float64(high)+6)) - 6)
}

// binary writes into pixels which ones are dark.
func (t *thresholds) binary(pixels []uint8, threshold func(low, high uint8) uint8) {
	for ty := range t.th {
		for tx := range t.tw {
			lo, hi := t.low[ty*t.tw+tx], t.high[ty*t.tw+tx]
			var m uint8
			if lo < hi {
				m = threshold(lo, hi)
			}
			for y := ty * tile; y < min(ty*tile+tile, t.h); y++ {
				from, to := y*t.w+tx*tile, y*t.w+min(tx*tile+tile, t.w)
				for i, v := range t.soft[from:to] {
					pixels[from+i] = light
					if lo < hi && v <= m {
						pixels[from+i] = dark
					}
				}
			}
		}
	}
}

// smooth returns the image under the kernel (1 2 1)/4 both ways.
func smooth(img *image.Gray) []uint8 {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	rows := make([]uint16, w*h)
	for y := range h {
		in, out := img.Pix[y*img.Stride:y*img.Stride+w], rows[y*w:y*w+w]
		for x := range w {
			out[x] = uint16(in[max(x-1, 0)]) + 2*uint16(in[x]) + uint16(in[min(x+1, w-1)])
		}
	}
	soft := make([]uint8, w*h)
	for y := range h {
		above, here, below := rows[max(y-1, 0)*w:], rows[y*w:y*w+w], rows[min(y+1, h-1)*w:]
		for x, v := range here {
			soft[y*w+x] = uint8((above[x] + 2*v + below[x] + 8) / 16)
		}
	}
	return soft
}

// noiseOf estimates the noise from what is left of the image without its slopes: the
// median over a sample of pixels, which edges hardly move.
func noiseOf(img *image.Gray) float64 {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	var counts [4097]int
	n := 0
	for y := 1; y < h-1; y += 3 {
		for x := 1; x < w-1; x += 3 {
			at := func(dx, dy int) int { return int(img.Pix[(y+dy)*img.Stride+x+dx]) }
			v := at(-1, -1) + at(1, -1) + at(-1, 1) + at(1, 1) - 2*(at(0, -1)+at(0, 1)+at(-1, 0)+at(1, 0)) + 4*at(0, 0)
			counts[min(max(v, -v), len(counts)-1)]++
			n++
		}
	}
	seen := 0
	for v, c := range counts {
		if seen += c; 2*seen >= n {
			// The kernel makes 6 sigmas of one; the median of a normal one's size is 0.6745.
			return max(float64(v)/(6*0.6745), 0.3)
		}
	}
	return 0.3
}

// sampler reads an image between its pixels.
type sampler struct {
	img  *image.Gray
	lens *Camera
}

// at returns the grey level at a point of the image that a pinhole would have taken; ok
// is false outside.
func (s *sampler) at(p vec2) (v float64, ok bool) {
	p.x, p.y = s.lens.Distort(p.x, p.y)
	x0, y0 := math.Floor(p.x), math.Floor(p.y)
	if !(x0 >= 0 && y0 >= 0 && x0 < float64(s.img.Rect.Dx()-1) && y0 < float64(s.img.Rect.Dy()-1)) {
		return 0, false
	}
	fx, fy := p.x-x0, p.y-y0
	i := int(y0)*s.img.Stride + int(x0)
	a, b := s.img.Pix[i:i+2:i+2], s.img.Pix[i+s.img.Stride:i+s.img.Stride+2]
	top := float64(a[0])*(1-fx) + float64(a[1])*fx
	bottom := float64(b[0])*(1-fx) + float64(b[1])*fx
	return top*(1-fy) + bottom*fy, true
}

// Grey returns an image in grey, its upper left corner at (0, 0). A grey one that is so
// already is returned itself.
func Grey(img image.Image) *image.Gray {
	b := img.Bounds()
	if g, ok := img.(*image.Gray); ok && b.Min == (image.Point{}) {
		return g
	}
	out := image.NewGray(image.Rect(0, 0, b.Dx(), b.Dy()))
	switch m := img.(type) {
	case *image.RGBA:
		for y := range b.Dy() {
			luma(out.Pix[y*out.Stride:][:b.Dx()], m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):])
		}
	case *image.NRGBA:
		for y := range b.Dy() {
			luma(out.Pix[y*out.Stride:][:b.Dx()], m.Pix[m.PixOffset(b.Min.X, b.Min.Y+y):])
		}
	case *image.YCbCr:
		for y := range b.Dy() {
			copy(out.Pix[y*out.Stride:][:b.Dx()], m.Y[m.YOffset(b.Min.X, b.Min.Y+y):])
		}
	default:
		for y := range b.Dy() {
			for x := range b.Dx() {
				out.Set(x, y, img.At(b.Min.X+x, b.Min.Y+y))
			}
		}
	}
	return out
}

// luma writes the brightness of pixels of four bytes.
func luma(out, rgba []uint8) {
	for x := range out {
		p := rgba[4*x : 4*x+3 : 4*x+3]
		out[x] = uint8((299*int(p[0]) + 587*int(p[1]) + 114*int(p[2]) + 500) / 1000)
	}
}

// median sorts v and returns its middle.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
