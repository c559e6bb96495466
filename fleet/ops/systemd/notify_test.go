package systemd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/fleet/ops/systemd"
)

// manager listens as systemd does.
func manager(t *testing.T) *net.UnixConn {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return l
}

func heard(t *testing.T, l *net.UnixConn) string {
	t.Helper()
	l.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 1024)
	n, err := l.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestNotify(t *testing.T) {
	l := manager(t)
	if err := systemd.Notify(systemd.Ready, systemd.Status("12 memories")); err != nil {
		t.Fatal(err)
	}
	if got := heard(t, l); got != "READY=1\nSTATUS=12 memories\n" {
		t.Errorf("%q was told", got)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "absent"))
	if systemd.Notify(systemd.Ready) == nil {
		t.Error("a socket that is not there was told")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := systemd.Notify(systemd.Ready); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
}

func TestWatchdogInterval(t *testing.T) {
	for _, test := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"", "", 0}, {"30000000", "", 30 * time.Second}, {"30000000", strconv.Itoa(os.Getpid()), 30 * time.Second},
		{"30000000", "1", 0}, {"-5", "", 0}, {"soon", "", 0},
	} {
		t.Setenv("WATCHDOG_USEC", test.usec)
		t.Setenv("WATCHDOG_PID", test.pid)
		if got := systemd.WatchdogInterval(); got != test.want {
			t.Errorf("WATCHDOG_USEC=%q WATCHDOG_PID=%q: %v, want %v", test.usec, test.pid, got, test.want)
		}
	}
}

// A process that does its work says so again and again; one that hangs says nothing.
func TestWatch(t *testing.T) {
	l := manager(t)
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	over := make(chan struct{})
	go func() {
		defer close(over)
		systemd.Watch(ctx, time.Millisecond, func(context.Context) error {
			if looks++; looks > 3 {
				if looks == 10 {
					cancel()
				}
				return errors.New("it hangs")
			}
			return nil
		})
	}()
	<-over
	for range 3 {
		if got := heard(t, l); got != "WATCHDOG=1\n" {
			t.Errorf("%q was told", got)
		}
	}
	l.SetReadDeadline(time.Unix(1, 0))
	if n, err := l.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes more were told by a process that hangs", n)
	}
}
