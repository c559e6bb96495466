package source

import (
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// past is what is read of an epoch but its last updates: what episodes hold, and, of this
// epoch, what the working memory holds, merged by number.
type past struct {
	sh           *share
	history      *ltm.History // nil without a disk
	current      bool         // it is of this epoch
	recorded     bool         // the recorder has come to all of it
	changes      []wm.Change
	after, upTo  uint64 // of this epoch: it begins behind and ends here …
	lowWatermark engram.Time
	// lost is what the working memory evicted of each entity, as far as is known, less
	// what was found on disk.
	lost map[engram.ID]*engram.Missing
}

func (x *past) close() {
	if x.history != nil {
		x.history.Close()
	}
}

// lookBack begins to read from the timelines and from disk: the change feed does not reach
// back to the position, or some of its updates were evicted. It reads up to now, or up to
// the newest update when the wait for the recorder began.
func (sh *share) lookBack() error {
	p := sh.p
	x := &past{sh: sh, current: true, lost: map[engram.ID]*engram.Missing{}}
	match := func(id engram.ID) bool { return sh.entity(id).matches }
	var lost []engram.Missing
	var err error
	if p.ltm != nil {
		var over bool
		if x.recorded, over = sh.recorded(); !over {
			return nil // it is asked again
		}
		x.upTo, x.lowWatermark = sh.await.number, sh.await.lowWatermark
		sh.await.end()
	}
	if !x.recorded { // there is nothing to be waited for
		x.upTo, x.lowWatermark = p.wm.Feed().LowWatermark()
	}
	x.after = sh.at.Number
	if x.changes, lost, err = p.wm.Feed().Search(p.ctx, match, x.after, x.upTo); err != nil {
		return err
	}
	if p.ltm != nil {
		x.history = p.ltm.History(p.wm.Epoch(), match, x.after, x.upTo)
	}
	for i := range lost {
		if !x.hasAll(lost[i].ID) {
			x.lost[lost[i].ID] = &lost[i]
		}
	}
	sh.past, sh.changes = x, sh.changes[:0]
	return nil
}

// hasAll reports whether episodes have all of a segment's, or an entity's, that is not
// kept: those of this epoch, or, of what was read back from the log, those of earlier ones,
// which were read before.
func (x *past) hasAll(id engram.ID) bool { return x.recorded && x.sh.p.ltm.RecordsAll(id) }

// readPast reads on in an epoch.
func (sh *share) readPast(b *contract.Batch) error {
	p := sh.p
	if sh.past == nil {
		sh.past = &past{sh: sh, history: p.ltm.History(sh.epochs[0], func(id engram.ID) bool { return sh.entity(id).matches }, sh.at.Number, math.MaxUint64)}
	}
	for !sh.full(b) {
		more, err := sh.past.next(b)
		if err != nil {
			return err
		}
		if !more {
			if sh.past.current || len(b.Items) == 0 { // a batch is of one epoch
				sh.leave(b)
			}
			return nil
		}
	}
	return nil
}

// leave ends what was read of an epoch.
func (sh *share) leave(b *contract.Batch) {
	x := sh.past
	x.close()
	sh.past = nil
	if x.current {
		for _, m := range x.lost {
			sh.lose(b, *m)
		}
		sh.at.Number, sh.at.Arrived = x.upTo, max(sh.at.Arrived, x.lowWatermark)
		return
	}
	if sh.epochs = sh.epochs[1:]; len(sh.epochs) > 0 {
		sh.enter(sh.epochs[0])
	} else {
		sh.enter(sh.p.wm.Epoch())
	}
}

// next offers the version with the next number; false at the end.
func (x *past) next(b *contract.Batch) (more bool, err error) {
	sh := x.sh
	var disk ltm.Past
	onDisk := false
	if x.history != nil {
		if disk, onDisk, err = x.history.Peek(sh.p.ctx); err != nil {
			return false, err
		}
		x.loseDamaged(b)
	}
	if len(x.changes) > 0 && (!onDisk || x.changes[0].Number <= disk.Number) {
		c := &x.changes[0]
		return true, x.nextChange(b, onDisk && c.Number == disk.Number && c.Time() == disk.Time && c.Entity() == disk.Entity)
	}
	if !onDisk {
		return false, nil
	}
	return true, x.nextOnDisk(b, disk)
}

// nextChange offers the working memory's next version, which may be on disk as well.
func (x *past) nextChange(b *contract.Batch, onDisk bool) error {
	sh, c := x.sh, &x.changes[0]
	s, removed := c.Find()
	if s == nil && onDisk {
		x.changes = x.changes[1:]
		return nil // it comes from there
	}
	x.changes = x.changes[1:]
	if onDisk {
		x.history.Skip()
	}
	sh.at.Number = max(sh.at.Number, c.Number)
	switch {
	case s != nil && !sh.wants(c.Number, s.Arrived):
	case s != nil:
		return sh.offer(b, c.Entity(), sh.entityOf(c), s)
	case removed || sh.p.removed.concerns(sh.p.wm.Epoch(), c.Entity(), c.Time(), c.Number):
	case x.hasAll(c.Entity()): // it was read back from the log, and evicted since
	default:
		sh.lose(b, engram.Missing{ID: c.Entity(), Reason: engram.MissingEvicted, Count: 1, Interval: moment(c.Time())})
	}
	return nil
}

// nextOnDisk offers the next version that is on disk only.
func (x *past) nextOnDisk(b *contract.Batch, disk ltm.Past) error {
	sh := x.sh
	if m := x.lost[disk.Entity]; m != nil && disk.Number > x.after {
		if m.Count--; m.Count == 0 {
			delete(x.lost, disk.Entity)
		}
	}
	if disk.Arrived < max(sh.since, sh.notBefore) || x.current && !sh.wants(disk.Number, disk.Arrived) {
		x.history.Skip()
		sh.at.Number = max(sh.at.Number, disk.Number)
		return nil
	}
	s, err := x.history.Take(sh.p.ctx)
	if err != nil {
		return err
	}
	sh.at.Number = max(sh.at.Number, disk.Number)
	if s == nil {
		x.loseDamaged(b)
		return nil
	}
	return sh.offer(b, disk.Entity, sh.entity(disk.Entity), s)
}

// loseDamaged tells what cannot be read on disk.
func (x *past) loseDamaged(b *contract.Batch) {
	for _, m := range x.history.Damaged() {
		x.sh.lose(b, m)
	}
}

// remaining estimates what is still to come.
func (x *past) remaining() (updates uint64, bytes int64) {
	if x.history != nil {
		updates, bytes = x.history.Remaining(x.sh.p.scope != nil)
	}
	n := uint64(len(x.changes))
	if n > updates {
		size := int64(0)
		if s, _ := x.changes[len(x.changes)-1].Find(); s != nil {
			size = int64(s.Size())
		}
		bytes += int64(n-updates) * size
		updates = n
	}
	return updates, bytes
}
