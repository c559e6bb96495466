package robots

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// alone returns a fleet that hears only what a test has it take, and whose turns are the
// test's, in a bubble of its own time.
func alone(t *testing.T, o Options) *Fleet {
	o.Robot, o.Lease, o.Every, o.DetectionTimeout, o.Log = "base", 15*time.Second, time.Second, 3*time.Second, testkit.Quiet
	own := mns.NewLocal()
	f := &Fleet{Registry: own, others: others{
		o: o, announce: make(chan struct{}, 1), changed: make(chan struct{}), own: map[uint64]*announced{},
		versions: map[string]*Announcement{}, due: map[string]bool{}, peers: map[string]*peer{}, problems: map[string]problem{}, warned: map[string]time.Time{},
		hosted: map[string]mns.Registration{}, following: following{entries: map[string]mns.Entry{}, synced: true},
		signs: map[signKey]*sign{}, departed: map[string]engram.Time{},
	}}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() {
		f.cancel()
		f.done.Wait()
		own.Close()
	})
	return f
}

// turn is a turn of listening in which the backbone was heard.
func (f *Fleet) turn() {
	f.mu.Lock()
	f.fabricHeardLocked()
	f.turnLocked()
	f.mu.Unlock()
	time.Sleep(f.o.Every)
}

// silent returns since when the names say that a memory's server is silent.
func (f *Fleet) silent(t *testing.T, memory string) engram.Time {
	t.Helper()
	e, ok := f.entry(f.following.entries, memory)
	if !ok {
		t.Fatalf("%s is not known", memory)
	}
	return e.SuspectedSince
}

func said(robot, server string, life uint64) Announcement {
	return Announcement{Robot: robot, Server: server, Epoch: life, Memories: []string{"Object"}, Addresses: []string{"http://10.0.0.1:7411"}}
}

func beat(robot, server string, life uint64) Announcement {
	return Announcement{Robot: robot, Server: server, Epoch: life, Heartbeat: true}
}

// What an earlier epoch of a server said, and came late, makes no second robot of it, here
// and at the server itself. One that goes on beside another does.
func TestLateWordsAreNoSecondRobot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		f.announceLocked(mns.Registration{Server: "here", Memories: []string{"Map"}, Addresses: []string{"nats:here"}})
		f.take(said("base", "here", 77)) // said before this process began
		f.take(said("robot1", "r", 1))
		for range 20 {
			f.take(beat("robot1", "r", 1))
			f.turn()
		}
		f.take(said("robot1", "r", 2)) // it restarts
		for _, late := range []Announcement{beat("robot1", "r", 1), said("robot1", "r", 1), beat("robot1", "r", 2), said("robot1", "r", 1), beat("robot1", "r", 1)} {
			f.take(late)
			if life := f.peers[late.tokens()].Epoch; life != 2 {
				t.Errorf("after %+v the server's epoch is %d", late, life)
			}
			f.turn()
		}
		if p := f.Problems(); len(p) > 0 {
			t.Errorf("after a restart: %q", p)
		}
		for range 30 {
			f.take(beat("robot1", "r", 2))
			f.take(beat("robot1", "r", 1))
			f.take(beat("base", "here", 78))
			f.turn()
		}
		p := strings.Join(f.Problems(), "; ")
		if !strings.Contains(p, `two servers announce themselves as "r" of robot robot1`) || !strings.Contains(p, `a server elsewhere announces itself as "here"`) {
			t.Errorf("while two go on: %q", p)
		}
	})
}

// A server that restarts as it was before, such as from a copy of a virtual machine, is
// heard when its later epoch has fallen silent.
func TestEarlierLifeIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		f.take(said("robot1", "r", 1))
		f.take(said("robot1", "r", 2))
		for range 5 {
			f.turn()
		}
		if !f.take(beat("robot1", "r", 1)) {
			t.Error("it is not asked what it has")
		}
		f.take(said("robot1", "r", 1))
		if life := f.peers["robot1.r"].Epoch; life != 1 {
			t.Errorf("its life is %d", life)
		}
	})
}

// A server that is not heard for some turns is said to be silent, since when it was heard
// last; one that is always late only after longer. What is heard of it ends that.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		f.take(said("robot1", "r", 1))
		f.turn()
		f.take(beat("robot1", "r", 1))
		last := engram.Now()
		for i := range 3 {
			f.turn()
			if since := f.silent(t, "robot1:Object"); since != 0 {
				t.Fatalf("silent after %d turns, since %v", i+1, since)
			}
		}
		changed := f.changed
		f.turn()
		if since := f.silent(t, "robot1:Object"); since != last {
			t.Errorf("silent since %v, was heard at %v", since, last)
		}
		select {
		case <-changed:
		default:
			t.Error("those who watch are not told")
		}
		f.take(beat("robot1", "r", 1)) // after four turns, so eight are no silence now
		for i := range 8 {
			if since := f.silent(t, "robot1:Object"); since != 0 {
				t.Fatalf("one that is late is silent after %d turns", i)
			}
			f.turn()
		}
		f.turn()
		if f.silent(t, "robot1:Object") == 0 {
			t.Error("one that was late is never silent")
		}
	})
}

