package marker_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/pose"
)

// front renders a marker straight ahead, moved sideways by so much and tilted.
func front(t testing.TB, f *marker.Family, id int, size float64, at pose.Vec3, tilt float64) (*image.Gray, pose.Pose) {
	t.Helper()
	bits, err := f.Bits(id)
	if err != nil {
		t.Fatal(err)
	}
	camera := pose.Pose{R: sim.LookingFrom(pose.Vec3{}, pose.Vec3{X: 1}).R}
	truth := pose.Pose{T: at, R: pose.AxisAngle(pose.Vec3{Y: 1}, tilt).Mul(pose.AxisAngle(pose.Vec3{X: 1}, math.Pi))}
	scene := sim.Scene{Markers: []sim.Marker{{Pose: camera.Mul(truth), Size: size, Bits: bits}}}
	p := scene.Render(sim.SceneCamera{Pose: camera, Width: 640, Height: 480, Focal: 525, Blur: 0.6, Noise: 2, Seed: 3})
	return marker.Grey(rgb(p.RGB, 640, 480)), truth
}

// wantPose checks that one marker was found where it is.
func wantPose(t *testing.T, found []marker.Detection, err error, id int, truth pose.Pose, metres, degrees float64) {
	t.Helper()
	if err != nil || len(found) != 1 || found[0].ID != id {
		t.Fatalf("found %+v, %v; want marker %d", found, err, id)
	}
	far, turned := found[0].Pose.Distance(truth)
	if far > metres || turned*180/math.Pi > degrees {
		t.Errorf("off by %.4f m and %.2f°", far, turned*180/math.Pi)
	}
}

// A marker that the border cuts gives no detection, but an error that says where.
func TestCutMarker(t *testing.T) {
	for border, at := range map[string]pose.Vec3{
		"left": {X: -0.9, Z: 1.5}, "right": {X: 0.93, Y: 0.1, Z: 1.5}, "top": {Y: -0.68, Z: 1.5}, "bottom": {X: 0.2, Y: 0.7, Z: 1.5},
	} {
		for _, f := range marker.Families() {
			img, _ := front(t, f, 3, 0.2, at, 0.3)
			found, err := marker.Detect(img, camera640, f, 0.2)
			if len(found) > 0 || engram.CodeOf(err) != engram.OutOfRange {
				t.Errorf("%s cut at the %s: %+v, %v", f, border, found, err)
				continue
			}
			d := marker.Detector{Camera: camera640, Families: []*marker.Family{f}, Size: func(*marker.Family, int) (float64, bool) { return 0.2, true }}
			_, cut, err := d.Detect(img)
			if err != nil || len(cut) != 1 || cut[0].Border != border {
				t.Errorf("%s cut at the %s: %+v, %v", f, border, cut, err)
			}
		}
	}
	// A dark thing at the border is no marker.
	scene := sim.Scene{Boxes: []sim.Box{{Pose: pose.Translation(1.5, 0.9, 0), Size: pose.Vec3{X: 0.2, Y: 0.2, Z: 0.2}, Colour: [3]uint8{20, 20, 20}}}}
	p := scene.Render(sim.SceneCamera{Pose: sim.LookingFrom(pose.Vec3{}, pose.Vec3{X: 1}), Width: 640, Height: 480, Focal: 525})
	if found, err := marker.Detect(rgb(p.RGB, 640, 480), camera640, marker.Tag36h11, 0.2); err != nil || len(found) > 0 {
		t.Errorf("a dark box: %v, %v", found, err)
	}
}

func TestBadInput(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 640, 480))
	lens := camera640
	lens.Model = "fish"
	none := camera640
	none.FX = 0
	nan := camera640
	nan.CX = math.NaN()
	many := camera640
	many.Model, many.Distortion = "plumb_bob", make([]float64, 8)
	many.Distortion[7] = 1
	for name, c := range map[string]struct {
		img  image.Image
		cam  marker.Camera
		size float64
		want engram.Code
	}{
		"an image of another size": {image.NewGray(image.Rect(0, 0, 320, 240)), camera640, 0.1, engram.Invalid},
		"no focal length":          {img, none, 0.1, engram.Invalid},
		"no number":                {img, nan, 0.1, engram.Invalid},
		"a lens nobody knows":      {img, lens, 0.1, engram.Unsupported},
		"too many parameters":      {img, many, 0.1, engram.Invalid},
		"no size":                  {img, camera640, 0, engram.Invalid},
	} {
		if _, err := marker.Detect(c.img, c.cam, marker.Tag36h11, c.size); engram.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := marker.Tag36h11.Bits(587); engram.CodeOf(err) != engram.OutOfRange {
		t.Error(err)
	}
	if _, err := marker.FamilyOf("qr"); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	for _, size := range []image.Rectangle{image.Rect(0, 0, 1, 1), image.Rect(0, 0, 2, 500), image.Rect(0, 0, 17, 3)} {
		c := marker.Camera{Width: size.Dx(), Height: size.Dy(), FX: 100, FY: 100}
		if found, err := marker.Detect(image.NewGray(size), c, marker.Tag36h11, 0.1); err != nil || len(found) > 0 {
			t.Errorf("%v: %v, %v", size, found, err)
		}
	}
}

