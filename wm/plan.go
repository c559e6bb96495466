package wm

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// planNode is a compiled node of a query.
type planNode struct {
	match     engram.NameMatcher
	names     []string // if it lists names: these, sorted, each once
	lists     bool
	children  []*planNode
	snapshots []engram.SnapshotSelector
}

// compile compiles the nodes of a query.
func (w *WM) compile(nodes []engram.QueryNode) ([]*planNode, error) {
	var out []*planNode
	for i := range nodes {
		n := &nodes[i]
		p := &planNode{snapshots: n.Snapshots}
		var err error
		if p.match, err = w.matcher(n.Names); err != nil {
			return nil, err
		}
		if p.names, p.lists = p.match.Exact(); p.lists {
			p.names = slices.Compact(slices.Sorted(slices.Values(p.names)))
		}
		if p.children, err = w.compile(n.Children); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// matcher compiles a name selector; regular expressions are kept for the next time.
func (w *WM) matcher(s engram.NameSelector) (engram.NameMatcher, error) {
	if s.Kind != engram.NameRegex {
		return s.Matcher()
	}
	return w.regexes.get(s.Regex, s.Matcher)
}

// bare reports whether the node asks for the names alone.
func (p *planNode) bare() bool { return len(p.children) == 0 && len(p.snapshots) == 0 }

// below returns the children of all nodes.
func below(nodes []*planNode) []*planNode {
	if len(nodes) == 1 {
		return nodes[0].children
	}
	var out []*planNode
	for _, n := range nodes {
		out = append(out, n.children...)
	}
	return out
}

// eachChild calls visit with every child that at least one node matches, in order
// of their names, and the nodes that match it, which are visit's until it returns.
// Names that are listed are looked up.
func eachChild[V any](ctx context.Context, t *table[V], nodes []*planNode, visit func(V, []*planNode) error) error {
	if len(nodes) == 1 && nodes[0].lists {
		for _, name := range nodes[0].names {
			if v, ok := t.get(name); ok {
				if err := visit(v, nodes); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var matchers []*planNode // the nodes that do not list names
	listed := make(map[string][]*planNode)
	for _, n := range nodes {
		if !n.lists {
			matchers = append(matchers, n)
		}
		for _, name := range n.names {
			listed[name] = append(listed[name], n)
		}
	}
	if len(matchers) == 0 {
		for _, name := range slices.Sorted(maps.Keys(listed)) {
			if v, ok := t.get(name); ok {
				if err := visit(v, listed[name]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var matching []*planNode
	work := 0
	for _, e := range t.sorted() {
		if work += len(matchers); work >= 4096 {
			work = 0
			if err := checkContext(ctx); err != nil {
				return err
			}
		}
		matching = matching[:0]
		if len(listed) > 0 {
			matching = append(matching, listed[e.name]...)
		}
		for _, n := range matchers {
			if n.match.Match(e.name) {
				matching = append(matching, n)
			}
		}
		if len(matching) > 0 {
			if err := visit(e.value, matching); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachEntity calls visit with every entity that the plan selects, each once.
func (w *WM) eachEntity(ctx context.Context, plan []*planNode, visit func(*entity) error) error {
	return eachChild(ctx, &w.memories, plan, func(m *memory, nodes []*planNode) error {
		return eachChild(ctx, &m.cores, below(nodes), func(c *core, nodes []*planNode) error {
			return eachChild(ctx, &c.providers, below(nodes), func(p *provider, nodes []*planNode) error {
				return eachChild(ctx, &p.entities, below(nodes), func(e *entity, _ []*planNode) error {
					return visit(e)
				})
			})
		})
	})
}
