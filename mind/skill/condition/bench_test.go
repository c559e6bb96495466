package condition

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Many things are waiting for a term: an update of what the term is about, and one of a thing that comes and goes.
func BenchmarkManyThings(b *testing.B) {
	s := New(func(string) *idf.Type { return nil }, nil)
	var all []engram.Item
	for i := range 10_000 {
		all = append(all, item(fmt.Sprint("x", i), 1, 1))
	}
	nobody := Term{Of: engram.MustPattern("N/B"), None: true, Within: time.Hour}
	s.Quiet(func() {
		if _, err := s.Put(2, greet.At(2), Condition{On: engram.MustPattern("M/A"), Where: "confidence > 0.5", All: []Term{nobody}}, items(all...)); err != nil {
			b.Fatal(err)
		}
	})
	now := engram.Time(2)
	b.Run("term", func(b *testing.B) {
		for b.Loop() {
			now++
			s.Apply(now, engram.Item{ID: engram.MustID("N/B/p/y").At(now), Snapshot: all[0].Snapshot})
		}
	})
	b.Run("thing", func(b *testing.B) {
		for b.Loop() {
			now++
			s.Apply(now, item("x1", now, float32(now%2)))
		}
	})
}
