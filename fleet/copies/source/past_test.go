package source_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// times are the times of versions of one entity, in the order told.
func timesOf(items []contract.Version) (times []engram.Time) {
	for _, v := range items {
		times = append(times, v.Snapshot.Time)
	}
	return times
}

// Without a disk, what was evicted before it was pulled is told exactly.
func TestLostIsTold(t *testing.T) {
	o := begin(t, "", core("A", 10))
	defer o.Close()
	for i := range 100 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i))
	}
	got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	want := engram.Missing{ID: engram.MustID("Test/A/p/e"), Reason: engram.MissingEvicted, Count: 90, Interval: engram.Interval{End: 90}}
	if len(got.items) != 10 || got.items[0].Snapshot.Time != 90 || len(got.lost) != 1 || got.lost[0] != want {
		t.Errorf("told %d items from %v on, lost %+v; want 10 and %+v", len(got.items), timesOf(got.items)[0], got.lost, want)
	}
}

// What neither the memory keeps nor the disk takes is told to be lost, not passed over.
func TestLostWhileTheDiskIsFullIsTold(t *testing.T) {
	defer source.SetPatience(20 * time.Millisecond)()
	dir := t.TempDir()
	disk := vfs.NewFaulty(vfs.OS, dir)
	o := beginOn(t, disk, dir, nil, core("A", 10))
	defer o.Close()
	defer disk.Heal()
	disk.Inject(vfs.Fault{Op: vfs.OpCreate, Name: "episodes", Err: vfs.ErrFull})
	for i := range 100 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i))
	}
	got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	lost := uint64(0)
	for _, m := range got.lost {
		lost += m.Count
	}
	if len(got.items) != 10 || lost != 90 {
		t.Errorf("told %d items, lost %+v; want 10 and 90", len(got.items), got.lost)
	}
}

// With a disk nothing is lost: what was evicted is read from there, in order, and what
// is on both sides comes once.
func TestEvictedComesFromDisk(t *testing.T) {
	o := begin(t, t.TempDir(), core("A", 10), core("B", 0))
	defer o.Close()
	for i := range 1000 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i), testkit.Update(t, "Test/B/p/e", engram.Time(i), i))
		if i%300 == 299 {
			if err := o.store.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	if len(got.items) != 2000 || len(got.lost) != 0 {
		t.Fatalf("told %d items, lost %+v", len(got.items), got.lost)
	}
	for i, v := range got.items {
		if v.Snapshot.Number != uint64(i+1) {
			t.Fatalf("item %d has number %d", i, v.Snapshot.Number)
		}
	}
	half := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{Epoch: o.Epoch(), Number: 1000}, contract.Rules{}))
	if len(half.items) != 1000 {
		t.Errorf("behind number 1000 are %d", len(half.items))
	}
}

// What is damaged on disk is told to be lost, and the rest is told.
func TestDamageIsToldAndPassedOver(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(file []byte) []byte
		loses  bool
	}{
		"a chunk":     {func(file []byte) []byte { clear(file[len(file)/3 : len(file)/3+50]); return file }, true},
		"the summary": {func(file []byte) []byte { clear(file[len(file)-200 : len(file)-50]); return file }, false},
		"half of it":  {func(file []byte) []byte { return file[:len(file)/2] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := begin(t, dir, core("A", 5))
			defer o.Close()
			chance := rand.New(rand.NewPCG(1, 0))
			payload := func(i int) string { return fmt.Sprint(i, chance.Uint64(), chance.Uint64(), chance.Uint64()) }
			for i := range 1000 {
				testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), payload(i)))
				if i == 499 {
					if err := o.store.Seal(t.Context(), "test"); err != nil {
						t.Fatal(err)
					}
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "episodes", "*.mcap"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			file, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], c.damage(file), 0o644); err != nil {
				t.Fatal(err)
			}
			got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
			var lost uint64
			for _, m := range got.lost {
				if m.Reason != engram.MissingDamaged || m.ID != engram.MustID("Test/A/p/e") {
					t.Errorf("lost is %+v", m)
				}
				lost += m.Count
			}
			if lost > 0 != c.loses || len(got.items) < 500 || len(got.items)+int(lost) != 1000 {
				t.Errorf("of 1000 versions %d were told, and %d are lost", len(got.items), lost)
			}
		})
	}
}

