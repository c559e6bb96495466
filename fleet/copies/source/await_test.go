package source_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// writeTwo writes n versions of two entities: of one the memory keeps the last ten.
func writeTwo(t *testing.T, o *owner, n int) {
	t.Helper()
	for i := range n {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i), testkit.Update(t, "Test/B/p/e", engram.Time(i), i))
	}
}

// A recorder that comes on, but never gets to the newest, does not keep a copy waiting.
func TestRecorderThatNeverGetsToTheNewest(t *testing.T) {
	const n = 200
	o := begin(t, t.TempDir(), core("A", 10), core("B", 0))
	defer o.Close()
	writeTwo(t, o, n)
	var reached atomic.Uint64 // as far as the recorder says that it is
	reached.Store(n)
	next := engram.Time(n)
	defer source.SetAskRecorder(func(s *ltm.Store, ctx context.Context, number uint64) bool {
		for range 20 { // it comes on, and the stream goes on faster
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", next, "more"))
			next++
		}
		return number <= reached.Add(10) && s.Recorded(ctx, number)
	})()
	told := 0
	pull(t, o, shareOf("Test", contract.Position{}, contract.Rules{}), func(b *contract.Batch) bool {
		told += len(b.Items)
		if len(b.Lost) > 0 {
			t.Errorf("lost is %+v", b.Lost)
		}
		if told == 0 && b.Behind.Updates == 0 {
			t.Error("nothing is to come while the recorder is waited for")
		}
		return told >= 2*n
	})
}

// While one share waits for the recorder, those beside it go on; and it goes on as soon
// as the recorder has come so far.
func TestOneShareWaitsForTheRecorder(t *testing.T) {
	source.SetHeartbeat(time.Hour) // so nothing is told because time has passed
	defer source.SetHeartbeat(fastHeartbeat)
	const n = 200
	o := begin(t, t.TempDir(), core("A", 10), core("B", 0))
	defer o.Close()
	writeTwo(t, o, n)
	goOn := make(chan struct{})
	defer source.SetAskRecorder(func(s *ltm.Store, ctx context.Context, number uint64) bool {
		select {
		case <-goOn:
			return s.Recorded(ctx, number)
		case <-ctx.Done():
			return false
		}
	})()
	share := func(name string) contract.Share {
		return contract.Share{Patterns: []engram.Pattern{engram.MustPattern("Test/" + name)}}
	}
	var told [2]int
	pull(t, o, contract.Request{Shares: []contract.Share{share("A"), share("B")}}, func(b *contract.Batch) bool {
		before := told[1]
		if told[b.Share] += len(b.Items); before < n && told[1] == n {
			if told[0] > 0 {
				t.Errorf("%d of what is not recorded were told", told[0])
			}
			close(goOn)
		}
		return told == [2]int{n, n}
	})
}
