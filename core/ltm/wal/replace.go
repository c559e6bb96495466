package wal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// newSuffix ends the name of a file that is written beside the log, until it is whole.
const newSuffix = fileSuffix + ".new"

// replacement is what a log is to hold instead of all that it has.
type replacement struct {
	entries []*Entry
	done    chan error // with room for one
}

// replace makes the records all that the log holds, so that a crash leaves what there was
// or all of them. If it fails, what there was goes on to count. Nothing may be appended
// meanwhile.
func (l *Log) replace(records []*Record) error {
	r := &replacement{done: make(chan error, 1)}
	for _, record := range records {
		r.entries = append(r.entries, l.begin(record))
	}
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return errClosed
	}
	l.mu.replacement = r
	l.wakeFlusher()
	l.mu.Unlock()
	if err := <-r.done; err != nil {
		return err
	}
	return l.Truncate(l.End())
}

// replaceNow does what replace waits for, and tells it.
func (f *flusher) replaceNow() {
	l := f.log
	l.mu.Lock()
	r, failure := l.mu.replacement, l.mu.failure
	l.mu.replacement = nil
	l.mu.Unlock()
	if failure != nil {
		r.done <- failure
		return
	}
	if err := f.flush(true); err != nil {
		f.fail(err)
		r.done <- l.Failure()
		return
	}
	err := l.beginAnew(r.entries)
	if err != nil {
		// Where it is not certain which file counts, healing decides: it takes the same number.
		if _, statErr := l.opts.FS.Stat(l.nextPath()); !errors.Is(statErr, fs.ErrNotExist) {
			f.fail(err)
		}
		err = l.classify("the log cannot be written anew", err)
	}
	r.done <- err
}

// nextPath returns the path of the file that will be begun next.
func (l *Log) nextPath() string {
	return filepath.Join(l.opts.Dir, fileName(l.End().file()+1))
}

// beginAnew begins a file that has the records, and says that those of earlier files do
// not count; all of that at once.
func (l *Log) beginAnew(entries []*Entry) error {
	f := &l.flusher
	number, path := l.End().file()+1, l.nextPath()
	h := newHeader(l.opts.Memory, number, 0)
	text := h.encode()
	for _, e := range entries {
		e.pos = position(number, int64(len(text)))
		putFrame(e.meta, h.marker, e.pos, e.dataLen, e.dataCRC)
		text = append(text, e.meta...)
		for _, d := range e.data {
			text = append(text, d...)
		}
	}
	if err := vfs.ReplaceFile(l.opts.FS, path, text); err != nil {
		return err
	}
	file, err := l.opts.FS.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return errors.Join(err, file.Close())
	}
	f.file.Close() // it is on the disk, and counts no more
	f.file, f.offset = file, int64(len(text))
	f.current = &logFile{header: h, version: Version, name: fileName(number), end: f.offset, durable: f.offset}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, old := range l.mu.files {
		old.end = recordsAt
	}
	l.mu.files = append(l.mu.files, f.current)
	l.mu.end = position(number, f.offset)
	l.mu.durable = l.mu.end
	l.announceLocked()
	return nil
}

// removeUnfinished removes what a crash left beside the log.
func (l *Log) removeUnfinished(name string) {
	if strings.HasSuffix(name, newSuffix) {
		l.opts.FS.Remove(filepath.Join(l.opts.Dir, name)) // as well as it can be done; it is not read
	}
}
