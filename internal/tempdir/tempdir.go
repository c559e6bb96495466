// Package tempdir makes temporary folders that do not outlive their process for long: one
// that was killed leaves its folder behind, and the next that makes one of the same kind
// removes it.
//
// It is no public API: several wings share it.
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a folder of this process.
type Dir struct {
	Path string
	lock *os.File // the system releases it when the process ends, however it does
}

// lockFile is the file in a folder that its owner holds locked.
const lockFile = ".owned"

// Make makes a folder in [os.TempDir] whose name begins with kind, such as
// "engram-backbone-", and removes those of the same kind that no living process owns.
func Make(kind string) (*Dir, error) {
	sweep(kind)
	// It gets its name when it is locked: who sweeps never meets it before.
	begun, err := os.MkdirTemp("", "."+kind)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(begun, lockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(begun))
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(begun))
	}
	d := &Dir{Path: filepath.Join(filepath.Dir(begun), filepath.Base(begun)[1:]), lock: lock}
	if err := os.Rename(begun, d.Path); err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(begun))
	}
	return d, nil
}

// Remove removes the folder with all in it.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// begunWithin is how long a folder may take to get its name. One that has none then is of a
// process that died before.
const begunWithin = time.Hour

// sweep removes the folders of a kind whose owner is gone. What it cannot open, as another
// user's, or what has no lock, as of an earlier release, stays.
func sweep(kind string) {
	begun, _ := filepath.Glob(filepath.Join(os.TempDir(), "."+kind+"*"))
	for _, dir := range begun {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > begunWithin {
			_ = os.RemoveAll(dir)
		}
	}
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), kind+"*"))
	for _, dir := range found {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir) // what stays is tried again by the next
		}
		lock.Close()
	}
}
