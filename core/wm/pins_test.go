package wm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// onlyQueued adds up what the queues hold and the memory does not: their places, and each
// version once.
func (w *WM) onlyQueued() (bytes int64) {
	seen := map[*version]bool{}
	for _, s := range w.mu.feed.subscriptions {
		q := s.queue
		for p := q.mu.head; p < q.mu.tail; p++ {
			u := &q.mu.ring[p%uint64(len(q.mu.ring))]
			if !u.dead {
				bytes += placeBytes
			}
			if v := u.version; !u.dead && v != nil && !seen[v] {
				seen[v] = true
				if w.entity(v.entity.id) != v.entity || v.entity.find(v.Time, v.Number) != v {
					bytes += v.pinned()
				}
			}
		}
	}
	return bytes
}

func sized(entity string, at engram.Time, n int) engram.EntityUpdate {
	value, _ := idf.NewRegistry().Get(engram.ValueType)
	b, err := value.Encode(strings.Repeat("x", n))
	if err != nil {
		panic(err)
	}
	u := emptyUpdate(at)
	u.Entity, _ = u.Entity.Parent().Child(entity)
	u.Instances[0].Payload.Bytes = b
	return u
}

// What is counted is what only queues hold, whatever is committed, superseded, evicted,
// erased, removed, read and closed; and it stays within the bound.
func TestPinsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bound = 20 * pinnedSize
		w := New(Config{Limits: Limits{MaxPinnedBytes: bound}})
		defer w.Close()
		ctx := context.Background()
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		core := emptyUpdate(0).Entity.Truncate(engram.LevelCoreSegment)
		must(w.AddMemory(core.Memory(), engram.Bounds{MaxCount: 8}))
		add := func() { must(w.AddCoreSegment(ctx, engram.CoreSegment{ID: core, History: engram.Bounds{MaxCount: 3}})) }
		add()
		var streams []*subscription
		at := engram.Time(0)
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				at += engram.Time(rapid.IntRange(-1, 3).Draw(t, "later"))
				u := emptyUpdate(at)
				u.Entity, _ = u.Entity.Parent().Child(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "entity"))
				results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
				must(err)
				if err := engram.FirstError(results); err != nil && !errors.Is(err, engram.TooOld) {
					must(err)
				}
			},
			"subscribe": func(t *rapid.T) {
				s, err := w.Subscribe(ctx, engram.Subscription{
					WithData: rapid.Bool().Draw(t, "data"), Slow: rapid.SampledFrom([]engram.SlowPolicy{engram.SlowDropOldest, engram.SlowLatest}).Draw(t, "policy"),
					Queue: rapid.IntRange(1, 40).Draw(t, "queue"),
				})
				must(err)
				streams = append(streams, s.(*subscription))
			},
			"poll": func(t *rapid.T) {
				if len(streams) == 0 {
					t.Skip()
				}
				_, err := rapid.SampledFrom(streams).Draw(t, "stream").Poll()
				must(err)
			},
			"close": func(t *rapid.T) {
				if len(streams) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(streams)-1).Draw(t, "stream")
				must(streams[i].Close())
				streams = append(streams[:i], streams[i+1:]...)
			},
			"erase": func(t *rapid.T) {
				id, _ := emptyUpdate(0).Entity.Parent().Child(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "entity"))
				_, err := w.Erase(ctx, id, func(s *engram.Snapshot) bool { return s.Time <= at-2 })
				must(err)
			},
			"remove": func(t *rapid.T) {
				must(w.RemoveSegment(ctx, core))
				add()
			},
			"": func(t *rapid.T) {
				if got, want := w.mu.feed.pins.bytes.Load(), w.onlyQueued(); got != want {
					t.Fatalf("%d bytes are counted, %d are held only by queues", got, want)
				}
			},
		})
		for _, s := range streams {
			must(s.Close())
		}
		if got := w.mu.feed.pins.bytes.Load(); got != 0 {
			t.Fatalf("%d bytes are counted though no queue is left", got)
		}
	})
}

