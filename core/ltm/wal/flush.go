package wal

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// When the flusher writes and syncs if nobody waits.
const (
	flushEvery  = 4 * time.Millisecond // from the first record that is pending
	gatherBytes = 1 << 20              // or this much
	syncBytes   = 8 << 20              // not on the disk: what is kept for a failure stays little
	firstRetry  = 50 * time.Millisecond
	lastRetry   = time.Second
)

// flusher is what the goroutine that writes the log has for itself.
type flusher struct {
	log     *Log
	file    vfs.File // nil after a failure
	current *logFile
	offset  int64 // of the file's end

	unsynced []*Entry    // written or to be written, but not known to be on the disk
	since    time.Time   // when the first of them was taken
	cost     int64       // theirs
	arrived  engram.Time // when the last record arrived that is on the disk
	spare    []*Entry    // an empty list to take the next ones in

	gatherUntil time.Time // when what is pending is to be written
	retryAt     time.Time // when it is tried again to write after a failure
	retryAfter  time.Duration
	out         batch
}

// job is what is to be done next.
type job int

const (
	idle job = iota
	flush
	flushAndSync
	tryAgain
	replaceAll
	end
)

// run is the flusher's goroutine.
func (f *flusher) run() {
	l := f.log
	defer close(l.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		todo, wait := f.next(time.Now())
		switch todo {
		case idle:
			timer.Reset(wait)
			select {
			case <-l.wake:
			case <-timer.C:
			}
		case tryAgain:
			f.tryAgain()
		case replaceAll:
			f.replaceNow()
		case end:
			f.finish()
			return
		default:
			if err := f.flush(todo == flushAndSync); err != nil {
				f.fail(err)
			}
		}
	}
}

// next returns what is to be done now, or how long nothing is.
func (f *flusher) next(now time.Time) (todo job, wait time.Duration) {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.closed:
		return end, 0
	case l.mu.replacement != nil:
		return replaceAll, 0
	case l.mu.failure != nil:
		if wait = f.retryAt.Sub(now); wait > 0 {
			return idle, wait
		}
		return tryAgain, 0
	case l.mu.sync, len(f.unsynced) > 0 && (now.Sub(f.since) >= l.opts.SyncEvery || f.cost >= syncBytes || l.mu.waiting > l.opts.MaxPending/2):
		return flushAndSync, 0
	case l.mu.urgent:
		if wait = l.mu.group.wait(now); wait > 0 && l.mu.gathered < gatherBytes {
			return idle, wait
		}
		return flush, 0
	}
	wait = time.Hour
	if len(f.unsynced) > 0 {
		wait = f.since.Add(l.opts.SyncEvery).Sub(now)
	}
	if len(l.mu.pending) > 0 {
		if f.gatherUntil.IsZero() {
			f.gatherUntil = now.Add(flushEvery)
		}
		if !now.Before(f.gatherUntil) {
			return flush, 0
		}
		wait = min(wait, f.gatherUntil.Sub(now))
	}
	return idle, wait
}

// take makes all that is pending the flusher's. It returns the new part, whether one
// of it is to be synced, and the end of the log behind it.
func (f *flusher) take() (fresh []*Entry, synced bool, behind Position) {
	l := f.log
	f.gatherUntil = time.Time{}
	l.mu.Lock()
	fresh = l.mu.pending
	l.mu.pending, f.spare = f.spare[:0], nil
	l.mu.gathered, l.mu.urgent, l.mu.sync = 0, false, false
	behind = l.mu.end
	l.mu.group.take()
	l.crowded.Store(l.mu.waiting > l.opts.MaxPending/2)
	l.mu.Unlock()
	if len(f.unsynced) == 0 {
		f.since = time.Now()
	}
	for _, e := range fresh {
		f.cost += e.cost()
		synced = synced || e.synced
	}
	f.unsynced = append(f.unsynced, fresh...)
	return fresh, synced, behind
}

// flush writes what is pending, and syncs it if that is asked for or one of the
// records waits for it.
func (f *flusher) flush(sync bool) error {
	fresh, synced, behind := f.take()
	err := f.write(fresh)
	if err == nil && behind.file() > f.current.number { // Rotate was called
		err = f.rotate(behind.file())
	}
	if err == nil && (sync || synced) {
		err = f.sync()
	}
	clear(fresh)
	f.spare = fresh[:0]
	return err
}

