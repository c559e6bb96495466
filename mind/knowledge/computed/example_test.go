package computed_test

import (
	"fmt"

	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func box(name string, x, y, z, depth, width, height float64) computed.Body {
	return computed.Body{
		Name: name, Pose: pose.Translation(x, y, z), Cov: pose.ExactCov(),
		Box: world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: depth, Y: width, Z: height}},
	}
}

func Example() {
	kitchen := computed.NewScene(computed.DefaultRules(),
		box("table", 0, 0, 0.375, 0.8, 1.6, 0.75),
		box("plate", 0, -0.3, 0.76, 0.2, 0.2, 0.02),
		box("cup", 0, 0.3, 0.80, 0.08, 0.08, 0.10),
		box("fridge", 3, 0, 0.9, 0.6, 0.6, 1.8),
		box("rover", -2, 0, 0.5, 0.5, 0.5, 1),
	)
	for name, p := range kitchen.Firsts(computed.On, "table") {
		fmt.Println(name, "is on the table:", p)
	}
	_, left := kitchen.Holds(computed.LeftOf, "cup", "plate")
	fmt.Println("the cup is left of the plate:", left)
	_, left = kitchen.SeenBy("fridge").Holds(computed.LeftOf, "cup", "plate")
	fmt.Println("seen from the fridge:", left)

	moved, _ := kitchen.Body("cup")
	moved.Pose = pose.Translation(3, 0, 1)
	moved.Cov = pose.DiagonalCov(0.15, 0)
	for name, p := range kitchen.With(moved).Seconds(computed.In, "cup") {
		fmt.Printf("it is in the %s: %.1f\n", name, p)
	}
	// Output:
	// cup is on the table: 1
	// plate is on the table: 1
	// the cup is left of the plate: true
	// seen from the fridge: false
	// it is in the fridge: 0.9
}
