package mns_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

func registration(server string, memories ...string) mns.Registration {
	return mns.Registration{Server: server, Memories: memories, Addresses: []string{"unix:/run/" + server}, TTL: 10 * time.Second}
}

func register(t *testing.T, r mns.Registry, reg mns.Registration) mns.Lease {
	t.Helper()
	lease, err := r.Register(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func names(t *testing.T, r mns.Registry) string {
	t.Helper()
	entries, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Memory+"@"+e.Server)
	}
	return strings.Join(all, " ")
}

func TestLeaseRunsOutUnlessRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		a := register(t, l, registration("a", "Vision"))
		b := register(t, l, registration("b", "Object"))
		time.Sleep(9 * time.Second)
		if err := l.Renew(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := names(t, l); got != "Vision@a" {
			t.Errorf("11 s after registering, 2 s after renewing a: %q", got)
		}
		if err := l.Renew(t.Context(), b.ID); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("renewing an expired lease: %v", err)
		}
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if got := names(t, l); got != "" {
			t.Errorf("10 s after the last renewal: %q", got)
		}
	})
}

func TestTwoServersCannotClaimOneName(t *testing.T) {
	l := mns.NewLocal()
	defer l.Close()
	register(t, l, registration("a", "Vision", "Speech"))
	_, err := l.Register(t.Context(), registration("b", "Object", "Speech"))
	if engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), "Speech") {
		t.Errorf("a second claim of Speech: %v; want a Conflict that names Speech and server a", err)
	}
	if got := names(t, l); got != "Speech@a Vision@a" {
		t.Errorf("after a refused registration the registry holds %q", got)
	}
}

// A server that was killed and started again must not wait for its own old lease.
func TestSameServerRegistersAgain(t *testing.T) {
	l := mns.NewLocal()
	defer l.Close()
	old := register(t, l, registration("a", "Vision", "Speech"))
	renewed := register(t, l, registration("a", "Vision", "Object"))
	if got := names(t, l); got != "Object@a Vision@a" {
		t.Errorf("registered: %q", got)
	}
	if err := l.Renew(t.Context(), old.ID); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("renewing the lease that was replaced: %v", err)
	}
	if err := l.Release(t.Context(), old.ID); err != nil {
		t.Error(err)
	}
	if got := names(t, l); got != "Object@a Vision@a" {
		t.Errorf("after releasing the lease that was replaced: %q", got)
	}
	if err := l.Release(t.Context(), renewed.ID); err != nil {
		t.Error(err)
	}
	if got := names(t, l); got != "" {
		t.Errorf("after release: %q", got)
	}
}

func TestRegistrationIsChecked(t *testing.T) {
	l := mns.NewLocal()
	defer l.Close()
	many := make([]string, mns.MaxMemories+1)
	for i := range many {
		many[i] = "m" + strings.Repeat("x", i)
	}
	for _, tt := range []struct {
		name   string
		change func(*mns.Registration)
		want   engram.Code
	}{
		{"no server", func(r *mns.Registration) { r.Server = "" }, engram.Invalid},
		{"no memory", func(r *mns.Registration) { r.Memories = nil }, engram.Invalid},
		{"no address", func(r *mns.Registration) { r.Addresses = nil }, engram.Invalid},
		{"empty address", func(r *mns.Registration) { r.Addresses = []string{""} }, engram.Invalid},
		{"huge address", func(r *mns.Registration) { r.Addresses = []string{strings.Repeat("a", mns.MaxText+1)} }, engram.Invalid},
		{"many memories", func(r *mns.Registration) { r.Memories = many }, engram.Exhausted},
		{"many addresses", func(r *mns.Registration) { r.Addresses = many[:mns.MaxAddresses+1] }, engram.Exhausted},
		{"bad name", func(r *mns.Registration) { r.Memories = []string{"a\x00b"} }, engram.Invalid},
	} {
		r := registration("a", "Vision")
		tt.change(&r)
		if _, err := l.Register(t.Context(), r); engram.CodeOf(err) != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.want)
		}
	}
	if got := names(t, l); got != "" {
		t.Errorf("refused registrations left %q", got)
	}
}

func TestWaitForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		if _, err := l.Resolve(t.Context(), "Vision"); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("resolving an unknown name: %v", err)
		}
		got := make(chan mns.Entry, 1)
		go func() {
			e, err := l.Wait(t.Context(), "Vision")
			if err != nil {
				t.Error(err)
			}
			got <- e
		}()
		synctest.Wait()
		register(t, l, registration("other", "Object"))
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("Wait returned for another name")
		}
		register(t, l, registration("a", "Vision"))
		if e := <-got; e.Server != "a" || !slices.Equal(e.Addresses, []string{"unix:/run/a"}) {
			t.Errorf("waited for Vision, got %+v", e)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Wait(short, "Speech"); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("a wait past its deadline: %v", err)
		}
	})
}

func TestWatchTellsAllThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		register(t, l, registration("a", "Vision"))
		var events []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range l.Watch(t.Context()) {
				switch {
				case err != nil:
					events = append(events, engram.CodeOf(err).String())
				case e.Synced:
					events = append(events, "synced")
				case e.Removed:
					events = append(events, "-"+e.Entry.Memory)
				default:
					events = append(events, "+"+e.Entry.Memory+"@"+e.Entry.Server)
				}
			}
		}()
		synctest.Wait()
		b := register(t, l, registration("b", "Object", "Speech"))
		synctest.Wait()
		if err := l.Release(t.Context(), b.ID); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		time.Sleep(11 * time.Second) // a's lease runs out
		synctest.Wait()
		l.Close()
		<-done
		want := "+Vision@a synced +Object@b +Speech@b -Object -Speech -Vision unavailable"
		if got := strings.Join(events, " "); got != want {
			t.Errorf("watched %q\n   want %q", got, want)
		}
	})
}
