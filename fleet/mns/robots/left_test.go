package robots

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// unavailable checks what is said of a name whose server has left, or not found any more.
func (f *Fleet) unavailable(t *testing.T, memory string, want engram.Code, words string) {
	t.Helper()
	_, err := f.Resolve(t.Context(), memory)
	if engram.CodeOf(err) != want || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v; want %v, %q", memory, err, want, words)
	}
}

// An own name whose server has left is unavailable for as long as a takeover may take, and no
// sign that the own name system is away.
func TestOwnNameWhoseServerHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		f.following.entries["Stays"] = mns.Entry{Memory: "Stays", Server: "s"}
		f.turn()
		lease, err := f.Register(t.Context(), mns.Registration{Server: "a", Memories: []string{"Object"}, Addresses: []string{"http://10.0.0.1:7411"}, TTL: mns.MaxTTL})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Release(t.Context(), lease.ID); err != nil {
			t.Fatal(err)
		}
		for _, m := range []string{"Object", "base:Object"} {
			f.unavailable(t, m, engram.Unavailable, `server "a" hosted the memory`)
		}
		time.Sleep(mns.TakeoverTime)
		f.turn()
		f.unavailable(t, "Object", engram.NotFound, "no memory of this name")
	})
}

// What was registered with a name system that began anew is unavailable at first: servers
// register again.
func TestNameSystemThatBeganAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		f.mu.Lock()
		f.backLocked(map[string]mns.Entry{"Object": {Memory: "Object", Server: "a"}, "Copied": {Memory: "Copied"}})
		f.lostLocked(engram.Errorf(engram.Unavailable, "", "it ended"))
		f.backLocked(map[string]mns.Entry{"Other": {Memory: "Other", Server: "b"}})
		f.mu.Unlock()
		f.turn()
		f.unavailable(t, "Object", engram.Unavailable, `server "a" hosted the memory`)
		f.unavailable(t, "Copied", engram.NotFound, "no memory of this name")
		time.Sleep(mns.TakeoverTime)
		f.turn()
		f.unavailable(t, "Object", engram.NotFound, "no memory of this name")
	})
}

// A name of another robot is unavailable for as long as a takeover may take when its server
// has left, gave it up, or was not heard for a lease, whether others of its robot are there
// or not.
func TestNameOfAnotherRobotWhoseServerHasLeft(t *testing.T) {
	for name, leave := range map[string]func(f *Fleet, a Announcement){
		"left": func(f *Fleet, a Announcement) { a.Gone = true; f.take(a) },
		"gave up": func(f *Fleet, a Announcement) {
			a.Memories, a.Version = []string{"Speech"}, a.Version+1
			f.take(a)
		},
		"began anew without it": func(f *Fleet, a Announcement) {
			a.Memories, a.Epoch = []string{"Speech"}, a.Epoch+1
			f.take(a)
		},
		"silent": func(f *Fleet, a Announcement) {
			f.peers[a.tokens()].deadline = time.Now().Add(-1)
			f.expire(f.ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := alone(t, Options{})
				a, b, world := said("robot1", "a", 1), said("robot1", "b", 2), said("robot1", "c", 3)
				b.Memories = []string{"Vision"}
				f.take(a)
				f.take(b)
				leave(f, a)
				f.unavailable(t, "robot1:Object", engram.Unavailable, `server "a" hosted the memory`)
				f.unavailable(t, "robot1:Never", engram.NotFound, "robot1:Vision")
				f.unavailable(t, "robot2:Object", engram.NotFound, "robot robot2 is not within reach")
				f.take(world) // takes it over
				if e, err := f.Resolve(t.Context(), "robot1:Object"); err != nil || e.Server != "c" {
					t.Errorf("taken over: %+v, %v", e, err)
				}
				world.Gone = true
				f.take(world)
				f.unavailable(t, "robot1:Object", engram.Unavailable, `server "c" hosted the memory`)
				time.Sleep(mns.TakeoverTime)
				f.unavailable(t, "robot1:Object", engram.NotFound, "no memory of this name")
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		a := said("robot1", "a", 1)
		f.take(a)
		a.Gone = true
		f.take(a)
		f.unavailable(t, "robot1:Object", engram.Unavailable, "robot robot1 is not within reach")
		time.Sleep(mns.TakeoverTime)
		f.unavailable(t, "robot1:Object", engram.NotFound, "robot robot1 is not within reach")
	})
}
