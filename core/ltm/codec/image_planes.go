package codec

import (
	"image"
	"math"
)

// Colours are coded as JPEG's: the matrix of BT.601, full range, chroma in the
// middle of its pixels. Both directions are computed here and not by ffmpeg, so
// that no version of it can disagree with another on what a colour is.

// planesOf returns planes for n views side by side; at is where view i begins.
func planesOf(n, width, height int, ratio image.YCbCrSubsampleRatio) (img *image.YCbCr, at func(i int) int) {
	w := (width + 1) &^ 1
	if n > 1 {
		w = (width + 15) &^ 15 // views share no block
	}
	return image.NewYCbCr(image.Rect(0, 0, n*w, (height+1)&^1), ratio), func(i int) int { return i * w }
}

// luma returns the luminance of a colour.
func luma(r, g, b int32) byte { return byte((19595*r + 38470*g + 7471*b + 1<<15) >> 16) }

// chroma returns the colour differences of a colour whose components are sums over
// 1<<shift pixels.
func chroma(r, g, b int32, shift uint) (cb, cr byte) {
	round := int32(257<<15) << shift
	return clamp((-11056*r - 21712*g + 32768*b + round) >> (16 + shift)),
		clamp((32768*r - 27440*g - 5328*b + round) >> (16 + shift))
}

func clamp(v int32) byte {
	if uint32(v) > 255 {
		return byte(^(v >> 31))
	}
	return byte(v)
}

// fill paints the picture into a view of the planes that begins at x0, up to the
// edge at x1, repeating its last column and row where the planes are larger.
func (p *picture) fill(dst *image.YCbCr, x0, x1 int) {
	switch {
	case p.shape == compressedImage:
		fillFrom(dst, p.image, x0)
	case p.grey():
		for y := range p.height {
			copy(dst.Y[y*dst.YStride+x0:], p.pixels[y*p.step:y*p.step+p.width])
		}
		greyChroma(dst, x0, x1)
	case dst.SubsampleRatio == image.YCbCrSubsampleRatio420:
		p.fill420(dst, x0)
	default:
		p.fill444(dst, x0)
	}
	extend(dst.Y, dst.YStride, x0, x0+p.width, x1, p.height, dst.Rect.Dy())
	if dst.SubsampleRatio == image.YCbCrSubsampleRatio420 {
		x0, x1 = x0/2, x1/2
		w, h := (p.width+1)/2, (p.height+1)/2
		extend(dst.Cb, dst.CStride, x0, x0+w, x1, h, dst.Rect.Dy()/2)
		extend(dst.Cr, dst.CStride, x0, x0+w, x1, h, dst.Rect.Dy()/2)
		return
	}
	extend(dst.Cb, dst.CStride, x0, x0+p.width, x1, p.height, dst.Rect.Dy())
	extend(dst.Cr, dst.CStride, x0, x0+p.width, x1, p.height, dst.Rect.Dy())
}

func extend(plane []byte, stride, x0, xEnd, x1, h, hEnd int) {
	if xEnd < x1 {
		for y := range h {
			row := plane[y*stride : y*stride+x1]
			for x := xEnd; x < x1; x++ {
				row[x] = row[xEnd-1]
			}
		}
	}
	for y := h; y < hEnd; y++ {
		copy(plane[y*stride+x0:y*stride+x1], plane[(h-1)*stride+x0:])
	}
}

func greyChroma(dst *image.YCbCr, x0, x1 int) {
	h := dst.Rect.Dy()
	if dst.SubsampleRatio == image.YCbCrSubsampleRatio420 {
		x0, x1, h = x0/2, x1/2, h/2
	}
	for y := range h {
		for x := x0; x < x1; x++ {
			dst.Cb[y*dst.CStride+x], dst.Cr[y*dst.CStride+x] = 128, 128
		}
	}
}

// fill420 takes the colour of 2x2 pixels from their mean.
func (p *picture) fill420(dst *image.YCbCr, x0 int) {
	n, ro, gr, bl := p.bytes, p.r, p.g, p.b
	for y := 0; y < p.height; y += 2 {
		top := p.pixels[y*p.step : y*p.step+p.rowBytes()]
		low, lumaLow := top, []byte(nil)
		if y+1 < p.height {
			low = p.pixels[(y+1)*p.step : (y+1)*p.step+p.rowBytes()]
			lumaLow = dst.Y[(y+1)*dst.YStride+x0:][:p.width]
		}
		lumaTop := dst.Y[y*dst.YStride+x0:][:p.width]
		at := y/2*dst.CStride + x0/2
		for x := 0; x < p.width; x += 2 {
			i := x * n
			j := i
			if x+1 < p.width {
				j += n
			}
			r0, g0, b0 := int32(top[i+ro]), int32(top[i+gr]), int32(top[i+bl])
			r1, g1, b1 := int32(top[j+ro]), int32(top[j+gr]), int32(top[j+bl])
			r2, g2, b2 := int32(low[i+ro]), int32(low[i+gr]), int32(low[i+bl])
			r3, g3, b3 := int32(low[j+ro]), int32(low[j+gr]), int32(low[j+bl])
			lumaTop[x] = luma(r0, g0, b0)
			if j != i {
				lumaTop[x+1] = luma(r1, g1, b1)
			}
			if lumaLow != nil {
				lumaLow[x] = luma(r2, g2, b2)
				if j != i {
					lumaLow[x+1] = luma(r3, g3, b3)
				}
			}
			dst.Cb[at], dst.Cr[at] = chroma(r0+r1+r2+r3, g0+g1+g2+g3, b0+b1+b2+b3, 2)
			at++
		}
	}
}

