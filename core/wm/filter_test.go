package wm_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	filters "github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// costly goes through the list of [listChange] once for each of its members.
const costly = `payload.exists(a, payload.exists(b, a + b < 0.0))`

// listChange returns an update with a list of n numbers.
func listChange(t testing.TB, entity string, at, n int) engram.EntityUpdate {
	t.Helper()
	return change(entity, at, testkit.Value(t, slices.Repeat([]any{1.5}, n)))
}

// A query whose filter takes too long in all is refused, however many entities it asks of,
// in either order; and it ends when it is given up.
func TestQueryFilterBudget(t *testing.T) {
	w := memory(t, wm.Config{Limits: wm.Limits{MaxFilterSteps: 200_000}}, engram.Bounds{}, engram.Bounds{})
	defer w.Close()
	for i := range 100 {
		testkit.Commit(t, w, listChange(t, fmt.Sprint("e", i), 1, 50))
	}
	for _, order := range []engram.FilterOrder{engram.FilterThenSelect, engram.SelectThenFilter} {
		q := engram.SelectID(modelCore, engram.Latest(1))
		q.Where, q.FilterOrder = costly, order
		if _, err := w.Query(t.Context(), q); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "steps that one query may take;") {
			t.Errorf("order %d: it ends with %v", order, err)
		}
		if err := w.QueryParts(t.Context(), q, func(*engram.Result) error { return nil }); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("order %d: in parts it ends with %v", order, err)
		}
		q.Where = "size(payload) == 50"
		if r, err := w.Query(t.Context(), q); err != nil || len(r.Items()) != 100 {
			t.Errorf("order %d: a filter that is not costly gives %v", order, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Query(ctx, q); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("order %d: given up, it ends with %v", order, err)
		}
	}
}

// Subscriptions whose filters wait for their turn do not hold up writers, and end when they
// are given up or closed; what they had taken they look at later.
func TestCostlySubscriptions(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 10}, engram.Bounds{})
	defer w.Close()
	var turns []*filters.Filter // all that there are
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		f, err := w.Compiler().Filter(t.Context(), "true", testTypes, 0)
		if err == nil {
			err = f.Begin(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, f)
	}
	streams := make([]engram.UpdateStream, 100)
	for i := range streams {
		streams[i] = subscribe(t, w, engram.Subscription{Where: fmt.Sprintf("%s || %d == %d", costly, i, i), Queue: 100})
	}
	const n = 500
	for at := range n {
		testkit.Commit(t, w, listChange(t, "e", at, 20)) // nobody looks at any of it
	}
	ended := make(chan error)
	next := func(ctx context.Context, s engram.UpdateStream) {
		_, err := s.Next(ctx)
		ended <- err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go next(ctx, streams[0])
	cancel()
	if err := <-ended; engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a wait for a turn that is given up ends with %v", err)
	}
	go next(t.Context(), streams[1])
	streams[1].Close()
	if err := <-ended; engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a wait for a turn on a stream that is closed ends with %v", err)
	}
	for _, f := range turns {
		f.Yield()
	}
	for i, s := range streams {
		if i == 1 {
			continue
		}
		var got, dropped uint64
		for got < 100 {
			batch, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range batch {
				dropped += u.Dropped
				if got++; u.Number != dropped+got {
					t.Fatalf("stream %d: update %d comes after %d, and %d dropped", i, u.Number, got-1, dropped)
				}
			}
		}
		if dropped != n-100 {
			t.Errorf("stream %d: %d updates dropped, not %d", i, dropped, n-100)
		}
		s.Close()
	}
}

// A filter that nothing satisfies looks at a long past without keeping who waits for it
// from giving up, and what was not looked at comes later.
func TestFilterOfThePastGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
		defer w.Close()
		for at := range 1000 {
			testkit.Commit(t, w, listChange(t, "e", at, 5))
		}
		s := subscribe(t, w, engram.Subscription{Where: "time == timestamp('1970-01-01T00:00:00.000000999Z')", Start: engram.Start{Kind: engram.StartNumber}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Next(ctx); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("it ends with %v", err)
		}
		batch, err := s.Next(t.Context())
		if err != nil || len(batch) != 1 || batch[0].Number != 1000 || batch[0].Dropped != 0 {
			t.Errorf("%v, %v", batch, err)
		}
		s.Close()
	})
}

// What matching names costs is bounded wherever a pattern is given, and nobody who writes waits for it.
func TestNamesOfPatternsAreBounded(t *testing.T) {
	w := memory(t, wm.Config{Limits: wm.Limits{MaxFilterSteps: 2_000_000}}, engram.Bounds{}, engram.Bounds{})
	defer w.Close()
	for i := range 300 {
		testkit.Commit(t, w, change(fmt.Sprint(strings.Repeat("a", 200), i), 1, testkit.Value(t, 1)))
	}
	level := engram.MatchRegex("(?:a|b|ab){0,100}(?:a|b|ab){0,100}c")
	pattern := engram.PatternOf(modelCore)
	pattern.Levels = append(pattern.Levels, engram.AllNames(), level)
	for what, ask := range map[string]func() error{
		"a query": func() error {
			_, err := w.Query(t.Context(), pattern.Select(engram.Latest(1)))
			return err
		},
		"statistics": func() error {
			_, err := w.Stats(t.Context(), pattern, engram.LevelEntity)
			return err
		},
		"a description": func() error {
			_, err := w.Describe(t.Context(), pattern)
			return err
		},
		"a subscription to the past": func() error {
			s, err := w.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{pattern}, Start: engram.Start{Kind: engram.StartLast, N: 1}})
			if err == nil {
				s.Close()
			}
			return err
		},
	} {
		if err := ask(); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%s: %v", what, err)
		}
	}
	pattern.Levels[3] = engram.MatchRegex("a*7")
	if all, err := w.Stats(t.Context(), pattern, engram.LevelEntity); err != nil || len(all) != 1 {
		t.Errorf("statistics of one: %v, %v", all, err)
	}
	s := subscribe(t, w, engram.Subscription{Patterns: []engram.Pattern{pattern}})
	s.Close()
}
