package wm

import (
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
