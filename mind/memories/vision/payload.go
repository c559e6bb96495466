package vision

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // formats that CompressedImage may hold
	_ "image/jpeg"
	_ "image/png"
	"strings"

	_ "golang.org/x/image/webp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// maxPixels bounds the images that are decoded.
const maxPixels = 1 << 26

// The types this package decodes.
const (
	rawType        = "foxglove.RawImage"
	compressedType = "foxglove.CompressedImage"
)

// Info says what an image payload holds, without decoding the pixels.
type Info struct {
	Width, Height int    // pixels; 0 if the compressed image's header cannot be read
	Encoding      string // of a raw image, such as "rgb8"
	Format        string // of a compressed image, such as "jpeg"
	FrameID       string
	Bytes         int // of the pixels as they are stored
}

// String returns something like "640x480 jpeg, 49 kB".
func (i Info) String() string {
	size := fmt.Sprintf("%d B", i.Bytes)
	if i.Bytes >= 10_000 {
		size = fmt.Sprintf("%d kB", (i.Bytes+500)/1000)
	}
	return fmt.Sprintf("%dx%d %s%s, %s", i.Width, i.Height, i.Encoding, i.Format, size)
}

// Describe returns what an image payload holds. The error is that of [Decode].
func Describe(p engram.Payload) (Info, error) {
	raw, compressed, err := open(p)
	if err != nil {
		return Info{}, err
	}
	if raw != nil {
		return Info{
			Width: raw.width, Height: raw.height, Encoding: raw.encoding,
			FrameID: raw.frameID, Bytes: len(raw.data),
		}, nil
	}
	info := Info{Format: compressed.format, FrameID: compressed.frameID, Bytes: len(compressed.data)}
	if c, format, err := image.DecodeConfig(bytes.NewReader(withoutDepthHeader(compressed))); err == nil {
		info.Width, info.Height, info.Format = c.Width, c.Height, format
	}
	return info, nil
}

// Decode returns the image in a payload. It shares nothing with the payload.
//
// 16-bit images become image.Gray16 with their values as they are (depth: mm);
// 32-bit floating-point depth (m) becomes image.Gray16 in millimetres, 0 where
// there is no measurement. Bayer patterns are returned as they are, in grey.
//
// The error is Unsupported for other types, encodings and formats, Corrupt for
// damaged payloads and Exhausted for images of over 67 million pixels.
func Decode(p engram.Payload) (image.Image, error) {
	raw, compressed, err := open(p)
	if err != nil {
		return nil, err
	}
	if raw != nil {
		return decodeRaw(raw)
	}
	data := withoutDepthHeader(compressed)
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		if f := strings.ToLower(compressed.format); strings.Contains(f, "avif") || strings.Contains(f, "jxl") {
			return nil, engram.Errorf(engram.Unsupported, p.Type, "images of format %q are not decoded", compressed.format)
		}
		return nil, engram.Errorf(engram.Corrupt, p.Type, "the compressed image of format %q has no header that can be read: %w", compressed.format, err)
	}
	if err := checkSize(p.Type, c.Width, c.Height); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, p.Type, "the %s image is damaged: %w", format, err)
	}
	return img, nil
}

func checkSize(typ string, width, height int) error {
	if width <= 0 || height <= 0 {
		return engram.Errorf(engram.Corrupt, typ, "an image of %d x %d pixels has none", width, height)
	}
	if width > maxPixels/height { // their product may be too large for a number
		return engram.Errorf(engram.Exhausted, typ, "an image of %d x %d pixels is larger than the %d pixels that are decoded", width, height, maxPixels)
	}
	return nil
}

// rawImage is a foxglove.RawImage; its data are the payload's own bytes.
type rawImage struct {
	width, height, step int
	encoding, frameID   string
	data                []byte
}

// compressedImage is a foxglove.CompressedImage; its data are the payload's own
// bytes.
type compressedImage struct {
	format, frameID string
	data            []byte
}

// open reads the message around the pixels without copying them. One of the first
// two results is not nil if the error is.
func open(p engram.Payload) (*rawImage, *compressedImage, error) {
	switch p.Type {
	case rawType:
		var m rawImage
		err := eachField(p.Bytes, func(number protowire.Number, word uint32, b []byte) {
			switch {
			case number == 2 && b == nil:
				m.width = int(word)
			case number == 3 && b == nil:
				m.height = int(word)
			case number == 5 && b == nil:
				m.step = int(word)
			case number == 4 && b != nil:
				m.encoding = string(b)
			case number == 6 && b != nil:
				m.data = b
			case number == 7 && b != nil:
				m.frameID = string(b)
			}
		})
		return &m, nil, err
	case compressedType:
		var m compressedImage
		err := eachField(p.Bytes, func(number protowire.Number, _ uint32, b []byte) {
			switch {
			case b == nil:
			case number == 2:
				m.data = b
			case number == 3:
				m.format = string(b)
			case number == 4:
				m.frameID = string(b)
			}
		})
		return nil, &m, err
	}
	return nil, nil, engram.Errorf(engram.Unsupported, p.Type, "not an image; %s and %s are", rawType, compressedType)
}

// eachField calls visit with each fixed32 field, and with each field of bytes.
func eachField(b []byte, visit func(number protowire.Number, word uint32, bytes []byte)) error {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return engram.Errorf(engram.Corrupt, "", "the image's payload is damaged: %w", protowire.ParseError(n))
		}
		b = b[n:]
		switch n = protowire.ConsumeFieldValue(number, typ, b); {
		case n < 0:
			return engram.Errorf(engram.Corrupt, "", "the image's payload is damaged: %w", protowire.ParseError(n))
		case typ == protowire.Fixed32Type:
			visit(number, binary.LittleEndian.Uint32(b), nil)
		case typ == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b)
			visit(number, 0, v[:len(v):len(v)])
		}
		b = b[n:]
	}
	return nil
}

// withoutDepthHeader returns the compressed file in an image of ROS's
// compressedDepth transport, which puts 12 bytes of quantisation parameters before
// it; other images' data are returned as they are.
func withoutDepthHeader(c *compressedImage) []byte {
	if len(c.data) > 20 && strings.Contains(c.format, "compressedDepth") &&
		binary.BigEndian.Uint64(c.data[12:]) == 0x89504e470d0a1a0a {
		return c.data[12:]
	}
	return c.data
}
