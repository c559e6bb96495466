package ltm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/policy/record"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// gap is a run of updates that the recorder was not given: they fell out of its queue,
// and the working memory had evicted them. What of them was promised to survive is in
// the log, and must be in an episode before that is truncated.
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
	// nearlyAll is how far the recorder is behind at most when it catches up from the log.
	nearlyAll = 4096
	// gapPause is how long it is waited after the log could not be read.
	gapPause = time.Minute
)

// gaps are those that may be in the log, in the order of their numbers. They belong to the
// recorder's goroutine, but for what is atomic.
type gaps struct {
	list     []gap
	first    atomic.Uint64           // the first number in them, 0 if there are none
	read     atomic.Uint64           // records of the log, to fill them
	searched map[string]wal.Position // before these the log has nothing of them
}

func (g *gaps) none() bool { return len(g.list) == 0 }

// changed notes where the first gap begins.
func (g *gaps) changed() {
	first := uint64(0)
	if !g.none() {
		first = g.list[0].after + 1
	}
	g.first.Store(first)
}

// add adds a gap, whose numbers are the highest.
func (g *gaps) add(more gap) {
	if n := len(g.list); n > 0 && (n == maxGaps || g.list[n-1].before >= more.after) {
		last := &g.list[n-1]
		last.before, last.to, last.lost = more.before, max(last.to, more.to), last.lost+more.lost
		return
	}
	g.list = append(g.list, more)
	g.changed()
}

// of returns the gap that something lies in, or next to, that arrived then; near is false
// if it lies so far from all of them that it was not lost.
func (g *gaps) of(arrived engram.Time) (of *gap, near bool) {
	of = &g.list[len(g.list)-1]
	for i := range g.list {
		if arrived <= g.list[i].to {
			of = &g.list[i]
			break
		}
	}
	return of, arrived >= of.from.Add(-gapMargin) && arrived <= of.to.Add(gapMargin)
}

// searchedUp ends the gaps, all records of which before a checkpoint were read, up to
// there. It returns how many versions of these were not found.
func (g *gaps) searchedUp(c *checkpoint) (lost uint64) {
	g.searched = c.ends
	g.list = slices.DeleteFunc(g.list, func(of gap) bool {
		if of.before-1 > c.whole {
			return false // some of it may be behind the checkpoint
		}
		lost += of.lost
		return true
	})
	if !g.none() && g.list[0].after < c.whole {
		g.list[0].after, g.list[0].last = c.whole, max(g.list[0].last, c.whole)
	}
	g.changed()
	return lost
}

// postpone notes a version of the log that cannot be recorded as the store begins: it
// belongs to the gap that was left then, and is recorded from the log as others are.
func (g *gaps) postpone(s *engram.Snapshot) {
	of := &g.list[0]
	of.from, of.to, of.lost = min(of.from, s.Arrived), max(of.to, s.Arrived), of.lost+1
}

// endPostponing ends the gap that was left as the log was read back, if one was, at the
// newest number, and returns how many versions are in it.
func (g *gaps) endPostponing(newest uint64) uint64 {
	if g.none() || g.list[0].lost == 0 {
		g.list = nil
		return 0
	}
	g.list[0].before = newest + 1
	g.changed()
	return g.list[0].lost
}

