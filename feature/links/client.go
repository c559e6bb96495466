package links

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/link/service"
)

// NewClient returns what follows links at a server.
func NewClient(c feature.Conn) Server { return client{c} }

type client struct{ feature.Conn }

// stream makes a call with many answers, until use returns false.
func stream[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, c feature.Conn, call string, request proto.Message, use func(P) (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.Open(ctx, "/"+name+"/"+call, request)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		m := P(new(M))
		if err := s.Receive(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if on, err := use(m); err != nil || !on {
			return err
		}
	}
}

// BackLinks implements [service.Service].
func (c client) BackLinks(ctx context.Context, q service.BackQuery) iter.Seq2[service.BackLink, error] {
	return func(yield func(service.BackLink, error) bool) {
		ended := false
		err := stream(ctx, c.Conn, "BackLinks", backQueryMessage(&q), func(m *engramv1.BackLinksResponse) (bool, error) {
			for _, l := range m.GetLinks() {
				link := service.BackLink{Arrived: engram.Time(l.GetArrived()), Path: l.GetPath()}
				var err error
				if link.Source, err = engram.Parse(l.GetSource()); err == nil {
					link.Target, err = engram.Parse(l.GetTarget())
				}
				if err != nil {
					return false, wire.BadAnswer(err)
				}
				if ended = !yield(link, nil); ended {
					return false, nil
				}
			}
			if m.GetMore() {
				return false, service.ErrMore
			}
			return true, nil
		})
		if err != nil && !ended {
			yield(service.BackLink{}, err)
		}
	}
}

// Trace implements [service.Service].
func (c client) Trace(ctx context.Context, q service.TraceQuery) iter.Seq2[service.Part, error] {
	return func(yield func(service.Part, error) bool) {
		ended := false
		err := stream(ctx, c.Conn, "Trace", traceQueryMessage(&q), func(m *engramv1.TraceResponse) (bool, error) {
			for _, part := range m.GetParts() {
				p, err := partOf(part)
				if err != nil {
					return false, wire.BadAnswer(err)
				}
				if ended = !yield(p, nil); ended {
					return false, nil
				}
			}
			return true, nil
		})
		if err != nil && !ended {
			yield(service.Part{}, err)
		}
	}
}

// Resolve implements [service.Follower].
func (c client) Resolve(ctx context.Context, refs []service.Ref, o service.Options) ([]service.Resolved, error) {
	m := &engramv1.FollowLinksRequest{Options: optionsMessage(&o)}
	for _, r := range refs {
		m.References = append(m.References, &engramv1.LinkReference{Id: r.ID.String(), At: endOf(r.At)})
	}
	var answer engramv1.FollowLinksResponse
	if err := c.Call(ctx, "/"+name+"/FollowLinks", m, &answer); err != nil {
		return nil, err
	}
	if len(answer.GetResolved()) != len(refs) {
		return nil, wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "of %d references %d are answered", len(refs), len(answer.GetResolved())))
	}
	all := make([]service.Resolved, len(refs))
	for i, r := range answer.GetResolved() {
		var err error
		if all[i].Node, err = nodeOf(r.GetNode()); err == nil {
			all[i].Links, err = linksOf(r.GetLinks())
		}
		if err != nil {
			return nil, wire.BadAnswer(err)
		}
	}
	return all, nil
}

// Sources implements [service.Follower].
func (c client) Sources(ctx context.Context, nodes []service.Span, o service.Options) ([]service.Sources, error) {
	m := &engramv1.FollowLinksRequest{Options: optionsMessage(&o)}
	for _, n := range nodes {
		m.Targets = append(m.Targets, &engramv1.LinkTarget{Id: n.ID.String(), First: int64(n.First), Until: endOf(n.Until)})
	}
	var answer engramv1.FollowLinksResponse
	if err := c.Call(ctx, "/"+name+"/FollowLinks", m, &answer); err != nil {
		return nil, err
	}
	if len(answer.GetSources()) != len(nodes) {
		return nil, wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "of %d targets %d are answered", len(nodes), len(answer.GetSources())))
	}
	all := make([]service.Sources, len(nodes))
	for i, s := range answer.GetSources() {
		all[i].More = s.GetMore()
		for _, from := range s.GetSources() {
			var source service.Source
			var err error
			if source.Node, err = nodeOf(from.GetNode()); err == nil {
				source.Links, err = linksOf(from.GetLinks())
			}
			if err != nil {
				return nil, wire.BadAnswer(err)
			}
			all[i].Of = append(all[i].Of, source)
		}
	}
	return all, nil
}

// Check implements [service.Service].
func (c client) Check(ctx context.Context, q service.CheckQuery) ([]service.Checked, error) {
	m := &engramv1.CheckLinksRequest{Pattern: q.Of.String(), Dangling: q.Dangling}
	m.Start, m.End = spanMembers(q.Span)
	var answer engramv1.CheckLinksResponse
	if err := c.Call(ctx, "/"+name+"/CheckLinks", m, &answer); err != nil {
		return nil, err
	}
	var all []service.Checked
	for _, m := range answer.GetChecked() {
		c := service.Checked{Type: m.GetType(), CanLink: m.GetCanLink(), Results: m.GetResults(), Unlinked: m.GetUnlinked(), Links: m.GetLinks(), Dangling: m.GetDangling()}
		for to, text := range map[*engram.ID]string{
			&c.Provider: m.GetProvider(), &c.Example: m.GetExample(), &c.DanglingExample[0]: m.GetDanglingSource(), &c.DanglingExample[1]: m.GetDanglingLink(),
		} {
			id, err := engram.Parse(text)
			if err != nil {
				return nil, wire.BadAnswer(err)
			}
			*to = id
		}
		all = append(all, c)
	}
	return all, nil
}
