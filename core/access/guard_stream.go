package access

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/payload"
)

func sameType(a, b engram.TypeDef) bool {
	return a.Name == b.Name && payload.Same(a.Descriptors, b.Descriptors)
}

// Subscribe implements engram.Subscriber. The stream ends when the rights of the
// identity change: with Unavailable, so that a client begins it again where it left
// off, or with Forbidden if the identity was revoked.
func (g *Guard) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	t := g.c.table.Load()
	gr := t.grant(IdentityOf(ctx))
	if gr.id == Owner {
		return g.svc.Subscribe(ctx, sub)
	}
	if !gr.all {
		need := Subscribe
		if sub.WithData || sub.Where != "" || len(sub.Fields) > 0 || sub.Start.Kind != engram.StartNow {
			need |= Read
		}
		ctx = engram.WithScope(ctx, scope{gr, need})
	}
	inner, err := g.svc.Subscribe(ctx, sub)
	if err != nil {
		return nil, err
	}
	s := &stream{UpdateStream: inner}
	if s.end, err = g.c.stream(gr.id, t.fingerprint(gr.id), s.cut); err != nil {
		inner.Close()
		return nil, err
	}
	if a, ok := inner.(attended); ok {
		return &attendedStream{stream: s, attended: a}, nil
	}
	return s, nil
}

// stream is a subscription that may be cut.
type stream struct {
	engram.UpdateStream
	end func()
	why atomic.Pointer[error] // set before it is closed
}

func (s *stream) cut(why error) {
	s.why.Store(&why)
	s.UpdateStream.Close()
}

// over returns why the stream was cut, or err.
func (s *stream) over(err error) error {
	if why := s.why.Load(); why != nil {
		return *why
	}
	return err
}

func (s *stream) Next(ctx context.Context) ([]engram.Update, error) {
	if err := s.over(nil); err != nil {
		return nil, err
	}
	batch, err := s.UpdateStream.Next(ctx)
	if err != nil {
		return nil, s.over(err)
	}
	return batch, nil
}

func (s *stream) Close() error {
	s.end()
	return s.UpdateStream.Close()
}

// attended is a stream that a writer may serve on its own goroutine; the working
// memory's are (wm, edge/transport/local).
type attended interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
	Attend(f func() bool) bool
}

// attendedStream is a stream that stays attended behind the guard.
type attendedStream struct {
	*stream
	attended attended
}

func (s *attendedStream) Poll() ([]engram.Update, error) {
	if err := s.over(nil); err != nil {
		return nil, err
	}
	batch, err := s.attended.Poll()
	if err != nil {
		return nil, s.over(err)
	}
	return batch, nil
}

func (s *attendedStream) Wait(ctx context.Context) error {
	if err := s.attended.Wait(ctx); err != nil {
		return s.over(err)
	}
	return nil
}

func (s *attendedStream) Attend(f func() bool) bool { return s.attended.Attend(f) }

// commitsWaiting is how many commits of a pipeline may wait for their answers to be
// received.
const commitsWaiting = 1024

// CommitStream implements engram.CommitStreamer. Each commit is looked at by the rules
// in force when it is sent.
func (g *Guard) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, controlKey{}, g.c)) // hooks ask [May]
	inner, err := g.svc.CommitStream(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &commitStream{CommitStream: inner, g: g, ctx: ctx, cancel: cancel, sent: make(chan sentCommit, commitsWaiting)}, nil
}

// commitStream is a pipeline behind the guard.
type commitStream struct {
	engram.CommitStream
	g      *Guard
	ctx    context.Context
	cancel context.CancelFunc
	sent   chan sentCommit // in order
	closed atomic.Bool
}

// sentCommit is a commit whose answer is to be received.
type sentCommit struct {
	c       engram.Commit
	refused map[int]error
	passed  bool // some of it was handed on
}

func (s *commitStream) Send(c engram.Commit) error {
	if s.closed.Load() {
		return engram.Errorf(engram.Invalid, "", "a commit was sent after CloseSend")
	}
	gr := s.g.grant(s.ctx)
	sent := sentCommit{c: c, passed: true}
	if !gr.all {
		sent.refused = s.g.c.refused(gr, c)
	}
	if sent.refused != nil {
		passed := c.With(nil)
		for i := range c.Updates {
			if sent.refused[i] == nil {
				passed.Updates = append(passed.Updates, c.Updates[i])
			}
		}
		c, sent.passed = passed, len(passed.Updates) > 0
	}
	if sent.passed {
		if err := s.CommitStream.Send(c); err != nil {
			return err
		}
	}
	select {
	case s.sent <- sent:
		return nil
	case <-s.ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the commit stream is closed: %w", context.Cause(s.ctx))
	}
}

func (s *commitStream) Recv() ([]engram.UpdateResult, error) {
	select {
	case sent, ok := <-s.sent:
		if !ok {
			return nil, io.EOF
		}
		var results []engram.UpdateResult
		if sent.passed {
			var err error
			if results, err = s.CommitStream.Recv(); err != nil || sent.refused == nil {
				return results, err
			}
		}
		return among(sent.c, sent.refused, results), nil
	case <-s.ctx.Done():
		return nil, engram.Errorf(engram.Canceled, "", "the commit stream is closed: %w", context.Cause(s.ctx))
	}
}

func (s *commitStream) CloseSend() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.sent)
	}
	return s.CommitStream.CloseSend()
}

func (s *commitStream) Close() error {
	s.cancel()
	return s.CommitStream.Close()
}
