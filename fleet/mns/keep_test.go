package mns_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// restarting is a registry that can be out of reach and come back empty.
type restarting struct {
	mns.Registry
	away atomic.Bool
}

func (r *restarting) Renew(ctx context.Context, lease uint64) error {
	if r.away.Load() {
		return engram.Errorf(engram.Unavailable, "", "out of reach")
	}
	return r.Registry.Renew(ctx, lease)
}

func TestKeepRenewsAndReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		k, err := mns.Keep(t.Context(), l, registration("a", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := names(t, l); got != "Vision@a" {
			t.Errorf("a minute later the registry holds %q", got)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if got := names(t, l); got != "" {
			t.Errorf("after Close the registry holds %q", got)
		}
	})
}

func TestKeepRegistersAgainAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &restarting{Registry: l}
		k, err := mns.Keep(t.Context(), r, registration("a", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		r.away.Store(true)
		time.Sleep(30 * time.Second)
		if got := names(t, l); got != "" {
			t.Errorf("out of reach for 30 s, the registry holds %q", got)
		}
		if engram.CodeOf(k.Err()) != engram.Unavailable {
			t.Errorf("while out of reach Err is %v", k.Err())
		}
		r.away.Store(false)
		time.Sleep(5 * time.Second)
		if got := names(t, l); got != "Vision@a" || k.Err() != nil {
			t.Errorf("back in reach, the registry holds %q, Err is %v", got, k.Err())
		}
	})
}

// late is a registry that does not answer the first renewal, and takes its time for others.
type late struct {
	mns.Registry
	asked atomic.Bool
}

func (r *late) Renew(ctx context.Context, lease uint64) error {
	if !r.asked.Swap(true) {
		<-ctx.Done()
		return engram.Errorf(engram.Canceled, "", "no answer")
	}
	time.Sleep(100 * time.Millisecond)
	return r.Registry.Renew(ctx, lease)
}

// A renewal that is not answered leaves time for another one.
func TestKeepOutlastsALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &late{Registry: l}
		k, err := mns.Keep(t.Context(), r, registration("a", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		for range 60 {
			time.Sleep(time.Second)
			if got := names(t, l); got != "Vision@a" {
				t.Fatalf("the registry holds %q", got)
			}
		}
		if !r.asked.Load() || k.Err() != nil {
			t.Errorf("asked: %v, Err is %v", r.asked.Load(), k.Err())
		}
	})
}

func TestKeepReportsAConflict(t *testing.T) {
	l := mns.NewLocal()
	defer l.Close()
	register(t, l, registration("a", "Vision"))
	if _, err := mns.Keep(t.Context(), l, registration("b", "Vision")); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("keeping a name that is taken: %v", err)
	}
}

// A standby takes over when the server that holds the name has gone.
func TestStandbyTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		first := register(t, l, registration("a", "Vision"))
		r := registration("b", "Vision")
		r.Standby = true
		k, err := mns.Keep(t.Context(), l, r)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-k.Active():
			t.Error("the standby is active beside the first")
		case <-time.After(5 * time.Second):
		}
		if engram.CodeOf(k.Err()) != engram.Conflict {
			t.Errorf("while it waits Err is %v", k.Err())
		} else if text := k.Err().Error(); !strings.Contains(text, `hosted by server "a"`) || strings.Contains(text, "--standby") {
			t.Errorf("while it waits it is told %q", text)
		}
		if err := l.Renew(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		<-k.Active()
		if got := names(t, l); got != "Vision@b" || k.Err() != nil {
			t.Errorf("after a was gone the registry holds %q, %v", got, k.Err())
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		waiting, err := mns.Keep(t.Context(), l, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := waiting.Close(); err != nil {
			t.Error(err)
		}
	})
}

// these are memories to register.
func these(memories ...string) func() []string { return func() []string { return memories } }

// hanging is a registry that does not answer once it hangs.
type hanging struct {
	mns.Registry
	hangs atomic.Bool
}

func (r *hanging) Register(ctx context.Context, reg mns.Registration) (mns.Lease, error) {
	if r.hangs.Load() {
		<-ctx.Done()
		return mns.Lease{}, engram.Errorf(engram.Canceled, "", "given up: %w", context.Cause(ctx))
	}
	return r.Registry.Register(ctx, reg)
}

// Who hosts one more memory does not wait forever for a name system that hangs.
func TestMoreMemoriesWhereTheRegistryHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &hanging{Registry: l}
		k, err := mns.Keep(t.Context(), r, registration("a", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		r.hangs.Store(true)
		if err := k.SetMemories(t.Context(), these("Battery", "Vision")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("the name system hangs: %v", err)
		}
		if got := names(t, l); got != "Vision@a" {
			t.Errorf("the registry holds %q", got)
		}
	})
}

