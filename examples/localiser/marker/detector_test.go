package marker_test

import (
	"errors"
	"image"
	"math"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
)

// usual is an ordinary camera.
var usual = render.Sensor{Blur: 1, Noise: 3, Vignetting: 0.3, Seed: 1}

func newDetector(t testing.TB, families ...*marker.Family) *marker.Detector {
	t.Helper()
	d, err := marker.NewDetector(marker.Options{Families: families})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func detect(t testing.TB, d *marker.Detector, img *image.Gray) *marker.Result {
	t.Helper()
	result, err := d.Detect(img)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// One marker after another is found from close to far, head on.
func TestDistances(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	d := newDetector(t, f)
	for _, distance := range []float64{0.25, 0.4, 0.7, 1, 1.5, 2, 2.5} {
		result := detect(t, d, photograph(t, r, &cam, usual, poster(t, f, 17, facing(distance))))
		found, err := result.Find(f, 17)
		if err != nil {
			t.Errorf("at %g m: %v; %v", distance, err, result.Rejections)
			continue
		}
		for i, want := range cornersSeen(&cam, facing(distance)) {
			if miss := math.Hypot(found.Corners[i].U-want.U, found.Corners[i].V-want.V); miss > 0.3 {
				t.Errorf("at %g m corner %d is %.2f pixels off", distance, i, miss)
			}
		}
	}
}

// Light that falls off across the marker, a dim image and a shadow's edge do no harm.
func TestUnevenLight(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	d := newDetector(t, f)
	plain := photograph(t, r, &cam, usual, poster(t, f, 4, facing(0.8)))
	for name, light := range map[string]func(x, y int) float64{
		"falling off": func(x, y int) float64 { return 0.15 + 0.85*min(max(float64(x-250)/140, 0), 1) },
		"dim":         func(x, y int) float64 { return 0.25 },
		"a shadow":    func(x, y int) float64 { return map[bool]float64{true: 0.55, false: 1}[x+y/3 < 390] },
	} {
		img := image.NewGray(plain.Rect)
		for i, p := range plain.Pix {
			img.Pix[i] = uint8(float64(p) * light(i%640, i/640))
		}
		result := detect(t, d, img)
		found, err := result.Find(f, 4)
		if err != nil {
			t.Errorf("%s: %v; %v", name, err, result.Rejections)
			continue
		}
		got, err := marker.Locate(found, edge, &cam, nil)
		if err != nil {
			t.Fatal(err)
		}
		if position, _ := got.Pose.Distance(facing(0.8)); position > 0.005 {
			t.Errorf("%s: the position is off by %g m", name, position)
		}
	}
}

// A marker that the image's edge cuts is no detection, and the reason is told.
func TestCutMarker(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	d := newDetector(t, f)
	for _, beyond := range []pose.Vec3{{X: -320}, {X: 319}, {Y: -240}, {Y: 239}, {X: -310, Y: 230}} {
		for _, turned := range []float64{0, 0.3, 0.8} {
			at := pose.Pose{T: pose.Vec3{X: beyond.X / cam.Fx, Y: beyond.Y / cam.Fy, Z: 1}, R: pose.AxisAngle(pose.Vec3{Z: 1}, turned).Mul(facing(1).R)}
			result := detect(t, d, photograph(t, r, &cam, usual, poster(t, f, 3, at)))
			if got, err := result.Find(f, 3); !errors.Is(err, engram.OutOfRange) {
				t.Errorf("at %v turned by %g: %+v, %v; want out of range; %v", beyond, turned, got, err, result.Rejections)
			}
		}
	}
	result := detect(t, d, photograph(t, r, &cam, usual, poster(t, f, 3, facing(1))))
	if _, err := result.Find(f, 5); !errors.Is(err, engram.NotFound) {
		t.Errorf("a marker that is not there: %v, want not found", err)
	}
}

// Something before a marker's border hides it; nothing else is taken for it.
func TestCoveredMarker(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	d := newDetector(t, f)
	at := facing(1)
	cover := render.Board{Pose: at.Mul(pose.Translation(0.06, 0.06, 0.01)), Width: 0.08, Height: 0.08, Paint: render.Plain(render.Grey(200))}
	result := detect(t, d, photograph(t, r, &cam, usual, poster(t, f, 3, at), cover))
	if len(result.Detections) > 0 {
		t.Errorf("a marker without one of its corners is detected: %+v", result.Detections)
	}
}

// Several families are looked for at once, and every marker is found once.
func TestSeveralMarkers(t *testing.T) {
	cam, r := vga(), &render.Renderer{Background: render.Grey(110)}
	families := []*marker.Family{marker.AprilTag36h11(), marker.ArUco4x4(), marker.ArUcoOriginal()}
	d := newDetector(t, families...)
	var boards []render.Board
	for i := range 12 {
		at := facing(1.5)
		at.T.X, at.T.Y = float64(i%4-2)*0.35+0.15, float64(i/4-1)*0.35
		boards = append(boards, poster(t, families[i%3], 10+i, at))
	}
	result := detect(t, d, photograph(t, r, &cam, usual, boards...))
	for i := range 12 {
		if _, err := result.Find(families[i%3], 10+i); err != nil {
			t.Error(err)
		}
	}
	if len(result.Detections) != 12 {
		t.Errorf("%d markers are detected, want 12", len(result.Detections))
	}
}

// A part of an image has the same markers at the same places, and what is not in it is found
// in the rest.
func TestDetectNear(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	at := facing(1)
	at.T.X = 0.2
	img := photograph(t, r, &cam, usual, poster(t, f, 9, at))
	d := newDetector(t, f)
	found, err := detect(t, d, img).Find(f, 9)
	if err != nil {
		t.Fatal(err)
	}
	whole := *found
	region, err := marker.Region(at, edge, &cam, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []image.Rectangle{region, image.Rect(0, 0, 100, 100), {}} {
		result, err := d.DetectNear(img, part)
		if err != nil {
			t.Fatal(err)
		}
		got, err := result.Find(f, 9)
		if err != nil {
			t.Errorf("looking in %v first: %v", part, err)
			continue
		}
		for i, c := range got.Corners {
			if math.Hypot(c.U-whole.Corners[i].U, c.V-whole.Corners[i].V) > 0.02 {
				t.Errorf("looking in %v first, corner %d is at %v, else at %v", part, i, c, whole.Corners[i])
			}
		}
	}
}

func TestImagesThatAreNone(t *testing.T) {
	d := newDetector(t)
	for name, img := range map[string]*image.Gray{
		"no pixels":      {},
		"too few pixels": {Pix: make([]uint8, 10), Stride: 10, Rect: image.Rect(0, 0, 10, 10)},
	} {
		if _, err := d.Detect(img); !errors.Is(err, engram.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	for _, c := range [][4]int{{0, 1, 0, 3}, {4, 4, 47, 12}, {4, 4, 48, 11}} {
		if _, err := marker.Grey(nil, make([]byte, c[2]), c[0], c[1], c[3]); !errors.Is(err, engram.Invalid) {
			t.Errorf("%v: %v, want invalid", c, err)
		}
	}
	for size := 1; size < 40; size++ { // nothing reaches outside of small images
		img := image.NewGray(image.Rect(0, 0, size, 41-size))
		for i := range img.Pix {
			img.Pix[i] = uint8(i * i * 31)
		}
		detect(t, d, img)
	}
}

// Images of clutter without markers have no detection: less than one in 1,000 images.
func TestClutter(t *testing.T) {
	seed := testkit.Seed(t)
	n := testkit.Repeats(6, 2000)
	all := []*marker.Family{marker.AprilTag36h11(), marker.ArUco4x4(), marker.ArUcoOriginal()}
	for i, f := range all {
		foreign := slices.Delete(slices.Clone(all), i, i+1)
		d := newDetector(t, f)
		found, squares := 0, 0
		for k := range n {
			result := detect(t, d, clutter(seed+uint64(k), foreign))
			for _, d := range result.Detections {
				t.Logf("image %d: %s %d, %d corrected, margin %.2f, contrast %.0f, at %.0f", k, f.Name, d.ID, d.Corrected, d.Margin, d.Contrast, d.Corners[0])
			}
			found += len(result.Detections)
			squares += len(result.Rejections)
		}
		t.Logf("%s: %d false detections in %d images with %d squares", f.Name, found, n, squares)
		if 1000*found >= max(n, 1000) {
			t.Errorf("%s: %d false detections in %d images, want less than one in 1,000", f.Name, found, n)
		}
		if squares < n {
			t.Errorf("%s: the clutter has only %d squares in %d images; it tests nothing", f.Name, squares, n)
		}
	}
}

// A detector that has seen an image of the size needs no memory for the next.
func TestDetectReusesMemory(t *testing.T) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	d := newDetector(t, f)
	img := photograph(t, r, &cam, usual, poster(t, f, 4, facing(1)))
	detect(t, d, img)
	if n := testing.AllocsPerRun(3, func() { detect(t, d, img) }); n > 20 {
		t.Errorf("a detection allocates %g times", n)
	}
}

func BenchmarkDetect(b *testing.B) {
	cam, f, r := vga(), marker.AprilTag36h11(), &render.Renderer{Background: render.Grey(110)}
	for name, img := range map[string]*image.Gray{
		"marker":  photograph(b, r, &cam, usual, poster(b, f, 4, facing(1.5))),
		"clutter": clutter(3, nil),
	} {
		b.Run(name, func(b *testing.B) {
			d := newDetector(b, f)
			for b.Loop() {
				detect(b, d, img)
			}
		})
	}
}

func BenchmarkLocate(b *testing.B) {
	cam := vga()
	d := seen(&cam, pose.Pose{T: pose.Vec3{X: 0.1, Z: 1.5}, R: pose.AxisAngle(pose.Vec3{X: 1}, 0.6).Mul(facing(1).R)})
	for b.Loop() {
		if _, err := marker.Locate(d, edge, &cam, nil); err != nil {
			b.Fatal(err)
		}
	}
}
