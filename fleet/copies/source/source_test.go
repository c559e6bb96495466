package source_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// fastHeartbeat spares the tests most of their waiting.
const fastHeartbeat = 5 * time.Millisecond

func TestMain(m *testing.M) {
	source.SetHeartbeat(fastHeartbeat)
	goleak.VerifyTestMain(m)
}

// owner is a server that owns what is pulled.
type owner struct {
	*serve.Server
	store *ltm.Store
}

// begin begins a server with core segments below the memory Test; dir may be empty.
func begin(t testing.TB, dir string, segments ...engram.CoreSegment) *owner {
	t.Helper()
	return beginAt(t, dir, nil, segments...)
}

// beginAt is begin with a clock.
func beginAt(t testing.TB, dir string, now func() engram.Time, segments ...engram.CoreSegment) *owner {
	t.Helper()
	return beginOn(t, vfs.OS, dir, now, segments...)
}

// beginOn is beginAt on a disk.
func beginOn(t testing.TB, disk vfs.FS, dir string, now func() engram.Time, segments ...engram.CoreSegment) *owner {
	t.Helper()
	o := &owner{}
	if dir != "" {
		var err error
		if o.store, err = ltm.Open(context.Background(), ltm.Options{Dir: dir, FS: disk, Log: testkit.Quiet, Now: now}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	o.Server, err = serve.New(server.Config{Memories: []server.Memory{{Name: "Test", Segments: segments}}, Log: testkit.Quiet, Store: o.store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// holder begins a server that holds copies; dir may be empty.
func holder(t testing.TB, dir string) *serve.Server {
	t.Helper()
	var store *ltm.Store
	var err error
	if dir != "" {
		if store, err = ltm.Open(context.Background(), ltm.Options{Dir: dir, Log: testkit.Quiet}); err != nil {
			t.Fatal(err)
		}
	}
	h, err := serve.New(server.Config{Log: testkit.Quiet, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func core(name string, keep int) engram.CoreSegment {
	return engram.CoreSegment{ID: engram.MustID("Test/" + name), History: engram.Bounds{MaxCount: keep}, MaxAhead: engram.AnyAhead}
}

var errEnough = errors.New("enough")

// pull pulls until want batches satisfy stop.
func pull(t testing.TB, s contract.Source, r contract.Request, f func(*contract.Batch) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	err := s.Pull(ctx, r, func(b *contract.Batch) error {
		if f(b) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("the pull ended with %v", err)
	}
}

func shareOf(pattern string, after contract.Position, rules contract.Rules) contract.Request {
	return contract.Request{Holder: "test", Shares: []contract.Share{{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, After: after, Rules: rules}}}
}

// However small the payloads are, a batch is no larger than a holder takes.
func TestInstancesOfABatchAreBounded(t *testing.T) {
	o := begin(t, "", core("A", 0))
	defer o.Close()
	const versions, each = 10, 4000
	for i := range versions {
		u := testkit.Update(t, "Test/A/p/e", engram.Time(i), nil)
		for len(u.Instances) < each {
			u.Instances = append(u.Instances, u.Instances[0])
		}
		testkit.Commit(t, o, u)
	}
	got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	if len(got.items) != versions {
		t.Errorf("%d versions were told, want %d", len(got.items), versions)
	}
	for _, b := range got.batches {
		if n := len(b.Items) * each; n >= 1<<14+each {
			t.Errorf("a batch has %d instances", n)
		}
	}
}

// A pull tells what is there, then what comes, each once and in order, with the types.
func TestPullTellsWhatIsThereAndWhatComes(t *testing.T) {
	o := begin(t, "", core("A", 0), core("B", 0))
	defer o.Close()
	for i := range 1000 {
		testkit.Commit(t, o, testkit.Update(t, fmt.Sprintf("Test/A/p/e%d", i%7), engram.Time(i), i), testkit.Update(t, "Test/B/p/other", engram.Time(i), i))
	}
	seen := 0
	var last contract.Version
	pull(t, o, shareOf("Test/A", contract.Position{}, contract.Rules{}), func(b *contract.Batch) bool {
		if seen == 0 && (len(b.Segments) != 1 || len(b.Segments[0].Types) != 1) {
			t.Errorf("the first batch describes %+v", b.Segments)
		}
		for _, v := range b.Items {
			if v.Entity.CoreSegment() != "A" || v.Snapshot.Time != engram.Time(seen) {
				t.Fatalf("item %d is %v at %d", seen, v.Entity, v.Snapshot.Time)
			}
			seen++
			last = v
		}
		if seen == 1000 && b.Behind.Updates == 0 {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/new", 1000, "x"), testkit.Update(t, "Test/A/p/new", 1001, "x"))
		}
		return seen == 1002
	})
	if last.Entity.Entity() != "new" {
		t.Errorf("the last item is %v", last.Entity)
	}
}
