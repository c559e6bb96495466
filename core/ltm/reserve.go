package ltm

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// reserve is a file of no content that takes room on the disk. When the disk is full, what
// is noted of forgetting is written over it: that takes no room, so that nobody can be
// quicker to have it. Nil reserves nothing. Safe for concurrent use.
type reserve struct {
	fs   vfs.FS
	path string
	mu   sync.Mutex // held while the file is made or used
}

// reserveBytes bounds what is reserved; on a small disk it is a hundredth.
const reserveBytes = 1 << 20

func newReserve(fs vfs.FS, dir string) *reserve {
	return &reserve{fs: fs, path: filepath.Join(dir, "reserve")}
}

// room returns what is to be reserved, and what is free beside it.
func (r *reserve) room() (size, free int64) {
	total, space, err := r.fs.Space(filepath.Dir(r.path))
	if err != nil {
		return 0, 0
	}
	return int64(min(reserveBytes, total/100)), int64(space)
}

// replaceFile is [vfs.ReplaceFile], but writes over what is reserved if there is no other
// room. What of that is not needed is reserved again, as far as nobody is quicker.
func (r *reserve) replaceFile(fsys vfs.FS, path string, text []byte) error {
	err := vfs.ReplaceFile(fsys, path, text)
	if r == nil || !vfs.IsFull(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	temporary := path + ".new"
	var size int64
	if info, err := fsys.Stat(r.path); err == nil {
		size = info.Size()
	}
	if fsys.Rename(r.path, temporary) != nil {
		return err // there is none
	}
	f, err := fsys.OpenFile(temporary, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(text)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = fsys.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, fsys.Rename(temporary, r.path))
	}
	r.make(size) // before others have it: what is free is that of the text before, and what is left
	return fsys.SyncDir(filepath.Dir(path))
}

// take reserves room if there is plenty, and none or less is reserved yet.
func (r *reserve) take() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size, free := r.room()
	if size == 0 || free < 4*size {
		return
	}
	switch info, err := r.fs.Stat(r.path); {
	case err == nil && info.Size() >= size:
		return
	case err == nil && r.fs.Remove(r.path) != nil, err != nil && !errors.Is(err, fs.ErrNotExist):
		return // it is tried again
	}
	if r.make(size) < size {
		_ = r.fs.Remove(r.path) // it is tried again
	}
}

// make makes the file, of at most size bytes, and returns of how many it is. mu is held.
func (r *reserve) make(size int64) (n int64) {
	f, err := r.fs.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0
	}
	// File systems that compress would make nothing of zeros. It need not survive a crash.
	n, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), size)
	if errors.Join(err, f.Close()) != nil && n == 0 {
		_ = r.fs.Remove(r.path)
	}
	return n
}