// missed notes that of the updates behind the last one seen, up to u, others than had are
// gone from the working memory, and returns how many.
func (r *recorder) missed(u *engram.Update, had uint64) (lost uint64) {
	if lost = r.progress.news(r.last+1, u.Number); lost <= had {
		return 0
	}
	r.gaps.add(gap{after: r.last, before: u.Number, from: r.arrived, to: u.Arrived, lost: lost - had, last: r.last})
	return lost - had
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

// catchUp is to record from the log what was lost before a checkpoint.
type catchUp struct{ point *checkpoint } // nil until it is known

// prepareCatchUp has what was lost, as far as the log has it, recorded soon: once the
// recorder has seen what is committed now.
func (r *recorder) prepareCatchUp() {
	if r.gaps.none() || r.gaveUp || r.catchUp != nil || r.seal != nil || r.options.Now() < r.notAgain ||
		r.progress.done.Load()+nearlyAll < r.progress.told(r.wm.Number()) {
		return
	}
	prepared := &catchUp{}
	r.catchUp = prepared
	r.checkpoint(r.logs.Ends, func(c *checkpoint) { prepared.point = c })
}

// recorded waits until everything up to a number is recorded, also what is in the log
// alone, as long as that comes on, and reports whether it is.
func (r *recorder) recorded(ctx context.Context, number uint64) bool {
	return r.progress.await(ctx, number) && r.filled(ctx, number)
}

// filled waits until what was lost up to a number, and is in the log, is recorded, as
// long as that comes on, and reports whether it is.
func (r *recorder) filled(ctx context.Context, number uint64) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inVain := time.AfterFunc(patience, cancel)
	defer inVain.Stop()
	for read := r.gaps.read.Load(); ; {
		r.progress.mu.Lock()
		changed := r.progress.changed
		r.progress.mu.Unlock()
		if first := r.gaps.first.Load(); first == 0 || first > number {
			return true
		}
		if now := r.gaps.read.Load(); now != read {
			read = now
			inVain.Reset(patience)
		}
		if err := r.do(ctx, r.catchUpSoon); err != nil {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// errNotSoon says that what was lost is not recorded from the log in this epoch, or not
// soon.
var errNotSoon = errors.New("the log is not read just now")

// catchUpSoon has what was lost recorded, if the log can be read.
func (r *recorder) catchUpSoon() error {
	if r.gaveUp || r.options.Now() < r.notAgain {
		return errNotSoon
	}
	r.prepareCatchUp()
	return nil
}

// catchUpIfDue does what prepareCatchUp has prepared.
func (r *recorder) catchUpIfDue() {
	if r.catchUp == nil || r.catchUp.point == nil || r.progress.done.Load() < r.progress.told(r.catchUp.point.number) {
		return
	}
	c := r.catchUp.point
	r.catchUp = nil
	if c.err == nil {
		r.readLog(c)
	}
}

// readLog records what was lost before a checkpoint, up to which the recorder has come,
// and the log has. It reports whether the log may be truncated there.
func (r *recorder) readLog(c *checkpoint) bool {
	if r.gaveUp {
		return false // the log is kept, for the next epoch
	}
	if r.gaps.none() || r.gaps.list[0].after >= c.number {
		r.gaps.searched = c.ends
		return true
	}
	defer r.progress.tell() // who waits for it
	f := &logReading{r: r, held: newHeld(r.disk), filters: map[engram.ID]*record.Filter{}}
	defer f.held.close()
	err := f.run(c)
	switch {
	case errors.Is(err, errMoved), r.gaveUp:
		return false
	case err != nil:
		r.notAgain = r.options.Now().Add(gapPause)
		r.health.set(fromLog, err)
		return false
	}
	r.health.set(fromLog, nil)
	lost := r.gaps.searchedUp(c)
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

// logReading is the log being read for what was lost.
type logReading struct {
	r       *recorder
	held    *held
	filters map[engram.ID]*record.Filter
	found   uint64
}

func (f *logReading) run(c *checkpoint) error {
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
		if r.logs.foreign[memory] {
			continue // it is not truncated
		}
		if l := r.logs.Log(memory); l != nil {
			if err := l.Sync(ctx, end); err != nil {
				return f.closing(err)
			}
		}
		if r.logs.Moves() != c.moves {
			return errMoved
		}
		losses, err := r.logs.Replay(ctx, memory, r.gaps.searched[memory], end, func(rec wal.Record) error { return f.take(ctx, &rec) })
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
func (f *logReading) closing(err error) error {
	select {
	case <-f.r.stop:
		f.r.gaveUp = true
	default:
	}
	return err
}

// take records a version of the log that no episode holds and that the recorder was not
// given.
func (f *logReading) take(ctx context.Context, rec *wal.Record) error {
	r := f.r
	if r.gaps.read.Add(1)%256 == 0 && !f.attend() {
		return errClosing
	}
	s, p := rec.Snapshot, r.policies.Of(rec.Entity)
	g, near := r.gaps.of(s.Arrived)
	// What the policy left out is in no episode either. Where it leaves nothing out, all
	// that is not there was lost.
	all := r.policies.all(rec.Entity)
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
	s.Number = g.number(r.disk.episodes.current().hiddenOf(rec.Entity), r.wm.Epoch())
	if all {
		r.offer(rec.Entity, s)
	} else if e := r.entity(rec.Entity); f.filter(rec.Entity, p).Offer(s).Verdict != record.Skip {
		r.keep(rec.Entity, s) // what waits for a link does not come again
	} else {
		if s.Arrived < g.from || s.Arrived > g.to {
			return nil // perhaps it was left out before
		}
		e.leaveOut(r, rec.Entity, s)
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
func (f *logReading) filter(entity engram.ID, p policy.Policy) *record.Filter {
	filter := f.filters[entity]
	if filter == nil {
		filter = record.NewFilter(p, f.r.options.Types)
		f.filters[entity] = filter
	}
	return filter
}

// attend does what others want done, and ends an episode that is large enough; false if
// the store is closing.
func (f *logReading) attend() bool {
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
	if r.writer != nil && r.writer.Info().Bytes >= r.options.SealBytes {
		r.handOver("size", job{})
	}
	return true
}