// light changes each pixel of an image by a factor of its place.
func light(img *image.Gray, factor func(x, y float64) float64) *image.Gray {
	out := image.NewGray(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			v := float64(img.Pix[y*img.Stride+x]) * factor(float64(x), float64(y))
			out.Pix[y*out.Stride+x] = uint8(min(max(v+0.5, 0), 255))
		}
	}
	return out
}

// Light is seldom even: shadows with hard edges, darkness, lamps at one side.
func TestUnevenLight(t *testing.T) {
	for name, factor := range map[string]func(x, y float64) float64{
		"dark":               func(_, _ float64) float64 { return 0.12 },
		"bright":             func(_, _ float64) float64 { return 1.6 },
		"a lamp at one side": func(x, y float64) float64 { return 1.3 * math.Exp(-math.Abs(x-250)/120) },
		"a hard shadow": func(x, y float64) float64 {
			if x+0.4*y > 415 {
				return 0.35
			}
			return 1.1
		},
		"blinds": func(x, y float64) float64 {
			if int(x+y)/20%2 == 0 {
				return 0.45
			}
			return 1
		},
	} {
		for _, f := range marker.Families() {
			img, truth := front(t, f, 11, 0.2, pose.Vec3{Z: 1.2}, 0.5)
			found, err := marker.Detect(light(img, factor), camera640, f, 0.2)
			t.Run(name+" "+f.String(), func(t *testing.T) { wantPose(t, found, err, 11, truth, 0.01, 2) })
		}
	}
}

// A lens bends lines: the image is made by its own model, and read by it.
func TestLens(t *testing.T) {
	for _, c := range []struct {
		model string
		d     []float64
	}{
		{"plumb_bob", []float64{-0.28, 0.09, 0.001, -0.0008, 0}},
		{"rational_polynomial", []float64{0.3, -0.1, 0.0004, 0.0002, 0.01, 0.62, -0.04, 0.02}},
		{"kannala_brandt", []float64{-0.02, 0.01, -0.005, 0.001}},
	} {
		camera := camera640
		camera.Model, camera.Distortion = c.model, c.d
		for _, p := range []pose.Vec3{{X: 0.4, Y: 0.25, Z: 1}, {X: -0.42, Y: -0.28, Z: 1}} {
			flat, truth := front(t, marker.Tag36h11, 20, 0.2, p, 0.4)
			bent := image.NewGray(flat.Rect)
			for y := range 480 {
				for x := range 640 {
					r := camera.Ray(float64(x), float64(y))
					u, v := 525*r.X+319.5, 525*r.Y+239.5
					x0, y0 := int(math.Floor(u)), int(math.Floor(v))
					if x0 < 0 || y0 < 0 || x0 >= 639 || y0 >= 479 {
						continue
					}
					at := func(dx, dy int) float64 { return float64(flat.Pix[(y0+dy)*flat.Stride+x0+dx]) }
					fx, fy := u-float64(x0), v-float64(y0)
					bent.Pix[y*bent.Stride+x] = uint8((at(0, 0)*(1-fx)+at(1, 0)*fx)*(1-fy) + (at(0, 1)*(1-fx)+at(1, 1)*fx)*fy + 0.5)
				}
			}
			found, err := marker.Detect(bent, camera, marker.Tag36h11, 0.2)
			wantPose(t, found, err, 20, truth, 0.005, 1)
			r := camera.Ray(600, 30)
			if x, y, ok := camera.Project(r.Scale(2)); !ok || math.Hypot(x-600, y-30) > 1e-3 {
				t.Errorf("%s: the ray of (600, 30) is seen at (%.3f, %.3f)", c.model, x, y)
			}
		}
	}
}

// A flat marker looks alike at two poses: the true one is the best or the other.
func TestAmbiguity(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	unsure := 0
	for range 20 {
		s := look(t, rnd, view{marker.Aruco4x4, 5, 0.05, 1.5, 0.4, 0.7, 4})
		found, err := marker.Detect(s.image, camera640, marker.Aruco4x4, 0.05)
		if err != nil || len(found) == 0 {
			continue
		}
		d := found[0]
		_, best := d.Pose.Distance(s.truth)
		other := math.Inf(1)
		if d.OtherProbability > 0 {
			_, other = d.Other.Distance(s.truth)
		}
		if d.OtherProbability > 0.01 {
			unsure++
		}
		if best > other && d.OtherProbability < 0.01 {
			t.Errorf("off by %.1f°, the other pose by %.1f°, of probability %.4f", best*57.3, other*57.3, d.OtherProbability)
		}
	}
	if unsure == 0 {
		t.Error("a marker of 17 pixels is never ambiguous; the test shows nothing")
	}
}
