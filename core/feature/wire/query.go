package wire

import (
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// QueryMessage returns the request of a query.
func QueryMessage(q engram.Query) (*engramv1.QueryRequest, error) {
	if q.Numbers != nil {
		return nil, engram.Errorf(engram.Unsupported, "", "numbers instead of snapshots are given within a process only; ask for the members as fields")
	}
	m := &engramv1.QueryRequest{
		Target: engramv1.Target(q.Target), Source: engramv1.Source(q.Source), Type: q.Type, LinksExactly: q.LinksExactly, Where: q.Where, FilterOrder: engramv1.FilterOrder(q.FilterOrder), Fields: q.Fields, WithoutPayload: q.WithoutPayload,
	}
	for _, id := range q.LinksTo {
		m.LinksTo = append(m.LinksTo, id.String())
	}
	if q.AsOf != nil {
		t := int64(*q.AsOf)
		m.AsOf = &t
	}
	var err error
	m.Memories, err = queryNodeMessages(q.Memories)
	return m, err
}

func queryNodeMessages(nodes []engram.QueryNode) ([]*engramv1.QueryNode, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	ms := make([]*engramv1.QueryNode, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		names, err := NameSelectorMessage(n.Names)
		if err != nil {
			return nil, err
		}
		m := &engramv1.QueryNode{Names: names}
		for _, s := range n.Snapshots {
			sm, err := selectorMessage(s)
			if err != nil {
				return nil, err
			}
			m.Snapshots = append(m.Snapshots, sm)
		}
		if m.Children, err = queryNodeMessages(n.Children); err != nil {
			return nil, err
		}
		ms[i] = m
	}
	return ms, nil
}

func selectorMessage(s engram.SnapshotSelector) (*engramv1.SnapshotSelector, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	m := &engramv1.SnapshotSelector{}
	switch s.Kind {
	case engram.KindAll:
		m.Kind = &engramv1.SnapshotSelector_All{All: true}
	case engram.KindLatest:
		m.Kind = &engramv1.SnapshotSelector_Latest{Latest: uint32(min(s.N, math.MaxUint32))}
	case engram.KindAt:
		m.Kind = &engramv1.SnapshotSelector_At{At: int64(s.Time)}
	case engram.KindAtOrBefore:
		m.Kind = &engramv1.SnapshotSelector_AtOrBefore{AtOrBefore: int64(s.Time)}
	case engram.KindNearest:
		m.Kind = &engramv1.SnapshotSelector_Nearest_{Nearest: &engramv1.SnapshotSelector_Nearest{Time: int64(s.Time), WithinNanos: int64(s.Within)}}
	case engram.KindRange:
		start, end := int64(s.Interval.Start), int64(s.Interval.End)
		m.Kind = &engramv1.SnapshotSelector_Range_{Range: &engramv1.SnapshotSelector_Range{Start: &start, End: &end}}
	case engram.KindIndexRange:
		m.Kind = &engramv1.SnapshotSelector_Indices_{Indices: &engramv1.SnapshotSelector_Indices{First: int64(s.First), Last: int64(s.Last)}}
	}
	return m, nil
}

// Query converts a request. The error is Invalid or Exhausted.
func (l Limits) Query(m *engramv1.QueryRequest) (engram.Query, error) {
	q := engram.Query{
		Target: engram.Target(m.GetTarget()), Source: engram.Source(m.GetSource()), Type: m.GetType(), LinksExactly: m.GetLinksExactly(), Where: m.GetWhere(), FilterOrder: engram.FilterOrder(m.GetFilterOrder()), Fields: m.GetFields(), WithoutPayload: m.GetWithoutPayload(),
	}
	if m.GetTarget() < engramv1.Target_TARGET_BOTH || m.GetTarget() > engramv1.Target_TARGET_LTM {
		return q, engram.Errorf(engram.Invalid, "", "a query of unknown target %d", m.GetTarget())
	}
	if m.GetSource() < engramv1.Source_SOURCE_ANY || m.GetSource() > engramv1.Source_SOURCE_NEAR {
		return q, engram.Errorf(engram.Invalid, "", "a query of unknown source %d", m.GetSource())
	}
	if m.GetFilterOrder() < 0 || m.GetFilterOrder() > engramv1.FilterOrder_FILTER_ORDER_SELECT_THEN_FILTER {
		return q, engram.Errorf(engram.Invalid, "", "a query of unknown filter order %d", m.GetFilterOrder())
	}
	if err := l.Breadth("fields", len(m.GetFields())); err != nil {
		return q, err
	}
	if m.AsOf != nil {
		t := engram.Time(m.GetAsOf())
		q.AsOf = &t
	}
	if err := l.Breadth("links", len(m.GetLinksTo())); err != nil {
		return q, err
	}
	for _, text := range m.GetLinksTo() {
		id, err := engram.Parse(text)
		if err != nil {
			return q, engram.Errorf(engram.Invalid, text, "the query asks for links to what is no ID: %w", err)
		}
		q.LinksTo = append(q.LinksTo, id)
	}
	n := 0
	var err error
	if q.Memories, err = l.queryNodes(m.GetMemories(), engram.LevelMemory, &n); err != nil {
		return q, err
	}
	if m.Pattern == nil {
		if len(m.GetSnapshots()) > 0 {
			return q, engram.Errorf(engram.Invalid, "", "a query has snapshots but no pattern; give a pattern, or put them into the tree in memories")
		}
		return q, q.Check(l.MaxNodes)
	}
	if len(q.Memories) > 0 {
		return q, engram.Errorf(engram.Invalid, "", "a query has both a pattern and a tree in memories; give one of them")
	}
	p, err := l.Pattern(m.GetPattern())
	if err != nil {
		return q, err
	}
	if err := l.Breadth("snapshots", len(m.GetSnapshots())); err != nil {
		return q, err
	}
	sels, err := selectors(m.GetSnapshots())
	if err != nil {
		return q, err
	}
	if len(sels) == 0 {
		sels = []engram.SnapshotSelector{engram.Latest(1)}
	}
	q.Memories = p.Select(sels...).Memories
	return q, q.Check(l.MaxNodes)
}

func (l Limits) queryNodes(ms []*engramv1.QueryNode, level engram.Level, n *int) ([]engram.QueryNode, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	if level > engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, "", "a query has more levels of names than memory, core segment, provider segment and entity")
	}
	nodes := make([]engram.QueryNode, 0, min(len(ms), l.MaxNodes))
	for _, m := range ms {
		*n += 1 + len(m.GetSnapshots()) + len(m.GetNames().GetNames().GetNames())
		if err := l.Breadth("nodes, names and selectors", *n); err != nil {
			return nil, err
		}
		names, err := l.nameSelector(m.GetNames())
		if err != nil {
			return nil, err
		}
		node := engram.QueryNode{Names: names}
		if node.Children, err = l.queryNodes(m.GetChildren(), level+1, n); err != nil {
			return nil, err
		}
		if node.Snapshots, err = selectors(m.GetSnapshots()); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func selectors(ms []*engramv1.SnapshotSelector) ([]engram.SnapshotSelector, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	sels := make([]engram.SnapshotSelector, len(ms))
	for i, m := range ms {
		switch k := m.GetKind().(type) {
		case *engramv1.SnapshotSelector_All:
			sels[i] = engram.All()
		case *engramv1.SnapshotSelector_Latest:
			sels[i] = engram.Latest(int(k.Latest))
		case *engramv1.SnapshotSelector_At:
			sels[i] = engram.At(engram.Time(k.At))
		case *engramv1.SnapshotSelector_AtOrBefore:
			sels[i] = engram.AtOrBefore(engram.Time(k.AtOrBefore))
		case *engramv1.SnapshotSelector_Nearest_:
			sels[i] = engram.Nearest(engram.Time(k.Nearest.GetTime()), time.Duration(k.Nearest.GetWithinNanos()))
		case *engramv1.SnapshotSelector_Range_:
			iv := engram.Always()
			if k.Range.Start != nil {
				iv.Start = engram.Time(k.Range.GetStart())
			}
			if k.Range.End != nil {
				iv.End = engram.Time(k.Range.GetEnd())
			}
			sels[i] = engram.In(iv)
		case *engramv1.SnapshotSelector_Indices_:
			sels[i] = engram.Indices(int(k.Indices.GetFirst()), int(k.Indices.GetLast()))
		default:
			return nil, engram.Errorf(engram.Invalid, "", "a snapshot selector says nothing; set one of all, latest, at, atOrBefore, nearest, range, indices")
		}
		if err := sels[i].Check(); err != nil {
			return nil, err
		}
	}
	return sels, nil
}
