package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// costly is an expression that takes at least a step for each two items.
const costly = `payload.exists(a, payload.exists(b, a + b < 0.0))`

var thing = engram.MustID("M/C/P/e")

// listOf returns a snapshot with a list of n numbers.
func listOf(t testing.TB, at engram.Time, n int) *engram.Snapshot {
	t.Helper()
	list := testkit.Value(t, slices.Repeat([]any{1.5}, n))
	return &engram.Snapshot{Time: at, Number: uint64(at), Instances: []engram.Instance{engram.NewInstance(list)}}
}

func newFilter(t testing.TB, c *Compiler, ctx context.Context, types *idf.Registry, where string, budget int64) *Filter {
	t.Helper()
	f, err := c.Filter(ctx, where, types, budget)
	if err != nil {
		t.Fatal(err)
	}
	f.Entity(thing)
	return f
}

// A filter ends when its budget is used up, and says whose it was and what helps.
func TestFilterBudget(t *testing.T) {
	types := idf.NewRegistry()
	f := newFilter(t, NewCompiler(""), t.Context(), types, costly, 100_000)
	looked := 0
	for f.Err() == nil {
		if looked++; looked > 100 {
			t.Fatal("it never ends")
		}
		f.Snapshot(listOf(t, engram.Time(looked), 50))
	}
	if looked < 3 {
		t.Errorf("it ends after %d snapshots", looked)
	}
	if err := f.Err(); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "100000") || !strings.Contains(err.Error(), "steps that one query may take;") {
		t.Errorf("it ends with %v", err)
	}
	if f.Failures() != 0 {
		t.Errorf("%+v is said to have failed", f.Failed())
	}
}

// What is too costly on one snapshot fails there, and the others are looked at.
func TestFilterTooCostlyForOne(t *testing.T) {
	types := idf.NewRegistry()
	f := newFilter(t, NewCompiler(""), t.Context(), types, "!"+costly, 0)
	if f.Snapshot(listOf(t, 1, 1200)) != nil || f.Snapshot(listOf(t, 2, 3)) == nil || f.Err() != nil {
		t.Errorf("one of two is too costly: %v", f.Err())
	}
	if m := f.Failed(); m.Count != 1 || m.ID != thing || !strings.Contains(m.Detail, "steps") || m.Interval != (engram.Interval{Start: 1, End: 2}) {
		t.Errorf("what failed is %+v", m)
	}
}

// A failure that is met twice counts once, and failures of several entities are told below
// what they have in common.
func TestFilterFailures(t *testing.T) {
	types := idf.NewRegistry()
	f := newFilter(t, NewCompiler(""), t.Context(), types, "nope == 1", 0)
	for range 2 {
		for at := range engram.Time(3) {
			f.Snapshot(listOf(t, at+5, 1))
		}
	}
	if m := f.Failed(); m.Count != 3 || m.ID != thing || m.Interval != (engram.Interval{Start: 5, End: 8}) {
		t.Errorf("what failed is %+v", m)
	}
	f.Entity(engram.MustID("M/C/Q/e"))
	f.Snapshot(listOf(t, 5, 1))
	if m := f.Failed(); m.Count != 4 || m.ID != engram.MustID("M/C") || m.Example != thing.At(5).Instance(0) {
		t.Errorf("what failed is %+v", m)
	}
	unknown := listOf(t, 9, 1)
	unknown.Instances[0].Payload.Type = "acme.Unknown"
	if f.Snapshot(unknown); f.Failures() != 5 {
		t.Errorf("a type that is not known is not told: %+v", f.Failed())
	}
}

// A filter is given up amid one evaluation, and in between.
func TestFilterGivenUp(t *testing.T) {
	types := idf.NewRegistry()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFilter(t, NewCompiler(""), ctx, types, costly, 0)
	cancel()
	if f.Snapshot(listOf(t, 1, 500)); engram.CodeOf(f.Err()) != engram.Canceled {
		t.Errorf("it ends with %v", f.Err())
	}
	over := make(chan struct{})
	f = newFilter(t, NewCompiler(""), t.Context(), types, costly, 0)
	if err := f.Begin(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	close(over)
	if f.Snapshot(listOf(t, 1, 500)); engram.CodeOf(f.Err()) != engram.Canceled {
		t.Errorf("it ends with %v", f.Err())
	}
	f.Yield()
	if err := f.Begin(t.Context(), nil); err != nil || f.Snapshot(listOf(t, 1, 5)) != nil || f.Err() != nil {
		t.Errorf("it does not go on afterwards: %v, %v", err, f.Err())
	}
	f.Yield()
}

// Of filters that take long no more are evaluated at once than there are turns, and each
// comes to its turn.
func TestFiltersTakeTurns(t *testing.T) {
	types, c := idf.NewRegistry(), NewCompiler("")
	c.gate = make(gate, 2)
	s := listOf(t, 1, 150)
	var at, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			f := newFilter(t, c, t.Context(), types, fmt.Sprintf("%s || %d == -1", costly, i), 0)
			pause := f.meter.Pause
			f.meter.Pause = func() error {
				at.Add(-1)
				err := pause()
				n := at.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				return err
			}
			if err := f.take(); err != nil {
				t.Error(err)
				return
			}
			at.Add(1)
			for range 3 {
				f.Snapshot(s)
			}
			at.Add(-1)
			f.Yield()
			if f.Err() != nil {
				t.Error(f.Err())
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n < 1 || n > 2 {
		t.Errorf("%d filters were evaluated at once", n)
	}
}
