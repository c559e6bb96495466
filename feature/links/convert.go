package links

import (
	"context"
	"encoding/json"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/link/service"
)

// spanOf returns the span of times that a request names; the zero Interval if it names none.
func spanOf(start, end *int64) engram.Interval {
	if start == nil && end == nil {
		return engram.Interval{}
	}
	iv := engram.Always()
	if start != nil {
		iv.Start = engram.Time(*start)
	}
	if end != nil {
		iv.End = engram.Time(*end)
	}
	return iv
}

// endOf is nil for the end of all times, which messages do not name.
func endOf(t engram.Time) *int64 {
	if t == engram.MaxTime {
		return nil
	}
	return (*int64)(&t)
}

func backQueryOf(ctx context.Context, m *engramv1.BackLinksRequest) (q service.BackQuery, err error) {
	q = service.BackQuery{
		Until: (*engram.Time)(m.Until), At: (*engram.Time)(m.At), AsOf: (*engram.Time)(m.AsOf), Span: spanOf(m.Start, m.End), Limit: int(m.GetLimit()),
	}
	if q.Target, err = engram.Parse(m.GetTarget()); err != nil {
		return q, err
	}
	if q.Limit < 0 {
		return q, engram.Errorf(engram.Invalid, "", "a limit is negative; 0 is all")
	}
	q.From, err = wire.LimitsOf(ctx).Pattern(m.GetFrom())
	return q, err
}

func backQueryMessage(q *service.BackQuery) *engramv1.BackLinksRequest {
	m := &engramv1.BackLinksRequest{
		Target: q.Target.String(), Until: (*int64)(q.Until), From: q.From.String(), At: (*int64)(q.At), AsOf: (*int64)(q.AsOf), Limit: int64(q.Limit),
	}
	m.Start, m.End = spanMembers(q.Span)
	return m
}

func spanMembers(iv engram.Interval) (start, end *int64) {
	if iv == (engram.Interval{}) {
		return nil, nil
	}
	return (*int64)(&iv.Start), endOf(iv.End)
}

func optionsOf(ctx context.Context, m *engramv1.TraceOptions) (o service.Options, err error) {
	o = service.Options{AsOf: asOf(m), Spans: m.GetSpans(), Members: m.GetMembers()}
	o.Within, err = wire.LimitsOf(ctx).Patterns(m.GetWithin())
	return o, err
}

func optionsMessage(o *service.Options) *engramv1.TraceOptions {
	m := &engramv1.TraceOptions{AsOf: (*int64)(o.AsOf), Spans: o.Spans, Members: o.Members}
	for _, p := range o.Within {
		m.Within = append(m.Within, p.String())
	}
	return m
}

var directions = []service.Direction{engramv1.TraceDirection_TRACE_DIRECTION_UP: service.Up, engramv1.TraceDirection_TRACE_DIRECTION_DOWN: service.Down, engramv1.TraceDirection_TRACE_DIRECTION_BOTH: service.Both}

func traceQueryOf(ctx context.Context, m *engramv1.TraceRequest) (q service.TraceQuery, err error) {
	if q.Options, err = optionsOf(ctx, m.GetOptions()); err != nil {
		return q, err
	}
	if int(m.GetDirection()) >= len(directions) || m.GetDirection() < 0 {
		return q, engram.Errorf(engram.Invalid, "", "the direction %d of the trace is not known", m.GetDirection())
	}
	q.At, q.Direction, q.Depth, q.Nodes = (*engram.Time)(m.At), directions[m.GetDirection()], int(m.GetDepth()), int(m.GetNodes())
	q.Start, err = engram.Parse(m.GetStart())
	return q, err
}

func traceQueryMessage(q *service.TraceQuery) *engramv1.TraceRequest {
	m := &engramv1.TraceRequest{Start: q.Start.String(), At: (*int64)(q.At), Depth: int32(q.Depth), Nodes: int32(q.Nodes), Options: optionsMessage(&q.Options)}
	switch q.Direction {
	case service.Down:
		m.Direction = engramv1.TraceDirection_TRACE_DIRECTION_DOWN
	case service.Both:
		m.Direction = engramv1.TraceDirection_TRACE_DIRECTION_BOTH
	}
	return m
}

