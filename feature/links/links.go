// Package links is the feature by which programs follow links (engram.v1.LinkService): its
// calls, their rules, and a client.
package links

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/link/service"
)

const name = "engram.v1.LinkService"

// Messages of streams are sent when they have so many links, nodes and edges.
const (
	linksAtOnce = 512
	partsAtOnce = 64
)

// Server answers and makes the steps of traces.
type Server interface {
	service.Service
	service.Follower
}

// Feature offers to follow links. Everybody may ask, of what they may read.
func Feature(s Server) feature.Feature {
	h := handler{s}
	return feature.New(name,
		feature.Stream("BackLinks", feature.Sees(access.Read), h.backLinks).Lasting(),
		feature.Stream("Trace", feature.Sees(access.Read), h.trace).Lasting(),
		feature.Unary("FollowLinks", feature.Sees(access.Read), h.follow).Lasting(),
		feature.Unary("CheckLinks", feature.Sees(access.Read), h.check).Lasting(),
	)
}

type handler struct{ Server }

func (h handler) backLinks(ctx context.Context, m *engramv1.BackLinksRequest, send func(*engramv1.BackLinksResponse) error) error {
	q, err := backQueryOf(ctx, m)
	if err != nil {
		return err
	}
	answer := &engramv1.BackLinksResponse{}
	for l, err := range h.BackLinks(ctx, q) {
		switch {
		case errors.Is(err, service.ErrMore):
			answer.More = true
		case err != nil:
			return err
		default:
			answer.Links = append(answer.Links, &engramv1.BackLink{Source: l.Source.String(), Arrived: int64(l.Arrived), Path: l.Path, Target: l.Target.String()})
		}
		if len(answer.Links) == linksAtOnce {
			if err := send(answer); err != nil {
				return err
			}
			answer = &engramv1.BackLinksResponse{}
		}
	}
	if len(answer.Links) > 0 || answer.More {
		return send(answer)
	}
	return nil
}

func (h handler) trace(ctx context.Context, m *engramv1.TraceRequest, send func(*engramv1.TraceResponse) error) error {
	q, err := traceQueryOf(ctx, m)
	if err != nil {
		return err
	}
	trace := h.Trace(ctx, q)
	if m.GetDoubts() {
		d, ok := h.Server.(service.Doubter)
		if !ok {
			return engram.Errorf(engram.Unsupported, m.GetStart(), "the server does not know what is doubtful; trace without doubts")
		}
		trace = d.Doubted(ctx, trace, q.AsOf)
	}
	answer := &engramv1.TraceResponse{}
	for p, err := range trace {
		if err != nil {
			return err
		}
		if answer.Parts = append(answer.Parts, partMessage(&p)); len(answer.Parts) == partsAtOnce {
			if err := send(answer); err != nil {
				return err
			}
			answer = &engramv1.TraceResponse{}
		}
	}
	if len(answer.Parts) > 0 {
		return send(answer)
	}
	return nil
}

func (h handler) follow(ctx context.Context, m *engramv1.FollowLinksRequest) (*engramv1.FollowLinksResponse, error) {
	if err := wire.LimitsOf(ctx).Breadth("references and targets", len(m.GetReferences())+len(m.GetTargets())); err != nil {
		return nil, err
	}
	o, err := optionsOf(ctx, m.GetOptions())
	if err != nil {
		return nil, err
	}
	answer := &engramv1.FollowLinksResponse{}
	if len(m.GetReferences()) > 0 {
		refs := make([]service.Ref, len(m.GetReferences()))
		for i, r := range m.GetReferences() {
			if refs[i].ID, err = engram.Parse(r.GetId()); err != nil {
				return nil, err
			}
			if refs[i].At = engram.MaxTime; r.At != nil {
				refs[i].At = engram.Time(r.GetAt())
			}
		}
		found, err := h.Resolve(ctx, refs, o)
		if err != nil {
			return nil, err
		}
		for i := range found {
			answer.Resolved = append(answer.Resolved, &engramv1.LinkedNode{Node: nodeMessage(&found[i].Node), Links: linkMessages(found[i].Links)})
		}
	}
	if len(m.GetTargets()) > 0 {
		spans := make([]service.Span, len(m.GetTargets()))
		for i, t := range m.GetTargets() {
			if spans[i].ID, err = engram.Parse(t.GetId()); err != nil {
				return nil, err
			}
			spans[i].First = engram.Time(t.GetFirst())
			if spans[i].Until = engram.MaxTime; t.Until != nil {
				spans[i].Until = engram.Time(t.GetUntil())
			}
		}
		found, err := h.Sources(ctx, spans, o)
		if err != nil {
			return nil, err
		}
		for i := range found {
			sources := &engramv1.LinkSources{More: found[i].More}
			for k := range found[i].Of {
				s := &found[i].Of[k]
				sources.Sources = append(sources.Sources, &engramv1.LinkedNode{Node: nodeMessage(&s.Node), Links: linkMessages(s.Links)})
			}
			answer.Sources = append(answer.Sources, sources)
		}
	}
	return answer, nil
}

func (h handler) check(ctx context.Context, m *engramv1.CheckLinksRequest) (*engramv1.CheckLinksResponse, error) {
	p, err := wire.LimitsOf(ctx).Pattern(m.GetPattern())
	if err != nil {
		return nil, err
	}
	found, err := h.Check(ctx, service.CheckQuery{Of: p, Span: spanOf(m.Start, m.End), Dangling: m.GetDangling()})
	if err != nil {
		return nil, err
	}
	answer := &engramv1.CheckLinksResponse{}
	for _, c := range found {
		answer.Checked = append(answer.Checked, &engramv1.CheckedLinks{
			Provider: c.Provider.String(), Type: c.Type, CanLink: c.CanLink, Results: c.Results, Unlinked: c.Unlinked, Example: c.Example.String(),
			Links: c.Links, Dangling: c.Dangling, DanglingSource: c.DanglingExample[0].String(), DanglingLink: c.DanglingExample[1].String(),
		})
	}
	return answer, nil
}
