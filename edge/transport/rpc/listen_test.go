package rpc_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

func TestSocketIsForItsUserOnly(t *testing.T) {
	// The mode must not depend on the umask.
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "new", "dir", "s")
	l, err := rpc.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, path + ".lock": 0o600} {
		info, err := os.Lstat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", p, info.Mode(), err, want)
		}
	}
	if got := rpc.AddressOf(l); got != "unix:"+path {
		t.Errorf("address %q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".e*"))
	if len(left) != 1 || left[0] != path+".lock" || len(hidden) != 0 {
		t.Errorf("Close left %v and %v; want the lock file alone", left, hidden)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false) // as a killed server leaves it
	dead.Close()
	s := serving.New(t, testMemory(server.Hooks{}))
	serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, "unix:"+path).Address, rpc.DialOptions{})
}

func TestLiveSocketIsRefused(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t))
	_, err := rpc.Listen(at.Address)
	want(t, "listening where a server does", err, engram.AlreadyExists, at.Address, "listens here already")
	serving.Dial(t, at.Address, rpc.DialOptions{}) // the refusal did it no harm

	// A server that takes no lock, as one of another kind.
	path := filepath.Join(t.TempDir(), "s")
	foreign, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	_, err = rpc.Listen("unix:" + path)
	want(t, "listening where another program does", err, engram.AlreadyExists)

	tcp, err := rpc.Listen(serving.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	_, err = rpc.Listen(rpc.AddressOf(tcp))
	want(t, "listening on a port that is taken", err, engram.AlreadyExists, "another program")
}

func TestFileInTheWayIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := rpc.Listen("unix:" + path)
	want(t, "listening where a file is", err, engram.AlreadyExists, "no socket")
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file holds %q now", b)
	}
	_, err = rpc.Listen("unix:" + filepath.Join(t.TempDir(), strings.Repeat("x", 80), "s"))
	want(t, "a path too long", err, engram.Invalid, "too long")
}

// Of many servers that start at once on a stale socket, one wins.
func TestOneOfManyGetsTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var won atomic.Int32
	var all sync.WaitGroup
	release := make(chan struct{})
	for range 8 {
		all.Go(func() {
			l, err := rpc.Listen("unix:" + path)
			if err != nil {
				want(t, "losing the race", err, engram.AlreadyExists)
				return
			}
			won.Add(1)
			<-release
			l.Close()
		})
	}
	for won.Load() == 0 {
		// Until somebody has it; the others lose against the lock, whenever they come.
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
		}
	}
	var l net.Listener
	var err error
	if l, err = rpc.Listen("unix:" + path); err == nil {
		t.Error("the socket was given away twice")
		l.Close()
	}
	close(release)
	all.Wait()
}

func TestDefaultSocket(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	if got := rpc.DefaultSocket(); got != "unix:/run/user/7/engram.sock" {
		t.Errorf("with XDG_RUNTIME_DIR: %q", got)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", t.TempDir())
	path := strings.TrimPrefix(rpc.DefaultSocket(), "unix:")
	if filepath.Dir(filepath.Dir(path)) != os.Getenv("TMPDIR") || filepath.Base(path) != "engram.sock" {
		t.Errorf("without XDG_RUNTIME_DIR: %q", path)
	}
	// Somebody made the directory before, open to all.
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := rpc.Listen("unix:" + path)
	want(t, "listening in a directory open to all", err, engram.Conflict, "another user")
	_, err = rpc.Dial(context.Background(), "unix:"+path, rpc.DialOptions{})
	want(t, "dialling into a directory open to all", err, engram.Conflict, "another user")
}
