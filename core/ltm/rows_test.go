package ltm

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
)

// numbered is a version of a time whose payload is that number.
func numbered(t *testing.T, at engram.Time) *engram.Snapshot {
	t.Helper()
	p, err := idf.ValuePayload(float64(at))
	if err != nil {
		t.Fatal(err)
	}
	return &engram.Snapshot{Time: at, Arrived: at, Number: uint64(at) + 1, Instances: []engram.Instance{engram.NewInstance(p)}}
}

// diskOf returns a view of blocks in one episode.
func diskOf(tl *fakeTimeline) *view {
	p := fakePart(tl)
	p.handle = &handle{name: "test", set: &episodeSet{log: slog.New(slog.DiscardHandler)}}
	p.run.handle = p.handle
	return &view{ctx: context.Background(), present: engram.MaxTime, floor: engram.MaxTime, payload: true, disk: []part{p}, admit: admission{asOf: engram.MaxTime, epoch: 2, horizon: 1000}}
}

func rowsOf(t *testing.T, v *view, first, last engram.Time) (got []string, err error) {
	t.Helper()
	rows, err := idf.NewNumberRows(idf.NewRegistry(), []string{""}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = v.rows(first, last, rows, func(at engram.Time, row []float64) error {
		got = append(got, fmt.Sprint(at, row[0]))
		return nil
	})
	return got, err
}

// What the working memory evicts while rows are read is read from disk: each once, and what is damaged is counted once.
func TestRowsOfWhatIsEvictedMeanwhile(t *testing.T) {
	w := wm.New(wm.Config{})
	t.Cleanup(func() { w.Close() })
	entity := engram.MustID("Test/Few/p/cup")
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Few"), History: engram.Bounds{MaxCount: 10}}); err != nil {
		t.Fatal(err)
	}
	commit := func(from, to engram.Time) {
		t.Helper()
		for at := from; at < to; at++ {
			r, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: at, Instances: numbered(t, at).Instances}}})
			if err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
		}
	}
	commit(10, 20)
	tl := &fakeTimeline{blocks: make([][]*engram.Snapshot, 2)}
	var want []string
	for at := range engram.Time(20) {
		tl.blocks[at/10] = append(tl.blocks[at/10], numbered(t, at))
		if at != 5 {
			want = append(want, fmt.Sprint(at, float64(at)))
		}
	}
	evicted := false
	tl.before = func(block, first, last int) error {
		if block > 0 || first > 5 || last <= 5 {
			return nil
		}
		if !evicted && last-first == 1 { // the damage was met
			evicted = true
			commit(100, 120)
		}
		return engram.Errorf(engram.Corrupt, "", "damaged")
	}
	v := diskOf(tl)
	v.wm, v.floor = w.View(t.Context(), nil).Entity(entity), 9
	got, err := rowsOf(t, v, 0, 50)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("rows %v, %v; want %v", got, err, want)
	}
	if !evicted || v.floor != engram.MaxTime {
		t.Errorf("nothing was evicted meanwhile; floor %v", v.floor)
	}
	if v.damage == nil || v.damage.Count != 1 || v.damage.Interval != (engram.Interval{Start: 5, End: 6}) {
		t.Errorf("damaged: %+v", v.damage)
	}
}

// A payload that is not one of its type ends the reading, for who wants it. The episode is not damaged.
func TestRowsOfPayloadsThatCannotBeRead(t *testing.T) {
	var block []*engram.Snapshot
	for at := range engram.Time(10) {
		block = append(block, numbered(t, at))
	}
	block[5].Instances[0].Payload.Bytes = []byte{0xff}
	for _, test := range []struct {
		first, last engram.Time
		rows        int
		code        engram.Code
	}{{0, 4, 5, 0}, {6, 9, 4, 0}, {0, 9, 0, engram.Corrupt}} {
		v := diskOf(&fakeTimeline{blocks: [][]*engram.Snapshot{block}})
		got, err := rowsOf(t, v, test.first, test.last)
		if engram.CodeOf(err) != test.code || len(got) != test.rows {
			t.Errorf("%d to %d: %v, %v", test.first, test.last, got, err)
		}
		if v.damage != nil || v.disk[0].handle.damage.Load() != nil {
			t.Errorf("%d to %d: damaged: %+v", test.first, test.last, v.damage)
		}
	}
}
