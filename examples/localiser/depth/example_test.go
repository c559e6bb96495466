package depth_test

import (
	"fmt"
	"log"

	"github.com/seed-301d4374/engram/examples/localiser/depth"
)

// From an image of depth to the boxes on a table.
func ExampleFind() {
	cam := vga()
	_, box := on(tea, 0.1, 0.05, 0.4)
	img := look(1, kitchen(box)) // of a camera, else
	scene, err := depth.Find(img, &cam, depth.Options{Up: up, Classes: []depth.Class{cereal, tea, dice}})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range scene.Boxes {
		for _, m := range b.Matches {
			at := worldFromCamera.Mul(m.Pose).T
			fmt.Printf("%s at %.2f, %.2f m, the same in %d orientations\n", m.Class.Name, at.X, at.Y, len(m.Symmetries))
		}
	}
	// Output: tea at 0.10, 0.05 m, the same in 4 orientations
}
