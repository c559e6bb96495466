package crashtest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// hangs is the time after which a server that was told to end counts as one that hangs,
// where nothing runs beside it. It gives up what does not end after 4.5 s by itself, and
// says so.
const hangs = 30 * time.Second

// grace is how long a server waits for clients that stall.
const grace = 1500 * time.Millisecond

// TestTerminate tells servers to end in the middle of everything that could keep one
// from it, and looks at what they have after the next start: all that was acknowledged,
// of volatile segments too, if the server says that it ended in good order.
func TestTerminate(t *testing.T) {
	binary := program.Engram(t)
	for _, test := range []struct {
		name  string
		hang  func(t *testing.T, ctx context.Context, p *process, c *client.Client)
		twice bool // the signal comes a second time
	}{
		{name: "writers", hang: func(*testing.T, context.Context, *process, *client.Client) {}},
		{name: "clients that stall", hang: stall},
		{name: "streams that nobody reads", hang: openStreams},
		{name: "long queries", hang: longQueries},
		{name: "a recorder with a backlog", hang: backlog},
		{name: "a second signal", hang: stall, twice: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			most := testkit.Patience
			if test.name != "writers" {
				testkit.RealTime(t, "no timer of a server is late by a second, and a server that was told to end does so within 30 s")
			}
			if testkit.Repeats(0, 1) > 0 {
				most = hangs
			}
			dir, err := os.MkdirTemp("", "term") // short: the path of a socket is bounded
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			p, known := start(t, binary, dir), newBook(3)
			ctx, cancel := context.WithCancel(t.Context())
			var working sync.WaitGroup
			defer working.Wait()
			defer cancel()
			c, err := p.connect(ctx)
			if err != nil {
				t.Fatalf("%v\n%s", err, p.said.String())
			}
			defer c.Close()
			if err := addSegments(ctx, c, false); err != nil {
				t.Fatal(err)
			}
			for i := range known.tracks {
				working.Go(func() {
					if err := known.write(ctx, c, i, true); err != nil {
						t.Error(err)
					}
				})
			}
			known.wait(t, 5)
			test.hang(t, ctx, p, c)
			began := time.Now()
			p.cmd.Process.Signal(syscall.SIGTERM)
			var second atomic.Int64 // when the signal came a second time
			if test.twice {         // and again, since it may not have noticed the first one yet
				again := time.NewTicker(grace / 8)
				defer again.Stop()
				working.Go(func() {
					for {
						select {
						case <-again.C:
							if p.cmd.Process.Signal(syscall.SIGTERM) == nil { // it has not ended
								second.CompareAndSwap(0, int64(time.Since(began)))
							}
						case <-ctx.Done():
							return
						}
					}
				})
			}
			err = p.wait(t)
			took := time.Since(began)
			cancel()
			working.Wait()
			code := p.cmd.ProcessState.ExitCode()
			t.Logf("ended with %d after %v", code, took.Round(time.Millisecond))
			switch {
			case took > most:
				t.Errorf("the server took %v to end; it said\n%s", took, p.said.String())
			case test.twice && (took < grace || time.Duration(second.Load()) > grace/2): // it needed no second one, or that came late
			case test.twice && code != -1:
				t.Errorf("with a second signal after %v the server ended with %d after %v", time.Duration(second.Load()), code, took)
			case !test.twice && err != nil && code != 3:
				t.Errorf("the server ended with %v; it said\n%s", err, p.said.String())
			}
			compare(t, binary, dir, known, began, code == 0)
		})
	}
}

// TestTerminateCopies tells the holder of a copy to end while it pulls, then its owner
// while it is pulled from: both end, and the copy has everything in the end.
func TestTerminateCopies(t *testing.T) {
	testkit.RealTime(t, "a server that was told to end does so within 30 s")
	binary := program.Engram(t)
	dirs := [2]string{}
	for i := range dirs {
		var err error
		if dirs[i], err = os.MkdirTemp("", "term"); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dirs[i])
	}
	at := testkit.FreeAddress(t)
	owns := []string{"--robot", "r", "--name", "owner", "--backbone", "embedded", "--backbone-listen", at, "--memory", "GeneralPurpose"}
	holds := []string{"--robot", "r", "--name", "holder", "--backbone", "nats://" + at, "--memory", "Example", "--copy", "GeneralPurpose"}
	owner, c := startAndConnect(t, binary, dirs[0], owns...)
	if err := addSegments(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	holder, _ := startAndConnect(t, binary, dirs[1], holds...)
	known := newBook(2)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	for i := range known.tracks {
		working.Go(func() {
			if err := known.write(ctx, c, i, true); err != nil {
				t.Error(err)
			}
		})
	}
	ends := func(what string, p *process) {
		t.Helper()
		began := time.Now()
		p.cmd.Process.Signal(syscall.SIGTERM)
		err := p.wait(t)
		// With 3 it gave up what did not end in time: what is synced is there all the same.
		if took := time.Since(began); took > hangs || err != nil && p.cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("the %s ended with %v after %v; it said\n%s", what, err, took, p.said.String())
		}
	}
	known.wait(t, 100)
	ends("holder", holder)
	_, copies := startAndConnect(t, binary, dirs[1], holds...)
	known.wait(t, 200) // of which it may pull some
	ends("owner", owner)
	cancel()
	working.Wait()
	for _, dir := range dirs { // of one that lives, and one that has ended
		wantPrivate(t, filepath.Join(dir, "data"))
	}
	_, c = startAndConnect(t, binary, dirs[0], owns...)
	for i := range known.tracks {
		q := engram.SelectID(entityOf(i, engram.Synced), engram.All())
		want, err := c.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(known.tracks[i][engram.Synced].acks); len(want.Items()) < n || n == 0 {
			t.Fatalf("the owner has %d of %d acknowledged commits", len(want.Items()), n)
		}
		q.Source = engram.SourceCopy
		testkit.Until(t, func() (string, bool) {
			got, err := copies.Query(t.Context(), q)
			return fmt.Sprintf("the copy does not have what its owner has: %v %+v", err, got), err == nil && len(got.Copies) > 0 && sameItems(got.Items(), want.Items())
		})
	}
}

