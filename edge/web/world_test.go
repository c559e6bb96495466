package web_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// The world is told with what is on what, how sure that is, and where it is; in the past as it was then.
func TestWorld(t *testing.T) {
	begin := engram.Now().Add(-10 * sim.Period * 100)
	robot, err := sim.New(sim.Config{Start: begin})
	if err != nil {
		t.Fatal(err)
	}
	srv := serving.New(t, memories.All()...)
	if _, err := robot.RunTicks(t.Context(), srv, 0, 300); err != nil {
		t.Fatal(err)
	}
	type item struct {
		Name, Parent, Root, ID, By string
		Kinds                      []string
		Pose, Size                 []float64
		Belief                     *float64
	}
	type items struct{ Items []item }
	find := func(all []item, name string) *item {
		if i := slices.IndexFunc(all, func(it item) bool { return it.Name == name }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	l := look(t, srv, web.Options{})
	var now, before items
	l.read(&now, "/view/world")
	all := now.Items
	cup, table := find(all, "cup"), find(all, "table")
	if cup == nil || cup.Parent != "table" || cup.Root != "map" || len(cup.Pose) != 7 || cup.Belief == nil || *cup.Belief < 0.5 || cup.ID != "Object/Instance/Simulation/cup" {
		t.Errorf("the cup is %+v", cup)
	}
	// The cup's box is that of its class, the robot where its poses have it.
	robotItem := find(all, "Simulation")
	if cup == nil || len(cup.Size) != 3 || robotItem == nil || robotItem.Root != "map" || len(robotItem.Pose) != 7 || robotItem.Pose[0] < -0.1 || robotItem.Pose[0] > 2 {
		t.Errorf("the cup is %+v, and the robot %+v", cup, robotItem)
	}
	if table == nil || len(table.Size) != 3 || !slices.Contains(table.Kinds, "furniture") {
		t.Errorf("the table is %+v", table)
	}
	l.read(&before, "/view/world", "t", begin.Add(-sim.Period).String()+"Z")
	if find(before.Items, "cup") != nil {
		t.Errorf("before anything was seen there was %+v", before)
	}
}
