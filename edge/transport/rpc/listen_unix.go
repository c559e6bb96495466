//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package rpc

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
)

// listenUnix listens on a Unix socket.
//
// Which server owns the path is decided by a lock on a file beside it, which ends
// with the process however that ends; so what stands at the path is stale once the
// lock is ours, unless a program that does not lock listens there. The socket is
// made in a directory that nobody else may enter, gets its mode there, and is
// moved into its place in one step, over the stale one if there is one. So at no
// time can anybody connect whom the mode does not allow, and the process's umask
// does not matter.
func listenUnix(path string) (_ net.Listener, err error) {
	address := "unix:" + path
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, engram.Errorf(engram.Unavailable, address, "the socket's directory cannot be made: %w", err)
	}
	if err := checkSocketDir(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(address, path+".lock")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := checkStale(address, path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(dir, ".e")
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, address, "the socket cannot be made: %w", err)
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	if n := len(made); n > maxSocketPath {
		return nil, engram.Errorf(engram.Invalid, address, "the path is too long for a Unix socket, by %d bytes; choose a shorter directory", n-maxSocketPath)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, address, "cannot listen here: %w", err)
	}
	l.SetUnlinkOnClose(false) // it would remove the name the socket was made with
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		return nil, engram.Errorf(engram.Unavailable, address, "the socket cannot be put in its place: %w", err)
	}
	return &unixListener{UnixListener: l, path: path, info: info, lock: lock}, nil
}

// maxSocketPath is the longest path of a socket on every supported system.
const maxSocketPath = 103

func lockFile(address, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, address, "the socket's lock file cannot be opened: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse(address)
		}
		return nil, engram.Errorf(engram.Unavailable, address, "the socket's lock file cannot be locked: %w", err)
	}
	return f, nil
}

func errInUse(address string) error {
	return engram.Errorf(engram.AlreadyExists, address, "a memory server listens here already; use that one, stop it, or listen on another socket")
}

// checkStale returns nil if nothing stands at path but at most a socket on which
// nobody listens.
func checkStale(address, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return engram.Errorf(engram.Unavailable, address, "the socket's path cannot be read: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return engram.Errorf(engram.AlreadyExists, address, "a file that is no socket stands here; remove it, or listen on another path")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return errInUse(address)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return engram.Errorf(engram.AlreadyExists, address, "it cannot be told whether a server listens here: %w", err)
}

// checkSocketDir refuses a socket in a directory of its own below the directory
// for temporary files, where anybody may have made it, unless it belongs to this
// user and is closed to all others.
func checkSocketDir(path string) error {
	dir := filepath.Dir(path)
	if filepath.Dir(dir) != filepath.Clean(os.TempDir()) || filepath.Base(dir) != filepath.Base(filepath.Dir(fallbackSocket())) {
		return nil
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return engram.Errorf(engram.Unavailable, dir, "the socket's directory cannot be read: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return engram.Errorf(engram.Conflict, dir, "the directory of the default socket is not a directory of this user alone; another user may have made it; remove it, or set XDG_RUNTIME_DIR")
	}
	return nil
}

// unixListener removes its socket when it is closed, unless another stands in its
// place by then.
type unixListener struct {
	*net.UnixListener
	path  string
	info  fs.FileInfo
	lock  *os.File
	close sync.Once
}

// Addr returns the address by which clients know the socket.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	l.close.Do(func() {
		if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.info) {
			err = errors.Join(err, os.Remove(l.path))
		}
		err = errors.Join(err, l.lock.Close())
	})
	return err
}
