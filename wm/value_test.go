package wm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/wm"
)

func byValue(t testing.TB, history, all engram.Bounds) *wm.WM {
	w := memory(t, wm.Config{}, history, all)
	if err := w.Values().Begin("Test"); err != nil {
		t.Fatal(err)
	}
	return w
}

// count returns how many snapshots an entity has.
func count(t testing.TB, w *wm.WM, entity string) int {
	t.Helper()
	st, err := w.Stats(context.Background(), engram.PatternOf(modelID(entity)), engram.LevelEntity)
	if err != nil || len(st) != 1 {
		t.Fatal(st, err)
	}
	return int(st[0].Snapshots)
}

// What is asked for keeps up to four times the past of what is not, within the bounds of its
// memory; what nobody asks for any more gives it back.
func TestValueStretches(t *testing.T) {
	for name, bounds := range map[string][2]engram.Bounds{
		"the entity's": {{MaxCount: 200}, {}},
		"the memory's": {{}, {MaxCount: 2000}},
	} {
		t.Run(name, func(t *testing.T) {
			w := byValue(t, bounds[0], bounds[1])
			at := 0
			write := func(rounds int, ask string) {
				for range rounds {
					at++
					for e := range 10 {
						testkit.Commit(t, w, change(fmt.Sprint("e", e), at, blob(10)))
					}
					if ask != "" {
						if _, err := w.Latest(context.Background(), modelID(ask)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			write(4000, "e3")
			asked, other := count(t, w, "e3"), count(t, w, "e4")
			if asked < 3*other || asked > 4*other+2 {
				t.Errorf("what was asked for has %d snapshots, another %d; want three to four times as many", asked, other)
			}
			write(4000, "")
			if asked, other = count(t, w, "e3"), count(t, w, "e4"); asked > other+2 {
				t.Errorf("after nobody asked it has %d snapshots, another %d", asked, other)
			}
			write(4000, "e4")
			w.Values().Regard(modelID("e5"), wm.Linked, 40)
			write(200, "e4")
			if linked, other := count(t, w, "e5"), count(t, w, "e6"); 10*linked < 14*other {
				t.Errorf("what is linked to what is asked for has %d snapshots, another %d", linked, other)
			}
		})
	}
}

// Newest states of what is asked for stay where there are too many, whatever comes.
func TestValueKeepsNewestStates(t *testing.T) {
	w := byValue(t, engram.Bounds{}, engram.Bounds{MaxCount: 100})
	for i := range 20_000 {
		testkit.Commit(t, w, change(fmt.Sprint("e", i), 1, blob(10)))
		if i >= 5 {
			if _, err := w.Latest(context.Background(), modelID("e5")); err != nil {
				t.Fatalf("after %d others: %v", i-5, err)
			}
		}
	}
	if st := held(t, w, "Test"); st.Entities != 100 {
		t.Errorf("stats %+v", st)
	}
}

// A memory that evicts by value has within its bounds what came last, can be read as it was
// acknowledged, and keeps of each entity what is without a hole.
func TestValueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(3, 60).Draw(t, "bound")
		w := wm.New(wm.Config{Types: testTypes})
		bounds := engram.Bounds{MaxCount: limit, MaxBytes: 1 << 20}
		history := engram.Bounds{MaxCount: rapid.SampledFrom([]int{0, 3, 10}).Draw(t, "history")}
		if err := w.AddMemory("Test", bounds); err != nil {
			t.Fatal(err)
		}
		if err := w.AddCoreSegment(context.Background(), engram.CoreSegment{ID: modelCore, History: history}); err != nil {
			t.Fatal(err)
		}
		if err := w.Values().Begin("Test"); err != nil {
			t.Fatal(err)
		}
		written := map[string][]int{}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for at := range rapid.IntRange(50, 800).Draw(t, "steps") {
			name := fmt.Sprint("e", random.IntN(8))
			if random.IntN(3) == 0 {
				_, _ = w.Query(context.Background(), engram.SelectID(modelID(fmt.Sprint("e", random.IntN(3))), engram.Latest(3)))
			}
			if random.IntN(40) == 0 {
				w.Values().Regard(modelID(name), wm.Linked, float64(random.IntN(50)))
			}
			if random.IntN(60) == 0 {
				if err := w.Values().SetBudget("Test", int64(2000+random.IntN(40_000))); err != nil {
					t.Fatal(err)
				}
			}
			when := at + 1
			if random.IntN(4) == 0 && len(written[name]) > 0 {
				when = written[name][len(written[name])-1] // a correction
			}
			if _, err := w.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{change(name, when, blob(10))}}); err != nil {
				t.Fatal(err)
			}
			if list := written[name]; len(list) == 0 || list[len(list)-1] != when {
				written[name] = append(list, when)
			}
			if s, err := w.Latest(context.Background(), modelID(name)); err != nil || s.Time != engram.Time(when) {
				t.Fatalf("what was acknowledged reads as %v, %v", s, err)
			}
			if h := int(w.Held("Test")); h > limit {
				t.Fatalf("%d versions are held, the bound is %d", h, limit)
			}
		}
		for name, times := range written {
			r, err := w.Query(context.Background(), engram.SelectID(modelID(name), engram.All()))
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for it := range r.All() {
				got = append(got, int(it.Time))
			}
			if want := times[len(times)-len(got):]; !slices.Equal(got, want) {
				t.Fatalf("%s has %v, which is not the end of %v", name, got, times)
			}
		}
	})
}

