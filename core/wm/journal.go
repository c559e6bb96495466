package wm

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// Journal is the log that a working memory writes to before it shows what was
// committed to its Logged and Synced segments. Package core/ltm/wal has one. Safe for
// concurrent use.
type Journal interface {
	// Begin prepares the record of a version: all that takes time is done here,
	// outside the WM's lock. The entry refers to the payloads' bytes, which do not
	// change any more. An error refuses the entity update: Exhausted for a full
	// disk or too much that waits, Unavailable for other failures.
	Begin(ctx context.Context, entity engram.ID, s *engram.Snapshot) (JournalEntry, error)
	// AddType, AddCoreSegment and AddProviderSegment return when the definition is
	// on disk, at once if it is there already. The last definition of a segment
	// counts.
	AddType(ctx context.Context, t engram.TypeDef) error
	AddCoreSegment(ctx context.Context, s engram.CoreSegment) error
	AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error
	// RemoveSegment returns when the removal of a segment, with everything appended for
	// it before, is on disk.
	RemoveSegment(ctx context.Context, id engram.ID) error
}

// JournalEntry is a record on its way into a Journal.
type JournalEntry interface {
	// Append puts the record at the end of its memory's log, with its time of
	// arrival. It does no I/O: the WM calls it under its lock, so that the order of
	// the log is the order of the memory. If it fails nothing was appended. A
	// record that need not be synced is the journal's afterwards and must not be
	// used any more; it is written when it can be.
	Append(arrived engram.Time, synced bool) error
	// Wait returns when a record that was appended to be synced is on disk, or with
	// an error when it is not and will not be. The records of one memory get theirs
	// in the order in which they were appended: where Wait has returned for one, it
	// returns at once for those before it. Any number of goroutines may call it.
	Wait() error
	// Done reports whether Wait would return at once.
	Done() bool
}

// journaled is what of a batch of updates goes into the journal.
type journaled struct {
	logged []JournalEntry // by the index of the update; nil if there is none
	synced []*syncing
}

func (j *journaled) entry(i int) JournalEntry {
	if j.logged == nil {
		return nil
	}
	return j.logged[i]
}

// syncing is an update of a Synced segment on its way to the disk. A memory inserts these
// updates into the timelines in the order of its log; the first commit that finds an
// update on disk inserts it.
type syncing struct {
	pending // without a version if it was refused
	update  *engram.EntityUpdate
	entry   JournalEntry
	index   int // in its batch
	arrived engram.Time

	// done tells that it was put into its timeline, or refused; what follows is read
	// when it is set.
	done atomic.Bool
	err  error
	slow []*subscription // that its commit has to wait for
}

// completeBatch is how many updates one commit completes for others under one hold of the
// lock.
const completeBatch = 64

// begin prepares the journal's entries. Updates of Synced segments are taken out of the
// batch.
func (w *writer) begin(ctx context.Context, updates []engram.EntityUpdate, batch []pending, results []engram.UpdateResult) (j journaled) {
	for i := range batch {
		p := &batch[i]
		if p.version == nil || p.core.def.Durability == engram.Volatile {
			continue
		}
		entry, err := w.journal.Begin(ctx, updates[i].Entity, &p.version.Snapshot)
		if err != nil {
			p.version, results[i].Err = nil, err
			continue
		}
		if p.core.def.Durability == engram.Synced {
			j.synced = append(j.synced, &syncing{pending: *p, update: &updates[i], entry: entry, index: i})
			p.version = nil
			continue
		}
		if j.logged == nil {
			j.logged = make([]JournalEntry, len(batch))
		}
		j.logged[i] = entry
	}
	return j
}

// appendLocked appends an update to the journal, or refuses it.
func (w *writer) appendLocked(s *syncing, clock engram.Time) {
	if s.err = w.admitLocked(s.update, &s.pending, true, clock); s.err == nil {
		w.mu.arrived++ // what waits before it is not in the timelines yet
		s.arrived = w.mu.arrived
		s.err = s.entry.Append(s.arrived, true)
	}
	if s.err != nil {
		s.version = nil
		s.done.Store(true)
		return
	}
	m := s.core.memory
	m.syncing = append(m.syncing, s)
	w.mu.syncing++
}

// finish waits for the disk and puts s, and all that was appended before it, into the
// timelines.
func (w *writer) finish(s *syncing) {
	if s.done.Load() {
		return
	}
	_ = s.entry.Wait() // what became of it is asked again below, with those before it
	if s.done.Load() {
		return
	}
	w.mu.Lock()
	owed := w.completeLocked(s)
	w.mu.Unlock()
	owed.wakeUp()
}

