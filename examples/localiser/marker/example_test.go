package marker_test

import (
	"fmt"
	"log"
	"math"

	"github.com/seed-301d4374/engram/examples/localiser/camera"
	"github.com/seed-301d4374/engram/examples/localiser/marker"
	"github.com/seed-301d4374/engram/examples/localiser/render"
	"github.com/seed-301d4374/engram/mind/pose"
)

// From an image to where the marker is.
func Example() {
	family := marker.AprilTag36h11()
	cam := camera.FieldOfView(640, 480, math.Pi/3)
	rgb := exampleImage(family, &cam) // of a camera, else

	detector, err := marker.NewDetector(marker.Options{Families: []*marker.Family{family}})
	if err != nil {
		log.Fatal(err)
	}
	grey, err := marker.Grey(nil, rgb, cam.Width, cam.Height, 3*cam.Width)
	if err != nil {
		log.Fatal(err)
	}
	result, err := detector.Detect(grey)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range result.Detections {
		e, err := marker.Locate(&d, 0.15, &cam, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %d at %.2f, %.2f, %.2f m, ambiguous: %v\n", d.Family.Name, d.ID, e.Pose.T.X, e.Pose.T.Y, e.Pose.T.Z, e.Ambiguous)
	}
	_, err = result.Find(family, 8)
	fmt.Println(err)
	// Output:
	// tag36h11 7 at 0.20, -0.10, 1.50 m, ambiguous: false
	// tag36h11: marker 8 is not in the image
}

// exampleImage is of marker 7, 15 cm wide, on a wall.
func exampleImage(f *marker.Family, cam *camera.Camera) []byte {
	cells, err := marker.Draw(f, 7)
	if err != nil {
		log.Fatal(err)
	}
	turned := pose.AxisAngle(pose.Vec3{Y: 1}, 0.6).Mul(pose.AxisAngle(pose.Vec3{X: 1}, math.Pi))
	board := render.Cells(pose.Pose{T: pose.Vec3{X: 0.2, Y: -0.1, Z: 1.5}, R: turned}, 0.15*10/8, cells)
	renderer := render.Renderer{Background: render.Grey(110)}
	return renderer.Render([]render.Board{board}, cam, pose.Identity(), render.Sensor{Blur: 1, Noise: 3}).RGB
}

// A family of one's own: three markers of 4 × 4 cells.
func ExampleFamily() {
	own := &marker.Family{Name: "own", Size: 4, Codes: []uint64{0xb532, 0x0f9a, 0x332d}}
	cells, err := marker.Draw(own, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range cells {
		for _, white := range row {
			if white {
				fmt.Print("██")
			} else {
				fmt.Print("  ")
			}
		}
		fmt.Println("|")
	}
	// Output:
	// ████████████████|
	// ██            ██|
	// ██            ██|
	// ██  ████████  ██|
	// ██  ██    ██  ██|
	// ██  ██  ██    ██|
	// ██            ██|
	// ████████████████|
}
