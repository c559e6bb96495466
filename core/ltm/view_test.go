package ltm

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/query"
)

// fakeTimeline is a timeline in memory that counts what is read of it.
type fakeTimeline struct {
	blocks  [][]*engram.Snapshot
	uneven  bool // it is not known how many times blocks have
	indexed int
	loaded  int
	before  func(block, first, last int) error // numbers are read; nil for nothing
}

func spanOfSnapshots(snaps []*engram.Snapshot, of func(*engram.Snapshot) engram.Time) engram.Interval {
	iv := engram.Interval{Start: of(snaps[0]), End: of(snaps[0]) + 1}
	for _, s := range snaps {
		iv.Start, iv.End = min(iv.Start, of(s)), max(iv.End, of(s)+1)
	}
	return iv
}

func (f *fakeTimeline) Blocks() []episode.Block {
	var out []episode.Block
	for _, b := range f.blocks {
		block := episode.Block{
			Span:    spanOfSnapshots(b, func(s *engram.Snapshot) engram.Time { return s.Time }),
			Arrived: spanOfSnapshots(b, func(s *engram.Snapshot) engram.Time { return s.Arrived }),
			Count:   len(b),
		}
		if !f.uneven {
			block.Times = len(currentOf(b, engram.MaxTime))
		}
		out = append(out, block)
	}
	return out
}

func (f *fakeTimeline) Ordered() bool {
	blocks := f.Blocks()
	return slices.IsSortedFunc(blocks, func(a, b episode.Block) int { return cmp.Compare(a.Span.Start, b.Span.Start) }) &&
		slices.IsSortedFunc(blocks, func(a, b episode.Block) int { return cmp.Compare(a.Span.End, b.Span.End) })
}

func (f *fakeTimeline) Index(context.Context, int) ([]*engram.Snapshot, error) {
	panic("views read no snapshots without payloads at once")
}

func (f *fakeTimeline) Versions(_ context.Context, i int) (*episode.Versions, error) {
	f.indexed++
	return episode.VersionsOf(f.blocks[i]), nil
}

func (f *fakeTimeline) Members(string, codec.Members) episode.Timeline { return f }

func (f *fakeTimeline) Load(_ context.Context, i, first, last int) ([]*engram.Snapshot, error) {
	f.loaded += last - first
	return f.blocks[i][first:last], nil
}

func (f *fakeTimeline) Numbers(_ context.Context, i, first, last int, rows *idf.NumberRows) ([][]float64, error) {
	if f.before != nil {
		if err := f.before(i, first, last); err != nil {
			return nil, err
		}
	}
	return codec.RowsOf(f.blocks[i][first:last], rows), nil
}

// fakePart returns a part whose run is the timeline.
func fakePart(f *fakeTimeline) part {
	p := part{run: &run{epoch: 1, timeline: f, blocks: f.Blocks()}}
	p.measure()
	return p
}

// timelines draws versions in the order in which they arrived, and spreads them over
// episodes and blocks; some are in two episodes. It returns them all as well.
func timelines(t *rapid.T) (parts []*fakeTimeline, all []*engram.Snapshot) {
	n := rapid.IntRange(0, 60).Draw(t, "versions")
	late := rapid.IntRange(0, 10).Draw(t, "how late")
	now := engram.Time(0)
	var block []*engram.Snapshot
	var tl *fakeTimeline
	end := func() {
		if len(block) == 0 {
			return
		}
		slices.SortStableFunc(block, func(a, b *engram.Snapshot) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Arrived, b.Arrived))
		})
		tl.blocks = append(tl.blocks, block)
		block = nil
	}
	for i := range n {
		if tl == nil || rapid.IntRange(0, 15).Draw(t, "next episode") == 0 {
			end()
			tl = &fakeTimeline{uneven: rapid.Bool().Draw(t, "times are not known")}
			parts = append(parts, tl)
			if len(all) > 0 && rapid.Bool().Draw(t, "in force") {
				block = append(block, all[len(all)-1])
			}
		}
		if rapid.IntRange(0, 7).Draw(t, "next block") == 0 {
			end()
		}
		now += engram.Time(rapid.IntRange(0, 3).Draw(t, "step"))
		s := &engram.Snapshot{
			Time: now - engram.Time(rapid.IntRange(0, late).Draw(t, "late")), Arrived: engram.Time(100 + i), Number: uint64(i + 1),
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Bytes: []byte{byte(i)}})},
		}
		block = append(block, s)
		all = append(all, s)
	}
	if tl != nil {
		end()
	}
	return slices.DeleteFunc(parts, func(f *fakeTimeline) bool { return len(f.blocks) == 0 }), all
}

