package source

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// heartbeat is how often the holder is told that nothing comes, and where its shares
// are. Tests change it.
var heartbeat = time.Second

// busyBeats is after how many heartbeats without one the holder is told of shares of
// which nothing comes, while others keep the pull busy.
const busyBeats = 5

// pull is a pull at work. One goroutine uses it.
type pull struct {
	*Source
	ctx     context.Context
	scope   engram.Scope
	f       func(*contract.Batch) error
	shares  []*share
	turn    uint64
	batch   contract.Batch
	bytes   int64 // payload bytes in batch
	count   int   // instances in batch
	removed removedSet
	told    described
	last    time.Time // when f was called last
	beaten  time.Time // when the heartbeat was last
	failed  error     // what f returned

	answered chan struct{} // holds a token when a recorder has answered
}

// Pull implements contract.Source. What this server holds as copies of others is not
// told. Payloads come from disk as their codecs keep them.
func (s *Source) Pull(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
	p := &pull{Source: s, ctx: ctx, scope: engram.ScopeOf(ctx), f: f, beaten: time.Now(), answered: make(chan struct{}, 1)}
	p.told.init()
	if err := p.open(&r); err != nil {
		return err
	}
	defer func() {
		for _, sh := range p.shares {
			sh.close()
		}
	}()
	watcher := s.wm.Feed().Watch()
	defer watcher.Close()
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	for {
		if err := p.check(); err != nil {
			return err
		}
		worked, pause, err := p.step(time.Now())
		if err == nil && worked && p.untilBeat() <= 0 {
			err = p.heartbeat() // it looked through much that does not match, or tells much of others
		}
		if err != nil {
			return p.cause(err)
		}
		if worked {
			continue
		}
		wake := watcher.Arm()
		if p.anyNews() {
			continue
		}
		wait := p.untilBeat()
		if pause > 0 {
			wait = min(wait, pause)
		}
		timer.Reset(max(wait, 0))
		select {
		case <-wake:
			p.rest()
		case <-p.answered:
		case <-timer.C:
		case <-ctx.Done():
		}
		if p.untilBeat() <= 0 {
			if err := p.check(); err != nil {
				return err
			}
			if err := p.heartbeat(); err != nil {
				return err
			}
		}
	}
}

// cause returns why a pull ends with an error: reading fails in many ways when the
// memory is being closed.
func (p *pull) cause(err error) error {
	if p.failed != nil {
		return p.failed
	}
	if over := p.check(); over != nil {
		return over
	}
	return err
}

// check returns why a pull is over, nil if it is not.
func (p *pull) check() error {
	if p.ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, "", "the pull was given up: %w", context.Cause(p.ctx))
	}
	if p.wm.Closed() {
		return engram.Errorf(engram.Unavailable, "", "the memory server is closed")
	}
	return nil
}

// open checks the request and makes the shares.
func (p *pull) open(r *contract.Request) error {
	switch {
	case len(r.Shares) == 0:
		return engram.Errorf(engram.Invalid, r.Holder, "a pull without shares")
	case len(r.Shares) > contract.MaxShares:
		return engram.Errorf(engram.Exhausted, r.Holder, "a pull of %d shares; at most %d are allowed", len(r.Shares), contract.MaxShares)
	}
	for i := range r.Shares {
		sh, err := newShare(p, i, &r.Shares[i])
		if err != nil {
			return err
		}
		p.shares = append(p.shares, sh)
	}
	return nil
}

// step has the most urgent share that has something to tell tell it. If none has,
// pause is how long the next one waits, for its bytes per second, for others to travel
// with or for the recorder, 0 if none does.
func (p *pull) step(now time.Time) (worked bool, pause time.Duration, err error) {
	var next *share
	for _, sh := range p.shares {
		if !sh.hasNews() {
			continue
		}
		if wait := sh.wait(now); wait > 0 {
			if pause == 0 || wait < pause {
				pause = wait
			}
			continue
		}
		if next == nil || sh.before(next) {
			next = sh
		}
	}
	if next == nil {
		return false, pause, nil
	}
	p.turn++
	next.turn = p.turn
	b, began := p.begin(next), p.wm.Now()
	all, err := next.read(b)
	if err == nil {
		err = p.removed.retell(next, b)
	}
	if err == nil {
		err = p.told.describe(p, b)
	}
	if err != nil {
		return false, 0, err
	}
	if len(b.Items)+len(b.Removed)+len(b.Lost) == 0 && !next.left.due(now) {
		return true, 0, nil // nothing is to be told: the heartbeat tells the position
	}
	behind := contract.Behind{Now: began}
	if all {
		next.lookout.clear()
	} else {
		next.lookout.told(uint64(len(b.Items)), p.bytes)
		behind = next.behind()
	}
	err = p.deliver(next, b, behind)
	next.gather.told(time.Now(), len(b.Items), p.bytes, next.reading())
	return true, 0, err
}

