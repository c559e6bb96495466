package vision

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// lumaBytes says for the encodings of 8 bits which bytes of a pixel are raised to raise its luma.
var lumaBytes = map[string][]int{
	"rgb8": {0, 1, 2}, "bgr8": {0, 1, 2}, "8uc3": {0, 1, 2}, "rgba8": {0, 1, 2}, "bgra8": {0, 1, 2}, "8uc4": {0, 1, 2},
	"mono8": {0}, "8uc1": {0}, "bayer_rggb8": {0}, "bayer_bggr8": {0}, "bayer_gbrg8": {0}, "bayer_grbg8": {0},
	"yuv422": {1}, "uyvy": {1}, "yuv422_yuy2": {0}, "yuyv": {0},
}

// Brighten returns the payload with another luma: at each pixel, so many levels of 255 higher as by says. Colours keep
// their differences. A raw image keeps its encoding, so that its payload is as long as before; a compressed one is a PNG if
// it was one, else a JPEG. The payload itself stays as it is.
//
// The errors are those of [Decode], and Unsupported for images of 16 bits or more a channel, such as depth.
func Brighten(p engram.Payload, by func(x, y int) float32) (engram.Payload, error) {
	raw, compressed, err := open(p)
	if err != nil {
		return p, err
	}
	if raw != nil {
		return brightenRaw(p, raw, by)
	}
	img, err := Decode(p)
	if err != nil {
		return p, err
	}
	if err := Bits8(p.Type, img); err != nil {
		return p, err
	}
	var b bytes.Buffer
	format := "jpeg"
	if sniff(compressed) == "png" {
		format = "png"
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, brightened(img, by))
	} else {
		err = jpeg.Encode(&b, brightened(img, by), &jpeg.Options{Quality: 95})
	}
	if err != nil {
		return p, engram.Errorf(engram.Internal, p.Type, "%w", err)
	}
	p.Bytes = withField(withField(p.Bytes, 2, b.Bytes()), 3, []byte(format))
	return p, nil
}

// Bits8 returns an Unsupported error for an image of more than 8 bits a channel.
func Bits8(typ string, img image.Image) error {
	switch img.(type) {
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		return engram.Errorf(engram.Unsupported, typ, "images of more than 8 bits a channel, such as depth, are not predicted")
	}
	return nil
}

func brightenRaw(p engram.Payload, m *rawImage, by func(x, y int) float32) (engram.Payload, error) {
	encoding := strings.ToLower(m.encoding)
	of, ok := lumaBytes[encoding]
	if !ok {
		return p, engram.Errorf(engram.Unsupported, rawType, "raw images of encoding %q are not predicted", m.encoding)
	}
	if _, err := decodeRaw(m); err != nil {
		return p, err
	}
	enc, ok := rawEncodings[m.encoding]
	if !ok {
		enc = rawEncodings[encoding]
	}
	size := enc.bytesPerPixel
	step := m.step
	if step == 0 {
		step = m.width * size
	}
	data := bytes.Clone(m.data)
	for y := range m.height {
		row := data[y*step:]
		for x := range m.width {
			d := by(x, y)
			for _, k := range of {
				row[x*size+k] = raised(row[x*size+k], d)
			}
		}
	}
	p.Bytes = withField(p.Bytes, 6, data)
	return p, nil
}

func raised(v uint8, by float32) uint8 { return uint8(max(0, min(255, float32(v)+by+0.5))) }

// brightened returns an image with another luma; it may change img.
func brightened(img image.Image, by func(x, y int) float32) image.Image {
	b := img.Bounds()
	switch img := img.(type) {
	case *image.YCbCr:
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				i := img.YOffset(x, y)
				img.Y[i] = raised(img.Y[i], by(x-b.Min.X, y-b.Min.Y))
			}
		}
		return img
	case *image.Gray:
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				i := img.PixOffset(x, y)
				img.Pix[i] = raised(img.Pix[i], by(x-b.Min.X, y-b.Min.Y))
			}
		}
		return img
	}
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(out, out.Rect, img, b.Min, draw.Src)
	for y := range b.Dy() {
		for x := range b.Dx() {
			d := by(x, y)
			pix := out.Pix[out.PixOffset(x, y):]
			for k := range 3 {
				pix[k] = raised(pix[k], d)
			}
		}
	}
	return out
}

// withField returns an encoded message with other bytes in a field. The message was read before.
func withField(b []byte, number protowire.Number, data []byte) []byte {
	out := make([]byte, 0, len(b)+len(data))
	for len(b) > 0 {
		n, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return out
		}
		size := protowire.ConsumeFieldValue(n, typ, b[tag:])
		if size < 0 {
			return out
		}
		if n != number {
			out = append(out, b[:tag+size]...)
		} else if data != nil {
			out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), data)
			data = nil
		}
		b = b[tag+size:]
	}
	if data != nil {
		out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), data)
	}
	return out
}
