package local

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/internal/intake"
)

// call is a call under way on the server, other than the commits of a stream.
type call struct {
	number  uint32
	w       *writer
	ctx     context.Context
	cancel  context.CancelFunc
	credit  *credit      // nil if its answer is one frame
	endless bool         // it ends only when it is cancelled
	lease   intake.Lease // of its frame
	forget  func()       // makes its number free, and room for another call
}

// send completes the frame that is being encoded as one of the call's. The last
// one ends the call, before the client can know: it may then open another.
func (cl *call) send(k kind, flags uint8) {
	if flags&flagMore == 0 {
		cl.forget()
	}
	cl.w.send(k, flags, cl.number)
}

// frame handles one frame of a client. The error ends the connection.
func (c *conn) frame(w *writer, h header) error {
	switch {
	case h.kind == kindCommit && h.flags&flagStream != 0:
		return c.streamed(w, h)
	case h.kind == kindCredit:
		n := c.rd.u32()
		if err := c.rd.finish(); err != nil {
			return err
		}
		if cl := c.find(h.call); cl != nil && cl.credit != nil {
			return cl.credit.add(n)
		}
		return nil
	case h.kind == kindCancel:
		if err := c.rd.finish(); err != nil {
			return err
		}
		if cl := c.find(h.call); cl != nil {
			cl.cancel()
		}
		return nil
	}
	cl := &call{number: h.call, w: w}
	run, err := c.decode(cl, h)
	cl.lease = c.rd.take.handOver()
	if err != nil {
		cl.lease.Release()
		return err
	}
	job, err := c.open(cl, run)
	switch {
	case job == nil:
		cl.lease.Release()
		return err
	case h.kind == kindLatest, h.kind == kindSelect, h.kind == kindCommit && h.length <= gather:
		return c.perform(job)
	}
	c.start(job)
	return nil
}

// find returns an open call, or nil: it may have ended meanwhile.
func (c *conn) find(number uint32) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.calls[number]
}

// decode reads the rest of a frame that opens a call, and returns what the call is
// to do. The error that run returns is the call's answer.
func (c *conn) decode(cl *call, h header) (run func() error, err error) {
	d := &c.rd.decoder
	switch h.kind {
	case kindCommit:
		scratch := commits.Get().(*commit)
		cm := scratch.decode(d)
		cm.Recorded = h.flags&flagRecorded != 0
		run = func() error {
			defer commits.Put(scratch)
			defer scratch.clear()
			start := meter.Start()
			results, err := c.s.commit(cl.ctx, cm)
			c.s.meter.Commit(start, results, err)
			if err != nil {
				return err
			}
			return sendResults(cl.ctx, cl.w, cm, results, 0, cl.send)
		}
	case kindLatest:
		mode, entity, t := d.u8(), d.idRef(), engram.Time(d.u64())
		run = func() error { return c.latest(cl, mode, entity, t) }
	case kindCall:
		method, request := d.text(), d.remainder()
		run = func() error { return c.rare(cl, method, request) }
	case kindQuery:
		cl.credit = newCredit(d.u32())
		request := d.remainder()
		run = func() error {
			q, err := c.s.rare.query(cl.ctx, request)
			if err != nil {
				return err
			}
			return c.query(cl, h.flags, q)
		}
	case kindSelect:
		cl.credit = newCredit(d.u32())
		q := d.query()
		run = func() error { return c.query(cl, h.flags, q) }
	case kindSubscribe:
		cl.credit, cl.endless = newCredit(d.u32()), true
		request := d.remainder()
		run = func() error {
			sub, err := c.s.rare.subscription(cl.ctx, request)
			request = nil // it lasts: what it was decoded from is not kept
			cl.lease.Release()
			if err != nil {
				return err
			}
			return c.subscribe(cl, sub)
		}
	default:
		return nil, corrupt("a client sent a frame of the unknown kind %#02x", uint8(h.kind))
	}
	return run, c.rd.finish()
}

var commits = sync.Pool{New: func() any { return new(commit) }}

// open makes a call known and returns the job to be done for it, nil if it was
// refused. The error ends the connection.
func (c *conn) open(cl *call, run func() error) (job func(), err error) {
	c.mu.Lock()
	open := len(c.mu.calls)
	_, taken := c.mu.calls[cl.number]
	full := open >= c.s.o.MaxCalls
	if !taken && !full && cl.number != 0 {
		cl.ctx, cl.cancel = context.WithCancel(c.ctx)
		cl.forget = func() {
			c.mu.Lock()
			delete(c.mu.calls, cl.number)
			c.mu.Unlock()
		}
		c.mu.calls[cl.number] = cl
	}
	c.mu.Unlock()
	switch {
	case taken || cl.number == 0:
		return nil, corrupt("a client opened call %d, which is open already or cannot be", cl.number)
	case full:
		return nil, sendError(c.ctx, cl.w, cl.number, engram.Errorf(engram.Exhausted, "", "the connection has %d open calls; at most %d are allowed; wait for some, or open another connection", open, c.s.o.MaxCalls))
	}
	c.calls.Add(1)
	return func() {
		defer c.calls.Done()
		defer cl.cancel()
		defer cl.lease.Release()
		if err := c.s.guard(run); err != nil {
			cl.forget()
			if cl.endless && c.stopping.Load() {
				err = errStopping
			}
			sendError(c.ctx, cl.w, cl.number, err) // if that fails the connection has ended
		}
	}, nil
}

