package wm

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
)

func testMemory(t *testing.T) *WM {
	t.Helper()
	w := New(Config{})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Core")}); err != nil {
		t.Fatal(err)
	}
	return w
}

var testEntity = engram.MustID("Test/Core/Provider/a")

func emptyUpdate(at engram.Time) engram.EntityUpdate {
	return engram.EntityUpdate{Entity: testEntity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{})}}
}

// TestSegmentsChangeUnderCommit changes the segments between the two halves of a
// commit, before the lock and under it: what was checked is checked again.
func TestSegmentsChangeUnderCommit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*WM) error
		want   engram.Code
	}{
		"nothing": {func(*WM) error { return nil }, 0},
		"the core segment is removed": {func(w *WM) error {
			return w.RemoveSegment(t.Context(), testEntity.Truncate(engram.LevelCoreSegment))
		}, engram.NotFound},
		"the core segment is another one": {func(w *WM) error {
			if err := w.RemoveSegment(t.Context(), testEntity.Truncate(engram.LevelCoreSegment)); err != nil {
				return err
			}
			return w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: testEntity.Truncate(engram.LevelCoreSegment), Type: "foxglove.Pose"})
		}, engram.TypeMismatch},
		"the provider segment is added without a type": {func(w *WM) error {
			return w.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: testEntity.Parent()})
		}, 0},
		"the provider segment is added with a type": {func(w *WM) error {
			return w.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: testEntity.Parent(), Type: "foxglove.Pose"})
		}, engram.TypeMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := testMemory(t)
			u := emptyUpdate(1)
			u.Instances[0].Payload.Type = engram.ValueType
			p, err := w.prepare(&u)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			err = w.storeLocked(&u, &p, nil, engram.MaxTime)
			w.mu.Unlock()
			if engram.CodeOf(err) != c.want || (p.version != nil) != (err == nil) {
				t.Errorf("storing gives %v, version %v; want %v", err, p.version, c.want)
			}
		})
	}
}

// TestAllocations bounds what the short ways allocate.
func TestAllocations(t *testing.T) {
	w := testMemory(t)
	ctx := t.Context()
	updates := []engram.EntityUpdate{emptyUpdate(0)}
	commit := func() {
		updates[0].Time++
		if results, err := w.Commit(ctx, engram.Commit{Updates: updates}); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
	}
	for range 1000 {
		commit()
	}
	if n := testing.AllocsPerRun(1000, commit); n > 4 {
		t.Errorf("a commit of one instance makes %v allocations, at most 4 are wanted", n)
	}
	read := func() {
		if _, err := w.Latest(ctx, testEntity); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AtOrBefore(ctx, testEntity, 500); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, read); n > 0 {
		t.Errorf("reading one snapshot makes %v allocations", n)
	}
}

// A commit that is given up, or meets the end of the memory, when some of it is
// stored says of each update what became of it.
func TestCommitGivenUpMidway(t *testing.T) {
	updates := make([]engram.EntityUpdate, 3*commitBatch)
	for i := range updates {
		updates[i] = emptyUpdate(engram.Time(i))
	}
	for name, c := range map[string]struct {
		stop func(*WM, context.CancelFunc)
		want engram.Code
	}{
		"given up": {func(_ *WM, cancel context.CancelFunc) { cancel() }, engram.Canceled},
		"closed":   {func(w *WM, _ context.CancelFunc) { w.Close() }, engram.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := testMemory(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := w.Subscribe(t.Context(), engram.Subscription{Slow: engram.SlowBlock, Queue: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			go func() { // the commit waits for its room after the first part
				if _, err := s.Next(t.Context()); err == nil {
					c.stop(w, cancel)
				}
			}()
			results, err := w.Commit(ctx, engram.Commit{Updates: updates})
			if err != nil || len(results) != len(updates) {
				t.Fatalf("%d results, %v; some of it was stored", len(results), err)
			}
			number, refused := w.Number(), uint64(0)
			for i, r := range results {
				stored := uint64(i) < number
				if stored != (r.Err == nil) || stored != (r.Number > 0) || !stored && engram.CodeOf(r.Err) != c.want {
					t.Errorf("update %d of which %d were stored: %+v", i, number, r)
				}
				if !stored {
					refused++
				}
			}
			if number == 0 || refused == 0 {
				t.Errorf("%d were stored and %d refused; want some of both", number, refused)
			}
			stats, err := w.Stats(t.Context(), engram.PatternOf(testEntity.Parent()), engram.LevelProviderSegment)
			if err != nil || len(stats) == 0 || stats[len(stats)-1].Refused != refused {
				t.Errorf("%+v, %v; want %d refused", stats, err, refused)
			}
		})
	}
}
