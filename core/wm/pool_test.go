package wm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// Memories of a pool take no more than it has together: who comes late has the rest, and a
// little in any case, and nobody loses what others write.
func TestPoolIsShared(t *testing.T) {
	w := wm.New(wm.Config{Types: testTypes})
	pool := &wm.Pool{MaxBytes: 1 << 20, MinBytes: 64 << 10, MaxSegments: 12}
	each := engram.Bounds{MaxBytes: 512 << 10}
	to := func(m, at, size int) error {
		u := change("a", at, blob(size))
		u.Entity = engram.MustID(fmt.Sprintf("M%d/Core/p/a", m))
		return commitTo(t, w, one(u))
	}
	for m := range 4 {
		name := fmt.Sprintf("M%d", m)
		if err := pool.Add(w, name, each); err != nil {
			t.Fatal(err)
		}
		if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(name + "/Core")}); err != nil {
			t.Fatal(err)
		}
		for at := range 1000 {
			if err := to(m, at, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	for m, want := range []int64{512 << 10, 512 << 10, 64 << 10, 64 << 10} {
		st := held(t, w, fmt.Sprintf("M%d", m))
		if got := int64(st.Snapshots) * 1240; got > want || got < want*8/10 {
			t.Errorf("M%d holds %d snapshots, about %d bytes; want up to %d", m, st.Snapshots, got, want)
		}
	}
	if err := to(3, 2000, 15_000); err != nil {
		t.Errorf("a snapshot that finds room: %v", err)
	}
	u := change("a", 2001, blob(100))
	for range 5 {
		u.Instances = append(u.Instances, engram.NewInstance(blob(15_000)))
	}
	u.Entity = engram.MustID("M3/Core/p/a")
	if err := commitTo(t, w, one(u)); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "M3 may take 65536 in all") {
		t.Errorf("one that is larger than what is left: %v", err)
	}
	r, err := w.Restore(t.Context(), []wm.Restored{{Entity: u.Entity, Snapshot: &engram.Snapshot{Time: 3000, Arrived: 1, Instances: u.Instances}}})
	if err == nil {
		err = r[0].Err
	}
	if engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("one of an earlier epoch that is: %v", err)
	}
	// 4 of 12 segments of each kind are there.
	for i := range 12 {
		core := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(fmt.Sprintf("M%d/Core%d", i%4, i))})
		u.Entity, u.Instances = engram.MustID(fmt.Sprintf("M%d/Core/p%d/a", i%4, i)), u.Instances[:1]
		for what, err := range map[string]error{"core": core, "provider": commitTo(t, w, one(u))} {
			if engram.CodeOf(err) != engram.Exhausted && (i >= 8 || err != nil) {
				t.Errorf("%s segment %d more: %v", what, i, err)
			}
		}
	}
	if err := w.AddMemory("M0", each); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("the memory without the pool: %v", err)
	}
}

// One memory of a pool does not take the segments of all: it has so many of its own, and others
// a few in any case.
func TestPoolSharesSegments(t *testing.T) {
	w := wm.New(wm.Config{Types: testTypes})
	pool := &wm.Pool{MaxBytes: 1 << 20, MinBytes: 64 << 10, MaxSegments: 12, MinSegments: 2, OwnSegments: 6}
	for i, want := range []int{6, 6, 6, 2, 2} {
		name := fmt.Sprintf("M%d", i)
		if err := pool.Add(w, name, engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		var cores, providers int
		add := map[*int]func(n int) error{
			&cores: func(n int) error {
				return w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(fmt.Sprintf("%s/C%d", name, n))})
			},
			&providers: func(n int) error {
				u := change("a", n, blob(10))
				u.Entity = engram.MustID(fmt.Sprintf("%s/C0/p%d/a", name, n))
				return commitTo(t, w, one(u))
			},
		}
		for _, made := range []*int{&cores, &providers} {
			var err error
			for ; err == nil && *made < 20; *made++ {
				err = add[made](*made)
			}
			*made-- // the last was refused
			if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), fmt.Sprintf("%s may have %d ", name, want)) {
				t.Errorf("a segment of %s too many: %v", name, err)
			}
		}
		if cores != want || providers != want {
			t.Errorf("%s has %d core and %d provider segments, want %d of each", name, cores, providers, want)
		}
	}
}

// A memory of a pool that has no bound of its own has the pool's, and gives way to others.
func TestPoolBoundsWhatHasNoBounds(t *testing.T) {
	w := wm.New(wm.Config{Types: testTypes})
	pool := &wm.Pool{MaxBytes: 256 << 10, MinBytes: 64 << 10, MaxSegments: 12}
	fill := func(m string, n int) {
		t.Helper()
		for at := range n {
			u := change("a", at, blob(1000))
			u.Entity = engram.MustID(m + "/Core/p/a")
			if err := commitTo(t, w, one(u)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range []string{"M0", "M1"} {
		if err := pool.Add(w, m, engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(m + "/Core")}); err != nil {
			t.Fatal(err)
		}
		fill(m, 500)
	}
	takes := func(m string, from, to int64) {
		t.Helper()
		if got := int64(held(t, w, m).Snapshots) * 1240; got < from || got > to {
			t.Errorf("%s holds about %d bytes, want %d to %d", m, got, from, to)
		}
	}
	takes("M0", 200<<10, 256<<10)
	takes("M1", 48<<10, 64<<10)
	u := change("a", 501, blob(1000))
	u.Entity = engram.MustID("M0/Core/p/a")
	if err := commitTo(t, w, one(u)); err != nil {
		t.Fatal(err)
	}
	takes("M0", 150<<10, 192<<10)
}
