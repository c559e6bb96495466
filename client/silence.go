package client

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// haste is the part of a client's patience that a server gets of which the names say that
// it shows no sign of life: who listens for it all the time has been patient already.
const haste = 12

// patienceOf returns how long a server that does not answer may keep a question waiting.
func (c *Client) patienceOf(cn *conn) time.Duration {
	if cn.silentSince() != 0 {
		return c.o.Patience / haste
	}
	return c.o.Patience
}

// silentSince returns when the server was last heard, if the names say that it shows no
// sign of life; else 0.
func (cn *conn) silentSince() engram.Time { return engram.Time(cn.silent.Load()) }

// hurried reports whether questions to a server are given up when it does not answer:
// another robot's is out of reach as often as not.
func (cn *conn) hurried() bool { return cn.foreign || cn.silentSince() != 0 }

// soon gets a connection's client, within what patience there is for the server.
func soon[T any](ctx context.Context, c *Client, cn *conn, get func(context.Context, *conn) (T, error)) (T, error) {
	patience := c.patienceOf(cn)
	dial, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := get(dial, cn)
	if err != nil && ctx.Err() == nil && dial.Err() != nil {
		err = engram.Errorf(engram.Unavailable, cn.server, "the memory server was not reached within %v: %w", patience, err)
	}
	return client, err
}

// errSilent says since when a server that has not answered is silent, if that is known.
func (cn *conn) errSilent(err error) error {
	since := cn.silentSince()
	if engram.CodeOf(err) != engram.Unavailable || since == 0 {
		return err
	}
	ago := max(engram.Now().Sub(since), 0).Round(100 * time.Millisecond)
	return engram.Errorf(engram.Unavailable, cn.server, "the memory server does not answer, and was last heard at %v, %v ago: %w", since, ago, err)
}

// silentLast moves servers that show no sign of life behind the others.
func silentLast(conns []*conn) []*conn {
	var live, silent []*conn
	for _, cn := range conns {
		if cn.silentSince() == 0 {
			live = append(live, cn)
		} else {
			silent = append(silent, cn)
		}
	}
	return append(live, silent...)
}

// lastHeard returns when who hosts a memory was last heard, if that is silent, or not
// known any more; else 0.
func (c *Client) lastHeard(memory string) engram.Time {
	if h := c.routes().find(memory); h != nil {
		return h.lastHeard()
	}
	return 0
}

// lastHeard returns since when nobody answers for a memory, if that is known; else 0.
func (h *host) lastHeard() engram.Time {
	if h.owner != nil {
		return h.owner.silentSince()
	}
	return h.since
}
