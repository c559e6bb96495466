package ltm_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
)

// Who reads while others write, episodes are sealed and the working memory evicts sees,
// at every moment, everything that was committed before, once and in order.
func TestReadingWhileRecording(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	const writers, each = 3, 400
	var committed [writers]atomic.Int64
	entity := func(w int) engram.ID { return engram.MustID(fmt.Sprintf("%v/p/e%d", segments[w].ID, w)) }
	ctx, stop := context.WithCancel(t.Context())
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				p, err := idf.ValuePayload(fmt.Sprintf("%0100d", i))
				if err != nil {
					t.Error(err)
					return
				}
				results, err := l.wm.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
					Entity: entity(w), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(p)},
				}}})
				if err != nil || results[0].Err != nil {
					t.Error(err, results)
					return
				}
				committed[w].Store(int64(i) + 1)
				if w == 0 && i%100 == 50 {
					if err := l.Seal(ctx, "test"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	look := func(target engram.Target, w int) bool {
		before := committed[w].Load()
		q := engram.SelectID(entity(w), engram.All())
		q.Target = target
		r, err := l.Query(t.Context(), q)
		if err != nil {
			t.Error(err)
			return false
		}
		next := engram.Time(0)
		for item := range r.All() {
			if item.Time != next || value(t, item.Snapshot) != fmt.Sprintf("%0100d", next) {
				t.Errorf("target %d, %v: %v holds %v after %d others", target, entity(w), item.Time, value(t, item.Snapshot), next)
				return false
			}
			next++
		}
		if int64(next) < before || len(r.Missing) > 0 {
			t.Errorf("target %d, %v: %d snapshots of %d committed, missing %+v", target, entity(w), next, before, r.Missing)
			return false
		}
		if before > 0 {
			s, err := l.Latest(t.Context(), entity(w))
			if err != nil || int64(s.Time) < before-1 {
				t.Errorf("the latest of %v: %v, %v; %d were committed", entity(w), s, err, before)
				return false
			}
		}
		return true
	}
	for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
		reading.Go(func() {
			for w := 0; ctx.Err() == nil && look(target, w); w = (w + 1) % writers {
			}
		})
	}
	writing.Wait()
	stop()
	reading.Wait()
	for w := range writers {
		look(engram.TargetBoth, w)
		look(engram.TargetLTM, w)
	}
	if infos, err := l.Episodes(t.Context(), engram.Always()); err != nil || len(infos) < 2 {
		t.Errorf("%d episodes, %v; the test is to seal some", len(infos), err)
	}
}

// An episode that is dropped while it is read stays readable for who reads it, and
// nobody finds it afterwards.
func TestDropWhileReading(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	const cup = "Test/Volatile/p/cup"
	for i := range 5000 {
		l.commit(t, cup, engram.Time(i), i)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	infos, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	if err := l.KeepEpisode(t.Context(), infos[0].Name, true); err != nil {
		t.Fatal(err)
	}
	if err := l.DropEpisode(t.Context(), infos[0].Name, "test", "me"); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("dropping a kept episode: %v; want Conflict", err)
	}
	if err := l.KeepEpisode(t.Context(), infos[0].Name, false); err != nil {
		t.Fatal(err)
	}
	found := 0
	q := engram.SelectID(engram.MustID(cup), engram.All())
	q.Target = engram.TargetLTM
	err = l.QueryParts(t.Context(), q, func(r *engram.Result) error {
		if found == 0 {
			if err := l.DropEpisode(t.Context(), infos[0].Name, "test", "me"); err != nil {
				t.Error(err)
			}
		}
		found += len(r.Items())
		return nil
	})
	if err != nil || found != 5000 {
		t.Errorf("who reads while the episode is dropped finds %d, %v; want 5000", found, err)
	}
	got, missing := l.times(t, cup, engram.TargetLTM, engram.All())
	if len(got) > 0 || len(missing) != 1 || missing[0].Reason != engram.MissingForgotten || missing[0].Count != 5000 {
		t.Errorf("afterwards %d are found, missing %+v", len(got), missing)
	}
	if left := files(t, dir, "episodes/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, _, err := l.Episode(t.Context(), infos[0].Name); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("showing it: %v; want NotFound", err)
	}
}