// A budget takes the past first, leaves alone what a memory keeps, and ends where it is lifted.
func TestBudget(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxBytes: 1 << 20})
	if err := w.KeepNewest("Test"); err != nil {
		t.Fatal(err)
	}
	for at := range 50 {
		for e := range 20 {
			testkit.Commit(t, w, change(fmt.Sprint("e", e), at+1, blob(100)))
		}
	}
	before := held(t, w, "Test").Snapshots
	for _, step := range []struct {
		budget int64
		want   func(n uint64) bool
	}{
		{1 << 30, func(n uint64) bool { return n == before }},
		{100_000, func(n uint64) bool { return n < before && n > 20 }},
		{1, func(n uint64) bool { return n == 20 }},
	} {
		if err := w.Values().SetBudget("Test", step.budget); err != nil {
			t.Fatal(err)
		}
		if n := held(t, w, "Test").Snapshots; !step.want(n) {
			t.Errorf("with a budget of %d bytes %d of %d snapshots are held", step.budget, n, before)
		}
	}
	testkit.Commit(t, w, change("new", 1, blob(100))) // not refused: it is within the bound
	if err := w.Values().SetBudget("Test", 1<<20); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, w, change("e1", 100, blob(100)))
	if n := held(t, w, "Test").Snapshots; n != 22 {
		t.Errorf("%d snapshots are held, want 22", n)
	}
	for name, budget := range map[string]int64{"Test": 0, "Nothing": 1} {
		if err := w.Values().SetBudget(name, budget); err == nil {
			t.Errorf("a budget of %d for %s was taken", budget, name)
		}
	}
}

