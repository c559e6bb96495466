package kv_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"))
}

func open(t *testing.T, b *backbone.Backbone, ttl time.Duration) *kv.Registry {
	t.Helper()
	r, err := kv.Open(t.Context(), b.JetStream(), kv.Options{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func registration(server string, memories ...string) mns.Registration {
	return mns.Registration{Server: server, Memories: memories, Addresses: []string{"unix:/run/" + server}}
}

func register(t *testing.T, r mns.Registry, reg mns.Registration) mns.Lease {
	t.Helper()
	l, err := r.Register(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// names returns what a registry holds, as "Memory@server …".
func names(t *testing.T, r mns.Registry) string {
	t.Helper()
	entries, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Memory+"@"+e.Server)
	}
	return strings.Join(out, " ")
}

// long is a lease that does not run out in a test, however busy the machine is.
const long = time.Hour

// until waits until the names are as they should be.
func until(t *testing.T, r mns.Registry, want string) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		got := names(t, r)
		return fmt.Sprintf("the names are %q, want %q", got, want), got == want
	})
}

func TestTwoServersCannotClaimOneName(t *testing.T) {
	t.Parallel()
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	one, two := open(t, b, long), open(t, b, long)
	register(t, one, registration("a", "Vision", "Über/Mich"))
	_, err := two.Register(t.Context(), registration("b", "Object", "Vision"))
	if engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("claiming a name that is taken: %v", err)
	}
	if got := names(t, two); got != "Vision@a Über/Mich@a" {
		t.Errorf("a refused registration leaves %q", got)
	}
	// The same server, after its restart, with another set of memories.
	register(t, two, registration("a", "Vision", "Speech"))
	if got := names(t, one); got != "Speech@a Vision@a" {
		t.Errorf("registered again, the names are %q", got)
	}
	if e, err := one.Resolve(t.Context(), "Speech"); err != nil || e.Addresses[0] != "unix:/run/a" {
		t.Errorf("resolved %+v, %v", e, err)
	}
	if _, err := one.Resolve(t.Context(), "Speach"); engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), "Speech, Vision") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestLeaseRunsOutUnlessRenewed(t *testing.T) {
	t.Parallel()
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	r := open(t, b, time.Second)
	dead := register(t, r, registration("dead", "Vision"))
	k, err := mns.Keep(t.Context(), r, registration("alive", "Object"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		known := false
		for t.Context().Err() == nil { // a watch may end where the machine is too busy to answer
			seen := false
			for e, err := range r.Watch(t.Context()) {
				vision := e.Entry.Memory == "Vision"
				if err == nil && (e.Removed && vision || e.Synced && known && !seen) {
					gone <- nil
					return
				}
				seen = seen || vision
				known = known || vision
			}
		}
		gone <- t.Context().Err()
	}()
	if err := testkit.Receive(t, gone); err != nil {
		t.Fatal(err)
	}
	// The one that is alive may have been too late to renew, and registers again.
	until(t, r, "Object@alive")
	if err := r.Renew(t.Context(), dead.ID); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("renewing a lease that ran out: %v", err)
	}
	if err := k.Close(); err != nil && engram.CodeOf(err) != engram.Canceled { // it waits for a second at most
		t.Error(err)
	}
	until(t, r, "")
}

// A renewal that was written, but whose answer was not waited for, takes no lease away.
func TestRenewalWithoutItsAnswer(t *testing.T) {
	t.Parallel()
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	r := open(t, b, long)
	l := register(t, r, registration("a", "Vision"))
	bucket, err := b.JetStream().KeyValue(t.Context(), "engram-names")
	if err != nil {
		t.Fatal(err)
	}
	held, err := bucket.Get(t.Context(), "Vision")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Update(t.Context(), "Vision", held.Value(), held.Revision()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Renew(t.Context(), l.ID); err != nil {
			t.Errorf("the next renewal: %v", err)
		}
	}
}