// currentOf returns what a reader sees of all versions: by time, the last to arrive.
func currentOf(all []*engram.Snapshot, asOf engram.Time) []*engram.Snapshot {
	current := map[engram.Time]*engram.Snapshot{}
	for _, s := range all {
		if s.Arrived <= asOf {
			current[s.Time] = s // they come in the order of arrival
		}
	}
	var out []*engram.Snapshot
	for _, s := range current {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *engram.Snapshot) int { return cmp.Compare(a.Time, b.Time) })
	return out
}

// slowSelect is what a selector selects, found without cleverness.
func slowSelect(line []*engram.Snapshot, s engram.SnapshotSelector) []*engram.Snapshot {
	var out []*engram.Snapshot
	n := len(line)
	index := func(i int) int {
		if i < 0 {
			return i + n
		}
		return i
	}
	for i, snap := range line {
		var takes bool
		switch s.Kind {
		case engram.KindAll:
			takes = true
		case engram.KindLatest:
			takes = i >= n-s.N
		case engram.KindAt:
			takes = snap.Time == s.Time
		case engram.KindAtOrBefore:
			takes = snap.Time <= s.Time && (i+1 == n || line[i+1].Time > s.Time)
		case engram.KindRange:
			takes = s.Interval.Contains(snap.Time)
		case engram.KindIndexRange:
			takes = i >= max(index(s.First), 0) && i <= index(s.Last)
		}
		if takes {
			out = append(out, snap)
		}
	}
	if s.Kind == engram.KindNearest {
		var best *engram.Snapshot
		for _, snap := range line {
			d := max(snap.Time-s.Time, s.Time-snap.Time)
			if d <= engram.Time(s.Within) && (best == nil || d < max(best.Time-s.Time, s.Time-best.Time)) {
				best = snap
			}
		}
		if best != nil {
			out = append(out, best)
		}
	}
	return out
}

func drawSelector(t *rapid.T, last int) engram.SnapshotSelector {
	at := rapid.Custom(func(t *rapid.T) engram.Time { return engram.Time(rapid.IntRange(-12, last+3).Draw(t, "at")) })
	index := rapid.IntRange(-20, 20)
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return engram.All()
	case 1:
		return engram.Latest(rapid.IntRange(1, 9).Draw(t, "n"))
	case 2:
		return engram.At(at.Draw(t, "t"))
	case 3:
		return engram.AtOrBefore(at.Draw(t, "t"))
	case 4:
		return engram.Nearest(at.Draw(t, "t"), 4)
	case 5:
		a, b := at.Draw(t, "from"), at.Draw(t, "to")
		return engram.In(engram.Interval{Start: min(a, b), End: max(a, b)})
	case 6:
		return engram.AtOrBefore(engram.MaxTime)
	}
	return engram.Indices(index.Draw(t, "first"), index.Draw(t, "last"))
}

