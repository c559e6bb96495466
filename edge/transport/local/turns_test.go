package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// A call that takes long, which the goroutine that reads the connection performs on
// the server, and whose caller reads the connection on the client, holds up no
// other; nor does it take the connection with it when it is given up.
func TestSlowCall(t *testing.T) {
	f := newFake()
	entered := make(chan struct{})
	f.commitHook = func(ctx context.Context, c engram.Commit) error {
		if c.Updates[0].Time == 0 {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	c := client(t, serve(t, f, Options{}), DialOptions{})
	commit := func(ctx context.Context, at engram.Time) error {
		_, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", at)}})
		return err
	}
	connection, err := c.connection(testkit.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	slow, cancel := context.WithCancel(testkit.Context(t))
	ended := make(chan error)
	go func() { ended <- commit(slow, 0) }()
	<-entered
	for i := range 20 {
		if err := commit(testkit.Context(t), engram.Time(1+i)); err != nil {
			t.Fatal(err)
		}
		if s, err := c.Latest(testkit.Context(t), engram.MustID("M/C/P/e")); err != nil || s.Time != engram.Time(1+i) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	cancel()
	if err := <-ended; engram.CodeOf(err) != engram.Canceled {
		t.Errorf("the slow call ends with %v", err)
	}
	if err := commit(testkit.Context(t), 100); err != nil {
		t.Error(err)
	}
	if again, err := c.connection(testkit.Context(t)); err != nil || again != connection {
		t.Errorf("the calls have another connection now, %v", err)
	}
}

// A client that does nothing notices that its server went away, so that a call that
// must not be sent twice goes to the next server.
func TestIdleClientNoticesTheEnd(t *testing.T) {
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	stop := serveAt(t, socket, newFake(), Options{})
	c := client(t, "local:"+socket, DialOptions{})
	once := engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", 1)}}
	if _, err := c.Commit(testkit.Context(t), once); err != nil {
		t.Fatal(err)
	}
	stop()
	testkit.Until(t, func() (string, bool) {
		m, err := c.current()
		if err != nil {
			t.Fatal(err)
		}
		return "it does not notice", m == nil
	})
	defer serveAt(t, socket, newFake(), Options{})()
	if _, err := c.Commit(testkit.Context(t), once); err != nil {
		t.Error(err)
	}
}

// Whoever commits sends to the subscribers, but waits for none: what one does not
// take yet comes later, all of it and in order.
func TestWriterDoesNotWaitForSubscribers(t *testing.T) {
	for _, window := range []int{0, 1, 100_000} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			address := serve(t, realServer(t), Options{})
			c := client(t, address, DialOptions{})
			st, err := client(t, address, DialOptions{Window: window}).Subscribe(testkit.Context(t), engram.Subscription{WithData: true, Queue: 1000})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			// More than sockets and windows hold.
			const n, size = 300, 40_000
			from := engram.Now()
			for i := range n {
				cm := benchCommit(1, benchPayload(size), from+engram.Time(i))
				results, err := c.Commit(testkit.Context(t), cm)
				if err == nil {
					err = engram.FirstError(results)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for got := 0; got < n; {
				updates, err := st.Next(testkit.Context(t))
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range updates {
					if at, _ := u.ID.Time(); at != from+engram.Time(got) || u.Dropped > 0 || u.Snapshot.Size() != size {
						t.Fatalf("update %d is %+v", got, u)
					}
					got++
				}
			}
		})
	}
}
