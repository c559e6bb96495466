package resume

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

var entity = engram.MustID("A/B/C/d")

func updates(numbers ...uint64) (batch []engram.Update) {
	for _, n := range numbers {
		batch = append(batch, engram.Update{Number: n, ID: entity.At(engram.Time(n))})
	}
	return batch
}

func numbers(batch []engram.Update) (ns []uint64) {
	for _, u := range batch {
		ns = append(ns, u.Number)
	}
	return ns
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Where a subscription goes on after it broke, by how it began and what it saw.
func TestRequest(t *testing.T) {
	last := engram.Start{Kind: engram.StartLast, N: 3}
	for name, c := range map[string]struct {
		start     engram.Start
		hasNumber bool
		seen      []uint64
		want      engram.Start
	}{
		"now, nothing seen":              {engram.Start{}, true, nil, engram.Start{Kind: engram.StartNumber, Number: 10, Epoch: 7}},
		"now, of an unknown number":      {engram.Start{}, false, nil, engram.Start{}},
		"now, something seen":            {engram.Start{}, true, []uint64{11, 12}, engram.Start{Kind: engram.StartNumber, Number: 12, Epoch: 7}},
		"last, nothing seen":             {last, true, nil, last},
		"last, something seen":           {last, true, []uint64{4}, engram.Start{Kind: engram.StartNumber, Number: 4, Epoch: 7}},
		"from a number, nothing seen":    {engram.Start{Kind: engram.StartNumber, Number: 2}, true, nil, engram.Start{Kind: engram.StartNumber, Number: 2, Epoch: 7}},
		"from a time, something seen":    {engram.Start{Kind: engram.StartTime, Time: 3}, true, []uint64{5}, engram.Start{Kind: engram.StartNumber, Number: 5, Epoch: 7}},
		"now, what was seen comes again": {engram.Start{}, true, []uint64{11, 11, 10, 9}, engram.Start{Kind: engram.StartNumber, Number: 11, Epoch: 7}},
	} {
		s := New(engram.Subscription{Start: c.start, WithData: true})
		s.Begun(7, 10, c.hasNumber)
		s.Deliver(updates(c.seen...))
		got := s.Request()
		if got.Start != c.want || !got.WithData {
			t.Errorf("%s: goes on from %+v, want %+v", name, got.Start, c.want)
		}
	}
}

// After a resumption nothing comes twice, losses add up, and backfill stays within
// the time that was asked for.
func TestDeliver(t *testing.T) {
	s := New(engram.Subscription{Start: engram.Start{Kind: engram.StartTime, Time: 3}})
	s.Begun(7, 4, true)
	if got := numbers(s.Deliver(updates(3, 4))); !equal(got, []uint64{3, 4}) {
		t.Errorf("delivered %v", got)
	}
	s.Begun(7, 6, true)
	again := updates(3, 4, 5)
	again[1].Dropped, again[2].Dropped = 2, 1
	got := s.Deliver(again)
	if !equal(numbers(got), []uint64{5}) || got[0].Dropped != 3 || got[0].Restarted {
		t.Errorf("delivered %+v, want update 5 after 3 losses", got)
	}

	s = New(engram.Subscription{Start: engram.Start{Kind: engram.StartTime, Time: 3}})
	s.Begun(7, 4, true)
	backfill := updates(1, 2, 3, 4, 5)
	backfill[4].ID = entity.At(1) // late data, committed after the subscription began
	if got := numbers(s.Deliver(backfill)); !equal(got, []uint64{3, 4, 5}) {
		t.Errorf("delivered %v, want what is not before the time or came after the beginning", got)
	}
}

// A server's new epoch begins its numbers again, and its first update says so.
func TestNewLife(t *testing.T) {
	for name, restart := range map[string]func(*State){
		"found with another epoch": func(s *State) { s.Begun(8, 0, true) },
		"refused with conflict":    func(s *State) { s.NewEpoch(); s.Begun(8, 0, true) },
	} {
		s := New(engram.Subscription{})
		s.Begun(7, 10, true)
		s.Deliver(updates(11))
		restart(s)
		got := s.Deliver(updates(1, 2))
		if !equal(numbers(got), []uint64{1, 2}) || !got[0].Restarted || got[1].Restarted || s.Epoch() != 8 {
			t.Errorf("%s: delivered %+v in epoch %d", name, got, s.Epoch())
		}
	}
}
