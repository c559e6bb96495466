package rpc

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Subscribe implements engram.Subscriber. When the connection breaks, the stream
// reconnects and resumes after the last update it delivered, without gap or
// duplicate; what the server no longer keeps is counted in Update.Dropped. If the
// server began a new epoch meanwhile, the stream goes on with the new epoch's first
// update and marks it Restarted.
//
// A backfill of StartLast that is interrupted is completed with every kept
// snapshot written since what was delivered last, which may be more than the last
// N of an entity. If nothing was delivered, it is made anew: an entity that was
// written to meanwhile begins with what is new.
func (c *Client) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if c.ctx.Err() != nil {
		return nil, errClosed(c.address)
	}
	s := &updateStream{c: c, sub: sub, state: resume.New(sub), batches: make(chan received), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	giveUp := context.AfterFunc(ctx, s.cancel)
	stream, err := s.open(s.state)
	if !giveUp() && err == nil {
		stream.Close()
		err = ctx.Err()
	}
	if err != nil {
		s.cancel()
		return nil, c.domainError(ctx, err)
	}
	s.delivered.Store(s.state.Epoch())
	owned := c.own(func() {
		defer close(s.done)
		defer s.cancel()
		s.err = s.run(stream)
	})
	if !owned {
		stream.Close()
		return nil, errClosed(c.address)
	}
	return s, nil
}

// serverStream is the stream of a subscription.
type serverStream struct {
	*connect.ServerStreamForClient[carrier]
}

// Msg returns what Receive has received.
func (s serverStream) Msg() *engramv1.SubscribeResponse {
	return s.ServerStreamForClient.Msg().m.(*engramv1.SubscribeResponse)
}

// updateStream is a subscription at a remote server. One goroutine receives; what
// it has received waits until Next takes it, so a slow consumer slows the server's
// sending and the server's policy for slow consumers applies.
type updateStream struct {
	c       *Client
	ctx     context.Context
	cancel  context.CancelFunc
	sub     engram.Subscription
	batches chan received
	done    chan struct{}
	err     error // why it ended; to be read after done

	rest      []engram.Update // Next's own: what did not fit into the last batch
	delivered atomic.Uint64   // the epoch of what Next returned last

	// The receiving goroutine's own:
	state    *resume.State
	base     *uint64      // the server's newest update when the subscription began, if it told
	position engram.Start // after what was handed to Next; others may read it after done
}

// received is what came with one response.
type received struct {
	updates []engram.Update
	epoch   uint64
}

// open begins a stream where the last one left off and takes its first response.
func (s *updateStream) open(state *resume.State) (*serverStream, error) {
	req, err := subscriptionMessage(state.Request())
	if err != nil {
		return nil, err
	}
	received, err := receive(s.ctx, s.c, SubscribePath, req, made[*engramv1.SubscribeResponse])
	if err != nil {
		return nil, err
	}
	stream := &serverStream{received}
	if !stream.Receive() {
		err := stream.Err()
		stream.Close()
		if err == nil {
			err = engram.Errorf(engram.Unavailable, s.c.address, "the server ended the subscription before it began")
		}
		return nil, err
	}
	first := stream.Msg()
	if known := state.Epoch(); known != 0 && known != first.GetEpoch() {
		// There was no number to resume from, so the server did not refuse; but this
		// stream may leave out the beginning of its new epoch.
		stream.Close()
		return nil, engram.Errorf(engram.Conflict, s.c.address, "the memory server has begun a new epoch")
	}
	state.Begun(first.GetEpoch(), first.GetNumber(), first.Number != nil)
	if state == s.state {
		s.position = state.Request().Start
		if s.base == nil {
			s.base = first.Number
		}
	}
	return stream, nil
}

// openAnew begins a stream again of which nothing was delivered and that begins
// with the last snapshots of each entity. Asking for these again as before would
// leave out what was written since and is not among the last any more. So all that
// was written since is asked for, and the last snapshots from before come from a
// query.
func (s *updateStream) openAnew() (*serverStream, error) {
	sub := s.sub
	sub.Start = engram.Start{Kind: engram.StartNumber, Number: *s.base, Epoch: s.state.Epoch()}
	state := resume.New(sub)
	stream, err := s.open(state)
	if err != nil {
		return nil, err
	}
	batch, err := s.lastBefore(*s.base)
	if err == nil && len(batch) > 0 {
		select {
		case s.batches <- received{batch, state.Epoch()}:
		case <-s.ctx.Done():
			err = errStreamClosed(s.c.address)
		}
	}
	if err != nil {
		stream.Close()
		return nil, err
	}
	s.state, s.position = state, state.Request().Start
	return stream, nil
}

