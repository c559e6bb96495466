package codec

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"

	"github.com/seed-301d4374/engram"
)

// stillCoder codes images one by one, without ffmpeg.
type stillCoder struct {
	quality float64 // dB
	jpeg    int     // quality 1 … 100 at which the last image was good enough; 0 before the first
	depth   depthCoder
}

// exact codes a picture without loss: colour as PNG, depth in one of the ways of
// depthCoder. It returns false if it cannot.
func (s *stillCoder) exact(p *picture) (*coded, bool) {
	if p.shape != rawImage || !p.cleanPadding() {
		return nil, false
	}
	c := &coded{envelopes: []envelope{p.envelope}}
	if p.depth > 0 {
		c.format, c.data = formatDepth, s.depth.encode(p)
		return c, true
	}
	var err error
	c.format = formatPNG
	c.data, err = encodePNG(&p.geometry, p.pixels)
	return c, err == nil
}

var fastPNG = png.Encoder{CompressionLevel: png.BestSpeed}

func encodePNG(g *geometry, pixels []byte) ([]byte, error) {
	var img image.Image
	rect := image.Rect(0, 0, g.width, g.height)
	if g.grey() {
		img = &image.Gray{Pix: pixels, Stride: g.step, Rect: rect}
	} else {
		rgba := image.NewNRGBA(rect)
		for y := range g.height {
			row, out := pixels[y*g.step:y*g.step+g.rowBytes()], rgba.Pix[y*rgba.Stride:]
			for i := 0; i < len(row); i += g.bytes {
				out[0], out[1], out[2], out[3] = row[i+g.r], row[i+g.g], row[i+g.b], 255
				if g.alpha >= 0 {
					out[3] = row[i+g.alpha]
				}
				out = out[4:]
			}
		}
		img = rgba
	}
	var b bytes.Buffer
	err := fastPNG.Encode(&b, img)
	return b.Bytes(), err
}

// decodePNG writes the pixels of a PNG that encodePNG wrote.
func decodePNG(b []byte, g *geometry, data []byte) error {
	config, err := png.DecodeConfig(bytes.NewReader(b))
	if err == nil && (config.Width != g.width || config.Height != g.height) {
		return engram.Errorf(engram.Corrupt, formatPNG, "it has %d x %d pixels, its image %d x %d", config.Width, config.Height, g.width, g.height)
	}
	var img image.Image
	if err == nil {
		img, err = png.Decode(bytes.NewReader(b))
	}
	if err != nil {
		return engram.Errorf(engram.Corrupt, formatPNG, "a coded image of %d bytes is damaged: %w", len(b), err)
	}
	switch img := img.(type) {
	case *image.Gray:
		if !g.grey() {
			break
		}
		for y := range g.height {
			copy(data[y*g.step:], img.Pix[y*img.Stride:y*img.Stride+g.width])
		}
		return nil
	case *image.RGBA:
		return g.fromRGBA(data, img.Pix, img.Stride)
	case *image.NRGBA:
		return g.fromRGBA(data, img.Pix, img.Stride)
	}
	return engram.Errorf(engram.Corrupt, formatPNG, "it has other colours than the image it stands for")
}

func (g *geometry) fromRGBA(data, pix []byte, stride int) error {
	if g.grey() || g.depth > 0 {
		return engram.Errorf(engram.Corrupt, formatPNG, "it has colours, the image it stands for has none")
	}
	for y := range g.height {
		row, in := data[y*g.step:y*g.step+g.rowBytes()], pix[y*stride:]
		for i := 0; i < len(row); i += g.bytes {
			row[i+g.r], row[i+g.g], row[i+g.b] = in[0], in[1], in[2]
			if g.alpha >= 0 {
				row[i+g.alpha] = in[3]
			}
			in = in[4:]
		}
	}
	return nil
}

// maxJPEG is the best quality that is tried; beyond it an exact codec takes less.
const maxJPEG = 98

// lossy codes a picture as JPEG of the least size that is good enough, or exactly
// where that takes less or no JPEG is good enough. It returns false if it cannot.
func (s *stillCoder) lossy(p *picture) (*coded, bool) {
	if p.exactOnly() {
		return s.exact(p)
	}
	if p.shape == compressedImage && p.image == nil && !p.decodeFile() {
		return nil, false
	}
	alpha, ok := byte(0), true
	if p.shape == rawImage {
		if alpha, ok = p.constantAlpha(); !ok {
			return s.exact(p)
		}
	}
	planes, _ := planesOf(1, p.width, p.height, image.YCbCrSubsampleRatio420)
	p.fill(planes, 0, planes.Rect.Dx())
	planes = view(planes, 0, p.width, p.height)
	data := s.encodeJPEG(planes)
	if p.shape == compressedImage && (data == nil || len(data) >= len(p.pixels)) {
		return nil, false // the file is as small
	}
	if data == nil {
		return s.exact(p)
	}
	c := &coded{format: formatJPEG, data: data, envelopes: []envelope{p.envelope}, width: p.width, height: p.height}
	if p.shape == rawImage && p.alpha >= 0 {
		c.alpha = []byte{alpha}
	}
	return c, true
}

