package ltm_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// shared makes a store of a few sealed episodes that all hold something of each entity:
// its snapshots have the times 0 to episodes·each−1.
func shared(t testing.TB, o ltm.Options, episodes, each int, entities ...string) *life {
	t.Helper()
	l := begin(t, o)
	for i := range episodes * each {
		for _, e := range entities {
			l.commit(t, e, engram.Time(i), marker(e, engram.Time(i), 0))
		}
		if (i+1)%each == 0 {
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// asked is a question about an entity with snapshots at the times 0 to n−1, and its answer.
type asked struct {
	sel  engram.SnapshotSelector
	want []engram.Time
}

func questions(n int) []asked {
	last, mid := engram.Time(n-1), engram.Time(n/2)
	times := func(from, to int) (list []engram.Time) {
		for i := from; i < to; i++ {
			list = append(list, engram.Time(i))
		}
		return list
	}
	return []asked{
		{engram.All(), times(0, n)},
		{engram.Latest(1), times(n-1, n)},
		{engram.Latest(n / 2), times(n-n/2, n)},
		{engram.At(mid), times(n/2, n/2+1)},
		{engram.AtOrBefore(mid), times(n/2, n/2+1)},
		{engram.AtOrBefore(last + 1000), times(n-1, n)},
		{engram.Nearest(-5, time.Second), times(0, 1)},
		{engram.In(engram.Interval{Start: 1, End: mid}), times(1, n/2)},
		{engram.Indices(3, n-4), times(3, n-3)},
		{engram.Indices(-n, -1), times(0, n)},
	}
}

// Who reads one thing misses nothing of it, and is told of no loss, whatever else is
// forgotten, sealed, taken together, thinned and dropped meanwhile.
func TestReadersSeeOneVersion(t *testing.T) {
	const episodes, each = 6, 60
	const n = episodes * each
	const read, gone, spare = "Test/Volatile/p/read", "Test/Volatile/p/gone", "Test/Volatile/p/spare"
	l := shared(t, ltm.Options{Dir: fastDir(t), CacheBytes: 1 << 20}, episodes, each, read, gone)
	asOf := engram.Now()
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	ask := func(target engram.Target, asOf *engram.Time) {
		for i := 0; ctx.Err() == nil; i++ {
			a := questions(n)[i%len(questions(n))]
			q := engram.SelectID(engram.MustID(read), a.sel)
			q.Target, q.AsOf = target, asOf
			var got []engram.Time
			err := l.QueryParts(t.Context(), q, func(r *engram.Result) error {
				for item := range r.All() {
					got = append(got, item.Time)
					if value(t, item.Snapshot) != marker(read, item.Time, 0) {
						t.Errorf("%v holds %v", item.ID, value(t, item.Snapshot))
					}
				}
				for _, m := range r.Missing {
					t.Errorf("target %v, %+v: told to be missing: %+v", target, a.sel, m)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%+v: %v", a.sel, err)
			}
			if !slices.Equal(got, a.want) {
				t.Errorf("target %v, %+v: %d snapshots, want %d", target, a.sel, len(got), len(a.want))
			}
			if t.Failed() {
				return
			}
		}
	}
	for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
		readers.Go(func() { ask(target, nil) })
		readers.Go(func() { ask(target, &asOf) })
	}
	readers.Go(func() {
		for ctx.Err() == nil && !t.Failed() {
			stats, err := l.Stats(t.Context(), engram.PatternOf(engram.MustID(read)), engram.LevelEntity, nil)
			if err != nil || len(stats) != 1 || stats[0].Disk.Snapshots != n {
				t.Errorf("the statistics tell of %+v, %v; %d snapshots are on disk", stats, err, n)
			}
		}
	})
	readers.Go(func() { // a copy that catches up
		for ctx.Err() == nil {
			h := l.History(l.wm.Epoch(), func(id engram.ID) bool { return id == engram.MustID(read) }, 0, math.MaxUint64)
			next := engram.Time(0)
			for {
				_, more, err := h.Peek(t.Context())
				if err != nil || !more {
					if err != nil {
						t.Error(err)
					}
					break
				}
				s, err := h.Take(t.Context())
				if err != nil || s == nil || s.Time != next {
					t.Errorf("the history comes to %v after %d others, %v", s, next, err)
					break
				}
				next++
			}
			if damaged := h.Damaged(); next != n || len(damaged) > 0 {
				t.Errorf("the history has %d of %d, damaged %+v", next, n, damaged)
			}
			h.Close()
			if t.Failed() {
				return
			}
		}
	})
	chance := rand.New(rand.NewPCG(1, 2))
	steps := testkit.Repeats(15, 40)
	left := map[engram.Time]bool{}
	for i := range n {
		left[engram.Time(i)] = true
	}
	for step := 0; step < steps && !t.Failed(); step++ {
		at := engram.Time(chance.IntN(n))
		forget(t, l, ltm.Forgetting{IDs: []engram.ID{engram.MustID(gone).At(at)}, Why: "test"})
		delete(left, at)
		switch step % 4 {
		case 0:
			l.commit(t, spare, engram.Time(step), fmt.Sprintf("%01000d", step))
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		case 1:
			if _, err := l.Compact(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
		case 2:
			forget(t, l, ltm.Forgetting{Patterns: patterns(spare), Why: "test"})
		case 3:
			if _, err := l.Forget(t.Context(), ltm.Forgetting{Due: true}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	readers.Wait()
	got, missing := l.times(t, gone, engram.TargetLTM, engram.All())
	if len(got) != len(left) || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten || missing[0].Count != uint64(n-len(left)) {
		t.Errorf("of %s %d are left, want %d; missing %+v", gone, len(got), len(left), missing)
	}
}

// What is forgotten is seen whole, by who began before, or told to be forgotten: never a
// part of each. That holds from the moment the order is noted, however long it takes to
// be carried out, and when that fails.
func TestForgottenAtOnce(t *testing.T) {
	const episodes, each = 8, 50
	const n = episodes * each
	const secret, other = "Test/Logged/p/secret", "Test/Volatile/p/other"
	for _, target := range []engram.Target{engram.TargetLTM, engram.TargetBoth} {
		l := shared(t, ltm.Options{Dir: fastDir(t)}, episodes, each, secret, other)
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		whole, gone := 0, 0
		began := make(chan struct{})
		readers.Go(func() {
			first := sync.OnceFunc(func() { close(began) })
			for last := false; !last; {
				last = ctx.Err() != nil // it begins when all is forgotten
				got, missing := l.times(t, secret, target, engram.All())
				told := uint64(0)
				for _, m := range missing {
					if m.Reason != engram.MissingForgotten {
						t.Errorf("target %v: missing %+v", target, m)
					}
					told += m.Count
				}
				switch {
				case len(got) == n && told == 0:
					whole++
				case len(got) == 0 && told == n:
					gone++
				default:
					t.Errorf("target %v: %d of %d are seen, %d told to be forgotten: %+v", target, len(got), n, told, missing)
					return
				}
				first()
			}
		})
		<-began
		forget(t, l, ltm.Forgetting{Patterns: patterns(secret), Why: "test"})
		stop()
		readers.Wait()
		if whole == 0 || gone == 0 {
			t.Errorf("target %v: seen whole %d times, gone %d times", target, whole, gone)
		}
		l.wantTimes(t, "of others", other, target, engram.Latest(1), n-1)
	}
}

// An order that a crash interrupts is about what is in the log alone, too, and what that
// brings back is found by nobody.
func TestForgottenInTheLog(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Synced/p/cup"
	l.commit(t, cup, 1, marker(cup, 1, 0))
	l.commit(t, cup, 2, marker(cup, 2, 0))
	image := killed(t, dir)
	if err := ltm.AddOrder(image, "Test/Synced", l.wm.Epoch(), nil); err != nil {
		t.Fatal(err)
	}
	l = begin(t, ltm.Options{Dir: image})
	for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
		if got, missing := l.times(t, cup, target, engram.All()); len(got) > 0 {
			t.Errorf("target %v: times %d, missing %+v", target, got, missing)
		}
	}
	for len(l.Orders()) > 0 {
		l.FinishOrders()
	}
	l.wantGone(t, image, cup, 1)
	l.wantGone(t, image, cup, 2)
}
