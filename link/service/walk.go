package service

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Walk yields the nodes and edges of a trace: level by level, a node before the edges that
// touch it, each once. A circle of links ends where it comes back to a node. The snapshots of
// an entity that are stages of one thing, and link to the same, are one node. An error is
// the last.
func Walk(ctx context.Context, f Follower, q TraceQuery) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		w := &walk{
			ctx: ctx, f: f, q: q, yield: yield,
			nodes: map[engram.ID]*node{}, stages: map[engram.ID][]*node{}, edges: map[Edge]bool{}, told: map[string]bool{},
		}
		if err := w.run(); err != nil && !w.ended {
			yield(Part{}, err)
		}
	}
}

// node is a node that was met.
type node struct {
	Node
	links []Link
	// up and down say that it was followed.
	up, down bool
}

type walk struct {
	ctx   context.Context
	f     Follower
	q     TraceQuery
	yield func(Part, error) bool
	ended bool // who asked has enough

	nodes  map[engram.ID]*node
	stages map[engram.ID][]*node // by entity, those of Stages
	edges  map[Edge]bool
	told   map[string]bool
	count  int // nodes
	within func(engram.ID) bool
}

func (w *walk) run() error {
	if err := w.check(); err != nil {
		return err
	}
	start := Ref{ID: w.q.Start, At: engram.MaxTime}
	if w.q.At != nil {
		start.At = *w.q.At
	}
	found, err := w.f.Resolve(w.ctx, []Ref{start}, w.q.Options)
	if err != nil {
		return err
	}
	switch missing := found[0].Node.Missing; missing {
	case "":
	case MissingNoRight, MissingNever, MissingElsewhere:
		return engram.Errorf(engram.NotFound, w.q.Start.String(), "there is no such snapshot")
	default:
		return engram.Errorf(engram.NotFound, w.q.Start.String(), "it is not there any more: %s", missing)
	}
	first, _ := w.add(&found[0], 0, false)
	if w.q.Direction&Up != 0 {
		if err := w.climb(first); err != nil || w.ended {
			return err
		}
	}
	if w.q.Direction&Down != 0 {
		return w.descend(first)
	}
	return nil
}

func (w *walk) check() error {
	q := &w.q
	if q.Direction == 0 {
		q.Direction = Up
	}
	if q.Depth == 0 {
		q.Depth = DefaultDepth
	}
	if q.Nodes == 0 {
		q.Nodes = DefaultNodes
	}
	match, err := matcher(q.Within)
	if err != nil {
		return err
	}
	w.within = match
	q.Spans = q.Direction&Down != 0
	switch {
	case q.Start.Level() < engram.LevelEntity:
		return engram.Errorf(engram.Invalid, q.Start.String(), "a trace starts from an entity, a snapshot or an instance")
	case q.Direction > Both:
		return engram.Errorf(engram.Invalid, "", "a trace of unknown direction %d", q.Direction)
	case q.Depth < 0 || q.Depth > MaxDepth:
		return engram.Errorf(engram.Invalid, "", "a trace %d links deep; from 1 to %d are allowed", q.Depth, MaxDepth)
	case q.Nodes < 0 || q.Nodes > MaxNodes:
		return engram.Errorf(engram.Invalid, "", "a trace of %d nodes; from 1 to %d are allowed", q.Nodes, MaxNodes)
	}
	return nil
}

// put hands over a part.
func (w *walk) put(p Part) {
	if !w.ended && !w.yield(p, nil) {
		w.ended = true
	}
}

// tell says what cut the trace off, each once.
func (w *walk) tell(more, detail string) {
	if key := more + " " + detail; !w.told[key] {
		w.told[key] = true
		w.put(Part{More: more, Detail: detail})
	}
}

// add adds a node, unless there is one that stands for it; nil if there is no room. fresh
// says that it is new.
func (w *walk) add(r *Resolved, depth int, down bool) (n *node, fresh bool) {
	if n := w.nodes[r.Node.ID]; n != nil {
		return n, false
	}
	entity := r.Node.ID.Truncate(engram.LevelEntity)
	if r.Node.Stages {
		for _, n := range w.stages[entity] {
			if down || slices.Equal(n.links, r.Links) {
				w.nodes[r.Node.ID] = n
				return n, false
			}
		}
	}
	if w.count == w.q.Nodes {
		w.tell("nodes", "")
		return nil, false
	}
	w.count++
	n = &node{Node: r.Node, links: r.Links}
	n.Depth = depth
	w.nodes[n.ID] = n
	if n.Stages {
		w.stages[entity] = append(w.stages[entity], n)
	}
	told := n.Node
	w.put(Part{Node: &told})
	return n, true
}