// start does a job beside the others.
func (c *conn) start(job func()) {
	select {
	case c.jobs <- job:
	default:
		c.workers.Go(func() { c.work(job) })
	}
}

// idleWorkers is how many goroutines of a connection wait for calls. Their stacks
// have grown, which a new goroutine's have to do first.
const idleWorkers = 2

// work runs a call, and then others that come while there are not too many idle.
func (c *conn) work(job func()) {
	for {
		job()
		if c.idle.Add(1) > idleWorkers {
			c.idle.Add(-1)
			return
		}
		select {
		case job = <-c.jobs:
			c.idle.Add(-1)
		case <-c.ctx.Done():
			return
		}
	}
}

// guard turns a panic of the service, such as in a memory's hook, into an error of
// that call alone.
func (s *service) guard(run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.o.Log.Error("a call panicked", "cause", cause, "stack", string(debug.Stack()))
			err = engram.Errorf(engram.Internal, "", "the call failed by a defect of the memory server: %v", cause)
		}
	}()
	return run()
}

// commit stores a commit; the results are as many as its updates.
func (s *service) commit(ctx context.Context, cm engram.Commit) (results []engram.UpdateResult, err error) {
	err = s.guard(func() error {
		results, err = s.svc.Commit(ctx, cm)
		return err
	})
	if err == nil && len(results) != len(cm.Updates) {
		err = engram.Errorf(engram.Internal, "", "the memory answered %d of %d updates", len(results), len(cm.Updates))
	}
	return results, err
}

// streamed stores what a commit stream sent, in the reading goroutine.
func (c *conn) streamed(w *writer, h header) error {
	cm := c.scratch.decode(&c.rd.decoder)
	cm.Recorded = h.flags&flagRecorded != 0
	lease := c.rd.take.handOver()
	defer lease.Release()
	if err := c.rd.finish(); err != nil {
		return err
	}
	defer c.scratch.clear()
	start := c.s.meter.BeginStreamed()
	results, err := c.s.commit(c.ctx, cm)
	c.s.meter.EndStreamed(start, results, err)
	c.stored++
	if err != nil {
		return sendError(c.ctx, w, h.call, err)
	}
	return sendResults(c.ctx, w, cm, results, h.flags&flagMore, func(k kind, flags uint8) { w.gather(k, flags, h.call) })
}

// sendResults answers a commit with frames that send completes. With flagMore the
// client expects the answer to another part.
func sendResults(ctx context.Context, w *writer, cm engram.Commit, results []engram.UpdateResult, flags uint8, send func(kind, uint8)) error {
	for i := 0; ; {
		e, err := w.begin(ctx)
		if err != nil {
			return err
		}
		n := e.countLater()
		from := i
		for i < len(results) && e.used() < minFrame/2 {
			e.result(&cm.Updates[i], &results[i])
			i++
		}
		e.setCount(n, i-from)
		if i == len(results) {
			send(kindResults, flags)
			return nil
		}
		send(kindResults, flagMore)
	}
}

// sendError answers a call with an error, or with call 0 says why the connection
// ends.
func sendError(ctx context.Context, w *writer, number uint32, err error) error {
	e, werr := w.begin(ctx)
	if werr != nil {
		return werr
	}
	e.err(err)
	w.send(kindError, 0, number)
	return nil
}

// How a snapshot is asked for.
const (
	latestNewest     = 0
	latestAtOrBefore = 1
)

func (c *conn) latest(cl *call, mode uint8, entity engram.ID, t engram.Time) (err error) {
	start := meter.Start()
	var s *engram.Snapshot
	switch mode {
	case latestNewest:
		s, err = c.s.svc.Latest(cl.ctx, entity)
	case latestAtOrBefore:
		s, err = c.s.svc.AtOrBefore(cl.ctx, entity, t)
	default:
		err = engram.Errorf(engram.Unsupported, "", "a snapshot is asked for in the way %d, which this server does not know", mode)
	}
	c.s.meter.Query(start, err)
	if err == nil {
		err = checkSnapshot(entity, s.Instances, cl.w.peer.frame)
	}
	if err != nil {
		return err
	}
	e, err := cl.w.begin(cl.ctx)
	if err != nil {
		return err
	}
	e.snapshot(s)
	cl.send(kindSnapshot, 0)
	return nil
}
