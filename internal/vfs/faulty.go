package vfs

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Errors that disks give.
var (
	ErrFull error = syscall.ENOSPC
	ErrIO   error = syscall.EIO
)

// Op is a kind of operation that a [Faulty] can have fail.
type Op string

// The operations. What they are called on is the file or folder of that name.
const (
	OpOpen     Op = "open" // of a file that is there
	OpCreate   Op = "create"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
	OpRename   Op = "rename" // called on the old name
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpReadDir  Op = "readdir"
	OpSyncDir  Op = "syncdir"
)

// Fault says which operations fail, and how.
type Fault struct {
	Op   Op     // "" means every one but open, read and readdir
	Name string // a part of the name below the Faulty's folder; "" means any
	Skip int    // how many of them succeed first
	// Times is how many then fail; 0 means all, until [Faulty.Heal].
	Times int
	Err   error // nil means ErrIO
	// Short lets that many bytes of a failing write reach the file.
	Short int
}

func (t *Fault) matches(op Op, name string) bool {
	if t.Op == "" && (op == OpOpen || op == OpRead || op == OpReadDir) || t.Op != "" && t.Op != op {
		return false
	}
	return strings.Contains(name, t.Name)
}

// Faulty is a file system below a folder of another one that fails when it is told
// to, and knows what of it would survive a loss of power. It is made for tests: it
// keeps what the disk holds in memory, too. Safe for concurrent use.
type Faulty struct {
	FS
	root string

	mu struct {
		sync.Mutex
		faults []*Fault
		ops    map[Op]int // how many were asked for
		disk   disk
	}
}

var _ FS = (*Faulty)(nil)

// NewFaulty returns a Faulty over base, for the folder root, which exists. What is
// there already is on the disk.
func NewFaulty(base FS, root string) *Faulty {
	f := &Faulty{FS: base, root: filepath.Clean(root)}
	f.mu.ops = map[Op]int{}
	f.mu.disk.root = newFolder()
	f.load(f.mu.disk.root, f.root)
	return f
}

// Inject adds faults. The first one that matches an operation decides.
func (f *Faulty) Inject(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range faults {
		f.mu.faults = append(f.mu.faults, &t)
	}
}

// Heal removes all faults.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.faults = nil
}

// Count returns how many operations of a kind were asked for.
func (f *Faulty) Count(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.ops[op]
}

// failLocked counts an operation and returns the fault that it meets, or nil.
func (f *Faulty) failLocked(op Op, name string) *Fault {
	f.mu.ops[op]++
	below := filepath.Join(f.path(name)...)
	for i, t := range f.mu.faults {
		if !t.matches(op, below) {
			continue
		}
		if t.Skip > 0 {
			t.Skip--
			continue
		}
		hit := *t
		if hit.Err == nil {
			hit.Err = ErrIO
		}
		hit.Err = &fs.PathError{Op: string(op), Path: name, Err: hit.Err}
		if t.Times == 1 {
			f.mu.faults = append(f.mu.faults[:i:i], f.mu.faults[i+1:]...)
		}
		t.Times--
		return &hit
	}
	return nil
}

// do runs an operation of a name, unless it is to fail.
func (f *Faulty) do(op Op, name string, run func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.failLocked(op, name); t != nil {
		return t.Err
	}
	return run()
}

// OpenFile implements FS.
func (f *Faulty) OpenFile(name string, flag int, perm fs.FileMode) (file File, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.disk.find(f.path(name))
	op := OpOpen
	if n == nil {
		op = OpCreate
	}
	if t := f.failLocked(op, name); t != nil {
		return nil, t.Err
	}
	base, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if n == nil {
		n = &node{}
		f.mu.disk.link(f.path(name), n)
	} else if flag&truncateFlag != 0 {
		n.edit(edit{truncate: true})
	}
	return &faultyFile{File: base, fs: f, node: n, name: name, append: flag&appendFlag != 0}, nil
}

// Rename implements FS.
func (f *Faulty) Rename(oldname, newname string) error {
	return f.do(OpRename, oldname, func() error {
		if err := f.FS.Rename(oldname, newname); err != nil {
			return err
		}
		f.mu.disk.rename(f.path(oldname), f.path(newname))
		return nil
	})
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	return f.do(OpRemove, name, func() error {
		if err := f.FS.Remove(name); err != nil {
			return err
		}
		f.mu.disk.unlink(f.path(name))
		return nil
	})
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(name string, perm fs.FileMode) error {
	return f.do(OpMkdir, name, func() error {
		if err := f.FS.MkdirAll(name, perm); err != nil {
			return err
		}
		path := f.path(name)
		for i := range path {
			if f.mu.disk.find(path[:i+1]) == nil {
				f.mu.disk.link(path[:i+1], newFolder())
			}
		}
		return nil
	})
}

// ReadDir implements FS.
func (f *Faulty) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.do(OpReadDir, name, func() error {
		entries, err = f.FS.ReadDir(name)
		return err
	})
	return entries, err
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(name string) error {
	return f.do(OpSyncDir, name, func() error {
		f.mu.disk.syncFolder(f.path(name))
		return nil
	})
}

// faultyFile is an open file of a Faulty.
type faultyFile struct {
	File
	fs     *Faulty
	node   *node
	name   string
	append bool
}

// Write implements File.
func (w *faultyFile) Write(p []byte) (n int, err error) {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	t := w.fs.failLocked(OpWrite, w.name)
	if t != nil {
		p = p[:min(max(t.Short, 0), len(p))]
	}
	var at int64
	if w.append {
		if info, err := w.File.Stat(); err == nil {
			at = info.Size()
		}
	} else if at, err = w.Seek(0, 1); err != nil {
		return 0, err
	}
	if len(p) > 0 {
		n, err = w.File.Write(p)
		w.node.edit(edit{at: at, data: append([]byte(nil), p[:n]...)})
	}
	if t != nil && err == nil {
		err = t.Err
	}
	return n, err
}

// Read implements File.
func (w *faultyFile) Read(p []byte) (n int, err error) {
	if err := w.fs.do(OpRead, w.name, func() error { return nil }); err != nil {
		return 0, err
	}
	return w.File.Read(p)
}

// ReadAt implements File.
func (w *faultyFile) ReadAt(p []byte, off int64) (n int, err error) {
	if err := w.fs.do(OpRead, w.name, func() error { return nil }); err != nil {
		return 0, err
	}
	return w.File.ReadAt(p, off)
}

// Truncate implements File.
func (w *faultyFile) Truncate(size int64) error {
	return w.fs.do(OpTruncate, w.name, func() error {
		if err := w.File.Truncate(size); err != nil {
			return err
		}
		w.node.edit(edit{at: size, truncate: true})
		return nil
	})
}

// Sync implements File.
func (w *faultyFile) Sync() error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if t := w.fs.failLocked(OpSync, w.name); t != nil {
		// The pages are clean now, whatever became of them: the next Sync succeeds
		// and does not write them.
		w.node.dirty = nil
		return t.Err
	}
	w.node.flush(len(w.node.dirty))
	return nil
}
