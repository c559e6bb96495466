package query

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Node is a compiled node of a query.
type Node struct {
	match     engram.NameMatcher
	names     []string // if it lists names: these, sorted, each once
	lists     bool
	work      *work // of the query
	children  []*Node
	Snapshots []engram.SnapshotSelector
}

// Compile compiles the nodes of a query for one reader. To compile its regular expressions and to match names with
// them may take budget steps (see [idf.FilterMeter]); 0 is no bound.
func (c *Compiler) Compile(ctx context.Context, nodes []engram.QueryNode, budget int64) ([]*Node, error) {
	return c.compile(nodes, c.work(ctx, budget))
}

func (c *Compiler) compile(nodes []engram.QueryNode, w *work) ([]*Node, error) {
	var out []*Node
	for i := range nodes {
		n := &nodes[i]
		p := &Node{Snapshots: n.Snapshots, work: w}
		var err error
		if p.match, err = c.matcher(n.Names); err != nil {
			return nil, err
		}
		if err := w.spend(1 + compileSteps*int64(p.match.Instructions())); err != nil {
			return nil, err
		}
		if p.names, p.lists = p.match.Exact(); p.lists {
			p.names = slices.Compact(slices.Sorted(slices.Values(p.names)))
		}
		if p.children, err = c.compile(n.Children, w); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// matcher compiles a name selector; regular expressions are kept for the next time.
func (c *Compiler) matcher(s engram.NameSelector) (engram.NameMatcher, error) {
	if s.Kind != engram.NameRegex {
		return s.Matcher()
	}
	return c.regexes.Get(s.Regex, s.Matcher)
}

// Bare reports whether the node asks for the names alone.
func (p *Node) Bare() bool { return len(p.children) == 0 && len(p.Snapshots) == 0 }

// Below returns the children of all nodes.
func Below(nodes []*Node) []*Node {
	if len(nodes) == 1 {
		return nodes[0].children
	}
	var out []*Node
	for _, n := range nodes {
		out = append(out, n.children...)
	}
	return out
}

// Names returns the names that the node lists, sorted, if it lists names.
func (p *Node) Names() (names []string, ok bool) { return p.names, p.lists }

// Asks reports whether a function says so of what one of the node's selectors, or of those
// of nodes below, asks of something that is not there.
func (p *Node) Asks(is func(Asked) bool) bool {
	return slices.ContainsFunc(p.Snapshots, func(s engram.SnapshotSelector) bool { return is(AskedBy(s)) }) ||
		slices.ContainsFunc(p.children, func(c *Node) bool { return c.Asks(is) })
}

// AskedOf returns the span of times within which nodes ask for snapshots, and whether they
// do so at all.
func AskedOf(nodes []*Node) (span engram.Interval, any bool) {
	for _, n := range nodes {
		for _, s := range n.Snapshots {
			a := AskedBy(s)
			if s.Kind == engram.KindIndexRange {
				a = Asked{First: engram.MinTime, Last: engram.MaxTime}
			}
			if a.First > a.Last {
				continue
			}
			of := engram.Interval{Start: a.First, End: a.Last.Add(1)}
			if !any {
				span, any = of, true
			}
			span.Start, span.End = min(span.Start, of.Start), max(span.End, of.End)
		}
		below, ok := AskedOf(n.children)
		if ok && any {
			span.Start, span.End = min(span.Start, below.Start), max(span.End, below.End)
		} else if ok {
			span, any = below, true
		}
	}
	return span, any
}

// Table maps names to nodes of a hierarchy.
type Table[V any] interface {
	// Get returns the node of that name.
	Get(name string) (V, bool)
	// Sorted visits all nodes in the order of their names.
	Sorted() iter.Seq2[string, V]
}

// EachChild calls visit with every child in t that at least one node matches, in
// order of their names, and the nodes that match it, which are visit's until it
// returns. Names that are listed are looked up.
func EachChild[V any, T Table[V]](ctx context.Context, t T, nodes []*Node, visit func(V, []*Node) error) error {
	if len(nodes) == 1 && nodes[0].lists {
		for _, name := range nodes[0].names {
			if v, ok := t.Get(name); ok {
				if err := visit(v, nodes); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var matchers []*Node // the nodes that do not list names
	listed := make(map[string][]*Node)
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
			if v, ok := t.Get(name); ok {
				if err := visit(v, listed[name]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var matching []*Node
	for name, v := range t.Sorted() {
		matching = matching[:0]
		if len(listed) > 0 {
			matching = append(matching, listed[name]...)
		}
		var err error
		if matching, err = matched(matchers, name, matching); err != nil {
			return err
		}
		if len(matching) > 0 {
			if err := visit(v, matching); err != nil {
				return err
			}
		}
	}
	return nil
}

// matched appends the nodes that match a name.
func matched(nodes []*Node, name string, out []*Node) ([]*Node, error) {
	w := nodes[0].work
	if w.long() {
		if w.err = w.take(); w.err != nil {
			return nil, w.err
		}
		defer w.Yield()
	}
	for _, n := range nodes {
		found, err := w.matches(&n.match, name)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, n)
		}
	}
	return out, nil
}
