package wm

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
)

// TestEndedSubscriptionsAreForgotten has many subscriptions come and go: an entity
// that is written to does not keep them.
func TestEndedSubscriptionsAreForgotten(t *testing.T) {
	w := testMemory(t)
	kept, err := w.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for i := range 50 {
		s, err := w.Subscribe(t.Context(), engram.Subscription{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{emptyUpdate(engram.Time(i))}}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if n := len(w.entity(testEntity).matches.list); n > 2 {
		t.Errorf("the entity knows %d subscriptions, two lived when it was last written to", n)
	}
	if n := len(w.mu.feed.subscriptions); n != 1 {
		t.Errorf("the feed knows %d subscriptions, one is alive", n)
	}
}

// What entities remember of the subscriptions that match them is counted, goes with them,
// and is bounded; what is beyond is matched each time.
func TestMatchesAreBounded(t *testing.T) {
	w := testMemory(t)
	for range 3 {
		s, err := w.Subscribe(t.Context(), engram.Subscription{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	core := testEntity.Truncate(engram.LevelCoreSegment)
	commit := func(name string, at engram.Time) {
		u := emptyUpdate(at)
		u.Entity = core
		for _, n := range []string{"p", name} {
			u.Entity, _ = u.Entity.Child(n)
		}
		results, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		commit(fmt.Sprint("e", i), 1)
	}
	if n := w.mu.feed.matched; n != 30 {
		t.Errorf("%d matches of 3 subscriptions and 10 entities", n)
	}
	if err := w.RemoveSegment(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: core}); err != nil {
		t.Fatal(err)
	}
	if n := w.mu.feed.matched; n != 0 {
		t.Errorf("%d matches without entities", n)
	}
	s, err := w.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w.mu.feed.matched = maxMatches
	commit("late", 1)
	if n := w.mu.feed.matched; n != maxMatches {
		t.Errorf("%d matches, at most %d are kept", n, maxMatches)
	}
	updates, err := s.(*subscription).Poll()
	if err != nil || len(updates) != 1 {
		t.Errorf("who matched beyond the bound got %v, %v", updates, err)
	}
}