func nodeMessage(n *service.Node) *engramv1.TraceNode {
	return &engramv1.TraceNode{
		Id: n.ID.String(), Depth: int32(n.Depth), First: int64(n.First), Until: endOf(n.Until), Arrived: int64(n.Arrived), Type: n.Type,
		Confidence: n.Confidence, Instances: int32(n.Instances), Stages: n.Stages, Members: string(n.Members), Missing: n.Missing,
	}
}

func nodeOf(m *engramv1.TraceNode) (n service.Node, err error) {
	n = service.Node{
		Depth: int(m.GetDepth()), First: engram.Time(m.GetFirst()), Until: engram.MaxTime, Arrived: engram.Time(m.GetArrived()), Type: m.GetType(),
		Confidence: m.GetConfidence(), Instances: int(m.GetInstances()), Stages: m.GetStages(), Missing: m.GetMissing(),
	}
	if m.GetMembers() != "" {
		n.Members = json.RawMessage(m.GetMembers())
	}
	if m != nil && m.Until != nil {
		n.Until = engram.Time(*m.Until)
	}
	n.ID, err = engram.Parse(m.GetId())
	return n, err
}

func linkMessages(links []service.Link) (out []*engramv1.TraceLink) {
	for _, l := range links {
		out = append(out, &engramv1.TraceLink{Path: l.Path, Instance: int32(l.Instance), Id: l.ID.String()})
	}
	return out
}

func linksOf(ms []*engramv1.TraceLink) (out []service.Link, err error) {
	for _, m := range ms {
		l := service.Link{Path: m.GetPath(), Instance: int(m.GetInstance())}
		if l.ID, err = engram.Parse(m.GetId()); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func partMessage(p *service.Part) *engramv1.TracePart {
	switch {
	case p.Node != nil:
		return &engramv1.TracePart{Part: &engramv1.TracePart_Node{Node: nodeMessage(p.Node)}}
	case p.Edge != nil:
		e := p.Edge
		return &engramv1.TracePart{Part: &engramv1.TracePart_Edge{Edge: &engramv1.TraceEdge{
			From: e.From.String(), To: e.To.String(), Path: e.Path, Link: e.Link.String(), Instance: int32(e.Instance),
		}}}
	case p.Doubt != nil:
		return &engramv1.TracePart{Part: &engramv1.TracePart_Doubt{Doubt: &engramv1.TraceDoubt{Id: p.Doubt.Node.String(), Why: p.Doubt.Why}}}
	}
	return &engramv1.TracePart{Part: &engramv1.TracePart_More{More: &engramv1.TraceMore{What: p.More, Detail: p.Detail}}}
}

func partOf(m *engramv1.TracePart) (p service.Part, err error) {
	switch m := m.GetPart().(type) {
	case *engramv1.TracePart_Node:
		n, err := nodeOf(m.Node)
		return service.Part{Node: &n}, err
	case *engramv1.TracePart_Edge:
		e := &service.Edge{Path: m.Edge.GetPath(), Instance: int(m.Edge.GetInstance())}
		for _, member := range []struct {
			to   *engram.ID
			text string
		}{{&e.From, m.Edge.GetFrom()}, {&e.To, m.Edge.GetTo()}, {&e.Link, m.Edge.GetLink()}} {
			if *member.to, err = engram.Parse(member.text); err != nil {
				return p, err
			}
		}
		return service.Part{Edge: e}, nil
	case *engramv1.TracePart_More:
		return service.Part{More: m.More.GetWhat(), Detail: m.More.GetDetail()}, nil
	case *engramv1.TracePart_Doubt:
		d := &service.Doubt{Why: m.Doubt.GetWhy()}
		d.Node, err = engram.Parse(m.Doubt.GetId())
		return service.Part{Doubt: d}, err
	}
	return p, engram.Errorf(engram.Corrupt, "", "a part of a trace is neither node nor edge")
}

func asOf(m *engramv1.TraceOptions) *engram.Time {
	if m == nil {
		return nil
	}
	return (*engram.Time)(m.AsOf)
}