// Subscriptions that nobody reads hold no more together than they may; who reads loses
// nothing, and who comes back is told what it lost.
func TestQueuesShareABound(t *testing.T) {
	const bound, size, rounds = 100_000, 1000, 200
	w := New(Config{Limits: Limits{MaxPinnedBytes: bound}})
	defer w.Close()
	ctx := t.Context()
	core := emptyUpdate(0).Entity.Truncate(engram.LevelCoreSegment)
	if err := w.AddMemory(core.Memory(), engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(ctx, engram.CoreSegment{ID: core, History: engram.Bounds{MaxCount: 1}}); err != nil {
		t.Fatal(err)
	}
	provider := emptyUpdate(0).Entity.Parent()
	subscribe := func(p engram.ID) *subscription {
		s, err := w.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(p)}, WithData: true})
		if err != nil {
			t.Fatal(err)
		}
		return s.(*subscription)
	}
	var idle []*subscription
	for i := range 16 {
		id, _ := provider.Child(fmt.Sprint("e", i))
		idle = append(idle, subscribe(id))
	}
	reader := subscribe(provider)
	read := 0
	for at := range engram.Time(rounds) {
		for i := range idle {
			results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{sized(fmt.Sprint("e", i), at, size)}})
			if err == nil {
				err = engram.FirstError(results)
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := w.mu.feed.pins.bytes.Load(); n > bound {
				t.Fatalf("the queues alone hold %d bytes", n)
			}
		}
		for {
			batch, err := reader.Poll()
			if err != nil {
				t.Fatal(err)
			}
			if len(batch) == 0 {
				break
			}
			for _, u := range batch {
				if read++; u.Dropped > 0 {
					t.Fatalf("who reads all lost %d updates", u.Dropped)
				}
			}
		}
	}
	if read != rounds*len(idle) {
		t.Errorf("who reads all got %d updates", read)
	}
	for i, s := range idle {
		got, dropped := polled(t, s)
		if got == 0 || dropped == 0 || got+dropped != rounds {
			t.Errorf("subscription %d got %d updates, and %d were dropped, of %d", i, got, dropped, rounds)
		}
	}
}

// Places in queues count as well, of notices too: all queues together have no more than
// there may be, and a queue that was emptied keeps few.
func TestPlacesShareABound(t *testing.T) {
	const bound, updates = 100 * placeBytes, 3000
	w := New(Config{Limits: Limits{MaxPinnedBytes: bound}})
	defer w.Close()
	core := emptyUpdate(0).Entity.Truncate(engram.LevelCoreSegment)
	if err := w.AddMemory(core.Memory(), engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: core}); err != nil {
		t.Fatal(err)
	}
	var streams []*subscription
	for range 8 {
		s, err := w.Subscribe(t.Context(), engram.Subscription{Queue: updates})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s.(*subscription))
	}
	for at := range engram.Time(updates) {
		if _, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{emptyUpdate(at)}}); err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for _, s := range streams {
			waiting += s.queue.mu.live
		}
		if waiting > 100 {
			t.Fatalf("%d updates wait", waiting)
		}
	}
	for i, s := range streams {
		got, dropped := polled(t, s)
		if got == 0 || got+dropped != updates {
			t.Errorf("subscription %d got %d updates, and %d were dropped, of %d", i, got, dropped, updates)
		}
	}
	q := newQueue(engram.SlowLatest, 1<<16, 1<<40, &pins{})
	for i := range 1 << 14 {
		q.put(waiting{number: uint64(i + 1), entity: &entity{}})
	}
	for range 1 << 14 / batchSize {
		if _, err := q.take(nil, batchSize); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.mu.ring) > keptRing || len(q.mu.newest) > 0 {
		t.Errorf("an empty queue keeps %d places and %d entities", len(q.mu.ring), len(q.mu.newest))
	}
}

// A consumer that takes a batch and does not come back holds little.
func TestBatchesAreBounded(t *testing.T) {
	q := newQueue(engram.SlowDropOldest, 1000, 1<<40, &pins{})
	e := &entity{}
	for i := range 100 {
		q.put(waiting{number: uint64(i + 1), entity: e, bytes: takenBytes/3 + 1})
	}
	for range 3 {
		if out, err := q.take(nil, batchSize); err != nil || len(out) != 3 {
			t.Errorf("%d updates are taken at once, %v", len(out), err)
		}
	}
	q = newQueue(engram.SlowDropOldest, 1000, 1<<40, &pins{})
	q.put(waiting{number: 1, entity: e, bytes: 100 * takenBytes})
	if out, err := q.take(nil, batchSize); err != nil || len(out) != 1 {
		t.Errorf("of one large update come %d, %v", len(out), err)
	}
}

// polled takes all that waits in a subscription.
func polled(t *testing.T, s *subscription) (got, dropped uint64) {
	t.Helper()
	for {
		batch, err := s.Poll()
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			return got, dropped
		}
		for _, u := range batch {
			got, dropped = got+1, dropped+u.Dropped
		}
	}
}
