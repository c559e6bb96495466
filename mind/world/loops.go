package world

import (
	"cmp"
	"strings"

	"github.com/seed-301d4374/engram"
)

// loop is a loop of one of the graphs over items. Each item has at most one edge upwards,
// so loops have no items in common, and each is broken at one edge.
type loop struct {
	members []int32
	cut     int32 // whose edge upwards does not count
}

// link gives a node whose item changed its edges, and brings all that follows up to date.
func (b *Builder) link(n *node, up, frame int32) {
	b.refile(n, n.up, up, func(p *node) *set[*named] { return &p.children })
	b.refile(n, n.frame, frame, func(p *node) *set[*named] { return &b.rare(p).framed })
	n.up, n.frame = up, frame
	for _, id := range b.relink(parents, n.id) {
		for _, id := range b.relink(frames, id) {
			b.touch(id, engram.MaxTime)
		}
	}
	b.await(n)
}

// refile moves a node from the set of one node to that of another.
func (b *Builder) refile(n *node, from, to int32, of func(*node) *set[*named]) {
	if from == to {
		return
	}
	if from != none {
		p := b.own(from)
		b.member(of(p), n, false)
		b.await(p)
	}
	if to != none {
		p := b.own(to)
		b.member(of(p), n, true)
		b.await(p)
	}
}

// await files a node among those that have children and do not exist, or not.
func (b *Builder) await(n *node) {
	b.member(&b.f.awaited, n, n.merged == nil && !n.children.empty())
}

// relink looks for a loop through a node whose edge of the graph changed, or whose item came
// or went. It returns the nodes whose edge counts otherwise now, with the node itself.
func (b *Builder) relink(graph int, id int32) []int32 {
	changed := []int32{id}
	if l := b.loops[graph][id]; l != nil { // each other loop does not hold the node
		for _, m := range l.members {
			delete(b.loops[graph], m)
		}
		if b.cut(graph, l.cut, false); l.cut != id {
			changed = append(changed, l.cut)
		}
	}
	if l := b.loopThrough(graph, id); l != nil {
		for _, m := range l.members {
			b.loops[graph][m] = l
		}
		if b.cut(graph, l.cut, true); l.cut != id {
			changed = append(changed, l.cut)
		}
	}
	for _, c := range changed {
		b.file(b.f.node(c))
	}
	return changed
}

func (b *Builder) cut(graph int, id int32, on bool) { b.own(id).cut[graph] = on }

// file brings the sets of roots and of notes up to date.
func (b *Builder) file(n *node) {
	b.member(&b.f.roots, n, n.merged != nil && (n.up == none || n.cut[parents]))
	b.member(&b.f.noted, n, len(n.notes(&b.f.rules)) > 0)
}

// loopThrough returns the loop that a node is on, or nil. Who leads into another loop is on
// none; one that is not known yet is noticed by meeting the same node again (Brent).
func (b *Builder) loopThrough(graph int, id int32) *loop {
	if n := b.f.node(id); n.children.empty() && (graph == parents || n.framed.empty()) {
		return nil // nothing leads to it
	}
	l := &loop{cut: id}
	newest := b.edgeTime(graph, id)
	met, steps, limit := int32(none), 0, 1
	for at := id; ; {
		l.members = append(l.members, at)
		if at = b.above(graph, b.f.node(at)); at == id {
			return l
		}
		if at == none || at == met || b.loops[graph][at] != nil {
			return nil
		}
		if steps++; steps == limit {
			met, steps, limit = at, 0, 2*limit
		}
		t := b.edgeTime(graph, at)
		if cmp.Or(cmp.Compare(t, newest), strings.Compare(b.f.node(at).name, b.f.node(l.cut).name)) > 0 {
			l.cut, newest = at, t
		}
	}
}

// above returns where a node's stated edge leads, if both ends exist; else none. The edge
// counts whether a loop is cut at it or not.
func (b *Builder) above(graph int, n *node) int32 {
	to := n.up
	if graph == frames {
		to = b.f.statedFrame(n)
	}
	if graph == parents && !(n.merged != nil && b.f.exists(to)) || !b.f.joins(to) {
		return none
	}
	return to
}

// edgeTime returns when a node's edge was stated, by the clock that rules compare with.
func (b *Builder) edgeTime(graph int, id int32) engram.Time {
	m := b.f.node(id).merged
	switch {
	case m == nil: // a robot's frame, which never is where a loop is cut
		return engram.MinTime
	case graph == frames && m.Placed != nil:
		return m.Placed.at(m.Placement.Time).Add(b.f.rules.Offsets[m.Placed.Robot])
	case graph == parents && m.Structured != nil:
		return m.Structured.at(m.Structure.Time).Add(b.f.rules.Offsets[m.Structured.Robot])
	}
	return 0
}
