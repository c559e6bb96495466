package ltm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/wal"
)

// gap is a run of updates that the recorder was not given: they fell out of its queue,
// and the working memory had evicted them. What of them was promised to survive is in
// the log, and must be in an episode before that is cut off.
type gap struct {
	after, before uint64      // their numbers lie between these
	from, to      engram.Time // when the updates with these arrived
	lost          uint64      // how many there are
	last          uint64      // the number given last to what was found in the log
}

const (
	maxGaps = 256
	// gapMargin is how far apart the order of arrivals and that of numbers are at most:
	// updates to synced segments arrive before they are written, copies by another clock.
	gapMargin = time.Minute
	// nearlyAll is how far the recorder is behind at most when it looks back.
	nearlyAll = 4096
	// gapPause is how long it is waited after the log could not be read.
	gapPause = time.Minute
)

// leaveGap notes that updates before u, and after a number, were lost.
func (r *recorder) leaveGap(after uint64, u *engram.Update, lost uint64) {
	n := len(r.gaps)
	if n < maxGaps {
		r.gaps = append(r.gaps, gap{after: after, before: u.Number, from: r.arrived, to: u.Arrived, lost: lost, last: after})
		r.unfilled.Store(r.gaps[0].after + 1)
		return
	}
	g := &r.gaps[n-1]
	g.before, g.to, g.lost = u.Number, max(g.to, u.Arrived), g.lost+lost
}

// gapOf returns the gap that something lies in, or next to, that arrived then; near is
// false if it lies so far from all of them that it was not lost.
func (r *recorder) gapOf(arrived engram.Time) (g *gap, near bool) {
	g = &r.gaps[len(r.gaps)-1]
	for i := range r.gaps {
		if arrived <= r.gaps[i].to {
			g = &r.gaps[i]
			break
		}
	}
	return g, arrived >= g.from.Add(-gapMargin) && arrived <= g.to.Add(gapMargin)
}

// number returns a number for a version of a gap. The log does not tell the one that it
// had; this one lies in the gap, in the order of the log, not above the true one, and
// behind the removal of the version's segment.
func (g *gap) number(gone hidden, epoch uint64) uint64 {
	n := g.last + 1
	for i := range gone {
		if gone[i].Epoch == epoch {
			n = max(n, gone[i].Number+1)
		}
	}
	g.last = min(n, g.before-1)
	return g.last
}

// lookBack has what was lost, as far as the log has it, recorded soon: once the recorder
// has caught up with what is committed now.
func (r *recorder) lookBack() {
	if len(r.gaps) == 0 || r.gaveUp || r.looking || r.seal != nil || r.s.options.Now() < r.lookAgain ||
		r.progress.done.Load()+nearlyAll < r.progress.told(r.wm.Number()) {
		return
	}
	r.looking = true
	r.checkpoint(r.s.journal.Ends, func(c *checkpoint) { r.look = c })
}