// What a server read back from its log is no loss if it is evicted while it is pulled: an
// episode of the epoch before has it, and who pulls was told of it with that.
func TestRestoredIsEvictedWhileItIsPulled(t *testing.T) {
	const kept, ahead = 1200, 100
	segment := core("A", kept)
	segment.Durability = engram.Synced
	written := 0
	write := func(o *owner, n int) {
		var updates []engram.EntityUpdate
		for range n {
			updates = append(updates, testkit.Update(t, "Test/A/p/e", engram.Time(written), written))
			written++
		}
		testkit.Commit(t, o, updates...)
	}
	killed, dir := t.TempDir(), t.TempDir()
	o := begin(t, killed, segment)
	write(o, kept)
	first := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{})).batches[0].Position
	killBeforeLogIsCut(t, o, killed, dir)
	for name, after := range map[string]contract.Position{"anew": {}, "from the epoch before": first} {
		t.Run(name, func(t *testing.T) {
			own := t.TempDir()
			if err := os.CopyFS(own, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			o := begin(t, own, segment)
			defer o.Close()
			if o.Number() < kept {
				t.Fatalf("%d versions were read back from the log, not %d", o.Number(), kept)
			}
			written = kept
			told, lost := map[engram.Time]bool{}, []engram.Missing(nil)
			inEpisodes := 0
			pull(t, o, shareOf("Test", after, contract.Rules{}), func(b *contract.Batch) bool {
				for _, at := range timesOf(b.Items) {
					told[at] = true
				}
				lost = append(lost, b.Lost...)
				if b.Position.Epoch != o.Epoch() {
					inEpisodes += len(b.Items)
					return false
				}
				if n := int(b.Position.Number); n < kept && len(b.Items) > 0 {
					write(o, n+ahead-(written-kept)) // it evicts what comes next of what was read back
				}
				return b.Position.Number >= o.Number()
			})
			if want := kept - int(after.Number); inEpisodes != want {
				t.Fatalf("the epoch before left %d versions in episodes, not %d", inEpisodes, want)
			}
			for at := engram.Time(after.Number); at < engram.Time(written); at++ {
				if !told[at] {
					t.Fatalf("what was written at %d was not told", at)
				}
			}
			if len(lost) > 0 {
				t.Errorf("told to be lost: %+v", lost)
			}
		})
	}
}

// killBeforeLogIsCut leaves in an empty folder what a kill leaves of an owner's when an
// episode has been sealed and the log has not been cut off yet, and ends the owner.
func killBeforeLogIsCut(t *testing.T, o *owner, dir, left string) {
	t.Helper()
	if err := vfs.CopySettled(left, dir); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	episodes := filepath.Join(left, "episodes")
	if err := os.RemoveAll(episodes); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(episodes, os.DirFS(filepath.Join(dir, "episodes"))); err != nil {
		t.Fatal(err)
	}
}

// A pull goes on in the epochs that came since, also where the clock was set back.
func TestLivesFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	var clock atomic.Int64
	clock.Store(1e18)
	var o *owner
	live := func(from, n int) {
		o = beginAt(t, dir, func() engram.Time { return engram.Time(clock.Add(1)) }, core("A", 5))
		for i := range n {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(from+i), i))
		}
	}
	live(0, 50)
	first := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	o.Close()
	clock.Add(-1e15) // the battery of the clock is empty
	live(50, 50)
	o.Close()
	live(100, 0) // it leaves nothing on disk
	idle := catchUp(t, o, t.Context(), shareOf("Test", first.last, contract.Rules{}))
	o.Close()
	live(100, 50)
	defer o.Close()
	for name, c := range map[string]struct {
		after contract.Position
		first engram.Time
		n     int
	}{
		"anew":           {contract.Position{}, 0, 150},
		"from the first": {contract.Position{Epoch: first.last.Epoch, Number: 25}, 25, 125},
		"from the third": {idle.last, 100, 50},
	} {
		got := catchUp(t, o, t.Context(), shareOf("Test", c.after, contract.Rules{}))
		if len(got.items) != c.n || len(got.lost) != 0 {
			t.Errorf("%s: %d items, lost %+v; want %d", name, len(got.items), got.lost, c.n)
			continue
		}
		for i, v := range got.items {
			if v.Snapshot.Time != c.first+engram.Time(i) {
				t.Errorf("%s: item %d is of %d", name, i, v.Snapshot.Time)
				break
			}
		}
	}
	if len(idle.items) != 50 {
		t.Errorf("in an epoch that left nothing, %d items were told; want 50", len(idle.items))
	}
}

