package wm

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// TestEndedSubscriptionsAreForgotten has many subscriptions come and go: an entity
// that is written to does not keep them.
func TestEndedSubscriptionsAreForgotten(t *testing.T) {
	w := New(Config{})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core")}); err != nil {
		t.Fatal(err)
	}
	entity := engram.MustID("Test/Core/Provider/a")
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
		u := engram.EntityUpdate{Entity: entity, Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(engram.Payload{})}}
		if _, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if n := len(w.entity(entity).matches.list); n > 2 {
		t.Errorf("the entity knows %d subscriptions, two lived when it was last written to", n)
	}
	if n := len(w.mu.feed.subscriptions); n != 1 {
		t.Errorf("the feed knows %d subscriptions, one is alive", n)
	}
}
