package server

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	links "github.com/seed-301d4374/engram/link/service"
)

// What is linked with what is asked for stays, though nobody asks for it: what it links to,
// and, where links are indexed, what links to it.
func TestLinkedStays(t *testing.T) {
	s, err := New(Config{Memories: []Memory{{
		Name: "M", ByValue: true, Bounds: engram.Bounds{MaxCount: 100},
		Segments: []engram.CoreSegment{{ID: engram.MustID("M/Any")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	to := func(id string) any { return map[string]any{"to": engram.MustID(id)} }
	for _, err := range s.Links().BackLinks(t.Context(), links.BackQuery{Target: engram.MustID("M/Any/p/cup")}) { // fills the index
		if err != nil {
			t.Fatal(err)
		}
	}
	testkit.Commit(t, s, testkit.Update(t, "M/Any/p/table", 1, "a table"), testkit.Update(t, "M/Any/p/note", 1, to("M/Any/p/cup")),
		testkit.Update(t, "M/Any/p/lonely", 1, "nobody asks for it"), testkit.Update(t, "M/Any/p/cup", 1, to("M/Any/p/table")))
	testkit.Until(t, func() (string, bool) {
		for _, f := range s.Indexes().Figures() {
			if f.Name == linkIndex {
				return fmt.Sprintf("the index of links: %+v", f), f.Ready && f.Behind == 0
			}
		}
		return "there is no index of links", false
	})
	for i := range 2000 {
		testkit.Commit(t, s, testkit.Update(t, fmt.Sprint("M/Any/p/other", i), 1, "something"))
		if _, err := s.Latest(t.Context(), engram.MustID("M/Any/p/cup")); err != nil {
			t.Fatalf("after %d others: %v", i, err)
		}
		if i%20 == 0 {
			associateOnce(s)
		}
	}
	there := func(entity string) bool {
		_, err := s.wm.Latest(t.Context(), engram.MustID("M/Any/p/"+entity))
		return err == nil
	}
	for entity, want := range map[string]bool{"cup": true, "table": true, "note": true, "lonely": false} {
		if there(entity) != want {
			t.Errorf("%s is there: %v", entity, !want)
		}
	}
}