// A view over any spread of versions over episodes and blocks selects what a sorted
// list of the current versions does, with the payloads of those versions.
func TestViewIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, all := timelines(t)
		v := &view{
			ctx: context.Background(), present: engram.MaxTime, floor: engram.MaxTime, payload: true,
			admit: admission{asOf: engram.MaxTime, epoch: 2, horizon: 0},
		}
		if rapid.Bool().Draw(t, "as of") {
			v.admit.asOf = engram.Time(100 + rapid.IntRange(-1, len(all)).Draw(t, "arrival"))
		}
		for _, p := range parts {
			v.disk = append(v.disk, fakePart(p))
		}
		slices.SortStableFunc(v.disk, func(a, b part) int { return cmp.Compare(a.span.Start, b.span.Start) })
		want := currentOf(all, v.admit.asOf)
		for range rapid.IntRange(1, 4).Draw(t, "selectors") { // one view serves several
			sel := drawSelector(t, 3*len(all))
			var got query.Selection
			query.Select[engram.Time](&got, v, sel, 1000)
			if v.err != nil || v.damage != nil {
				t.Fatalf("%+v: %v, %v", sel, v.err, v.damage)
			}
			if expected := slowSelect(want, sel); !slices.Equal(got.Snapshots, expected) {
				t.Fatalf("%+v selects %v, want %v", sel, describeAll(got.Snapshots), describeAll(expected))
			}
		}
	})
}

func describeAll(snaps []*engram.Snapshot) (out [][2]int64) {
	for _, s := range snaps {
		out = append(out, [2]int64{int64(s.Time), int64(s.Arrived)})
	}
	return out
}

// One value out of a long timeline is found by reading one block's index and loading one
// version; a range reads only the blocks that it needs.
func TestViewReadsOnlyWhatItNeeds(t *testing.T) {
	const blocks, perBlock = 100, 50
	tl := &fakeTimeline{}
	for b := range blocks {
		var block []*engram.Snapshot
		for i := range perBlock {
			at := engram.Time(b*perBlock + i)
			block = append(block, &engram.Snapshot{Time: at, Arrived: at, Number: uint64(at) + 1, Instances: []engram.Instance{{}}})
		}
		tl.blocks = append(tl.blocks, block)
	}
	for _, tt := range []struct {
		sel             engram.SnapshotSelector
		blocks, loaded  int
		snapshots, from int
	}{
		{engram.AtOrBefore(2520), 1, 1, 1, 2520},
		{engram.At(2549), 1, 1, 1, 2549},
		{engram.Latest(1), 1, 1, 1, 4999},
		{engram.Nearest(2520, 10), 1, 2, 1, 2520},
		{engram.In(engram.Interval{Start: 1000, End: 1100}), 2, 100, 100, 1000},
		{engram.Indices(-1, -1), 2, 1, 1, 4999}, // found from behind, read forward
		{engram.Indices(2520, 2520), 1, 1, 1, 2520},
		{engram.Indices(2450, 2549), 2, 100, 100, 2450},
		{engram.Indices(-2600, -2600), 2, 3, 1, 2400},
		{engram.Indices(5000, 5010), 0, 0, 0, 0},
		{engram.At(-1), 0, 0, 0, 0},
		{engram.AtOrBefore(-1), 0, 0, 0, 0},
	} {
		tl.indexed, tl.loaded = 0, 0
		v := &view{ctx: t.Context(), present: engram.MaxTime, floor: engram.MaxTime, payload: true, admit: admission{asOf: engram.MaxTime}, disk: []part{fakePart(tl)}}
		var got query.Selection
		query.Select[engram.Time](&got, v, tt.sel, 1000)
		if len(got.Snapshots) != tt.snapshots || tt.snapshots > 0 && got.Snapshots[0].Time != engram.Time(tt.from) {
			t.Errorf("%+v selects %v", tt.sel, describeAll(got.Snapshots))
		}
		if tl.indexed > tt.blocks || tl.loaded > tt.loaded {
			t.Errorf("%+v reads %d indices and %d versions; want at most %d and %d", tt.sel, tl.indexed, tl.loaded, tt.blocks, tt.loaded)
		}
	}
	v := &view{ctx: t.Context(), present: engram.MaxTime, floor: 2500, payload: true, admit: admission{asOf: engram.MaxTime}, disk: []part{fakePart(tl)}}
	var got query.Selection
	if query.Select[engram.Time](&got, v, engram.Latest(1), 10); len(got.Snapshots) != 1 || got.Snapshots[0].Time != 2500 {
		t.Errorf("the latest up to the floor is %v", describeAll(got.Snapshots))
	}
}
