package wal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Log is an open log. Safe for concurrent use.
type Log struct {
	opts    Options
	wake    chan struct{} // the flusher's
	ended   chan struct{} // closed when the flusher has ended
	crowded atomic.Bool   // more waits than half of what may
	flusher flusher
	mark    watermark

	// mu protects what appenders and the flusher share; it is held for moments only.
	mu struct {
		sync.Mutex
		end       Position // behind the last record appended
		durable   Position // all records before are on the disk
		pending   []*Entry // appended, not yet the flusher's
		gathered  int64    // bytes of pending
		waiting   int64    // cost of all that is not on the disk
		urgent    bool     // somebody waits for pending, or it is much
		group     group
		rotate    bool // the next record begins a new file
		sync      bool // somebody waits for all there is
		closed    bool
		failure   error         // why nothing can be appended, nil if it can
		completed chan struct{} // closed, and replaced, when something became of what waits
		files     []*logFile    // by number; the last one is written, if it is open
		returns   uint64        // the lowest number of a removed file that may come back, or 0
		first     uint64        // files of lower numbers need not be there
		unwritten Unwritten     // while the disk refuses it, and after it was closed

		replacement *replacement // nil if there is none to be made
	}
	// remove is held while files are removed.
	remove sync.Mutex
	moves  atomic.Uint64 // how often records got other places than those they were given
}

// logFile is a file of the log.
type logFile struct {
	header
	version uint32 // 0 if the header is damaged
	name    string
	end     int64       // offset behind the records that were written
	size    int64       // when it was found, of what does not count, too
	durable int64       // up to here it is known to be on the disk
	until   engram.Time // when the newest record before that arrived, 0 if it is not known
}

var errClosed = engram.Errorf(engram.Unavailable, "", "the log is closed")

// Open opens the log of a folder, or makes it. What a crash cut off is cut off the
// file, too, and told in losses. Every opening begins a new file; if that cannot be
// written the log is open nevertheless, can be read, and heals. The error is
// Unsupported for a log of a newer version, and wraps [ErrGone], with what is gone in
// losses, if something that was on the disk is not there and o does not accept that; then
// nothing was changed.
func Open(o Options) (l *Log, losses []Loss, err error) {
	l = &Log{opts: o.withDefaults(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	l.flusher.log = l
	l.mu.completed = make(chan struct{})
	if err := l.makeFolder(); err != nil {
		return nil, nil, l.classify("the log's folder cannot be made", err)
	}
	l.mark.fs, l.mark.path = l.opts.FS, filepath.Join(l.opts.Dir, watermarkFile)
	losses, err = l.findFiles()
	if err != nil {
		return nil, losses, err
	}
	l.syncFound()
	old := len(l.mu.files)
	if err := l.flusher.heal(); err != nil {
		l.mu.failure = l.classify("the log cannot be written", err)
		l.opts.Health(l.mu.failure)
	} else {
		l.dropEmpty(old) // now that a file with a higher number is there
	}
	go l.flusher.run()
	return l, losses, nil
}

// makeFolder makes the log's folder, and those that it lies in, durably. That it is
// there already does not say that it is durable.
func (l *Log) makeFolder() error {
	dir := filepath.Dir(filepath.Clean(l.opts.Dir))
	parents := []string{dir} // from the deepest up
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := l.opts.FS.Stat(dir); err == nil {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := l.opts.FS.MkdirAll(l.opts.Dir, 0o700); err != nil {
		return err
	}
	for _, dir := range slices.Backward(parents) {
		if err := l.opts.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// classify makes a typed error of what the file system said.
func (l *Log) classify(what string, err error) error {
	if e, ok := errors.AsType[*engram.Error](err); ok {
		return e
	}
	if vfs.IsFull(err) {
		return engram.Errorf(engram.Exhausted, l.opts.Dir, "%s, the disk is full: free some space, then it goes on by itself: %w", what, err)
	}
	return engram.Errorf(engram.Unavailable, l.opts.Dir, "%s: check the disk; it is tried again until it works: %w", what, err)
}

// End returns the position behind the last record appended.
func (l *Log) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.end
}

// Failure returns why the log cannot write now, nil if it can.
func (l *Log) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failure
}

// Memory returns the name of the memory whose records the log holds.
func (l *Log) Memory() string { return l.opts.Memory }

// Start returns the position of the oldest record that the log may hold, now or after a
// loss of power.
func (l *Log) Start() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.returns > 0:
		return position(l.mu.returns, recordsAt)
	case len(l.mu.files) == 0:
		return l.mu.end
	}
	return position(l.mu.files[0].number, recordsAt)
}

// Size returns the bytes of the log's files.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, f := range l.mu.files {
		n += f.end
	}
	return n
}

