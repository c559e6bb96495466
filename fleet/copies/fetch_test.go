package copies_test

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

var everythingOf1 = contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}}

// What is fetched makes segments and types known as what is pulled does, whichever comes
// first.
func TestFetchBesideThePull(t *testing.T) {
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"grip.proto": {Data: []byte(`syntax = "proto3"; package test; message Grip { double force = 1; }`)}}}, "grip.proto")
	if err != nil {
		t.Fatal(err)
	}
	grip := defs[0].Name
	ownerDir, baseDir := t.TempDir(), t.TempDir()
	owner := startNode(t, "robot1", ownerDir, listen(t, "127.0.0.1:0"), object())
	owners := oneOwner{server: "robot1", address: owner.address}
	state := filepath.Join(baseDir, "copies")
	base := startNode(t, "base", baseDir, listen(t, "127.0.0.1:0"))
	h := hold(t, base, owners, state, "robot1:Object/Instance max-payload=50B")
	fetch := func(want uint64) {
		t.Helper()
		got, err := h.Fetch(t.Context(), everythingOf1)
		if err != nil || got.Versions+got.Had != want {
			t.Errorf("fetched %+v, %v; want %d", got, err, want)
		}
		same(t, base, owner)
	}

	// Nothing was pulled of the segment and the type.
	if err := owner.AddType(t.Context(), defs[0]); err != nil {
		t.Fatal(err)
	}
	large := engram.Payload{Type: grip, Bytes: []byte{9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}}
	for range 6 {
		large.Bytes = append(large.Bytes, large.Bytes...) // the last member counts
	}
	results, err := owner.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("Object/Instance/Vision/hand"), Time: 1, Instances: []engram.Instance{engram.NewInstance(large)},
	}}})
	if err = cmp.Or(err, engram.FirstError(results)); err != nil {
		t.Fatal(err)
	}
	commit(t, owner.Server, "image", 0, 3, 500)
	live(t, h, owner)
	fetch(4)

	// The pull finds what was fetched.
	commit(t, owner.Server, "cup", 10, 1, 5)
	if s := live(t, h, owner); s.Received != 1 {
		t.Errorf("after the fetch the copy is %+v; want one version pulled", s)
	}

	// In the next epoch nothing was pulled yet of what there is.
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	base.stop()
	base = startNode(t, "base", baseDir, listen(t, "127.0.0.1:0"))
	h = hold(t, base, owners, state, "robot1:Object/Instance max-payload=50B")
	fetch(5)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// A copy that is removed while something is fetched for it gets no more of that.
func TestRemovedWhileItIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("robot1"), &fakeOwners{}, newFakeMemory(false)
		owners.set(o)
		h := open(t, m, owners, "")
		defer closeHolder(t, h)
		for _, entity := range []string{"box", "can", "cup"} {
			o.write(entity, 1)
			add(t, h, "robot1:Object/Instance/P/"+entity)
		}
		synctest.Wait()
		fetch := func(removed ...string) error {
			o.between = func() {
				o.between = nil
				for _, entity := range removed {
					if err := h.RemoveCopy(t.Context(), "robot1:Object/Instance/P/"+entity, true); err != nil {
						t.Error(err)
					}
				}
			}
			_, err := h.Fetch(t.Context(), everythingOf1)
			return err
		}
		if err := fetch("cup"); err != nil || len(m.content()) != 2 || m.has(entityOf("robot1", "cup")) {
			t.Errorf("fetched for three copies of which one was dropped: %v; held is %v", err, m.content())
		}
		if err := fetch("box", "can"); engram.CodeOf(err) != engram.NotFound || len(m.content()) != 0 {
			t.Errorf("fetched for copies that were dropped: %v; held is %v", err, m.content())
		}
	})
}

// What is removed at the owner while something is fetched stays removed, although the
// fetch brings what was read before that; what came behind it is fetched.
func TestRemovedAtTheOwnerWhileItIsFetched(t *testing.T) {
	id := engram.MustID
	for name, c := range map[string]struct {
		removal contract.Removal
		stays   bool // the first of cup
	}{
		"an entity":              {contract.Removal{Pattern: engram.PatternOf(id("Object/Instance/P/cup")), Span: engram.Always()}, false},
		"a time":                 {contract.Removal{Pattern: engram.PatternOf(id("Object/Instance/P/cup")), Span: engram.Interval{Start: 1, End: 2}}, false},
		"another time":           {contract.Removal{Pattern: engram.PatternOf(id("Object/Instance/P/cup")), Span: engram.Interval{Start: 2, End: 3}}, true},
		"another entity":         {contract.Removal{Pattern: engram.PatternOf(id("Object/Instance/P/box")), Span: engram.Always()}, true},
		"a segment":              {contract.Removal{Pattern: engram.PatternOf(id("Object/Instance/P")), Segment: true, Span: engram.Always()}, false},
		"all segments":           {contract.Removal{Pattern: engram.PatternOf(id("Object")), Segment: true, Compared: true, Span: engram.Always()}, false},
		"all segments but these": {contract.Removal{Pattern: engram.PatternOf(id("Object")), Segment: true, Compared: true, Besides: []engram.ID{id("Object/Instance/P")}, Span: engram.Always()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, owners, m := newFakeOwner("robot1"), &fakeOwners{}, newFakeMemory(false)
				owners.set(o)
				h := open(t, m, owners, "", "robot1:Object")
				defer closeHolder(t, h)
				o.write("box", 1)
				o.write("cup", 1)
				c.removal.Until = o.clock
				o.write("cup", 2)
				synctest.Wait()
				m.mu.Lock()
				clear(m.held) // as if rules had left it out
				m.mu.Unlock()
				o.between = func() {
					o.between = nil
					o.other(fakeUpdate{removal: &c.removal})
					synctest.Wait()
				}
				if _, err := h.Fetch(t.Context(), everythingOf1); err != nil {
					t.Fatal(err)
				}
				cup := func(at engram.Time) bool {
					return slices.ContainsFunc(slices.Collect(maps.Keys(m.content())), func(key versionKey) bool {
						return key.entity == entityOf("robot1", "cup") && key.time == at
					})
				}
				if cup(1) != c.stays || !cup(2) {
					t.Errorf("held is %v", m.content())
				}
			})
		})
	}
}