// filled waits until what was lost up to a number, and is in the log, is recorded, as
// long as that comes on, and reports whether it is.
func (r *recorder) filled(ctx context.Context, number uint64) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inVain := time.AfterFunc(patience, cancel)
	defer inVain.Stop()
	for read := r.read.Load(); ; {
		r.progress.mu.Lock()
		changed := r.progress.changed
		r.progress.mu.Unlock()
		if first := r.unfilled.Load(); first == 0 || first > number {
			return true
		}
		if now := r.read.Load(); now != read {
			read = now
			inVain.Reset(patience)
		}
		if err := r.do(ctx, r.lookBackSoon); err != nil {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// errNotSoon says that what was lost is not recorded from the log in this life, or not
// soon.
var errNotSoon = errors.New("the log is not read just now")

// lookBackSoon has what was lost recorded, if the log can be read.
func (r *recorder) lookBackSoon() error {
	if r.gaveUp || r.s.options.Now() < r.lookAgain {
		return errNotSoon
	}
	r.lookBack()
	return nil
}

// lookIfDue does what lookBack has prepared.
func (r *recorder) lookIfDue() {
	c := r.look
	if c == nil || r.progress.done.Load() < r.progress.told(c.number) {
		return
	}
	r.look, r.looking = nil, false
	if c.err == nil {
		r.refill(c)
	}
}

// refill records what was lost before a checkpoint, up to which the recorder has come,
// and the log has. It reports whether the log may be cut off there.
func (r *recorder) refill(c *checkpoint) bool {
	if r.gaveUp {
		return false // the log is kept, for the next life
	}
	if len(r.gaps) == 0 || r.gaps[0].after >= c.number {
		r.refilled = c.ends
		return true
	}
	defer r.progress.tell() // who waits for it
	f := &refilling{r: r, held: newHeld(r.s), filters: map[engram.ID]*policy.Filter{}}
	defer f.held.close()
	err := f.run(c)
	switch {
	case errors.Is(err, errMoved), r.gaveUp:
		return false
	case err != nil:
		r.lookAgain = r.s.options.Now().Add(gapPause)
		r.s.health.set(fromLog, err)
		return false
	}
	r.s.health.set(fromLog, nil)
	r.refilled = c.ends
	var lost uint64
	r.gaps = slices.DeleteFunc(r.gaps, func(g gap) bool {
		if g.before-1 > c.whole {
			return false // some of it may be behind the checkpoint
		}
		lost += g.lost
		return true
	})
	if len(r.gaps) > 0 && r.gaps[0].after < c.whole {
		r.gaps[0].after, r.gaps[0].last = c.whole, max(r.gaps[0].last, c.whole)
	}
	r.unfilled.Store(0)
	if len(r.gaps) > 0 {
		r.unfilled.Store(r.gaps[0].after + 1)
	}
	r.note(fmt.Sprintf("of the updates that did not reach the recorder, up to number %d, %d were recorded from the log, and %d are lost", c.whole, f.found, lost))
	return true
}

// fromLog names in the store's health that what was lost cannot be read from the log.
const fromLog = "recording from the log"

// errMoved says that records have other places than at the checkpoint: what was before
// it may lie behind it.
var errMoved = errors.New("records of the log were moved")

// errClosing ends reading the log because the store closes.
var errClosing = errors.New("the store is closing")

// refilling is the log being read for what was lost.
type refilling struct {
	r       *recorder
	held    *held
	filters map[engram.ID]*policy.Filter
	found   uint64
}

func (f *refilling) run(c *checkpoint) error {
	r := f.r
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	go func() {
		select {
		case <-r.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for memory, end := range c.ends {
		if r.s.foreign[memory] {
			continue // it is not cut off
		}
		if l := r.s.journal.Log(memory); l != nil {
			if err := l.Sync(ctx, end); err != nil {
				return f.closing(err)
			}
		}
		if r.s.journal.Moves() != c.moves {
			return errMoved
		}
		losses, err := r.s.journal.Replay(ctx, memory, r.refilled[memory], end, func(rec wal.Record) error { return f.take(ctx, &rec) })
		for _, l := range losses {
			if l.Unread {
				return engram.Errorf(engram.Unavailable, memory, "its log cannot be read: %s: %s", l.File, l.Reason)
			}
			r.note(fmt.Sprintf("the log of %s lost %d bytes of %s at %d: %s", memory, l.Bytes, l.File, l.Offset, l.Reason))
		}
		if err != nil {
			return f.closing(err)
		}
	}
	return nil
}

// closing gives up, so that the log is kept, if an error says that the store closes.
func (f *refilling) closing(err error) error {
	select {
	case <-f.r.stop:
		f.r.gaveUp = true
	default:
	}
	return err
}

// take records a version of the log that no episode holds and that the recorder was not
// given.
func (f *refilling) take(ctx context.Context, rec *wal.Record) error {
	r := f.r
	if r.read.Add(1)%256 == 0 && !f.attend() {
		return errClosing
	}
	s, p := rec.Snapshot, r.s.policies.Of(rec.Entity)
	g, near := r.gapOf(s.Arrived)
	// What the policy left out is in no episode either. Where it leaves nothing out, all
	// that is not there was lost.
	all := r.s.records(rec.Entity)
	if !all && !near {
		return nil
	}
	held, err := f.held.has(ctx, rec.Entity, s)
	if err != nil {
		return err
	}
	if held {
		if !all {
			f.filter(rec.Entity, p).Recorded(s)
		}
		return nil
	}
	s.Number = g.number(r.s.hiddenOf(rec.Entity), r.wm.Epoch())
	if all {
		r.offer(rec.Entity, s)
	} else if e := r.entity(rec.Entity); f.filter(rec.Entity, p).Offer(s).Verdict != policy.Skip {
		r.keep(rec.Entity, s) // what waits for a link does not come again
	} else {
		if s.Arrived < g.from || s.Arrived > g.to {
			return nil // perhaps it was left out before
		}
		e.leaveOut(s)
	}
	if r.gaveUp {
		return errClosing
	}
	f.found++
	if g.lost > 0 {
		g.lost--
		r.counts.lost.Add(^uint64(0))
	}
	return nil
}

// filter returns a filter of an entity's for what is found in the log: the one of what
// comes is far beyond that.
func (f *refilling) filter(entity engram.ID, p policy.Policy) *policy.Filter {
	filter := f.filters[entity]
	if filter == nil {
		filter = policy.NewFilter(p, f.r.s.options.Types)
		f.filters[entity] = filter
	}
	return filter
}

// attend does what others want done, and ends an episode that is large enough; false if
// the store is closing.
func (f *refilling) attend() bool {
	r := f.r
	r.progress.tell()
	select {
	case order := <-r.orders:
		order()
	case <-r.stop:
		r.gaveUp = true
		return false
	default:
	}
	if r.writer != nil && r.writer.Info().Bytes >= r.s.options.SealBytes {
		r.handOver("size", job{})
	}
	return true
}
