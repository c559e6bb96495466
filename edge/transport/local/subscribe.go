package local

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// maxBatch is the most that [engram.UpdateStream.Next] returns at once.
const maxBatch = 256

// Subscribe implements engram.Subscriber. Next reads from the connection itself, so
// an update takes no detour over another goroutine, and a slow consumer slows the
// server's sending, whose policy for slow consumers then applies. When the
// connection breaks, the stream reconnects and resumes after the last update it
// delivered, as that of edge/transport/rpc does.
func (c *Client) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	s := &updateStream{c: c, transient: sub.Transient, state: resume.New(sub)}
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	if err := s.open(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	s.position = s.state.Request().Start
	// The client's end ends a waiting Next.
	context.AfterFunc(s.ctx, func() { s.Close() })
	return s, nil
}

// updateStream is a subscription at a server.
type updateStream struct {
	c         *Client
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	transient bool

	// Owned by the goroutine in Next.
	state *resume.State
	batch []engram.Update // decoded into, again and again
	rest  []engram.Update // of batch: what did not fit into the last answer
	// Where a subscription would begin that continues after what Next returned.
	position engram.Start
	owed     uint32 // bytes to be credited

	mu struct {
		sync.Mutex
		link  *link // nil between a connection that broke and the next
		epoch uint64
		watch watch
	}
}

// open makes a connection and begins the subscription on it.
func (s *updateStream) open(ctx context.Context) error {
	msg, err := rpc.SubscriptionMessage(s.state.Request())
	if err != nil {
		return err
	}
	l, err := dial(ctx, s.c.address, s.c.o)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.nc.Close() })
	err = s.begin(ctx, l, msg)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.ctx.Err() != nil {
		err = errStreamClosed(s.c.address)
	}
	if err == nil {
		s.mu.link, s.mu.epoch, s.owed = l, s.state.Epoch(), 0
		return nil
	}
	l.close(err)
	if ctx.Err() != nil {
		return gaveUp(ctx, s.c.address)
	}
	return l.lost(err)
}

// begin sends the request and takes the server's first answer.
func (s *updateStream) begin(ctx context.Context, l *link, msg proto.Message) error {
	request, err := encodeMessage(msg, l.w.peer)
	if err != nil {
		return err
	}
	e, err := l.w.begin(ctx)
	if err != nil {
		return err
	}
	e.u32(uint32(s.c.o.Window))
	e.bytes(request)
	l.w.send(kindSubscribe, 0, streamCall)
	h, err := l.rd.next()
	if err != nil {
		return err
	}
	d := &l.rd.decoder
	switch h.kind {
	case kindSubscribed:
		epoch, number, flags := d.u64(), d.u64(), d.u8()
		if err := l.rd.finish(); err != nil {
			return err
		}
		s.state.Begun(epoch, number, flags&subscribedHasNumber != 0)
		if s.transient {
			d.lender = new(lender)
		}
		return nil
	case kindError:
		failure := d.err()
		if err := l.rd.finish(); err != nil {
			return err
		}
		return failure
	}
	return corrupt("the server answered a subscription with a frame of the kind %#02x", uint8(h.kind))
}

func errStreamClosed(address string) error {
	return engram.Errorf(engram.Canceled, address, "the subscription is closed")
}

// Next implements engram.UpdateStream.
func (s *updateStream) Next(ctx context.Context) ([]engram.Update, error) {
	for len(s.rest) == 0 {
		if ctx.Err() != nil {
			return nil, gaveUp(ctx, s.c.address)
		}
		s.mu.Lock()
		l, closed := s.mu.link, s.ctx.Err() != nil
		if l != nil {
			s.mu.watch.set(ctx, l.nc)
		}
		s.mu.Unlock()
		if closed {
			return nil, errStreamClosed(s.c.address)
		}
		if l == nil {
			if err := s.reconnect(ctx); err != nil {
				return nil, err
			}
			continue
		}
		err := s.receive(l)
		switch {
		case err == nil:
			continue
		case errors.Is(err, os.ErrDeadlineExceeded) && !l.rd.begun:
			continue // ctx has ended, between two frames
		}
		err = l.lost(err)
		s.mu.Lock()
		s.mu.watch.end()
		s.mu.link = nil
		s.mu.Unlock()
		l.close(err)
		if !resume.MayReturn(err) {
			s.Close()
			return nil, err
		}
	}
	n := min(len(s.rest), maxBatch)
	batch := s.rest[:n:n]
	s.rest = s.rest[n:]
	s.position = engram.Start{Kind: engram.StartNumber, Number: batch[n-1].Number, Epoch: s.state.Epoch()}
	return batch, nil
}

// Position returns where a subscription would begin that continues after what Next
// has returned. It belongs to the goroutine that calls Next.
func (s *updateStream) Position() engram.Start { return s.position }

// receive reads one frame. The updates of the last one are no longer valid.
func (s *updateStream) receive(l *link) error {
	h, err := l.rd.next()
	if err != nil {
		return err
	}
	d := &l.rd.decoder
	switch h.kind {
	case kindUpdates:
		clear(s.batch)
		s.batch = s.batch[:0]
		if d.lender != nil {
			d.lender.takeBack()
		}
		for range d.count(updateSize) {
			s.batch = append(s.batch, d.update())
		}
		if err := l.rd.finish(); err != nil {
			return err
		}
		s.rest = s.state.Deliver(s.batch)
		if s.owed += headerSize + h.length; s.owed >= uint32(s.c.o.Window)/2 {
			e, err := l.w.begin(context.Background())
			if err != nil {
				return err
			}
			e.u32(s.owed)
			l.w.send(kindCredit, 0, streamCall)
			s.owed = 0
		}
		return nil
	case kindError:
		failure := d.err()
		if err := l.rd.finish(); err != nil {
			return err
		}
		return failure
	}
	return corrupt("the server continued a subscription with a frame of the kind %#02x", uint8(h.kind))
}

// reconnect begins the stream again where it broke, as soon as that succeeds.
func (s *updateStream) reconnect(ctx context.Context) error {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	err := resume.Reconnect(trying, s.c.address, s.c.o.ReconnectFor, func() error { return s.open(trying) }, s.state.NewEpoch)
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return errStreamClosed(s.c.address)
	case ctx.Err() != nil:
		return gaveUp(ctx, s.c.address)
	}
	return err
}

// Epoch implements engram.UpdateStream.
func (s *updateStream) Epoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.epoch
}

// Close implements engram.UpdateStream.
func (s *updateStream) Close() error {
	s.cancel()
	s.mu.Lock()
	l := s.mu.link
	s.mu.link = nil
	s.mu.watch.end()
	s.mu.Unlock()
	if l != nil {
		l.close(errStreamClosed(s.c.address))
	}
	return nil
}

// watch makes the end of a context interrupt what reads from a connection. It is
// kept from one read to the next, which mostly have the same context.
type watch struct {
	done <-chan struct{}
	nc   *net.UnixConn
	stop func()
}

func (w *watch) set(ctx context.Context, nc *net.UnixConn) {
	if w.stop != nil && w.done == ctx.Done() && w.nc == nc {
		return
	}
	w.end()
	w.done, w.nc, w.stop = ctx.Done(), nc, func() {}
	if w.done == nil {
		return
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		nc.SetReadDeadline(time.Unix(1, 0))
		close(fired)
	})
	w.stop = func() {
		if !stop() {
			<-fired
			nc.SetReadDeadline(time.Time{})
		}
	}
}

func (w *watch) end() {
	if w.stop != nil {
		w.stop()
	}
	*w = watch{}
}
