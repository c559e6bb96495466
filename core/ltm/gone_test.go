package ltm_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// What the working memory has evicted with its entities, and the recorder has still to
// record, is in every answer of both memories, or said to be missing.
func TestEntitiesOnTheirWayToTheDisk(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		l := begin(t, ltm.Options{Dir: fastDir(t)})
		if err := l.wm.AddMemory("Small", engram.Bounds{MaxCount: 2}); err != nil {
			t.Fatal(err)
		}
		if err := l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Small/Things")}); err != nil {
			t.Fatal(err)
		}
		ask := func(pattern string) (found int, missing []engram.Missing) {
			r, err := l.Query(t.Context(), engram.MustPattern(pattern).Select(engram.All()))
			if err != nil {
				t.Error(err)
				return 0, nil
			}
			for range r.All() {
				found++
			}
			return found, r.Missing
		}
		queries := map[string]int{"Small/Things/p/*": 6, "Small": 6, "Small/Things/p/e0": 1}
		release := l.HoldRecorder()
		for i := range 6 {
			l.commit(t, fmt.Sprintf("Small/Things/p/e%d", i), engram.Time(i), i)
		}
		for pattern, want := range queries { // the recorder does not come on
			if found, missing := ask(pattern); found != max(0, want-4) || len(missing) == 0 || missing[0].Reason != engram.MissingEvicted {
				t.Errorf("while the recorder stands still, %s has %d snapshots and misses %+v; want %d, and the rest evicted", pattern, found, missing, max(0, want-4))
			}
		}
		asked := make(chan struct{})
		for pattern, want := range queries {
			go func() {
				if found, missing := ask(pattern); found != want || len(missing) > 0 {
					t.Errorf("%s has %d snapshots and misses %+v; want %d, and nothing missing", pattern, found, missing, want)
				}
				asked <- struct{}{}
			}()
		}
		synctest.Wait()
		release()
		for range queries {
			<-asked
		}
		l.end(t)
	})
}
