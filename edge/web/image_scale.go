package web

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// source is an image that is read row by row.
type source struct {
	width, height int
	channels      int
	// row writes a row's pixels, each of so many channels.
	row func(y int, dst []float32)
	// paint makes an image of which set sets the pixels of a row, of these channels.
	paint func(width, height int) (img image.Image, set func(y int, row []float32))
}

// fit makes an image smaller, so that it is not larger than asked for, and shows 16-bit values by 8-bit greys or colours.
// It reports whether JPEG may store it, with losses that nobody sees.
func (l look) fit(img image.Image, encoding string, tell *about) (fitted image.Image, lossy bool) {
	size := img.Bounds().Size()
	w, h := l.within(size.X, size.Y)
	if deep, ok := img.(*image.Gray16); ok {
		src := deepSource(deep)
		pixels := make([]float32, w*h*src.channels)
		src.reduce(w, h, func(y int, row []float32) { copy(pixels[y*len(row):], row) })
		return l.shade(pixels, w, h, tell), false
	}
	if w == size.X && h == size.Y {
		switch img := img.(type) {
		case *image.YCbCr:
			return img, true
		case *image.NRGBA:
			if img.Opaque() { // then it is the same, and the encoder of JPEG is faster with it
				return &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}, true
			}
		}
	}
	src, lossy := sourceOf(img, encoding)
	fitted, set := src.paint(w, h)
	src.reduce(w, h, set)
	return fitted, lossy
}

// within returns the size of an image that is made to fit.
func (l look) within(width, height int) (w, h int) {
	scale := 1.0
	if l.width > 0 {
		scale = min(scale, float64(l.width)/float64(width))
	}
	if l.height > 0 {
		scale = min(scale, float64(l.height)/float64(height))
	}
	return max(1, int(math.Round(scale*float64(width)))), max(1, int(math.Round(scale*float64(height))))
}

// sourceOf returns how a decoded image is read.
func sourceOf(img image.Image, encoding string) (s source, lossy bool) {
	size := img.Bounds().Size()
	switch img := img.(type) {
	case *image.Gray:
		if s := bayer(img, encoding); s.row != nil {
			return s, true
		}
		return source{size.X, size.Y, 1, func(y int, dst []float32) {
			for x, v := range img.Pix[y*img.Stride : y*img.Stride+size.X] {
				dst[x] = float32(v)
			}
		}, paintGrey}, true
	case *image.YCbCr: // its mean colour is that of its mean values
		return source{size.X, size.Y, 3, func(y int, dst []float32) {
			y += img.Rect.Min.Y
			for x := range size.X {
				i, c := img.YOffset(img.Rect.Min.X+x, y), img.COffset(img.Rect.Min.X+x, y)
				d := dst[3*x : 3*x+3]
				d[0], d[1], d[2] = float32(img.Y[i]), float32(img.Cb[c]), float32(img.Cr[c])
			}
		}, paintYCbCr}, true
	case *image.NRGBA:
		if img.Opaque() {
			return source{size.X, size.Y, 3, func(y int, dst []float32) {
				for pix := img.Pix[y*img.Stride : y*img.Stride+4*size.X]; len(pix) > 0; pix, dst = pix[4:], dst[3:] {
					dst[0], dst[1], dst[2] = float32(pix[0]), float32(pix[1]), float32(pix[2])
				}
			}, paintRGB}, true
		}
	}
	opaque, ok := img.(interface{ Opaque() bool })
	line := image.NewRGBA(image.Rect(0, 0, size.X, 1)) // with its colours multiplied by alpha, which have a mean
	return source{size.X, size.Y, 4, func(y int, dst []float32) {
		draw.Draw(line, line.Rect, img, img.Bounds().Min.Add(image.Pt(0, y)), draw.Src)
		for i, v := range line.Pix {
			dst[i] = float32(v)
		}
	}, paintRGBA}, ok && opaque.Opaque()
}

// deepSource reads 16-bit values, in two channels: the value, and 1 if there is one.
func deepSource(img *image.Gray16) source {
	size := img.Bounds().Size()
	return source{width: size.X, height: size.Y, channels: 2, row: func(y int, dst []float32) {
		for x := range size.X {
			i := y*img.Stride + 2*x
			v := float32(uint16(img.Pix[i])<<8 | uint16(img.Pix[i+1]))
			dst[2*x], dst[2*x+1] = v, min(v, 1)
		}
	}}
}

// bayer reads an image of a sensor behind a filter of colours. Each 2 x 2 pixels have one colour.
func bayer(img *image.Gray, encoding string) source {
	red, ok := map[string][2]int{"bayer_rggb8": {0, 0}, "bayer_grbg8": {1, 0}, "bayer_gbrg8": {0, 1}, "bayer_bggr8": {1, 1}}[encoding]
	size := img.Bounds().Size()
	if !ok || size.X < 2 || size.Y < 2 {
		return source{}
	}
	return source{size.X, size.Y, 3, func(y int, dst []float32) {
		y = min(y&^1, size.Y-2)
		even, odd := img.Pix[y*img.Stride:], img.Pix[(y+1)*img.Stride:]
		for x := range size.X {
			at := min(x&^1, size.X-2)
			block := [2][2]float32{{float32(even[at]), float32(even[at+1])}, {float32(odd[at]), float32(odd[at+1])}}
			d := dst[3*x : 3*x+3]
			rx, ry := (red[0]+at)&1, (red[1]+y)&1 // the last block of an odd size begins within one
			d[0], d[1], d[2] = block[ry][rx], (block[ry][1-rx]+block[1-ry][rx])/2, block[1-ry][1-rx]
		}
	}, paintRGB}
}