// encodeJPEG finds the least quality that gives the PSNR asked for, near that of
// the image before; nil if there is none.
func (s *stillCoder) encodeJPEG(planes *image.YCbCr) []byte {
	try := func(q int) ([]byte, float64) {
		var b bytes.Buffer
		if jpeg.Encode(&b, planes, &jpeg.Options{Quality: q}) != nil {
			return nil, 0
		}
		img, err := jpeg.Decode(bytes.NewReader(b.Bytes()))
		if err != nil {
			return nil, 0
		}
		back, ok := img.(*image.YCbCr)
		if !ok {
			return nil, 0
		}
		return b.Bytes(), psnr(planes, back)
	}
	if s.jpeg > 0 {
		b, db := try(s.jpeg)
		switch {
		case db >= s.quality+1 && s.jpeg > 1:
			s.jpeg-- // for the next image
			return b
		case db >= s.quality:
			return b
		}
	}
	// PSNR rises with the quality, nearly.
	var best []byte
	low, high := max(s.jpeg, 1), maxJPEG
	for low <= high {
		mid := (low + high) / 2
		if b, db := try(mid); db >= s.quality {
			best, high = b, mid-1
			s.jpeg = mid
		} else {
			low = mid + 1
		}
	}
	return best
}

// decodeStill returns the payload that a still image stands for.
func decodeStill(c *coded) (engram.Payload, error) {
	if len(c.envelopes) != 1 {
		return engram.Payload{}, engram.Errorf(engram.Corrupt, c.format, "a still image stands for %d", len(c.envelopes))
	}
	e := &c.envelopes[0]
	if c.format == formatJPEG {
		config, err := jpeg.DecodeConfig(bytes.NewReader(c.data))
		if err == nil && (config.Width != c.width || config.Height != c.height || int64(c.width)*int64(c.height) > maxPixels) {
			return engram.Payload{}, engram.Errorf(engram.Corrupt, c.format, "it has %d x %d pixels, its image %d x %d", config.Width, config.Height, c.width, c.height)
		}
		var img image.Image
		if err == nil {
			img, err = jpeg.Decode(bytes.NewReader(c.data))
		}
		planes, ok := img.(*image.YCbCr)
		if err != nil || !ok {
			return engram.Payload{}, engram.Errorf(engram.Corrupt, c.format, "a coded image of %d bytes is damaged: %v", len(c.data), err)
		}
		if e.dataNumber == compressedData && !isPNG(e) {
			return e.payload(c.data), nil
		}
		return e.paint(c, 0, planes)
	}
	g, ok := geometryOf(e.rest)
	if !ok || e.dataNumber != rawData || !g.valid(g.step*g.height) {
		return engram.Payload{}, engram.Errorf(engram.Corrupt, c.format, "the size or encoding of the image that it stands for is damaged")
	}
	b, data := e.open(g.step * g.height)
	var err error
	switch {
	case c.format == formatDepth && g.depth > 0:
		err = decodeDepth(c.data, &g, data)
	case c.format == formatPNG && g.depth == 0:
		err = decodePNG(c.data, &g, data)
	default:
		err = engram.Errorf(engram.Unsupported, c.format, "images of this format are not decoded")
	}
	return engram.Payload{Type: e.typ, Bytes: b}, err
}

// isPNG reports whether a compressed image was committed as PNG.
func isPNG(e *envelope) bool {
	return bytes.Contains(bytes.ToLower(e.stringField(compressedFormat)), []byte("png"))
}

// paint returns the payload of picture i of a frame, from its view of the planes.
func (e *envelope) paint(c *coded, i int, planes *image.YCbCr) (engram.Payload, error) {
	if e.dataNumber == compressedData {
		data, err := compress(planes, isPNG(e))
		return e.payload(data), err
	}
	g, ok := geometryOf(e.rest)
	if !ok || !g.valid(g.step*g.height) || g.width != c.width || g.height != c.height || g.depth > 0 {
		return engram.Payload{}, engram.Errorf(engram.Corrupt, c.format, "the size or encoding of the image that it stands for is damaged")
	}
	var alpha byte
	if i < len(c.alpha) {
		alpha = c.alpha[i]
	}
	b, data := e.open(g.step * g.height)
	g.paint(data, planes, alpha)
	return engram.Payload{Type: e.typ, Bytes: b}, nil
}

// recompressed is the quality of the JPEGs that stand for committed ones that were
// stored as video: good enough to add little to what the video lost.
const recompressed = 96

// recompressedMargin is how much better such video is coded for that, in dB.
const recompressedMargin = 1

// compress returns the file of an image that was committed as one.
func compress(planes *image.YCbCr, asPNG bool) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if asPNG {
		g := geometry{planes.Rect.Dx(), planes.Rect.Dy(), 3 * planes.Rect.Dx(), encodings["rgb8"]}
		pixels := make([]byte, g.step*g.height)
		g.paint(pixels, planes, 0)
		var data []byte
		data, err = encodePNG(&g, pixels)
		return data, err
	}
	err = jpeg.Encode(&b, planes, &jpeg.Options{Quality: recompressed})
	return b.Bytes(), err
}
