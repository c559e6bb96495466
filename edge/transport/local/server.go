package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/core/secure"
)

// service is one call of Serve at work.
type service struct {
	svc   feature.Server
	o     Options
	epoch uint64
	rare  *rare
	meter *meter.Edge

	mu struct {
		sync.Mutex
		conns map[*conn]struct{}
	}
	wg sync.WaitGroup // connections
}

// Serve serves svc to the clients that connect to l, a listener of Unix sockets
// such as [Listen] returns, until ctx ends. Then it closes l, ends streams with
// Unavailable, lets calls under way go on for at most o.Grace, and returns nil when
// all has ended. It returns earlier only if the listener fails. Calls are given a context that ends
// with their connection and knows their [PeerOf].
func Serve(ctx context.Context, l net.Listener, svc feature.Server, o Options) error {
	o = o.withDefaults()
	s := &service{svc: svc, o: o, epoch: svc.Epoch(), rare: newRare(svc, o.RPC), meter: &o.RPC.Meter.Local}
	s.mu.conns = map[*conn]struct{}{}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	err := s.accept(ctx, l)
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.mu.conns))
	s.mu.Unlock()
	for _, c := range conns {
		c.stop()
	}
	grace := time.AfterFunc(s.o.Grace, func() {
		for _, c := range conns {
			c.refuse(errStopping)
			c.cancel(errStopping)
		}
	})
	defer grace.Stop()
	s.wg.Wait()
	return err
}

func (s *service) accept(ctx context.Context, l net.Listener) error {
	defer l.Close()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			unixConn, ok := nc.(*net.UnixConn)
			if !ok {
				nc.Close()
				return engram.Errorf(engram.Invalid, l.Addr().String(), "the local protocol needs a Unix socket; listen on local:/path")
			}
			s.add(unixConn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return engram.Errorf(engram.Unavailable, l.Addr().String(), "the listener was closed: %w", err)
		default: // out of descriptors, a client gone again: others may succeed
			s.o.Log.Warn("a connection cannot be accepted", "socket", l.Addr().String(), "error", err)
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// add takes a connection in, or refuses it if there are too many.
func (s *service) add(nc *net.UnixConn) {
	c := &conn{s: s, nc: nc, jobs: make(chan func()), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.mu.calls = map[uint32]*call{}
	s.mu.Lock()
	full := len(s.mu.conns) >= s.o.MaxConnections
	if !full {
		s.mu.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if full {
		writeRefusal(nc, engram.Errorf(engram.Exhausted, "", "the memory server has %d connections; at most %d are allowed; close one, or raise the limit", s.o.MaxConnections, s.o.MaxConnections))
		nc.Close()
		return
	}
	s.wg.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.mu.conns, c)
		s.mu.Unlock()
	})
}

// conn is a client's connection.
type conn struct {
	s  *service
	nc *net.UnixConn
	// ctx ends with the connection. Calls' contexts derive from it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	rd     *reader
	calls  sync.WaitGroup

	relief
	ended chan struct{} // closed when there is nothing more to be read

	jobs    chan func() // to idle workers
	idle    atomic.Int32
	workers sync.WaitGroup

	// stopping is set when no more is to be read.
	stopping atomic.Bool

	// Owned by the reading goroutine.
	scratch commit
	stored  int // streamed commits since the input was dry

	mu struct {
		sync.Mutex
		w     *writer // nil until the hellos are exchanged
		calls map[uint32]*call
	}
}

func (c *conn) serve() {
	defer c.nc.Close()
	w, err := c.hello()
	if err != nil {
		c.cancel(err)
		writeRefusal(c.nc, err)
		return
	}
	c.relief.init(func() { c.workers.Go(func() { c.reading(w) }) })
	c.reading(w)
	<-c.ended
	c.rd.take.lease.Release() // of a frame that did not come to its end
	c.relief.end()
	c.workers.Wait()
	w.drains.Wait()
}

// reading reads until there is nothing more to be read, and then ends everything,
// or until another goroutine goes on.
func (c *conn) reading(w *writer) {
	err := c.read(w)
	if err == errRelieved {
		return
	}
	if c.stopping.Load() {
		err = errStopping
		c.endStreams()
		c.calls.Wait()
	}
	if err != io.EOF {
		c.refuse(err)
	}
	w.fail(engram.Errorf(engram.Unavailable, "", "the client is gone"))
	c.cancel(err)
	close(c.ended)
}

var errStopping = engram.Errorf(engram.Unavailable, "", "the memory server is stopping; try again when it is back")

// stop makes the connection end when its calls have.
func (c *conn) stop() {
	c.stopping.Store(true)
	c.nc.SetReadDeadline(time.Unix(1, 0)) // after the flag, which the reader looks at before it reads
}

// endStreams ends the calls that would not end by themselves.
func (c *conn) endStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range c.mu.calls {
		if cl.endless {
			cl.cancel()
		}
	}
}

