package navigation_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill/navigation"
)

// A route leads over vertices as their edges say, and around what is blocked.
func TestGraphPlanner(t *testing.T) {
	c, err := navigation.NewCostmap(room(), navigation.Inflation{Radius: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	vertex := func(name string, x, y float64) navigation.Vertex {
		return navigation.Vertex{Name: name, Pose: navigation.Pose2D{Point: navigation.Point{X: x, Y: y}}}
	}
	g := &navigation.Graph{Frame: "map",
		Vertices: []navigation.Vertex{vertex("west", 3, 4), vertex("low door", 6.05, 2.25), vertex("high door", 6.05, 5.75), vertex("east", 9, 4)},
	}
	both := func(a, b string, cost float64) {
		g.Edges = append(g.Edges, navigation.Edge{Source: a, Target: b, Cost: cost}, navigation.Edge{Source: b, Target: a, Cost: cost, Strategy: "point-to-point"})
	}
	both("west", "low door", 20) // slow
	both("low door", "east", 20)
	both("west", "high door", 4)
	both("high door", "east", 4)
	p := &navigation.GraphPlanner{Graph: g}
	start, goal := navigation.Point{X: 2, Y: 3}, navigation.Point{X: 10, Y: 3}
	passes := func(path navigation.Path, p navigation.Point) bool {
		return slices.ContainsFunc(path, func(q navigation.Point) bool { return q.Distance(p) < 1e-6 })
	}
	low, high := navigation.Point{X: 6.05, Y: 2.25}, navigation.Point{X: 6.05, Y: 5.75}
	path, err := p.Plan(t.Context(), c, start, goal)
	if err != nil || !passes(path, high) || passes(path, low) || path[0] != start || path[len(path)-1] != goal {
		t.Errorf("%v, %v", path, err)
	}
	checkClear(t, c, path)
	// The same the other way round, by straight lines.
	if path, err := p.Plan(t.Context(), c, goal, start); err != nil || !passes(path, high) {
		t.Errorf("%v, %v", path, err)
	}
	c.Put("box", navigation.Circle(high, 0.8))
	c.Update()
	for _, ends := range [][2]navigation.Point{{start, goal}, {goal, start}} {
		if path, err := p.Plan(t.Context(), c, ends[0], ends[1]); err != nil || !passes(path, low) || passes(path, high) {
			t.Errorf("%v, %v", path, err)
		}
	}
	c.Put("box2", navigation.Circle(low, 0.8))
	c.Update()
	if _, err := p.Plan(t.Context(), c, start, goal); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
	// Without a graph that leads there it is a plan on the cost map alone.
	if path, err := (&navigation.GraphPlanner{Graph: &navigation.Graph{}}).Plan(t.Context(), c, start, navigation.Point{X: 4, Y: 3}); err != nil || math.Abs(path.Length()-2) > 1e-6 {
		t.Errorf("%v, %v", path, err)
	}
	for _, bad := range []navigation.Graph{
		{Vertices: []navigation.Vertex{vertex("a", 0, 0), vertex("a", 1, 0)}},
		{Vertices: []navigation.Vertex{vertex("a", 0, 0)}, Edges: []navigation.Edge{{Source: "a", Target: "b"}}},
		{Vertices: []navigation.Vertex{vertex("a", 0, 0)}, Edges: []navigation.Edge{{Source: "a", Target: "a", Cost: -1}}},
	} {
		if err := bad.Check(); !errors.Is(err, engram.Invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestReadGraph(t *testing.T) {
	srv, err := server.New(server.Config{Memories: []server.Memory{memories.Navigation()}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	typ, _ := memories.Type("engram.navigation.Graph")
	at := func(x float64) map[string]any {
		return map[string]any{"position": map[string]any{"x": x, "y": 2.0, "z": 0.0}, "orientation": map[string]any{"x": 0.0, "y": 0.0, "z": 1.0, "w": 0.0}}
	}
	b, err := typ.Encode(map[string]any{
		"frame_id": "map",
		"vertices": []any{map[string]any{"name": "a", "pose": at(1), "location": engram.MustID("Navigation/Location/anna/a")}, map[string]any{"name": "b", "pose": at(3)}},
		"edges":    []any{map[string]any{"source": "a", "target": "b", "cost": 2.0, "strategy": "free"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := engram.MustID("Navigation/Graph/anna/floor")
	testkit.Commit(t, srv, engram.EntityUpdate{Entity: id, Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
	g, err := navigation.ReadGraph(t.Context(), srv, id)
	if err != nil || g.Frame != "map" || len(g.Vertices) != 2 || g.Vertices[1].Pose.X != 3 || math.Abs(math.Abs(g.Vertices[0].Pose.Yaw)-math.Pi) > 1e-9 ||
		g.Vertices[0].Location.Entity() != "a" || len(g.Edges) != 1 || g.Edges[0] != (navigation.Edge{Source: "a", Target: "b", Cost: 2, Strategy: "free"}) {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := navigation.ReadGraph(t.Context(), srv, engram.MustID("Navigation/Graph/anna/none")); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
}
