package pose

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// EdgeInfo describes an edge during one period.
type EdgeInfo struct {
	Parent, Child string
	Kind          Kind
	Valid         engram.Interval
	Joint         string // its name, of a KindJoint edge
	Foreign       bool   // see [Foreign]
	// Samples and Bytes are what its history holds, or how many keys an anchor has;
	// First and Last are valid if Samples > 0. Pruned counts the samples that
	// retention dropped.
	Samples, Pruned int64
	Bytes           int64
	First, Last     engram.Time
}

// Edges describes all edges in the present revision, in the order of their
// children's names and of time. A child with several periods has several.
func (s *Store) Edges() []EdgeInfo { return s.Now().Edges() }

// Edges describes all edges as the view shows them.
func (v *View) Edges() []EdgeInfo {
	var out []EdgeInfo
	for f := range v.state.content.frames.all() {
		for i, p := range f.periods {
			if p.edge == nil {
				continue
			}
			out = append(out, v.describe(p.edge, f.span(i)))
		}
	}
	slices.SortStableFunc(out, func(a, b EdgeInfo) int { return strings.Compare(a.Child, b.Child) })
	return out
}

// Edges describes the edges on the path at t, from the target up to the common
// ancestor and down to the source. The failure is NotConnected.
func (p *Path) Edges(t engram.Time) (out []EdgeInfo, fail Failure) {
	st := p.now()
	seg := p.segmentAt(st, t)
	if !seg.connected {
		return nil, Failure{Code: NotConnected, Time: t, about: p.about}
	}
	v := p.view
	if v == nil {
		v = p.store.showing(st)
	}
	describe := func(e *edge) {
		per, end := st.content.frames.at(e.child).periodAt(t)
		info := v.describe(e, engram.Interval{Start: per.from, End: end})
		info.Valid = seg.Interval
		out = append(out, info)
	}
	for i := len(seg.up.edges) - 1; i >= 0; i-- {
		describe(seg.up.edges[i])
	}
	for _, e := range seg.down.edges {
		describe(e)
	}
	return out, Failure{}
}

// describe describes an edge during the span in which it holds.
func (v *View) describe(e *edge, valid engram.Interval) EdgeInfo {
	poses, values := v.samples(e, valid)
	info := e.info(valid)
	switch e.kind {
	case KindFree:
		poses.describe(&info)
	case KindJoint:
		info.Joint = e.joint.Name
		values.describe(&info)
	case KindAnchor:
		if n := len(e.keys.keys); n > 0 {
			info.Samples, info.First, info.Last = int64(n), e.keys.keys[0].t, e.keys.keys[n-1].t
		}
	}
	return info
}

func (s snapshot[V, X]) describe(info *EdgeInfo) {
	count, bytes := s.size()
	info.Samples, info.Bytes, info.Pruned = int64(count), bytes, s.b.pruned
	if s.n > 0 {
		info.First, info.Last = s.first(), s.last()
	}
}
