package mns_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram/fleet/mns"
)

// Where copies are is in the entries of the copied memories, whether those are there
// or not, and follows the registrations of the holders.
func TestCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mns.NewLocal()
		defer l.Close()
		register(t, l, registration("a", "Vision"))
		r := registration("b", "Object")
		r.Copies = []string{"Vision", "robot1:Object"}
		k, err := mns.Keep(t.Context(), l, r)
		if err != nil {
			t.Fatal(err)
		}
		held := func(memory string) string {
			e, err := l.Resolve(t.Context(), memory)
			if err != nil {
				return "not found"
			}
			text := e.Server + "|"
			for _, c := range e.Copies {
				text += c.Server + "=" + c.Memory
			}
			return text
		}
		for memory, want := range map[string]string{"Vision": "a|b=Vision", "robot1:Object": "|b=robot1:Object", "Object": "b|"} {
			if got := held(memory); got != want {
				t.Errorf("%s is at %s, want %s", memory, got, want)
			}
		}
		k.SetCopies([]string{"robot1:Vision"})
		synctest.Wait()
		for memory, want := range map[string]string{"Vision": "a|", "robot1:Object": "not found", "robot1:Vision": "|b=robot1:Vision"} {
			if got := held(memory); got != want {
				t.Errorf("after the change %s is at %s, want %s", memory, got, want)
			}
		}
		time.Sleep(time.Minute) // the lease of a has run out
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if got := names(t, l); got != "" {
			t.Errorf("in the end the registry holds %q", got)
		}
	})
}

func TestForeign(t *testing.T) {
	e := mns.Entry{Memory: "robot1:Object", Robot: "robot1"}
	own := mns.Entry{Memory: "Object", Robot: "robot1"}
	odd := mns.Entry{Memory: "robot1", Robot: "robot1"}
	if !e.Foreign() || e.Local() != "Object" || own.Foreign() || own.Local() != "Object" || odd.Foreign() {
		t.Errorf("%v %v %v", e.Local(), own.Local(), odd.Local())
	}
}

// On the own robot a memory has two names.
func TestOwnRobotsName(t *testing.T) {
	l := mns.NewLocalOf("robot1")
	defer l.Close()
	register(t, l, registration("a", "Vision"))
	for _, name := range []string{"Vision", "robot1:Vision"} {
		for how, find := range map[string]func() (mns.Entry, error){
			"resolved":   func() (mns.Entry, error) { return l.Resolve(t.Context(), name) },
			"waited for": func() (mns.Entry, error) { return l.Wait(t.Context(), name) },
		} {
			if e, err := find(); err != nil || e.Memory != "Vision" || e.Robot != "robot1" {
				t.Errorf("%s: %s is %+v, %v", how, name, e, err)
			}
		}
	}
}