// refusedWrite says that the disk refused a write, and no sync: what was written before
// can still be synced.
type refusedWrite struct{ error }

func (e refusedWrite) Unwrap() error { return e.error }

// write writes records behind one another, beginning new files where their
// positions say so.
func (f *flusher) write(records []*Entry) error {
	l := f.log
	for len(records) > 0 {
		number := records[0].pos.file()
		if number > f.current.number {
			if err := f.rotate(number); err != nil {
				return err
			}
		}
		n := slices.IndexFunc(records, func(e *Entry) bool { return e.pos.file() != number })
		if n < 0 {
			n = len(records)
		}
		f.out.begin(f.file, f.current.marker)
		var err error
		for i := 0; i < n && err == nil; i++ {
			err = f.out.add(records[i])
		}
		if err == nil {
			err = f.out.flush()
		}
		if err != nil {
			n = f.out.whole(records[:n])
		}
		if n > 0 {
			last := records[n-1]
			f.offset = last.pos.offset() + last.size()
			l.mu.Lock()
			f.current.end = f.offset
			l.mu.Unlock()
		}
		if err != nil {
			return refusedWrite{err}
		}
		records = records[n:]
	}
	return nil
}

// sync syncs the file, and tells all whose records are on the disk by that.
func (f *flusher) sync() error {
	l := f.log
	began := time.Now()
	if err := f.file.Sync(); err != nil {
		return err
	}
	now := time.Now()
	here := position(f.current.number, f.offset)
	// Of records behind here, of the next file, none was written.
	n := slices.IndexFunc(f.unsynced, func(e *Entry) bool { return e.pos >= here })
	if n < 0 {
		n = len(f.unsynced)
	}
	var until engram.Time
	if n > 0 && Kind(f.unsynced[n-1].meta[frameSize]) == KindSnapshot {
		until = engram.Time(binary.LittleEndian.Uint64(f.unsynced[n-1].meta[frameSize+arrivedAt:]))
	}
	var cost int64
	served := 0
	for i, e := range f.unsynced[:n] {
		cost += e.cost()
		if e.synced {
			served++
			e.complete(nil)
		} else {
			e.recycle()
		}
		f.unsynced[i] = nil
	}
	f.cost, f.arrived = f.cost-cost, max(f.arrived, until)
	f.unsynced = slices.Delete(f.unsynced, 0, n)
	f.since = now
	l.mu.Lock()
	l.mu.durable = here
	begun := f.current.durable <= recordsAt && f.offset > recordsAt
	f.current.durable, f.current.until = f.offset, max(f.current.until, until)
	l.mu.group.synced(served, now.Sub(began), now)
	l.mu.waiting -= cost
	l.opts.shared.add(-cost)
	l.crowded.Store(l.mu.waiting > l.opts.MaxPending/2)
	l.announceLocked()
	l.mu.Unlock()
	if n > 0 || begun {
		_ = l.note(false) // what it said before is still true
	}
	if begun {
		l.opts.changed(false)
	}
	return nil
}

// announceLocked wakes all who wait for something to become of what they appended.
func (l *Log) announceLocked() {
	close(l.mu.completed)
	l.mu.completed = make(chan struct{})
}

// rotate syncs the file and begins the one of that number.
func (f *flusher) rotate(number uint64) error {
	l := f.log
	if err := f.sync(); err != nil {
		return err
	}
	cut := position(f.current.number, f.offset)
	if err := f.file.Close(); err != nil {
		return err
	}
	f.file = nil
	if err := f.create(number, cut); err != nil {
		return err
	}
	l.mu.Lock()
	l.mu.durable = position(number, recordsAt)
	l.mu.Unlock()
	return nil
}

// create begins the file of that number, durably.
func (f *flusher) create(number uint64, cut Position) error {
	l := f.log
	h := newHeader(l.opts.Memory, number, cut)
	name := fileName(number)
	path := filepath.Join(l.opts.Dir, name)
	file, err := l.opts.FS.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(h.encode())
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = l.opts.FS.SyncDir(l.opts.Dir)
	}
	if err != nil {
		l.opts.FS.Remove(path) // as well as it can be done
		return errors.Join(err, file.Close())
	}
	f.file, f.offset = file, recordsAt
	f.current = &logFile{header: h, version: Version, name: name, end: recordsAt}
	l.mu.Lock()
	l.mu.files = append(l.mu.files, f.current)
	l.mu.Unlock()
	return nil
}

