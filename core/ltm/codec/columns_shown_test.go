package codec_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// Beside columns there are so many snapshots per second in plain form, for viewers; each
// snapshot is stored once, and all are read back as they were.
func TestColumnsAreShown(t *testing.T) {
	types := registry(t)
	for name, c := range map[string]struct {
		every       time.Duration // of the stream
		fewest, all int           // in plain form, of 3000
	}{
		"100 Hz": {10 * time.Millisecond, 150, 151},
		"30 Hz":  {time.Second / 30, 490, 510},
		"5 Hz":   {200 * time.Millisecond, 3000, 3000},
		"1 Hz":   {time.Second, 3000, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			snapshots := pointsOf(3000, func(i int) (x, y, z float64) { return float64(i) / 10, float64(i % 7), 2 })
			for i, s := range snapshots {
				s.Time = engram.Time(i) * engram.Time(c.every)
			}
			got, stored := code(t, codec.Config{Codec: codec.Columns, Types: types, Shown: 5}, snapshots)
			plain, inColumns := 0, 0
			var last engram.Time
			for _, m := range stored {
				if m.Type == codec.ColumnsType {
					inColumns += len(m.Snapshots)
					continue
				}
				plain++
				at := m.Snapshots[0].Time
				if plain > 1 && (at-last > engram.Time(250*time.Millisecond) && c.every < 250*time.Millisecond || at <= last) {
					t.Errorf("viewers see nothing from %v to %v", last, at)
				}
				last = at
			}
			if plain < c.fewest || plain > c.all || plain+inColumns != len(snapshots) {
				t.Errorf("%d are plain, want %d to %d; %d in columns, of %d", plain, c.fewest, c.all, inColumns, len(snapshots))
			}
			byTime := map[engram.Time]*engram.Snapshot{}
			for _, s := range got {
				if byTime[s.Time] != nil {
					t.Fatalf("%v is there twice", s.Time)
				}
				byTime[s.Time] = s
			}
			ordered := make([]*engram.Snapshot, len(snapshots))
			for i, s := range snapshots {
				if ordered[i] = byTime[s.Time]; ordered[i] == nil {
					t.Fatalf("%v is missing", s.Time)
				}
			}
			sameSnapshots(t, ordered, snapshots)
		})
	}
}

// What is refused on its way is neither lost nor stored twice, in whichever form it is.
func TestColumnsThatAreShownKeepWhatIsRefused(t *testing.T) {
	types := registry(t)
	snapshots := pointsOf(3000, func(i int) (x, y, z float64) { return float64(i), 1, 2 })
	for i, s := range snapshots {
		s.Time = engram.Time(i) * 10 * engram.Time(time.Millisecond)
	}
	enc, _, err := codec.NewEncoder(codec.Config{Codec: codec.Columns, Types: types, Shown: 5})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	calls, stored := 0, map[engram.Time]int{}
	emit := func(m codec.Message) error {
		if calls++; calls%3 != 0 {
			return engram.Errorf(engram.Exhausted, "", "the disk is full")
		}
		for _, s := range m.Snapshots {
			stored[s.Time]++
		}
		return nil
	}
	taken := map[engram.Time]bool{}
	for _, s := range snapshots {
		if enc.Encode(ctx, s, emit) == nil {
			taken[s.Time] = true
		}
	}
	for enc.Flush(ctx, emit) != nil || len(enc.Pending()) > 0 {
	}
	if len(taken) == len(snapshots) {
		t.Error("nothing was refused")
	}
	for at := range taken {
		if stored[at] != 1 {
			t.Errorf("%v was taken and is stored %d times", at, stored[at])
		}
	}
	if len(stored) != len(taken) {
		t.Errorf("%d were taken, %d are stored", len(taken), len(stored))
	}
}
