package ltm_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// Stats tell what is on disk, sealed or not, and of what nobody has committed to in this
// life; what is in both memories is one entity, and what was removed is none.
func TestStatsKnowTheDisk(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	for at := range engram.Time(5) {
		l.commit(t, "Test/Volatile/p/cup", at, "x")
	}
	l.commit(t, "Test/Volatile/p/cup", 4, "corrected")
	l.commit(t, "Test/Volatile/q/bowl", 7, "x")
	l.commit(t, "Test/Volatile/r/gone", 8, "x")
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/cup", 20, "x")
	l.commit(t, "Test/Volatile/p/plate", 30, "x")
	l.commit(t, "Test/Volatile/r/gone", 40, "x")
	removed := engram.MustID("Test/Volatile/r")
	if err := l.wm.RemoveSegment(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	if err := l.Removed(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	type node struct {
		id                   string
		entities, snapshots  uint64
		diskEntities, onDisk uint64
		first, last          engram.Time
	}
	cup := node{"Test/Volatile/p/cup", 0, 1, 1, 7, 0, 20}
	plate := node{"Test/Volatile/p/plate", 0, 1, 1, 1, 30, 30}
	bowl := node{"Test/Volatile/q/bowl", 0, 0, 1, 1, 7, 7}
	p := node{"Test/Volatile/p", 2, 2, 2, 8, 0, 30}
	q := node{"Test/Volatile/q", 1, 0, 1, 1, 7, 7}
	core := node{"Test/Volatile", 3, 2, 3, 9, 0, 30}
	memory := core
	memory.id = "Test"
	for _, tt := range []struct {
		pattern string
		depth   engram.Level
		want    []node
	}{
		{"", engram.LevelMemory, []node{memory}},
		{"Test/Volatile", engram.LevelEntity, []node{core, p, cup, plate, q, bowl}},
		{"Test/Volatile/q", engram.LevelMemory, []node{q}},
		{"*/*/*/bowl", engram.LevelEntity, []node{bowl}},
		{"*/*/*/gone", engram.LevelEntity, nil},
	} {
		pattern := engram.Pattern{}
		if tt.pattern != "" {
			pattern = engram.MustPattern(tt.pattern)
		}
		l.times(t, "Test/Volatile/p/cup", engram.TargetLTM, engram.Latest(1)) // all is recorded
		known, err := l.wm.Stats(t.Context(), pattern, tt.depth)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := l.Stats(t.Context(), pattern, tt.depth, known)
		if err != nil {
			t.Fatal(err)
		}
		var got []node
		for _, s := range stats {
			if s.Disk.Snapshots == 0 && s.Snapshots == 0 {
				continue
			}
			got = append(got, node{s.ID.String(), s.Entities, s.Snapshots, s.Disk.Entities, s.Disk.Snapshots, s.Disk.First, s.Disk.Last})
			if s.ID.Level() > engram.LevelMemory && s.Type != engram.ValueType {
				t.Errorf("%v has the type %q", s.ID, s.Type)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.pattern, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %+v, want %+v", tt.pattern, got[i], tt.want[i])
			}
		}
	}
}

// What is on disk of each core segment is told alike before and after the open episode is
// sealed, each entity once, and what nothing could be stored of is not told.
func TestStatsOfSegmentsKnowTheOpenEpisode(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/cup", 1000, "x")
	l.commit(t, "Test/Logged/p/cup", 1000, "x")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	refused := engram.MustID("Test/Volatile/p/refused")
	if err := l.SpoilEntity(t.Context(), refused); err != nil {
		t.Fatal(err)
	}
	uncoded := engram.MustID("Test/Volatile/p/uncoded")
	if err := l.SpoilCodec(t.Context(), uncoded); err != nil {
		t.Fatal(err)
	}
	for _, entity := range []string{"Test/Volatile/p/cup", "Test/Volatile/p/plate", "Test/Volatile/q/bowl", refused.String(), uncoded.String()} {
		l.commit(t, entity, 2000, "x")
	}
	type row struct {
		segment             string
		entities, snapshots uint64
		span                engram.Interval
	}
	want := []row{
		{"Test/Logged", 1, 1, engram.Interval{Start: 1000, End: 1001}},
		{"Test/Volatile", 4, 5, engram.Interval{Start: 1000, End: 2001}},
	}
	check := func(when string) {
		t.Helper()
		l.times(t, "Test/Volatile/p/cup", engram.TargetLTM, engram.Latest(1)) // all is recorded
		st, err := l.LTMStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []row
		sum := uint64(0)
		for _, s := range st.Segments {
			got = append(got, row{s.Segment.String(), s.Entities, s.Snapshots, s.Span})
			sum += s.Snapshots
		}
		if !slices.Equal(got, want) || sum != st.Snapshots {
			t.Errorf("%s: %+v of %d snapshots; want %+v", when, got, st.Snapshots, want)
		}
	}
	check("open")
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	check("sealed")
	infos, err := l.Episodes(t.Context(), engram.Always())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		_, entities, err := l.Episode(t.Context(), info.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entities {
			if e.Snapshots == 0 || e.Span.Start < 1000 {
				t.Errorf("%s holds %+v", info.Name, e)
			}
		}
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	check("in the next epoch")
}

// What an episode holds is counted once while it is sealed, rewritten and taken together
// with others.
func TestStatsCountOnce(t *testing.T) {
	const cup, gone = "Test/Volatile/p/cup", "Test/Volatile/p/gone"
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	var committed atomic.Int64
	var recorded int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(60) {
			committed.Store(i + 1)
			l.commit(t, cup, engram.Time(i), "x")
			l.commit(t, gone, engram.Time(i), "x")
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Error(err)
			}
			if i%20 == 19 {
				forget(t, l, ltm.Forgetting{IDs: []engram.ID{engram.MustID(gone).At(engram.Time(i))}, Why: "test"})
				if _, err := l.Compact(t.Context(), false, nil); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for ended := false; !ended && !t.Failed(); {
		select {
		case <-done:
			ended = true
		default:
		}
		stats, err := l.Stats(t.Context(), engram.PatternOf(engram.MustID(cup)), engram.LevelEntity, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.LTMStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		most := committed.Load()
		for _, st := range stats {
			if n := int64(st.Disk.Snapshots); n < recorded || n > most {
				t.Errorf("of %d snapshots, %d are counted, %d before", most, n, recorded)
			} else {
				recorded = n
			}
		}
		for _, seg := range all.Segments {
			if n := int64(seg.Snapshots); n < 2*recorded-3 || n > 2*most || seg.Entities > 2 {
				t.Errorf("of two times %d snapshots of two entities, %d of %d are counted", most, n, seg.Entities)
			}
		}
	}
	<-done
}
