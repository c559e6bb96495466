// Package api is the feature by which holders of copies pull what a server owns (a part
// of engram.v1.CopyService): its call, its rule, and a client. It is apart from the
// administration of copies, so that programs which hold none do not link what unpacks
// them.
package api

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/stream"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const name = "engram.v1.CopyService"

// Feature offers what a server has to holders of copies. A holder pulls what its identity
// may both read and subscribe to; a pull ends when that changes, and may be begun again
// where it was.
func Feature(s contract.Source) feature.Feature {
	return feature.New(name,
		feature.Pipe[engramv1.PullRequest]("Pull", feature.Sees(access.Read|access.Subscribe), source{s}.pull).Watching())
}

type source struct{ contract.Source }

func (h source) pull(ctx context.Context, p feature.Messages) error {
	first, err := receive(p)
	if err != nil {
		return err
	}
	r, err := pullFromMessage(wire.LimitsOf(ctx), first.GetBegin())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &pullSender{ctx: ctx, send: p.Send, patience: p.Patience(), more: make(chan struct{}, 1)}
	s.grant(first.GetCredit())
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cancel()
		for {
			m, err := receive(p)
			if err != nil {
				return // the holder has ended the pull, or the call has returned
			}
			s.grant(m.GetCredit())
		}
	}()
	defer func() {
		cancel()
		p.CloseReceive()
		<-received
	}()
	format := max(min(first.GetBegin().GetFormat(), stream.Format), 1)
	if err := p.Send(&engramv1.PullResponse{Format: format}); err != nil {
		return err
	}
	enc, err := stream.NewEncoder(s, len(r.Shares), format)
	if err != nil {
		return err
	}
	defer enc.Close()
	return h.Pull(ctx, r, func(b *contract.Batch) error {
		if err := enc.Encode(b); err != nil {
			return err
		}
		return s.flush()
	})
}

// receive receives the next message of a pull.
func receive(p feature.Messages) (*engramv1.PullRequest, error) {
	m, err := p.Receive()
	if err != nil {
		return nil, err
	}
	return m.(*engramv1.PullRequest), nil
}

// pullChunk is how many bytes of a pull go into one message. Small enough to leave
// the link to others soon.
const pullChunk = 32 << 10

// pullSender is where a pull's stream is written to: it makes messages of it and waits
// for credit. One goroutine writes, another grants.
type pullSender struct {
	ctx      context.Context
	send     func(proto.Message) error
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
