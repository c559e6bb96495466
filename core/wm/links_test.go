package wm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	asking "github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// With the index of links, what links to something is what a search through everything finds: whatever comes late, is
// superseded, evicted, erased and removed, at every time and belief.
func TestLinkIndexFindsWhatThereIs(t *testing.T) {
	found, used := 0, 0
	for seed := range testkit.Repeats(20, 400) {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		now := engram.Time(1000)
		clock := func() engram.Time { now++; return now }
		bounds := engram.Bounds{MaxCount: r.IntN(2) * 60}
		one := memory(t, wm.Config{Now: clock, Types: testTypes}, bounds, engram.Bounds{})
		two := memory(t, wm.Config{Now: clock, Types: testTypes}, bounds, engram.Bounds{})
		if err := one.Indexes().Register("links", wm.IndexOptions{New: func() asking.Index { return asking.NewLinkIndex("", testTypes) }}); err != nil {
			t.Fatal(err)
		}
		entity := func() engram.ID { return modelID(string(rune('a' + r.IntN(6)))) }
		target := func() engram.ID {
			switch e := entity(); r.IntN(8) {
			case 0:
				return e.Parent()
			case 1, 2:
				return e
			case 3:
				return e.At(engram.Time(r.IntN(12))).Instance(r.IntN(2))
			default:
				return e.At(engram.Time(r.IntN(12)))
			}
		}
		for range 120 {
			switch e := entity(); r.IntN(10) {
			case 0:
				until := engram.Time(r.IntN(12))
				for _, w := range []*wm.WM{one, two} {
					if _, err := w.Erase(t.Context(), e, func(s *engram.Snapshot) bool { return s.Time < until }); err != nil {
						t.Fatal(err)
					}
				}
			case 1, 2:
				q := engram.PatternOf(modelCore).Select([]engram.SnapshotSelector{
					engram.All(), engram.Latest(1 + r.IntN(3)), engram.In(engram.Interval{Start: engram.Time(r.IntN(6)), End: engram.Time(6 + r.IntN(6))}),
					engram.AtOrBefore(engram.Time(r.IntN(12))), engram.Nearest(engram.Time(r.IntN(12)), 3), engram.Indices(-2, -1), engram.Indices(0, 1),
				}[r.IntN(7)])
				q.LinksExactly, q.FilterOrder = r.IntN(3) == 0, engram.FilterOrder(r.IntN(2))
				for range 1 + r.IntN(3) {
					q.LinksTo = append(q.LinksTo, target())
				}
				if r.IntN(3) == 0 {
					q.AsOf = new(now - engram.Time(r.IntN(100)))
				}
				if r.IntN(2) == 0 {
					if err := one.Indexes().Await(t.Context(), "links"); err != nil {
						t.Fatal(err)
					}
					used++
				}
				got, want := idsOf(t, one, q), idsOf(t, two, q)
				if found += len(want); !slices.Equal(got, want) {
					t.Fatalf("seed %d: what links to %s, as of %v, order %d, %+v, is %v, want %v", seed, q.LinksTo, q.AsOf, q.FilterOrder, q.Memories[0].Children[0].Children, got, want)
				}
			default:
				var links []any
				for range r.IntN(4) {
					links = append(links, target())
				}
				p, err := idf.ValuePayload(map[string]any{"to": links})
				if err != nil {
					t.Fatal(err)
				}
				u := engram.EntityUpdate{Entity: e, Time: engram.Time(r.IntN(12)), Instances: []engram.Instance{engram.NewInstance(p)}}
				before := now
				testkit.Commit(t, one, u)
				now = before // both at once
				testkit.Commit(t, two, u)
			}
		}
		for _, w := range []*wm.WM{one, two} {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found < 100 || used < 100 {
		t.Errorf("only %d were found, in %d queries of an index", found, used)
	}
}

func idsOf(t *testing.T, w *wm.WM, q engram.Query) (ids []string) {
	t.Helper()
	r, err := w.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		ids = append(ids, fmt.Sprint(it.ID, len(it.Instances)))
	}
	return ids
}

// BenchmarkLinksTo asks what links to an entity, of a million links, a hundred of them to it.
func BenchmarkLinksTo(b *testing.B) {
	const sources, each = 10_000, 100
	w := memory(b, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	defer w.Close()
	if err := w.Indexes().Register("links", wm.IndexOptions{New: func() asking.Index { return asking.NewLinkIndex("", testTypes) }}); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for at := range each {
		var updates []engram.EntityUpdate
		for source := range sources {
			p, err := idf.ValuePayload(modelID(fmt.Sprint("image", r.IntN(sources))).At(engram.Time(at)))
			if err != nil {
				b.Fatal(err)
			}
			updates = append(updates, engram.EntityUpdate{Entity: modelID(fmt.Sprint("cup", source)), Time: engram.Time(at), Instances: []engram.Instance{engram.NewInstance(p)}})
		}
		if _, err := w.Commit(b.Context(), engram.Commit{Updates: updates}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Indexes().Await(b.Context(), "links"); err != nil {
		b.Fatal(err)
	}
	f := w.Indexes().Figures()[0]
	b.ReportMetric(float64(f.Bytes)/float64(f.Entries), "B/link")
	q := engram.MustPattern("Test").Select(engram.All())
	found := 0
	for b.Loop() {
		q.LinksTo = []engram.ID{modelID(fmt.Sprint("image", r.IntN(sources)))}
		res, err := w.Query(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		for range res.All() {
			found++
		}
	}
	b.ReportMetric(float64(found)/float64(b.N), "links")
}

// BenchmarkCommitLinks commits values with three links at 10,000 a second, with and without the index of links, and tells
// the median of what a commit takes.
func BenchmarkCommitLinks(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("indexed=%v", indexed), func(b *testing.B) {
			w := memory(b, wm.Config{}, engram.Bounds{MaxCount: 100}, engram.Bounds{})
			defer w.Close()
			if indexed {
				if err := w.Indexes().Register("links", wm.IndexOptions{New: func() asking.Index { return asking.NewLinkIndex("", testTypes) }}); err != nil {
					b.Fatal(err)
				}
				if err := w.Indexes().Await(b.Context(), "links"); err != nil {
					b.Fatal(err)
				}
			}
			const each, every = 10, time.Millisecond
			var took []time.Duration
			next := time.Now()
			for i := 0; b.Loop(); i++ {
				if i%each == 0 {
					next = next.Add(every)
					time.Sleep(time.Until(next))
				}
				t := engram.Time(i + 1)
				links := []engram.ID{modelID("image").At(t), modelID("pose").At(t), modelID("class")}
				p, err := idf.ValuePayload(map[string]any{"position": 1.5, "from": links})
				if err != nil {
					b.Fatal(err)
				}
				c := engram.Commit{Updates: []engram.EntityUpdate{{Entity: modelID("cup"), Time: t, Instances: []engram.Instance{engram.NewInstance(p)}}}}
				began := time.Now()
				if r, err := w.Commit(b.Context(), c); err != nil || r[0].Err != nil {
					b.Fatal(err, r[0].Err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
		})
	}
}