// refuse tells the client why the connection ends, if it still listens, and ends it.
func (c *conn) refuse(err error) {
	c.mu.Lock()
	w := c.mu.w
	c.mu.Unlock()
	if w != nil {
		w.last(err)
	}
	c.nc.Close()
}

func (c *conn) hello() (*writer, error) {
	c.nc.SetDeadline(time.Now().Add(c.s.o.HelloTimeout))
	var b [helloSize]byte
	if _, err := io.ReadFull(c.nc, b[:]); err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "the client did not say who it is: %w", err)
	}
	theirs, err := parseHello(b[:])
	if err != nil {
		return nil, err
	}
	if theirs.minVersion > version || theirs.version < version {
		return nil, engram.Errorf(engram.Unsupported, "", "the client speaks versions %d to %d of the local protocol; this server speaks version %d; bring both to the same release", theirs.minVersion, theirs.version, version)
	}
	peer, err := secure.PeerOf(c.nc)
	switch {
	case err == nil:
		c.ctx = context.WithValue(c.ctx, peerKey{}, peer)
	case !errors.Is(err, errors.ErrUnsupported):
		return nil, engram.Errorf(engram.Internal, "", "the kernel does not say who the client is: %w", err)
	}
	if err := c.identify(peer, err == nil); err != nil {
		return nil, err
	}
	w, err := newWriter(c.nc, theirs.limits, c.s.o.StallTimeout)
	if err != nil {
		return nil, err
	}
	ours := hello{version: version, limits: c.s.o.limits(), epoch: c.s.epoch, calls: uint32(c.s.o.MaxCalls)}
	if _, err := c.nc.Write(ours.append(nil, true)); err != nil {
		return nil, err
	}
	c.nc.SetDeadline(time.Time{})
	c.rd = newReader(c.nc, ours.limits, c.s.o.StallTimeout)
	c.rd.take = taking{ctx: c.ctx, budget: c.s.o.RPC.Decoding}
	c.mu.Lock()
	c.mu.w = w
	c.mu.Unlock()
	return w, nil
}

// identify makes the connection known to the rules, if there are some.
func (c *conn) identify(p Peer, known bool) error {
	rules := c.s.o.RPC.Secure.Access
	if rules == nil {
		return nil
	}
	id, from := access.Anonymous, "local"
	if known {
		id, from = access.OfUser(p.UID), fmt.Sprintf("local: process %d", p.PID)
	}
	end, err := rules.Connection(id, "", time.Time{}, from, func(why error) {
		c.refuse(why)
		c.cancel(why)
	})
	if err != nil {
		return err
	}
	context.AfterFunc(c.ctx, end)
	c.ctx = access.WithIdentity(c.ctx, id)
	return nil
}

// writeRefusal writes a server's hello that says no, and why, to a socket that is
// empty and takes it at once.
func writeRefusal(nc *net.UnixConn, err error) {
	nc.SetWriteDeadline(time.Now().Add(time.Second))
	var e encoder
	e.begin(&batch{buf: hello{}.append(nil, true)})
	e.err(err)
	e.end(kindError, 0, 0)
	nc.Write(e.buf)
}

// read reads frames until the connection ends; io.EOF if the client ended it.
func (c *conn) read(w *writer) error {
	for {
		if !c.rd.hasFrame() {
			if c.stored >= fewUpdates {
				runtime.Gosched() // subscriptions' goroutines have been left a flood
			}
			c.stored = 0
			w.flush() // the results of what came together go out together
			if c.stopping.Load() {
				return errStopping
			}
		}
		h, err := c.rd.next()
		if err != nil {
			return err
		}
		if err := c.frame(w, h); err != nil {
			return err
		}
	}
}
