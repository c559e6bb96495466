package wm_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// What the figures say is what the statistics say, which look at every entity; drops
// are counted also of subscriptions that are over.
func TestFigures(t *testing.T) {
	ctx := context.Background()
	w := wm.New(wm.Config{})
	if err := w.AddMemory("M", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"A", "B"} {
		id, _ := engram.NewID("M", c)
		if err := w.AddCoreSegment(ctx, engram.CoreSegment{ID: id, History: engram.Bounds{MaxCount: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	var streams []engram.UpdateStream
	for range 2 {
		s, err := w.Subscribe(ctx, engram.Subscription{Queue: 4, Slow: engram.SlowDropOldest})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	for i := range 20 {
		id, _ := engram.NewID("M", []string{"A", "B"}[i%2], "P", fmt.Sprintf("e%d", i%4))
		u := engram.EntityUpdate{Entity: id, Time: engram.Time(i / 4 * 7), Instances: []engram.Instance{{Payload: engram.Payload{Bytes: bytes.Repeat([]byte{8, 1}, i)}}}}
		if _, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u, {Entity: id, Time: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	before := w.Figures()
	if before.Subscriptions != 2 || before.Number != before.Segments[0].Committed+before.Segments[1].Committed || before.Behind != 4 || before.Waiting != 8 ||
		before.Dropped != 2*(before.Number-4) {
		t.Errorf("figures: %+v", before)
	}
	for _, s := range streams {
		s.Close()
	}
	f := w.Figures()
	if f.Subscriptions != 0 || f.Begun != 2 || f.Waiting != 0 || f.Dropped != before.Dropped {
		t.Errorf("after the subscriptions: %+v", f)
	}
	stats, err := w.Stats(ctx, engram.Pattern{}, engram.LevelCoreSegment)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []wm.SegmentFigures
	for _, s := range f.Segments {
		s.Written = 0
		got = append(got, s)
	}
	for _, s := range stats {
		if s.ID.Level() == engram.LevelCoreSegment {
			want = append(want, wm.SegmentFigures{Segment: s.ID, Entities: s.Entities, Snapshots: s.Snapshots + s.Superseded, Bytes: s.Bytes,
				Committed: s.Committed, Evicted: s.Evicted, Refused: s.Refused})
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) != 2 || want[0].Evicted == 0 || want[0].Refused == 0 {
		t.Errorf("segments\n%+v, want\n%+v", got, want)
	}
	if w := f.Segments[0].Written + f.Segments[1].Written; w != 380 {
		t.Errorf("%d bytes written, want 380", w)
	}
}
