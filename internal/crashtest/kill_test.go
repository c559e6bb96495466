package crashtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

var (
	kills   = flag.Int("kills", 3, "how many times a server is killed")
	within  = flag.Duration("within", 0, "time after which no more servers are begun; 0 sets none")
	atLeast = flag.Int("at-least", 1, "how many kills must be made in that time")
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := playRole(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		program.Remove()
		os.Exit(code)
	}))
}

// process is a server process.
type process struct {
	cmd    *exec.Cmd
	socket string
	said   bytes.Buffer
}

// begin starts a server. A tight one seals all the time, and so few updates may wait for
// its recorder that this has to get them from the log. How full the disk is does not matter.
func begin(binary, dir string, tight bool, more ...string) (*process, error) {
	p := &process{socket: filepath.Join(dir, "s")}
	p.cmd = exec.Command(binary, "serve", "--data", filepath.Join(dir, "data"), "--listen", "unix:"+p.socket, "--monitor", "0", "--disk-limit", "100")
	if tight {
		p.cmd.Args = append(p.cmd.Args, "--max-queue", "4", "--episode-age", "20ms")
	}
	p.cmd.Args = append(p.cmd.Args, more...)
	p.cmd.Stderr = &p.said
	return p, p.cmd.Start()
}

// connect waits until the server answers.
func (p *process) connect(ctx context.Context) (c *client.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, testkit.Patience)
	defer cancel()
	for {
		if c, err = client.Connect(ctx, client.Options{Address: "unix:" + p.socket}); err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// kill ends the process as a crash would.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	p.cmd.Wait()
}

// TestKill kills servers at random moments while clients commit, and starts them again.
func TestKill(t *testing.T) {
	binary := program.Engram(t)
	seed := testkit.Seed(t)
	var left atomic.Int64
	left.Store(int64(*kills))
	var sum stats
	began := time.Now()
	over := func() bool {
		if *within > 0 && time.Since(began) > *within {
			return true
		}
		// A slow machine may need more kills until something was read beside the writers.
		return left.Load() <= 0 && (sum.looked() || time.Since(began) > testkit.Patience)
	}
	var servers sync.WaitGroup
	for i := range max(2, runtime.GOMAXPROCS(0)) {
		servers.Go(func() {
			chance := rand.New(rand.NewPCG(seed, uint64(i)))
			for !over() && !t.Failed() {
				oneFolder(t, binary, chance, &left, over, &sum)
			}
		})
	}
	servers.Wait()
	t.Log(&sum)
	if !t.Failed() && !sum.looked() {
		t.Error("nothing was read beside the writers")
	}
	if sum.kills < *atLeast {
		t.Errorf("%d kills were made in %v, fewer than %d", sum.kills, time.Since(began), *atLeast)
	}
}

// oneFolder kills the server of one data folder some times.
func oneFolder(t *testing.T, binary string, chance *rand.Rand, left *atomic.Int64, over func() bool, sum *stats) {
	dir, err := os.MkdirTemp("", "crash") // short: the path of a socket is bounded
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	}()
	const clients = 3
	known, versions := newBook(clients), &believed{}
	var crashed time.Time
	tight := chance.IntN(3) == 0
	for life := range 12 {
		p, err := begin(binary, dir, tight)
		if err != nil {
			t.Error(err)
			return
		}
		longest := 150 * time.Millisecond
		switch {
		case left.Load() <= 0:
			longest = 800 * time.Millisecond // nothing was read yet, so the machine is slow
		case testkit.Repeats(0, 1) > 0 && chance.IntN(20) == 0:
			longest = 2 * time.Second // so that some was acknowledged a second before
		}
		crashed, err = oneLife(t.Context(), p, longest, tight, known, versions, crashed, chance, sum)
		p.kill()
		if err != nil {
			t.Errorf("%v\nfolder %s; the server said:\n%s", err, dir, p.said.String())
			return
		}
		toGo := left.Add(-1)
		if toGo > 0 && toGo%500 == 0 {
			t.Logf("%d kills to go", toGo)
		}
		// What the first kill left is looked at in any case, however slow the machine is.
		if life > 0 && over() {
			return
		}
	}
}

// oneLife checks what a server has, and has clients commit, and others read, until a random
// moment, in so long a time, at which its process is killed; it returns that.
func oneLife(ctx context.Context, p *process, longest time.Duration, tight bool, known *book, versions *believed, crashed time.Time, chance *rand.Rand, sum *stats) (killed time.Time, err error) {
	c, err := p.connect(ctx)
	if err != nil {
		return killed, err
	}
	defer c.Close()
	if err := define(ctx, c, tight, !crashed.IsZero()); err != nil {
		return killed, err
	}
	if !crashed.IsZero() {
		if problems := known.check(ctx, c, crashed, sum); len(problems) > 0 {
			return killed, fmt.Errorf("after a kill: %d problems, such as %s", len(problems), problems[0])
		}
		if err := errors.Join(versions.check(ctx, c, chance, sum), counted(ctx, c, len(known.tracks))); err != nil {
			return killed, fmt.Errorf("after a kill: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	failed := make(chan error, len(known.tracks)+3)
	first := make([][len(segments)]int, len(known.tracks))
	for i := range known.tracks {
		for d := range segments {
			first[i][d] = known.tracks[i][d].found + 1
		}
	}
	own := rand.New(rand.NewPCG(chance.Uint64(), 0))
	for _, do := range []func() error{
		func() error { return known.read(ctx, c, own, tight, sum) },
		func() error { return known.follow(ctx, c, first, tight, sum) },
		func() error { return versions.supersede(ctx, c) },
	} {
		clients.Go(func() {
			if err := do(); err != nil {
				failed <- err
			}
		})
	}
	for i := range known.tracks {
		clients.Go(func() {
			if err := known.write(ctx, c, i, false); err != nil {
				failed <- err
			}
		})
	}
	time.Sleep(time.Duration(chance.Int64N(int64(longest))))
	killed = time.Now()
	p.cmd.Process.Signal(syscall.SIGKILL)
	time.Sleep(time.Millisecond) // what was on its way arrives, or does not
	cancel()
	clients.Wait()
	select {
	case err := <-failed:
		return killed, err
	default:
		return killed, nil
	}
}
