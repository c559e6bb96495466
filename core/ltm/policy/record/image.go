package record

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/jpeg" // formats that CompressedImage may hold
	_ "image/png"
	"math"
	"strings"

	_ "golang.org/x/image/webp"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	thumbnailSize = 64
	// maxPixels bounds the compressed images that are decoded to be compared.
	maxPixels = 1 << 26
)

// thumbnail is the mean luminance of 64x64 parts of an image.
type thumbnail [thumbnailSize * thumbnailSize]uint8

// difference returns the mean absolute difference of luminance, of 255.
func (t *thumbnail) difference(o *thumbnail) float64 {
	sum := 0
	for i, a := range t {
		d := int(a) - int(o[i])
		sum += max(d, -d)
	}
	return float64(sum) / float64(len(t))
}

// thumbnailOf makes a thumbnail of an encoded foxglove.RawImage or CompressedImage:
// of raw ones from some pixels of each part, without looking at the rest. ok is
// false for images that are not understood.
func thumbnailOf(b []byte) (t thumbnail, ok bool) {
	var data, text []byte
	var numbers [8]uint64
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return t, false
		}
		b = b[n:]
		switch {
		case typ == protowire.BytesType:
			v, m := protowire.ConsumeBytes(b)
			switch {
			case m < 0:
				return t, false
			case num == 6, num == 2: // of a raw and of a compressed image
				data = v
			case num == 4, num == 3: // encoding, format
				text = v
			}
		case typ == protowire.Fixed32Type && num < 8:
			v, _ := protowire.ConsumeFixed32(b)
			numbers[num] = uint64(v)
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return t, false
		}
		b = b[n:]
	}
	width, height, step := numbers[2], numbers[3], numbers[5]
	if width == 0 && height == 0 {
		return decodedThumbnail(data)
	}
	return rawThumbnail(data, string(text), width, height, step)
}

// pixel says how luminance is read from a raw image's pixel.
type pixel struct {
	size    int
	read    func(p []byte) float64
	highest bool // values of any range, which are scaled by the highest
}

func pixelOf(encoding string) (p pixel, ok bool) {
	rgb := func(r, g, b int) func([]byte) float64 {
		return func(p []byte) float64 { return 0.299*float64(p[r]) + 0.587*float64(p[g]) + 0.114*float64(p[b]) }
	}
	first := func(p []byte) float64 { return float64(p[0]) }
	word := func(p []byte) float64 { return float64(binary.LittleEndian.Uint16(p)) }
	switch e := strings.ToLower(encoding); e {
	case "rgb8", "8uc3":
		return pixel{3, rgb(0, 1, 2), false}, true
	case "bgr8":
		return pixel{3, rgb(2, 1, 0), false}, true
	case "rgba8", "8uc4":
		return pixel{4, rgb(0, 1, 2), false}, true
	case "bgra8":
		return pixel{4, rgb(2, 1, 0), false}, true
	case "mono8", "8uc1":
		return pixel{1, first, false}, true
	case "yuyv", "yuv422_yuy2":
		return pixel{2, first, false}, true
	case "uyvy", "yuv422":
		return pixel{2, func(p []byte) float64 { return float64(p[1]) }, false}, true
	case "mono16", "16uc1", "16sc1":
		return pixel{2, word, true}, true
	case "32fc1":
		return pixel{4, func(p []byte) float64 {
			if x := float64(math.Float32frombits(binary.LittleEndian.Uint32(p))); x > 0 && x < math.MaxFloat32 {
				return x
			}
			return 0
		}, true}, true
	default:
		if strings.HasPrefix(e, "bayer_") && strings.HasSuffix(e, "8") {
			return pixel{1, first, false}, true
		}
	}
	return pixel{}, false
}

// depthRange is what counts as white in images without a range: 10 m in mm or m.
const depthRange, depthRangeMetres = 10_000, 10

func rawThumbnail(data []byte, encoding string, width, height, step uint64) (t thumbnail, ok bool) {
	p, ok := pixelOf(encoding)
	if !ok || width == 0 || height == 0 || width > maxPixels || height > maxPixels {
		return t, false
	}
	if step == 0 {
		step = width * uint64(p.size)
	}
	if step < width*uint64(p.size) || step > math.MaxInt32 || (height-1)*step+width*uint64(p.size) > uint64(len(data)) {
		return t, false
	}
	scale := 1.0
	if p.highest {
		scale = 255.0 / depthRange
		if p.size == 4 {
			scale = 255.0 / depthRangeMetres
		}
	}
	t.fill(int(width), int(height), func(x, y int) float64 {
		return min(p.read(data[y*int(step)+x*p.size:])*scale, 255)
	})
	return t, true
}

// fill takes the mean of up to 4x4 pixels of each part.
func (t *thumbnail) fill(width, height int, luminance func(x, y int) float64) {
	var columns, rows [thumbnailSize * 4]int
	for i := range columns {
		columns[i] = (2*i + 1) * width / (2 * len(columns))
		rows[i] = (2*i + 1) * height / (2 * len(rows))
	}
	for v := range thumbnailSize {
		for u := range thumbnailSize {
			sum := 0.0
			for dy := range 4 {
				for dx := range 4 {
					sum += luminance(columns[4*u+dx], rows[4*v+dy])
				}
			}
			t[v*thumbnailSize+u] = uint8(sum/16 + 0.5)
		}
	}
}

func decodedThumbnail(data []byte) (t thumbnail, ok bool) {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return t, false
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return t, false
	}
	b := img.Bounds()
	luminance := func(x, y int) float64 {
		r, g, b, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
		return (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 257
	}
	switch img := img.(type) {
	case *image.YCbCr:
		luminance = func(x, y int) float64 { return float64(img.Y[img.YOffset(b.Min.X+x, b.Min.Y+y)]) }
	case *image.Gray:
		luminance = func(x, y int) float64 { return float64(img.GrayAt(b.Min.X+x, b.Min.Y+y).Y) }
	}
	t.fill(b.Dx(), b.Dy(), luminance)
	return t, true
}
