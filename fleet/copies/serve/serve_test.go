package serve_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// newHolder begins a server that holds copies; dir may be empty.
func newHolder(t *testing.T, dir string, memories ...server.Memory) (*serve.Server, *ltm.Store) {
	t.Helper()
	var store *ltm.Store
	var err error
	if dir != "" {
		if store, err = ltm.Open(context.Background(), ltm.Options{Dir: dir, Log: testkit.Quiet}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(server.Config{Memories: memories, Log: testkit.Quiet, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, store
}

const copiedMemory = "robot1:Test"

func copiedSegment(provider string, keep int) contract.Segment {
	core := engram.MustID(copiedMemory + "/Any")
	id, _ := core.Child(provider)
	return contract.Segment{
		Core:     engram.CoreSegment{ID: core, History: engram.Bounds{MaxCount: keep}, FixedProviders: true, Durability: engram.Synced},
		Provider: engram.ProviderSegment{ID: id},
	}
}

func copiedVersion(t *testing.T, entity string, at, arrived engram.Time, value any) contract.Version {
	t.Helper()
	p := testkit.Value(t, value)
	in := engram.Instance{Payload: p, Sent: arrived, HasSent: true, Confidence: 1}
	return contract.Version{Entity: engram.MustID(copiedMemory + "/Any/" + entity), Snapshot: &engram.Snapshot{Time: at, Arrived: arrived, Instances: []engram.Instance{in}}}
}

func apply(t *testing.T, s *serve.Server, c contract.Changes) contract.Applied {
	t.Helper()
	a, err := s.ApplyCopy(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Number(); a.Stored+a.Had > 0 && a.Number != n {
		t.Errorf("the newest is said to have the number %d, and has %d", a.Number, n)
	}
	return a
}

func prepare(t *testing.T, s *serve.Server, segments ...contract.Segment) {
	t.Helper()
	if err := s.PrepareCopy(t.Context(), segments); err != nil {
		t.Fatal(err)
	}
}

// heldTimes are the times of what a server holds of an entity.
func heldTimes(t *testing.T, s *serve.Server, entity string) (times []engram.Time) {
	t.Helper()
	r, err := s.Query(t.Context(), engram.SelectID(engram.MustID(copiedMemory+"/Any/"+entity), engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		times = append(times, it.Time)
	}
	return times
}

func wantHeld(t *testing.T, s *serve.Server, what, entity string, want ...engram.Time) {
	t.Helper()
	if got := heldTimes(t, s, entity); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: of %s there is %v; want %v", what, entity, got, want)
	}
}

func content(t *testing.T, s *engram.Snapshot) any {
	t.Helper()
	v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func commit(t *testing.T, w engram.Writer, updates ...engram.EntityUpdate) []engram.UpdateResult {
	t.Helper()
	results, err := w.Commit(t.Context(), engram.Commit{Updates: updates})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// A copy is its owner's: nobody else changes it.
func TestCopyIsReadOnly(t *testing.T) {
	s, _ := newHolder(t, "", serving.Memory("Own", server.Hooks{}))
	prepare(t, s, copiedSegment("p", 0))
	apply(t, s, contract.Changes{Versions: []contract.Version{copiedVersion(t, "p/e", 1, 10, "x")}})
	u := testkit.Update(t, copiedMemory+"/Any/p/e", 2, "y")
	if r := commit(t, s, u); engram.CodeOf(r[0].Err) != engram.Unsupported || !strings.Contains(r[0].Err.Error(), "robot1") {
		t.Errorf("a commit: %v", r[0].Err)
	}
	for what, err := range map[string]error{
		"removing its segment":    s.RemoveSegment(t.Context(), engram.MustID(copiedMemory+"/Any")),
		"adding a core segment":   s.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(copiedMemory + "/New")}),
		"adding a provider to it": s.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: engram.MustID(copiedMemory + "/Any/q")}),
	} {
		if engram.CodeOf(err) != engram.Unsupported {
			t.Errorf("%s: %v; want Unsupported", what, err)
		}
	}
	own := copiedSegment("p", 0)
	own.Core.ID, own.Provider.ID = engram.MustID("Own/Any"), engram.MustID("Own/Any/p")
	if err := s.PrepareCopy(t.Context(), []contract.Segment{own}); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("a copy of a memory that it hosts: %v; want Conflict", err)
	}
	other := copiedSegment("p", 0)
	other.Core.Type = "foxglove.Pose"
	if err := s.PrepareCopy(t.Context(), []contract.Segment{other}); engram.CodeOf(err) != engram.TypeMismatch {
		t.Errorf("a copy whose type has changed: %v; want TypeMismatch", err)
	}
	if got := s.Copies(); len(got) != 1 || got[0] != copiedMemory || len(s.Memories()) != 1 {
		t.Errorf("copies are %v, memories %v", got, s.Memories())
	}
	s.ExplainCopies(func(*engram.Query) ([]engram.Missing, []engram.CopyUsed) {
		return []engram.Missing{{ID: engram.MustID(copiedMemory + "/Any/p/e"), Reason: "left out"}}, nil
	})
	r, err := s.Query(t.Context(), engram.SelectID(u.Entity, engram.All()))
	if err != nil || len(r.Missing) != 1 {
		t.Errorf("a query says that %+v is missing, %v", r.Missing, err)
	}
	var parts []engram.Missing
	err = s.QueryParts(t.Context(), engram.SelectID(u.Entity, engram.All()), func(r *engram.Result) error { parts = append(parts, r.Missing...); return nil })
	if err != nil || len(parts) != 1 {
		t.Errorf("a query in parts says that %+v is missing, %v", parts, err)
	}
}

// What is on the holder's disk only is not stored again, in this epoch and the next, by
// whatever clock it arrived.
func TestCopyOnDiskIsNotDoubled(t *testing.T) {
	for _, skew := range []engram.Time{-1e15, 0, 1e15} {
		dir := t.TempDir()
		s, _ := newHolder(t, dir)
		var versions []contract.Version
		now := engram.Now() + skew
		for i := range engram.Time(20) {
			versions = append(versions, copiedVersion(t, "p/e", i, now+i, int64(i)))
		}
		prepare(t, s, copiedSegment("p", 3))
		if a := apply(t, s, contract.Changes{Versions: versions}); a.Stored != 20 {
			t.Fatalf("applied %+v", a)
		}
		again := func(when string) {
			t.Helper()
			if a := apply(t, s, contract.Changes{Versions: versions}); a.Had != 20 || a.Stored != 0 {
				t.Errorf("clock off by %d, %s: applied again %+v", skew, when, a)
			}
			wantHeld(t, s, when, "p/e", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
		}
		again("in one epoch")
		if kept, err := s.SyncCopies(t.Context()); !kept || err != nil {
			t.Errorf("syncing: %v, %v", kept, err)
		}
		crashed := filepath.Join(t.TempDir(), "crashed")
		if err := vfs.CopySettled(crashed, dir); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s, _ = newHolder(t, dir)
		again("in the next")
		s.Close()
		s, _ = newHolder(t, crashed)
		again("after a crash")
		s.Close()
	}
}

// What went with its segment, and its owner has nevertheless, is taken again, also in
// later epochs.
func TestCopyTakesAgainWhatWentWithItsSegment(t *testing.T) {
	dir := t.TempDir()
	s, _ := newHolder(t, dir)
	defer func() { s.Close() }()
	var versions []contract.Version
	now := engram.Now()
	for i := range engram.Time(5) {
		versions = append(versions, copiedVersion(t, "p/e", i, now+i, int64(i)))
	}
	prepare(t, s, copiedSegment("p", 0))
	apply(t, s, contract.Changes{Versions: versions})
	removal := contract.Removal{Pattern: engram.PatternOf(versions[0].Entity.Parent()), Segment: true, Span: engram.Always(), Until: now + 10}
	apply(t, s, contract.Changes{Removed: []contract.Removal{removal}})
	prepare(t, s, copiedSegment("p", 0))
	apply(t, s, contract.Changes{Versions: versions[3:]})
	s.Close()
	s, _ = newHolder(t, dir)
	prepare(t, s, copiedSegment("p", 0))
	if a := apply(t, s, contract.Changes{Versions: versions}); a.Stored != 3 || a.Had != 2 {
		t.Errorf("applied %+v; want three stored", a)
	}
	wantHeld(t, s, "in the next epoch", "p/e", 0, 1, 2, 3, 4)
}

// What the working memory has evicted and the recorder has not recorded yet is not stored
// twice: it is taken when it can be told whether it is there.
func TestCopyWaitsForTheRecorder(t *testing.T) {
	root := t.TempDir()
	disk := vfs.NewFaulty(vfs.OS, root)
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: filepath.Join(root, "data"), FS: disk, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(server.Config{Log: testkit.Quiet, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	disk.Inject(vfs.Fault{Op: vfs.OpCreate, Name: "episodes"})
	prepare(t, s, copiedSegment("p", 3))
	var versions []contract.Version
	for i := range engram.Time(20) {
		versions = append(versions, copiedVersion(t, "p/e", i, 1000+i, int64(i)))
	}
	if a := apply(t, s, contract.Changes{Versions: versions}); a.Stored != 20 {
		t.Fatalf("applied %+v", a)
	}
	if a, err := s.ApplyCopy(t.Context(), contract.Changes{Versions: versions}); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("applied again while nothing is recorded: %+v, %v", a, err)
	}
	disk.Heal()
	a, err := s.ApplyCopy(t.Context(), contract.Changes{Versions: versions})
	for engram.CodeOf(err) == engram.Unavailable {
		a, err = s.ApplyCopy(t.Context(), contract.Changes{Versions: versions})
	}
	if err != nil || a.Had != 20 || a.Stored != 0 {
		t.Errorf("applied again when it is recorded: %+v, %v", a, err)
	}
}

// A segment that its owner removed is gone from the holder's disk, what came after is
// not, whatever the clocks say.
func TestRemovedCopyStaysRemoved(t *testing.T) {
	for _, skew := range []engram.Time{-1e15, 1e15} {
		dir := t.TempDir()
		now := engram.Now() + skew
		s, _ := newHolder(t, dir)
		prepare(t, s, copiedSegment("p", 3))
		for i := range engram.Time(10) {
			apply(t, s, contract.Changes{Versions: []contract.Version{copiedVersion(t, "p/e", i, now+i, "old")}})
		}
		s.Close()
		s, _ = newHolder(t, dir)
		apply(t, s, contract.Changes{Versions: []contract.Version{copiedVersion(t, "p/e", 10, now+10, "old")}})
		gone := contract.Removal{Pattern: engram.MustPattern(copiedMemory + "/Any/p"), Segment: true, Span: engram.Always(), Until: now + 100}
		apply(t, s, contract.Changes{Removed: []contract.Removal{gone}})
		wantHeld(t, s, "removed", "p/e")
		s.Close()
		s, _ = newHolder(t, dir)
		wantHeld(t, s, "removed, in the next epoch", "p/e")
		prepare(t, s, copiedSegment("p", 3))
		for i := range engram.Time(10) {
			apply(t, s, contract.Changes{Versions: []contract.Version{copiedVersion(t, "p/e", 20+i, now+200+i, "new")}})
		}
		if a := apply(t, s, contract.Changes{Removed: []contract.Removal{gone}}); a.Removed != 0 {
			t.Errorf("what came after a removal went when that was told again: %+v", a)
		}
		for range 2 {
			wantHeld(t, s, "added again", "p/e", 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
			s.Close()
			s, _ = newHolder(t, dir)
		}
		s.Close()
	}
}

// What its owner forgot is forgotten, as far as it arrived before that, but for what
// the owner keeps; and nothing of the holder's own.
func TestForgottenCopy(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		s, _ := newHolder(t, dir, serving.Memory("Test", server.Hooks{}))
		prepare(t, s, copiedSegment("p", 0))
		var versions []contract.Version
		for i := range engram.Time(10) {
			versions = append(versions, copiedVersion(t, "p/e", i, 100+i, int64(i)))
		}
		apply(t, s, contract.Changes{Versions: versions})
		commit(t, s, testkit.Update(t, "Test/Any/p/e", 3, "own"))
		forgotten := contract.Removal{
			Pattern: engram.MustPattern("*/*/*/e"), Span: engram.Interval{Start: 2, End: 9}, Until: 106,
			Except: []engram.Interval{{Start: 4, End: 5}},
		}
		for i := range 2 {
			if a := apply(t, s, contract.Changes{Removed: []contract.Removal{forgotten}}); (a.Removed == 4) != (i == 0) {
				t.Errorf("with a disk in %q, %d versions were removed the time %d", dir, a.Removed, i)
			}
			wantHeld(t, s, "forgotten", "p/e", 0, 1, 4, 7, 8, 9)
		}
		if _, err := s.Latest(t.Context(), engram.MustID("Test/Any/p/e")); err != nil {
			t.Errorf("the holder's own: %v", err)
		}
		if err := s.DropCopy(t.Context(), engram.MustPattern(copiedMemory+"/Any/p/none")); err != nil || len(heldTimes(t, s, "p/e")) != 6 {
			t.Errorf("dropping something else: %v", err)
		}
		if err := s.DropCopy(t.Context(), engram.MustPattern(copiedMemory)); err != nil {
			t.Fatal(err)
		}
		wantHeld(t, s, "dropped", "p/e")
		if d, err := s.Describe(t.Context(), engram.MustPattern(copiedMemory)); err != nil || len(d) > 0 || len(s.Copies()) > 0 {
			t.Errorf("after it was dropped there is %+v, copies %v, %v", d, s.Copies(), err)
		}
		prepare(t, s, copiedSegment("p", 0)) // and begun again
		if a := apply(t, s, contract.Changes{Versions: versions}); a.Stored != 10 {
			t.Errorf("begun again: %+v", a)
		}
		for range 2 {
			wantHeld(t, s, "begun again", "p/e", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			if dir == "" {
				break
			}
			s.Close()
			s, _ = newHolder(t, dir, serving.Memory("Test", server.Hooks{}))
		}
		s.Close()
	}
}

// A version that comes whole takes the place of what a rule had cut, also where the
// working memory has evicted that, and in later epochs.
func TestWholeVersionTakesThePlace(t *testing.T) {
	dir := t.TempDir()
	s, _ := newHolder(t, dir)
	prepare(t, s, copiedSegment("p", 3))
	var cut, whole []contract.Version
	for i := range engram.Time(10) {
		cut = append(cut, copiedVersion(t, "p/e", i, 100+i, "cut"))
		whole = append(whole, copiedVersion(t, "p/e", i, 100+i, "whole"))
	}
	check := func(when string, want string, from, to engram.Time) {
		t.Helper()
		wantHeld(t, s, when, "p/e", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		for at := from; at < to; at++ {
			snap, err := s.AtOrBefore(t.Context(), engram.MustID(copiedMemory+"/Any/p/e"), at)
			if err != nil {
				t.Fatal(err)
			}
			if got := content(t, snap); got != want || snap.Time != at {
				t.Errorf("%s: at %d there is %v, of %d; want %v", when, at, got, snap.Time, want)
			}
		}
	}
	apply(t, s, contract.Changes{Versions: cut})
	apply(t, s, contract.Changes{Versions: whole[:2], Whole: true}) // evicted before
	check("in one epoch", "whole", 0, 2)
	s.Close()
	s, _ = newHolder(t, dir)
	apply(t, s, contract.Changes{Versions: whole[2:], Whole: true})
	for range 2 {
		check("in later epochs", "whole", 0, 10)
		s.Close()
		s, _ = newHolder(t, dir)
	}
}

// A provider segment that has its core segment's type is the same whether that is said
// or not: an owner, or an earlier release, may have said it.
func TestCopyOfASegmentWhoseTypeIsSaid(t *testing.T) {
	s, _ := newHolder(t, "")
	bare, said, other := copiedSegment("p", 0), copiedSegment("p", 0), copiedSegment("p", 0)
	said.Provider.Type = engram.ValueType
	other.Provider.Type = "foxglove.Pose"
	prepare(t, s, said, bare, said)
	if err := s.PrepareCopy(t.Context(), []contract.Segment{other}); engram.CodeOf(err) != engram.TypeMismatch {
		t.Errorf("a copy whose provider segment's type has changed: %v; want TypeMismatch", err)
	}
}

// What is copied again after dropping it failed waits until what was there is dropped: it
// would go with that, or be taken for it.
func TestCopyWaitsUntilItIsDropped(t *testing.T) {
	root := t.TempDir()
	disk := vfs.NewFaulty(vfs.OS, root)
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: filepath.Join(root, "data"), FS: disk, Log: testkit.Quiet, DiskLimit: 1, ForgetEvery: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(server.Config{Memories: []server.Memory{serving.Memory("Test", server.Hooks{})}, Log: testkit.Quiet, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	pending := func(want bool) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			stats, err := store.LTMStats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprint(stats.Health)
			return said, strings.Contains(said, "forgetting what was ordered") == want
		})
	}
	commit(t, s, testkit.Update(t, "Test/Any/p/e", 3, "own")) // it stays, so the episode is rewritten
	prepare(t, s, copiedSegment("p", 0), copiedSegment("q", 0))
	var versions []contract.Version
	for i := range engram.Time(10) {
		versions = append(versions, copiedVersion(t, "p/e", i, 100+i, int64(i)))
	}
	apply(t, s, contract.Changes{Versions: versions})
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: ".rewrite", Err: vfs.ErrFull})
	if err := s.DropCopy(t.Context(), engram.MustPattern(copiedMemory+"/Any/p")); err == nil {
		t.Fatal("dropping on a full disk succeeds")
	}
	pending(true)
	prepare(t, s, copiedSegment("p", 0))
	if a, err := s.ApplyCopy(t.Context(), contract.Changes{Versions: versions}); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("copied again before it is dropped: %+v, %v", a, err)
	}
	apply(t, s, contract.Changes{Versions: []contract.Version{copiedVersion(t, "q/e", 1, 100, "other")}})
	disk.Heal()
	pending(false)
	if a, err := s.ApplyCopy(t.Context(), contract.Changes{Versions: versions}); err != nil || a.Stored != 10 {
		t.Errorf("copied again when it is dropped: %+v, %v", a, err)
	}
	for range 2 {
		wantHeld(t, s, "copied again", "p/e", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		wantHeld(t, s, "what was not dropped", "q/e", 1)
		s.Close()
		s, _ = newHolder(t, filepath.Join(root, "data"), serving.Memory("Test", server.Hooks{}))
	}
	s.Close()
}
