package local

import (
	"context"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
)

// pipelineDepth is how many commits of a stream may wait for their answers to be
// received.
const pipelineDepth = 1024

// streamCall is the call number of the one call on a connection of its own.
const streamCall = 1

// CommitStream implements engram.CommitStreamer. What is sent goes out at once
// while nothing is waiting to be answered, else it is gathered until the next
// answer, Flush, or enough has come together.
func (c *Client) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	l, err := dial(ctx, c.address, c.o)
	if err != nil {
		return nil, err
	}
	s := &commitStream{link: l}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.mu.changed.L = &s.mu.Mutex
	if err := c.spawn(s.read); err != nil {
		s.cancel()
		l.close(err)
		return nil, err
	}
	stop := context.AfterFunc(c.ctx, s.cancel)
	context.AfterFunc(s.ctx, func() {
		stop()
		s.fail(engram.Errorf(engram.Canceled, l.address, "the commit stream is closed: %w", context.Cause(s.ctx)))
	})
	return s, nil
}

type commitStream struct {
	*link
	ctx    context.Context
	cancel context.CancelFunc

	mu struct {
		sync.Mutex
		changed sync.Cond
		sent    []*sentCommit // not all answered, in order
		ready   [][]engram.UpdateResult
		closed  bool // no more are sent
		err     error
	}
}

// Send implements engram.CommitStream.
func (s *commitStream) Send(c engram.Commit) error {
	sent := prepare(c, s.w.peer.frame)
	s.mu.Lock()
	for s.mu.err == nil && len(s.mu.sent)+len(s.mu.ready) >= pipelineDepth {
		s.mu.Unlock()
		s.w.flush()
		s.mu.Lock()
		if s.mu.err == nil && len(s.mu.sent)+len(s.mu.ready) >= pipelineDepth {
			s.mu.changed.Wait()
		}
	}
	err := s.mu.err
	if err == nil && s.mu.closed {
		err = engram.Errorf(engram.Invalid, "", "a commit was sent after CloseSend")
	}
	idle := len(s.mu.sent) == 0
	if err == nil {
		s.mu.sent = append(s.mu.sent, sent)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	flags := commitFlags(c) | flagStream
	return sent.parts(c, min(frameBytes, int(s.w.peer.frame)), func(updates []engram.EntityUpdate, last bool) error {
		e, err := s.w.begin(s.ctx)
		if err != nil {
			return s.gone(err)
		}
		e.updates(updates)
		switch {
		case !last:
			s.w.send(kindCommit, flags|flagMore, streamCall)
		case idle:
			s.w.send(kindCommit, flags, streamCall)
		default:
			s.w.gather(kindCommit, flags, streamCall)
		}
		return nil
	})
}

// Flush implements engram.CommitStream.
func (s *commitStream) Flush() error {
	s.w.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.err
}

// Recv implements engram.CommitStream.
func (s *commitStream) Recv() ([]engram.UpdateResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.ready) == 0 {
		switch {
		case s.mu.closed && len(s.mu.sent) == 0:
			return nil, io.EOF
		case s.mu.err != nil:
			return nil, s.mu.err
		}
		s.mu.Unlock()
		s.w.flush()
		s.mu.Lock()
		if len(s.mu.ready) == 0 && s.mu.err == nil && !(s.mu.closed && len(s.mu.sent) == 0) {
			s.mu.changed.Wait()
		}
	}
	results := s.mu.ready[0]
	s.mu.ready = s.mu.ready[1:]
	s.mu.changed.Broadcast()
	return results, nil
}

// CloseSend implements engram.CommitStream.
func (s *commitStream) CloseSend() error {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.changed.Broadcast()
	s.mu.Unlock()
	s.w.flush()
	return nil
}

// Close implements engram.CommitStream.
func (s *commitStream) Close() error {
	s.cancel()
	s.fail(engram.Errorf(engram.Canceled, s.address, "the commit stream is closed"))
	return nil
}

// fail ends the stream for the reason err, unless it has ended before.
func (s *commitStream) fail(err error) {
	s.mu.Lock()
	if s.mu.err == nil {
		s.mu.err = err
	}
	s.mu.changed.Broadcast()
	s.mu.Unlock()
	s.w.fail(err)
}

// gone returns why the stream has ended, err if it is not known better.
func (s *commitStream) gone(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.err != nil {
		return s.mu.err
	}
	return err
}

// read takes the answers until the stream ends.
func (s *commitStream) read() {
	err := s.lost(s.frames())
	s.fail(err)
	s.close(err)
	s.cancel()
}

func (s *commitStream) frames() error {
	for {
		if !s.rd.hasFrame() {
			s.w.flush() // what was gathered while answers were under way
		}
		h, err := s.rd.next()
		if err != nil {
			return err
		}
		switch h.kind {
		case kindError:
			failure := s.rd.err()
			if err := s.rd.finish(); err != nil {
				return err
			}
			return failure
		case kindResults:
			err = s.results(h)
		default:
			err = corrupt("the server answered a commit stream with a frame of the kind %#02x", uint8(h.kind))
		}
		if err != nil {
			return err
		}
	}
}

// results takes the answer, or a part of it, to the oldest commit.
func (s *commitStream) results(h header) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.sent) == 0 {
		return corrupt("the server answered a commit that was not sent")
	}
	oldest := s.mu.sent[0]
	oldest.decode(&s.rd.decoder)
	if err := s.rd.finish(); err != nil { // results have no payloads: nothing is read
		return err
	}
	if h.flags&flagMore != 0 {
		return nil
	}
	if oldest.next < len(oldest.results) {
		return corrupt("the server answered %d of %d updates", oldest.next, len(oldest.results))
	}
	s.mu.sent = s.mu.sent[1:]
	s.mu.ready = append(s.mu.ready, oldest.results)
	s.mu.changed.Broadcast()
	return nil
}
