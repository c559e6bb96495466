// Package systemd tells the service manager how a service of Type=notify is: sd_notify(3)
// without libsystemd. Where no service manager asks, all of it does nothing.
package systemd

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
)

// States that systemd knows; see sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	watchdog = "WATCHDOG=1"
)

// Status is a line for 'systemctl status'.
func Status(text string) string { return "STATUS=" + text }

// Notify tells states to the service manager that $NOTIFY_SOCKET names.
func Notify(states ...string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return engram.Errorf(engram.Unavailable, path, "the service manager cannot be told: %w", err)
	}
	defer c.Close()
	var message []byte
	for _, s := range states {
		message = append(append(message, s...), '\n')
	}
	if _, err := c.Write(message); err != nil {
		return engram.Errorf(engram.Unavailable, path, "the service manager cannot be told: %w", err)
	}
	return nil
}

// WatchdogInterval returns how often the service manager wants to hear that the process
// lives, 0 if it does not ask.
func WatchdogInterval() time.Duration {
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || usec <= 0 {
		return 0
	}
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0 // another process is meant
	}
	return time.Duration(usec) * time.Microsecond
}

// Watch tells the service manager, twice as often as it asks, that the process lives, as
// long as alive returns nil, until ctx ends. A process that is not told of is killed and
// started again.
func Watch(ctx context.Context, interval time.Duration, alive func(context.Context) error) {
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval / 2)
	defer ticker.Stop()
	for {
		if alive(ctx) == nil {
			_ = Notify(watchdog) // it hears of the next, or restarts us
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
