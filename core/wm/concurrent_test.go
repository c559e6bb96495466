package wm_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// readWhile runs n readers over and over while write runs, and once more after it.
func readWhile(n int, write func(), read func(reader int)) {
	var readers sync.WaitGroup
	var done atomic.Bool
	for i := range n {
		readers.Go(func() {
			for last := false; !last; {
				last = done.Load()
				read(i)
			}
		})
	}
	write()
	done.Store(true)
	readers.Wait()
}

// TestQueriesSeeOneMoment commits the same value to several entities at once, out of
// order and over older ones: every query shows all of them at one moment, and
// moments do not go back.
func TestQueriesSeeOneMoment(t *testing.T) {
	const rounds, entities = 500, 5
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	at := func(round int) int { return round * 7919 % 400 }
	round := func(i int) (updates []engram.EntityUpdate) {
		for e := range entities {
			u := change(fmt.Sprint(e), at(i), blob(5))
			u.Instances[0].Sent, u.Instances[0].HasSent = engram.Time(i), true
			updates = append(updates, u)
		}
		return updates
	}
	testkit.Commit(t, w, round(0)...)
	var last [3]engram.Time
	readWhile(3, func() {
		for i := 1; i < rounds; i++ {
			testkit.Commit(t, w, round(i)...)
		}
	}, func(reader int) {
		r, err := w.Query(context.Background(), engram.SelectID(modelCore, engram.All()))
		if err != nil {
			t.Error(err)
			return
		}
		rounds := map[string]engram.Time{} // the newest round seen of each entity
		for it := range r.All() {
			rounds[it.ID.Entity()] = max(rounds[it.ID.Entity()], it.Instances[0].Sent)
		}
		newest := rounds["0"]
		for e, i := range rounds {
			if i != newest || len(rounds) != entities {
				t.Errorf("entity 0 is seen at round %d, %s at %d, of %d entities", newest, e, i, len(rounds))
			}
		}
		if newest < last[reader] {
			t.Errorf("round %d is seen after round %d", newest, last[reader])
		}
		last[reader] = newest
	})
}

// TestReadersUnderEviction reads entities that hold one or two snapshots and are
// written all the time: there always is one, and whichever way it is read, it never
// goes back.
func TestReadersUnderEviction(t *testing.T) {
	ctx := context.Background()
	queried := func(w *wm.WM, s engram.SnapshotSelector) (*engram.Snapshot, error) {
		r, err := w.Query(ctx, engram.SelectID(modelID("a"), s))
		if err != nil {
			return nil, err
		}
		items := r.Items()
		if len(items) != 1 {
			return nil, fmt.Errorf("%d snapshots were found, missing %+v", len(items), r.Missing)
		}
		return items[0].Snapshot, nil
	}
	ways := []func(w *wm.WM) (*engram.Snapshot, error){
		func(w *wm.WM) (*engram.Snapshot, error) { return w.Latest(ctx, modelID("a")) },
		func(w *wm.WM) (*engram.Snapshot, error) { return queried(w, engram.Latest(1)) },
		func(w *wm.WM) (*engram.Snapshot, error) { return w.AtOrBefore(ctx, modelID("a"), engram.MaxTime) },
		func(w *wm.WM) (*engram.Snapshot, error) { return queried(w, engram.Indices(-1, -1)) },
		func(w *wm.WM) (*engram.Snapshot, error) { return queried(w, engram.AtOrBefore(engram.MaxTime)) },
	}
	for _, keep := range []int{1, 2} {
		w := memory(t, wm.Config{}, engram.Bounds{MaxCount: keep}, engram.Bounds{MaxCount: 10})
		w.KeptBy(keptElsewhere)
		testkit.Commit(t, w, change("a", 0, blob(5)), change("b", 0, blob(5)))
		var last, turn [3]uint64
		readWhile(len(last), func() {
			for i := range 2000 {
				testkit.Commit(t, w, change("b", -i, blob(5)), change("a", i/3, blob(5)), change("b", i, blob(5)), change("a", -i, blob(5)))
			}
		}, func(reader int) {
			way := turn[reader] % uint64(len(ways))
			turn[reader]++
			snap, err := ways[way](w)
			if err != nil {
				t.Errorf("way %d: %v", way, err)
				return
			}
			if snap.Number < last[reader] {
				t.Errorf("way %d: update %d is seen after update %d", way, snap.Number, last[reader])
			}
			last[reader] = snap.Number
		})
	}
}