// begin returns the empty batch of a share.
func (p *pull) begin(sh *share) *contract.Batch {
	b := &p.batch
	p.bytes, p.count = 0, 0
	*b = contract.Batch{
		Share: sh.index, Segments: b.Segments[:0], Removed: b.Removed[:0], Items: b.Items[:0],
		LeftOut: b.LeftOut[:0], Lost: b.Lost[:0],
	}
	return b
}

// deliver hands a batch over.
func (p *pull) deliver(sh *share, b *contract.Batch, behind contract.Behind) error {
	b.LeftOut = sh.left.take(b.LeftOut)
	if err := p.told.describeLeftOut(p, b); err != nil {
		return err
	}
	b.Position, b.Behind = sh.position(), behind
	sh.toldAt, sh.done = b.Position, behind.Updates == 0
	sh.had.Took(sh.after, b)
	sh.after = b.Position
	sh.pace.spend(p.bytes)
	p.failed = p.f(b)
	p.last = time.Now()
	return p.failed
}

// untilBeat returns in how long the heartbeat is due.
func (p *pull) untilBeat() time.Duration {
	return min(heartbeat-time.Since(p.last), busyBeats*heartbeat-time.Since(p.beaten))
}

// heartbeat tells the positions that have moved without anything to tell, those of shares
// that were not told of yet, or that wait for their bytes per second; or else that
// the source is there. So the holder knows that nothing is to come of all others: it is
// told first of those of which something is.
func (p *pull) heartbeat() error {
	p.beaten = time.Now()
	now := p.wm.Now()
	var rest []*share // nothing was to come of them now
	any := false
	for _, sh := range p.shares {
		if sh.done && sh.position() == sh.toldAt && !sh.hasNews() {
			continue
		}
		behind := sh.behind()
		if behind.Updates == 0 {
			rest = append(rest, sh)
			continue
		}
		any = true
		if err := p.tellPosition(sh, behind); err != nil {
			return err
		}
	}
	if !any && len(rest) == 0 {
		rest = p.shares[:1]
	}
	for _, sh := range rest {
		if err := p.tellPosition(sh, contract.Behind{Now: now}); err != nil {
			return err
		}
	}
	return nil
}

// tellPosition hands over where a share is, and what was removed before that.
func (p *pull) tellPosition(sh *share, behind contract.Behind) error {
	b := p.begin(sh)
	if err := p.removed.tell(sh, b); err != nil {
		return err
	}
	return p.deliver(sh, b, behind)
}

func (p *pull) anyNews() bool {
	now := time.Now()
	for _, sh := range p.shares {
		if sh.hasNews() && sh.wait(now) == 0 {
			return true
		}
	}
	return p.wm.Closed()
}

// wait returns how long the share has to wait before it tells what it has to tell.
func (sh *share) wait(now time.Time) time.Duration {
	return max(sh.pace.wait(now), sh.gather.wait(sh, now), sh.await.wait(now))
}

// before reports whether a share that has something to tell comes before another.
func (sh *share) before(o *share) bool {
	a, b := &sh.rules, &o.rules
	switch {
	case a.Spare != b.Spare:
		return b.Spare
	case a.Priority != b.Priority:
		return a.Priority > b.Priority
	}
	return sh.turn < o.turn
}

// pace holds a share to its bytes per second, averaged over one.
type pace struct {
	rate   int64 // 0 is no bound
	budget float64
	at     time.Time
}

// wait returns how long the share has to wait.
func (c *pace) wait(now time.Time) time.Duration {
	if c.rate == 0 {
		return 0
	}
	if c.at.IsZero() {
		c.budget = float64(c.rate)
	} else {
		c.budget = min(float64(c.rate), c.budget+now.Sub(c.at).Seconds()*float64(c.rate))
	}
	c.at = now
	if c.budget > 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration((1-c.budget)/float64(c.rate)*float64(time.Second)))
}

// portion returns how many bytes a batch has at most, about: a quarter of a second's.
func (c *pace) portion() int64 {
	if c.rate == 0 {
		return contract.BatchBytes
	}
	return min(c.rate/4, contract.BatchBytes)
}

// spend notes bytes that were told.
func (c *pace) spend(bytes int64) { c.budget -= float64(bytes) }

// entityOf tells what a share knows of an entity, for a change of the working memory.
func (sh *share) entityOf(c *wm.Change) *entity {
	e, ok := sh.keys[c.Key()]
	if !ok {
		if len(sh.keys) >= maxKeys {
			clear(sh.keys)
		}
		e = sh.entity(c.Entity())
		sh.keys[c.Key()] = e
	}
	return e
}
