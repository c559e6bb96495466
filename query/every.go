package query

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// maxBuckets bounds what an answer of aggregates holds: buckets times fields.
const maxBuckets = 1 << 17

// aggregate is an entity's buckets.
type aggregate struct {
	buckets map[engram.Time]*bucketOf // by when they begin
}

// bucketOf is a bucket of all fields.
type bucketOf struct {
	fields  []Bucket
	arrived engram.Time // the newest
	number  uint64      // of the newest
}

// aggregation answers a query with [engram.Query.Every].
type aggregation struct {
	every    time.Duration
	numbers  *Numbers
	entities map[engram.ID]*aggregate
	room     int // buckets times fields that are left
	missing  []engram.Missing
	copies   []engram.CopyUsed
}

// Aggregated answers a query with [engram.Query.Every] by what parts yields of it without that.
// part is nil, or gets the answer in parts. What is held is bounded by the answer; one that is
// too large is Exhausted.
func Aggregated(ctx context.Context, q engram.Query, types *idf.Registry, limits Limits, parts func(context.Context, engram.Query, func(*engram.Result) error) error, part func(*engram.Result) error) (*engram.Result, error) {
	if err := q.Check(limits.Nodes); err != nil {
		return nil, err
	}
	a := aggregation{every: q.Every, room: maxBuckets, entities: map[engram.ID]*aggregate{}}
	a.numbers = NewNumbers(func(_ context.Context, name string) (*idf.Type, error) {
		t, ok := types.Get(name)
		if !ok {
			return nil, engram.Errorf(engram.NotFound, name, "no such type is known here")
		}
		return t, nil
	}, q.Fields, 0)
	q.Every, q.Fields = 0, nil // numbers are read where they lie
	if err := parts(ctx, q, func(r *engram.Result) error { return a.add(ctx, r) }); err != nil {
		return nil, err
	}
	for i := range a.numbers.Paths {
		if err := a.numbers.Err(i); err != nil {
			return nil, err
		}
	}
	return a.answer(part)
}

func (a *aggregation) add(ctx context.Context, r *engram.Result) error {
	a.missing, a.copies = append(a.missing, r.Missing...), append(a.copies, r.Copies...)
	for it := range r.All() {
		if err := a.numbers.Read(ctx, it.Snapshot); err != nil {
			return engram.Errorf(engram.CodeOf(err), it.ID.String(), "%w", err)
		}
		id := it.ID.Truncate(engram.LevelEntity)
		of := a.entities[id]
		if of == nil {
			of = &aggregate{map[engram.Time]*bucketOf{}}
			a.entities[id] = of
		}
		at := beginOf(it.Snapshot.Time, a.every)
		b := of.buckets[at]
		if b == nil {
			if a.room -= len(a.numbers.Paths); a.room < 0 {
				return engram.Errorf(engram.Exhausted, "every", "%v makes more than %d aggregates; ask for a longer time, or for a part of the range", a.every, maxBuckets)
			}
			b = &bucketOf{fields: make([]Bucket, len(a.numbers.Paths))}
			of.buckets[at] = b
		}
		for i, v := range a.numbers.Values {
			b.fields[i].Add(it.Snapshot.Time, v)
		}
		b.arrived, b.number = max(b.arrived, it.Arrived), max(b.number, it.Number)
	}
	return nil
}

// beginOf returns when the bucket of a time begins: a multiple of every since 1970.
func beginOf(t engram.Time, every time.Duration) engram.Time {
	rest := int64(t) % int64(every)
	if rest < 0 {
		rest += int64(every)
	}
	if int64(t) < int64(engram.MinTime)+rest {
		return engram.MinTime
	}
	return t - engram.Time(rest)
}

// answer returns the buckets as snapshots, or yields them in parts.
func (a *aggregation) answer(part func(*engram.Result) error) (*engram.Result, error) {
	ids := make([]engram.ID, 0, len(a.entities))
	for id := range a.entities {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, engram.ID.Compare)
	var b builder
	var entered engram.ID
	for _, id := range ids {
		for l := engram.LevelMemory; l <= engram.LevelEntity; l++ {
			if id.Truncate(l) != entered.Truncate(l) || entered.Level() < l {
				b.enter(l, id.Truncate(l))
			}
		}
		entered = id
		of := a.entities[id]
		times := make([]engram.Time, 0, len(of.buckets))
		for t := range of.buckets {
			times = append(times, t)
		}
		slices.Sort(times)
		for _, t := range times {
			s, err := of.buckets[t].snapshot(t, a.numbers.Paths)
			if err != nil {
				return nil, err
			}
			if s == nil {
				continue
			}
			b.add([]*engram.Snapshot{s})
			if b.bytes += s.Size(); part != nil && (b.count >= partNodes || b.bytes >= partBytes) {
				if err := part(b.take()); err != nil {
					return nil, err
				}
			}
		}
	}
	r := b.take()
	r.Missing, r.Copies = append(r.Missing, a.missing...), append(r.Copies, a.copies...)
	if part != nil {
		return nil, part(r)
	}
	return r, nil
}

// snapshot returns a bucket as a snapshot; nil if no field has a value in it.
func (b *bucketOf) snapshot(t engram.Time, paths []string) (*engram.Snapshot, error) {
	fields := map[string]any{}
	for i := range b.fields {
		if f := &b.fields[i]; f.Count > 0 {
			fields[paths[i]] = map[string]any{
				"count": int64(f.Count), "min": f.Min, "max": f.Max, "mean": f.Mean(), "first": f.First, "last": f.Last,
			}
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	p, err := idf.ValuePayload(fields)
	if err != nil {
		return nil, err
	}
	return &engram.Snapshot{Time: t, Arrived: b.arrived, Number: b.number, Instances: []engram.Instance{engram.NewInstance(p)}}, nil
}
