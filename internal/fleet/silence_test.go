//go:build linux

package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// until waits until a condition holds.
func (b *bench) until(what func() (string, bool)) {
	b.Helper()
	for said, ok := what(); !ok; said, ok = what() {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-b.ctx.Done():
			b.Fatalf("in the end: %s", said)
		}
	}
}

// newcomer is a program that has just come to a server.
func (b *bench) newcomer(s *Server, f func(context.Context, *client.Client) error) {
	b.Helper()
	c, err := s.Client(b.ctx)
	if err != nil {
		b.Fatalf("a program that comes to %s: %v", s.Host.Name, err)
	}
	defer c.Close()
	if err := f(b.ctx, c); err != nil {
		b.Errorf("a program that comes to %s: %v", s.Host.Name, err)
	}
}

// entry returns what is listed of a memory at a server.
func (b *bench) entry(s *Server, memory string) (e mns.Entry) {
	b.Helper()
	b.newcomer(s, func(ctx context.Context, c *client.Client) error {
		all, err := c.Names().List(ctx)
		if i := slices.IndexFunc(all, func(e mns.Entry) bool { return e.Memory == memory }); err == nil && i >= 0 {
			e = all[i]
		}
		return err
	})
	return e
}

// A robot's first computer hangs, and its backbone, names and links with it. Its second
// computer and the base station soon know: programs that come to them are told who is
// missing and since when, go on with what is there, and are answered by copies. When it
// goes on, all is as before.
func TestHungComputer(t *testing.T) {
	testkit.RealTime(t, "leases of real servers run out, and those of others are renewed in time")
	b := begin(t)
	robot := b.Robots[0]
	first, second := robot.First, robot.Second
	b.Base.Args = append(b.Base.Args, "--copy", "robot1:Object")
	b.start(b.Base, first, second)
	put := func(s *Server, id, data string) {
		b.Helper()
		if _, err := s.Engram(b.ctx, "put", id, data); err != nil {
			b.Fatal(err)
		}
	}
	put(first, "Object/Instance/camera/cup", `{"frame_id": "kitchen"}`)
	put(second, "Speech/Text/cook/kitchen", `{"text": "hello"}`)
	copied := func(c *client.Client) (*engram.Result, error) {
		return c.Query(b.ctx, engram.Query{Source: engram.SourceCopy, Memories: engram.MustPattern("robot1:Object/Instance/camera/cup").Select(engram.Latest(1)).Memories})
	}
	b.until(func() (said string, ok bool) {
		b.newcomer(b.Base, func(_ context.Context, c *client.Client) error {
			r, err := copied(c)
			n := 0
			if err == nil {
				for range r.All() {
					n++
				}
			}
			said, ok = fmt.Sprintf("the base station's copy has %d snapshots, %v", n, err), n == 1
			return nil
		})
		return said, ok
	})
	before := engram.Now()
	if err := first.Hang(); err != nil {
		t.Fatal(err)
	}
	defer first.Wake()
	for s, memory := range map[*Server]string{second: "Object", b.Base: "robot1:Object"} {
		b.until(func() (string, bool) {
			e := b.entry(s, memory)
			// At the base station the robot's names run out, in the end.
			return fmt.Sprintf("at %s, %s is %+v", s.Host.Name, memory, e), e.SuspectedSince != 0
		})
	}
	b.until(func() (string, bool) {
		e := b.entry(second, "Object")
		return fmt.Sprintf("on the second computer, Object is %+v", e), e.LastKnown != 0
	})
	if e := b.entry(second, "Speech"); e.LastKnown != 0 || e.SuspectedSince != 0 {
		t.Errorf("on the second computer, its own memory is %+v", e)
	}
	b.newcomer(second, func(ctx context.Context, c *client.Client) error {
		r, err := c.Query(ctx, engram.MustPattern("~Object|Speech").Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		if len(r.Missing) != 1 || r.Missing[0].ID.Memory() != "Object" || r.Missing[0].Since == 0 || r.Missing[0].Since > engram.Now() || len(r.Memories) != 1 {
			t.Errorf("on the second computer, %+v is answered", r)
		}
		_, err = c.Latest(ctx, engram.MustID("Object/Instance/camera/cup"))
		if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "last heard") {
			t.Errorf("on the second computer, the latest of Object: %v", err)
		}
		return nil
	})
	put(second, "Speech/Text/cook/kitchen", `{"text": "hello"}`)
	listed, err := second.Engram(b.ctx, "mns", "ls")
	if err != nil || !strings.Contains(listed, "r1a (silent for ") || strings.Contains(listed, "r1b (") {
		t.Errorf("on the second computer is listed, %v:\n%s", err, listed)
	}
	b.newcomer(b.Base, func(ctx context.Context, c *client.Client) error {
		r, err := c.Query(ctx, engram.MustPattern("*:Object/Instance/camera/cup").Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(r.Missing, func(m engram.Missing) bool { return m.ID.Memory() == "robot1:Object" })
		if i < 0 || r.Missing[i].Since == 0 || len(r.Copies) != 1 || !r.Copies[0].Away || r.Copies[0].AsOf < before.Add(-time.Minute) {
			t.Errorf("at the base station, %+v is answered", r)
		}
		return nil
	})
	if err := first.Wake(); err != nil {
		t.Fatal(err)
	}
	for s, memory := range map[*Server]string{second: "Object", b.Base: "robot1:Object"} {
		b.until(func() (string, bool) {
			e := b.entry(s, memory)
			return fmt.Sprintf("after that, at %s, %s is %+v", s.Host.Name, memory, e), e.Server == "r1a" && e.SuspectedSince == 0 && e.LastKnown == 0
		})
		b.newcomer(s, func(ctx context.Context, c *client.Client) error {
			_, err := c.Latest(ctx, engram.MustID(memory+"/Instance/camera/cup"))
			return err
		})
	}
}
