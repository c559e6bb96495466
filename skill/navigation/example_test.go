package navigation_test

import (
	"context"
	"fmt"

	"github.com/seed-301d4374/engram/skill/navigation"
)

// A way around a wall, over cells and smoothed.
func ExampleGridPlanner() {
	grid := navigation.Grid{Width: 9, Height: 5, Resolution: 0.5, Cells: make([]navigation.State, 9*5)}
	for y := range 4 {
		grid.Cells[y*9+4] = navigation.Occupied
	}
	costs, err := navigation.NewCostmap(grid, navigation.Inflation{Radius: 0.4})
	if err != nil {
		fmt.Println(err)
		return
	}
	start, goal := costs.Center(1, 0), costs.Center(7, 0)
	for _, p := range []navigation.Planner{&navigation.GridPlanner{NoSmoothing: true}, &navigation.GridPlanner{}} {
		path, err := p.Plan(context.Background(), costs, start, goal)
		fmt.Printf("%.2f m over %d points, %v\n", path.Length(), len(path), err)
	}
	// Output:
	// 5.83 m over 11 points, <nil>
	// 5.27 m over 4 points, <nil>
}
