package client

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Names returns the name system, such as to wait for a memory. What it answers the
// client knows from then on: who has waited for a memory finds it in everything the
// client is asked next, however late the news of its registration come.
func (c *Client) Names() mns.Registry { return c.asking() }

// names is the name system, whose answers the client learns.
type names struct {
	mns.Registry
	c *router
}

func (c *router) asking() names { return names{c.home.names, c} }

// tries is how often the name system is asked again because there were news meanwhile of
// what it was asked about.
const tries = 3

func (n names) Resolve(ctx context.Context, memory string) (e mns.Entry, err error) {
	for range tries {
		since, done := n.c.beginAsking()
		e, err = n.Registry.Resolve(ctx, memory)
		learned := true
		switch engram.CodeOf(err) {
		case 0:
			learned = n.c.answered(since, []mns.Entry{e})
		case engram.NotFound:
			learned = n.c.answered(since, nil, n.c.routes().name(memory))
		case engram.Unavailable:
			learned = n.left(ctx, since, n.c.routes().name(memory), err)
		}
		if done(); learned {
			break
		}
	}
	return e, err
}

// left learns from the error of a memory that it was not found because its server has left.
// It reports whether it is as [router.answered] says.
func (n names) left(ctx context.Context, since uint64, memory string, err error) bool {
	e, ok := errors.AsType[*engram.Error](err)
	if !ok || e.Thing != memory || n.c.routes().find(memory) == nil {
		return true // it is the name system that is away, or there is nothing to be learned
	}
	entries, err := n.Registry.List(ctx)
	if err != nil || slices.ContainsFunc(entries, func(e mns.Entry) bool { return e.Memory == memory }) {
		return true
	}
	return n.c.answered(since, nil, memory)
}

func (n names) Wait(ctx context.Context, memory string) (mns.Entry, error) {
	since, done := n.c.beginAsking()
	defer done()
	e, err := n.Registry.Wait(ctx, memory)
	if err == nil && !n.c.answered(since, []mns.Entry{e}) {
		_, _ = n.Resolve(ctx, memory) // what holds by now; it was there, in any case
	}
	return e, err
}

func (n names) List(ctx context.Context) (entries []mns.Entry, err error) {
	for range tries {
		since, done := n.c.beginAsking()
		entries, err = n.Registry.List(ctx)
		learned := err != nil || n.c.answered(since, entries)
		if done(); learned {
			break
		}
	}
	return entries, err
}
