package ltm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// lockFile is the file of a store's folder that its server holds locked; it names the
// process.
const lockFile = "lock"

// folderLock keeps a folder for one process. The system releases it when the process
// ends, however it does.
type folderLock struct{ f *os.File }

// lockFolder locks a folder, or fails with AlreadyExists.
func lockFolder(dir string) (*folderLock, error) {
	path := filepath.Join(dir, lockFile)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() || errors.Is(err, unix.ELOOP) {
		if _, err := vfs.PutAside(vfs.OS, path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		who := "another server"
		if b, err := io.ReadAll(io.LimitReader(f, 32)); err == nil && len(b) > 0 {
			who = "the server with process ID " + strings.TrimSpace(string(b))
		}
		return nil, errors.Join(engram.Errorf(engram.AlreadyExists, dir, "%s has this folder open; stop it first, or give another folder", who), f.Close())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// What names the process may not be written on a full disk; it is locked all the same.
	_ = f.Truncate(0)
	_, _ = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	return &folderLock{f}, nil
}

func (l *folderLock) release() error { return l.f.Close() }