func (p *picture) fill444(dst *image.YCbCr, x0 int) {
	for y := range p.height {
		row := p.pixels[y*p.step : y*p.step+p.rowBytes()]
		at := y*dst.YStride + x0
		for i := 0; i < len(row); i += p.bytes {
			r, g, b := int32(row[i+p.r]), int32(row[i+p.g]), int32(row[i+p.b])
			dst.Y[at] = luma(r, g, b)
			dst.Cb[at], dst.Cr[at] = chroma(r, g, b, 0)
			at++
		}
	}
}

// fillFrom paints an image that was decoded from a file.
func fillFrom(dst *image.YCbCr, src image.Image, x0 int) {
	b := src.Bounds()
	switch src := src.(type) {
	case *image.Gray:
		for y := range b.Dy() {
			copy(dst.Y[y*dst.YStride+x0:], src.Pix[y*src.Stride:y*src.Stride+b.Dx()])
		}
		greyChroma(dst, x0, x0+b.Dx()+1)
	case *image.RGBA:
		p := picture{geometry: geometry{b.Dx(), b.Dy(), src.Stride, encodings["rgba8"]}, pixels: src.Pix}
		if dst.SubsampleRatio == image.YCbCrSubsampleRatio420 {
			p.fill420(dst, x0)
		} else {
			p.fill444(dst, x0)
		}
	case *image.YCbCr:
		for y := range b.Dy() {
			copy(dst.Y[y*dst.YStride+x0:], src.Y[y*src.YStride:y*src.YStride+b.Dx()])
		}
		fillChroma(dst, src, x0)
	}
}

// fillChroma takes the mean of what the source has for a place, however it is
// subsampled.
func fillChroma(dst, src *image.YCbCr, x0 int) {
	w, h, step := src.Rect.Dx(), src.Rect.Dy(), 1
	if dst.SubsampleRatio == image.YCbCrSubsampleRatio420 {
		w, h, step, x0 = (w+1)/2, (h+1)/2, 2, x0/2
		if src.SubsampleRatio == image.YCbCrSubsampleRatio420 && src.Rect.Min == (image.Point{}) {
			for y := range h {
				copy(dst.Cb[y*dst.CStride+x0:], src.Cb[y*src.CStride:y*src.CStride+w])
				copy(dst.Cr[y*dst.CStride+x0:], src.Cr[y*src.CStride:y*src.CStride+w])
			}
			return
		}
	}
	for y := range h {
		for x := range w {
			var cb, cr, n int
			for dy := range step {
				for dx := range step {
					i := src.COffset(src.Rect.Min.X+min(x*step+dx, src.Rect.Dx()-1), src.Rect.Min.Y+min(y*step+dy, src.Rect.Dy()-1))
					cb, cr, n = cb+int(src.Cb[i]), cr+int(src.Cr[i]), n+1
				}
			}
			at := y*dst.CStride + x0 + x
			dst.Cb[at], dst.Cr[at] = byte((cb+n/2)/n), byte((cr+n/2)/n)
		}
	}
}

// view returns the part of the planes that begins at x0, sharing their memory.
func view(img *image.YCbCr, x0, width, height int) *image.YCbCr {
	return img.SubImage(image.Rect(x0, 0, x0+width, height)).(*image.YCbCr)
}

// paint writes a view of planes as pixels into data, of which what lies between
// rows is zero.
func (g *geometry) paint(data []byte, src *image.YCbCr, alpha byte) {
	subsampled := src.SubsampleRatio == image.YCbCrSubsampleRatio420
	for y := range g.height {
		row := data[y*g.step : y*g.step+g.rowBytes()]
		lumaRow := src.Y[y*src.YStride:][:g.width]
		if g.grey() {
			copy(row, lumaRow)
			continue
		}
		chromaY := y
		if subsampled {
			chromaY = y / 2
		}
		cbRow, crRow := src.Cb[chromaY*src.CStride:], src.Cr[chromaY*src.CStride:]
		i := 0
		for x, l := range lumaRow {
			c := x
			if subsampled {
				c = x / 2
			}
			yy := int32(l) * 0x10101
			cb, cr := int32(cbRow[c])-128, int32(crRow[c])-128
			row[i+g.r] = clamp((yy + 91881*cr) >> 16)
			row[i+g.g] = clamp((yy - 22554*cb - 46802*cr) >> 16)
			row[i+g.b] = clamp((yy + 116130*cb) >> 16)
			if g.alpha >= 0 {
				row[i+g.alpha] = alpha
			}
			i += g.bytes
		}
	}
}

// psnr returns the peak signal-to-noise ratio of two planes of luma, in dB; 100 if
// they are equal.
func psnr(a, b *image.YCbCr) float64 {
	w, h := a.Rect.Dx(), a.Rect.Dy()
	var sum uint64
	for y := range h {
		p, q := a.Y[y*a.YStride:][:w], b.Y[y*b.YStride:][:w]
		var row uint32 // 65,536 pixels fit
		for x := range p {
			d := int32(p[x]) - int32(q[x])
			row += uint32(d * d)
		}
		sum += uint64(row)
	}
	if sum == 0 {
		return 100
	}
	return min(100, 10*math.Log10(255*255*float64(w*h)/float64(sum)))
}
