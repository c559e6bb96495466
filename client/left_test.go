package client_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// While a memory's server has left and no other has taken it over, whoever asks for the memory
// hears that it is unavailable, and not that there is none, or nothing in it. Who subscribes to
// it hears what the next server has.
func TestMemoryBetweenTwoServers(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	home := start(t, "home", names, names, serving.Socket(t), memory("A"))
	first := start(t, "first", names, nil, serving.Socket(t), memory("B"))
	c := connect(t, home.address)
	was, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("B")}})
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "x"), testkit.Update(t, entity("B"), 1, "x"))
	testkit.Next(t, was, 1)
	first.stop()
	testkit.Until(t, func() (string, bool) {
		entries, err := c.Names().List(t.Context())
		return "B is still listed", err == nil && len(entries) == 1
	})

	unavailable := func(what string, err error) {
		t.Helper()
		if engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = c.Names().Resolve(t.Context(), "B")
	if unavailable("its name", err); err != nil && !strings.Contains(err.Error(), `server "first" hosted the memory`) {
		t.Error(err)
	}
	_, err = c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("B"), 2, "x")}})
	unavailable("a commit", err)
	_, err = c.Latest(t.Context(), engram.MustID(entity("B")))
	unavailable("its latest snapshot", err)
	_, err = c.Describe(t.Context(), engram.MustPattern("B"))
	unavailable("its segments", err)
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("A"), 2, "x"), testkit.Update(t, entity("B"), 2, "x")}})
	if err != nil || results[0].Err != nil {
		t.Fatalf("%+v, %v", results, err)
	}
	unavailable("a commit beside another", results[1].Err)
	for memory, missing := range map[string]int{"B": 1, "A": 0, "Never": 0} {
		r, err := c.Query(t.Context(), engram.MustPattern(memory).Select(engram.All()))
		if missing > 0 && engram.CodeOf(err) == engram.Unavailable {
			continue // nobody else was asked
		}
		if err != nil || len(r.Missing) != missing || missing > 0 && (r.Missing[0].Reason != engram.MissingUnreachable || r.Missing[0].ID.Memory() != memory) {
			t.Errorf("a query of %s: %+v, %v", memory, r, err)
		}
	}
	is, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("B")}})
	if err != nil {
		t.Fatal(err)
	}
	defer is.Close()

	second := start(t, "second", names, nil, serving.Socket(t), memory("B"))
	if _, err := c.Names().Wait(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, second, testkit.Update(t, entity("B"), 3, "y"))
	for _, sub := range []engram.UpdateStream{was, is} {
		if u := testkit.Next(t, sub, 1); u[0].ID.Memory() != "B" {
			t.Errorf("told %+v", u)
		}
	}
	if got, err := c.Latest(t.Context(), engram.MustID(entity("B"))); err != nil || got.Time != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}
