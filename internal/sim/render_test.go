package sim

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/memories/vision"
)

// rendered is one image with what the renderer knows about it.
type rendered struct {
	*renderer
	pix []byte
}

func renderAt(t float64, side int) rendered {
	r := rendered{newRenderer(640, 480), make([]byte, 3*640*480)}
	s := stateAt(t)
	r.render(&s, side, r.pix)
	return r
}

func (r *rendered) at(x, y int) colour {
	i := 3 * (y*r.width + x)
	return colour(r.pix[i : i+3])
}

func alike(a, b colour, tolerance int) bool {
	for i := range a {
		if d := int(a[i]) - int(b[i]); d > tolerance || d < -tolerance {
			return false
		}
	}
	return true
}

// TestStereoDisparity takes pixels of the left image whose depth is known and looks
// for the same colour in the right one, where the disparity f*b/z puts it.
func TestStereoDisparity(t *testing.T) {
	l, r := renderAt(3, left), renderAt(3, right)
	match := func(sign float64) float64 {
		found, all := 0, 0
		for y := 1; y < l.height; y += 3 {
			for x := 1; x < l.width-1; x += 3 {
				z := 1 / float64(l.depth[y*l.width+x])
				u := float64(x) - sign*l.focal*stereoBaseline/z
				c := l.at(x, y)
				if u < 1 || u > float64(l.width-2) || alike(c, l.at(int(math.Round(u)), y), 12) {
					continue // outside, or where any disparity would do
				}
				all++
				if alike(c, r.at(int(math.Round(u)), y), 12) {
					found++
				}
			}
		}
		if all < 2000 {
			t.Fatalf("only %d pixels say something about disparity", all)
		}
		return float64(found) / float64(all)
	}
	if m := match(1); m < 0.75 {
		t.Errorf("%.0f %% of the pixels are where their disparity says", 100*m)
	}
	if m := match(-1); m > 0.3 {
		t.Errorf("with the eyes exchanged %.0f %% of the pixels match; the test shows nothing", 100*m)
	}
}

// TestObjectsAreWhereTheyAre projects each object's middle with a pinhole camera
// and looks at the colour there.
func TestObjectsAreWhereTheyAre(t *testing.T) {
	for _, at := range []float64{0.2, 2.7, 5.5, 13} {
		for side := range sideNames {
			img := renderAt(at, side)
			s := stateAt(at)
			seen := 0
			for i := range objects {
				o := &objects[i]
				p := s.camera(side).Inverse().Apply(s.objects[i].T)
				x, y := int(math.Round(525*p.X/p.Z+319.5)), int(math.Round(525*p.Y/p.Z+239.5))
				if p.Z < 0.2 || x < 20 || x >= 620 || y < 20 || y >= 460 || o.name == "bottle" {
					continue // the bottle's middle has a label
				}
				seen++
				got := img.at(x, y)
				// Shading changes the brightness, not which channels are strong.
				for a := range got {
					for b := range got {
						if int(o.colour[a])-int(o.colour[b]) > 60 && got[a] <= got[b] {
							t.Errorf("at %v s, %s eye: the %s at (%d, %d) has the colour %v, want one like %v", at, sideNames[side], o.name, x, y, got, o.colour)
						}
					}
				}
				if depth := 1 / float64(img.depth[y*640+x]); math.Abs(depth-p.Z) > o.size.Norm() {
					t.Errorf("at %v s: the %s has the depth %v, want about %v", at, o.name, depth, p.Z)
				}
			}
			if seen < 2 {
				t.Errorf("at %v s, %s eye: %d objects in the image", at, sideNames[side], seen)
			}
		}
	}
}

// TestImages checks that every pixel is painted, with light and detail. With
// ENGRAM_SIM_PNG set to a folder it leaves images there to look at.
func TestImages(t *testing.T) {
	robot, err := New(Config{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	for _, tick := range []int{20, 270, 390, 550, 1300} {
		c := robot.Images(tick)
		if len(c.Updates) != 1 || len(c.Updates[0].Instances) != 2 {
			t.Fatalf("tick %d: no stereo pair: %v", tick, c)
		}
		for side, instance := range c.Updates[0].Instances {
			img := renderAt(seconds(tick), side)
			for i, iz := range img.depth {
				if !(iz > 0) {
					t.Fatalf("tick %d: the pixel (%d, %d) is not painted", tick, i%640, i/640)
				}
			}
			colours := map[colour]int{}
			for i := 0; i < len(img.pix); i += 3 {
				colours[colour(img.pix[i:i+3])]++
			}
			if len(colours) < 250 {
				t.Errorf("tick %d: only %d colours", tick, len(colours))
			}
			info, err := vision.Describe(instance.Payload)
			if want := (vision.Info{Width: 640, Height: 480, Encoding: "rgb8", FrameID: "head_camera_" + sideNames[side], Bytes: 640 * 480 * 3}); err != nil || info != want {
				t.Errorf("tick %d: %+v, %v; want %+v", tick, info, err, want)
			}
			if dir := os.Getenv("ENGRAM_SIM_PNG"); dir != "" {
				save(t, filepath.Join(dir, strconv.Itoa(tick)+"-"+sideNames[side]+".png"), instance.Payload)
			}
		}
	}
	for _, tick := range []int{1, 2, 3, 4, 6} {
		if c := robot.Images(tick); len(c.Updates) > 0 {
			t.Errorf("tick %d has an image", tick)
		}
	}
}

func save(t *testing.T, file string, p engram.Payload) {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := vision.Export(f, p, "png"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestClipping looks from places where the floor and the table lie behind the eye,
// beside it and in its plane.
func TestClipping(t *testing.T) {
	r := newRenderer(64, 48)
	pix := make([]byte, 3*64*48)
	for _, z := range []float64{0, 0.05, tableZ, 1.2, 3.9} {
		for turn := range 16 {
			s := stateAt(0)
			s.base.T = xyz(0.3, 0, z-1.5)
			s.joints[neckYaw] = float64(turn) * math.Pi / 8
			s.joints[neckPitch] = float64(turn%5)/2 - 1
			r.render(&s, turn%2, pix) // must not panic or hang
			for _, iz := range r.depth {
				if iz != iz || iz < 0 || float64(iz) > 1/nearPlane+1e-3 {
					t.Fatalf("from %v, turned %d: 1/depth %v", z, turn, iz)
				}
			}
		}
	}
}

func BenchmarkRender(b *testing.B) {
	r := newRenderer(640, 480)
	pix := make([]byte, 3*640*480)
	tick := 0
	lived() // which takes long the first time
	for b.Loop() {
		s := stateAt(seconds(tick % 1400))
		r.render(&s, left, pix)
		tick += imageTicks
	}
}
