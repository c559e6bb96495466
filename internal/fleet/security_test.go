//go:build linux

package fleet

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// auth runs an "engram auth" command on a deployment's authority.
func auth(t *testing.T, dir string, args ...string) {
	t.Helper()
	out, err := exec.Command(built(t), append([]string{"auth", "--dir", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("engram auth %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// secure gives the fleet's servers credentials and rules: they may do everything, and
// the program "planner" may read what robot1 owns in GeneralPurpose. It returns the
// authority's folder.
func (f *Fleet) secure(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "authority")
	auth(t, dir, "init", "--deployment", "lab")
	for _, s := range f.Servers() {
		name := s.Host.Name
		auth(t, dir, "add", name, "--server")
		auth(t, dir, "rule", "add", "allow", "all", "--to", name, "--on", "*")
		auth(t, dir, "rule", "add", "allow", "forward", "--to", name)
		s.Args = append(s.Args, "--credentials", filepath.Join(dir, name+".credentials"), "--access", filepath.Join(dir, "access.yaml"))
	}
	auth(t, dir, "add", "planner")
	auth(t, dir, "rule", "add", "allow", "read,subscribe", "--to", "planner", "--on", "GeneralPurpose")
	return dir
}

func TestRevokedIdentity(t *testing.T) {
	testkit.RealTime(t, "a revocation is noticed while a producer keeps its rate")
	b := begin(t)
	f := b.Fleet
	authority := f.secure(t)
	b.start()
	first := f.Robots[0].First
	b.produce("robot1", first, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 3, Period: 5 * time.Millisecond, Size: 100})
	b.write()

	// The program watches the robot from the base station's computer.
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	watching := f.Base.Host.Command(ctx, built(t), "watch", "GeneralPurpose/Work", "--ids",
		"--address", fmt.Sprintf("https://%s:%d", first.Host.Address, portHTTP),
		"--credentials", filepath.Join(authority, "planner.credentials"))
	out, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	watching.Stderr = &said
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	ended := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			seen.Add(1)
		}
		ended <- watching.Wait()
	}()
	for seen.Load() < 100 {
		select {
		case err := <-ended:
			t.Fatalf("the program does not see what it may see: %v: %s", err, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	b.caughtUp()

	auth(t, authority, "revoke", "planner", "--why", "the test")
	revoked := time.Now()
	select {
	case err := <-ended:
		t.Logf("the revoked program's stream ended %v after the revocation: %v: %s", time.Since(revoked).Round(time.Millisecond), err, strings.TrimSpace(said.String()))
		if err == nil {
			t.Error("the revoked program ended as if nothing was wrong")
		}
	case <-b.ctx.Done():
		t.Fatal("the revoked program's stream did not end")
	}

	// The base station's own identity: its copy stops where it is, and is what was promised
	// until then.
	b.caughtUp()
	auth(t, authority, "revoke", "base", "--why", "the test")
	all := func() map[place]held {
		all, err := contents(b.ctx, b.client(f.Base), b.copyOf(0), engram.SourceCopy)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	// It stops soon, and stays so whatever is written.
	before := all()
	b.until(func() (string, bool) {
		was := before
		b.writes(time.Second)
		before = all()
		return fmt.Sprintf("the copy of a revoked base station goes from %d to %d snapshots", len(was), len(before)), maps.Equal(was, before)
	})
	b.writes(3 * time.Second)
	after := all()
	if !maps.Equal(after, before) {
		t.Errorf("the copy of a revoked base station went from %d to %d snapshots", len(before), len(after))
	}
	b.halt()
	owned, err := contents(b.ctx, b.client(first), b.producers[0].Segment, engram.SourceOwner)
	if err != nil {
		t.Fatal(err)
	}
	// What came after the copy has stopped is all that may lack, or differ.
	until := engram.MinTime
	for _, h := range after {
		until = max(until, h.arrived)
	}
	for at, h := range owned {
		if h.arrived > until {
			delete(owned, at)
			delete(after, at)
		}
	}
	if len(after) == 0 || !maps.Equal(after, owned) {
		t.Errorf("the copy of a revoked base station has %d snapshots, of the %d that the owner had when it stopped", len(after), len(owned))
	}
}
