package attack

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Filters that cost much, of hundreds of subscriptions and of queries without end, leave
// commits nearly as fast as they are without them.
func TestCostlyFilters(t *testing.T) {
	testkit.RealTime(t, "a median commit takes as long as the machine needs for it, not for what runs beside it")
	v := begin(t)
	b := v.bystander(t)
	if err := b.c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Filtered"), History: engram.Bounds{MaxCount: 2}}); err != nil {
		t.Fatal(err)
	}
	numbers := make([]any, 100)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	payload := value(t, map[string]any{"numbers": numbers})
	// 10,000 pairs for each instance.
	const costly = "numbers.exists(x, numbers.exists(y, x + y < -1.0))"
	pattern := engram.MustPattern("GeneralPurpose/Filtered")

	writer := v.dial(t, "local")
	n := 0
	latency := func() time.Duration {
		t.Helper()
		var all []time.Duration
		for begun := time.Now(); time.Since(begun) < *lasting/4 || len(all) < 50; n++ {
			start := time.Now()
			if err := put(t.Context(), writer, engram.MustID(fmt.Sprint("GeneralPurpose/Filtered/p/e", n%100)), engram.Time(n), payload); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(start))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	alone := latency()
	q := pattern.Select(engram.Latest(1))
	q.Where, q.FilterOrder = costly, engram.SelectThenFilter
	asked := time.Now()
	if r, err := b.c.Query(t.Context(), q); err != nil || len(r.Missing) > 0 {
		t.Fatalf("the filter: %v %v", r, err)
	}
	t.Logf("the filter takes %v for 100 entities", time.Since(asked))
	for i := range 300 {
		s, err := v.dial(t, [...]string{"local", "tcp"}[i%2]).Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{pattern}, WithData: true, Where: costly})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	}
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 10 {
		c := v.dial(t, "tcp")
		asking.Go(func() {
			for ctx.Err() == nil {
				_, err := c.Query(ctx, q)
				if err != nil && ctx.Err() == nil && engram.CodeOf(err) != engram.Exhausted {
					t.Errorf("a query: %v", err)
					return
				}
			}
		})
	}
	beside := latency()
	stop()
	asking.Wait()
	t.Logf("the median commit takes %v alone, %v beside 300 subscriptions and 10 queries", alone, beside)
	// Commits of another client share the other half of the processors with all else; before
	// filters took turns it was a thousand times.
	if beside > 100*alone {
		t.Errorf("the median commit takes %v beside costly filters, %v alone", beside, alone)
	}
	b.check(t, v, mostMemory)
}
