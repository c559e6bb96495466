package memories_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
)

// Marks stand by the newest snapshot of each, whatever comes in which order; there are no more than a bound, which
// ended ones make room in; and wrong ones are refused by name.
func TestMarksAtRunTime(t *testing.T) {
	s := newServer(t, memories.SystemState())
	typ, ok := memories.Type("engram.system_state.Mark")
	if !ok {
		t.Fatal("there is no such type")
	}
	set := func(name string, at engram.Time, entities string, ended bool) error {
		t.Helper()
		b, err := typ.Encode(map[string]any{"timestamp": at, "entities": entities, "note": name, "ended": ended})
		if err != nil {
			t.Fatal(err)
		}
		in := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})
		r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("SystemState/Mark/me/" + name), Time: at, Instances: []engram.Instance{in}}}})
		if err != nil {
			t.Fatal(err)
		}
		return r[0].Err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cup := engram.MustID("M/C/p/cup")
	note := func() string {
		if m := s.Values().Mark(cup); m != nil {
			return m.Note
		}
		return ""
	}
	must(set("one", 10, "M/C", false))
	must(set("two", 20, "M/*/p/~cu.", false))
	if note() != "two" || s.Values().Mark(cup).ID != engram.MustID("SystemState/Mark/me/two") {
		t.Errorf("the newest mark is told as %q", note())
	}
	must(set("two", 15, "M/C", true)) // came late: it stands since
	if note() != "two" {
		t.Errorf("what is older counts: %q", note())
	}
	must(set("two", 30, "M/C", true))
	if note() != "one" {
		t.Errorf("after it was ended: %q", note())
	}
	must(set("one", 40, "M/C/other", false))
	if note() != "" {
		t.Errorf("after it was changed: %q", note())
	}
	for entities, code := range map[string]engram.Code{"": engram.Invalid, "M/~(": engram.Invalid, "M/C/p/e/2026-01-01 00:00:00": engram.Invalid} {
		if err := set("wrong", 50, entities, false); engram.CodeOf(err) != code {
			t.Errorf("%q: %v", entities, err)
		}
	}
	var err error
	n := 1
	for ; err == nil && n < 1000; n++ {
		err = set(fmt.Sprint("m", n), 60, "M/D", false)
	}
	if engram.CodeOf(err) != engram.Exhausted || n != 257 {
		t.Errorf("mark %d: %v", n, err)
	}
	must(set("m1", 70, "M/D", true))
	must(set("again", 80, "M/C", false))
	if note() != "again" {
		t.Errorf("in the place of one that was ended: %q", note())
	}
	for i := range 600 {
		must(set(fmt.Sprint("ended", i), 90, "M/C", true))
	}
	if note() != "again" {
		t.Errorf("after many were ended: %q", note())
	}
}
