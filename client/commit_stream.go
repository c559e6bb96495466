package client

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
)

// pipelineDepth is how many commits of a stream may wait for their answers to be
// received; as many as with one server.
const pipelineDepth = 1024

// CommitStream implements engram.CommitStreamer: a pipeline to each server that a
// commit concerns, opened when the first one does. A server that goes away ends
// the stream.
func (c *Client) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	s := &commitStream{c: c, sent: make(chan sentCommit, pipelineDepth), pipes: map[transport.Client]engram.CommitStream{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s, nil
}

type commitStream struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelFunc
	sent   chan sentCommit // in order, until CloseSend closes it

	mu     sync.Mutex
	pipes  map[transport.Client]engram.CommitStream
	closed bool // CloseSend was called
}

// sentCommit is a commit that waits for its answers.
type sentCommit struct {
	updates []engram.EntityUpdate
	results []engram.UpdateResult // those already known
	parts   []sentPart
}

type sentPart struct {
	*part
	pipe engram.CommitStream
}

// Send implements engram.CommitStream.
func (s *commitStream) Send(c engram.Commit) error {
	if s.isClosed() {
		return engram.Errorf(engram.Invalid, "", "a commit was sent after CloseSend")
	}
	sc := sentCommit{updates: c.Updates, results: make([]engram.UpdateResult, len(c.Updates))}
	parts, refused := s.c.divide(s.ctx, len(c.Updates), func(i int) string { return c.Updates[i].Entity.Memory() })
	for i, err := range refused {
		sc.results[i] = engram.UpdateResult{ID: c.Updates[i].Entity, Err: err}
	}
	for _, p := range parts {
		pipe, err := s.pipe(p.conn)
		if err == nil {
			err = s.c.teach(s.ctx, p.conn)
		}
		if err == nil {
			err = pipe.Send(p.commit(c))
		}
		if err != nil {
			// What other servers were sent already goes without an answer.
			s.cancel()
			return err
		}
		sc.parts = append(sc.parts, sentPart{p, pipe})
	}
	select {
	case s.sent <- sc:
		return nil
	case <-s.ctx.Done():
		return s.ended()
	}
}

func (s *commitStream) pipe(cn *conn) (engram.CommitStream, error) {
	client, err := s.c.get(s.ctx, cn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pipe, ok := s.pipes[client]; ok {
		return pipe, nil
	}
	pipe, err := client.CommitStream(s.ctx)
	if err == nil {
		s.pipes[client] = pipe
	}
	return pipe, err
}

func (s *commitStream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *commitStream) all() []engram.CommitStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	pipes := make([]engram.CommitStream, 0, len(s.pipes))
	for _, p := range s.pipes {
		pipes = append(pipes, p)
	}
	return pipes
}

func (s *commitStream) ended() error {
	return engram.Errorf(engram.Canceled, "", "the commit stream is closed: %w", context.Cause(s.ctx))
}

// Flush implements engram.CommitStream.
func (s *commitStream) Flush() error {
	if s.ctx.Err() != nil {
		return s.ended()
	}
	for _, p := range s.all() {
		if err := p.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Recv implements engram.CommitStream. The servers answer in the order in which
// they were sent commits, so each part's answer is the next one of its pipe.
func (s *commitStream) Recv() ([]engram.UpdateResult, error) {
	var sc sentCommit
	var ok bool
	select {
	case sc, ok = <-s.sent:
		if !ok {
			return nil, io.EOF
		}
	case <-s.ctx.Done():
		return nil, s.ended()
	}
	for _, p := range sc.parts {
		answers, err := p.pipe.Recv()
		if err == nil && len(answers) != len(p.indices) {
			err = engram.Errorf(engram.Corrupt, p.conn.server, "the server answered %d of %d updates", len(answers), len(p.indices))
		}
		if err != nil {
			s.cancel()
			return nil, err
		}
		p.place(answers, nil, sc.updates, sc.results)
	}
	return sc.results, nil
}

// CloseSend implements engram.CommitStream.
func (s *commitStream) CloseSend() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return nil
	}
	close(s.sent)
	var errs []error
	for _, p := range s.all() {
		errs = append(errs, p.CloseSend())
	}
	return errors.Join(errs...)
}

// Close implements engram.CommitStream.
func (s *commitStream) Close() error {
	s.cancel()
	var errs []error
	for _, p := range s.all() {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
