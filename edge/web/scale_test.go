package web

import (
	"image"
	"runtime"
	"testing"
)

// An image is made smaller row by row: beside what is answered hardly anything is kept.
func TestScalingNeedsNoSecondImage(t *testing.T) {
	const side = 1000
	for name, img := range map[string]image.Image{
		"deep": image.NewNRGBA64(image.Rect(0, 0, side, side)), "grey": image.NewGray(image.Rect(0, 0, side, side)),
		"colour": image.NewYCbCr(image.Rect(0, 0, side, side), image.YCbCrSubsampleRatio420),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		look{width: side - 1}.fit(img, "", new(about))
		runtime.ReadMemStats(&after)
		if perPixel := float64(after.TotalAlloc-before.TotalAlloc) / (side * side); perPixel > 4.5 {
			t.Errorf("%s: %.1f bytes for each pixel", name, perPixel)
		}
	}
}
