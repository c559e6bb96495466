package rpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const (
	// pipelineDepth is how many commits of a stream may wait for their answers to
	// be received; as many as in process.
	pipelineDepth = 1024
	// gatherBytes is how much payload may wait to be sent.
	gatherBytes = 4 << 20
)

// CommitStream implements engram.CommitStreamer. Commits that are sent while an
// earlier one is on its way to the network travel together in one request, so
// that a lone commit does not wait and many do not cost a message each. The
// stream does not reconnect: when the server goes away, Recv returns Unavailable,
// and whether the commits without an answer were stored is unknown.
func (c *Client) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	if c.ctx.Err() != nil {
		return nil, errClosed(c.address)
	}
	s := &commitStream{c: c, gathered: &engramv1.CommitRequest{}, done: make(chan struct{})}
	s.changed.L = &s.mu
	s.ctx, s.cancel = context.WithCancel(ctx)
	stopClient := context.AfterFunc(c.ctx, s.cancel)
	stopWake := context.AfterFunc(s.ctx, func() { s.fail(s.gone(nil)) })
	s.bidi = connectClient(c, memoryPath+"CommitStream", made[*engramv1.CommitResponse]).CallBidiStream(s.ctx)
	owned := c.own(func() {
		defer close(s.done)
		s.write()
		<-s.ctx.Done()
		stopClient()
		stopWake()
	})
	if !owned {
		s.cancel()
		return nil, errClosed(c.address)
	}
	return s, nil
}

type commitStream struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelFunc
	bidi   *connect.BidiStreamForClient[carrier, carrier]
	done   chan struct{} // the writing goroutine has ended

	// Recv's own:
	ready    [][]engram.UpdateResult // answers received and not handed out
	answered bool                    // all were

	mu         sync.Mutex
	changed    sync.Cond // of anything below
	gathered   *engramv1.CommitRequest
	sizes      []int   // updates of each gathered commit
	bytes      int     // payload bytes gathered
	writing    bool    // a request is being handed to the network
	unanswered [][]int // updates of each commit, per request written
	inFlight   int     // commits sent whose answers were not handed out
	closed     bool    // CloseSend was called
	err        error
}

// Send implements engram.CommitStream.
func (s *commitStream) Send(c engram.Commit) error {
	m, size := commitMessage(c), 0
	for i := range c.Updates {
		for k := range c.Updates[i].Instances {
			size += len(c.Updates[i].Instances[k].Payload.Bytes)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && (s.inFlight >= pipelineDepth || len(s.sizes) > 0 && (s.bytes+size > gatherBytes ||
		len(s.gathered.Updates)+len(m.Updates) > MaxUpdates || s.gathered.Recorded != m.Recorded)) {
		s.changed.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if s.closed {
		return engram.Errorf(engram.Invalid, "", "a commit was sent after CloseSend")
	}
	s.gathered.Recorded = m.Recorded
	s.gathered.Updates = append(s.gathered.Updates, m.Updates...)
	s.sizes = append(s.sizes, len(m.Updates))
	s.bytes += size
	s.inFlight++
	s.changed.Broadcast()
	return nil
}

// write hands requests to the network until CloseSend or the stream's end.
func (s *commitStream) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for s.err == nil && len(s.sizes) == 0 && !s.closed {
			s.changed.Wait()
		}
		if s.err != nil {
			return
		}
		if len(s.sizes) == 0 {
			s.mu.Unlock()
			err := s.bidi.CloseRequest()
			s.mu.Lock()
			if err != nil {
				s.failLocked(s.gone(err))
			}
			return
		}
		m := s.gathered
		s.unanswered = append(s.unanswered, s.sizes)
		s.gathered, s.sizes, s.bytes, s.writing = &engramv1.CommitRequest{}, nil, 0, true
		s.mu.Unlock()
		err := s.bidi.Send(&carrier{m: m})
		s.mu.Lock()
		s.writing = false
		if err != nil {
			// The reason is what Receive returns; whoever only sends learns this.
			s.failLocked(s.gone(err))
		}
		s.changed.Broadcast()
	}
}

// gone returns the error of a stream that cause ended.
func (s *commitStream) gone(cause error) error {
	if s.ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, s.c.address, "the commit stream is closed: %w", s.ctx.Err())
	}
	if cause == nil || errors.Is(cause, io.EOF) {
		return engram.Errorf(engram.Unavailable, s.c.address, "the memory server ended the commit stream; commits without an answer may or may not be stored")
	}
	return s.c.domainError(s.ctx, cause)
}

func (s *commitStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *commitStream) failLocked(err error) {
	if s.err == nil {
		s.err = err
		s.changed.Broadcast()
	}
}

// Flush implements engram.CommitStream: it waits until nothing is gathered.
func (s *commitStream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && (len(s.sizes) > 0 || s.writing) {
		s.changed.Wait()
	}
	return s.err
}

// Recv implements engram.CommitStream.
func (s *commitStream) Recv() ([]engram.UpdateResult, error) {
	if len(s.ready) == 0 {
		if err := s.receive(); err != nil {
			return nil, err
		}
	}
	results := s.ready[0]
	s.ready = s.ready[1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.changed.Broadcast()
	return results, nil
}

// receive takes the next response and shares it out among the commits it answers.
func (s *commitStream) receive() error {
	got, err := s.bidi.Receive()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if errors.Is(err, io.EOF) && s.closed && s.inFlight == 0 {
			s.answered = true
			s.cancel()
		}
		if s.answered {
			return io.EOF
		}
		err = s.gone(err)
		s.failLocked(err)
		return err
	}
	results := resultsFromMessage(got.m.(*engramv1.CommitResponse))
	total := 0
	if len(s.unanswered) > 0 {
		for _, n := range s.unanswered[0] {
			total += n
		}
	}
	if len(s.unanswered) == 0 || total != len(results) {
		err := engram.Errorf(engram.Corrupt, s.c.address, "the server answered %d updates where %d were sent", len(results), total)
		s.failLocked(err)
		return err
	}
	for _, n := range s.unanswered[0] {
		s.ready = append(s.ready, results[:n:n])
		results = results[n:]
	}
	s.unanswered = s.unanswered[1:]
	return nil
}

// CloseSend implements engram.CommitStream.
func (s *commitStream) CloseSend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
	return nil
}

// Close implements engram.CommitStream.
func (s *commitStream) Close() error {
	s.cancel()
	<-s.done
	// The stream's context has ended; there is no more to be learnt from it.
	_ = s.bidi.CloseResponse()
	return nil
}
