package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/transport"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// conn is the connection to one memory server, made when it is first needed.
type conn struct {
	server    string
	addresses []string
	lock      chan struct{} // holds a token while free; whoever dials has it

	client transport.Client // nil until dialled
	rpc    *rpc.Client      // beside a client of transport/local; nil until it is needed
	home   bool             // the client is the one to the name system, which stays
	closed bool
}

// connKey identifies a server at its addresses.
func connKey(e mns.Entry) string { return e.Server + "\x00" + strings.Join(e.Addresses, "\x00") }

// dialTimeout bounds how long one of a server's addresses is tried.
const dialTimeout = 3 * time.Second

// dialStagger is how long the next address waits for the one before it.
const dialStagger = 250 * time.Millisecond

// get returns the connection's client, dialling if there is none: the server's
// addresses in order, those first that the server itself put first.
func (c *Client) get(ctx context.Context, cn *conn) (transport.Client, error) {
	select {
	case <-cn.lock:
		defer func() { cn.lock <- struct{}{} }()
	case <-ctx.Done():
		return nil, engram.Errorf(engram.Canceled, cn.server, "given up connecting to the memory server: %w", ctx.Err())
	}
	if cn.closed {
		return nil, engram.Errorf(engram.Unavailable, cn.server, "the memory server is no longer registered")
	}
	if cn.client != nil {
		return cn.client, nil
	}
	athome := c.home.Server().Server == cn.server && cn.server != ""
	addresses := cn.addresses
	if athome {
		// However the name system was reached, the same way leads to its memories: the
		// registered addresses need not be valid from here.
		addresses = slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return !transport.IsLocal(a) })
	}
	client, err := c.dialAny(ctx, cn.server, addresses)
	if err == nil {
		c.mu.Lock()
		types := slices.Clone(c.types)
		c.mu.Unlock()
		for _, t := range types {
			// A type that the server has otherwise is refused again where it is used.
			_ = client.AddType(ctx, t)
		}
		cn.client = client
		return client, nil
	}
	if athome {
		cn.client, cn.home = c.home, true
		return cn.client, nil
	}
	return nil, engram.Errorf(engram.Unavailable, cn.server, "the memory server cannot be reached: %w", err)
}

// dialAny dials a server's addresses in order, each a moment after the one before
// it unless that has failed already: an address to which there is no route takes
// long to fail. The first connection is taken.
func (c *Client) dialAny(ctx context.Context, server string, addresses []string) (transport.Client, error) {
	type outcome struct {
		client transport.Client
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome, len(addresses))
	var failures []error
	next, pending := 0, 0
	for next < len(addresses) || pending > 0 {
		var stagger <-chan time.Time
		if next < len(addresses) {
			address := addresses[next]
			go func() {
				ctx, cancel := context.WithTimeout(ctx, dialTimeout)
				defer cancel()
				client, err := c.dial(ctx, server, address)
				outcomes <- outcome{client, err}
			}()
			next, pending = next+1, pending+1
			stagger = time.After(dialStagger)
		}
		select {
		case o := <-outcomes:
			pending--
			if o.err != nil {
				failures = append(failures, o.err)
				continue
			}
			cancel()
			for range pending { // the others end soon
				if o := <-outcomes; o.err == nil {
					o.client.Close()
				}
			}
			return o.client, nil
		case <-stagger:
		}
	}
	if len(addresses) == 0 {
		failures = append(failures, errors.New("it has no address that can be reached from here"))
	}
	return nil, errors.Join(failures...)
}

// dial dials a server at one of its addresses. One on the backbone is reached via
// the server of the name system, unless this program is on the backbone itself.
func (c *Client) dial(ctx context.Context, server, address string) (transport.Client, error) {
	o := c.o.Dial
	o.Server = server
	if name, ok := strings.CutPrefix(address, rpc.BackboneScheme); ok && o.Backbone == nil {
		address, o.Via = c.home.Address(), name
	}
	return transport.Dial(ctx, address, o)
}

func (cn *conn) close() {
	<-cn.lock
	defer func() { cn.lock <- struct{}{} }()
	cn.closed = true
	if cn.client != nil && !cn.home {
		cn.client.Close()
	}
	if cn.rpc != nil {
		cn.rpc.Close()
	}
}

