package link

import (
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
)

// Elsewhere reads memories of other servers, as this one names them and with its rights.
type Elsewhere interface {
	Query(ctx context.Context, q engram.Query) (*engram.Result, error)
	Type(ctx context.Context, name string) (engram.TypeDef, error)
	service.Follower
}

// Everywhere follows links in the memories of a server and in those of others.
type Everywhere interface {
	service.Service
	service.Follower
}

// Beyond returns what follows links in the memories of the server and in those of others, and
// what reads these, nil if nothing does.
func (l Local) Beyond(ctx context.Context) (Everywhere, Elsewhere) {
	if l.Elsewhere == nil {
		return l, nil
	}
	far, err := l.Elsewhere(ctx)
	if err != nil {
		return l, nil // what is here is told
	}
	return beyond{l, far}, far
}

// Doubts returns what a judge of doubt reads: the memories of the server, and those of others.
func (l Local) Doubts(ctx context.Context) doubt.Source {
	all, far := l.Beyond(ctx)
	return doubts{all, l, far}
}

type doubts struct {
	service.Follower
	l   Local
	far Elsewhere // nil if there is none
}

// Query implements [doubt.Source].
func (d doubts) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if d.far != nil && !d.l.Hosts(q.Memories[0].Names.Names[0]) {
		return d.far.Query(ctx, q)
	}
	return d.l.Reader.Query(ctx, q)
}

type beyond struct {
	Local
	far service.Follower
}

// Trace implements [service.Service].
func (b beyond) Trace(ctx context.Context, q service.TraceQuery) iter.Seq2[service.Part, error] {
	return service.Walk(ctx, b, q)
}

// Resolve implements [service.Follower].
func (b beyond) Resolve(ctx context.Context, refs []service.Ref, o service.Options) ([]service.Resolved, error) {
	all, err := b.Local.Resolve(ctx, refs, o)
	if err != nil {
		return nil, err
	}
	var places []int
	var asked []service.Ref
	for i := range all {
		if all[i].Node.Missing == service.MissingElsewhere {
			places, asked = append(places, i), append(asked, refs[i])
		}
	}
	if len(asked) == 0 {
		return all, nil
	}
	found, err := b.far.Resolve(ctx, asked, o)
	if err != nil {
		return all, ended(ctx)
	}
	for k, i := range places {
		all[i] = found[k]
	}
	return all, nil
}

// Sources implements [service.Follower].
func (b beyond) Sources(ctx context.Context, nodes []service.Span, o service.Options) ([]service.Sources, error) {
	all, err := b.Local.Sources(ctx, nodes, o)
	if err != nil {
		return nil, err
	}
	found, err := b.far.Sources(ctx, nodes, o)
	if err != nil {
		return all, ended(ctx)
	}
	for i := range all {
		all[i].More = all[i].More || found[i].More
		for _, s := range found[i].Of {
			if !b.Hosts(plain(b.Robot, s.Node.ID).Memory()) {
				all[i].Of = append(all[i].Of, s)
			}
		}
	}
	return all, nil
}

// ended returns the error of a call that was given up.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
}
