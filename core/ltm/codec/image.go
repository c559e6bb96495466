package codec

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// maxPixels bounds the images that are coded and decoded, those of a snapshot
// together; larger ones stay plain.
const maxPixels = 1 << 26

const (
	rawType        = "foxglove.RawImage"
	compressedType = "foxglove.CompressedImage"
	videoType      = "foxglove.CompressedVideo"
)

// shape says which of the two messages of images a payload's type extends.
type shape uint8

const (
	noImage shape = iota
	rawImage
	compressedImage
)

// The numbers of members.
const (
	stampNumber = 1 // of all images and of video

	rawWidth, rawHeight, rawEncoding, rawStep, rawData, rawFrameID = 2, 3, 4, 5, 6, 7

	compressedData, compressedFormat, compressedFrameID = 2, 3, 4

	videoFrameID, videoData, videoFormat = 2, 3, 4
)

// shapes tells the shapes of types by name.
type shapes struct {
	payload *idf.Type
	types   *idf.Registry
	known   map[string]shape
}

func newShapes(c Config) *shapes {
	return &shapes{c.Payload, c.Types, map[string]shape{rawType: rawImage, compressedType: compressedImage}}
}

var builtIn = idf.NewRegistry()

func (s *shapes) of(name string) shape {
	if sh, ok := s.known[name]; ok {
		return sh
	}
	t := s.payload
	if t == nil || t.Name() != name {
		t = nil
		if s.types != nil {
			t, _ = s.types.Get(name)
		}
	}
	sh := noImage
	if t != nil {
		raw, _ := builtIn.Get(rawType)
		compressed, _ := builtIn.Get(compressedType)
		switch {
		case t.CheckExtends(raw) == nil:
			sh = rawImage
		case t.CheckExtends(compressed) == nil:
			sh = compressedImage
		}
	}
	if len(s.known) < 1000 {
		s.known[name] = sh
	}
	return sh
}

// encoding is how the pixels of a raw image lie in memory.
type encoding struct {
	bytes   int // per pixel
	r, g, b int // offsets of the colours; equal for grey
	alpha   int // offset of alpha, or -1
	ffmpeg  string
	mosaic  bool // neighbours are of different colours: not for lossy codecs
	depth   int  // bytes per value of what is not 8 bits of colour: 2 or 4
}

func (e *encoding) grey() bool { return e.bytes == 1 }

// encodings are the ones that are coded, by ROS's names.
var encodings = map[string]encoding{
	"rgb8": {3, 0, 1, 2, -1, "rgb24", false, 0}, "bgr8": {3, 2, 1, 0, -1, "bgr24", false, 0},
	"8UC3":  {3, 2, 1, 0, -1, "bgr24", false, 0},
	"rgba8": {4, 0, 1, 2, 3, "rgba", false, 0}, "bgra8": {4, 2, 1, 0, 3, "bgra", false, 0},
	"8UC4":  {4, 2, 1, 0, 3, "bgra", false, 0},
	"mono8": {1, 0, 0, 0, -1, "gray", false, 0}, "8UC1": {1, 0, 0, 0, -1, "gray", false, 0},
	"bayer_rggb8": {1, 0, 0, 0, -1, "gray", true, 0}, "bayer_bggr8": {1, 0, 0, 0, -1, "gray", true, 0},
	"bayer_gbrg8": {1, 0, 0, 0, -1, "gray", true, 0}, "bayer_grbg8": {1, 0, 0, 0, -1, "gray", true, 0},
	"mono16": {2, 0, 0, 0, -1, "gray16le", false, 2}, "16UC1": {2, 0, 0, 0, -1, "gray16le", false, 2},
	"16SC1": {2, 0, 0, 0, -1, "gray16le", false, 2},
	"32FC1": {4, 0, 0, 0, -1, "", false, 4}, "32SC1": {4, 0, 0, 0, -1, "", false, 4},
}

// geometry is what a raw image's members say of its pixels.
type geometry struct {
	width, height, step int
	encoding
}

func (g *geometry) rowBytes() int { return g.width * g.bytes }

// valid reports whether the image can be coded and decoded, given the length of its data.
func (g *geometry) valid(data int) bool {
	return g.width > 0 && g.height > 0 && g.width <= 1<<15 && g.height <= 1<<15 &&
		g.width*g.height <= maxPixels && g.bytes > 0 &&
		g.step >= g.rowBytes() && g.step <= 2*g.rowBytes()+4096 &&
		int64(g.step)*int64(g.height) <= 4*maxPixels && g.step*g.height == data
}