// A server that takes in one more memory registers it at once, or not at all.
func TestKeepWithMoreMemories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		a, err := mns.Keep(t.Context(), l, registration("a", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b, err := mns.Keep(t.Context(), l, registration("b", "Speech"))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if err := a.SetMemories(t.Context(), these("Battery", "Vision")); err != nil {
			t.Fatal(err)
		}
		if got := names(t, l); got != "Battery@a Speech@b Vision@a" {
			t.Errorf("the registry holds %q", got)
		}
		if err := b.SetMemories(t.Context(), these("Battery", "Speech")); engram.CodeOf(err) != engram.Conflict {
			t.Errorf("a memory of another server: %v", err)
		}
		time.Sleep(time.Minute) // leases are renewed, and nothing else is
		if got := names(t, l); got != "Battery@a Speech@b Vision@a" {
			t.Errorf("a minute later the registry holds %q", got)
		}
		standby := registration("c", "Vision")
		standby.Standby = true
		c, err := mns.Keep(t.Context(), l, standby)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetMemories(t.Context(), these("Vision", "World")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("while its names are another's: %v", err)
		}
	})
}

// yielding is a server that does without the memories of programs, whose names begin with P.
type yielding struct {
	elsewhere atomic.Pointer[map[string]string]
	told      atomic.Int32
}

func (*yielding) MayYield(memory string) bool { return memory[0] == 'P' }
func (y *yielding) Yielded(elsewhere map[string]string) {
	y.elsewhere.Store(&elsewhere)
	y.told.Add(1)
}

// A server goes on without what it can do without, at its beginning and where a lease was
// lost, and has it when the other server is not about to come back.
func TestKeepYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		other, err := mns.Keep(t.Context(), l, registration("b", "P1", "P2", "Vision"))
		if err != nil {
			t.Fatal(err)
		}
		y := &yielding{}
		r := registration("a", "Object", "P1", "P2", "P3")
		r.Yields = y
		wrong := r
		wrong.Memories = []string{"P1", "Vision"}
		if _, err := mns.Keep(t.Context(), l, wrong); engram.CodeOf(err) != engram.Conflict || y.told.Load() != 0 {
			t.Errorf("with a memory that it cannot do without: %v", err)
		}
		reached := &restarting{Registry: l}
		k, err := mns.Keep(t.Context(), reached, r)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		want := func(when, registered, elsewhere string, told int32) {
			t.Helper()
			if got := names(t, l); got != registered {
				t.Errorf("%s the registry holds %q, not %q", when, got, registered)
			}
			if got := fmt.Sprint(*y.elsewhere.Load()); got != elsewhere || fmt.Sprint(k.Elsewhere()) != elsewhere || k.Err() != nil || y.told.Load() != told {
				t.Errorf("%s %s is elsewhere, not %s; Err is %v, told %d times", when, got, elsewhere, k.Err(), y.told.Load())
			}
		}
		want("at first", "Object@a P1@b P2@b P3@a Vision@b", "map[P1:b P2:b]", 1)
		time.Sleep(time.Minute)
		want("a minute later", "Object@a P1@b P2@b P3@a Vision@b", "map[P1:b P2:b]", 1)
		// A program begins here, and one there: that is refused here, and taken where it is free.
		if err := k.SetMemories(t.Context(), these("Object", "P1", "P3")); engram.CodeOf(err) != engram.Conflict {
			t.Errorf("a program begins with a name that is elsewhere: %v", err)
		}
		if err := other.SetMemories(t.Context(), these("P2", "Vision")); err != nil {
			t.Fatal(err)
		}
		if err := k.SetMemories(t.Context(), these("Object", "P1", "P3")); err != nil {
			t.Errorf("a program begins with a name that is free: %v", err)
		}
		want("with the program's", "Object@a P1@a P2@b P3@a Vision@b", "map[P2:b]", 2)
		time.Sleep(10 * time.Second)
		want("renewed", "Object@a P1@a P2@b P3@a Vision@b", "map[P2:b]", 2)
		// The other server takes a name while this one is out of reach.
		reached.away.Store(true)
		time.Sleep(30 * time.Second)
		if err := other.SetMemories(t.Context(), these("P2", "P3", "Vision")); err != nil {
			t.Fatal(err)
		}
		reached.away.Store(false)
		time.Sleep(10 * time.Second)
		want("back in reach", "Object@a P1@a P2@b P3@b Vision@b", "map[P2:b P3:b]", 3)
		// It is not about to come back only when some time has passed.
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(mns.TakeoverTime / 2)
		want("when the other has just gone", "Object@a P1@a", "map[P2:b P3:b]", 3)
		time.Sleep(mns.TakeoverTime)
		want("in the end", "Object@a P1@a P2@a P3@a", "map[]", 4)
	})
}

