package navigation

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/posevalue"
)

// Graph is a graph of places, as Navigation/Graph has it.
type Graph struct {
	Frame    string // of the vertices
	Vertices []Vertex
	Edges    []Edge
}

// Vertex is a place in a graph.
type Vertex struct {
	Name     string
	Location engram.ID // the place that it stands for; may be zero
	Pose     Pose2D
}

// Edge is a way from one vertex to another, in this direction only.
type Edge struct {
	Source, Target string
	Cost           float64
	Strategy       string // "point-to-point" is a straight line; else a planner finds the way
}

// pointToPoint is the strategy of edges that are straight lines.
const pointToPoint = "point-to-point"

// ReadGraph returns the newest snapshot of an entity of Navigation/Graph. The error is that of reading it,
// Corrupt if it is none, or that of [Graph.Check].
func ReadGraph(ctx context.Context, from interface {
	engram.LatestReader
	Type(ctx context.Context, name string) (engram.TypeDef, error)
}, entity engram.ID) (*Graph, error) {
	s, err := from.Latest(ctx, entity)
	if err != nil {
		return nil, err
	}
	def, err := from.Type(ctx, "engram.navigation.Graph")
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	if len(s.Instances) == 0 {
		return nil, engram.Errorf(engram.Corrupt, entity.String(), "a snapshot without instances")
	}
	v, err := t.Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, entity.String(), "%w", err)
	}
	g, err := graphOf(v)
	if err != nil {
		return nil, err
	}
	return g, g.Check()
}

func graphOf(v any) (*Graph, error) {
	o, _ := v.(map[string]any)
	g := &Graph{}
	g.Frame, _ = o["frame_id"].(string)
	vertices, _ := o["vertices"].([]any)
	for _, v := range vertices {
		m, _ := v.(map[string]any)
		var x Vertex
		x.Name, _ = m["name"].(string)
		x.Location, _ = m["location"].(engram.ID)
		p, ok := posevalue.OrIdentity(m["pose"])
		if !ok {
			return nil, engram.Errorf(engram.Corrupt, x.Name, "the pose of the vertex is none")
		}
		x.Pose = onFloor(p)
		g.Vertices = append(g.Vertices, x)
	}
	edges, _ := o["edges"].([]any)
	for _, e := range edges {
		m, _ := e.(map[string]any)
		var x Edge
		x.Source, _ = m["source"].(string)
		x.Target, _ = m["target"].(string)
		x.Cost, _ = m["cost"].(float64)
		x.Strategy, _ = m["strategy"].(string)
		g.Edges = append(g.Edges, x)
	}
	return g, nil
}

// Check returns an Invalid error for edges of vertices that there are not, negative costs and vertices of one
// name.
func (g *Graph) Check() error {
	names := map[string]bool{}
	for _, v := range g.Vertices {
		if names[v.Name] {
			return engram.Errorf(engram.Invalid, v.Name, "the graph has two vertices of this name")
		}
		names[v.Name] = true
	}
	for _, e := range g.Edges {
		switch {
		case !names[e.Source] || !names[e.Target]:
			return engram.Errorf(engram.Invalid, e.Source+" to "+e.Target, "the graph has an edge of a vertex that it has not")
		case !(e.Cost >= 0):
			return engram.Errorf(engram.Invalid, e.Source+" to "+e.Target, "the cost of the edge is %g; it is 0 or more", e.Cost)
		}
	}
	return nil
}

// GraphPlanner finds a route over the vertices of a graph, from one near the start to one near the goal, and
// the way from vertex to vertex on the cost map. Where an edge is blocked it finds another route. Without one, and where start
// and goal are near the same vertex, it plans on the cost map alone.
type GraphPlanner struct {
	Graph   *Graph
	Between Planner // nil: a GridPlanner
}

// entries is how many vertices near a start or goal are tried.
const entries = 3

// Plan implements [Planner].
func (p *GraphPlanner) Plan(ctx context.Context, on *Costmap, start, goal Point) (Path, error) {
	between := p.Between
	if between == nil {
		between = &GridPlanner{}
	}
	r := &router{graph: p.Graph, between: between, on: on, at: map[string]Point{}, closed: map[int]bool{}, ways: map[int]Path{}}
	for _, v := range p.Graph.Vertices {
		r.at[v.Name] = v.Pose.Point
	}
	if path, err := r.route(ctx, start, goal); err != nil || path != nil {
		return path, err
	}
	return between.Plan(ctx, on, start, goal)
}

