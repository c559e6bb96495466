package robots_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/robots"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// goingAway is a name system that can be away.
type goingAway struct {
	*mns.Local
	away  atomic.Bool
	mu    sync.Mutex
	leave chan struct{} // closed when it goes, and replaced when it is back
}

func (g *goingAway) goAway() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away.Store(true)
	close(g.leave)
}

func (g *goingAway) comeBack() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave = make(chan struct{})
	g.away.Store(false)
}

// way returns what is closed when it goes.
func (g *goingAway) way() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leave
}

func (g *goingAway) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		leave := g.way()
		go func() {
			select {
			case <-leave:
				cancel()
			case <-ctx.Done():
			}
		}()
		if !g.away.Load() {
			for ev, err := range g.Local.Watch(ctx) {
				if err == nil && !yield(ev, nil) {
					return
				}
			}
		}
		yield(mns.Event{}, engram.Errorf(engram.Unavailable, "", "away"))
	}
}

func (g *goingAway) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	if g.away.Load() {
		return mns.Entry{}, engram.Errorf(engram.Unavailable, memory, "away")
	}
	return g.Local.Resolve(ctx, memory)
}

func (g *goingAway) List(ctx context.Context) ([]mns.Entry, error) {
	if g.away.Load() {
		return nil, engram.Errorf(engram.Unavailable, "", "away")
	}
	return g.Local.List(ctx)
}

// joined joins a fleet of one, whose name system can be away, and is at first unless it
// is there.
func joined(t *testing.T, there bool) (*goingAway, *robots.Fleet) {
	t.Helper()
	fabric, err := embedded.Start(t.Context(), embedded.Options{Robot: "robot1", Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fabric.Close() })
	conn, err := backbone.Connect(t.Context(), backbone.Options{InProcess: fabric, Robot: "robot1", Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	names := &goingAway{Local: mns.NewLocal(), leave: make(chan struct{})}
	t.Cleanup(func() { names.Local.Close() })
	if !there {
		names.goAway()
	}
	f, err := robots.Join(conn.Conn(), names, robots.Options{Robot: "robot1", DetectionTimeout: time.Hour, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return names, f
}

// A program that comes while its computer is cut off from the backbone learns what was
// known last, marked so, and at least what its own server hosts.
func TestNamesWhileTheNameSystemIsAway(t *testing.T) {
	for _, was := range []bool{true, false} { // the name system there before
		names, f := joined(t, was)
		look := func() (known map[string]mns.Entry, err error) {
			known = map[string]mns.Entry{}
			for ev, err := range f.Watch(t.Context()) {
				if err != nil {
					return known, err
				}
				if ev.Synced {
					return known, nil
				}
				known[ev.Entry.Memory] = ev.Entry
			}
			return known, nil
		}
		address := []string{"http://10.0.0.1:7411"}
		if _, err := names.Register(t.Context(), mns.Registration{Server: "other", Memories: []string{"Far"}, Addresses: address}); err != nil {
			t.Fatal(err)
		}
		lease, err := f.Register(t.Context(), mns.Registration{Server: "here", Memories: []string{"Near"}, Addresses: address})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if was {
			want = 2
			testkit.Until(t, func() (string, bool) {
				known, err := look()
				return fmt.Sprintf("known are %v, %v", known, err), err == nil && len(known) == 2
			})
			for _, e := range mustList(t, f) {
				if e.LastKnown != 0 {
					t.Errorf("while the name system is there: %+v", e)
				}
			}
			names.goAway()
		}
		testkit.Until(t, func() (string, bool) {
			known, err := look()
			far, near := known["Far"], known["Near"]
			return fmt.Sprintf("was %v: while the name system is away known are %v, %v", was, known, err),
				err == nil && len(known) == want && near.Server == "here" && near.LastKnown == 0 && (!was || far.Server == "other" && far.LastKnown != 0)
		})
		if n := len(mustList(t, f)); n != want {
			t.Errorf("was %v: %d entries are listed, want %d", was, n, want)
		}
		if e, err := f.Resolve(t.Context(), "Far"); was && (err != nil || e.LastKnown == 0) || !was && engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("was %v: resolved to %+v, %v", was, e, err)
		}
		if !was { // a server that has given its names up is not told of
			if err := f.Release(t.Context(), lease.ID); err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, func() (string, bool) {
				known, err := look()
				return fmt.Sprintf("after the release known are %v, %v", known, err), len(known) == 0 && err != nil
			})
		}
	}
}

// noticed is a context that tells when somebody waits for its end.
type noticed struct {
	context.Context
	once   sync.Once
	waited chan struct{}
}

func (n *noticed) Done() <-chan struct{} {
	n.once.Do(func() { close(n.waited) })
	return n.Context.Done()
}

// Who waits for a memory goes on waiting while the name system goes away and comes back,
// also where it knows nothing.
func TestWaitOutlastsTheNameSystem(t *testing.T) {
	names, f := joined(t, true)
	there := func() (string, bool) {
		for ev, err := range f.Watch(t.Context()) {
			return fmt.Sprintf("%+v %v", ev, err), err == nil && f.Away() == 0
		}
		return "nothing", false
	}
	testkit.Until(t, there)
	ctx := &noticed{Context: t.Context(), waited: make(chan struct{})}
	type answer struct {
		e   mns.Entry
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		e, err := f.Wait(ctx, "Late")
		answers <- answer{e, err}
	}()
	<-ctx.waited
	for range 2 {
		names.goAway()
		testkit.Until(t, func() (string, bool) { return "it is there", f.Away() != 0 })
		if _, err := f.Wait(t.Context(), "Late"); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("waiting begun while nothing is known: %v", err)
		}
		names.comeBack()
		testkit.Until(t, there)
	}
	if _, err := names.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Late"}, Addresses: []string{"http://10.0.0.1:7411"}}); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; a.err != nil || a.e.Server != "s" {
		t.Errorf("%+v %v", a.e, a.err)
	}
	closing := &noticed{Context: t.Context(), waited: make(chan struct{})}
	go func() {
		_, err := f.Wait(closing, "Never")
		answers <- answer{err: err}
	}()
	<-closing.waited
	f.Close()
	if a := <-answers; engram.CodeOf(a.err) != engram.Unavailable {
		t.Errorf("waiting while it is closed: %v", a.err)
	}
}

func mustList(t *testing.T, r mns.Registry) []mns.Entry {
	t.Helper()
	entries, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
