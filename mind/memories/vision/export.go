package vision

import (
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Export writes the image in a payload as a file of the format "png" or "jpeg"
// ("jpg"); a file's ending such as ".png" is understood too. The empty format takes
// the one the payload has, PNG for raw images. A compressed image that is of the
// format already is written as it is, without loss. 16-bit images lose their lower
// bits in a JPEG.
//
// The errors are those of [Decode], Unsupported for another format, and w's.
func Export(w io.Writer, p engram.Payload, format string) error {
	format = formatName(format)
	_, compressed, err := open(p)
	if err != nil {
		return err
	}
	if compressed != nil && (format == "" || sniff(compressed) == format) {
		_, err := w.Write(withoutDepthHeader(compressed))
		return err
	}
	img, err := Decode(p)
	if err != nil {
		return err
	}
	switch format {
	case "", "png":
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		return encoder.Encode(w, forPNG(img))
	case "jpeg":
		return jpeg.Encode(w, img, &jpeg.Options{Quality: 95})
	}
	return engram.Errorf(engram.Unsupported, format, "images are written as png or jpeg")
}

// forPNG returns the image in a form that PNG has. The encoder would write every
// other one, such as a JPEG's YCbCr, with 16 bits per channel.
func forPNG(img image.Image) image.Image {
	switch img.(type) {
	case *image.YCbCr, *image.CMYK:
		// Both are opaque and have 8 bits per channel.
		rgba := image.NewRGBA(img.Bounds())
		draw.Draw(rgba, rgba.Rect, img, rgba.Rect.Min, draw.Src)
		return rgba
	}
	return img
}

func formatName(format string) string {
	format = strings.ToLower(strings.TrimPrefix(format, "."))
	if format == "jpg" {
		return "jpeg"
	}
	return format
}

// sniff returns the format that the data begin with, or "".
func sniff(c *compressedImage) string {
	data := string(withoutDepthHeader(c))
	switch {
	case strings.HasPrefix(data, "\xff\xd8\xff"):
		return "jpeg"
	case strings.HasPrefix(data, "\x89PNG\r\n\x1a\n"):
		return "png"
	}
	return ""
}