// What an earlier epoch left in several episodes is told in the order in which it came, and
// all of it to who is cut off again and again: also where episodes were begun in one
// second and some of them taken together, and where the clock was set back between them.
func TestEpisodesFollowEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		back     time.Duration // between two episodes
		together bool          // the first two are, twice
	}{
		"taken together":         {0, true},
		"the clock was set back": {time.Hour, false},
		"both":                   {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) { testEpisodesFollowEachOther(t, c.back, c.together) })
	}
}

func testEpisodesFollowEachOther(t *testing.T, back time.Duration, together bool) {
	dir := t.TempDir()
	var clock atomic.Int64
	clock.Store(1e18)
	now := func() engram.Time { return engram.Time(clock.Add(1)) }
	o := beginAt(t, dir, now, core("A", 0))
	const episodes = 6
	for i := range episodes {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(2*i), i), testkit.Update(t, "Test/A/p/e", engram.Time(2*i+1), i))
		if !o.store.Recorded(t.Context(), o.Number()) { // in an episode that is open
			t.Fatal("the recorder does not come on")
		}
		if together && (i == 2 || i == 4) {
			if done, err := o.store.Compact(t.Context(), false, nil); err != nil || done.After != 1 {
				t.Fatalf("taken together: %+v, %v", done, err)
			}
		}
		if i < episodes-1 {
			if err := o.store.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
		clock.Add(-int64(back))
	}
	o.Close()
	o = beginAt(t, dir, now, core("A", 0))
	defer func() { o.Close() }()

	got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	if times := timesOf(got.items); len(times) != 2*episodes || !slices.IsSorted(times) {
		t.Errorf("told of %v, want %d in order", times, 2*episodes)
	}
	x := taker{t: t, holder: holder(t, t.TempDir())}
	defer x.holder.Close()
	x.share.Rules.MaxBytes = 4 // so that a batch has one version
	for all := false; !all; {
		x.pull(o, func(b *contract.Batch) bool {
			all = b.Position.Epoch == o.Epoch() && b.Position.Number >= o.Number() && b.Behind.Updates == 0
			return all || len(b.Items) > 0
		})
	}
	var want []string
	for i := range 2 * episodes {
		want = append(want, fmt.Sprint("p/e ", i))
	}
	slices.Sort(want)
	x.want(want...)
}

// Who was away is told what was removed and forgotten, once, also in a later epoch.
func TestRemovalsReachWhoWasAway(t *testing.T) {
	dir := t.TempDir()
	o := begin(t, dir, core("A", 0), core("B", 0))
	for i := range 10 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i), testkit.Update(t, "Test/B/p/e", engram.Time(i), i))
	}
	before := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	if err := o.RemoveSegment(t.Context(), engram.MustID("Test/A/p")); err != nil {
		t.Fatal(err)
	}
	if err := o.store.Mark(t.Context(), episode.Mark{Time: 8, Label: "keep"}); err != nil {
		t.Fatal(err)
	}
	order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("Test/B")}, IDs: []engram.ID{engram.MustID("Test/B/p/e").At(1)}, Span: engram.Interval{Start: 5, End: 9}, Why: "asked"}
	if _, err := o.store.Forget(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", 100, "again"))
	check := func(when string) {
		t.Helper()
		got := catchUp(t, o, t.Context(), shareOf("Test", before.last, contract.Rules{}))
		if len(got.removed) != 3 || len(got.items) != 1 || len(got.lost) != 0 {
			t.Fatalf("%s: removed %+v, items %v, lost %+v", when, got.removed, timesOf(got.items), got.lost)
		}
		segment, some, one := got.removed[0], got.removed[1], got.removed[2]
		if !segment.Segment || segment.Pattern.String() != "Test/A/p" || segment.Until >= got.items[0].Snapshot.Arrived {
			t.Errorf("%s: the segment's removal is %+v", when, segment)
		}
		if some.Segment || some.Pattern.String() != "Test/B" || some.Span != order.Span || len(some.Except) != 1 || !some.Except[0].Contains(8) {
			t.Errorf("%s: what was forgotten is %+v", when, some)
		}
		if one.Span != (engram.Interval{Start: 1, End: 2}) {
			t.Errorf("%s: of one snapshot, %+v", when, one)
		}
		if again := catchUp(t, o, t.Context(), shareOf("Test", got.last, contract.Rules{})); len(again.removed)+len(again.items) != 0 {
			t.Errorf("%s: who has all is told of %+v", when, again)
		}
		if other := catchUp(t, o, t.Context(), shareOf("Test/C", before.last, contract.Rules{})); len(other.removed) != 0 {
			t.Errorf("%s: who copies something else is told of %+v", when, other.removed)
		}
	}
	check("in the same epoch")
	o.Close()
	o = begin(t, dir, core("A", 0), core("B", 0))
	defer o.Close()
	check("in the next epoch")
}

