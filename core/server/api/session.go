package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Limits of what a program may ask for.
const (
	defaultTimeout = 2 * time.Second
	maxTimeout     = time.Minute
	defaultCalls   = 16
	maxCalls       = 256
	maxText        = 256  // bytes of names for people, and of session tokens
	maxError       = 4096 // bytes of what an error says: the caller gets it in a header
	maxDefinitions = 1000
)

// session is one stream of a program, and the calls that it has not answered.
type session struct {
	memory, program, token string
	timeout                time.Duration
	lanes                  [3]lane // of each hook
	out                    chan *pending
	once                   sync.Once // tells that the query hook does not work

	done chan struct{} // closed when it has ended

	mu      sync.Mutex // also of the lanes
	why     error      // once done is closed
	next    uint64
	waiting map[uint64]*pending
}

// lane has the calls of one hook. After a timeout the hook is late until its next answer. A late
// hook gets one call per timeout; other callers fail at once.
type lane struct {
	slots   chan struct{} // holds a token per call that is not answered
	late    bool
	again   time.Time // from when on a late hook is called
	callers int       // goroutines that want an answer
	given   int       // calls that are not answered and nobody waits for
}

// pending is a call. Its slot is free once it is answered, or was given up unsent.
type pending struct {
	message *engramv1.HostResponse
	lane    *lane
	answer  chan *engramv1.HostAnswer // holds one

	sent, givenUp bool // under the session's mutex
}

// newSession reads how a program begins.
func newSession(m *engramv1.HostBegin) (*session, Memory, error) {
	if m == nil {
		return nil, Memory{}, engram.Errorf(engram.Invalid, "", "the first request of a program that hosts a memory has to begin")
	}
	s := &session{
		memory: m.GetMemory(), program: cmp.Or(m.GetProgram(), "unnamed"), token: m.GetSession(),
		timeout: cmp.Or(time.Duration(m.GetTimeoutNanos()), defaultTimeout), done: make(chan struct{}), waiting: map[uint64]*pending{},
	}
	out := Memory{Name: s.memory, Program: s.program}
	invalid := func(format string, a ...any) (*session, Memory, error) {
		return nil, out, engram.Errorf(engram.Invalid, s.memory, format, a...)
	}
	calls := cmp.Or(int(m.GetCalls()), defaultCalls)
	switch {
	case strings.Contains(s.memory, ":"):
		return invalid("it would be another robot's; choose a name without \":\"")
	case s.timeout < 0 || s.timeout > maxTimeout:
		return invalid("a hook may take up to %v, not %v", maxTimeout, s.timeout)
	case calls > maxCalls:
		return invalid("%d calls of a hook are to be unanswered at once; at most %d", calls, maxCalls)
	case len(s.program) > maxText || len(s.token) > maxText:
		return invalid("the names of program and session have at most %d bytes", maxText)
	case len(m.GetTypes()) > maxDefinitions || len(m.GetSegments()) > maxDefinitions:
		return invalid("there are at most %d types and %d segments", maxDefinitions, maxDefinitions)
	}
	for _, hook := range m.GetHooks() {
		if hook < engramv1.Hook_HOOK_COMMIT || hook > engramv1.Hook_HOOK_PREDICT {
			return invalid("there is no hook %d", hook)
		}
	}
	for _, t := range m.GetTypes() {
		out.Types = append(out.Types, wire.TypeFromMessage(t))
	}
	for _, sm := range m.GetSegments() {
		d, err := wire.SegmentFromMessage(sm)
		switch {
		case err != nil:
			return nil, out, err
		case d.ID.Memory() != s.memory:
			return invalid("the segment %v lies in another memory", d.ID)
		case d.ID.Level() == engram.LevelCoreSegment:
			out.Cores = append(out.Cores, engram.CoreSegment(d))
		case d.ID.Level() == engram.LevelProviderSegment:
			out.Providers = append(out.Providers, engram.ProviderSegment{ID: d.ID, Type: d.Type})
		default:
			return invalid("%v is no segment; write Memory/Core or Memory/Core/Provider", d.ID)
		}
	}
	for i := range s.lanes {
		s.lanes[i].slots = make(chan struct{}, calls)
	}
	s.out = make(chan *pending, calls*len(s.lanes))
	return s, out, nil
}

// run tells the program that it hosts the memory, and carries calls and answers until one
// side ends.
func (s *session) run(ctx context.Context, p feature.Messages, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	received := make(chan struct{})
	go func() {
		defer close(received)
		s.end(s.receive(p))
	}()
	defer func() {
		s.end(away(s.memory, s.program))
		cancel()
		p.CloseReceive()
		<-received
	}()
	if err := p.Send(&engramv1.HostResponse{Kind: &engramv1.HostResponse_Begun_{Begun: &engramv1.HostResponse_Begun{}}}); err != nil {
		return err
	}
	for {
		select {
		case c := <-s.out:
			if !s.sends(c) {
				continue
			}
			if err := p.Send(c.message); err != nil {
				return err
			}
		case <-s.done:
			log.Debug("a program does not host its memory any more", "memory", s.memory, "why", s.why)
			return s.why
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, s.memory, "the hosting has ended: %w", context.Cause(ctx))
		}
	}
}

