package grid_test

import (
	"fmt"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
)

// A chair is put into a room, and moved.
func Example() {
	room := &grid.Grid{Width: 40, Height: 30, Resolution: 0.1, Cells: make([]int8, 40*30)}
	builder, err := grid.NewBuilder(room, grid.Config{Footprint: grid.Footprint{Radius: 0.25}})
	if err != nil {
		fmt.Println(err)
		return
	}
	before := builder.Costmap()

	chair := func(x, y float64) []grid.Point {
		return []grid.Point{{X: x, Y: y}, {X: x + 0.4, Y: y}, {X: x + 0.4, Y: y + 0.4}, {X: x, Y: y + 0.4}}
	}
	regions, _ := builder.Put("chair", chair(1.01, 1.01))
	fmt.Println("computed anew:", regions)
	regions, _ = builder.Put("chair", chair(3.01, 2.01))
	fmt.Println("computed anew:", regions)

	beside, _ := room.CellOf(grid.Point{X: 2.9, Y: 2.2})
	fmt.Println("the robot may be beside it:", builder.Costmap().CanEnter(beside))
	fmt.Println("before, it might:", before.CanEnter(beside))
	// Output:
	// computed anew: [{7 7 18 18}]
	// computed anew: [{7 7 18 18} {27 17 38 28}]
	// the robot may be beside it: false
	// before, it might: true
}