func (c *Client) connLocked(e mns.Entry) *conn {
	key := connKey(e)
	cn := c.conns[key]
	if cn == nil {
		cn = &conn{server: e.Server, addresses: e.Addresses, lock: make(chan struct{}, 1)}
		cn.lock <- struct{}{}
		c.conns[key] = cn
	}
	return cn
}

// hosts returns the connection of each memory that is known, and of all of them
// if they share one.
func (c *Client) hosts() (byMemory map[string]*conn, only *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byMemory = make(map[string]*conn, len(c.table))
	several := false
	for m, e := range c.table {
		cn := c.connLocked(e)
		byMemory[m] = cn
		if only == nil {
			only = cn
		}
		several = several || cn != only
	}
	if several {
		only = nil
	}
	return byMemory, only
}

// host returns the connection to the server that hosts a memory, asking the name
// system if it is not known. The error is NotFound if it is not registered.
func (c *Client) host(ctx context.Context, memory string) (*conn, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if memory == "" {
		return nil, engram.Errorf(engram.Invalid, "", "the ID of the root names no memory")
	}
	c.mu.Lock()
	e, ok := c.table[memory]
	if ok {
		defer c.mu.Unlock()
		return c.connLocked(e), nil
	}
	c.mu.Unlock()
	return c.resolve(ctx, memory)
}

// resolve asks the name system where a memory is. While the name system is away,
// what it said last holds.
func (c *Client) resolve(ctx context.Context, memory string) (*conn, error) {
	e, err := c.home.Names().Resolve(ctx, memory)
	switch engram.CodeOf(err) {
	case 0:
		c.mu.Lock()
		known := c.table[memory]
		c.mu.Unlock()
		if connKey(known) != connKey(e) {
			c.set(e)
		}
	case engram.NotFound:
		c.set(mns.Entry{Memory: memory})
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.table[memory]; ok {
		return c.connLocked(e), nil
	}
	return nil, err
}

// learn asks the name system for memories that a selector names and that are not
// known, such as one that has registered a moment ago. Those that do not exist are
// not an error.
func (c *Client) learn(ctx context.Context, names engram.NameSelector) {
	const most = 16 // a query must not become a flood of look-ups
	if names.Kind != engram.NameOneOf {
		return
	}
	for _, m := range names.Names[:min(len(names.Names), most)] {
		// The error says that there is no such memory, or that the name system is away.
		_, _ = c.host(ctx, m)
	}
}

// all returns the connections to all servers, sorted by the server's identity. If
// none is registered, that of the name system is all there is.
func (c *Client) all() []*conn {
	byMemory, _ := c.hosts()
	set := map[*conn]bool{}
	for _, cn := range byMemory {
		set[cn] = true
	}
	if len(set) == 0 {
		home := &conn{server: c.home.Server().Server, lock: make(chan struct{}, 1), client: c.home, home: true}
		home.lock <- struct{}{}
		return []*conn{home}
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b *conn) int { return cmp.Compare(a.server, b.server) })
}

// onMemory calls f with the server that hosts the memory. If that does not answer
// and the name system knows the memory elsewhere by now, a call that only reads is
// made there.
func (c *Client) onMemory(ctx context.Context, memory string, reads bool, f func(transport.Client) error) error {
	for first := true; ; first = false {
		cn, err := c.host(ctx, memory)
		if err != nil {
			return err
		}
		sent, err := c.on(ctx, cn, f)
		if engram.CodeOf(err) != engram.Unavailable {
			return err
		}
		moved, resolveErr := c.resolve(ctx, memory)
		if !first || sent && !reads || resolveErr != nil || moved == cn {
			return err
		}
	}
}

// on calls f with the connection's client; sent reports whether it came to that.
func (c *Client) on(ctx context.Context, cn *conn, f func(transport.Client) error) (sent bool, err error) {
	client, err := c.get(ctx, cn)
	if err != nil {
		return false, err
	}
	err = f(client)
	if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil && c.ctx.Err() == nil && cn.isClosed() {
		// Not the caller's doing: the server has left the name system meanwhile.
		err = errGone(cn, err)
	}
	return true, err
}

func (cn *conn) isClosed() bool {
	<-cn.lock
	defer func() { cn.lock <- struct{}{} }()
	return cn.closed
}

func (c *Client) alive() error {
	if c.ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, c.home.Address(), "the client is closed")
	}
	return nil
}