// matcher returns what one of the patterns selects; everything if there are none.
func matcher(patterns []engram.Pattern) (func(engram.ID) bool, error) {
	var all []*engram.PatternMatcher
	for _, p := range patterns {
		m, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return func(id engram.ID) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(m *engram.PatternMatcher) bool { return m.Match(id) })
	}, nil
}

// connect hands over an edge, once.
func (w *walk) connect(e Edge) {
	if !w.edges[e] {
		w.edges[e] = true
		w.put(Part{Edge: &e})
	}
}

// climb follows links from a node on.
func (w *walk) climb(first *node) error {
	type step struct {
		from *node
		link Link
		to   int // of refs
	}
	frontier := []*node{first}
	for depth := 0; len(frontier) > 0 && !w.ended; depth++ {
		var refs []Ref
		var steps []step
		place := map[Ref]int{}
		for _, n := range frontier {
			if n.up {
				continue
			}
			n.up = true
			at, _ := n.ID.Time()
			for _, l := range n.links {
				if !w.within(l.ID) {
					continue
				}
				ref := Ref{ID: l.ID, At: at}
				if _, ok := l.ID.Time(); ok {
					ref.At = 0 // whenever it was linked to
				}
				k, ok := place[ref]
				if !ok {
					k = len(refs)
					place[ref] = k
					refs = append(refs, ref)
				}
				steps = append(steps, step{n, l, k})
			}
		}
		if len(refs) == 0 {
			return nil
		}
		if depth == w.q.Depth {
			w.tell("depth", "")
			return nil
		}
		found, err := w.f.Resolve(w.ctx, refs, w.q.Options)
		if err != nil {
			return err
		}
		nodes := make([]*node, len(refs))
		frontier = frontier[:0:0]
		for i := range found {
			var fresh bool
			if nodes[i], fresh = w.add(&found[i], depth+1, false); fresh && found[i].Node.Missing == "" {
				frontier = append(frontier, nodes[i])
			}
			if found[i].Node.Missing == engram.MissingUnreachable {
				w.tell("server", found[i].Node.ID.Memory())
			}
		}
		for _, s := range steps {
			if to := nodes[s.to]; to != nil {
				w.connect(Edge{From: s.from.ID, To: to.ID, Path: s.link.Path, Link: s.link.ID, Instance: s.link.Instance})
			}
		}
	}
	return nil
}

// descend follows links to a node, and on from what has them.
func (w *walk) descend(first *node) error {
	frontier := []*node{first}
	for depth := 0; len(frontier) > 0 && !w.ended; depth++ {
		spans := make([]Span, 0, len(frontier))
		from := frontier[:0:0]
		for _, n := range frontier {
			if n.down {
				continue
			}
			n.down = true
			from = append(from, n)
			s := Span{ID: n.ID, First: n.First, Until: n.Until}
			if n.Stages || n == first && w.q.Start.Level() == engram.LevelEntity {
				s = Span{ID: n.ID.Truncate(engram.LevelEntity), First: engram.MinTime, Until: engram.MaxTime}
			}
			spans = append(spans, s)
		}
		found, err := w.f.Sources(w.ctx, spans, w.q.Options)
		if err != nil {
			return err
		}
		frontier = frontier[:0:0]
		for i := range found {
			for _, server := range found[i].Away {
				w.tell("server", server)
			}
			if found[i].More {
				w.tell("links", from[i].ID.String())
			}
			for k := range found[i].Of {
				s := &found[i].Of[k]
				if depth == w.q.Depth {
					if w.nodes[s.Node.ID] == nil {
						w.tell("depth", "")
					}
					continue
				}
				n, fresh := w.add(&Resolved{Node: s.Node}, depth+1, true)
				if n == nil {
					continue
				}
				if fresh || !n.down && !slices.Contains(frontier, n) {
					frontier = append(frontier, n)
				}
				for _, l := range s.Links {
					w.connect(Edge{From: n.ID, To: from[i].ID, Path: l.Path, Link: l.ID, Instance: l.Instance})
				}
			}
		}
	}
	return nil
}