// lastBefore returns the last snapshots of each entity, those with numbers up to
// base, as the updates that they were.
func (s *updateStream) lastBefore(base uint64) ([]engram.Update, error) {
	q := engram.Query{Where: s.sub.Where, FilterOrder: engram.SelectThenFilter, Fields: s.sub.Fields, WithoutPayload: !s.sub.WithData}
	patterns := s.sub.Patterns
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	for _, p := range patterns {
		q.Memories = append(q.Memories, p.Select(engram.Latest(s.sub.Start.N)).Memories...)
	}
	r, err := s.c.Query(s.ctx, q)
	if err != nil {
		return nil, err
	}
	var updates []engram.Update
	for it := range r.All() {
		if it.Number > base {
			continue
		}
		u := engram.Update{Number: it.Number, ID: it.ID, Arrived: it.Arrived}
		if s.sub.WithData {
			u.Snapshot = it.Snapshot
		}
		updates = append(updates, u)
	}
	slices.SortFunc(updates, func(a, b engram.Update) int { return cmp.Compare(a.Number, b.Number) })
	return updates, nil
}

// run receives until the subscription ends and returns why.
func (s *updateStream) run(stream *serverStream) error {
	for {
		err := s.receive(stream)
		stream.Close()
		if s.ctx.Err() != nil {
			return errStreamClosed(s.c.address)
		}
		if !resume.MayReturn(err) {
			return err
		}
		if stream, err = s.reconnect(); err != nil {
			return err
		}
	}
}

func errStreamClosed(address string) error {
	return engram.Errorf(engram.Canceled, address, "the subscription is closed")
}

// receive hands updates on until the stream breaks.
func (s *updateStream) receive(stream *serverStream) error {
	for stream.Receive() {
		batch := make([]engram.Update, len(stream.Msg().GetUpdates()))
		for i, m := range stream.Msg().GetUpdates() {
			var err error
			if batch[i], err = noticeFromMessage(m); err != nil {
				return err
			}
		}
		if batch = s.state.Deliver(batch); len(batch) == 0 {
			continue
		}
		select {
		case s.batches <- received{batch, s.state.Epoch()}:
			s.position = s.state.Request().Start
		case <-s.ctx.Done():
			return errStreamClosed(s.c.address)
		}
	}
	err := stream.Err()
	if err == nil {
		return engram.Errorf(engram.Unavailable, s.c.address, "the server ended the subscription")
	}
	return s.c.domainError(s.ctx, err)
}

// reconnect begins the stream again where it broke, as soon as that succeeds.
func (s *updateStream) reconnect() (stream *serverStream, err error) {
	err = resume.Reconnect(s.ctx, s.c.address, s.c.o.ReconnectFor, func() (err error) {
		if s.position.Kind == engram.StartLast && s.base != nil {
			stream, err = s.openAnew()
		} else {
			stream, err = s.open(s.state)
		}
		if err != nil {
			return s.c.domainError(s.ctx, err)
		}
		return nil
	}, func() {
		s.state.NewEpoch()
		s.position = s.state.Request().Start
	})
	if s.ctx.Err() != nil && err != nil {
		return nil, errStreamClosed(s.c.address)
	}
	return stream, err
}

// maxBatch is the most that [engram.UpdateStream.Next] returns at once.
const maxBatch = 256

// Next implements engram.UpdateStream. The slice it returns is not used again.
func (s *updateStream) Next(ctx context.Context) ([]engram.Update, error) {
	batch := s.rest
	if len(batch) == 0 {
		select {
		case r := <-s.batches:
			batch = r.updates
			s.delivered.Store(r.epoch)
		case <-ctx.Done():
			return nil, engram.Errorf(engram.Canceled, s.c.address, "given up waiting for an update: %w", ctx.Err())
		case <-s.done:
			return nil, s.err
		}
	}
	n := min(len(batch), maxBatch)
	s.rest = batch[n:]
	return batch[:n:n], nil
}

// Epoch implements engram.UpdateStream: it is that of what Next returned last.
func (s *updateStream) Epoch() uint64 { return s.delivered.Load() }

// Close implements engram.UpdateStream.
func (s *updateStream) Close() error {
	s.cancel()
	<-s.done
	return nil
}

// Position returns where a subscription would begin that continues after one that
// has ended: to be called when Next has returned its error.
func (s *updateStream) Position() engram.Start {
	<-s.done
	return s.position
}
