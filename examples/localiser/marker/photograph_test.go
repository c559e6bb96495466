package marker_test

import (
	"flag"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/examples/localiser/marker"
)

var photographs = flag.String("photographs", "", "a folder of photographs, JPEG or PNG; beside each name.jpg name.txt has a line for each marker to be found in it, such as 'tag36h11 12'")

// In photographs the markers that are listed beside them are found, and no others.
func TestPhotographs(t *testing.T) {
	if *photographs == "" {
		t.Skip("there are no photographs; give their folder with -photographs")
	}
	files, err := filepath.Glob(filepath.Join(*photographs, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no lists of markers: %v", *photographs, err)
	}
	families := []*marker.Family{marker.AprilTag36h11(), marker.ArUco4x4(), marker.ArUcoOriginal()}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			list, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for line := range strings.Lines(string(list)) {
				want = append(want, strings.TrimSpace(line))
			}
			used := slices.DeleteFunc(slices.Clone(families), func(f *marker.Family) bool { return !strings.Contains(string(list), f.Name) })
			result := detect(t, newDetector(t, used...), openGrey(t, strings.TrimSuffix(file, ".txt")))
			for _, d := range result.Detections {
				got = append(got, fmt.Sprintf("%s %d", d.Family.Name, d.ID))
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("found %q, want %q; rejected %v", got, want, result.Rejections)
			}
		})
	}
}

// openGrey reads the image of that name with one of the usual endings.
func openGrey(t *testing.T, name string) *image.Gray {
	t.Helper()
	for _, ending := range []string{".jpg", ".jpeg", ".png"} {
		file, err := os.Open(name + ending)
		if err != nil {
			continue
		}
		defer file.Close()
		img, _, err := image.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		grey := image.NewGray(img.Bounds())
		draw.Draw(grey, grey.Rect, img, grey.Rect.Min, draw.Src)
		return grey
	}
	t.Fatalf("there is no image %s.jpg or .png", name)
	return nil
}
