package client

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// conn is the connection to one memory server, made when it is first needed.
type conn struct {
	robot     string // whose the server is; "" if that has no name
	server    string
	addresses []string
	foreign   bool                  // it is another robot's
	claims    claims                // that the names make about it
	suspected atomic.Int64          // when it was last heard, if the names suspect it to be down; else 0
	down      atomic.Bool           // it was not reached, and is tried in the background; only if foreign or suspected
	doubted   atomic.Pointer[doubt] // why it is down, if it is because of who was met; else nil
	lock      chan struct{}         // holds a token while free; whoever dials has it

	taught int              // how many of the client's types it was told; only if foreign
	client transport.Client // nil until dialled
	rpc    *rpc.Client      // beside a client of edge/transport/local; nil until it is needed
	home   bool             // the client is the one to the name system, which stays
	closed bool
}

// connKey identifies a robot's server at its addresses: what one robot says of another's
// server is not that one's doing.
func connKey(robot, server string, addresses []string) string {
	return robot + "\x00" + server + "\x00" + strings.Join(addresses, "\x00")
}

// serverKey tells servers apart, at whatever addresses they are: another robot's may have
// the same name.
type serverKey struct{ robot, server string }

func (cn *conn) key() serverKey { return serverKey{cn.robot, cn.server} }

func (c *router) connLocked(robot, server string, addresses []string, foreign bool) *conn {
	key := connKey(robot, server, addresses)
	cn := c.conns[key]
	if cn == nil {
		cn = &conn{robot: robot, server: server, addresses: addresses, foreign: foreign, lock: make(chan struct{}, 1)}
		cn.lock <- struct{}{}
		c.conns[key] = cn
	}
	return cn
}

// get returns the connection's client, dialling if there is none: the server's
// addresses in order, those first that the server itself put first.
func (c *router) get(ctx context.Context, cn *conn) (transport.Client, error) {
	if err := cn.hold(ctx); err != nil {
		return nil, err
	}
	defer cn.release()
	if cn.closed {
		return nil, engram.Errorf(engram.Unavailable, cn.server, "the memory server is no longer registered")
	}
	if cn.client != nil {
		return cn.client, nil
	}
	athome := c.athome(cn)
	addresses := cn.addresses
	if athome {
		// However the name system was reached, the same way leads to its memories: the
		// registered addresses need not be valid from here.
		addresses = slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return !transport.IsLocal(a) })
	}
	client, err := dial(ctx, c, cn, addresses, transport.Dial)
	if err == nil {
		if !cn.foreign { // other robots' types are their own
			c.mu.Lock()
			types := slices.Clone(c.types)
			c.mu.Unlock()
			for _, t := range types {
				// A type that the server has otherwise is refused again where it is used.
				_ = client.AddType(ctx, t)
			}
		}
		cn.client = client
		return client, nil
	}
	if athome {
		cn.client, cn.home = c.home.server, true
		return cn.client, nil
	}
	return nil, transport.Unreached(cn.server, err)
}

// teach makes the types that this client has added known to a server of another robot,
// to which something is to be committed.
func (c *router) teach(ctx context.Context, cn *conn) error {
	if !cn.foreign {
		return nil // it knows them
	}
	if err := cn.hold(ctx); err != nil {
		return err
	}
	defer cn.release()
	c.mu.Lock()
	types := slices.Clone(c.types[min(cn.taught, len(c.types)):])
	c.mu.Unlock()
	for _, t := range types {
		if cn.client == nil {
			return nil // the commit will say why
		}
		// A type that the server has otherwise is refused again where it is used.
		if err := cn.client.AddType(ctx, t); engram.CodeOf(err) == engram.Unavailable {
			return err
		}
		cn.taught++
	}
	return nil
}

// hold waits for the right to dial.
func (cn *conn) hold(ctx context.Context) error {
	select {
	case <-cn.lock:
		return nil
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, cn.server, "given up connecting to the memory server: %w", ctx.Err())
	}
}

func (cn *conn) release() { cn.lock <- struct{}{} }

// athome reports whether a connection leads to the server that is the client's home.
func (c *router) athome(cn *conn) bool { return cn.server != "" && c.homeServer() == cn.server }

// way returns how a server is dialled at one of its addresses. One on the backbone is
// reached via the server of the name system, unless this program is on the backbone
// itself.
func (c *router) way(cn *conn, address string) (string, rpc.DialOptions) {
	o := c.o.Dial
	o.Server, o.Serves = cn.server, cn.claims.get
	if name, ok := strings.CutPrefix(address, rpc.BackboneScheme); ok && o.Backbone == nil && c.home.server != nil {
		address, o.Via = c.home.address, name
	}
	return address, o
}

// dial reaches a server at the first of its addresses at which it answers.
func dial[T io.Closer](ctx context.Context, c *router, cn *conn, addresses []string, via func(context.Context, string, rpc.DialOptions) (T, error)) (T, error) {
	return transport.First(ctx, c.asIdentity(addresses), max(c.o.DetectionTimeout, DefaultDetectionTimeout), func(ctx context.Context, address string) (T, error) {
		address, o := c.way(cn, address)
		return via(ctx, address, o)
	})
}

// speak returns the connection's client over RPC, dialling if there is none.
func (c *router) speak(ctx context.Context, cn *conn) (*rpc.Client, error) {
	if c.athome(cn) {
		return c.home.server, nil
	}
	if err := cn.hold(ctx); err != nil {
		return nil, err
	}
	defer cn.release()
	if cn.closed {
		return nil, engram.Errorf(engram.Unavailable, cn.server, "the memory server is no longer registered")
	}
	if cn.rpc != nil {
		return cn.rpc, nil
	}
	if shared, ok := cn.client.(*rpc.Client); ok {
		return shared, nil
	}
	addresses := slices.DeleteFunc(slices.Clone(cn.addresses), transport.IsLocal)
	if len(addresses) == 0 {
		return nil, engram.Errorf(engram.Unsupported, cn.server, "the memory server is registered at %s only, and this is asked over RPC; register a unix: or http: address, too",
			strings.Join(cn.addresses, " and "))
	}
	dialled, err := dial(ctx, c, cn, addresses, rpc.Dial)
	if err != nil {
		return nil, transport.Unreached(cn.server, err)
	}
	cn.rpc = dialled
	return dialled, nil
}

func (cn *conn) close() {
	<-cn.lock
	defer cn.release()
	cn.closed = true
	if cn.client != nil && !cn.home {
		cn.client.Close()
	}
	if cn.rpc != nil {
		cn.rpc.Close()
	}
}

func (cn *conn) isClosed() bool {
	<-cn.lock
	defer cn.release()
	return cn.closed
}
