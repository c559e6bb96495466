package plan_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
)

// room is 4 m x 3 m, with a table.
func room(table []grid.Point) *grid.Builder {
	g := &grid.Grid{Width: 40, Height: 30, Resolution: 0.1, Cells: make([]int8, 40*30)}
	b, err := grid.NewBuilder(g, grid.Config{Footprint: grid.Footprint{Radius: 0.3}})
	if err == nil {
		_, err = b.Put("table", table)
	}
	if err != nil {
		panic(err)
	}
	return b
}

var table = []grid.Point{{X: 1.6, Y: 0.9}, {X: 2.4, Y: 0.9}, {X: 2.4, Y: 2.1}, {X: 1.6, Y: 2.1}}

// A robot goes around a table, and not into it.
func ExampleFind() {
	m := room(table).Costmap()
	start := grid.Point{X: 0.5, Y: 1.5}
	p, err := plan.Find(context.Background(), m, start, grid.Point{X: 3.5, Y: 1.5}, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f m: %v\n", p.Length, p.Points)

	_, err = plan.Find(context.Background(), m, start, grid.Point{X: 2, Y: 1.5}, plan.Options{})
	fmt.Println(engram.CodeOf(err), "–", err)
	// Output:
	// 3.65 m: [(0.5, 1.5) (1.45, 0.65) (2.55, 0.65) (3.5, 1.5)]
	// invalid – goal: (2, 1.5) lies in an object; the nearest place for the robot is (2.65, 1.45), 0.652 m away
}

// A cup stands on the table: the robot goes to where it can reach it.
func ExampleApproach() {
	m := room(table).Costmap()
	cup := grid.Point{X: 1.8, Y: 1.5}
	p, err := plan.Approach(context.Background(), m, grid.Point{X: 3.5, Y: 1.5}, cup, plan.Ring{Min: 0.3, Max: 0.8}, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f m, to %v\n", p.Length, p.Points[len(p.Points)-1])
	// Output:
	// 2.67 m, to (1.35, 0.85)
}

// Somebody moves a chair into the way.
func ExamplePath_Blocked() {
	b := room(table)
	p, err := plan.Find(context.Background(), b.Costmap(), grid.Point{X: 0.5, Y: 0.5}, grid.Point{X: 3.5, Y: 0.5}, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := b.Put("chair", []grid.Point{{X: 2.6, Y: 0}, {X: 3, Y: 0}, {X: 3, Y: 0.9}, {X: 2.6, Y: 0.9}}); err != nil {
		fmt.Println(err)
		return
	}
	if block, blocked := p.Blocked(b.Costmap(), grid.Point{X: 1.5, Y: 0.6}); blocked {
		fmt.Printf("blocked at %v, %.1f m ahead\n", block.At, block.Ahead)
	}
	_, err = plan.Find(context.Background(), b.Costmap(), grid.Point{X: 1.5, Y: 0.5}, grid.Point{X: 3.5, Y: 0.5}, plan.Options{})
	fmt.Println("another way:", !errors.Is(err, plan.ErrUnreachable))
	// Output:
	// blocked at (2.4, 0.5), 0.9 m ahead
	// another way: true
}
