package render_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/mind/pose"
)

// small is a camera of 64 × 48 pixels with a focal length of 50.
var small = camera.Camera{Width: 64, Height: 48, Fx: 50, Fy: 50, Cx: 31.5, Cy: 23.5}

// facing turns a board towards a camera that looks along z, upright in its image.
var facing = pose.AxisAngle(pose.Vec3{X: 1}, math.Pi)

func draw(s render.Sensor, boards ...render.Board) *render.Image {
	return (&render.Renderer{Background: render.Grey(100)}).Render(boards, &small, pose.Identity(), s)
}

// red returns the brightness of a pixel.
func red(img *render.Image, u, v int) float64 { return float64(img.RGB[3*(v*img.Width+u)]) }

// The depth of a tilted board is that of the plane, along the line of sight and not the ray.
func TestDepthOfAPlane(t *testing.T) {
	const tilt = 0.5
	board := render.Board{Pose: pose.Pose{T: pose.Vec3{Z: 2}, R: pose.AxisAngle(pose.Vec3{Y: 1}, tilt).Mul(facing)}, Width: 1, Height: 1, Paint: render.Plain(render.Grey(200))}
	img := draw(render.Sensor{}, board)
	for _, u := range []int{25, 31, 40} {
		x := (float64(u) - small.Cx) / small.Fx
		// z = 2 - x·z·tan(tilt)
		want := 2 / (1 + x*math.Tan(tilt))
		if got := float64(img.Depth[24*64+u]); math.Abs(got-want) > 1e-5 {
			t.Errorf("at column %d the depth is %g, want %g", u, got, want)
		}
	}
	if img.Depth[0] != 0 || red(img, 0, 0) != 100 {
		t.Errorf("beside the board the depth is %g and the brightness %g, want 0 and 100", img.Depth[0], red(img, 0, 0))
	}
}

// A pixel through which an edge goes has the brightness of both sides by their areas.
func TestEdgeIsAveraged(t *testing.T) {
	for _, part := range []float64{0.1, 0.25, 0.5, 0.8} {
		// The board ends that part of a pixel into column 40.
		edge := (39.5 + part - small.Cx) / small.Fx
		board := render.Board{Pose: pose.Pose{T: pose.Vec3{X: edge - 0.5, Z: 1}, R: facing}, Width: 1, Height: 2, Paint: render.Plain(render.Grey(200))}
		if got, want := red(draw(render.Sensor{}, board), 40, 20), 100+100*part; math.Abs(got-want) > 100.0/32+1 {
			t.Errorf("with %g of the pixel covered its brightness is %g, want %g", part, got, want)
		}
	}
}

// What is nearer hides what is behind it, and boards are not seen from the back.
func TestNearestIsSeen(t *testing.T) {
	at := func(z float64, r pose.Quat, level float32) render.Board {
		return render.Board{Pose: pose.Pose{T: pose.Vec3{Z: z}, R: r}, Width: 4, Height: 4, Paint: render.Plain(render.Grey(level))}
	}
	img := draw(render.Sensor{}, at(2, facing, 50), at(1, facing, 150), at(3, facing, 250), at(0.5, pose.Quat{W: 1}, 10))
	if z := img.Depth[24*64+32]; z != 1 || red(img, 32, 24) != 150 {
		t.Errorf("the depth is %g and the brightness %g, want 1 and 150", z, red(img, 32, 24))
	}
}

// A box shows the face that is towards the camera, where it is.
func TestBox(t *testing.T) {
	size := pose.Vec3{X: 0.3, Y: 0.4, Z: 0.5}
	for turned, distance := range map[pose.Quat]float64{
		{W: 1}: 0.25, pose.AxisAngle(pose.Vec3{Y: 1}, math.Pi/2): 0.15, pose.AxisAngle(pose.Vec3{X: 1}, -math.Pi/2): 0.2, pose.AxisAngle(pose.Vec3{X: 1}, math.Pi): 0.25,
	} {
		img := draw(render.Sensor{}, render.Box(pose.Pose{T: pose.Vec3{Z: 2}, R: turned}, size, render.Grey(200))...)
		if got := float64(img.Depth[24*64+32]); math.Abs(got-2+distance) > 1e-6 {
			t.Errorf("turned by %v its front is at %g, want %g", turned, got, 2-distance)
		}
	}
}

