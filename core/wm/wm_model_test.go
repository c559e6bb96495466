package wm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

var modelCore = engram.MustID("Test/Core")

func modelID(entity string) engram.ID { return engram.MustID("Test/Core/Provider/" + entity) }

// machine drives a working memory and its model side by side.
type machine struct {
	*rapid.T
	w       *wm.WM
	m       model
	now     engram.Time
	arrived engram.Time // the last time of arrival
	live    []*modelStream
}

// modelStream is a subscription whose consumer comes by at random.
type modelStream struct {
	engram.UpdateStream
	only  string // the entity it is for; all if empty
	slow  engram.SlowPolicy
	seen  uint64
	began uint64
}

func (s *modelStream) match(entity string) bool { return s.only == "" || s.only == entity }

func drawBounds(t *rapid.T, label string) engram.Bounds {
	return engram.Bounds{
		MaxCount: rapid.SampledFrom([]int{0, 0, 1, 2, 5, 40}).Draw(t, label+" count"),
		MaxAge:   within(rapid.SampledFrom([]int{0, 0, 3, 30}).Draw(t, label+" age")),
		MaxBytes: int64(rapid.SampledFrom([]int{0, 0, 60, 400}).Draw(t, label+" bytes")),
	}
}

var testTypes = idf.NewRegistry()

func newMachine(t *rapid.T) *machine {
	x := &machine{T: t, now: 1000, arrived: engram.MinTime, m: model{gone: map[string]bool{}}}
	x.m.history, x.m.bounds = drawBounds(t, "entity"), drawBounds(t, "memory")
	if x.m.bounds.MaxBytes > 0 { // of a memory they are what all costs
		x.m.bounds.MaxBytes = 2000 + 10*x.m.bounds.MaxBytes
	}
	x.w = wm.New(wm.Config{Now: func() engram.Time { return x.now }, Types: testTypes})
	if err := x.w.AddMemory("Test", x.m.bounds); err != nil {
		t.Fatal(err)
	}
	err := x.w.AddCoreSegment(context.Background(), engram.CoreSegment{ID: modelCore, History: x.m.history})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *machine) drawEntity() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(x.T, "entity")
}