// Sync waits until all that was appended before pos is on the disk, or returns the
// log's failure.
func (l *Log) Sync(ctx context.Context, pos Position) error {
	for {
		l.mu.Lock()
		durable, failure, closed, ch := l.mu.durable, l.mu.failure, l.mu.closed, l.mu.completed
		if durable < pos && failure == nil && !closed {
			l.mu.sync, l.mu.urgent = true, true
			l.wakeFlusher()
		}
		l.mu.Unlock()
		switch {
		case durable >= pos:
			return nil
		case failure != nil:
			return failure
		case closed:
			select {
			case <-l.ended: // it may have been written by Close
				l.mu.Lock()
				durable = l.mu.durable
				l.mu.Unlock()
				if durable >= pos {
					return nil
				}
				return errClosed
			case <-ctx.Done():
			}
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, l.opts.Dir, "given up while waiting for the disk: %w", context.Cause(ctx))
		}
	}
}

// Rotate lets the next record begin a new file, so that Truncate can let go of all
// before it. It returns the position from which on that is.
func (l *Log) Rotate() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.end.offset() > recordsAt {
		l.mu.end = position(l.mu.end.file()+1, recordsAt)
		l.mu.sync, l.mu.urgent = true, true // the flusher closes the old file
		l.wakeFlusher()
	}
	return l.mu.end
}

// Truncate lets go of the files that lie wholly before pos. An error leaves the rest
// in place; calling it again goes on.
func (l *Log) Truncate(pos Position) error {
	l.remove.Lock()
	defer l.remove.Unlock()
	l.mu.Lock()
	current := l.mu.durable.file()
	var gone []*logFile
	for _, f := range l.mu.files {
		if f.number < pos.file() && f.number < current {
			gone = append(gone, f)
		}
	}
	if len(gone) > 0 && l.mu.returns == 0 {
		l.mu.returns = gone[0].number
	}
	returns := l.mu.returns > 0
	l.mu.Unlock()
	if !returns {
		return nil
	}
	if len(gone) > 0 {
		if err := l.letGo(gone[len(gone)-1].number + 1); err != nil {
			return l.classify("that files of the log are let go of cannot be noted", err)
		}
		l.opts.changed(true)
	}
	for _, f := range gone {
		if err := l.opts.FS.Remove(filepath.Join(l.opts.Dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l.classify("a file of the log cannot be removed", err)
		}
		l.mu.Lock()
		l.mu.files = slices.DeleteFunc(l.mu.files, func(g *logFile) bool { return g == f })
		l.mu.Unlock()
	}
	if err := l.opts.FS.SyncDir(l.opts.Dir); err != nil {
		return l.classify("removed files of the log may come back", err)
	}
	l.mu.Lock()
	l.mu.returns = 0
	l.mu.Unlock()
	return nil
}

// Settle waits until all that was appended is on the disk, also while the disk refuses
// that, or until ctx ends.
func (l *Log) Settle(ctx context.Context) {
	for {
		l.mu.Lock()
		settled, ch := l.mu.waiting == 0, l.mu.completed
		if !settled && l.mu.failure == nil {
			l.mu.sync, l.mu.urgent = true, true
			l.wakeFlusher()
		}
		l.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-ch:
		case <-l.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close writes and syncs what is waiting, and closes the log. If that cannot be
// written it is lost, and the error says so.
func (l *Log) Close() error {
	l.mu.Lock()
	l.mu.closed, l.mu.urgent = true, true
	l.wakeFlusher()
	l.mu.Unlock()
	<-l.ended
	l.mark.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failure
}

// wakeFlusher wakes the flusher.
func (l *Log) wakeFlusher() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// syncedTo returns the position before which all is on the disk.
func (l *Log) syncedTo() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.durable
}
