package rpc

import (
	"context"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/copies/stream"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// copyHandler implements CopyService.
type copyHandler struct {
	*Handler
	source service.Source // nil if the service lets nobody copy
	admin  service.Admin  // nil if the server holds no copies
}

// copiesOf returns what a service offers to holders of copies, or nil.
func copiesOf(svc engram.Service) service.Source {
	source, _ := svc.(service.Source)
	return source
}

func (h copyHandler) Pull(ctx context.Context, pull *connect.BidiStream[engramv1.PullRequest, engramv1.PullResponse]) error {
	if h.source == nil {
		return wireError(engram.Errorf(engram.Unsupported, "", "this server offers nothing to be copied"))
	}
	release, err := h.admitSubscription()
	if err != nil {
		return wireError(err)
	}
	defer release()
	first, err := pull.Receive()
	if err != nil {
		return h.ended(err)
	}
	r, err := h.limits.pull(first.GetBegin())
	if err != nil {
		return wireError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &pullSender{ctx: ctx, send: pull.Send, patience: h.o.StallTimeout, more: make(chan struct{}, 1)}
	s.grant(first.GetCredit())
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cancel()
		for {
			m, err := pull.Receive()
			if err != nil {
				return // the holder has ended the pull, or the call has returned
			}
			s.grant(m.GetCredit())
		}
	}()
	defer func() {
		cancel()
		if cut, ok := ctx.Value(cutReadKey{}).(func()); ok {
			cut()
		}
		<-received
	}()
	format := max(min(first.GetBegin().GetFormat(), stream.Format), 1)
	if err := pull.Send(&engramv1.PullResponse{Format: format}); err != nil {
		return wireError(err)
	}
	enc, err := stream.NewEncoder(s, len(r.Shares), format)
	if err != nil {
		return wireError(err)
	}
	defer enc.Close()
	err = h.source.Pull(ctx, r, func(b *service.Batch) error {
		if err := enc.Encode(b); err != nil {
			return err
		}
		return s.flush()
	})
	return h.ended(err)
}

// cutReadKey is the context's key of the function that ends a call's reading.
type cutReadKey struct{}

// pullChunk is how many bytes of a pull go into one message. Small enough to leave
// the link to others soon.
const pullChunk = 32 << 10

// pullSender is where a pull's stream is written to: it makes messages of it and waits
// for credit. One goroutine writes, another grants.
type pullSender struct {
	ctx      context.Context
	send     func(*engramv1.PullResponse) error
	patience time.Duration
	buffer   []byte

	more   chan struct{} // holds a token when credit was granted
	mu     sync.Mutex
	credit int64
}

func (s *pullSender) grant(n uint64) {
	const most = 1 << 40
	s.mu.Lock()
	s.credit = min(s.credit+int64(min(n, most)), most)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Write implements io.Writer.
func (s *pullSender) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pullChunk-len(s.buffer))
		s.buffer = append(s.buffer, rest[:n]...)
		rest = rest[n:]
		if len(s.buffer) == pullChunk {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// flush sends what is buffered as soon as there is credit.
func (s *pullSender) flush() error {
	if len(s.buffer) == 0 {
		return nil
	}
	if err := s.wait(); err != nil {
		return err
	}
	err := s.send(&engramv1.PullResponse{Data: s.buffer})
	s.mu.Lock()
	s.credit -= int64(len(s.buffer))
	s.mu.Unlock()
	s.buffer = s.buffer[:0]
	return err
}

// wait waits until some credit is left. The last message may overdraw it.
func (s *pullSender) wait() error {
	var patience <-chan time.Time
	for {
		s.mu.Lock()
		left := s.credit
		s.mu.Unlock()
		if left > 0 {
			return nil
		}
		if patience == nil {
			timer := time.NewTimer(s.patience)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-s.more:
		case <-patience:
			return engram.Errorf(engram.Unavailable, "", "the holder of the copy has taken nothing for %v", s.patience)
		case <-s.ctx.Done():
			return engram.Errorf(engram.Canceled, "", "the holder of the copy has ended the pull: %w", s.ctx.Err())
		}
	}
}

func (h copyHandler) administered() error {
	if h.admin == nil {
		return wireError(engram.Errorf(engram.Unsupported, "", "this server holds no copies"))
	}
	return nil
}

func (h copyHandler) AddCopy(ctx context.Context, r *connect.Request[engramv1.AddCopyRequest]) (*connect.Response[engramv1.AddCopyResponse], error) {
	if err := h.administered(); err != nil {
		return nil, err
	}
	c, err := h.limits.copyOf(r.Msg.GetCopy())
	if err == nil {
		err = h.admin.AddCopy(ctx, c)
	}
	return answer(&engramv1.AddCopyResponse{}, err)
}

func (h copyHandler) RemoveCopy(ctx context.Context, r *connect.Request[engramv1.RemoveCopyRequest]) (*connect.Response[engramv1.RemoveCopyResponse], error) {
	if err := h.administered(); err != nil {
		return nil, err
	}
	return answer(&engramv1.RemoveCopyResponse{}, h.admin.RemoveCopy(ctx, r.Msg.GetPattern(), r.Msg.GetDrop()))
}

func (h copyHandler) ListCopies(ctx context.Context, _ *connect.Request[engramv1.ListCopiesRequest]) (*connect.Response[engramv1.ListCopiesResponse], error) {
	if err := h.administered(); err != nil {
		return nil, err
	}
	list, err := h.admin.CopyStatus(ctx)
	m := &engramv1.ListCopiesResponse{}
	for i := range list {
		m.Copies = append(m.Copies, copyStatusMessage(&list[i]))
	}
	return answer(m, err)
}

func (h copyHandler) FetchCopies(ctx context.Context, r *connect.Request[engramv1.FetchCopiesRequest]) (*connect.Response[engramv1.FetchCopiesResponse], error) {
	if err := h.administered(); err != nil {
		return nil, err
	}
	patterns, err := h.limits.patterns(r.Msg.GetPatterns())
	if err != nil {
		return nil, wireError(err)
	}
	ctx, done := h.working(ctx)
	defer done()
	got, err := h.admin.Fetch(ctx, service.Fetching{Patterns: patterns, Span: askedSpan(r.Msg.GetSpan()), MaxBytes: r.Msg.GetMaxBytes()})
	if err != nil {
		return nil, h.ended(err)
	}
	return answer(&engramv1.FetchCopiesResponse{Versions: got.Versions, Had: got.Had, Bytes: got.Bytes, More: got.More}, nil)
}
