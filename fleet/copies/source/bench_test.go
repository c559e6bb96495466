package source_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// fill commits n small snapshots to 100 entities.
func fill(b *testing.B, o *owner, n int) {
	var updates []engram.EntityUpdate
	for i := range n {
		updates = append(updates, testkit.Update(b, fmt.Sprintf("Test/A/p/e%d", i%100), engram.Time(i), i))
		if len(updates) == 1000 || i == n-1 {
			testkit.Commit(b, o, updates...)
			updates = updates[:0]
		}
	}
}

// BenchmarkBackfill pulls 60,000 small versions, as there are after a link was cut for a
// minute at 1,000 a second.
func BenchmarkBackfill(b *testing.B) {
	for name, c := range map[string]struct {
		keep  int
		disk  bool
		rules contract.Rules
	}{
		"memory":      {},
		"disk":        {keep: 10, disk: true},
		"memory-rate": {rules: contract.Rules{MaxRate: 1e6}},
	} {
		b.Run(name, func(b *testing.B) {
			const n = 60_000
			dir := ""
			if c.disk {
				dir = b.TempDir()
			}
			o := begin(b, dir, core("A", c.keep))
			defer o.Close()
			fill(b, o, n)
			if c.disk {
				o.store.Recorded(context.Background(), n)
			}
			b.ResetTimer()
			for b.Loop() {
				got := 0
				pull(b, o, shareOf("Test", contract.Position{}, c.rules), func(x *contract.Batch) bool {
					for _, l := range x.LeftOut {
						got += int(l.Count)
					}
					got += len(x.Items)
					return x.Position.Number == n
				})
				if got != n {
					b.Fatalf("%d versions were told; want %d", got, n)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "versions/s")
		})
	}
}

// BenchmarkTail takes the time from a commit to the holder's being told.
func BenchmarkTail(b *testing.B) {
	o := begin(b, "", core("A", 1000))
	defer o.Close()
	told := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- o.Pull(ctx, shareOf("Test", contract.Position{}, contract.Rules{}), func(x *contract.Batch) error {
			if len(x.Items) > 0 {
				told <- struct{}{}
			}
			return nil
		})
	}()
	time.Sleep(10 * time.Millisecond)
	i := 0
	for b.Loop() {
		i++
		testkit.Commit(b, o, testkit.Update(b, "Test/A/p/e", engram.Time(i), i))
		<-told
	}
	cancel()
	if err := <-done; engram.CodeOf(err) != engram.Canceled {
		b.Fatal(errors.Join(errors.New("the pull ended"), err))
	}
}

// BenchmarkApply stores 60,000 small versions in a copy.
func BenchmarkApply(b *testing.B) {
	for _, disk := range []bool{false, true} {
		b.Run(fmt.Sprintf("disk=%v", disk), func(b *testing.B) {
			const n = 60_000
			o := begin(b, "", core("A", 0))
			defer o.Close()
			fill(b, o, n)
			var batches []contract.Batch
			pull(b, o, shareOf("Test", contract.Position{}, contract.Rules{}), func(x *contract.Batch) bool {
				kept := *x
				kept.Items, kept.Segments = append([]contract.Version(nil), x.Items...), append([]contract.Segment(nil), x.Segments...)
				batches = append(batches, kept)
				return x.Position.Number == n
			})
			for b.Loop() {
				b.StopTimer()
				dir := ""
				if disk {
					dir = b.TempDir()
				}
				h := holder(b, dir)
				b.StartTimer()
				for i := range batches {
					if err := h.PrepareCopy(b.Context(), batches[i].Segments); err != nil {
						b.Fatal(err)
					}
					if a, err := h.ApplyCopy(b.Context(), contract.Changes{Versions: batches[i].Items}); err != nil || a.Stored != uint64(len(batches[i].Items)) {
						b.Fatal(a, err)
					}
				}
				b.StopTimer()
				h.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "versions/s")
		})
	}
}
