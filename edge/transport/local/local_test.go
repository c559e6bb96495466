package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		if err := child(role, os.Getenv(childEnv+"_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serve serves svc until the test ends and returns the address.
func serve(t testing.TB, svc feature.Server, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	if len(path) > 100 { // what a socket's address holds
		dir, err := os.MkdirTemp("", "local")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		path = filepath.Join(dir, "s")
	}
	stop := serveAt(t, path, svc, o)
	t.Cleanup(stop)
	return "local:" + path
}

// serveAt serves svc at path until stop is called.
func serveAt(t testing.TB, path string, svc feature.Server, o Options) (stop func()) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, svc, o) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

func client(t testing.TB, address string, o DialOptions) *Client {
	t.Helper()
	c, err := Dial(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func update(entity string, at engram.Time, payloads ...[]byte) engram.EntityUpdate {
	u := engram.EntityUpdate{Entity: engram.MustID(entity), Time: at}
	for i, p := range payloads {
		in := engram.NewInstance(engram.Payload{Type: "test.T", Bytes: p})
		in.Sent, in.HasSent = at-1, i%2 == 0
		in.Confidence = 1 / float32(i+1)
		u.Instances = append(u.Instances, in)
	}
	return u
}

func payload(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i*7)
	}
	return b
}

func TestCommitLatestAndUpdates(t *testing.T) {
	t.Run("kept", func(t *testing.T) { testCommitLatestAndUpdates(t, false) })
	t.Run("transient", func(t *testing.T) { testCommitLatestAndUpdates(t, true) })
}

func testCommitLatestAndUpdates(t *testing.T, transient bool) {
	c := client(t, serve(t, newFake(), Options{}), DialOptions{})
	ctx := testkit.Context(t)
	st, err := c.Subscribe(ctx, engram.Subscription{WithData: true, Transient: transient})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if st.Epoch() != 42 {
		t.Errorf("epoch %d, want 42", st.Epoch())
	}
	number := uint64(0)
	for _, n := range []int{0, 1, 33, shareBelow - 1, shareBelow, copyBelow, copyBelow + 1, 49225, 300_000, 3 << 20} {
		a, b := payload(n, 1), payload(n, 2)
		results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{
			update("M/C/P/one", engram.Time(n), a),
			update("M/C/P/several", engram.Time(-n), a, b, nil, b),
			update("M/C", 3, a),
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := []engram.ID{engram.MustID("M/C/P/one").At(engram.Time(n)), engram.MustID("M/C/P/several").At(engram.Time(-n)), engram.MustID("M/C")}
		for i, r := range results {
			if r.ID != want[i] || (r.Err != nil) != (i == 2) || i < 2 && r.Number != number+uint64(i)+1 {
				t.Errorf("%d bytes: result %d is %+v, want %v", n, i, r, want[i])
			}
		}
		if engram.CodeOf(results[2].Err) != engram.Invalid {
			t.Errorf("refused with %v", results[2].Err)
		}
		number += 2
		s, err := c.Latest(ctx, engram.MustID("M/C/P/several"))
		if err != nil {
			t.Fatal(err)
		}
		checkInstances(t, s, engram.Time(-n), a, b, nil, b)
		for got := 0; got < 2; {
			batch, err := st.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range batch {
				if u.ID != want[got] || u.Number != number-1+uint64(got) || u.Snapshot.Number != u.Number {
					t.Errorf("update %+v, want %v", u, want[got])
				}
				if got == 0 {
					checkInstances(t, u.Snapshot, engram.Time(n), a)
				} else {
					checkInstances(t, u.Snapshot, engram.Time(-n), a, b, nil, b)
				}
				got++
			}
		}
	}
	if _, err := c.Latest(ctx, engram.MustID("M/C/P/none")); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("latest of an unknown entity: %v", err)
	}
}

func checkInstances(t *testing.T, s *engram.Snapshot, at engram.Time, payloads ...[]byte) {
	t.Helper()
	want := update("M/C/P/e", at, payloads...).Instances
	if s.Time != at || s.Arrived != at+1 || len(s.Instances) != len(want) {
		t.Fatalf("snapshot %v of %d instances, want %v of %d", s.Time, len(s.Instances), at, len(want))
	}
	for i, in := range s.Instances {
		w := want[i]
		if !bytes.Equal(in.Payload.Bytes, w.Payload.Bytes) {
			t.Fatalf("instance %d: other bytes than sent", i)
		}
		if in.Payload.Type != w.Payload.Type || in.Sent != w.Sent || in.HasSent != w.HasSent || in.Confidence != w.Confidence {
			t.Fatalf("instance %d: %+v, want %+v", i, in, w)
		}
	}
}

// A commit stream delivers, in order and without Flush, whatever the size.
func TestCommitStream(t *testing.T) {
	for _, size := range []int{8, 5000, 49225} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			c := client(t, serve(t, newFake(), Options{}), DialOptions{})
			st, err := c.CommitStream(testkit.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			const commits = 300
			sent := make(chan error, 1)
			go func() {
				for i := range commits {
					cm := engram.Commit{}
					for k := range i % 12 {
						cm.Updates = append(cm.Updates, update(fmt.Sprintf("M/C/P/e%d", k), engram.Time(i), payload(size, byte(i))))
					}
					if err := st.Send(cm); err != nil {
						sent <- err
						return
					}
				}
				sent <- st.CloseSend()
			}()
			number := uint64(0)
			for i := range commits {
				results, err := st.Recv()
				if err != nil || len(results) != i%12 {
					t.Fatalf("answer %d: %d results, %v", i, len(results), err)
				}
				for k, r := range results {
					number++
					if want := engram.MustID(fmt.Sprintf("M/C/P/e%d", k)).At(engram.Time(i)); r.ID != want || r.Number != number || r.Err != nil {
						t.Fatalf("answer %d: %+v, want %v, %d", i, r, want, number)
					}
				}
			}
			if _, err := st.Recv(); err != io.EOF {
				t.Errorf("after the last answer: %v", err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if err := st.Send(engram.Commit{}); engram.CodeOf(err) != engram.Invalid {
				t.Errorf("Send after CloseSend: %v", err)
			}
		})
	}
}
