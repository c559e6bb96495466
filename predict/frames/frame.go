package frames

import "image"

const (
	// Side is the width and the height of a Frame, pixels.
	Side = 128
	// Ahead is how many steps ahead a Model predicts: the next frame and the one after.
	Ahead = 2
)

// Frame is a luma image, row by row, Side x Side numbers from 0 to 255. An image of another shape is stretched.
type Frame []float32

// Reduced is an image at reduced size: each pixel the mean of those that it stands for.
func Reduced(img image.Image) Frame {
	b := img.Bounds()
	luma := lumaOf(img)
	f := make(Frame, Side*Side)
	for y := range Side {
		y0, y1 := span(y, b.Dy())
		for x := range Side {
			x0, x1 := span(x, b.Dx())
			sum := float32(0)
			for v := y0; v < y1; v++ {
				for u := x0; u < x1; u++ {
					sum += luma(b.Min.X+u, b.Min.Y+v)
				}
			}
			f[y*Side+x] = sum / float32((x1-x0)*(y1-y0))
		}
	}
	return f
}

// span returns which of n pixels a pixel of a Frame stands for.
func span(i, n int) (from, to int) {
	from = i * n / Side
	return from, max((i+1)*n/Side, from+1)
}

// lumaOf returns how the luma of an image's pixel is read.
func lumaOf(img image.Image) func(x, y int) float32 {
	rgb := func(p []uint8) float32 { return 0.299*float32(p[0]) + 0.587*float32(p[1]) + 0.114*float32(p[2]) }
	switch img := img.(type) {
	case *image.YCbCr:
		return func(x, y int) float32 { return float32(img.Y[img.YOffset(x, y)]) }
	case *image.Gray:
		return func(x, y int) float32 { return float32(img.Pix[img.PixOffset(x, y)]) }
	case *image.NRGBA:
		return func(x, y int) float32 { return rgb(img.Pix[img.PixOffset(x, y):]) }
	case *image.RGBA:
		return func(x, y int) float32 { return rgb(img.Pix[img.PixOffset(x, y):]) }
	}
	return func(x, y int) float32 {
		r, g, b, _ := img.At(x, y).RGBA()
		return (0.299*float32(r) + 0.587*float32(g) + 0.114*float32(b)) / 257
	}
}

// Enlarged returns a Frame of differences at the size of an image: smooth between its pixels, and such that the mean over
// what a pixel stands for is the pixel's, nearly.
func Enlarged(f Frame, width, height int) func(x, y int) float32 {
	sharp := append(Frame(nil), f...)
	if width > Side && height > Side {
		for range 3 { // what smoothing takes is put on before
			for i, back := range softened(sharp) {
				sharp[i] += f[i] - back
			}
		}
	}
	sx, sy := float32(Side)/float32(width), float32(Side)/float32(height)
	return func(x, y int) float32 {
		return sample(sharp, Side, (float32(x)+0.5)*sx-0.5, (float32(y)+0.5)*sy-0.5)
	}
}

// softened is about what is left of a Frame that was enlarged and is reduced again.
func softened(f Frame) Frame {
	rows, out := make(Frame, len(f)), make(Frame, len(f))
	for i := range f {
		x := i % Side
		rows[i] = 0.75*f[i] + 0.125*(f[i-min(x, 1)]+f[i+min(Side-1-x, 1)])
	}
	for i := range f {
		y := i / Side
		out[i] = 0.75*rows[i] + 0.125*(rows[i-Side*min(y, 1)]+rows[i+Side*min(Side-1-y, 1)])
	}
	return out
}