// TestCommitBesideEviction has writers whose entities are evicted as a whole between
// their commits: nothing is stored where it cannot be found.
func TestCommitBesideEviction(t *testing.T) {
	const writers, each = 4, 2000
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: 3})
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				testkit.Commit(t, w, change(fmt.Sprint(n), i, blob(5)))
			}
		})
	}
	wg.Wait()
	if got := numbers(query(t, w, engram.SelectID(modelCore, engram.All()))); len(got) != 3 || slices.Max(got) != writers*each {
		t.Errorf("in the end updates %v are found", got)
	}
}

// TestCommitBesideAddProvider commits to a provider segment while it is added with
// another type: one of both is refused.
func TestCommitBesideAddProvider(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	ctx := context.Background()
	for i := range 300 {
		provider := engram.MustID(fmt.Sprintf("Test/Core/P%d", i))
		var added, stored error
		var wg sync.WaitGroup
		wg.Go(func() {
			added = w.AddProviderSegment(ctx, engram.ProviderSegment{ID: provider, Type: "foxglove.Pose"})
		})
		u := engram.EntityUpdate{Entity: engram.MustID(provider.String() + "/e"), Time: 1, Instances: []engram.Instance{engram.NewInstance(blob(5))}}
		results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		stored = results[0].Err
		if !(added == nil && engram.CodeOf(stored) == engram.TypeMismatch || stored == nil && engram.CodeOf(added) == engram.AlreadyExists) {
			t.Fatalf("adding gives %v, committing %v", added, stored)
		}
	}
}

