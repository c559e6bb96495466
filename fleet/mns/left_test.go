package mns_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// A name whose server has left is unavailable for as long as a takeover may take, however the
// server left; then nobody hosts it, unless another one has taken it over.
func TestNameWhoseServerHasLeft(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, l *mns.Local, lease uint64){
		"released": func(t *testing.T, l *mns.Local, lease uint64) {
			if err := l.Release(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		},
		"expired": func(*testing.T, *mns.Local, uint64) { time.Sleep(10 * time.Second) },
		"given up": func(t *testing.T, l *mns.Local, _ uint64) {
			register(t, l, registration("a", "Speech"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := mns.NewLocalOf("robot1")
				defer l.Close()
				is := func(want engram.Code, words ...string) {
					t.Helper()
					synctest.Wait()
					for _, m := range []string{"Vision", "robot1:Vision"} {
						_, err := l.Resolve(t.Context(), m)
						if engram.CodeOf(err) != want {
							t.Errorf("%s: %v, want %v", m, err, want)
						}
						for _, w := range words {
							if err != nil && !strings.Contains(err.Error(), w) {
								t.Errorf("%v: it does not say %q", err, w)
							}
						}
					}
				}
				is(engram.NotFound)
				leave(t, l, register(t, l, registration("a", "Vision")).ID)
				is(engram.Unavailable, `server "a" hosted the memory until a moment ago`)
				time.Sleep(3 * time.Second)
				is(engram.Unavailable, `server "a" hosted the memory until 3 s ago`, "try again")
				b := registration("b", "Vision")
				b.TTL = mns.TakeoverTime
				register(t, l, b)
				is(0)
				time.Sleep(mns.TakeoverTime)
				is(engram.Unavailable, `server "b"`)
				time.Sleep(mns.TakeoverTime - time.Nanosecond)
				is(engram.Unavailable, "15 s ago")
				time.Sleep(time.Nanosecond)
				is(engram.NotFound, "no memory of this name")
			})
		})
	}
}

// Who waits for a name whose server has left gets the next one's.
func TestWaitForATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		a := register(t, l, registration("a", "Vision"))
		b := registration("b", "Vision")
		b.Standby = true
		k, err := mns.Keep(t.Context(), l, b)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if err := l.Release(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		if e, err := l.Wait(t.Context(), "Vision"); err != nil || e.Server != "b" {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// Who has left is remembered of a bounded number of names: of those that left last.
func TestDeparturesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d mns.Departures
		d.Note("Twice", "a")
		for i := range mns.MaxEntries {
			d.Note(fmt.Sprint("m", i), "a")
		}
		if d.Of("Twice") != nil || d.Of("m0") == nil {
			t.Error("not the oldest one is forgotten")
		}
		d.Note("m0", "b")
		d.Note("x", "b")
		if l := d.Of("m0"); l == nil || l.Server != "b" || d.Of("m1") != nil || d.Of("m2") == nil {
			t.Error("what left again counts as old")
		}
		time.Sleep(mns.TakeoverTime)
		if d.Of("m2") != nil || d.Of("m0") != nil {
			t.Error("what is too old is remembered")
		}
	})
}