// commit commits a few updates, mostly in order, and now and then many.
func (x *machine) commit(t *rapid.T) {
	x.now += engram.Time(rapid.IntRange(-2, 3).Draw(t, "clock"))
	n := rapid.SampledFrom([]int{1, 1, 1, 2, 5, 30}).Draw(t, "updates")
	entity := x.drawEntity()
	var c engram.Commit
	var batch []*modelVersion
	for range n {
		if rapid.IntRange(0, 3).Draw(t, "other entity") == 0 {
			entity = x.drawEntity()
		}
		at := x.m.newest + 1
		if rapid.IntRange(0, 2).Draw(t, "out of order") == 0 {
			at = engram.Time(rapid.IntRange(0, 60).Draw(t, "time"))
		}
		for _, u := range c.Updates {
			at = max(at, u.Time+engram.Time(rapid.IntRange(0, 1).Draw(t, "step")))
		}
		p := testkit.Value(t, string(make([]byte, rapid.IntRange(0, 20).Draw(t, "size"))))
		in := engram.NewInstance(p)
		in.Confidence = float32(rapid.IntRange(0, 4).Draw(t, "confidence")) / 4
		u := engram.EntityUpdate{Entity: modelID(entity), Time: at, Instances: []engram.Instance{in}}
		c.Updates = append(c.Updates, u)
		batch = append(batch, &modelVersion{
			entity: entity, size: int64(len(p.Bytes)),
			snap: engram.Snapshot{Time: at, Instances: u.Instances},
		})
	}
	results, err := x.w.Commit(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	x.arrived = max(x.now, x.arrived)
	taken := batch[:0]
	for i, r := range results {
		v := batch[i]
		if engram.CodeOf(r.Err) == engram.TooOld && x.mayVanish(v, taken) {
			continue
		}
		if taken = append(taken, v); r.Err != nil || r.ID != c.Updates[i].Entity.At(c.Updates[i].Time) || r.Number != uint64(len(x.m.stored)+len(taken)) {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	batch = taken
	for i := range batch {
		batch[i].snap.Number = uint64(len(x.m.stored) + i + 1)
		for _, v := range append(x.m.stored, batch[:i]...) {
			if v.entity == batch[i].entity && v.snap.Time == batch[i].snap.Time && !v.evicted {
				x.arrived = max(x.arrived, v.snap.Arrived+1) // versions of one time arrived at different ones
			}
		}
		batch[i].snap.Arrived = x.arrived
	}
	x.m.commit(batch)
	if n == 1 && len(batch) == 1 && batch[0].evicted {
		t.Fatalf("%+v was acknowledged and is evicted", batch[0])
	}
}

// mayVanish reports whether a version may be refused because it would be evicted at
// once: it is late, and beyond a bound with those that its batch has stored before it.
func (x *machine) mayVanish(v *modelVersion, stored []*modelVersion) bool {
	held := append(x.m.retained(""), stored...)
	late, newest := false, max(x.m.newest, v.snap.Time)
	var own []*modelVersion
	for _, o := range held {
		newest = max(newest, o.snap.Time)
		if o.entity == v.entity {
			own = append(own, o)
			late = late || o.snap.Time > v.snap.Time
		}
	}
	aged := func(b engram.Bounds) bool { return b.MaxAge > 0 && newest.Sub(v.snap.Time) > b.MaxAge }
	return late && (beyond(x.m.history, append(own, v)) || beyondAll(x.m.bounds, append(held, v)) || aged(x.m.history) || aged(x.m.bounds))
}

func drawSelector(t *rapid.T) engram.SnapshotSelector {
	at := func() engram.Time { return engram.Time(rapid.IntRange(-2, 90).Draw(t, "t")) }
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return engram.All()
	case 1:
		return engram.Latest(rapid.IntRange(1, 7).Draw(t, "n"))
	case 2:
		return engram.At(at())
	case 3:
		return engram.AtOrBefore(at())
	case 4:
		return engram.Nearest(at(), within(rapid.IntRange(0, 20).Draw(t, "within")))
	case 5:
		start := at()
		return engram.In(engram.Interval{Start: start, End: start + engram.Time(rapid.IntRange(0, 40).Draw(t, "span"))})
	}
	return engram.Indices(rapid.IntRange(-9, 9).Draw(t, "first"), rapid.IntRange(-9, 9).Draw(t, "last"))
}

// query asks something, compares the answer with the model's, and checks that an
// answer that eviction has changed says so.
func (x *machine) query(t *rapid.T) {
	entity := x.drawEntity()
	selectors := rapid.SliceOfN(rapid.Custom(drawSelector), 1, 3).Draw(t, "selectors")
	q := engram.SelectID(modelID(entity), selectors...)
	asOf := engram.MaxTime
	if rapid.Bool().Draw(t, "as of") {
		asOf = x.now - engram.Time(rapid.IntRange(0, 40).Draw(t, "before now"))
		q.AsOf = &asOf
	}
	keep := func(*engram.Snapshot) bool { return true }
	if rapid.IntRange(0, 3).Draw(t, "filter") == 0 {
		q.Where = "confidence >= 0.5"
		keep = func(s *engram.Snapshot) bool { return s.Instances[0].Confidence >= 0.5 }
	}
	r, err := x.w.Query(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := numbers(r)
	want := selectFrom(x.m.view(entity, asOf, false, keep), selectors)
	if !slices.Equal(got, want) {
		t.Fatalf("%s %+v as of %v: got updates %v, want %v", entity, selectors, asOf, got, want)
	}
	indexed := slices.ContainsFunc(selectors, func(s engram.SnapshotSelector) bool { return s.Kind == engram.KindIndexRange })
	ever := selectFrom(x.m.view(entity, asOf, true, keep), selectors)
	if !indexed && !x.m.gone[entity] && !slices.Equal(got, ever) && len(r.Missing) == 0 {
		t.Fatalf("%s %+v as of %v: got %v of %v, but nothing is said to be missing", entity, selectors, asOf, got, ever)
	}
	if len(r.Missing) > 0 && !x.anyEvicted() {
		t.Fatalf("missing %+v, but nothing was evicted", r.Missing)
	}
}

func (x *machine) anyEvicted() bool {
	return slices.ContainsFunc(x.m.stored, func(v *modelVersion) bool { return v.evicted })
}

func numbers(r *engram.Result) []uint64 {
	var out []uint64
	for it := range r.All() {
		out = append(out, it.Number)
	}
	return out
}

// latest compares the short ways to one snapshot.
func (x *machine) latest(t *rapid.T) {
	entity := x.drawEntity()
	at := engram.MaxTime - 1
	var s *engram.Snapshot
	var err error
	if rapid.Bool().Draw(t, "at or before") {
		at = engram.Time(rapid.IntRange(-2, 90).Draw(t, "t"))
		s, err = x.w.AtOrBefore(context.Background(), modelID(entity), at)
	} else {
		s, err = x.w.Latest(context.Background(), modelID(entity))
	}
	line := x.m.view(entity, engram.MaxTime, false, func(*engram.Snapshot) bool { return true })
	want := selectFrom(line, []engram.SnapshotSelector{engram.AtOrBefore(at)})
	code := engram.CodeOf(err)
	switch {
	case len(want) == 1 && err == nil && s.Number == want[0]:
	case len(want) == 0 && code == engram.NotFound:
	case code == engram.TooOld && x.anyEvicted():
	default:
		t.Fatalf("%s at or before %v: got %+v, %v, want update %v", entity, at, s, err, want)
	}
}

// stats compares what is held and counted.
func (x *machine) stats(t *rapid.T) {
	all, err := x.w.Stats(context.Background(), engram.Pattern{}, engram.LevelEntity)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range all {
		held := x.m.retained(st.ID.Entity())
		times := map[string]bool{}
		bytes := int64(0)
		for _, v := range held {
			times[fmt.Sprint(v.entity, v.snap.Time)] = true
			bytes += v.size
		}
		if st.Snapshots != uint64(len(times)) || st.Superseded != uint64(len(held)-len(times)) || st.Bytes != bytes || st.Instances != uint64(len(held)) {
			t.Fatalf("%v: %+v; held are %d versions of %d snapshots with %d bytes", st.ID, st, len(held), len(times), bytes)
		}
		if st.ID.Level() < engram.LevelEntity {
			evicted := len(x.m.stored) - len(x.m.retained(""))
			if len(x.m.stored) > 0 && (st.Committed != uint64(len(x.m.stored)) || st.Evicted != uint64(evicted)) {
				t.Fatalf("%v: %+v; %d were committed, %d evicted", st.ID, st, len(x.m.stored), evicted)
			}
		}
	}
}

// subscribe begins a subscription with the updates after some number.
func (x *machine) subscribe(t *rapid.T) {
	s := &modelStream{slow: engram.SlowPolicy(rapid.IntRange(0, 1).Draw(t, "policy"))}
	sub := engram.Subscription{
		Start: engram.Start{Kind: engram.StartNumber, Number: uint64(rapid.IntRange(0, len(x.m.stored)).Draw(t, "after")), Epoch: x.w.Epoch()},
		Queue: rapid.IntRange(1, 20).Draw(t, "queue"), Slow: s.slow, WithData: rapid.Bool().Draw(t, "data"),
	}
	if rapid.Bool().Draw(t, "one entity") {
		s.only = x.drawEntity()
		sub.Patterns = []engram.Pattern{engram.PatternOf(modelID(s.only))}
	}
	s.seen, s.began = sub.Start.Number, uint64(len(x.m.stored))
	var err error
	if s.UpdateStream, err = x.w.Subscribe(context.Background(), sub); err != nil {
		t.Fatal(err)
	}
	x.live = append(x.live, s)
}

// consume takes what a subscription has: each update follows the one before it,
// except for as many as are said to be dropped.
func (x *machine) consume(t *rapid.T) {
	if len(x.live) == 0 {
		t.Skip("there is no subscription yet")
	}
	s := rapid.SampledFrom(x.live).Draw(t, "stream")
	if !slices.ContainsFunc(x.m.stored, func(v *modelVersion) bool {
		return s.match(v.entity) && v.snap.Number > s.seen && (v.snap.Number > s.began || !v.evicted)
	}) {
		return // there is nothing to wait for
	}
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	updates, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range updates {
		v := x.m.stored[u.Number-1]
		if u.ID != modelID(v.entity).At(v.snap.Time) || u.Arrived != v.snap.Arrived || !s.match(v.entity) {
			t.Fatalf("update %+v is %+v", u, v)
		}
		if lost := x.m.updatesBetween(s.seen, u.Number, s.match); u.Dropped != lost || u.Number <= s.seen {
			t.Fatalf("update %d after %d says %d were dropped, not %d", u.Number, s.seen, u.Dropped, lost)
		}
		if u.Snapshot != nil && u.Snapshot.Number != u.Number {
			t.Fatalf("update %d has snapshot %d", u.Number, u.Snapshot.Number)
		}
		supersedes := slices.ContainsFunc(x.m.stored[:u.Number-1], func(o *modelVersion) bool {
			return o.entity == v.entity && o.snap.Time == v.snap.Time
		})
		if u.Supersedes && !supersedes {
			t.Fatalf("update %d says it supersedes", u.Number)
		}
		s.seen = u.Number
	}
}

// close closes a subscription.
func (x *machine) close(t *rapid.T) {
	if len(x.live) == 0 {
		t.Skip("there is no subscription yet")
	}
	i := rapid.IntRange(0, len(x.live)-1).Draw(t, "stream")
	x.live[i].Close()
	x.live = slices.Delete(x.live, i, i+1)
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"commit":    x.commit,
			"commit2":   x.commit,
			"query":     x.query,
			"query2":    x.query,
			"latest":    x.latest,
			"stats":     x.stats,
			"subscribe": x.subscribe,
			"consume":   x.consume,
			"close":     x.close,
		})
	})
}