// picture is an image in a payload, open for coding.
type picture struct {
	envelope
	shape shape
	geometry
	// pixels are the payload's own bytes; of a compressed image, the file.
	pixels []byte
	file   string      // of a compressed image, "jpeg" or "png"
	image  image.Image // of a compressed image, decoded
}

// openPicture opens the image in a payload. It returns false for what no codec of
// images can give back: that stays plain.
func openPicture(p engram.Payload, shapes *shapes) (pic *picture, ok bool) {
	sh := shapes.of(p.Type)
	dataNumber := protowire.Number(rawData)
	switch sh {
	case noImage:
		return nil, false
	case compressedImage:
		dataNumber = compressedData
	}
	pic = &picture{shape: sh}
	if pic.envelope, pic.pixels, ok = openEnvelope(p, dataNumber); !ok {
		return nil, false
	}
	if sh == rawImage {
		pic.geometry, ok = geometryOf(pic.rest)
		return pic, ok && pic.valid(len(pic.pixels))
	}
	return pic, true
}

// geometryOf reads a raw image's members.
func geometryOf(rest []byte) (g geometry, ok bool) {
	ok = eachField(rest, func(number protowire.Number, typ protowire.Type, value []byte) {
		if typ == protowire.BytesType && number == rawEncoding {
			g.encoding = encodings[string(value)]
		}
		if typ != protowire.Fixed32Type {
			return
		}
		v := int(binary.LittleEndian.Uint32(value))
		switch number {
		case rawWidth:
			g.width = v
		case rawHeight:
			g.height = v
		case rawStep:
			g.step = v
		}
	})
	return g, ok
}

// eachField calls visit with each field and its value: without the length, for
// fields that have one. It returns false if b is not a message.
func eachField(b []byte, visit func(number protowire.Number, typ protowire.Type, value []byte)) bool {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, typ, b); n < 0 {
			return false
		}
		value := b[:n:n]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		visit(number, typ, value)
		b = b[n:]
	}
	return true
}

// exactOnly reports whether the image holds measurements, which no lossy codec is
// for: depth, or the single colours under a sensor's mosaic.
func (p *picture) exactOnly() bool { return p.shape == rawImage && (p.depth > 0 || p.mosaic) }

// cleanPadding reports whether the bytes between rows are zero. What no reader
// looks at is not worth coding, but must not be lost from an exact copy.
func (p *picture) cleanPadding() bool {
	row := p.rowBytes()
	if p.step == row {
		return true
	}
	for y := range p.height {
		for _, v := range p.pixels[y*p.step+row : (y+1)*p.step] {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

// constantAlpha returns the one value that all pixels' alpha has; false if there
// are several.
func (p *picture) constantAlpha() (byte, bool) {
	if p.alpha < 0 {
		return 0, true
	}
	first := p.pixels[p.alpha]
	for y := range p.height {
		row := p.pixels[y*p.step : y*p.step+p.rowBytes()]
		for i := p.alpha; i < len(row); i += p.bytes {
			if row[i] != first {
				return 0, false
			}
		}
	}
	return first, true
}

// decodeFile decodes the JPEG or PNG in a compressed image. It returns false for
// what a lossy codec cannot stand for: other formats, 16 bits, transparency.
func (p *picture) decodeFile() bool {
	var format string
	for f, magic := range map[string]string{"jpeg": "\xff\xd8\xff", "png": "\x89PNG\r\n\x1a\n"} {
		if strings.HasPrefix(string(p.pixels[:min(len(p.pixels), 8)]), magic) {
			format = f
		}
	}
	if format == "" {
		return false
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(p.pixels))
	if err != nil || c.Width <= 0 || c.Height <= 0 || int64(c.Width)*int64(c.Height) > maxPixels {
		return false
	}
	if format == "jpeg" {
		p.image, err = jpeg.Decode(bytes.NewReader(p.pixels))
	} else {
		p.image, err = png.Decode(bytes.NewReader(p.pixels))
	}
	if err != nil {
		return false
	}
	p.width, p.height, p.file = c.Width, c.Height, format
	switch img := p.image.(type) {
	case *image.YCbCr, *image.Gray:
		return true
	case *image.RGBA:
		return img.Opaque()
	case *image.NRGBA, *image.Paletted:
		if o, ok := img.(interface{ Opaque() bool }); !ok || !o.Opaque() {
			return false
		}
		rgba := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
		draw.Draw(rgba, rgba.Rect, p.image, p.image.Bounds().Min, draw.Src)
		p.image = rgba
		return true
	}
	return false
}