func TestWatchTellsAllThenChanges(t *testing.T) {
	t.Parallel()
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	r := open(t, b, long)
	a := register(t, r, registration("a", "Vision"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := make(chan string)
	go func() {
		defer close(events)
		for e, err := range r.Watch(ctx) {
			switch {
			case err != nil:
				events <- engram.CodeOf(err).String()
			case e.Synced:
				events <- "synced"
			case e.Removed:
				events <- "-" + e.Entry.Memory
			default:
				events <- "+" + e.Entry.Memory + "@" + e.Entry.Server
			}
		}
	}()
	expect := func(want string) {
		t.Helper()
		if got := testkit.Receive(t, events); got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
	expect("+Vision@a")
	expect("synced")
	if err := r.Renew(t.Context(), a.ID); err != nil { // no event
		t.Error(err)
	}
	o := register(t, r, registration("b", "Object"))
	expect("+Object@b")
	if err := r.Release(t.Context(), o.ID); err != nil {
		t.Error(err)
	}
	expect("-Object")
	cancel()
	expect("canceled")
}

func TestWaitForAName(t *testing.T) {
	t.Parallel()
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	r := open(t, b, long)
	got := make(chan mns.Entry, 1)
	go func() {
		e, err := r.Wait(t.Context(), "Vision")
		if err != nil {
			t.Error(err)
		}
		got <- e
	}()
	register(t, r, registration("a", "Object"))
	register(t, r, registration("b", "Vision"))
	if e := testkit.Receive(t, got); e.Server != "b" {
		t.Errorf("waited for %+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(ctx, "Speech"); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a wait past its deadline: %v", err)
	}
}

// A backbone that begins anew has lost the names; who keeps a registration is back
// within a lease, who watches is told.
func TestBackboneThatBeginsAnew(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), testkit.FreeAddress(t)
	first := fabrics.Start(t, embedded.Options{Dir: dir, Listen: address})
	url := first.ClientURL()
	client := fabrics.Connect(t, backbone.Options{URL: url})
	r := open(t, client, time.Second)
	k, err := mns.Keep(t.Context(), r, registration("a", "Vision"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var closed atomic.Bool
	watching, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		for t.Context().Err() == nil {
			for e, err := range r.Watch(t.Context()) {
				switch {
				case err == nil && !closed.Load():
					watching <- e.Entry.Memory
				case err != nil && closed.Load(): // before, where the machine is too busy to answer
					ended <- err
					return
				}
			}
		}
	}()
	for testkit.Receive(t, watching) != "Vision" {
	}
	closed.Store(true)
	first.Close()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	if _, err := r.Resolve(short, "Vision"); err == nil {
		t.Error("a name was resolved without a backbone")
	}
	cancel()
	fabrics.Start(t, embedded.Options{Dir: dir, Listen: address})
	if err := testkit.Receive(t, ended); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
	testkit.Until(t, func() (string, bool) {
		e, err := r.Wait(t.Context(), "Vision")
		if err != nil && engram.CodeOf(err) != engram.Unavailable { // else it is about to be back
			t.Fatalf("after the restart: %v", err)
		}
		return fmt.Sprintf("after the restart: %+v, %v", e, err), err == nil && e.Server == "a"
	})
}

// mortal is a name system as one sees it who dies: he registers and renews nothing any more.
type mortal struct {
	*kv.Registry
	dead atomic.Bool
}

func (m *mortal) Register(ctx context.Context, r mns.Registration) (mns.Lease, error) {
	if m.dead.Load() {
		return mns.Lease{}, engram.Errorf(engram.Unavailable, "", "dead")
	}
	return m.Registry.Register(ctx, r)
}

func (m *mortal) Renew(ctx context.Context, lease uint64) error {
	if m.dead.Load() {
		return engram.Errorf(engram.Unavailable, "", "dead")
	}
	return m.Registry.Renew(ctx, lease)
}

// Copies have keys of their own: any number of servers may hold copies of one memory,
// also of one that nobody hosts.
func TestCopiesOnTheBackbone(t *testing.T) {
	t.Parallel()
	fabric := fabrics.Start(t, embedded.Options{})
	r := open(t, fabrics.Connect(t, backbone.Options{InProcess: fabric}), time.Second)
	ctx := testkit.Context(t)
	var mu sync.Mutex
	told := map[string]string{} // by memory
	watched := make(chan struct{})
	watch, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		for watch.Err() == nil { // a watch may end where the machine is too busy to answer
			all := map[string]string{}
			for ev, err := range r.Watch(watch) {
				if err != nil {
					break
				}
				text := ev.Entry.Server
				for _, c := range ev.Entry.Copies {
					text += "|" + c.Server
				}
				mu.Lock()
				if ev.Synced {
					told = all
				} else {
					all[ev.Entry.Memory] = text
				}
				mu.Unlock()
			}
		}
	}()
	defer func() { stop(); <-watched }()
	until := func(memory, want string) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprintf("%s is told to be at %q, want %q", memory, told[memory], want), told[memory] == want
		})
	}
	holder := registration("b", "Object")
	holder.Copies = []string{"Vision", "robot1:Object"}
	k, err := mns.Keep(ctx, r, holder)
	if err != nil {
		t.Fatal(err)
	}
	until("Vision", "|b")
	dying := &mortal{Registry: r}
	dead, err := mns.Keep(ctx, dying, registration("a", "Vision"))
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	until("Vision", "a|b")
	until("robot1:Object", "|b")
	e, err := r.Resolve(ctx, "robot1:Object")
	for code := engram.CodeOf(err); code == engram.NotFound || code == engram.Unavailable; code = engram.CodeOf(err) { // too late to renew, and about to be back
		e, err = r.Resolve(ctx, "robot1:Object")
	}
	if err != nil || e.Server != "" || len(e.Copies) != 1 || e.Copies[0].Server != "b" || e.Copies[0].Memory != "robot1:Object" {
		t.Errorf("resolved %+v, %v", e, err)
	}
	dying.dead.Store(true)
	until("Vision", "|b") // the lease of a has run out, that of b is kept
	k.SetCopies(nil)
	until("robot1:Object", "")
	until("Object", "b")
	if err := k.Close(); err != nil && engram.CodeOf(err) != engram.Canceled { // it waits for a second at most
		t.Error(err)
	}
	until("Object", "")
}

