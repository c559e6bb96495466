package wm_test

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// attended is what a subscription offers to those who need no goroutine for it.
type attended interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
	Attend(f func() bool) bool
}

// A writer calls who attends to a subscription once its consumer has found nothing,
// before its commit returns; and wakes the consumer if that leaves something.
func TestAttend(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	s := subscribe(t, w, engram.Subscription{WithData: true}).(attended)
	defer s.Close()
	calls, take := 0, true
	var got []uint64
	poll := func() int {
		batch, err := s.Poll()
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range batch {
			got = append(got, u.Number)
		}
		return len(batch)
	}
	if !s.Attend(func() bool {
		calls++
		if take {
			for poll() > 0 {
			}
		}
		return take
	}) {
		t.Fatal("nobody may attend")
	}
	testkit.Commit(t, w, change("a", 1, blob(10)))
	if calls != 0 {
		t.Error("called although the consumer has not looked yet")
	}
	if poll() != 1 || poll() != 0 {
		t.Fatalf("%v", got)
	}
	testkit.Commit(t, w, change("a", 2, blob(10)), change("b", 2, blob(10)))
	if calls != 1 || len(got) != 3 {
		t.Errorf("%d calls, and %v is there", calls, got)
	}
	take = false
	testkit.Commit(t, w, change("a", 3, blob(10)))
	testkit.Commit(t, w, change("a", 4, blob(10))) // the consumer knows already
	if err := s.Wait(t.Context()); err != nil || calls != 2 {
		t.Errorf("%v, %d calls", err, calls)
	}
	if poll() != 2 || poll() != 0 || len(got) != 5 || got[4] != 5 {
		t.Errorf("%v", got)
	}
	s.Close()
	if _, err := s.Poll(); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("after the end: %v", err)
	}
}

// What a consumer's own work is, a writer does not do.
func TestAttendRefused(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	for name, sub := range map[string]engram.Subscription{
		"where":  {WithData: true, Where: "true"},
		"fields": {WithData: true, Fields: []string{"value"}},
	} {
		s := subscribe(t, w, sub).(attended)
		if s.Attend(func() bool { t.Error("called"); return true }) {
			t.Errorf("%s: it may be attended to", name)
		}
		s.Close()
	}
}
