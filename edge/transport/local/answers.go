package local

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/meter"
)

// What an answer's records begin with: a node's level, or one of these.
const (
	answerSnapshot = 0x10 // of the entity before it
	answerMissing  = 0x11
	answerCopy     = 0x12
	answerDetail   = 0x13 // of what is missing before it, where that is wanted
)

// Flags of a copy that answered.
const (
	copyAway     = 1 << iota // the owner was not reached
	copyPosition             // what it has of its owner follows
)

// query answers a query, in frames that each hold about frameBytes.
func (c *conn) query(cl *call, flags uint8, q engram.Query) (err error) {
	a := &answerer{call: cl, detail: flags&flagDetail != 0}
	start := meter.Start()
	defer func() { c.s.meter.Query(start, err) }()
	if flags&flagParts != 0 {
		err = c.s.svc.QueryParts(cl.ctx, q, func(r *engram.Result) error { return a.result(r, flagMore|flagPart) })
		if err == nil {
			err = a.result(&engram.Result{}, 0)
		}
		return err
	}
	r, err := c.s.svc.Query(cl.ctx, q)
	if err != nil {
		return err
	}
	return a.result(r, 0)
}

// answerer writes results as frames of one call.
type answerer struct {
	*call
	e      *encoder // of the open frame, under the writer's lock; nil if none is
	detail bool     // details are wanted
}

// result writes a result; its last frame bears flags.
func (a *answerer) result(r *engram.Result, flags uint8) error {
	defer a.close(flagMore) // where an error follows
	err := a.write(r)
	if err == nil && a.e == nil {
		err = a.open()
	}
	if err == nil {
		a.close(flags)
	}
	return err
}

func (a *answerer) write(r *engram.Result) error {
	for _, n := range r.Memories {
		if err := a.node(n, engram.ID{}); err != nil {
			return err
		}
	}
	for i := range r.Missing {
		m := &r.Missing[i]
		if err := a.room(); err != nil {
			return err
		}
		a.e.u8(answerMissing)
		a.e.id(m.ID)
		a.e.text(m.Reason)
		a.e.u64(m.Count)
		a.e.u64(uint64(m.Interval.Start))
		a.e.u64(uint64(m.Interval.End))
		if a.detail && m.Detail != "" {
			a.e.u8(answerDetail)
			a.e.id(m.Example)
			a.e.text(m.Detail[:min(len(m.Detail), maxErrorText)])
		}
	}
	for i := range r.Copies {
		c := &r.Copies[i]
		if err := a.room(); err != nil {
			return err
		}
		a.e.u8(answerCopy)
		a.e.text(c.Memory)
		a.e.text(c.Server)
		a.e.u64(uint64(c.AsOf))
		a.e.u64(uint64(c.Lag))
		a.e.u64(c.Behind)
		var flags uint8
		if c.Away {
			flags = copyAway
		}
		if c.Epoch != 0 {
			flags |= copyPosition
		}
		if a.e.u8(flags); c.Epoch != 0 {
			a.e.u64(c.Epoch)
			a.e.u64(c.Number)
			a.e.u64(c.Held)
		}
	}
	return nil
}

func (a *answerer) node(n *engram.ResultNode, parent engram.ID) error {
	id, err := parent.Child(n.Name)
	if err != nil {
		return err
	}
	if err := a.room(); err != nil {
		return err
	}
	a.e.u8(uint8(id.Level()))
	a.e.text(n.Name)
	for _, s := range n.Snapshots {
		if err := checkSnapshot(id, s.Instances, a.w.peer.frame/2); err != nil {
			return err
		}
		if err := a.room(); err != nil {
			return err
		}
		a.e.u8(answerSnapshot)
		a.e.snapshot(s)
	}
	for _, c := range n.Children {
		if err := a.node(c, id); err != nil {
			return err
		}
	}
	return nil
}

// room opens a frame if none is open or the open one is full.
func (a *answerer) room() error {
	if a.e != nil && a.e.used() >= min(frameBytes, int(a.w.peer.frame)/2) {
		a.close(flagMore)
	}
	if a.e == nil {
		return a.open()
	}
	return nil
}

func (a *answerer) open() (err error) {
	if err = a.credit.wait(a.ctx); err == nil {
		a.e, err = a.w.begin(a.ctx)
	}
	return err
}

func (a *answerer) close(flags uint8) {
	if a.e != nil {
		a.credit.use(headerSize + a.e.used())
		a.send(kindAnswer, flags)
		a.e = nil
	}
}

// answer gathers a result from the frames of an answer.
type answer struct {
	result *engram.Result
	open   [4]*engram.ResultNode // the node last read at each level, from the memory down
}

func (a *answer) decode(d *decoder) {
	if a.result == nil {
		a.result = &engram.Result{}
	}
	for len(d.b) > 0 {
		switch what := d.u8(); {
		case what >= 1 && what <= 4:
			a.node(d, int(what)-1)
		case what == answerSnapshot && a.open[3] != nil:
			if s := d.snapshot(); d.bad == nil {
				a.open[3].Snapshots = append(a.open[3].Snapshots, s)
			}
		case what == answerMissing:
			m := engram.Missing{ID: d.id(), Reason: d.text(), Count: d.u64()}
			m.Interval = engram.Interval{Start: engram.Time(d.u64()), End: engram.Time(d.u64())}
			if d.bad == nil {
				a.result.Missing = append(a.result.Missing, m)
			}
		case what == answerDetail && len(a.result.Missing) > 0:
			m := &a.result.Missing[len(a.result.Missing)-1]
			m.Example, m.Detail = d.id(), d.text()
		case what == answerCopy:
			c := engram.CopyUsed{Memory: d.text(), Server: d.text(), AsOf: engram.Time(d.u64()), Lag: time.Duration(d.u64()), Behind: d.u64()}
			flags := d.u8()
			if c.Away = flags&copyAway != 0; flags&copyPosition != 0 {
				c.Epoch, c.Number, c.Held = d.u64(), d.u64(), d.u64()
			}
			if d.bad == nil {
				a.result.Copies = append(a.result.Copies, c)
			}
		default:
			d.fail("an answer holds %#02x where a node, a snapshot, what is missing or a copy should be", what)
		}
	}
}

func (a *answer) node(d *decoder, depth int) {
	n := &engram.ResultNode{Name: d.text()}
	switch {
	case d.bad != nil:
		return
	case depth == 0:
		a.result.Memories = append(a.result.Memories, n)
	case a.open[depth-1] == nil:
		d.fail("an answer's node of level %d has no parent", depth+1)
		return
	default:
		a.open[depth-1].Children = append(a.open[depth-1].Children, n)
	}
	a.open[depth] = n
	clear(a.open[depth+1:])
}

// take returns the result gathered so far and begins anew.
func (a *answer) take() *engram.Result {
	r := a.result
	*a = answer{}
	if r == nil {
		r = &engram.Result{}
	}
	return r
}
