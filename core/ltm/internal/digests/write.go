package digests

import (
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Writer writes the digests of an episode into an unfinished file, block by block: it keeps
// one block of each format in memory. Used by one goroutine.
type Writer struct {
	fs   vfs.FS
	path string // of the episode
	f    vfs.File
	at   int64
	dir  directory
	open []run // by format
	done bool
}

// run is a block that is being filled, and the entity whose run it ends with.
type run struct {
	entity engram.ID
	last   engram.Time
	b      []byte
}

// Create begins the file beside the episode at path. What a crash left unfinished goes.
func Create(fsys vfs.FS, path string, head Head) (*Writer, error) {
	w := &Writer{fs: fsys, path: path, dir: directory{Head: head}, open: make([]run, len(head.Formats))}
	if err := w.remove(); err != nil { // it may be of a mode that lets others read it
		return nil, err
	}
	f, err := fsys.OpenFile(path+Unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, w.refused(err)
	}
	w.f = f
	return w, nil
}

// ErrTooLarge says that what is to be kept is larger than such files may be.
var ErrTooLarge = errors.New("it is too large to be kept")

// Add adds a version's digest, of a format by its place. Those of one entity come after each
// other, in any order. The error wraps ErrTooLarge if it is.
func (w *Writer) Add(format int, entity engram.ID, t engram.Time, digest []byte) error {
	if len(digest) > maxBlock/2 {
		return engram.Errorf(engram.Exhausted, entity.String(), "a digest of %d bytes, of %d at most: %w", len(digest), maxBlock/2, ErrTooLarge)
	}
	r := &w.open[format]
	if r.entity != entity {
		if !r.entity.IsRoot() {
			r.b = endRun(r.b)
		}
		r.b, r.entity, r.last = beginRun(r.b, entity), entity, 0
	}
	r.b = appendDigest(r.b, r.last, t, digest)
	if r.last = t; len(r.b) < blockBytes {
		return nil
	}
	return w.flush(format)
}

// flush writes a block.
func (w *Writer) flush(format int) error {
	r := &w.open[format]
	if len(r.b) == 0 {
		return nil
	}
	r.b = endRun(r.b)
	stored := encoder().EncodeAll(r.b, nil)
	w.dir.Blocks = append(w.dir.Blocks, block{Format: format, Offset: w.at, Stored: len(stored), Bytes: len(r.b), CRC: crc32.Checksum(stored, castagnoli)})
	*r = run{b: r.b[:0]}
	return w.write(stored)
}

func (w *Writer) write(b []byte) error {
	n, err := w.f.Write(b)
	w.at += int64(n)
	return w.refused(err)
}

// Finish ends the file, whose versions' payloads were of these types, syncs it and gives it its
// name.
func (w *Writer) Finish(types map[string]string) error {
	for format := range w.open {
		if err := w.flush(format); err != nil {
			return err
		}
	}
	w.dir.Types = types
	end, err := appendDirectory(nil, &w.dir)
	if err == nil {
		err = w.write(end)
	}
	if err == nil {
		err = w.refused(w.f.Sync())
	}
	if err == nil {
		f := w.f
		w.f = nil
		err = w.refused(f.Close())
	}
	if err == nil {
		err = w.refused(w.fs.Rename(w.path+Unfinished, w.path+Ext))
	}
	if err != nil {
		return err
	}
	w.done = true
	return w.refused(w.fs.SyncDir(filepath.Dir(w.path)))
}

// Close removes what was not finished.
func (w *Writer) Close() error {
	if w.f != nil {
		w.f.Close() // it goes
		w.f = nil
	}
	if w.done {
		return nil
	}
	return w.remove()
}

func (w *Writer) remove() error {
	if err := w.fs.Remove(w.path + Unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.refused(err)
	}
	return nil
}

// ErrUnwritten says that the disk does not take what is to be kept.
var ErrUnwritten = errors.New("it cannot be written")

// unwritten is an error of the disk, and ErrUnwritten.
type unwritten struct{ error }

func (u unwritten) Unwrap() error        { return u.error }
func (u unwritten) Is(target error) bool { return target == ErrUnwritten }

// refused is an error of the disk.
func (w *Writer) refused(err error) error {
	switch name := filepath.Base(w.path + Ext); {
	case err == nil:
		return nil
	case vfs.IsFull(err):
		return engram.Errorf(engram.Exhausted, name, "it cannot be written, the disk is full: %w", unwritten{err})
	default:
		return engram.Errorf(engram.Unavailable, name, "it cannot be written: %w", unwritten{err})
	}
}