// BenchmarkHits replays a day of questions about 2,000 things, of which one moves every 100 ms: which thing
// is asked about follows Zipf's law, and every other question is about what lies on the thing asked about
// before, which links to it; how far back, an exponential distribution. It reports the share of questions
// that RAM answers, by value and with the oldest evicted first.
func BenchmarkHits(b *testing.B) {
	const things, room, steps = 2000, 40_000, 864_000
	replay := func(value bool) float64 {
		w := memory(b, wm.Config{}, engram.Bounds{}, engram.Bounds{MaxCount: room})
		if value {
			if err := w.Values().Begin("Test"); err != nil {
				b.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(random, 1.1, 1, things-1)
		name := func(n int) string { return fmt.Sprint("thing", n) }
		on := random.Perm(things) // what lies on each
		hits, asked := 0, 0
		for at := range steps {
			testkit.Commit(b, w, change(name(random.IntN(things)), at+1, blob(10)))
			if at%10 != 0 {
				continue
			}
			n := int(zipf.Uint64())
			for _, of := range [...]int{n, on[n]} {
				when := at - int(random.ExpFloat64()*2*room)
				if when < steps/10 {
					continue
				}
				asked++
				_, err := w.AtOrBefore(context.Background(), modelID(name(of)), engram.Time(when))
				if err == nil {
					hits++
				}
			}
			if at%1000 == 0 { // as the server does from time to time
				w.Values().Asked(1, func(id engram.ID, uses float64) bool {
					var of int
					fmt.Sscanf(id.Entity(), "thing%d", &of)
					w.Values().Regard(modelID(name(on[of])), wm.Linked, uses)
					return true
				})
			}
		}
		return float64(hits) / float64(asked)
	}
	for b.Loop() {
		old, value := replay(false), replay(true)
		b.ReportMetric(old, "hits-by-age")
		b.ReportMetric(value, "hits-by-value")
		b.ReportMetric(value/old, "ratio")
	}
}

// BenchmarkLatestByValue is BenchmarkLatest of a memory that evicts by value.
func BenchmarkLatestByValue(b *testing.B) {
	w := byValue(b, engram.Bounds{}, engram.Bounds{MaxCount: 1000})
	testkit.Commit(b, w, change("e", 1, blob(10)))
	id := modelID("e")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Latest(context.Background(), id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAsked is what a reader pays for statistics, of a memory that evicts by value.
func BenchmarkAsked(b *testing.B) {
	w := byValue(b, engram.Bounds{}, engram.Bounds{MaxCount: 1000})
	testkit.Commit(b, w, change("e", 1, blob(10)))
	e := w.View(engram.WithAsker(context.Background(), 7), nil).Entity(modelID("e"))
	for b.Loop() {
		e.Asked()
	}
}

// Surprises and marks stretch by themselves, beside what was asked for, and fade as that does.
func TestSurprisesAndMarksStretch(t *testing.T) {
	w := byValue(t, engram.Bounds{MaxCount: 100}, engram.Bounds{})
	at := 0
	write := func(rounds int) {
		for range rounds {
			at++
			for e := range 4 {
				testkit.Commit(t, w, change(fmt.Sprint("e", e), at, blob(10)))
			}
		}
	}
	value := func(entity string) engram.Value {
		t.Helper()
		st, err := w.Stats(context.Background(), engram.PatternOf(modelID(entity)), engram.LevelEntity)
		if err != nil || len(st) != 1 || st[0].Value == nil {
			t.Fatal(st, err)
		}
		return *st[0].Value
	}
	write(200)
	w.Values().Regard(modelID("e1"), wm.Surprised, 12)
	w.Values().Regard(modelID("e2"), wm.Marked, wm.MarkUses)
	w.Values().Regard(modelID("e3"), wm.Surprised, 12)
	w.Values().Regard(modelID("e3"), wm.Marked, wm.MarkUses)
	w.Values().Regard(modelID("none"), wm.Marked, wm.MarkUses)
	for entity, want := range map[string]engram.Value{
		"e0": {Confidence: 1, Stretch: 1},
		"e1": {Surprised: 12, Confidence: 1, Stretch: 1 + 3*12./20},
		"e2": {Marked: 8, Confidence: 1, Stretch: 1 + 3*8./16},
		"e3": {Surprised: 12, Marked: 8, Confidence: 1, Stretch: 1 + 3*20./28},
	} {
		if got := value(entity); got != want {
			t.Errorf("%s is worth %+v, want %+v", entity, got, want)
		}
	}
	write(100)
	if surprised, other := count(t, w, "e1"), count(t, w, "e0"); surprised < 2*other {
		t.Errorf("what surprised has %d snapshots, another %d", surprised, other)
	}
	write(2000)
	if surprised, other := count(t, w, "e1"), count(t, w, "e0"); surprised != other {
		t.Errorf("long after the surprise it has %d snapshots, another %d", surprised, other)
	}
}

// Bounds of an entity's own hold from before it is there, stretch as others do, and are bounded
// in number.
func TestOwnBounds(t *testing.T) {
	w := byValue(t, engram.Bounds{MaxCount: 10}, engram.Bounds{})
	ctx := context.Background()
	set := func(entity string, n int) error {
		return w.SetHistory(ctx, modelID(entity), engram.Bounds{MaxCount: n})
	}
	for entity, n := range map[string]int{"more": 20, "less": 4, "usual": 10} {
		if err := set(entity, n); err != nil {
			t.Fatal(err)
		}
	}
	for at := range 100 {
		for _, entity := range []string{"more", "less", "usual", "other"} {
			testkit.Commit(t, w, change(entity, at+1, blob(10)))
		}
	}
	for entity, want := range map[string]int{"more": 20, "less": 4, "usual": 10, "other": 10} {
		if got := count(t, w, entity); got != want {
			t.Errorf("%s has %d snapshots, want %d", entity, got, want)
		}
	}
	w.Values().Regard(modelID("less"), wm.Marked, wm.MarkUses)
	for at := range 20 {
		testkit.Commit(t, w, change("less", at+200, blob(10)))
	}
	if got := count(t, w, "less"); got < 9 || got > 10 {
		t.Errorf("stretched 2.5 times, 4 snapshots are %d", got)
	}
	var err error
	for i := 0; err == nil && i < 2000; i++ {
		err = set(fmt.Sprint("e", i), 1)
	}
	if engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("of too many entities: %v", err)
	}
	if err := set("more", 10); err != nil { // as its segment
		t.Error(err)
	}
	if err := set("one", 1); err != nil {
		t.Errorf("in the place of another: %v", err)
	}
}