// Who comes anew is told what was forgotten and left out before.
func TestWhatIsGoneIsTold(t *testing.T) {
	dir := t.TempDir()
	o := begin(t, dir, core("A", 0))
	defer func() { o.Close() }()
	for i := range 10 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i))
	}
	order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("Test/A")}, Span: engram.Interval{Start: 2, End: 5}, Why: "asked"}
	if _, err := o.store.Forget(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	want := engram.Missing{ID: engram.MustID("Test/A/p/e"), Reason: engram.MissingForgotten, Count: 3, Interval: order.Span}
	for range 2 {
		got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
		if len(got.items) != 7 || len(got.lost) != 1 || got.lost[0] != want {
			t.Errorf("told are %v, lost %+v; want %+v", timesOf(got.items), got.lost, want)
		}
		if again := catchUp(t, o, t.Context(), shareOf("Test", got.last, contract.Rules{})); len(again.lost) != 0 {
			t.Errorf("who was told is told again: %+v", again.lost)
		}
		o.Close()
		o = begin(t, dir, core("A", 0))
	}
}

// What is removed reaches who has it whatever the owner's clock says in its epochs, and
// what came behind it stays.
func TestRemovalsWhereTheClockWasSetBack(t *testing.T) {
	for _, back := range []time.Duration{0, 30 * time.Second, 1e15, 1e18} {
		for _, durability := range []engram.Durability{engram.Volatile, engram.Logged} {
			for name, disk := range map[string]bool{"with a disk": true, "without": false} {
				if durability == engram.Logged && !disk {
					continue
				}
				t.Run(fmt.Sprint(name, ", ", durability, ", ", back), func(t *testing.T) {
					testRemovalsWhereTheClockWasSetBack(t, back, durability, disk)
				})
			}
		}
	}
}