// completeLocked puts what was appended up to s into the timelines, or refuses it; the
// disk has answered for all of it. What it has answered for behind s goes the same way,
// so that of all who waited for one sync a few do the work for the rest.
func (w *writer) completeLocked(s *syncing) (owed notices) {
	if s.done.Load() {
		return owed
	}
	w.mu.clock = w.now()
	m := s.core.memory
	var completed []*syncing
	var batch []pending
	for found := false; len(m.syncing) > 0; {
		first := m.syncing[0]
		if found && (len(completed) >= completeBatch || !first.entry.Done()) {
			break
		}
		found = found || first == s
		m.syncing[0] = nil
		m.syncing = m.syncing[1:]
		w.mu.syncing--
		if first.err = first.entry.Wait(); first.err == nil {
			first.err = w.confirmSyncedLocked(first)
		}
		if first.err != nil {
			first.version = nil
			first.done.Store(true)
			continue
		}
		w.putLocked(first.update.Entity, &first.pending, first.arrived)
		completed, batch = append(completed, first), append(batch, first.pending)
	}
	if len(m.syncing) == 0 {
		m.syncing = nil
	}
	w.showLocked(batch, &owed)
	for i, s := range completed { // each waits for those alone who are slow with its own
		w.notifyLocked(batch[i:i+1], &owed)
		s.slow, owed.slow = owed.slow, nil
		s.done.Store(true)
	}
	return owed
}

// confirmLocked checks that the segments of an update exist and accept it. It prepares the
// update again if they were replaced since.
func (w *writer) confirmLocked(u *engram.EntityUpdate, p *pending, hasEntry bool) error {
	if !p.standsLocked(u) {
		if err := w.prepareAgain(u, p, hasEntry); err != nil {
			return err
		}
	}
	if p.core.leaving || p.provider != nil && p.provider.leaving {
		p.version = nil
		return engram.Errorf(engram.Unavailable, u.Entity.String(), "its segment is being removed")
	}
	return nil
}

// confirmSyncedLocked is confirmLocked for an update that is on disk.
func (w *writer) confirmSyncedLocked(s *syncing) error {
	switch {
	case s.standsLocked(s.update):
		return nil
	case s.core.removed || s.provider != nil && s.provider.removed:
		return engram.Errorf(engram.NotFound, s.update.Entity.String(), "its segment was removed during the commit")
	}
	return w.prepareAgain(s.update, &s.pending, true) // its provider segment was added meanwhile
}

// prepareAgain prepares an update anew for the segments that are there now. What it is
// in the journal must stay what it was.
func (w *writer) prepareAgain(u *engram.EntityUpdate, p *pending, hasEntry bool) error {
	before := *p
	again, err := w.prepare(u)
	*p = again
	if err != nil {
		return err
	}
	p.standsLocked(u)
	if durability := p.core.def.Durability; durability != engram.Volatile && !hasEntry ||
		hasEntry && (before.core.def.Durability != durability || !sameTypes(before.version, p.version)) {
		p.version = nil
		return engram.Errorf(engram.Unavailable, u.Entity.String(), "its segment was replaced during the commit; commit again")
	}
	return nil
}

func sameTypes(a, b *version) bool {
	return slices.EqualFunc(a.Instances, b.Instances, func(x, y engram.Instance) bool { return x.Payload.Type == y.Payload.Type })
}

// appendNew appends the subscriptions that are not in list yet.
func appendNew(list, more []*subscription) []*subscription {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// lastSyncingLocked returns of each memory the update that was appended last, of those
// that wait for the disk: when it is done, all before it are.
func (w *writer) lastSyncingLocked() (last []*syncing) {
	for _, m := range w.memories.sorted() {
		if n := len(m.value.syncing); n > 0 {
			last = append(last, m.value.syncing[n-1])
		}
	}
	return last
}

// Barrier calls mark at a moment at which nothing is being appended to the journal,
// waits until everything that was appended before is in the memory or was refused,
// and returns the number of the newest update. mark must be quick, and use of the
// memory only [WM.Number].
func (w *WM) Barrier(ctx context.Context, mark func()) (number uint64, err error) {
	w.mu.Lock()
	mark()
	last := w.lastSyncingLocked()
	w.mu.Unlock()
	for _, s := range last {
		if err := checkContext(ctx); err != nil {
			return 0, err
		}
		w.finish(s)
	}
	return w.number.Load(), nil
}
