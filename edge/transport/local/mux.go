package local

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// mux is a connection that many calls share. One of those that wait reads it for
// all: so an answer to the only one takes no detour over another goroutine.
type mux struct {
	*link
	slots chan struct{} // one per open call
	turn  chan struct{} // holds a token while somebody reads
	// idle makes a goroutine of its own read when no call has done so for a while:
	// it notices when the connection ends.
	idle *time.Timer

	mu struct {
		sync.Mutex
		calls map[uint32]*pending
		next  uint32
		err   error // why the connection ended
	}
}

// pending is a call that waits for its answer. Whoever reads fills it and then puts
// a token into ready, once or, for an answer in parts, for each.
type pending struct {
	number uint32
	flags  uint8
	want   kind // of the answer
	ready  chan struct{}

	commit   *sentCommit
	snapshot *engram.Snapshot
	reply    []byte
	answer   answer
	inParts  bool // the answer is wanted in parts

	mu struct {
		sync.Mutex
		parts []*engram.Result
		bytes uint32 // received, not yet credited
		ended bool
		err   error
	}
}

// idleAfter is how long nobody reads before a goroutine of its own does.
const idleAfter = 20 * time.Millisecond

// newMux makes a link one of calls. spawn runs a goroutine that ends soon after the
// link is closed.
func newMux(l *link, spawn func(func()) error) *mux {
	m := &mux{link: l, slots: make(chan struct{}, l.calls), turn: make(chan struct{}, 1)}
	m.mu.calls = map[uint32]*pending{}
	m.idle = time.AfterFunc(idleAfter, func() { spawn(m.readIdle) })
	return m
}

// alive reports whether the connection has not ended, as far as is known.
func (m *mux) alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.err == nil
}

// begin registers a call and returns the encoder for its first frame, to be
// completed with m.w.send.
func (m *mux) begin(ctx context.Context, p *pending) (*encoder, error) {
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, m.address)
	}
	select {
	case m.slots <- struct{}{}:
	default:
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, gaveUp(ctx, m.address)
		}
	}
	p.ready = make(chan struct{}, 1)
	m.mu.Lock()
	err := m.mu.err
	if err == nil {
		for p.number == 0 || m.mu.calls[p.number] != nil {
			m.mu.next++
			p.number = m.mu.next
		}
		m.mu.calls[p.number] = p
	}
	m.mu.Unlock()
	if err != nil {
		<-m.slots
		return nil, err
	}
	e, err := m.w.begin(ctx)
	if err != nil {
		m.answered(p)
		return nil, err
	}
	return e, nil
}

// end is called when nobody waits for the call any more. If it is not answered yet
// the server is told; its number and slot stay in use until the server has answered.
func (m *mux) end(p *pending) {
	m.mu.Lock()
	open := m.mu.calls[p.number] == p
	m.mu.Unlock()
	if open {
		m.control(kindCancel, p.number, 0)
	}
}

// answered frees the number and the slot of a call, if it has them still.
func (m *mux) answered(p *pending) {
	m.mu.Lock()
	open := m.mu.calls[p.number] == p
	if open {
		delete(m.mu.calls, p.number)
	}
	m.mu.Unlock()
	if open {
		<-m.slots
	}
}

// wait waits until the call was answered, or a part of it.
func (m *mux) wait(ctx context.Context, p *pending) error {
	select {
	case <-p.ready:
		return nil
	default:
	}
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx, m.address)
	case m.turn <- struct{}{}:
	}
	var w watch
	w.set(ctx, m.nc)
	m.read(func() bool { return len(p.ready) > 0 || ctx.Err() != nil })
	w.end()
	m.yield()
	select {
	case <-p.ready:
		return nil
	default:
		return gaveUp(ctx, m.address)
	}
}

// readIdle reads until somebody calls.
func (m *mux) readIdle() {
	select {
	case m.turn <- struct{}{}:
	default:
		return // a call reads, and sets the timer again
	}
	read := 0
	m.read(func() bool { read++; return read > 1 })
	m.yield()
}

// yield ends the turn.
func (m *mux) yield() {
	<-m.turn
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.err == nil {
		m.idle.Reset(idleAfter)
	}
}

// control sends a frame that grants credit or cancels. That it does not arrive
// where the connection ends is no loss.
func (m *mux) control(k kind, number, credit uint32) {
	if e, err := m.w.begin(context.Background()); err == nil {
		if k == kindCredit {
			e.u32(credit)
		}
		m.w.send(k, 0, number)
	}
}

func gaveUp(ctx context.Context, address string) error {
	return engram.Errorf(engram.Canceled, address, "the call was given up: %w", context.Cause(ctx))
}

// read hands answers to their calls until enough, which is asked between two
// frames, or the connection ends: then it tells all that wait. It is called by who
// holds the turn.
func (m *mux) read(enough func() bool) {
	for !enough() {
		err := m.frame()
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) && !m.rd.begun {
			continue
		}
		m.fail(m.lost(err))
		return
	}
}

// fail ends the connection and what waits for answers on it.
func (m *mux) fail(err error) {
	m.mu.Lock()
	m.mu.err = cmp.Or(m.mu.err, err)
	m.idle.Stop()
	calls := m.mu.calls
	m.mu.calls = map[uint32]*pending{}
	m.mu.Unlock()
	m.close(err)
	for _, p := range calls {
		p.finish(err)
		<-m.slots
	}
}

// frame reads a frame and hands it to its call.
func (m *mux) frame() error {
	h, err := m.rd.next()
	if err != nil {
		return err
	}
	m.mu.Lock()
	p := m.mu.calls[h.call]
	m.mu.Unlock()
	var failure error
	switch {
	case h.kind == kindError:
		failure = m.rd.err()
	case p == nil:
		return corrupt("the server answered call %d, which is not open", h.call)
	case h.kind != p.want:
		m.rd.fail("the server answered a call with a frame of the kind %#02x instead of %#02x", uint8(h.kind), uint8(p.want))
	default:
		p.decode(h, &m.rd.decoder)
	}
	if err := m.rd.finish(); err != nil {
		return err
	}
	if failure != nil && p == nil {
		return failure // of the connection
	}
	if failure != nil || h.flags&flagMore == 0 {
		m.answered(p)
	}
	if failure != nil {
		p.finish(failure)
	} else {
		p.received(h)
	}
	return nil
}

func (p *pending) decode(h header, d *decoder) {
	switch h.kind {
	case kindResults:
		p.commit.decode(d)
	case kindSnapshot:
		p.snapshot = d.snapshot()
	case kindReply:
		p.reply = d.remainder()
	case kindAnswer:
		p.answer.decode(d)
	}
}

// received takes note of a frame that has come as a whole.
func (p *pending) received(h header) {
	last := h.flags&flagMore == 0
	p.mu.Lock()
	p.mu.ended = last
	p.mu.bytes += headerSize + h.length
	if h.kind == kindAnswer && (h.flags&flagPart != 0 || last && !p.inParts) {
		p.mu.parts = append(p.mu.parts, p.answer.take())
	}
	p.mu.Unlock()
	if last || h.kind == kindAnswer {
		p.wake()
	}
}

// finish ends a call with an error.
func (p *pending) finish(err error) {
	p.mu.Lock()
	p.mu.err, p.mu.ended = err, true
	p.mu.Unlock()
	p.wake()
}

func (p *pending) wake() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}