// A server that is not heard on the backbone, and answers, is not silent; it is asked by
// one call at a time.
func TestSilentServerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, under := 0, 0
		answers := true
		lives := func(ctx context.Context, server string, addresses []string) error {
			mu.Lock()
			asked++
			under++
			ok := answers
			if under > 1 || server != "r" || len(addresses) != 1 {
				t.Errorf("%d calls, of %s at %v", under, server, addresses)
			}
			mu.Unlock()
			defer func() { mu.Lock(); under--; mu.Unlock() }()
			if !ok {
				<-ctx.Done()
				return errors.New("no answer")
			}
			return nil
		}
		f := alone(t, Options{Alive: lives})
		f.take(said("robot1", "r", 1))
		for i := range 10 {
			f.turn()
			synctest.Wait()
			if f.silent(t, "robot1:Object") != 0 {
				t.Fatalf("turn %d: one that answers is silent", i)
			}
		}
		mu.Lock()
		if answers = false; asked == 0 {
			t.Error("it was not asked")
		}
		mu.Unlock()
		for range 10 {
			f.turn()
		}
		if f.silent(t, "robot1:Object") == 0 {
			t.Error("one that does not answer any more is not silent")
		}
		mu.Lock()
		answers = true
		mu.Unlock()
		for range 5 {
			f.turn()
		}
		if f.silent(t, "robot1:Object") != 0 {
			t.Error("one that answers again is silent")
		}
	})
}

// A server that is refused one memory more goes on to be known as one of this process, with
// what it had; one that has lost its lease does not.
func TestRefusedRegistrationOfAServerThatHasALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		register := func(server string, memories ...string) error {
			_, err := f.Register(t.Context(), mns.Registration{Server: server, Memories: memories, Addresses: []string{"nats:" + server}, TTL: 10 * time.Second})
			return err
		}
		if err := errors.Join(register("here", "Near"), register("there", "Far")); err != nil {
			t.Fatal(err)
		}
		if err := register("here", "Near", "Far"); engram.CodeOf(err) != engram.Conflict {
			t.Fatal(err)
		}
		if got := f.hosted["here"].Memories; len(got) != 1 || got[0] != "Near" {
			t.Errorf("a server with a lease has %q", got)
		}
		time.Sleep(20 * time.Second) // leases run out
		if err := register("there", "Near"); err != nil {
			t.Fatal(err)
		}
		if err := register("here", "Near"); engram.CodeOf(err) != engram.Conflict {
			t.Fatal(err)
		}
		if got, ok := f.hosted["here"]; ok {
			t.Errorf("a server whose names are another's has %q", got.Memories)
		}
	})
}

// While the backbone is not heard, this computer's servers are as they were, and the
// others' silent; names say when the name system was there last.
func TestCutOffFromTheBackbone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		here := mns.Registration{Server: "here", Memories: []string{"Near"}, Addresses: []string{"nats:here"}}
		f.hosted["here"] = here
		f.following.entries = map[string]mns.Entry{
			"Near": {Memory: "Near", Server: "here", Addresses: here.Addresses},
			"Far":  {Memory: "Far", Server: "there", Addresses: []string{"http://10.0.0.2:7411"}},
		}
		for range 10 { // a robot without a name: nobody announces its servers
			f.turn()
		}
		if since := f.silent(t, "Far"); since != 0 || f.Away() != 0 {
			t.Errorf("with the backbone: silent since %v, away since %v", since, f.Away())
		}
		heard := f.fabric.heard
		for range 5 {
			f.mu.Lock()
			f.turnLocked()
			f.mu.Unlock()
			time.Sleep(f.o.Every)
		}
		if f.Away() != heard {
			t.Errorf("away since %v, was there at %v", f.Away(), heard)
		}
		entries, err := f.List(t.Context())
		if err != nil || len(entries) != 2 || entries[0].SuspectedSince == 0 || entries[0].LastKnown != heard || entries[1].SuspectedSince != 0 || entries[1].LastKnown != 0 {
			t.Errorf("known are %+v, %v", entries, err)
		}
		f.turn()
		if since := f.silent(t, "Far"); since != 0 || f.Away() != 0 {
			t.Errorf("with the backbone again: silent since %v, away since %v", since, f.Away())
		}
	})
}

