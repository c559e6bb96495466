package source_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// life is a server that is begun again and again, by a clock of its own.
type life struct {
	*serve.Server
	dir      string // "" without a disk
	clock    atomic.Int64
	memories []server.Memory
	recent   int
}

func (l *life) now() engram.Time { return engram.Time(l.clock.Add(1000)) }

func (l *life) begin(t *rapid.T) {
	var store *ltm.Store
	var err error
	if l.dir != "" {
		if store, err = ltm.Open(context.Background(), ltm.Options{Dir: l.dir, Log: testkit.Quiet, Now: l.now}); err != nil {
			t.Fatal(err)
		}
	}
	if l.Server, err = serve.New(server.Config{Memories: l.memories, Log: testkit.Quiet, Store: store, Now: l.now, Limits: wm.Limits{Recent: l.recent}}); err != nil {
		t.Fatal(err)
	}
}

func (l *life) end(t *rapid.T) {
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// version identifies a version, with what it holds.
type version struct {
	entity        engram.ID
	time, arrived engram.Time
}

// copying is an owner, a holder of a copy of what it has, and what both should have.
type copying struct {
	*rapid.T
	owner, holder *life
	share         contract.Share
	// had is every version that was ever committed and not removed since; gone is what
	// was, and may still be at the holder because its owner has forgotten that.
	had      map[version]string
	gone     map[version]string
	kept     contract.Share   // its place, on the holder's disk
	covered  []engram.Missing // what was told to be lost or left out
	feed     engram.UpdateStream
	told     map[version]bool
	newest   map[engram.ID]engram.Time // arrivals at the holder
	entities []engram.ID
	values   int
}

var errCut = errors.New("the link is cut")

func newCopying(t *rapid.T, fast string) *copying {
	c := &copying{
		T: t, owner: &life{}, holder: &life{}, had: map[version]string{}, gone: map[version]string{},
		told: map[version]bool{}, newest: map[engram.ID]engram.Time{},
	}
	dir := func(label string) string {
		if !rapid.Bool().Draw(t, label) {
			return ""
		}
		dir, err := os.MkdirTemp(fast, "copying")
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	c.owner.recent = rapid.SampledFrom([]int{0, 4, 50}).Draw(t, "recent")
	c.owner.dir, c.holder.dir = dir("owner has a disk"), dir("holder has a disk")
	c.owner.clock.Store(1e18)
	c.holder.clock.Store(1e18 + rapid.SampledFrom([]int64{0, 10e9, -10e9, 3600e9, -3600e9}).Draw(t, "skew"))
	history := engram.Bounds{MaxCount: rapid.SampledFrom([]int{0, 0, 3, 20}).Draw(t, "history")}
	segment := func(name string, d engram.Durability) engram.CoreSegment {
		return engram.CoreSegment{ID: engram.MustID("Test/" + name), History: history, Durability: d, MaxAhead: engram.AnyAhead}
	}
	if c.owner.dir == "" {
		c.owner.memories = []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{segment("A", engram.Volatile), segment("B", engram.Volatile)}}}
	} else {
		c.owner.memories = []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{segment("A", engram.Volatile), segment("B", engram.Synced)}}}
	}
	for _, core := range []string{"A", "B"} {
		for _, rest := range []string{"p/x", "p/y", "q/x"} {
			c.entities = append(c.entities, engram.MustID("Test/"+core+"/"+rest))
		}
	}
	c.share = contract.Share{Patterns: []engram.Pattern{engram.MustPattern(rapid.SampledFrom([]string{"Test", "Test/A", "Test/*/p", "Test/*/*/x"}).Draw(t, "pattern"))}}
	switch rapid.IntRange(0, 5).Draw(t, "rule") {
	case 0:
		c.share.Rules.MaxRate = 1e6 // the owner's times are nanoseconds apart
	case 1:
		c.share.Rules.Where = "confidence >= 0.5"
	case 2:
		c.share.Rules.MaxPayload = 8
	}
	c.owner.begin(t)
	c.holder.begin(t)
	c.follow()
	return c
}

// follow subscribes to the holder.
func (c *copying) follow() {
	var err error
	if c.feed, err = c.holder.Subscribe(context.Background(), engram.Subscription{Queue: 4096}); err != nil {
		c.Fatal(err)
	}
	clear(c.told)
	clear(c.newest)
}