// troubled is a registry of which some calls go wrong.
type troubled struct {
	mns.Registry
	registers, lists before
	lost             atomic.Bool // the answers of registrations are
}

// before is what happens before a call is done; nothing at first.
type before struct {
	atomic.Pointer[func(ctx context.Context) error]
}

func (b *before) call(ctx context.Context) error {
	if f := b.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func (r *troubled) Register(ctx context.Context, reg mns.Registration) (mns.Lease, error) {
	if err := r.registers.call(ctx); err != nil {
		return mns.Lease{}, err
	}
	lease, err := r.Registry.Register(ctx, reg)
	if err == nil && r.lost.Load() {
		return mns.Lease{}, engram.Errorf(engram.Unavailable, "", "the answer is lost")
	}
	return lease, err
}

func (r *troubled) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	if err := r.lists.call(ctx); err != nil {
		return mns.Entry{}, err
	}
	return r.Registry.Resolve(ctx, memory)
}

func (r *troubled) List(ctx context.Context) ([]mns.Entry, error) {
	if err := r.lists.call(ctx); err != nil {
		return nil, err
	}
	return r.Registry.List(ctx)
}

// keepYielding keeps a server "a" with Object, that yields P1 to a server "b".
func keepYielding(t *testing.T, r mns.Registry) (k, other *mns.Kept, y *yielding) {
	t.Helper()
	other, err := mns.Keep(t.Context(), r, registration("b", "P1"))
	if err != nil {
		t.Fatal(err)
	}
	y = &yielding{}
	reg := registration("a", "Object", "P1")
	reg.Yields = y
	if k, err = mns.Keep(t.Context(), r, reg); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(k.Elsewhere()); got != "map[P1:b]" {
		t.Fatalf("elsewhere is %s", got)
	}
	return k, other, y
}

// The lease is renewed however long it takes to look for names that are elsewhere.
func TestLookingForYieldedNamesCostsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &troubled{Registry: l}
		k, other, _ := keepYielding(t, r)
		defer other.Close()
		defer k.Close()
		hang := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		r.lists.Store(&hang)
		time.Sleep(time.Minute)
		if got := names(t, l); got != "Object@a P1@b" || k.Err() != nil {
			t.Errorf("the registry holds %q; Err is %v", got, k.Err())
		}
	})
}

// A copy does not make a name free while its server may be about to come back.
func TestYieldedNameOfWhichACopyIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		k, other, _ := keepYielding(t, l)
		defer k.Close()
		holder := registration("c", "Vision")
		holder.Copies = []string{"P1"}
		c, err := mns.Keep(t.Context(), l, holder)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 2 { // it comes back once
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(mns.TakeoverTime * 3 / 4)
			if got := names(t, l); got != "Object@a P1@ Vision@c" {
				t.Errorf("when the other has just gone the registry holds %q", got)
			}
			if other, err = mns.Keep(t.Context(), l, registration("b", "P1")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(mns.TakeoverTime * 2)
		if got := names(t, l); got != "Object@a P1@a Vision@c" {
			t.Errorf("in the end the registry holds %q", got)
		}
	})
}

// A name that was registered though nobody was told so is the server's own.
func TestYieldedNameWhoseRegistrationGotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &troubled{Registry: l}
		k, other, y := keepYielding(t, r)
		defer k.Close()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		r.lost.Store(true)
		if err := k.SetMemories(t.Context(), these("Object", "P1")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("the answer is lost: %v", err)
		}
		r.lost.Store(false)
		time.Sleep(10 * time.Second)
		if got := names(t, l); got != "Object@a P1@a" || len(k.Elsewhere()) != 0 || len(*y.elsewhere.Load()) != 0 || k.Err() != nil {
			t.Errorf("the registry holds %q; elsewhere is %v, Err is %v", got, k.Elsewhere(), k.Err())
		}
	})
}

// A name that comes back while a program begins with another one is not lost.
func TestProgramBeginsWhileAYieldedNameComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		r := &troubled{Registry: l}
		k, other, y := keepYielding(t, r)
		defer k.Close()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		registers, goOn := make(chan struct{}), make(chan struct{})
		var first sync.Once
		wait := func(context.Context) error {
			first.Do(func() {
				close(registers)
				<-goOn
			})
			return nil
		}
		r.registers.Store(&wait)
		<-registers // the name that is free again
		begun := make(chan error)
		go func() {
			begun <- k.SetMemories(t.Context(), func() []string {
				all := []string{"Object", "P2"}
				if (*y.elsewhere.Load())["P1"] == "" {
					all = append(all, "P1")
				}
				return all
			})
		}()
		close(goOn)
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := names(t, l); got != "Object@a P1@a P2@a" {
			t.Errorf("the registry holds %q", got)
		}
	})
}
