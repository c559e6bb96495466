package wm_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/wm"
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
	commit(t, w, round(0)...)
	var last [3]engram.Time
	readWhile(3, func() {
		for i := 1; i < rounds; i++ {
			commit(t, w, round(i)...)
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
// written all the time: there always is one, and it never goes back.
func TestReadersUnderEviction(t *testing.T) {
	for _, keep := range []int{1, 2} {
		w := memory(t, wm.Config{}, engram.Bounds{MaxCount: keep}, engram.Bounds{MaxCount: 10})
		commit(t, w, change("a", 0, blob(5)), change("b", 0, blob(5)))
		var last [4]uint64
		readWhile(len(last), func() {
			for i := range 2000 {
				commit(t, w, change("a", i/3, blob(5)), change("b", -i, blob(5)), change("b", i, blob(5)))
			}
		}, func(reader int) {
			number := uint64(0)
			switch reader {
			case 0:
				snap, err := w.Latest(context.Background(), modelID("a"))
				if err != nil {
					t.Error(err)
					return
				}
				number = snap.Number
			case 1:
				snap, err := w.AtOrBefore(context.Background(), modelID("b"), engram.MaxTime)
				if err != nil {
					t.Error(err)
					return
				}
				number = snap.Number
			default:
				sel := []engram.SnapshotSelector{engram.Latest(1), engram.Indices(-1, -1), engram.AtOrBefore(engram.MaxTime)}[reader-1:]
				r, err := w.Query(context.Background(), engram.SelectID(modelID("a"), sel[0]))
				if err != nil {
					t.Error(err)
					return
				}
				got := numbers(r)
				if len(got) != 1 {
					t.Errorf("%d snapshots were found with %+v: %v", len(got), sel[0], r.Missing)
					return
				}
				number = got[0]
			}
			if number < last[reader] {
				t.Errorf("update %d is seen after update %d", number, last[reader])
			}
			last[reader] = number
		})
	}
}

// TestEverythingAtOnce writes, reads, subscribes, resumes, removes and counts at the
// same time; subscriptions find no gap but those they are told of.
func TestEverythingAtOnce(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 20}, engram.Bounds{MaxCount: 150, MaxAge: 1 << 40})
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