// router finds one route.
type router struct {
	graph   *Graph
	between Planner
	on      *Costmap
	at      map[string]Point // by vertex
	closed  map[int]bool     // edges on which there is no way
	ways    map[int]Path     // those that were found, by edge
}

// end is a vertex near the start or the goal, with the way to it or from it.
type end struct {
	vertex string
	way    Path
}

func (r *router) route(ctx context.Context, start, goal Point) (Path, error) {
	first, err := r.ends(ctx, start, func(v Point) (Path, error) { return r.between.Plan(ctx, r.on, start, v) })
	if err != nil {
		return nil, err
	}
	last, err := r.ends(ctx, goal, func(v Point) (Path, error) { return r.between.Plan(ctx, r.on, v, goal) })
	if err != nil {
		return nil, err
	}
	// The nearest on both sides first.
	for sum := range len(first) + len(last) {
		for i := range first {
			if k := sum - i; k >= 0 && k < len(last) {
				if first[i].vertex == last[k].vertex {
					return nil, nil // no need to go there
				}
				if path, err := r.connect(ctx, first[i], last[k]); err != nil || path != nil {
					return path, err
				}
			}
		}
	}
	return nil, nil
}

// connect returns the cheapest way between two vertices, with those to and from them; nil if there is none.
func (r *router) connect(ctx context.Context, first, last end) (Path, error) {
	for {
		edges, ok := r.cheapest(first.vertex, last.vertex)
		if !ok {
			return nil, nil
		}
		path := slices.Clone(first.way)
		open := true
		for _, e := range edges {
			way, err := r.way(ctx, e)
			if err != nil {
				return nil, err
			}
			if way == nil {
				r.closed[e], open = true, false
				break
			}
			path = append(path, way[1:]...)
		}
		if open {
			return append(path, last.way[1:]...), nil
		}
	}
}

// ends returns the vertices near a point to which there is a way, that with the shortest way first.
func (r *router) ends(ctx context.Context, p Point, plan func(v Point) (Path, error)) (found []end, err error) {
	near := slices.Clone(r.graph.Vertices)
	slices.SortStableFunc(near, func(a, b Vertex) int { return cmp.Compare(p.Distance(a.Pose.Point), p.Distance(b.Pose.Point)) })
	for _, v := range near {
		way, err := plan(v.Pose.Point)
		var none *Failure
		switch {
		case errors.As(err, &none):
			continue
		case err != nil:
			return nil, err
		}
		if found = append(found, end{v.Name, way}); len(found) == entries {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b end) int { return cmp.Compare(a.way.Length(), b.way.Length()) })
	return found, ctx.Err()
}

// cheapest returns the edges of the route that costs least from one vertex to another.
func (r *router) cheapest(from, to string) (edges []int, ok bool) {
	cost, by, done := map[string]float64{from: 0}, map[string]int{}, map[string]bool{}
	for !done[to] {
		at, least := "", math.Inf(1)
		for _, v := range r.graph.Vertices { // graphs are small
			if c, open := cost[v.Name]; open && !done[v.Name] && c < least {
				at, least = v.Name, c
			}
		}
		if math.IsInf(least, 1) {
			return nil, false
		}
		done[at] = true
		for i, e := range r.graph.Edges {
			if e.Source != at || r.closed[i] {
				continue
			}
			if c, seen := cost[e.Target]; !seen || least+e.Cost < c {
				cost[e.Target], by[e.Target] = least+e.Cost, i
			}
		}
	}
	for at := to; at != from; at = r.graph.Edges[by[at]].Source {
		edges = append(edges, by[at])
	}
	slices.Reverse(edges)
	return edges, true
}

// way returns the way along an edge; nil if it is blocked.
func (r *router) way(ctx context.Context, i int) (Path, error) {
	if way, ok := r.ways[i]; ok {
		return way, nil
	}
	e := r.graph.Edges[i]
	a, b := r.at[e.Source], r.at[e.Target]
	if e.Strategy == pointToPoint {
		if !r.on.passes(a, b, r.on.bare()) {
			return nil, nil
		}
		r.ways[i] = Path{a, b}
		return r.ways[i], nil
	}
	way, err := r.between.Plan(ctx, r.on, a, b)
	var none *Failure
	if errors.As(err, &none) {
		return nil, nil
	}
	if err == nil {
		r.ways[i] = way
	}
	return way, err
}