// fail takes note that writing failed. What was written before stays in the file if it can be
// synced; of the rest, what is to be synced is refused, and what is not is kept for the time
// when it works again.
func (f *flusher) fail(cause error) {
	l := f.log
	failure := l.classify("the log cannot be written", cause)
	l.mu.Lock()
	l.mu.failure = failure // from now on nothing is appended
	l.mu.Unlock()
	f.take()
	if _, is := errors.AsType[refusedWrite](cause); is {
		f.file.Truncate(f.offset) // what is refused is not to be there after a kill
		_ = f.sync()              // if it fails, what was written is kept, too
	}
	var kept []*Entry
	var cost int64
	for _, e := range f.unsynced {
		if e.synced {
			e.complete(failure)
		} else {
			kept = append(kept, e)
			cost += e.cost()
		}
	}
	unwritten := unwrittenOf(l.opts.Memory, kept, f.arrived)
	l.mu.Lock()
	l.mu.waiting -= f.cost - cost
	l.opts.shared.add(cost - f.cost)
	f.unsynced, f.cost = kept, cost
	l.mu.unwritten = unwritten
	durable := l.mu.durable
	l.announceLocked()
	l.mu.Unlock()
	f.dropFile(durable)
	f.retryAfter = firstRetry
	f.retryAt = time.Now().Add(f.retryAfter)
	l.opts.Unwritten(unwritten)
	l.opts.Health(failure)
}

// dropFile closes the file and, as well as it can be done, cuts off what is not
// synced. The next file's header says that it does not count.
func (f *flusher) dropFile(durable Position) {
	l := f.log
	if f.file == nil {
		return
	}
	f.offset = recordsAt
	if durable.file() == f.current.number {
		f.offset = durable.offset()
	}
	f.file.Truncate(f.offset)
	f.file.Close()
	f.file = nil
	l.mu.Lock()
	f.current.end = f.offset
	l.mu.Unlock()
}

// heal begins a new file and writes into it what is waiting. Until that is synced, positions
// behind the last sync count as before, for who waits for one from before the failure.
func (f *flusher) heal() error {
	l := f.log
	l.mu.Lock()
	cut := l.mu.durable
	number := l.mu.end.file() + 1
	at := position(number, recordsAt)
	if len(f.unsynced) > 0 {
		l.moves.Add(1)
	}
	for _, e := range f.unsynced {
		e.pos = at
		at += Position(e.size())
	}
	l.mu.end = at
	l.mu.Unlock()
	err := f.create(number, cut)
	if err == nil {
		err = f.write(f.unsynced)
	}
	if err == nil {
		err = f.sync()
	}
	if err == nil {
		return nil
	}
	f.dropFile(cut)
	l.mu.Lock()
	if n := len(l.mu.files); n > 0 && l.mu.files[n-1].number == number {
		l.mu.files = l.mu.files[:n-1]
	}
	l.mu.Unlock()
	l.opts.FS.Remove(filepath.Join(l.opts.Dir, fileName(number)))
	return err
}

// tryAgain tries to write again after a failure.
func (f *flusher) tryAgain() {
	l := f.log
	if err := f.heal(); err != nil {
		l.mu.Lock()
		l.mu.failure = l.classify("the log cannot be written", err)
		l.mu.Unlock()
		f.retryAfter = min(max(2*f.retryAfter, firstRetry), lastRetry)
		f.retryAt = time.Now().Add(f.retryAfter)
		return
	}
	l.mu.Lock()
	l.mu.failure = nil
	l.mu.unwritten = nil
	l.mu.Unlock()
	l.opts.Unwritten(nil)
	l.opts.Health(nil)
}

// finish writes what is left and closes the file.
func (f *flusher) finish() {
	l := f.log
	l.mu.Lock()
	r := l.mu.replacement
	l.mu.Unlock()
	if r != nil {
		r.done <- errClosed
	}
	if l.Failure() != nil {
		f.tryAgain()
	}
	err := l.Failure()
	if err == nil {
		if err = f.flush(true); err != nil {
			f.fail(err)
		} else if err = f.file.Close(); err == nil {
			f.file = nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.mu.failure == nil {
		l.mu.failure = l.classify("the log cannot be closed", err)
	}
	for _, e := range f.unsynced { // only if it failed
		e.complete(l.mu.failure)
	}
	l.announceLocked()
}
