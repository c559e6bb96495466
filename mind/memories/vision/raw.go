package vision

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"strings"

	"github.com/seed-301d4374/engram"
)

// rawEncoding says how a raw image's pixels lie, and how one row is converted.
type rawEncoding struct {
	bytesPerPixel int
	make          func(bounds image.Rectangle) (img image.Image, row func(y int, src []byte))
}

// rawEncodings are the encodings of foxglove.RawImage and of ROS's
// sensor_msgs/Image. All but 8-bit ones are little-endian.
var rawEncodings = map[string]rawEncoding{
	"rgb8":  {3, colours(0, 1, 2, -1, 3)},
	"bgr8":  {3, colours(2, 1, 0, -1, 3)},
	"8UC3":  {3, colours(2, 1, 0, -1, 3)},
	"rgba8": {4, colours(0, 1, 2, 3, 4)},
	"bgra8": {4, colours(2, 1, 0, 3, 4)},
	"8UC4":  {4, colours(2, 1, 0, 3, 4)},
	"mono8": {1, grey8}, "8UC1": {1, grey8},
	"bayer_rggb8": {1, grey8}, "bayer_bggr8": {1, grey8}, "bayer_gbrg8": {1, grey8}, "bayer_grbg8": {1, grey8},
	"mono16": {2, grey16}, "16UC1": {2, grey16},
	"32FC1":  {4, depth32},
	"yuv422": {2, yuv422(1, 0)}, "uyvy": {2, yuv422(1, 0)},
	"yuv422_yuy2": {2, yuv422(0, 1)}, "yuyv": {2, yuv422(0, 1)},
}

func decodeRaw(m *rawImage) (image.Image, error) {
	enc, ok := rawEncodings[m.encoding]
	if !ok {
		if enc, ok = rawEncodings[strings.ToLower(m.encoding)]; !ok {
			return nil, engram.Errorf(engram.Unsupported, rawType, "raw images of encoding %q are not decoded", m.encoding)
		}
	}
	w, h := m.width, m.height
	if err := checkSize(rawType, w, h); err != nil {
		return nil, err
	}
	row := w * enc.bytesPerPixel
	step := m.step
	if step == 0 {
		step = row
	}
	if step < row || len(m.data) < step*(h-1)+row {
		return nil, engram.Errorf(engram.Corrupt, rawType, "%d bytes in rows of %d are too few for %d x %d pixels of %q", len(m.data), step, w, h, m.encoding)
	}
	img, convert := enc.make(image.Rect(0, 0, w, h))
	for y := range h {
		convert(y, m.data[y*step:y*step+row])
	}
	return img, nil
}

type rowConverter = func(bounds image.Rectangle) (image.Image, func(y int, src []byte))

// colours converts pixels of 8-bit channels at the given places; a is -1 where
// there is no alpha.
func colours(r, g, b, a, bytesPerPixel int) rowConverter {
	return func(bounds image.Rectangle) (image.Image, func(int, []byte)) {
		img := image.NewNRGBA(bounds)
		return img, func(y int, src []byte) {
			dst := img.Pix[y*img.Stride : (y+1)*img.Stride]
			for ; len(src) > 0; src, dst = src[bytesPerPixel:], dst[4:] {
				dst[0], dst[1], dst[2], dst[3] = src[r], src[g], src[b], 0xff
				if a >= 0 {
					dst[3] = src[a]
				}
			}
		}
	}
}

func grey8(bounds image.Rectangle) (image.Image, func(int, []byte)) {
	img := image.NewGray(bounds)
	return img, func(y int, src []byte) { copy(img.Pix[y*img.Stride:], src) }
}

func grey16(bounds image.Rectangle) (image.Image, func(int, []byte)) {
	img := image.NewGray16(bounds)
	return img, func(y int, src []byte) {
		for x := range len(src) / 2 {
			img.SetGray16(x, y, color.Gray16{Y: binary.LittleEndian.Uint16(src[2*x:])})
		}
	}
}

// depth32 converts metres to millimetres.
func depth32(bounds image.Rectangle) (image.Image, func(int, []byte)) {
	img := image.NewGray16(bounds)
	return img, func(y int, src []byte) {
		for x := range len(src) / 4 {
			metres := float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*x:])))
			mm := math.Round(metres * 1000)
			if !(mm > 0) || math.IsInf(mm, 1) {
				mm = 0
			}
			img.SetGray16(x, y, color.Gray16{Y: uint16(min(mm, math.MaxUint16))})
		}
	}
}

// yuv422 converts pairs of pixels that share their colour; luma and chroma are the
// places of the first pixel's brightness and of the pair's first colour value.
func yuv422(luma, chroma int) rowConverter {
	return func(bounds image.Rectangle) (image.Image, func(int, []byte)) {
		img := image.NewYCbCr(bounds, image.YCbCrSubsampleRatio422)
		return img, func(y int, src []byte) {
			for x := 0; x < len(src)/2; x++ {
				img.Y[y*img.YStride+x] = src[2*x+luma]
				c := src[2*x+chroma]
				if x%2 == 0 {
					img.Cb[y*img.CStride+x/2] = c
				} else {
					img.Cr[y*img.CStride+x/2] = c
				}
			}
		}
	}
}
