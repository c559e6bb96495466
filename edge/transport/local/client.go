package local

import (
	"cmp"
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// DialOptions configures a [Client]. Zero fields mean the defaults.
type DialOptions struct {
	// Server is the identity the server must have; empty accepts any.
	Server string
	// MaxFrame bounds the bytes of one frame from the server; default 128 MiB, at
	// least 64 KiB.
	MaxFrame int
	// Window is how many bytes of a subscription's updates, or of an answer, may be
	// under way to this client, about; default 8 MiB.
	Window int
	// ReconnectFor is how long a subscription tries to reach a server that went
	// away before its Next returns Unavailable; 0 means without end.
	ReconnectFor time.Duration
	// StallTimeout is how long the server may read nothing while it is written to;
	// default 60 s.
	StallTimeout time.Duration
}

func (o DialOptions) withDefaults() DialOptions {
	o.MaxFrame = min(max(cmp.Or(o.MaxFrame, maxFrame), minFrame), 1<<31-1)
	o.Window = min(max(cmp.Or(o.Window, 8<<20), 1), 1<<30)
	o.StallTimeout = cmp.Or(o.StallTimeout, time.Minute)
	return o
}

// Client reaches one memory server on this host. It implements engram.Service.
// Safe for concurrent use.
//
// Calls share one connection, which is made again when it breaks; each commit
// stream and each subscription has its own, so that large payloads in one do not
// hold up another. A call that failed because the server was away is repeated, for
// a moment, if it only reads or if it was never sent. Payloads that a call returns
// are the caller's.
type Client struct {
	// The rare calls, which edge/transport/rpc makes over this client's connection. Only what
	// it can carry is promoted.
	engram.Predictor
	engram.Segments
	engram.Types
	engram.Statistician
	carried *rpc.Client
	address string
	o       DialOptions

	ctx     context.Context // of the streams; ends with Close
	cancel  context.CancelFunc
	streams sync.WaitGroup

	dialing chan struct{} // holds a token while the shared connection is made
	mu      struct {
		sync.Mutex
		mux    *mux // nil before the first call
		closed bool
	}
}

var _ engram.Service = (*Client)(nil)

// Dial reaches the memory server at "local:/path". The error is Unavailable if
// none answers there, Corrupt or Unsupported if what answers speaks another
// protocol or version, Exhausted if the server has too many connections, and
// Conflict if it is another server than o.Server.
func Dial(ctx context.Context, address string, o DialOptions) (*Client, error) {
	c := &Client{address: address, o: o.withDefaults(), dialing: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	// So that a refusal of the connection is not asked for three times.
	_, err := c.connection(ctx)
	if err == nil {
		c.carried, err = rpc.DialCarried(ctx, address, c.carry, rpc.DialOptions{Server: o.Server})
	}
	if err != nil {
		c.end()
		return nil, err
	}
	c.Predictor, c.Segments, c.Types, c.Statistician = c.carried, c.carried, c.carried, c.carried
	return c, nil
}

// Close ends the client's streams and closes its connections.
func (c *Client) Close() error {
	c.end()
	return c.carried.Close()
}

// Address returns the address that was dialled.
func (c *Client) Address() string { return c.address }

// Server returns what the server told of itself when it was dialled.
func (c *Client) Server() rpc.Info { return c.carried.Server() }

// Info asks the server which one it is and what it hosts.
func (c *Client) Info(ctx context.Context) (rpc.Info, error) { return c.carried.Info(ctx) }

func (c *Client) end() {
	c.cancel()
	c.mu.Lock()
	c.mu.closed = true
	m := c.mu.mux
	c.mu.Unlock()
	if m != nil {
		m.fail(errClosed(c.address))
	}
	c.streams.Wait()
}

func errClosed(address string) error {
	return engram.Errorf(engram.Canceled, address, "the client is closed")
}

// connection returns the connection that calls share, and makes it if there is
// none or it broke.
func (c *Client) connection(ctx context.Context) (*mux, error) {
	if m, err := c.current(); m != nil || err != nil {
		return m, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, gaveUp(ctx, c.address)
	}
	if m, err := c.current(); m != nil || err != nil { // another call made it meanwhile
		return m, err
	}
	l, err := dial(ctx, c.address, c.o)
	if err != nil {
		return nil, err
	}
	m := newMux(l, c.spawn)
	c.mu.Lock()
	closed := c.mu.closed // and did not know of it
	if !closed {
		c.mu.mux = m
	}
	c.mu.Unlock()
	if closed {
		m.fail(errClosed(c.address))
	}
	return m, nil
}

// current returns the connection that calls share, nil if there is none.
func (c *Client) current() (*mux, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.closed:
		return nil, errClosed(c.address)
	case c.mu.mux != nil && c.mu.mux.alive():
		return c.mu.mux, nil
	}
	return nil, nil
}

// call performs a call with one answer: it sends the frame that encode fills, and
// waits. sent says whether the server may have got it.
func (c *Client) call(ctx context.Context, p *pending, k kind, encode func(*encoder)) (sent bool, err error) {
	m, err := c.connection(ctx)
	if err != nil {
		return false, err
	}
	e, err := m.begin(ctx, p)
	if err != nil {
		return false, err
	}
	defer m.end(p)
	encode(e)
	m.w.send(k, p.flags, p.number)
	if err := m.wait(ctx, p); err != nil {
		return true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return true, p.mu.err
}

// spawn runs a stream's goroutine, for which Close waits.
func (c *Client) spawn(run func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return errClosed(c.address)
	}
	c.streams.Go(run)
	return nil
}

// Latest implements engram.LatestReader.
func (c *Client) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	return c.latest(ctx, latestNewest, entity, 0)
}

// AtOrBefore implements engram.LatestReader.
func (c *Client) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	return c.latest(ctx, latestAtOrBefore, entity, t)
}

func (c *Client) latest(ctx context.Context, mode uint8, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	var p *pending
	err := resume.Repeat(ctx, func() (bool, error) {
		p = &pending{want: kindSnapshot}
		_, err := c.call(ctx, p, kindLatest, func(e *encoder) {
			e.u8(mode)
			e.idRef(entity)
			e.u64(uint64(t))
		})
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return p.snapshot, nil
}

// carry performs a rare call. edge/transport/rpc repeats it where that is safe.
func (c *Client) carry(ctx context.Context, procedure string, req, res proto.Message) error {
	m, err := c.connection(ctx)
	if err != nil {
		return err
	}
	b, err := encodeMessage(req, m.w.peer)
	if err != nil {
		return err
	}
	p := &pending{want: kindReply}
	if _, err := c.call(ctx, p, kindCall, func(e *encoder) {
		e.text(procedure)
		e.bytes(b)
	}); err != nil {
		return err
	}
	if err := proto.Unmarshal(p.reply, res); err != nil {
		return engram.Errorf(engram.Corrupt, c.address, "the server's answer is not a %s: %w", res.ProtoReflect().Descriptor().FullName(), err)
	}
	return nil
}