func testRemovalsWhereTheClockWasSetBack(t *testing.T, back time.Duration, durability engram.Durability, disk bool) {
	var clock atomic.Int64
	clock.Store(17e17)
	dir := ""
	if disk {
		dir = t.TempDir()
	}
	segment := core("A", 0)
	segment.Durability = durability
	var o *owner
	begin := func() {
		o = beginAt(t, dir, func() engram.Time { return engram.Time(clock.Add(1000)) }, segment)
	}
	begin()
	defer func() { o.Close() }()
	again := func() {
		o.Close()
		clock.Add(-int64(back))
		begin()
	}
	remove := func(name string) {
		t.Helper()
		if err := o.RemoveSegment(t.Context(), engram.MustID(name)); err != nil {
			t.Fatal(err)
		}
	}
	c := taker{t: t, holder: holder(t, t.TempDir())}
	defer c.holder.Close()
	for _, name := range []string{"p", "q", "r", "s"} {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/"+name+"/first", 1, "x"))
	}
	c.catchUp(o)
	c.want("p/first 1", "q/first 1", "r/first 1", "s/first 1")

	if disk { // while the holder is away
		remove("Test/A/p")
		again()
		if n := c.catchUp(o); n != 1 {
			t.Errorf("of a removal in the last epoch %d were told", n)
		}
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/second", 2, "x"))
	} else { // while it is there
		again()
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/first", 2, "x"))
		c.pull(o, func(b *contract.Batch) bool {
			if len(b.Items) > 0 {
				remove("Test/A/p")
				testkit.Commit(t, o, testkit.Update(t, "Test/A/p/second", 2, "x"))
			}
			return len(b.Removed) > 0
		})
	}
	c.catchUp(o)
	c.want("p/second 2", "q/first 1", "r/first 1", "s/first 1")

	testkit.Commit(t, o, testkit.Update(t, "Test/A/q/first", 2, "x"))
	c.catchUp(o) // it has something of both epochs
	remove("Test/A/q")
	testkit.Commit(t, o, testkit.Update(t, "Test/A/q/second", 3, "x"))
	if n := c.catchUp(o); n != 1 {
		t.Errorf("of a removal in this epoch %d were told", n)
	}
	c.want("p/second 2", "q/second 3", "r/first 1", "s/first 1")

	again() // the clock is behind still
	testkit.Commit(t, o, testkit.Update(t, "Test/A/r/first", 3, "x"), testkit.Update(t, "Test/A/s/second", 3, "x"))
	c.catchUp(o)
	remove("Test/A/r")
	testkit.Commit(t, o, testkit.Update(t, "Test/A/r/second", 4, "x"))
	c.catchUp(o)
	if disk {
		order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("Test/A/s")}, Span: engram.Always(), Why: "asked"}
		if _, err := o.store.Forget(t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, o, testkit.Update(t, "Test/A/s/third", 4, "x"))
		c.catchUp(o)
		c.want("p/second 2", "q/second 3", "r/second 4", "s/third 4")
	} else {
		c.want("p/second 2", "q/second 3", "r/second 4", "s/first 1", "s/second 3")
	}
	if n := c.catchUp(o); n != 0 {
		t.Errorf("who has all is told of %d removals", n)
	}
}

// taker is a holder that takes what it is told, and knows its place.
type taker struct {
	t      *testing.T
	holder *serve.Server
	share  contract.Share
}

// pull pulls until a batch, which it has taken, satisfies stop, and returns how many
// removals it was told of.
func (x *taker) pull(o *owner, stop func(*contract.Batch) bool) (removed int) {
	x.t.Helper()
	x.share.Patterns = []engram.Pattern{engram.MustPattern("Test")}
	pull(x.t, o, contract.Request{Shares: []contract.Share{x.share}}, func(b *contract.Batch) bool {
		removed += len(b.Removed)
		if _, err := x.holder.ApplyCopy(x.t.Context(), contract.Changes{Removed: b.Removed}); err != nil {
			x.t.Fatal(err)
		}
		if err := x.holder.PrepareCopy(x.t.Context(), b.Segments); err != nil {
			x.t.Fatal(err)
		}
		if _, err := x.holder.ApplyCopy(x.t.Context(), contract.Changes{Versions: b.Items}); err != nil {
			x.t.Fatal(err)
		}
		x.share.Had.Took(x.share.After, b)
		x.share.After = b.Position
		return stop(b)
	})
	return removed
}

// catchUp pulls all there is.
func (x *taker) catchUp(o *owner) (removed int) {
	x.t.Helper()
	return x.pull(o, func(b *contract.Batch) bool {
		return b.Position.Epoch == o.Epoch() && b.Position.Number >= o.Number() && b.Behind.Updates == 0
	})
}

// want checks what is held, as "provider/entity time".
func (x *taker) want(want ...string) {
	x.t.Helper()
	r, err := x.holder.Query(x.t.Context(), engram.MustPattern("Test").Select(engram.All()))
	if err != nil {
		x.t.Fatal(err)
	}
	var held []string
	for it := range r.All() {
		held = append(held, fmt.Sprint(it.ID.ProviderSegment(), "/", it.ID.Entity(), " ", int64(it.Time)))
	}
	slices.Sort(held)
	if !slices.Equal(held, want) {
		x.t.Errorf("the holder has %q, want %q", held, want)
	}
}