// Of two servers that claim one name the one heard first has it, until it leaves, gives
// the name up, is not heard for as long as names hold, or is silent while the other is
// not. Who has lost it so does not get it back by being heard again.
func TestSuccessorHasTheName(t *testing.T) {
	const former, successor = "a", "b"
	gone := said("robot1", former, 1)
	gone.Gone = true
	less := said("robot1", former, 1)
	less.Version, less.Memories = 1, nil
	less.Copies = []string{"Map"}
	for name, c := range map[string]struct {
		speaks  []string      // who is heard each turn
		says    *Announcement // what the former one says in the end
		answers bool          // who is not heard answers when it is asked
		turns   int
		then    []string // who is heard in five turns afterwards
		want    string
	}{
		"both go on":         {speaks: []string{former, successor}, turns: 40, want: former},
		"not yet silent":     {speaks: []string{successor}, turns: 3, want: former},
		"silent":             {speaks: []string{successor}, turns: 5, want: successor},
		"both silent":        {turns: 5, want: former},
		"silent, then heard": {speaks: []string{successor}, turns: 5, then: []string{former, successor}, want: successor},
		"both heard again":   {turns: 5, then: []string{former, successor}, want: former},
		"left":               {speaks: []string{former, successor}, says: &gone, turns: 1, want: successor},
		"gave the name up":   {speaks: []string{former, successor}, says: &less, turns: 1, want: successor},
		"answers":            {speaks: []string{successor}, answers: true, turns: 14, want: former},
		"has run out":        {speaks: []string{successor}, answers: true, turns: 17, want: successor},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := alone(t, Options{Alive: func(context.Context, string, []string) error {
					if !c.answers {
						return errors.New("no answer")
					}
					return nil
				}})
				turn := func(speaks []string) {
					for _, server := range speaks {
						f.take(beat("robot1", server, 1))
					}
					f.turn()
					synctest.Wait()
					f.expire(t.Context())
				}
				f.take(said("robot1", former, 1))
				f.take(said("robot1", successor, 1))
				for range c.turns {
					turn(c.speaks)
				}
				if c.says != nil {
					f.take(*c.says)
				}
				if len(c.then) > 0 {
					for range 5 {
						turn(c.then)
					}
				}
				e, _ := f.entry(f.following.entries, "robot1:Object")
				if e.Server != c.want {
					t.Errorf("it is at %q, want %q", e.Server, c.want)
				}
			})
		})
	}
}

// A server of which anything comes keeps its names: over a slow link its announcements
// may wait behind an answer for longer than a lease.
func TestWhateverComesRenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := map[string]uint64{}
		f := alone(t, Options{Heard: func() map[string]uint64 { return maps.Clone(counts) }})
		f.take(said("robot1", "r", 1))
		f.take(said("robot2", "s", 1))
		turns := func(n int, each func()) {
			for range n {
				each()
				f.mu.Lock()
				f.countedLocked(f.o.Heard())
				f.mu.Unlock()
				f.turn()
				f.expire(f.ctx)
			}
		}
		turns(60, func() { counts["r"]++ })
		if f.silent(t, "robot1:Object") != 0 {
			t.Error("it is silent in the middle of its answer")
		}
		if _, ok := f.entry(f.following.entries, "robot2:Object"); ok {
			t.Error("one of which nothing came keeps its names")
		}
		delete(counts, "r") // its connection ends
		turns(16, func() {})
		if _, ok := f.entry(f.following.entries, "robot1:Object"); ok {
			t.Error("its names are kept after it has fallen silent")
		}
	})
}

// stuck is a registry that is about to answer renewals as it is told.
type stuck struct {
	mns.Registry
	answers chan error
}

func (r *stuck) Renew(context.Context, uint64) error { return <-r.answers }

// A server that renews its lease stays announced while its robot's own name system owes it
// the answer, and until it has had time to register again if that has lost the lease.
func TestLateRenewalsAreNoDeparture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := alone(t, Options{})
		own := &stuck{f.Registry, make(chan error)}
		f.Registry = own
		lease, err := f.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object"}, Addresses: []string{"http://10.0.0.1:7411"}, TTL: 6 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		announced := func() bool {
			f.expire(t.Context())
			return len(f.versions) == 1
		}
		renew := func(took time.Duration, answer error) {
			f.done.Go(func() { _ = f.Renew(t.Context(), lease.ID) })
			time.Sleep(took)
			if !announced() {
				t.Fatalf("it has gone while its renewal waits for %q", answer)
			}
			own.answers <- answer
			synctest.Wait()
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			renew(5*time.Second, engram.Errorf(engram.Canceled, "", "no answer"))
		}
		renew(time.Second, engram.Errorf(engram.NotFound, "", "lost"))
		if !announced() {
			t.Error("it had no time to register again")
		}
		if lease, err = f.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object"}, Addresses: []string{"http://10.0.0.1:7411"}, TTL: 6 * time.Second}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if !announced() {
			t.Error("it has gone though it has registered again")
		}
		renew(0, engram.Errorf(engram.NotFound, "", "lost"))
		time.Sleep(7 * time.Second)
		if announced() {
			t.Error("it is announced though it did not register again")
		}
	})
}