// An entry that cannot be read, or that is about another name than its key's, hides no
// other name; who serves the name registers it anew.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	s := fabrics.Start(t, embedded.Options{Robot: "robot1"})
	b := fabrics.Connect(t, backbone.Options{InProcess: s})
	r := open(t, b, long)
	l := register(t, r, registration("s1", "Object", "Speech"))
	bucket, err := b.JetStream().KeyValue(t.Context(), "engram-names")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"no JSON", "{}", `{"memory":"Vision","server":"thief","addresses":["nats:thief"]}`, `{"server":"thief"}`, `[]`} {
		if _, err := bucket.Put(t.Context(), "Object", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got := names(t, r); got != "Speech@s1" {
			t.Errorf("beside %s there are %q", value, got)
		}
		if err := r.Renew(t.Context(), l.ID); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("after %s the lease is renewed: %v", value, err)
		}
		l = register(t, r, registration("s1", "Object", "Speech"))
		if got := names(t, r); got != "Object@s1 Speech@s1" {
			t.Errorf("after %s and a new registration there are %q", value, got)
		}
	}
}

// A name whose server has left is unavailable at first: to who has watched, by what that was
// told, and to who comes later, by the marker that the key leaves; until another server
// registers it.
func TestNameWhoseServerHasLeft(t *testing.T) {
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	r := open(t, b, long)
	a := register(t, r, registration("a", "Vision", "Speech"))
	left := func(r mns.Registry, memory, words string) {
		t.Helper()
		_, err := r.Resolve(t.Context(), memory)
		if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", memory, err, words)
		}
	}
	register(t, r, registration("a", "Vision"))
	left(open(t, b, long), "Speech", "a server hosted the memory until a moment ago")
	if err := r.Release(t.Context(), a.ID); err != nil { // it was replaced
		t.Fatal(err)
	}
	next, stop := iter.Pull2(r.Watch(t.Context()))
	defer stop()
	told := func(what string, is func(mns.Event) bool) {
		t.Helper()
		for {
			ev, err, _ := next()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if is(ev) {
				return
			}
		}
	}
	gone := func(ev mns.Event) bool { return ev.Removed && ev.Entry.Memory == "Vision" }
	told("all", func(ev mns.Event) bool { return ev.Synced })
	again := register(t, r, registration("a", "Vision"))
	if err := r.Release(t.Context(), again.ID); err != nil {
		t.Fatal(err)
	}
	told("the release", gone)
	left(r, "Vision", `server "a" hosted the memory until`)
	left(open(t, b, long), "Vision", "a server hosted the memory until a moment ago")
	register(t, r, registration("b", "Vision"))
	if e, err := r.Resolve(t.Context(), "Vision"); err != nil || e.Server != "b" {
		t.Errorf("taken over: %+v, %v", e, err)
	}
	if _, err := r.Resolve(t.Context(), "Never"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a name that never was: %v", err)
	}
}

// A server that was killed leaves its names when its lease runs out. Its keys' markers go a
// lease later.
func TestNameWhoseLeaseRanOut(t *testing.T) {
	b := fabrics.Connect(t, backbone.Options{InProcess: fabrics.Start(t, embedded.Options{})})
	watched, late := open(t, b, time.Second), open(t, b, time.Second)
	runsOut := func() (told bool) {
		register(t, watched, registration("dead", "Vision"))
		known := false
		for ev, err := range watched.Watch(t.Context()) {
			switch {
			case err != nil, ev.Synced && !known: // the machine was too busy
				return false
			case ev.Removed:
				return true
			}
			known = known || ev.Entry.Server == "dead"
		}
		return false
	}
	for !runsOut() {
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
	}
	if _, err := watched.Resolve(t.Context(), "Vision"); engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), `server "dead"`) {
		t.Errorf("a moment after: %v", err)
	}
	testkit.Until(t, func() (string, bool) {
		_, err := late.Resolve(t.Context(), "Vision")
		return fmt.Sprintf("to who has not watched: %v", err), engram.CodeOf(err) == engram.NotFound
	})
}
