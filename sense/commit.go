package sense

import (
	"context"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Commit implements [engram.Writer]: what rules want now is written to the memory, and what they do not want is kept in
// the ring for a while. The result of that has no number and no error. Payloads are copied, so that the caller may change
// them afterwards if it may do so with the memory.
func (a *Attention) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	var few [8]decision
	decisions, passed := a.decide(few[:0], c)
	if len(passed.Updates) == 0 {
		return merge(c, decisions, nil), nil
	}
	answers, err := a.svc.Commit(ctx, passed)
	a.done(decisions, answers, err)
	if err != nil {
		return nil, err
	}
	return merge(c, decisions, answers), nil
}

// decision is what was decided about an update of a commit.
type decision struct {
	ticket Ticket
	pass   bool
}

// decide decides about the updates of a commit, and returns the commit of what goes on.
func (a *Attention) decide(into []decision, c engram.Commit) (decisions []decision, passed engram.Commit) {
	on := 0
	a.mu.Lock()
	for i := range c.Updates {
		u := &c.Updates[i]
		d := decision{pass: true}
		if u.Entity.Level() == engram.LevelEntity && len(u.Instances) > 0 { // else the memory says what is wrong
			d.ticket, d.pass = a.mu.gate.Offer(u, c.Recorded)
		}
		if d.pass {
			on++
		}
		into = append(into, d)
	}
	a.mu.Unlock()
	switch on {
	case len(c.Updates):
		return into, c
	case 0:
		return into, c.With(nil)
	}
	passed = c.With(make([]engram.EntityUpdate, 0, on))
	for i, d := range into {
		if d.pass {
			passed.Updates = append(passed.Updates, c.Updates[i])
		}
	}
	return into, passed
}

// done takes notice of the memory's answers to what went on.
func (a *Attention) done(decisions []decision, answers []engram.UpdateResult, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := 0
	for _, d := range decisions {
		if d.pass {
			a.mu.gate.Done(d.ticket, err == nil && next < len(answers) && answers[next].Err == nil, false)
			next++
		}
	}
}

// merge returns the results of a commit, from the answers to what of it went on.
func merge(c engram.Commit, decisions []decision, answers []engram.UpdateResult) []engram.UpdateResult {
	if len(answers) == len(c.Updates) {
		return answers
	}
	results := make([]engram.UpdateResult, len(c.Updates))
	next := 0
	for i, d := range decisions {
		switch {
		case !d.pass:
			results[i].ID = c.Updates[i].Entity.At(c.Updates[i].Time)
		case next < len(answers):
			results[i] = answers[next]
			next++
		}
	}
	return results
}

// CommitStream implements [engram.CommitStreamer]: a pipeline to the memory, of what rules want.
func (a *Attention) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	to, err := a.svc.CommitStream(ctx)
	if err != nil {
		return nil, err
	}
	return &stream{a: a, to: to, sent: make(chan sent, maxSent), closed: make(chan struct{})}, nil
}

// maxSent is how many commits may wait for their answers to be taken.
const maxSent = 1024

// stream is a pipeline through an attention.
type stream struct {
	a      *Attention
	to     engram.CommitStream
	sent   chan sent // in the order of the answers
	ended  sync.Once // no more is sent
	closed chan struct{}
	close  sync.Once
}

// sent is a commit whose answer was not taken yet.
type sent struct {
	commit    engram.Commit // without payloads
	decisions []decision
	on        bool // some of it went on
}

// Send implements [engram.CommitStream].
func (s *stream) Send(c engram.Commit) error {
	decisions, passed := s.a.decide(nil, c)
	on := len(passed.Updates) > 0
	if on {
		if err := s.to.Send(passed); err != nil {
			s.a.done(decisions, nil, err)
			return err
		}
	}
	ids := c.With(make([]engram.EntityUpdate, len(c.Updates)))
	for i, u := range c.Updates {
		ids.Updates[i].Entity, ids.Updates[i].Time = u.Entity, u.Time
	}
	select {
	case s.sent <- sent{ids, decisions, on}:
		return nil
	case <-s.closed:
		err := engram.Errorf(engram.Canceled, "", "the pipeline is closed")
		s.a.done(decisions, nil, err)
		return err
	}
}

// Flush implements [engram.CommitStream].
func (s *stream) Flush() error { return s.to.Flush() }

// Recv implements [engram.CommitStream].
func (s *stream) Recv() ([]engram.UpdateResult, error) {
	select {
	case one, more := <-s.sent:
		if !more {
			return nil, io.EOF
		}
		var answers []engram.UpdateResult
		var err error
		if one.on {
			answers, err = s.to.Recv()
			s.a.done(one.decisions, answers, err)
		}
		if err != nil {
			return nil, err
		}
		return merge(one.commit, one.decisions, answers), nil
	case <-s.closed:
		return nil, engram.Errorf(engram.Canceled, "", "the pipeline is closed")
	}
}

// CloseSend implements [engram.CommitStream].
func (s *stream) CloseSend() error {
	s.ended.Do(func() { close(s.sent) })
	return s.to.CloseSend()
}

// Close implements [engram.CommitStream].
func (s *stream) Close() error {
	s.close.Do(func() { close(s.closed) })
	err := s.to.Close()
	for {
		select {
		case one, more := <-s.sent:
			if !more {
				return err
			}
			if one.on { // it is not known what became of it
				s.a.done(one.decisions, nil, engram.Canceled)
			}
		default:
			return err
		}
	}
}