// reduce makes an image's pixels those of a size that is not larger, each the mean of what it covers, and sets them row by
// row. A row is not kept.
func (s source) reduce(width, height int, set func(y int, row []float32)) {
	row := make([]float32, s.width*s.channels)
	if width == s.width && height == s.height {
		for y := range height {
			s.row(y, row)
			set(y, row)
		}
		return
	}
	columns := sharesOf(s.width, width)
	narrow, sum, next := make([]float32, width*s.channels), make([]float32, width*s.channels), make([]float32, width*s.channels)
	for y, share := range sharesOf(s.height, height) {
		s.row(y, row)
		clear(narrow)
		s.squeeze(narrow, row, columns)
		add(sum, narrow, share.first)
		if share.second > 0 {
			add(next, narrow, share.second)
		}
		if (y+1)*height >= (share.to+1)*s.height { // the last one of its row
			set(share.to, sum)
			sum, next = next, sum
			clear(next)
		}
	}
}

// share says how much of a pixel lies in a pixel of the smaller image, and how much in the next one, of that pixel.
type share struct {
	to            int
	first, second float32
}

// sharesOf divides pixels among fewer.
func sharesOf(from, to int) []share {
	shares := make([]share, from)
	for i := range shares {
		// In parts of 1/from of a smaller pixel: it has from of them, and a larger one to.
		begin := i * to
		at := begin / from
		first := min(to, (at+1)*from-begin)
		shares[i] = share{at, float32(first) / float32(from), float32(to-first) / float32(from)}
	}
	return shares
}

// squeeze adds up a row's pixels in fewer.
func (s source) squeeze(dst, row []float32, columns []share) {
	c := s.channels
	for x := range columns {
		share := &columns[x]
		from := row[x*c : x*c+c]
		at := dst[share.to*c : share.to*c+c]
		for i, v := range from {
			at[i] += v * share.first
		}
		if share.second > 0 {
			at = dst[(share.to+1)*c : (share.to+2)*c]
			for i, v := range from {
				at[i] += v * share.second
			}
		}
	}
}

func add(dst, row []float32, weight float32) {
	dst = dst[:len(row)]
	for i, v := range row {
		dst[i] += v * weight
	}
}

func octet(v float32) uint8 { return uint8(min(max(v+0.5, 0), 255)) }

func paintGrey(width, height int) (image.Image, func(y int, row []float32)) {
	img := image.NewGray(image.Rect(0, 0, width, height))
	return img, func(y int, row []float32) {
		for x, v := range row {
			img.Pix[y*img.Stride+x] = octet(v)
		}
	}
}

func paintYCbCr(width, height int) (image.Image, func(y int, row []float32)) {
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio444)
	return img, func(y int, row []float32) {
		for x := range width {
			i := y*img.YStride + x
			img.Y[i], img.Cb[i], img.Cr[i] = octet(row[3*x]), octet(row[3*x+1]), octet(row[3*x+2])
		}
	}
}

func paintRGB(width, height int) (image.Image, func(y int, row []float32)) {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	return img, func(y int, row []float32) {
		for x := range width {
			i := y*img.Stride + 4*x
			img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = octet(row[3*x]), octet(row[3*x+1]), octet(row[3*x+2]), 255
		}
	}
}

func paintRGBA(width, height int) (image.Image, func(y int, row []float32)) {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	return img, func(y int, row []float32) {
		for i, v := range row {
			img.Pix[y*img.Stride+i] = octet(v)
		}
	}
}

// shade shows depth in mm, which deepSource reads, from near to far by greys or colours, and none as transparent.
func (l look) shade(pixels []float32, width, height int, tell *about) image.Image {
	low, high := depthRange(pixels)
	tell.Near, tell.Far = float64(low)/1000, float64(high)/1000
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		if pixels[2*i+1] == 0 {
			continue
		}
		at := octet((pixels[2*i] - low) / (high - low) * 255)
		c := color.NRGBA{at, at, at, 255}
		if l.depth {
			c = rainbow[at]
		}
		img.SetNRGBA(i%width, i/width, c)
	}
	return img
}

// depthRange divides depths by how much of a pixel was measured, and returns where their colours begin and end: from whole
// to whole 0.1 m around all but the nearest and the farthest percent, so that a wrong pixel changes no colours, and colours
// hardly change from image to image.
func depthRange(pixels []float32) (low, high float32) {
	count, total := make([]int, 1<<16/depthStep+1), 0
	for i := 0; i < len(pixels); i += 2 {
		if pixels[i+1] <= 1e-6 { // so little of sums of shares is a matter of rounding
			pixels[i+1] = 0
			continue
		}
		pixels[i] /= pixels[i+1]
		count[int(min(pixels[i], math.MaxUint16))/depthStep]++
		total++
	}
	first, last, below := -1, 0, 0
	for step, n := range count {
		if n == 0 {
			continue
		}
		if below+n > total/100 && first < 0 {
			first = step
		}
		if below < total-total/100 {
			last = step
		}
		below += n
	}
	first = max(first, 0)
	return float32(first * depthStep), float32((last + 1) * depthStep)
}

// depthStep is 0.1 m, in mm.
const depthStep = 100

// rainbow is Turbo, by the polynomials of A. Mikhailov and R. du Tertre: from blue, which is near, to red.
var rainbow = func() (c [256]color.NRGBA) {
	at := func(x float64, factors ...float64) uint8 {
		sum := 0.0
		for i := len(factors) - 1; i >= 0; i-- {
			sum = sum*x + factors[i]
		}
		return octet(float32(255 * sum))
	}
	for i := range c {
		x := float64(i) / 255
		c[i] = color.NRGBA{
			at(x, 0.13572138, 4.61539260, -42.66032258, 132.13108234, -152.94239396, 59.28637943),
			at(x, 0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604),
			at(x, 0.10667330, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973),
			255,
		}
	}
	return c
}()
