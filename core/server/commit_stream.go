package server

import (
	"context"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
)

// pipelineDepth is how many commits of a stream may wait for their answers to be
// received.
const pipelineDepth = 1024

// CommitStream implements engram.CommitStreamer. In process there is nothing to
// overlap with: Send commits at once, and Recv hands the answers over.
func (s *Server) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &commitStream{s: s, ctx: ctx, cancel: cancel, answers: make(chan []engram.UpdateResult, pipelineDepth)}, nil
}

type commitStream struct {
	s       *Server
	ctx     context.Context
	cancel  context.CancelFunc
	answers chan []engram.UpdateResult

	sent struct {
		sync.Mutex // against a Send beside CloseSend, which would be the caller's defect but must not panic
		closed     bool
	}
}

func (cs *commitStream) Send(c engram.Commit) error {
	cs.sent.Lock()
	defer cs.sent.Unlock()
	if cs.sent.closed {
		return engram.Errorf(engram.Invalid, "", "a commit was sent after CloseSend")
	}
	results, err := cs.s.Commit(cs.ctx, c)
	if err != nil {
		return err
	}
	select {
	case cs.answers <- results:
		return nil
	case <-cs.ctx.Done():
		return cs.ended()
	}
}

func (cs *commitStream) Flush() error {
	if cs.ctx.Err() != nil {
		return cs.ended()
	}
	return nil
}

func (cs *commitStream) Recv() ([]engram.UpdateResult, error) {
	select {
	case results, ok := <-cs.answers:
		if !ok {
			return nil, io.EOF
		}
		return results, nil
	case <-cs.ctx.Done():
		return nil, cs.ended()
	}
}

func (cs *commitStream) CloseSend() error {
	cs.sent.Lock()
	defer cs.sent.Unlock()
	if !cs.sent.closed {
		cs.sent.closed = true
		close(cs.answers)
	}
	return nil
}

func (cs *commitStream) Close() error {
	cs.cancel()
	return nil
}

func (cs *commitStream) ended() error {
	return engram.Errorf(engram.Canceled, "", "the commit stream is closed: %w", context.Cause(cs.ctx))
}
