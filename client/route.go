package client

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// where returns where a memory is, asking the name system if it is not known. The
// error is NotFound if it is not registered, and Unavailable if its server left within
// [mns.TakeoverTime], or if it is another robot's of which nothing is known.
func (c *router) where(ctx context.Context, memory string) (*host, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if memory == "" {
		return nil, engram.Errorf(engram.Invalid, "", "the ID of the root names no memory")
	}
	if h := c.routes().find(memory); h != nil {
		return h, nil
	}
	return c.resolve(ctx, memory)
}

// host is where for calls that only the memory's owner can answer.
func (c *router) host(ctx context.Context, memory string) (*host, error) {
	h, err := c.where(ctx, memory)
	if err == nil && h.owner == nil {
		return nil, h.ownerless()
	}
	return h, err
}

// ownerless is the error where only copies of a memory are known.
func (h *host) ownerless() error {
	return engram.Errorf(engram.Unavailable, h.memory, "the server that owns the memory is not reached; %s holds a copy, which answers queries", h.copies[0].server)
}

// resolve asks the name system where a memory is. While the name system is away,
// what it said last holds.
func (c *router) resolve(ctx context.Context, memory string) (*host, error) {
	memory = c.routes().name(memory)
	e, err := c.asking().Resolve(ctx, memory)
	if err == nil {
		memory = e.Memory
	}
	if h := c.routes().hosts[memory]; h != nil {
		return h, nil
	}
	if err == nil { // there are newer news
		return nil, engram.Errorf(engram.Unavailable, memory, "the server that hosts the memory has just left the name system")
	}
	if robot, _ := engram.SplitName(memory); robot != "" && engram.CodeOf(err) == engram.NotFound && !c.routes().knows(robot) {
		err = engram.Errorf(engram.Unavailable, memory, "robot %s is not reached: %w", robot, err)
	}
	return nil, err
}

// learn asks the name system for memories that a selector names and that are not
// known, such as one that has registered a moment ago. Those that do not exist are
// not an error. It adds to away those that may be back soon, such as one whose server has
// just left, with the errors that say so.
func (c *router) learn(ctx context.Context, names engram.NameSelector, away map[string]error) {
	const most = 16 // a query must not become a flood of look-ups
	if names.Kind != engram.NameOneOf {
		return
	}
	for _, m := range names.Names[:min(len(names.Names), most)] {
		if away[m] != nil {
			continue
		}
		if _, err := c.where(ctx, m); engram.CodeOf(err) == engram.Unavailable {
			away[m] = err
		}
	}
}

// all returns the connections to all servers of this robot, sorted by the server's
// identity. If none is registered, that of the name system is all there is.
func (c *router) all() []*conn {
	if servers := c.routes().servers; len(servers) > 0 {
		return servers
	}
	if c.home.server == nil {
		return nil
	}
	home := &conn{server: c.homeServer(), lock: make(chan struct{}, 1), client: c.home.server, home: true}
	home.lock <- struct{}{}
	return []*conn{home}
}

// errNobody is the error where there is no server to be asked.
func (c *router) errNobody() error {
	return engram.Errorf(engram.Unavailable, c.home.address, "no memory server of this robot is registered")
}

// onMemory calls f with the server that hosts the memory. If that does not answer
// and the name system knows the memory elsewhere by now, a call that only reads is
// made there.
func (c *router) onMemory(ctx context.Context, memory string, reads bool, f func(context.Context, transport.Client, *host) error) error {
	for first := true; ; first = false {
		h, err := c.host(ctx, memory)
		if err != nil {
			return err
		}
		sent, err := c.on(ctx, h.owner, reads && h.owner.hurried(), func(ctx context.Context, s transport.Client) error { return f(ctx, s, h) })
		if !unanswered(err) {
			return err
		}
		sent = sent && !errors.Is(err, credentials.ErrNotBelieved) // who is not believed is sent nothing
		moved, resolveErr := c.resolve(ctx, memory)
		if !first || sent && !reads || resolveErr != nil || moved.owner == nil || moved.owner == h.owner {
			return err
		}
	}
}

// on calls f with the connection's client; sent reports whether it came to that. A
// server that was not reached a moment ago is not tried if it is another robot's. If
// hurry is set, the call is given up when the server is found to be down, and not tried
// if it did not a moment ago.
func (c *router) on(ctx context.Context, cn *conn, hurry bool, f func(context.Context, transport.Client) error) (sent bool, err error) {
	if cn.down.Load() && (cn.foreign || hurry && cn.suspectedSince() != 0) {
		if err := cn.errDown(); err != nil {
			return false, err
		}
	}
	if !hurry {
		client, err := c.get(ctx, cn)
		if err != nil {
			c.lost(cn, err)
			return false, err
		}
		return true, c.finish(ctx, cn, f(ctx, client))
	}
	client, err := reach(ctx, c, cn, c.get)
	if err != nil {
		c.lost(cn, err)
		return false, cn.errSuspected(err)
	}
	asked, counts := client.(*rpc.Client)
	var had uint64
	if counts {
		had = asked.Received()
	}
	err = c.finish(ctx, cn, c.whileAlive(ctx, cn, client, f))
	if counts && asked.Received() != had {
		return true, err // it has said so itself, such as that it is stopping
	}
	return true, cn.errSuspected(err)
}

// finish looks at how a call ended.
func (c *router) finish(ctx context.Context, cn *conn, err error) error {
	if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil && c.ctx.Err() == nil && cn.isClosed() {
		// Not the caller's doing: the server has left the name system meanwhile.
		err = errGone(cn, err)
	}
	c.lost(cn, err)
	return err
}

func (c *router) alive() error {
	if c.ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, c.home.address, "the client is closed")
	}
	return nil
}
