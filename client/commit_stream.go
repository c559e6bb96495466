package client

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/transport"
)

// pipelineDepth is how many commits of a stream may wait for their answers to be
// received; as many as with one server.
const pipelineDepth = 1024

// CommitStream implements engram.CommitStreamer: a pipeline to each server that a
// commit concerns, opened when the first one does. A server that goes away ends
// the stream, even if it is back when the next commit is sent: it may have lost its
// segments and types.
func (c *Client) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	s := &commitStream{c: c, sent: make(chan sentCommit, pipelineDepth), pipes: map[transport.Client]engram.CommitStream{}, used: map[string]transport.Client{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s, nil
}

type commitStream struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelCauseFunc     // with what broke the stream; nil if it was closed
	sent   chan sentCommit             // in order, until CloseSend closes it
	used   map[string]transport.Client // Send's: the server of each memory so far

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
		if memory := c.Updates[i].Entity.Memory(); s.used[memory] != nil {
			return s.broken(wentAway(memory), memory)
		}
		sc.results[i] = engram.UpdateResult{ID: c.Updates[i].Entity, Err: err}
	}
	for _, p := range parts {
		client, err := s.c.get(s.ctx, p.conn)
		if err == nil {
			err = s.stays(client, p, c.Updates)
		}
		var pipe engram.CommitStream
		if err == nil {
			pipe, err = s.pipe(client)
		}
		if err == nil {
			err = s.c.teach(s.ctx, p.conn)
		}
		if err == nil {
			err = pipe.Send(p.commit(c))
		}
		if err != nil {
			// What other servers were sent already goes without an answer.
			return s.broken(err, p.memory)
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

// stays returns Unavailable if a memory of a part was at another server before, or at this
// one before a restart.
func (s *commitStream) stays(client transport.Client, p *part, updates []engram.EntityUpdate) error {
	last := ""
	for _, i := range p.indices {
		memory := updates[i].Entity.Memory()
		if memory == last {
			continue
		}
		last = memory
		if used := s.used[memory]; used == nil {
			s.used[memory] = client
		} else if used != client {
			return wentAway(memory)
		}
	}
	return nil
}

// broken ends the stream for the reason err, and returns why it has ended. The connection to a server that
// has left the names is closed, whereupon its pipeline says no more than that.
func (s *commitStream) broken(err error, memory string) error {
	if engram.CodeOf(err) == engram.Canceled && s.ctx.Err() == nil && s.c.alive() == nil {
		err = wentAway(memory)
	}
	s.cancel(err)
	return s.ended()
}

func wentAway(memory string) error {
	return engram.Errorf(engram.Unavailable, memory, "the memory's server went away while commits were streamed to it; open another stream")
}

func (s *commitStream) pipe(client transport.Client) (engram.CommitStream, error) {
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

// ended returns why the stream has ended.
func (s *commitStream) ended() error {
	if cause := context.Cause(s.ctx); engram.CodeOf(cause) != engram.Canceled {
		return cause
	}
	return engram.Errorf(engram.Canceled, "", "the commit stream is closed: %w", context.Cause(s.ctx))
}

// Flush implements engram.CommitStream.
func (s *commitStream) Flush() error {
	if s.ctx.Err() != nil {
		return s.ended()
	}
	for _, p := range s.all() {
		if err := p.Flush(); err != nil {
			return s.broken(err, "")
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
			return nil, s.broken(err, p.memory)
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
	s.cancel(nil)
	var errs []error
	for _, p := range s.all() {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
