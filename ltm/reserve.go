package ltm

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// reserve is a file of no content that takes room on the disk, to be given up when the
// disk is full and something is forgotten: orders, the catalogue and the accounts take a
// little room before they make much. Its zero value reserves nothing.
type reserve struct {
	fs   vfs.FS
	path string
}

// reserveBytes bounds what is reserved; on a small disk it is a hundredth.
const reserveBytes = 1 << 20

func newReserve(fs vfs.FS, dir string) reserve {
	return reserve{fs, filepath.Join(dir, "reserve")}
}

// room returns what is to be reserved, and what is free beside it.
func (r reserve) room() (size, free int64) {
	total, space, err := r.fs.Space(filepath.Dir(r.path))
	if err != nil {
		return 0, 0
	}
	return int64(min(reserveBytes, total/100)), int64(space)
}

// give makes the reserve free if the disk is full.
func (r reserve) give() {
	if r.fs == nil {
		return
	}
	if size, free := r.room(); free < size {
		// Where there is none, or it cannot be removed, what follows says what fails.
		_ = r.fs.Remove(r.path)
	}
}

// take reserves room if there is plenty, and none is reserved yet.
func (r reserve) take() {
	if r.fs == nil {
		return
	}
	if _, err := r.fs.Stat(r.path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	size, free := r.room()
	if size == 0 || free < 4*size {
		return
	}
	f, err := r.fs.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // it is tried again
	}
	// File systems that compress would make nothing of zeros. It need not survive a crash.
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), size)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = r.fs.Remove(r.path)
	}
}
