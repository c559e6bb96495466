package marker

import (
	"image"

	"github.com/seed-301d4374/engram"
)

// Grey converts an image of red, green and blue bytes (rgb8, the rows stride bytes apart) to
// grey by ITU-R BT.601. It reuses dst if that has the size. The error is Invalid for too
// few bytes.
func Grey(dst *image.Gray, rgb []byte, width, height, stride int) (*image.Gray, error) {
	if width <= 0 || height <= 0 || stride < 3*width || len(rgb) < (height-1)*stride+3*width {
		return nil, engram.Errorf(engram.Invalid, "image", "%d bytes are no image of %d × %d pixels of three bytes in rows of %d", len(rgb), width, height, stride)
	}
	if size := image.Rect(0, 0, width, height); dst == nil || dst.Rect != size {
		dst = image.NewGray(size)
	}
	for y := range height {
		in, out := rgb[y*stride:][:3*width], dst.Pix[y*dst.Stride:][:width]
		for x := range out {
			p := in[3*x : 3*x+3 : 3*x+3]
			out[x] = uint8((299*uint32(p[0]) + 587*uint32(p[1]) + 114*uint32(p[2]) + 500) / 1000)
		}
	}
	return dst, nil
}
