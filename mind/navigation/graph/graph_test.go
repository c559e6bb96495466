package graph_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/graph"
	"github.com/seed-301d4374/engram/mind/pose"
)

// The way from the dock to the kitchen leads through a door; the lift is dearer.
func Example() {
	g, err := graph.New("building",
		[]graph.Vertex{
			{Name: "dock", Pose: pose.Translation(0, 0, 0)},
			{Name: "door", Pose: pose.Translation(4, 0, 0)},
			{Name: "kitchen", Pose: pose.Translation(4, 3, 0)},
		},
		[]graph.Edge{
			{Source: "dock", Target: "door", Cost: 8, Strategy: "free"},
			{Source: "door", Target: "kitchen", Cost: 6, Strategy: "point-to-point"},
			{Source: "dock", Target: "kitchen", Cost: 40, Strategy: "lift"},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	start, away, _ := g.Nearest(pose.Translation(0.3, 0.4, 0))
	fmt.Printf("from %s, %.1f m away\n", start.Name, away)
	route, err := g.Shortest(start.Name, "kitchen")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range route.Edges {
		fmt.Printf("%s to %s\n", e.Strategy, e.Target)
	}
	fmt.Println("cost:", route.Cost)
	_, err = g.Shortest("kitchen", "dock")
	fmt.Println(err)
	// Output:
	// from dock, 0.5 m away
	// free to door
	// point-to-point to kitchen
	// cost: 14
	// route: there is no way from kitchen to dock over the edges of the graph
}

// pick returns the name of vertex i.
func pick(i int) string { return fmt.Sprint("v", i) }

func vertices(n int) (all []graph.Vertex) {
	for i := range n {
		all = append(all, graph.Vertex{Name: pick(i), Pose: pose.Identity()})
	}
	return all
}

func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "vertices")
		vertex := rapid.IntRange(0, n-1)
		costs := make([][]float64, n) // by Floyd and Warshall
		for i := range costs {
			costs[i] = make([]float64, n)
			for j := range costs[i] {
				if i != j {
					costs[i][j] = math.Inf(1)
				}
			}
		}
		var edges []graph.Edge
		for range rapid.IntRange(0, 20).Draw(t, "edges") {
			i, j, cost := vertex.Draw(t, "source"), vertex.Draw(t, "target"), float64(rapid.IntRange(0, 5).Draw(t, "cost"))
			edges = append(edges, graph.Edge{Source: pick(i), Target: pick(j), Cost: cost})
			costs[i][j] = min(costs[i][j], cost)
		}
		for k := range n {
			for i := range n {
				for j := range n {
					costs[i][j] = min(costs[i][j], costs[i][k]+costs[k][j])
				}
			}
		}
		g, err := graph.New("map", vertices(n), edges)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range n {
				r, err := g.Shortest(pick(i), pick(j))
				if math.IsInf(costs[i][j], 1) {
					if !errors.Is(err, graph.ErrUnreachable) {
						t.Fatalf("from %d to %d: %v, %v; there is no way", i, j, r, err)
					}
					continue
				}
				if err != nil || r.Cost != costs[i][j] {
					t.Fatalf("from %d to %d: %v, %v; %g is possible", i, j, r, err, costs[i][j])
				}
				checkRoute(t, r, pick(i), pick(j))
			}
		}
	})
}

// checkRoute looks at whether a route hangs together.
func checkRoute(t *rapid.T, r *graph.Route, from, to string) {
	at, sum := from, 0.0
	if r.Vertices[0].Name != from || r.Vertices[len(r.Vertices)-1].Name != to || len(r.Vertices) != len(r.Edges)+1 {
		t.Fatalf("%v does not lead from %s to %s", r, from, to)
	}
	for i, e := range r.Edges {
		if e.Source != at || e.Target != r.Vertices[i+1].Name {
			t.Fatalf("edge %d of %v does not start where the one before ends", i, r)
		}
		at, sum = e.Target, sum+e.Cost
	}
	if sum != r.Cost {
		t.Fatalf("the edges of %v cost %g", r, sum)
	}
}

func TestBadGraphs(t *testing.T) {
	edge := func(source, target string, cost float64) []graph.Edge {
		return []graph.Edge{{Source: source, Target: target, Cost: cost}}
	}
	for _, test := range []struct {
		vertices []graph.Vertex
		edges    []graph.Edge
		code     engram.Code
		text     string
	}{
		{append(vertices(2), vertices(1)...), nil, engram.AlreadyExists, "v0: two vertices"},
		{[]graph.Vertex{{Pose: pose.Identity()}}, nil, engram.Invalid, "vertex 1 of 1 has no name"},
		{[]graph.Vertex{{Name: "a", Pose: pose.Translation(math.NaN(), 0, 0)}}, nil, engram.Invalid, "a: the pose of the vertex"},
		{vertices(2), edge("v0", "v2", 1), engram.NotFound, "v0 → v2: the edge leads to a vertex that is not there: v2: the graph has no such vertex"},
		{vertices(2), edge("kitchen", "v1", 1), engram.NotFound, "kitchen → v1: the edge starts from a vertex that is not there"},
		{vertices(2), edge("v0", "v1", -1), engram.Invalid, "v0 → v1: the cost of the edge is -1"},
		{vertices(2), edge("v0", "v1", math.NaN()), engram.Invalid, "is NaN"},
		{vertices(2), edge("v0", "v1", math.Inf(1)), engram.Invalid, "is +Inf"},
	} {
		if _, err := graph.New("map", test.vertices, test.edges); engram.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v, not %v with %q", err, test.code, test.text)
		}
	}
}

func TestUnknownVertices(t *testing.T) {
	g, err := graph.New("map", []graph.Vertex{{Name: "kitchen", Pose: pose.Identity()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func() error{
		func() error { _, err := g.Shortest("kitchn", "kitchen"); return err },
		func() error { _, err := g.Shortest("kitchen", "kitchn"); return err },
		func() error { _, err := g.Vertex("kitchn"); return err },
	} {
		if err := ask(); engram.CodeOf(err) != engram.NotFound || errors.Is(err, graph.ErrUnreachable) ||
			err.Error() != "kitchn: the graph has no such vertex; did you mean kitchen?" {
			t.Error(err)
		}
	}
	if v, err := g.Vertex("kitchen"); err != nil || v.Name != "kitchen" || g.Frame() != "map" {
		t.Error(v, err)
	}
}

func TestNearest(t *testing.T) {
	empty, err := graph.New("map", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := empty.Nearest(pose.Identity()); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	g, err := graph.New("map", []graph.Vertex{
		{Name: "upstairs", Pose: pose.Translation(0, 0, 3)}, {Name: "near", Pose: pose.Translation(1, 0, 0)}, {Name: "as near", Pose: pose.Translation(0, 1, 0)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, away, err := g.Nearest(pose.Identity()); err != nil || v.Name != "near" || away != 1 {
		t.Error(v, away, err)
	}
	if _, _, err := g.Nearest(pose.Translation(math.NaN(), 0, 0)); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}
