package graph

import (
	"cmp"
	"container/heap"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/pose"
)

// ErrUnreachable is wrapped by the error that says that there is no way.
var ErrUnreachable = errors.New("there is no way")

// Vertex is a place.
type Vertex struct {
	Name     string
	Location engram.ID // what it stands for in Navigation/Location; empty if that has no name
	Pose     pose.Pose // of the robot's root link, in the graph's frame
}

// Edge is a way from one vertex to another, in this direction only.
type Edge struct {
	Source, Target string  // names of vertices
	Cost           float64 // in any unit that is the same for all edges; 0 or more
	Strategy       string  // how to move along it, such as "free"; may be empty
}

// Graph is places and the ways between them. It never changes, and any goroutine may read it.
type Graph struct {
	frame    string
	vertices []Vertex
	byName   map[string]int
	from     [][]way // by vertex, in the order in which they were given
}

// way is an edge from a vertex.
type way struct {
	Edge
	to int
}

// New returns a graph whose poses are in a frame. Several edges may go from a vertex to another
// one. The code of the error is AlreadyExists if two vertices have the same name, NotFound for an
// edge from or to a vertex that is not there, and Invalid for a name that is empty, a pose that is
// none, and a cost that is negative or not finite.
func New(frame string, vertices []Vertex, edges []Edge) (*Graph, error) {
	g := &Graph{frame: frame, vertices: slices.Clone(vertices), byName: map[string]int{}, from: make([][]way, len(vertices))}
	for i := range g.vertices {
		if err := g.addVertex(i); err != nil {
			return nil, err
		}
	}
	for _, e := range edges {
		if err := g.addEdge(e); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Graph) addVertex(i int) (err error) {
	v := &g.vertices[i]
	if v.Name == "" {
		return engram.Errorf(engram.Invalid, "graph", "vertex %d of %d has no name", i+1, len(g.vertices))
	}
	if _, there := g.byName[v.Name]; there {
		return engram.Errorf(engram.AlreadyExists, v.Name, "two vertices of the graph have this name")
	}
	if v.Pose, err = v.Pose.Checked(); err != nil {
		return engram.Errorf(engram.Invalid, v.Name, "the pose of the vertex: %w", err)
	}
	g.byName[v.Name] = i
	return nil
}

func (g *Graph) addEdge(e Edge) error {
	source, err := g.index(e.Source)
	if err != nil {
		return engram.Errorf(engram.NotFound, edgeName(e), "the edge starts from a vertex that is not there: %w", err)
	}
	target, err := g.index(e.Target)
	if err != nil {
		return engram.Errorf(engram.NotFound, edgeName(e), "the edge leads to a vertex that is not there: %w", err)
	}
	if !(e.Cost >= 0) || math.IsInf(e.Cost, 1) {
		return engram.Errorf(engram.Invalid, edgeName(e), "the cost of the edge is %g; it is 0 or more and finite", e.Cost)
	}
	g.from[source] = append(g.from[source], way{e, target})
	return nil
}

func edgeName(e Edge) string { return e.Source + " → " + e.Target }

// index returns the number of a vertex.
func (g *Graph) index(name string) (int, error) {
	if i, ok := g.byName[name]; ok {
		return i, nil
	}
	hint := ""
	if near := spelling.Nearest(name, slices.Sorted(maps.Keys(g.byName))); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return 0, engram.Errorf(engram.NotFound, name, "the graph has no such vertex%s", hint)
}

// Frame returns the frame of the vertices' poses.
func (g *Graph) Frame() string { return g.frame }

// Vertex returns a vertex. The error is NotFound.
func (g *Graph) Vertex(name string) (Vertex, error) {
	i, err := g.index(name)
	if err != nil {
		return Vertex{}, err
	}
	return g.vertices[i], nil
}

// Nearest returns the vertex that is nearest to a pose in the graph's frame, and how far away it is,
// metres. Of those that are as near it is the first one. The error is NotFound for a graph without
// vertices, Invalid for a pose that is none.
func (g *Graph) Nearest(p pose.Pose) (Vertex, float64, error) {
	p, err := p.Checked()
	if err != nil {
		return Vertex{}, 0, engram.Errorf(engram.Invalid, "graph", "the pose: %w", err)
	}
	if len(g.vertices) == 0 {
		return Vertex{}, 0, engram.Errorf(engram.NotFound, "graph", "it has no vertices")
	}
	away := func(v Vertex) float64 { return v.Pose.T.Sub(p.T).Norm() }
	near := slices.MinFunc(g.vertices, func(v, w Vertex) int { return cmp.Compare(away(v), away(w)) })
	return near, away(near), nil
}

// Route is a way through a graph.
type Route struct {
	Vertices []Vertex // from the start to the goal; one if they are the same
	Edges    []Edge   // between them, in order
	Cost     float64
}

// Shortest returns the route of the least cost; of several the same each time. The code of the error
// is NotFound, with [ErrUnreachable] if both vertices are there, and no way leads from one to the
// other.
func (g *Graph) Shortest(from, to string) (*Route, error) {
	start, err := g.index(from)
	if err != nil {
		return nil, err
	}
	goal, err := g.index(to)
	if err != nil {
		return nil, err
	}
	reached := g.search(start, goal)
	if !reached[goal].there {
		return nil, engram.Errorf(engram.NotFound, "route", "%w from %s to %s over the edges of the graph", ErrUnreachable, from, to)
	}
	r := &Route{Cost: reached[goal].cost}
	for i := goal; ; i = reached[i].before {
		r.Vertices = append(r.Vertices, g.vertices[i])
		if i == start {
			break
		}
		r.Edges = append(r.Edges, reached[i].by)
	}
	slices.Reverse(r.Vertices)
	slices.Reverse(r.Edges)
	return r, nil
}

// arrival is the best way found to a vertex.
type arrival struct {
	there, done bool
	cost        float64
	before      int
	by          Edge
}

// search finds the best ways from a vertex until it has that to the goal (Dijkstra).
func (g *Graph) search(start, goal int) []arrival {
	reached := make([]arrival, len(g.vertices))
	reached[start] = arrival{there: true}
	for q := (queue{{start, 0}}); len(q) > 0; {
		at := heap.Pop(&q).(waiting).vertex
		if at == goal {
			break
		}
		if reached[at].done {
			continue
		}
		reached[at].done = true
		for _, w := range g.from[at] {
			cost := reached[at].cost + w.Cost
			if to := &reached[w.to]; !to.there || cost < to.cost {
				*to = arrival{there: true, cost: cost, before: at, by: w.Edge}
				heap.Push(&q, waiting{w.to, cost})
			}
		}
	}
	return reached
}

// waiting is a vertex whose edges are to be followed.
type waiting struct {
	vertex int
	cost   float64
}

// queue is a heap, the least cost first.
type queue []waiting

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].cost, q[j].cost), cmp.Compare(q[i].vertex, q[j].vertex)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(waiting)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	*q = (*q)[:last]
	return w
}
