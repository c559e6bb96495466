package ltm_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

func noPart(*engram.Result) error { return nil }

// Numbers are taken out of whole payloads: a query that leaves something of these out is refused, as is one that cannot be
// answered by calls.
func TestNumbersThatCannotBeTaken(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	const cup = "Test/Volatile/p/cup"
	for i := range 6 { // some are on disk alone
		l.commit(t, cup, engram.Time(i), map[string]any{"a": i, "b": i})
	}
	take := func(engram.Time, []float64) error { return nil }
	ask := func(change func(*engram.Query)) error {
		q := engram.SelectID(engram.MustID(cup), engram.All())
		q.Numbers = &engram.Numbers{Paths: []string{"a"}, Take: take}
		change(&q)
		return l.QueryParts(t.Context(), q, noPart)
	}
	if err := ask(func(*engram.Query) {}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*engram.Query){
		"fields":           func(q *engram.Query) { q.Fields = []string{"b"} },
		"without payloads": func(q *engram.Query) { q.WithoutPayload = true },
		"nobody takes":     func(q *engram.Query) { q.Numbers.Take = nil },
		"instance -1":      func(q *engram.Query) { q.Numbers.Instance = -1 },
	} {
		if err := ask(change); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	q := engram.SelectID(engram.MustID(cup), engram.All())
	q.Numbers = &engram.Numbers{Paths: []string{"a"}, Take: take}
	if _, err := l.Query(t.Context(), q); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("at once: %v", err)
	}
}

// Who may not see an entity gets no number of it, and no type, also from disk.
func TestNumbersWithinAScope(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	for _, e := range []string{"Test/Volatile/p/cup", "Test/Volatile/p/mug"} {
		for i := range 6 {
			l.commit(t, e, engram.Time(i), i)
		}
	}
	ctx := engram.WithScope(t.Context(), without{engram.MustID("Test/Volatile/p/mug")})
	for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM, engram.TargetWM} {
		for _, sel := range []engram.SnapshotSelector{engram.All(), engram.In(engram.Interval{Start: 0, End: 10})} {
			for entity, want := range map[string]bool{"cup": true, "mug": false} {
				taken, met := 0, 0
				q := engram.SelectID(engram.MustID("Test/Volatile/p/"+entity), sel)
				q.Target = target
				q.Numbers = &engram.Numbers{Paths: []string{""}, Take: func(engram.Time, []float64) error { taken++; return nil }, Met: func(string) { met++ }}
				if err := l.QueryParts(ctx, q, noPart); err != nil || taken > 0 != want || met > 0 != want {
					t.Errorf("target %v, %v: of the %s %d rows, %d types, %v", target, sel, entity, taken, met, err)
				}
			}
		}
	}
}

// What is evicted while rows are given on is read from disk: each row is given once.
func TestNumbersWhileOthersAreEvicted(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	const n, cup = 6000, "Test/Many/p/cup"
	if err := l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Many"), History: engram.Bounds{MaxCount: n}}); err != nil {
		t.Fatal(err)
	}
	commit := func(from, to int) {
		for i := from; i < to; i++ {
			l.commit(t, cup, engram.Time(i), i)
		}
	}
	commit(0, n+100) // so that the disk is asked
	next := 0
	q := engram.SelectID(engram.MustID(cup), engram.In(engram.Interval{Start: 0, End: 10 * n}))
	q.Numbers = &engram.Numbers{Paths: []string{""}, Take: func(at engram.Time, row []float64) error {
		if next == 0 {
			commit(n+100, 2*n+200)
		}
		if int(at) != next || row[0] != float64(next) {
			return fmt.Errorf("%v at %d instead of %d", row, at, next)
		}
		next++
		return nil
	}}
	err := l.QueryParts(t.Context(), q, func(r *engram.Result) error {
		return fmt.Errorf("%+v are missing", r.Missing)
	})
	if err != nil || next < n+100 {
		t.Errorf("%d rows, %v", next, err)
	}
}
