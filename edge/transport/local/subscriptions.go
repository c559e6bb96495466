package local

import (
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/meter"
)

// subscribe serves a subscription until it, the call or the connection ends.
func (c *conn) subscribe(cl *call, sub engram.Subscription) error {
	release, err := c.s.o.RPC.AdmitSubscription()
	if err != nil {
		return err
	}
	defer release()
	number := c.s.svc.Number() // before it begins, so that resuming from it misses nothing
	updates, err := c.s.svc.Subscribe(cl.ctx, sub)
	if err != nil {
		c.s.meter.Refuse(meter.Subscribe, err)
		return err
	}
	defer updates.Close()
	defer c.s.meter.Subscription()()
	e, err := cl.w.begin(cl.ctx)
	if err != nil {
		return err
	}
	e.u64(updates.Epoch())
	e.u64(number)
	e.u8(subscribedHasNumber)
	cl.send(kindSubscribed, flagMore)
	return (&pump{call: cl, stream: updates}).run()
}

const subscribedHasNumber = 1

// pump sends a subscription's updates. If the stream allows it, the committing goroutine
// sends them while the socket takes them at once; the subscription's own goroutine sends
// the rest.
type pump struct {
	*call
	stream engram.UpdateStream

	mu struct {
		sync.Mutex // held by who polls the stream, or makes writers do so no longer
		ended      bool
		rest       []engram.Update // polled, and not sent
		err        error           // of sending
		sent       time.Time       // when something was sent last
		few        bool            // then a writer had only few updates, or none of them sent
	}
}

// Commits of few updates that follow each other sooner than this are better sent
// together, which the subscription's goroutine does.
const (
	sendTogether = 15 * time.Microsecond
	fewUpdates   = 8
)

// attended is a stream that calls a function when there are updates; wm's are.
type attended interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
	Attend(f func() bool) bool
}

func (p *pump) run() error {
	next := p.stream.Next
	if s, ok := p.stream.(attended); ok && s.Attend(func() bool { return p.attend(s) }) {
		defer p.end()
		next = func(ctx context.Context) ([]engram.Update, error) { return p.next(ctx, s) }
	}
	for {
		// First the room, then the updates: those that wait are subject to the
		// subscription's policy for slow consumers.
		if err := p.credit.wait(p.ctx); err != nil {
			return err
		}
		batch, err := next(p.ctx)
		for err == nil && len(batch) > 0 {
			batch, err = p.updates(batch)
		}
		if err != nil {
			return err
		}
	}
}

// next returns what is to be sent by the subscription's goroutine.
func (p *pump) next(ctx context.Context, s attended) (batch []engram.Update, err error) {
	for {
		p.mu.Lock()
		batch, err = p.mu.rest, p.mu.err
		p.mu.rest = nil
		if len(batch) == 0 && err == nil {
			batch, err = s.Poll()
		}
		p.mu.sent, p.mu.few = time.Now(), true // for a while, leave it to this goroutine
		p.mu.Unlock()
		if err != nil || len(batch) > 0 {
			return batch, err
		}
		if err := s.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// attend sends what there is, on a writer's goroutine and without waiting. It
// returns false where the subscription's own is to go on.
func (p *pump) attend(s attended) bool {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	now := time.Now()
	if p.mu.few && now.Sub(p.mu.sent) < sendTogether {
		p.mu.sent = now
		return false
	}
	p.mu.sent, p.mu.few = now, true
	for !p.mu.ended && p.mu.err == nil && p.credit.has() && p.w.quiet() {
		if len(p.mu.rest) == 0 {
			if p.mu.rest, p.mu.err = s.Poll(); p.mu.err == nil && len(p.mu.rest) == 0 {
				return true
			}
			p.mu.few = len(p.mu.rest) < fewUpdates
		}
		if p.mu.err == nil {
			p.mu.rest, p.mu.err = p.updates(p.mu.rest)
		}
	}
	return p.mu.ended
}

// end makes writers send no more.
func (p *pump) end() {
	p.mu.Lock()
	p.mu.ended = true
	p.mu.Unlock()
}

// updates sends the first of a batch, in a frame of about frameBytes, and returns
// the rest.
func (cl *call) updates(batch []engram.Update) (rest []engram.Update, err error) {
	n, size := 0, 0
	for n < len(batch) && size < min(frameBytes, int(cl.w.peer.frame)/2) {
		if s := batch[n].Snapshot; s != nil {
			if err := checkSnapshot(batch[n].ID, s.Instances, cl.w.peer.frame/2); err != nil {
				if n > 0 {
					break // the others first
				}
				// Not Exhausted: trying again does not help.
				return nil, engram.Errorf(engram.OutOfRange, "", "the subscription cannot go on: %w", err)
			}
			records, payloads := snapshotSize(s.Instances)
			size += records + payloads
		} else {
			records, _ := snapshotSize(nil)
			if size += records; batch[n].Failed != nil {
				size += 2*maxIDSize + maxErrorText
			}
		}
		n++
	}
	e, err := cl.w.begin(cl.ctx)
	if err != nil {
		return nil, err
	}
	e.u32(uint32(n))
	for i := range batch[:n] {
		e.update(&batch[i])
	}
	cl.credit.use(headerSize + e.used())
	cl.send(kindUpdates, flagMore)
	return batch[n:], nil
}
