package mcp

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/image/draw"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories/vision"
)

// Bounds of images in answers; what is larger is made smaller.
const (
	mostImages  = 4
	imagePixels = 1024      // of the longer side
	imageBytes  = 512 << 10 // as a file
	wholeBytes  = 8 << 20   // of one that is read as a resource
)

// imageInfo says what an image is.
type imageInfo struct {
	Text    string `json:"text" jsonschema:"size, encoding and bytes as they are stored"`
	Frame   string `json:"frame,omitempty" jsonschema:"coordinate frame of the camera"`
	Shown   string `json:"shown,omitempty" jsonschema:"how it is shown here; nothing if it is not"`
	Reduced bool   `json:"reduced,omitempty" jsonschema:"it is shown smaller than it is stored"`
	Error   string `json:"error,omitempty" jsonschema:"why it is not shown"`
}

func isImage(typ string) bool {
	return slices.Contains([]string{"foxglove.RawImage", "foxglove.CompressedImage"}, typ)
}

// image returns what is told of an image, and the image if it can be shown.
func (p *page) image(payload engram.Payload) (*imageInfo, *sdk.ImageContent) {
	info, err := vision.Describe(payload)
	if err != nil {
		return &imageInfo{Text: "an image", Error: err.Error()}, nil
	}
	out := &imageInfo{Text: info.String(), Frame: info.FrameID}
	if p.images == 0 {
		out.Error = "there is no room for more images in this answer; read uri, or ask for fewer snapshots"
		return out, nil
	}
	if (info.Format == "jpeg" || info.Format == "png") && info.Bytes <= imageBytes && max(info.Width, info.Height) <= imagePixels && info.Width > 0 {
		var b bytes.Buffer
		if err := vision.Export(&b, payload, info.Format); err == nil {
			p.images--
			out.Shown = "as it is stored"
			return out, &sdk.ImageContent{Data: b.Bytes(), MIMEType: "image/" + info.Format}
		}
	}
	img, err := vision.Decode(payload)
	if err != nil {
		out.Error = err.Error()
		return out, nil
	}
	data, mime, shown, err := forScreen(img)
	if err != nil {
		out.Error = err.Error()
		return out, nil
	}
	p.images--
	size := img.Bounds().Size()
	out.Shown, out.Reduced = shown, max(size.X, size.Y) > imagePixels
	return out, &sdk.ImageContent{Data: data, MIMEType: mime}
}

// forScreen returns an image as a file that agents understand, and says how.
func forScreen(img image.Image) (data []byte, mime, shown string, err error) {
	var b bytes.Buffer
	if deep, ok := img.(*image.Gray16); ok {
		mime, shown = "image/png", "16-bit values, such as depth in mm, from black (smallest) to white (largest); black also where there is none"
		err = png.Encode(&b, reduced(stretched(deep)))
		return b.Bytes(), mime, shown, err
	}
	small := reduced(img)
	for _, quality := range []int{85, 60, 30} {
		b.Reset()
		if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: quality}); err != nil {
			return nil, "", "", err
		}
		if b.Len() <= imageBytes {
			break
		}
	}
	return b.Bytes(), "image/jpeg", "as a JPEG", nil
}

// reduced makes an image fit.
func reduced(img image.Image) image.Image {
	size := img.Bounds().Size()
	longest := max(size.X, size.Y)
	if longest <= imagePixels {
		return img
	}
	to := image.Rect(0, 0, max(1, size.X*imagePixels/longest), max(1, size.Y*imagePixels/longest))
	var small draw.Image = image.NewRGBA(to)
	if _, ok := img.(*image.Gray); ok {
		small = image.NewGray(to)
	}
	draw.ApproxBiLinear.Scale(small, to, img, img.Bounds(), draw.Src, nil)
	return small
}

// stretched shows 16-bit values in 8 bits: 0, which is none, stays black.
func stretched(deep *image.Gray16) *image.Gray {
	low, high := uint16(0xffff), uint16(0)
	size := deep.Bounds().Size()
	at := func(x, y int) uint16 { return deep.Gray16At(deep.Rect.Min.X+x, deep.Rect.Min.Y+y).Y }
	for y := range size.Y {
		for x := range size.X {
			if v := at(x, y); v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	out := image.NewGray(image.Rect(0, 0, size.X, size.Y))
	for y := range size.Y {
		for x := range size.X {
			if v := at(x, y); v > 0 {
				out.SetGray(x, y, color.Gray{Y: uint8(32 + 223*int(v-low)/max(int(high-low), 1))})
			}
		}
	}
	return out
}