// A copy gets what is fetched and what is pulled in turn.
func TestFetchAndPullTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("robot1"), &fakeOwners{}, newFakeMemory(false)
		owners.set(o)
		o.write("cup", 1)
		h := open(t, m, owners, "", "robot1:Object")
		defer closeHolder(t, h)
		synctest.Wait()
		goOn, beside := make(chan struct{}), false
		m.applying = func(c *contract.Changes) {
			if c.Whole {
				<-goOn
			} else {
				beside = true
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := h.Fetch(t.Context(), everythingOf1)
			done <- err
		}()
		synctest.Wait() // it has begun to put something into the memory
		o.write("cup", 2)
		synctest.Wait()
		if beside {
			t.Error("what was pulled is put into the memory beside what was fetched")
		}
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if synctest.Wait(); !beside || len(m.content()) != 2 {
			t.Errorf("held is %v", m.content())
		}
	})
}

// What was fetched is not missing any more, and nothing else: what the fetch did not get
// to, what is left out while it runs, and what the owner lacks itself.
func TestWhatWasFetchedIsNotMissing(t *testing.T) {
	here := entityOf("robot1", "cup")
	for name, c := range map[string]struct {
		maxBytes int64
		lacks    []engram.Missing
		between  bool
		want     engram.Interval
	}{
		"all of it":                 {},
		"as much as it may":         {maxBytes: 300},
		"while more is left out":    {between: true, want: engram.Interval{Start: 2000, End: 2010}},
		"what the owner lacks":      {lacks: []engram.Missing{{ID: engram.MustID("Object/Instance/P/cup"), Interval: engram.Interval{Start: 500, End: 510}}}, want: engram.Interval{Start: 500, End: 510}},
		"what it lacks of a memory": {lacks: []engram.Missing{{ID: engram.MustID("Object"), Interval: engram.Interval{Start: 990, End: 1010}}}, want: engram.Interval{Start: 990, End: 1000}},
		"what it lacks elsewhere":   {lacks: []engram.Missing{{ID: engram.MustID("Object/Instance/P/box"), Interval: engram.Interval{Start: 500, End: 510}}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, owners, m := newFakeOwner("a"), &fakeOwners{}, newFakeMemory(false)
				owners.set(o)
				o.part, o.lacks = 7, c.lacks
				h := open(t, m, owners, "", "robot1:Object rate=1")
				defer closeHolder(t, h)
				leave := func(first, last engram.Time) {
					o.other(fakeUpdate{leftOut: &contract.LeftOut{Entity: engram.MustID("Object/Instance/P/cup"), Reason: contract.LeftOutRate, Count: 90, Interval: engram.Interval{Start: first, End: last}}})
					synctest.Wait()
				}
				for i := range engram.Time(100) {
					o.write("cup", 10*i+10)
				}
				leave(10, 1000)
				if c.between {
					o.between = func() { o.between = nil; leave(2000, 2010) }
				}
				got, err := h.Fetch(t.Context(), contract.Fetching{Patterns: everythingOf1.Patterns, MaxBytes: c.maxBytes})
				if err != nil {
					t.Fatal(err)
				}
				if got.More {
					c.want = engram.Interval{Start: engram.Time(10*(got.Versions+got.Had) + 1), End: 1000}
				}
				q := engram.SelectID(here, engram.All())
				missing, _ := h.Explain(&q)
				if c.want.Empty() != (len(missing) == 0) || !c.want.Empty() && missing[0].Interval != c.want {
					t.Errorf("missing is %+v; want what lies in %v", missing, c.want)
				}
				if left := status(t, h)[0].LeftOut; (len(left) > 0) != (len(missing) > 0) {
					t.Errorf("the status says that %+v was left out, a query that %+v is missing", left, missing)
				}
			})
		})
	}
}