// Where so much was removed that it is not known any more what, the holder is told what
// there is.
func TestManyRemovals(t *testing.T) {
	o := &owner{}
	var err error
	o.Server, err = serve.New(server.Config{
		Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{core("A", 0), core("B", 0)}}}, Log: testkit.Quiet, Limits: wm.Limits{Removals: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, name := range []string{"A/gone", "A/stays", "A/again", "B/gone"} {
		testkit.Commit(t, o, testkit.Update(t, "Test/"+name+"/e", 1, "x"))
	}
	h := holder(t, "")
	defer h.Close()
	copyAll := func(after contract.Position) contract.Position {
		t.Helper()
		got := catchUp(t, o, t.Context(), shareOf("Test/A", after, contract.Rules{}))
		for _, b := range got.batches {
			if err := h.PrepareCopy(t.Context(), b.Segments); err != nil {
				t.Fatal(err)
			}
			if _, err := h.ApplyCopy(t.Context(), contract.Changes{Removed: b.Removed, Versions: b.Items}); err != nil {
				t.Fatal(err)
			}
		}
		return got.last
	}
	at := copyAll(contract.Position{})
	remove := func(name string) {
		t.Helper()
		if err := o.RemoveSegment(t.Context(), engram.MustID("Test/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	remove("A/gone")
	remove("A/again")
	for i := range 20 {
		name := fmt.Sprintf("B/p%d", i)
		testkit.Commit(t, o, testkit.Update(t, "Test/"+name+"/e", 1, "x"))
		remove(name)
	}
	testkit.Commit(t, o, testkit.Update(t, "Test/A/again/e", 2, "x"))
	copyAll(at)
	r, err := h.Query(t.Context(), engram.MustPattern("Test").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var held []string
	for it := range r.All() {
		held = append(held, fmt.Sprint(it.ID.ProviderSegment(), " ", int64(it.Time)))
	}
	// What was removed and added again keeps what it had.
	if want := "[again 1 again 2 stays 1]"; fmt.Sprint(held) != want {
		t.Errorf("the holder has %v; want %v", held, want)
	}
}

// What may not be read is not told, nor that it is lost or removed.
func TestScope(t *testing.T) {
	o := begin(t, "", core("A", 3))
	defer o.Close()
	for i := range 20 {
		for _, name := range []string{"p/open", "p/secret", "q/secret"} {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/"+name, engram.Time(i), i))
		}
	}
	if err := o.RemoveSegment(t.Context(), engram.MustID("Test/A/q")); err != nil {
		t.Fatal(err)
	}
	got := catchUp(t, o, engram.WithScope(t.Context(), onlyOpen{}), shareOf("Test", contract.Position{}, contract.Rules{}))
	if len(got.items) != 3 || len(got.lost) != 1 || len(got.removed) != 0 {
		t.Errorf("told were %d items, lost %+v, removed %+v", len(got.items), got.lost, got.removed)
	}
	for _, v := range got.items {
		if v.Entity.Entity() != "open" {
			t.Errorf("told was %v", v.Entity)
		}
	}
}

// What was forgotten is told without naming what may not be known.
func TestForgettingInScope(t *testing.T) {
	o := begin(t, t.TempDir(), core("A", 0))
	defer o.Close()
	for i := range 5 {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/open", engram.Time(i), i), testkit.Update(t, "Test/A/p/secret", engram.Time(i), i))
	}
	ctx := engram.WithScope(t.Context(), onlyOpen{})
	before := catchUp(t, o, ctx, shareOf("Test", contract.Position{}, contract.Rules{}))
	for _, pattern := range []string{"Test/A/*/~open|secret", "Test/A/*/secret"} {
		order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, Span: engram.Interval{Start: 1, End: 9}, Why: "asked"}
		if _, err := o.store.Forget(t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := catchUp(t, o, ctx, shareOf("Test", before.last, contract.Rules{}))
	if len(got.removed) != 1 || got.removed[0].Pattern.String() != "Test/A/p/open" || got.removed[0].Span != (engram.Interval{Start: 1, End: 9}) {
		t.Errorf("told is %+v", got.removed)
	}
}

// What is forgotten is told to who may know of it while nothing of it is left any more and
// it is not in the account yet, whatever the rules and the pattern.
func TestForgettingInScopeIsToldWhileItIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		rules, pattern string
		want           []string
	}{
		"everything":         {`"*"`, "Test/A/p/open", []string{"Test/A/p/open"}},
		"everything, names":  {`"*"`, `Test/A/*/~open|secret`, []string{`Test/A/*/~open|secret`}},
		"one, by name":       {"Test/A/p/open", "Test/A/p/open", []string{"Test/A/p/open"}},
		"some, by names":     {`Test/A/*/~o.*`, `Test/A/*/~.*e.*`, []string{"Test/A/p/open", "Test/A/p/other"}},
		"some, of a segment": {`Test/A/*/~o.*`, "Test/A/p", []string{"Test/A/p/open", "Test/A/p/other"}},
		"some, of a memory":  {`Test/A/*/~o.*`, "Test/*", []string{"Test/*"}},
		"nothing of it":      {`Test/A/*/~o.*`, "Test/A/p/secret", nil},
		"nothing there":      {`Test/A/*/~o.*`, "Test/A/q", nil},
	} {
		t.Run(name, func(t *testing.T) { testForgettingInScope(t, c.rules, c.pattern, c.want) })
	}
}

func testForgettingInScope(t *testing.T, on, pattern string, want []string) {
	dir := t.TempDir()
	disk := &slowSeal{FS: vfs.OS, began: make(chan struct{}), goOn: make(chan struct{})}
	o := beginOn(t, disk, dir, nil, core("A", 0))
	defer func() { o.Close() }()
	for i := range 5 {
		for _, name := range []string{"p/open", "p/other", "p/secret", "q/secret"} {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/"+name, engram.Time(i), i))
		}
	}
	policy, err := access.Parse([]byte("rules:\n  - allow: all\n    to: holder\n    \"on\": " + on + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	rules := access.New(access.Options{})
	defer rules.Close()
	if err := rules.Set(policy); err != nil {
		t.Fatal(err)
	}
	ctx := rules.Within(access.WithIdentity(t.Context(), "holder"), access.Read|access.Subscribe)
	forgotten := make(chan error, 1)
	forget := sync.OnceFunc(func() {
		_, err := o.store.Forget(t.Context(), ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, Why: "asked"}, nil)
		forgotten <- err
	})
	var told []string
	var before contract.Position
	batches := 0 // since it is being forgotten
	err = o.Pull(ctx, shareOf("Test", contract.Position{}, contract.Rules{}), func(b *contract.Batch) error {
		for i := range b.Removed {
			told = append(told, b.Removed[i].Pattern.String())
		}
		if b.Behind.Updates == 0 {
			if batches == 0 {
				before = b.Position
			}
			go forget()
			<-disk.began // what the working memory had of it is erased
			batches++
		}
		if batches > 3 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if slices.Sort(told); !slices.Equal(told, want) {
		t.Errorf("while it is forgotten, told is %v, want %v", told, want)
	}
	close(disk.goOn)
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	o.Close()
	if err := os.Remove(filepath.Join(dir, "account.json")); err != nil && !os.IsNotExist(err) { // it is bounded
		t.Fatal(err)
	}
	o = begin(t, dir, core("A", 0))
	told = nil
	err = o.Pull(ctx, shareOf("Test", before, contract.Rules{}), func(b *contract.Batch) error {
		for i := range b.Removed {
			told = append(told, b.Removed[i].Pattern.String())
		}
		if b.Behind.Updates == 0 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if slices.Sort(told); !slices.Equal(told, want) {
		t.Errorf("in the next epoch, told is %v, want %v", told, want)
	}
}

// slowSeal is a disk on which no episode is sealed until it may be.
type slowSeal struct {
	vfs.FS
	once        sync.Once
	began, goOn chan struct{}
}

func (d *slowSeal) Rename(from, to string) error {
	if filepath.Ext(to) == ".mcap" {
		d.once.Do(func() { close(d.began) })
		<-d.goOn
	}
	return d.FS.Rename(from, to)
}

// onlyOpen is a scope with the entities called open.
type onlyOpen struct{}

func (onlyOpen) Visibility(id engram.ID) engram.Visibility {
	switch {
	case id.Level() >= engram.LevelProviderSegment && id.ProviderSegment() == "q":
		return engram.Hidden
	case id.Level() < engram.LevelEntity:
		return engram.Partial
	case id.Entity() == "open":
		return engram.Visible
	}
	return engram.Hidden
}

// A holder that does not take what it is given costs its owner nothing, and gets all
// that is kept in the end.
func TestSlowHolder(t *testing.T) {
	o := begin(t, t.TempDir(), core("A", 5))
	defer o.Close()
	i, n := 0, 0
	pull(t, o, shareOf("Test", contract.Position{}, contract.Rules{}), func(b *contract.Batch) bool {
		n += len(b.Items)
		if len(b.Lost) > 0 {
			t.Errorf("lost %+v", b.Lost)
		}
		for range 500 { // while it is slow
			if i < 5000 {
				testkit.Commit(t, o, testkit.Update(t, fmt.Sprintf("Test/A/p/e%d", i%3), engram.Time(i), i))
				i++
			}
		}
		return n == 5000
	})
}

// What is removed while it is read what comes behind other removals is told, also to who
// is cut off before that.
func TestRemovalWhileOneIsToldIsTold(t *testing.T) {
	o := begin(t, "", core("A", 0))
	defer o.Close()
	testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", 1, "x"), testkit.Update(t, "Test/A/q/e", 1, "x"))
	before := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, contract.Rules{}))
	remove := func(name string) {
		t.Helper()
		if err := o.RemoveSegment(t.Context(), engram.MustID(name)); err != nil {
			t.Fatal(err)
		}
	}
	remove("Test/A/p")
	var told []string
	note := func(b *contract.Batch) {
		for i := range b.Removed {
			told = append(told, b.Removed[i].Pattern.String())
		}
	}
	// That it is asked whether a segment may be known says that its removal is being told.
	once := false
	asked := scopeFunc(func(id engram.ID) {
		if id == engram.MustID("Test/A/p") && !once {
			once = true
			remove("Test/A/q")
		}
	})
	var at contract.Position
	err := o.Pull(engram.WithScope(t.Context(), asked), shareOf("Test", before.last, contract.Rules{}), func(b *contract.Batch) error {
		note(b)
		at = b.Position
		return errEnough
	})
	if err != errEnough {
		t.Fatal(err)
	}
	rest := catchUp(t, o, t.Context(), shareOf("Test", at, contract.Rules{}))
	for i := range rest.batches {
		note(&rest.batches[i])
	}
	if !slices.Contains(told, "Test/A/p") || !slices.Contains(told, "Test/A/q") {
		t.Errorf("of two segments that were removed it was told of %v", told)
	}
}

// scopeFunc is a scope with everything, that is called when it is asked.
type scopeFunc func(id engram.ID)

func (f scopeFunc) Visibility(id engram.ID) engram.Visibility {
	f(id)
	return engram.Visible
}

// What was lost before the holder came is told to the end, each once, also to who is cut
// off in between.
func TestWhatIsGoneIsToldAfterACut(t *testing.T) {
	const n = 3*contract.BatchItems + 10
	o := begin(t, t.TempDir(), core("A", 0))
	defer o.Close()
	var updates []engram.EntityUpdate
	for i := range n {
		updates = append(updates, testkit.Update(t, fmt.Sprintf("Test/A/p/e%d", i), 1, i))
	}
	testkit.Commit(t, o, updates...)
	for _, pattern := range []string{"Test/A/p/~e.*[0-8]", "Test/A/p/~e.*9"} {
		order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, Span: engram.Always(), Why: "asked"}
		if _, err := o.store.Forget(t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Commit(t, o, testkit.Update(t, "Test/A/p/stays", 1, "x"))
	told := map[engram.ID]int{}
	var at contract.Position
	removed, items := 0, 0
	for items == 0 {
		pull(t, o, shareOf("Test", at, contract.Rules{}), func(b *contract.Batch) bool {
			for _, m := range b.Lost {
				told[m.ID] += int(m.Count)
			}
			if len(b.Lost) > 0 { // a removal told again would have the holder forget them
				removed += len(b.Removed)
			}
			items += len(b.Items)
			at = b.Position
			return true
		})
	}
	if len(told) != n || removed != 2 {
		t.Errorf("of %d entities that were forgotten by 2 requests, it was told of %d, and of %d requests", n, len(told), removed)
	}
	for id, count := range told {
		if count != 1 {
			t.Errorf("%v was told to lack %d versions, want 1", id, count)
		}
	}
}