// TestEverythingAtOnce writes, reads, subscribes, resumes, removes and counts at the
// same time; subscriptions find no gap but those they are told of.
func TestEverythingAtOnce(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 20}, engram.Bounds{MaxCount: 150, MaxAge: 1 << 40})
	w.KeptBy(keptElsewhere)
	ctx, written := context.WithCancel(context.Background())
	defer written()
	const writers, each = 3, 600
	var writing sync.WaitGroup
	write := func() {
		for n := range writers {
			writing.Go(func() {
				for i := range each {
					c := engram.Commit{Updates: []engram.EntityUpdate{
						change(fmt.Sprint(n, "-", i%7), i*31%each, blob(5+n)),
						{Entity: engram.MustID(fmt.Sprintf("Test/Core/P%d/e", i%2)), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(blob(9))}},
					}}
					if results, err := w.Commit(ctx, c); err != nil || engram.FirstError(results) != nil {
						t.Error(err, results)
						return
					}
				}
			})
		}
		writing.Wait()
		written()
	}
	readWhile(4, write, func(reader int) {
		var err error
		switch reader {
		case 0: // everything is in order of time, and shown once
			var r *engram.Result
			if r, err = w.Query(ctx, engram.SelectID(modelCore, engram.All(), engram.Latest(2))); err == nil {
				items := r.Items()
				if !slices.IsSortedFunc(items, func(a, b engram.Item) int { return a.ID.Compare(b.ID) }) {
					t.Error("a result is not sorted")
				}
				if slices.ContainsFunc(items, func(it engram.Item) bool { return len(it.Instances) != 1 || it.Number == 0 }) {
					t.Error("a result holds half a snapshot")
				}
			}
		case 1: // a subscription that begins anywhere counts what it does not get
			stream, e := w.Subscribe(ctx, engram.Subscription{Start: engram.Start{Kind: engram.StartNumber, Number: w.Number() / 2}, Queue: 16})
			if err = e; err == nil {
				seen := uint64(0)
				for seen < stream.(interface{ Number() uint64 }).Number() {
					updates, e := stream.Next(ctx)
					if e != nil {
						err = e
						break
					}
					for _, u := range updates {
						if seen > 0 && u.Number != seen+1+u.Dropped {
							t.Errorf("update %d follows %d with %d dropped", u.Number, seen, u.Dropped)
						}
						seen = u.Number
					}
				}
				stream.Close()
			}
		case 2:
			_, err = w.Stats(ctx, engram.Pattern{}, engram.LevelEntity)
		case 3:
			if err = w.RemoveSegment(ctx, engram.MustID("Test/Core/P1")); engram.CodeOf(err) == engram.NotFound {
				err = nil
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	all := held(t, w, "Test")
	if all.Committed != 2*writers*each || all.Snapshots+all.Superseded > 150 {
		t.Errorf("in the end: %+v", all)
	}
	n := 0
	for range query(t, w, engram.SelectID(modelCore, engram.All())).All() {
		n++
	}
	if uint64(n) != all.Snapshots {
		t.Errorf("%d snapshots are found, %d are counted", n, all.Snapshots)
	}
}

// TestIndicesBesideAppends counts from both ends of a timeline of many chunks while
// it grows: what is found belongs to one moment.
func TestIndicesBesideAppends(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	n := 0
	grow := func(by int) {
		var updates []engram.EntityUpdate
		for range by {
			updates = append(updates, change("a", n, blob(5)))
			n++
		}
		testkit.Commit(t, w, updates...)
	}
	grow(3000)
	readWhile(3, func() {
		for range 3000 {
			grow(1)
		}
	}, func(reader int) {
		back := 1 + 700*reader
		q := engram.SelectID(modelID("a"), engram.Indices(-back, -back), engram.Latest(1), engram.Indices(back, back))
		r, err := w.Query(context.Background(), q)
		if err != nil {
			t.Error(err)
			return
		}
		times := []engram.Time{}
		for it := range r.All() {
			times = append(times, it.Time)
		}
		want := []engram.Time{engram.Time(back), times[len(times)-1] - engram.Time(back-1), times[len(times)-1]}
		if want = slices.Compact(want); !slices.Equal(times, want) {
			t.Errorf("indices %d, %d and the latest are at %d, want %d", back, -back, times, want)
		}
	})
}

// TestCommitBesideRemoval removes and adds segments under writers, in a memory that
// is full: in the end it holds what it counts.
func TestCommitBesideRemoval(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: 600, MaxAge: 1 << 40})
	ctx := context.Background()
	def := engram.CoreSegment{ID: engram.MustID("Test/Other")}
	readWhile(2, func() {
		for i := range 60 {
			if err := w.AddCoreSegment(ctx, def); err != nil {
				t.Error(err)
			}
			id := def.ID
			if i%2 == 0 {
				id = engram.MustID("Test/Core/Provider")
			}
			for w.Number() < uint64(i*100) { // let them write for a while
				runtime.Gosched()
			}
			if err := w.RemoveSegment(ctx, id); err != nil && engram.CodeOf(err) != engram.NotFound {
				t.Error(err)
			}
		}
	}, func(writer int) {
		var c engram.Commit
		for i := range 40 {
			u := change(fmt.Sprint(writer, "-", w.Number()%300, "-", i), i, blob(5))
			if i%2 == 0 {
				u.Entity = engram.MustID("Test/Other/Provider/" + u.Entity.Entity())
			}
			c.Updates = append(c.Updates, u)
		}
		results, err := w.Commit(ctx, c)
		if err != nil {
			t.Error(err)
		}
		for _, r := range results {
			if r.Err != nil && engram.CodeOf(r.Err) != engram.NotFound {
				t.Error(r.Err)
			}
		}
	})
	n := uint64(0)
	for range query(t, w, engram.SelectID(engram.MustID("Test"), engram.All())).All() {
		n++
	}
	st := held(t, w, "Test")
	if st.Snapshots != n || st.Bytes != 5*int64(w.Held("Test")) || st.Snapshots+st.Superseded != w.Held("Test") {
		t.Errorf("%d snapshots are found; counted are %+v, and %d versions against the bounds", n, st, w.Held("Test"))
	}
	var updates []engram.EntityUpdate // what is not counted any more must not be in the way
	for i := range 1000 {
		updates = append(updates, change(fmt.Sprint("last", i), 1, blob(5)))
	}
	testkit.Commit(t, w, updates...)
	if st := held(t, w, "Test"); st.Snapshots != 600 || st.Entities != 600 {
		t.Errorf("in the end there are %+v", st)
	}
}

// TestBackfillBesideEviction begins subscriptions under a writer that evicts all the
// time: no update comes twice, or before one with a lower number.
func TestBackfillBesideEviction(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 1}, engram.Bounds{})
	testkit.Commit(t, w, change("a", 0, blob(5)), change("b", 0, blob(5)))
	readWhile(2, func() {
		for i := range 3000 {
			testkit.Commit(t, w, change("a", i, blob(5)), change("b", i, blob(5)))
		}
		w.Close()
	}, func(reader int) {
		start := engram.Start{Kind: engram.StartLast, N: 1}
		if reader == 1 {
			start = engram.Start{Kind: engram.StartTime, Time: 0}
		}
		s, err := w.Subscribe(context.Background(), engram.Subscription{Start: start})
		if err != nil {
			return // it was closed
		}
		defer s.Close()
		last := uint64(0)
		for range 3 {
			updates, err := s.Next(context.Background())
			if err != nil {
				return
			}
			for _, u := range updates {
				if u.Number <= last {
					t.Errorf("update %d follows update %d", u.Number, last)
				}
				last = u.Number
			}
		}
	})
}