// hear checks what the holder's subscribers are told: nothing twice, and of each entity
// in the order of arrival.
func (c *copying) hear() {
	for {
		batch, err := c.feed.(interface {
			Poll() ([]engram.Update, error)
		}).Poll()
		if err != nil {
			c.Fatal(err)
		}
		if len(batch) == 0 {
			return
		}
		for _, u := range batch {
			entity := u.ID.Truncate(engram.LevelEntity)
			at, _ := u.ID.Time()
			v := version{entity, at, u.Arrived}
			switch {
			case entity.Memory() != "Test":
				continue
			case u.Dropped > 0:
				c.Fatalf("the test's own queue is too small")
			case c.told[v]:
				c.Fatalf("the holder's subscribers were told of %+v twice", v)
			case u.Arrived < c.newest[entity] && c.share.Rules.MaxRate == 0: // what is told again may have its turn then
				c.Fatalf("the holder's subscribers were told of %+v after what arrived at %d", v, c.newest[entity])
			}
			c.told[v] = true
			c.newest[entity] = u.Arrived
		}
	}
}

func (c *copying) commit(t *rapid.T) {
	var updates []engram.EntityUpdate
	var values []string
	for range rapid.SampledFrom([]int{1, 1, 3, 30}).Draw(t, "updates") {
		c.values++
		value := fmt.Sprintf("%d%*s", c.values, rapid.IntRange(0, 9).Draw(t, "size"), "")
		at := engram.Time(c.values)
		if rapid.IntRange(0, 3).Draw(t, "again or late") == 0 {
			at = engram.Time(rapid.IntRange(max(0, c.values-20), c.values).Draw(t, "time"))
		}
		p := testkit.Value(t, value)
		in := engram.NewInstance(p)
		in.Confidence = rapid.SampledFrom([]float32{0.25, 1}).Draw(t, "confidence")
		updates = append(updates, engram.EntityUpdate{Entity: rapid.SampledFrom(c.entities).Draw(t, "entity"), Time: at, Instances: []engram.Instance{in}})
		values = append(values, string(p.Bytes))
	}
	feed, err := c.owner.Subscribe(context.Background(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	results, err := c.owner.Commit(context.Background(), engram.Commit{Updates: updates})
	if err != nil {
		t.Fatal(err)
	}
	byNumber := map[uint64]int{}
	for i, r := range results {
		switch {
		case r.Err == nil:
			byNumber[r.Number] = i
		case engram.CodeOf(r.Err) != engram.TooOld: // that would be evicted at once
			t.Fatal(r.Err)
		}
	}
	for heard := 0; heard < len(byNumber); {
		batch, err := feed.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range batch {
			heard++
			at, _ := u.ID.Time()
			c.had[version{u.ID.Truncate(engram.LevelEntity), at, u.Arrived}] = values[byNumber[u.Number]]
		}
	}
}

// remove removes a segment at the owner, and has it there again.
func (c *copying) remove(t *rapid.T) {
	id := engram.MustID(rapid.SampledFrom([]string{"Test/A/p", "Test/B/p", "Test/A/q"}).Draw(t, "segment"))
	if err := c.owner.RemoveSegment(context.Background(), id); err != nil && engram.CodeOf(err) != engram.NotFound {
		t.Fatal(err)
	} else if err == nil {
		maps.DeleteFunc(c.had, func(v version, _ string) bool { return id.Contains(v.entity) })
	}
}

// forget forgets something at the owner.
func (c *copying) forget(t *rapid.T) {
	if c.owner.dir == "" {
		t.Skip("an owner without a disk has nobody who forgets")
	}
	pattern := rapid.SampledFrom([]string{"Test/A/p/x", "Test/*/*/y"}).Draw(t, "what")
	from := engram.Time(rapid.IntRange(0, c.values+1).Draw(t, "from"))
	span := engram.Interval{Start: from, End: from + engram.Time(rapid.IntRange(1, 30).Draw(t, "span"))}
	p := engram.MustPattern(pattern)
	_, err := c.owner.LongTerm().Forget(context.Background(), ltm.Forgetting{Patterns: []engram.Pattern{p}, Span: span, Why: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := p.Matcher()
	maps.DeleteFunc(c.had, func(v version, _ string) bool { return m.Match(v.entity) && span.Contains(v.time) })
}

func (c *copying) seal(t *rapid.T) {
	l := rapid.SampledFrom([]*life{c.owner, c.holder}).Draw(t, "who")
	if l.dir != "" {
		if err := l.LongTerm().Seal(context.Background(), "test"); err != nil {
			t.Fatal(err)
		}
	}
}

// compact takes the episodes of a server together.
func (c *copying) compact(t *rapid.T) {
	l := rapid.SampledFrom([]*life{c.owner, c.holder}).Draw(t, "who")
	if l.dir != "" {
		if _, err := l.LongTerm().Compact(context.Background(), false, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *copying) restartOwner(t *rapid.T) {
	c.owner.end(t)
	c.owner.begin(t)
	if c.owner.dir != "" {
		return
	}
	// What the holder has not got is gone, and it is not told any more of what it has
	// that was removed.
	maps.Copy(c.gone, c.held())
	maps.Copy(c.gone, c.had)
	c.had = map[version]string{}
}

// crash takes the disk of a server as it is now, and begins it from there.
func (l *life) crash(t *rapid.T) {
	dir, err := os.MkdirTemp(filepath.Dir(l.dir), "copying")
	if err == nil {
		err = vfs.CopySettled(dir, l.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.end(t)
	os.RemoveAll(l.dir)
	l.dir = dir
	l.begin(t)
}

// crashOwner ends the owner without what it has not on disk: of what it promised to
// keep nothing is lost.
func (c *copying) crashOwner(t *rapid.T) {
	if c.owner.dir == "" {
		t.Skip("an owner without a disk would have nothing left")
	}
	c.owner.crash(t)
	there := map[engram.ID]engram.Time{} // arrivals; what they have superseded may be there
	for v := range c.heldBy(c.owner) {
		there[v.entity.At(v.time)] = v.arrived
	}
	for v, value := range c.had {
		if v.entity.CoreSegment() != "B" && there[v.entity.At(v.time)] < v.arrived {
			c.gone[v] = value // the holder may have it
			delete(c.had, v)
		}
	}
}

// crashHolder ends the holder without what it has not on disk.
func (c *copying) crashHolder(t *rapid.T) {
	if c.holder.dir == "" {
		t.Skip("a holder without a disk crashes as it restarts")
	}
	c.hear()
	c.feed.Close()
	c.holder.crash(t)
	c.follow()
	c.share.After, c.share.Had = c.kept.After, c.kept.Had
}

func (c *copying) restartHolder(t *rapid.T) {
	c.hear()
	c.feed.Close()
	c.holder.end(t)
	c.holder.begin(t)
	c.follow()
	if c.holder.dir == "" {
		c.share.After, c.share.Had, c.covered = contract.Position{}, contract.Had{}, nil
		c.gone = map[version]string{}
	} else {
		c.share.After, c.share.Had = c.kept.After, c.kept.Had
	}
}

// cut pulls, and is cut off before or after something was applied.
func (c *copying) cut(t *rapid.T) {
	batches := rapid.IntRange(0, 3).Draw(t, "batches")
	lost := rapid.Bool().Draw(t, "the last one is lost")
	c.pull(func(b *contract.Batch) (apply bool, end error) {
		if batches--; batches < 0 || b.Behind.Updates == 0 && b.Position.Number >= c.owner.Number() {
			return !lost, errCut
		}
		return true, nil
	})
}

// pull pulls until decide says that it is enough.
func (c *copying) pull(decide func(b *contract.Batch) (apply bool, end error)) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	err := c.owner.Pull(ctx, contract.Request{Holder: "test", Shares: []contract.Share{c.share}}, func(b *contract.Batch) error {
		apply, end := decide(b)
		if !apply {
			return end
		}
		if err := c.holder.PrepareCopy(ctx, b.Segments); err != nil {
			return err
		}
		applied, err := c.holder.ApplyCopy(ctx, contract.Changes{Removed: b.Removed, Versions: b.Items})
		if err != nil {
			return err
		}
		if applied.Refused > 0 {
			return applied.Reason
		}
		for _, l := range b.LeftOut {
			c.covered = append(c.covered, engram.Missing{ID: l.Entity, Reason: l.Reason, Count: l.Count, Interval: l.Interval})
		}
		c.covered = append(c.covered, b.Lost...)
		c.share.Had.Took(c.share.After, b)
		c.share.After = b.Position
		return end
	})
	if !errors.Is(err, errCut) {
		c.Fatalf("the pull ended with %v", err)
	}
	c.hear()
}

// save puts the position on the holder's disk.
func (c *copying) save(t *rapid.T) {
	kept, err := c.holder.SyncCopies(context.Background())
	if err != nil || kept != (c.holder.dir != "") {
		t.Fatal(kept, err)
	}
	c.kept = c.share
}

// held returns what the holder has: of each time the version that counts.
func (c *copying) held() map[version]string { return c.heldBy(c.holder) }

func (c *copying) heldBy(l *life) map[version]string {
	r, err := l.Query(context.Background(), engram.MustPattern("Test").Select(engram.All()))
	if err != nil {
		c.Fatal(err)
	}
	held := map[version]string{}
	for it := range r.All() {
		v := version{it.ID.Truncate(engram.LevelEntity), it.Time, it.Arrived}
		if _, twice := held[v]; twice {
			c.Fatalf("%+v is there twice", v)
		}
		held[v] = string(it.Instances[0].Payload.Bytes)
	}
	return held
}

// compare pulls all there is, and compares the holder with the owner.
func (c *copying) compare(t *rapid.T) {
	// What is removed is told at once; a mark behind it tells that all was.
	c.commit(t)
	want := c.owner.Number()
	c.pull(func(b *contract.Batch) (bool, error) {
		if b.Position.Epoch == c.owner.Epoch() && b.Position.Number >= want && b.Behind.Updates == 0 {
			return true, errCut
		}
		return true, nil
	})
	m, _ := c.share.Patterns[0].Matcher()
	counts := map[engram.ID]map[engram.Time]version{} // what counts at each time
	for v := range c.had {
		if !m.Match(v.entity) {
			continue
		}
		if counts[v.entity] == nil {
			counts[v.entity] = map[engram.Time]version{}
		}
		if old, ok := counts[v.entity][v.time]; !ok || old.arrived < v.arrived {
			counts[v.entity][v.time] = v
		}
	}
	held := c.held()
	newer := map[engram.ID]engram.Time{} // what a crash has taken from the owner counts at the holder
	for v := range held {
		newer[v.entity.At(v.time)] = v.arrived
	}
	for v, value := range held {
		want, ok := c.had[v]
		if old, was := c.gone[v]; !ok && was {
			want, ok = old, true
		}
		if !ok || want != value {
			c.Fatalf("the holder has %+v with %q; the owner had %q (%v)", v, value, want, ok)
		}
	}
	for entity, times := range counts {
		for at, v := range times {
			if _, ok := held[v]; ok || newer[entity.At(at)] > v.arrived || c.isCovered(v) || c.isEvicted(v) {
				continue
			}
			c.Fatalf("the holder lacks %v at %d, which arrived at %d, and was not told why: %+v", entity, at, v.arrived, c.covered)
		}
	}
}

// isCovered reports whether it was told that a version is lost or left out.
func (c *copying) isCovered(v version) bool {
	return slices.ContainsFunc(c.covered, func(m engram.Missing) bool {
		return m.ID.Contains(v.entity) && (m.Interval.Contains(v.time) || m.Interval.Empty())
	})
}

// isEvicted reports whether the holder may have evicted a version for its own bounds: it
// had it, or got so many newer ones that it would have evicted it at once.
func (c *copying) isEvicted(v version) bool {
	bound := c.owner.memories[0].Segments[0].History.MaxCount
	if c.holder.dir != "" || bound == 0 {
		return false
	}
	newer := 0
	for x := range c.told {
		if x.entity == v.entity && x.time > v.time {
			newer++
		}
	}
	return c.told[v] || newer >= bound
}

// Whatever happens at the owner, on the link and at the holder, the holder has what the
// owner has, but for what it was told it would not have.
func TestHolderHasWhatTheOwnerHas(t *testing.T) {
	fast := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		fast = "/dev/shm"
	}
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue { // none are asked for
		if err := checks.Value.Set(strconv.Itoa(testkit.Repeats(50, 200))); err != nil {
			t.Fatal(err)
		}
		defer checks.Value.Set(checks.DefValue)
	}
	rapid.Check(t, func(r *rapid.T) {
		c := newCopying(r, fast)
		defer func() {
			os.RemoveAll(c.owner.dir)
			os.RemoveAll(c.holder.dir)
		}()
		defer func() {
			c.feed.Close()
			c.owner.Close()
			c.holder.Close()
		}()
		r.Repeat(map[string]func(*rapid.T){
			"commit": c.commit, "commit again": c.commit, "commit once more": c.commit,
			"cut": c.cut, "cut again": c.cut, "save": c.save, "compare": c.compare,
			"remove": c.remove, "forget": c.forget, "seal": c.seal, "compact": c.compact,
			"crash the owner": c.crashOwner, "crash the holder": c.crashHolder,
			"restart the owner": c.restartOwner, "restart the holder": c.restartHolder,
		})
	})
}