// A pattern has its first cell in the top left.
func TestCells(t *testing.T) {
	img := draw(render.Sensor{}, render.Cells(pose.Pose{T: pose.Vec3{Z: 1}, R: facing}, 0.4, [][]bool{{true, false}, {false, false}}))
	if a, b, c := red(img, 26, 18), red(img, 37, 18), red(img, 26, 29); a < 200 || b > 40 || c > 40 {
		t.Errorf("the brightness is %g in the top left, %g in the top right, %g in the bottom left; want white, black, black", a, b, c)
	}
}

func TestSensor(t *testing.T) {
	wall := render.Board{Pose: pose.Pose{T: pose.Vec3{Z: 2}, R: facing}, Width: 9, Height: 9, Paint: render.Plain(render.Grey(120))}
	deviation := func(n int, value func(i int) float64) (mean, sigma float64) {
		for i := range n {
			mean += value(i) / float64(n)
		}
		for i := range n {
			sigma += (value(i) - mean) * (value(i) - mean) / float64(n)
		}
		return mean, math.Sqrt(sigma)
	}
	noisy := draw(render.Sensor{Noise: 5, DepthNoise: 0.01, DepthMissing: 0.25, Seed: 3}, wall)
	if mean, sigma := deviation(len(noisy.RGB), func(i int) float64 { return float64(noisy.RGB[i]) }); math.Abs(mean-120) > 0.5 || math.Abs(sigma-5) > 0.3 {
		t.Errorf("the brightness is %g ± %g, want 120 ± 5", mean, sigma)
	}
	measured := slices.DeleteFunc(slices.Clone(noisy.Depth), func(z float32) bool { return z == 0 })
	if part := float64(len(measured)) / float64(len(noisy.Depth)); math.Abs(part-0.75) > 0.04 {
		t.Errorf("%g of the pixels have a depth, want 0.75", part)
	}
	if mean, sigma := deviation(len(measured), func(i int) float64 { return float64(measured[i]) }); math.Abs(mean-2) > 0.005 || math.Abs(sigma-0.04) > 0.005 {
		t.Errorf("the depth is %g ± %g, want 2 ± 0.04", mean, sigma)
	}
	if again := draw(render.Sensor{Noise: 5, DepthNoise: 0.01, DepthMissing: 0.25, Seed: 3}, wall); !bytes.Equal(again.RGB, noisy.RGB) || !slices.Equal(again.Depth, noisy.Depth) {
		t.Error("the same seed gives another image")
	}
	dark := draw(render.Sensor{Vignetting: 0.5}, wall)
	if corner, middle := red(dark, 0, 0), red(dark, 32, 24); math.Abs(corner-62) > 3 || math.Abs(middle-120) > 1 {
		t.Errorf("the brightness is %g in a corner and %g in the middle, want about 62 and 120", corner, middle)
	}
}

// Blur turns an edge into the integral of a Gaussian.
func TestBlur(t *testing.T) {
	edge := (31.5 - small.Cx) / small.Fx // between columns 31 and 32
	board := render.Board{Pose: pose.Pose{T: pose.Vec3{X: edge - 2, Z: 1}, R: facing}, Width: 4, Height: 4, Paint: render.Plain(render.Grey(200))}
	img := draw(render.Sensor{Blur: 1.5}, board)
	for u := 26; u < 38; u++ {
		want := 150 - 50*math.Erf((float64(u)-31.5)/(1.5*math.Sqrt2))
		if got := red(img, u, 24); math.Abs(got-want) > 1.5 {
			t.Errorf("at column %d the brightness is %g, want %g", u, got, want)
		}
	}
}