// receive takes answers until the program ends, whose error it returns; nil if it ended in
// good order.
func (s *session) receive(p feature.Messages) error {
	for {
		m, err := receive(p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a := m.GetAnswer()
		if a == nil {
			return engram.Errorf(engram.Invalid, s.memory, "the program %q began twice; end its stream and open another", s.program)
		}
		if err := s.answered(a); err != nil {
			return err
		}
	}
}

func (s *session) answered(a *engramv1.HostAnswer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.waiting[a.GetCall()]
	if c == nil || !c.sent {
		return engram.Errorf(engram.Invalid, s.memory, "the program %q answered call %d, which is not open", s.program, a.GetCall())
	}
	delete(s.waiting, a.GetCall())
	if c.givenUp {
		c.lane.given--
	}
	c.lane.late = false
	<-c.lane.slots
	c.answer <- a
	return nil
}

// end ends the session; the first reason counts.
func (s *session) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended() {
		s.why = why
		close(s.done)
	}
}

func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// sends reports whether a call is still waited for. Otherwise its slot is free again.
func (s *session) sends(c *pending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.givenUp {
		delete(s.waiting, c.message.GetCall())
		c.lane.given--
		<-c.lane.slots
		return false
	}
	c.sent = true
	return true
}

// call asks the program, and returns its answer or its refusal. Unavailable if it is away or
// does not answer within the timeout.
func (s *session) call(ctx context.Context, hook engramv1.Hook, m *engramv1.HostResponse) (*engramv1.HostAnswer, error) {
	l := &s.lanes[hook-1]
	if err := s.begin(l); err != nil {
		return nil, err
	}
	defer s.finish(l)
	late := time.NewTimer(s.timeout)
	defer late.Stop()
	select {
	case l.slots <- struct{}{}:
	case <-s.done:
		return nil, away(s.memory, s.program)
	case <-late.C:
		return nil, s.tooLate(l)
	case <-ctx.Done():
		return nil, s.canceled(ctx)
	}
	c := &pending{message: m, lane: l, answer: make(chan *engramv1.HostAnswer, 1)}
	s.mu.Lock()
	s.next++
	m.Call, m.TimeoutNanos = s.next, int64(s.timeout)
	s.waiting[m.Call] = c
	s.mu.Unlock()
	s.out <- c // there is room for each slot
	select {
	case a := <-c.answer:
		return s.read(hook, a)
	case <-s.done:
		return nil, away(s.memory, s.program)
	case <-late.C:
		if s.giveUp(c) {
			return nil, s.tooLate(l)
		}
	case <-ctx.Done():
		if s.giveUp(c) {
			return nil, s.canceled(ctx)
		}
	}
	return s.read(hook, <-c.answer)
}

// begin lets a call begin, unless the hook is late and another one tries it.
func (s *session) begin(l *lane) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended():
		return away(s.memory, s.program)
	case l.late && (l.callers > 0 || time.Now().Before(l.again)):
		return s.lateError()
	}
	l.callers++
	return nil
}

func (s *session) finish(l *lane) {
	s.mu.Lock()
	l.callers--
	s.mu.Unlock()
}

// giveUp has nobody wait for a call any more. It returns false if that was answered just now.
func (s *session) giveUp(c *pending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[c.message.GetCall()] == nil {
		return false
	}
	c.givenUp = true
	c.lane.given++
	return true
}

// tooLate notes that a hook did not answer in time, and returns that as an error. The session
// ends if nothing is left of the hook.
func (s *session) tooLate(l *lane) error {
	s.mu.Lock()
	l.late, l.again = true, time.Now().Add(s.timeout)
	given := l.given
	s.mu.Unlock()
	if given == cap(l.slots) {
		s.end(engram.Errorf(engram.Exhausted, s.memory, "the program %q left %d calls of a hook unanswered; mend it, and begin anew", s.program, given))
	}
	return s.lateError()
}

func (s *session) lateError() error {
	return engram.Errorf(engram.Unavailable, s.memory, "the program %q, which hosts this memory, did not answer within %v", s.program, s.timeout)
}

func (s *session) canceled(ctx context.Context) error {
	return engram.Errorf(engram.Canceled, s.memory, "the caller gave up: %w", context.Cause(ctx))
}

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "")
}

// read checks that an answer is one to the hook.
func (s *session) read(hook engramv1.Hook, a *engramv1.HostAnswer) (*engramv1.HostAnswer, error) {
	if e := a.GetError(); e != nil {
		err := wire.ErrorFromMessage(&engramv1.Error{Code: e.GetCode(), Thing: cut(e.GetThing()), Message: cut(e.GetMessage())})
		if engram.CodeOf(err) == engram.Internal {
			err = s.nonsense("%w", err)
		}
		return nil, err
	}
	if a.GetPredict() != nil && hook != engramv1.Hook_HOOK_PREDICT || a.GetCommit() != nil && hook != engramv1.Hook_HOOK_COMMIT {
		return nil, s.nonsense("its hook was answered as if it were another one")
	}
	return a, nil
}