// wantPrivate checks that what a server keeps is for its user alone.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	files, err := vfs.CheckPrivate(dir)
	if err != nil || files < 5 {
		t.Errorf("%s has %d files, %v", dir, files, err)
	}
}

// sameItems reports whether snapshots are the same, in the same order.
func sameItems(a, b []engram.Item) bool {
	return slices.EqualFunc(a, b, func(a, b engram.Item) bool {
		return a.Time == b.Time && a.Arrived == b.Arrived && len(a.Instances) == len(b.Instances)
	})
}

func startAndConnect(t *testing.T, binary, dir string, more ...string) (*process, *client.Client) {
	t.Helper()
	p := start(t, binary, dir, more...)
	c, err := p.connect(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.said.String())
	}
	t.Cleanup(func() { c.Close() })
	return p, c
}

func start(t *testing.T, binary, dir string, more ...string) *process {
	t.Helper()
	p, err := begin(binary, dir, false, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.kill()
		}
	})
	return p
}

// wait waits for the process to end, and kills it where that takes much too long.
func (p *process) wait(t *testing.T) error {
	timer := time.AfterFunc(2*testkit.Patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	err := p.cmd.Wait()
	if err, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return err
}

// compare starts a server again and checks what it has; ended is when it was told to end,
// and whole says that volatile commits must be there, too.
func compare(t *testing.T, binary, dir string, known *book, ended time.Time, whole bool) {
	t.Helper()
	p := start(t, binary, dir)
	c, err := p.connect(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.said.String())
	}
	defer c.Close()
	acknowledged := 0
	for i := range known.tracks {
		res, err := c.Query(t.Context(), engram.SelectID(entityOf(i, engram.Volatile), engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		n := len(known.tracks[i][engram.Volatile].acks)
		acknowledged += n
		if has := len(res.Items()); whole && has < n {
			t.Errorf("client %d: of %d acknowledged volatile commits %d are there after an end in good order", i, n, has)
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was committed")
	}
	var sum stats
	for _, problem := range known.check(t.Context(), c, ended, &sum) {
		t.Error(problem)
	}
	if sum.lostLogged > 0 && whole {
		t.Errorf("%d acknowledged logged commits are lost after an end in good order", sum.lostLogged)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait(t)
}

// stall opens connections that begin to say something and do not go on.
func stall(t *testing.T, _ context.Context, p *process, _ *client.Client) {
	const unfinished = "POST /engram.v1.MemoryService/Commit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
	beside := filepath.Join(filepath.Dir(p.socket), "s.local")
	for _, begin := range [][2]string{{p.socket, unfinished}, {p.socket, "GET /rea"}, {p.socket, ""}, {beside, "eng"}, {beside, ""}} {
		nc, err := net.Dial("unix", begin[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		if _, err := nc.Write([]byte(begin[1])); err != nil {
			t.Fatal(err)
		}
		if begin[1] == unfinished { // wait until the call is under way
			nc.SetReadDeadline(time.Now().Add(testkit.Patience))
			if line, err := bufio.NewReader(nc).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
				t.Fatalf("the server says %q, %v", line, err)
			}
			if _, err := nc.Write([]byte("{")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// openStreams opens streams of every kind and reads none of them, while the writers go
// on.
func openStreams(t *testing.T, ctx context.Context, _ *process, c *client.Client) {
	for range 20 {
		s, err := c.Subscribe(ctx, engram.Subscription{WithData: true, Slow: engram.SlowDropOldest, Queue: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		cs, err := c.CommitStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close() })
	}
}

// longQueries asks, again and again, for more than can be answered in a moment; one of
// the askers does not take the answer.
func longQueries(t *testing.T, ctx context.Context, _ *process, c *client.Client) {
	id := engram.MustID("GeneralPurpose/CrashVolatile/p/long")
	var commit engram.Commit
	for i := range 20_000 {
		p := testkit.Value(t, contentOf(1, i, 0))
		commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: id, Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	if _, err := c.Commit(ctx, commit); err != nil {
		t.Fatal(err)
	}
	q := engram.SelectID(id, engram.All())
	q.Where = "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, a + b >= 0))"
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(func() { cancel(); asking.Wait() })
	for range 8 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Query(ctx, q); err != nil {
					return // the server has gone
				}
			}
		})
	}
	asking.Go(func() {
		_ = c.QueryParts(ctx, engram.SelectID(id, engram.All()), func(*engram.Result) error { <-ctx.Done(); return ctx.Err() })
	})
	time.Sleep(50 * time.Millisecond) // most have begun; it is right whether they have or not
}

// backlog commits more than the recorder can write at once.
func backlog(t *testing.T, ctx context.Context, _ *process, c *client.Client) {
	noise := make([]byte, 512<<10)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for i := range 200 {
		p := testkit.Value(t, noise)
		id := engram.MustID(fmt.Sprintf("GeneralPurpose/CrashVolatile/p/noise%d", i%10))
		if _, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)}}}}); err != nil {
			t.Fatal(err)
		}
	}
}
