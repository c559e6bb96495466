package client

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// suspectedShare is how many times shorter the detection timeout is for a server that the
// names suspect to be down: the name system has waited for it already.
const suspectedShare = 12

// detectionTimeout returns how long a server that does not answer may keep a question waiting.
func (c *router) detectionTimeout(cn *conn) time.Duration {
	if cn.suspectedSince() != 0 {
		return c.o.DetectionTimeout / suspectedShare
	}
	return c.o.DetectionTimeout
}

// suspectedSince returns when the server was last heard, if the names suspect it to be
// down; else 0.
func (cn *conn) suspectedSince() engram.Time { return engram.Time(cn.suspected.Load()) }

// hurried reports whether the failure detector watches questions to a server: another
// robot's is out of reach as often as not.
func (cn *conn) hurried() bool { return cn.foreign || cn.suspectedSince() != 0 }

// reach gets a connection's client, within the detection timeout of the server.
func reach[T any](ctx context.Context, c *router, cn *conn, get func(context.Context, *conn) (T, error)) (T, error) {
	timeout := c.detectionTimeout(cn)
	dial, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := get(dial, cn)
	if err != nil && ctx.Err() == nil && dial.Err() != nil {
		err = engram.Errorf(engram.Unavailable, cn.server, "the memory server was not reached within %v: %w", timeout, err)
	}
	return client, err
}

// errSuspected says when a server that has not answered was last heard, if that is known.
func (cn *conn) errSuspected(err error) error {
	since := cn.suspectedSince()
	if engram.CodeOf(err) != engram.Unavailable || since == 0 {
		return err
	}
	ago := max(engram.Now().Sub(since), 0).Round(100 * time.Millisecond)
	return engram.Errorf(engram.Unavailable, cn.server, "the memory server does not answer, and was last heard at %v, %v ago: %w", since, ago, err)
}

// suspectedLast moves servers that are suspected to be down behind the others.
func suspectedLast(conns []*conn) []*conn {
	var live, suspected []*conn
	for _, cn := range conns {
		if cn.suspectedSince() == 0 {
			live = append(live, cn)
		} else {
			suspected = append(suspected, cn)
		}
	}
	return append(live, suspected...)
}

// lastHeard returns when who hosts a memory was last heard, if that is suspected, or not
// known any more; else 0.
func (c *router) lastHeard(memory string) engram.Time {
	if h := c.routes().find(memory); h != nil {
		return h.lastHeard()
	}
	return 0
}

// lastHeard returns since when nobody answers for a memory, if that is known; else 0.
func (h *host) lastHeard() engram.Time {
	if h.owner != nil {
		return h.owner.suspectedSince()
	}
	return h.since
}
