package ltm_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/wm"
)

// model is a long-term memory that keeps everything, found without cleverness.
type model struct {
	t        *testing.T
	options  ltm.Options
	life     *life
	stream   engram.UpdateStream // tells what was stored
	clock    atomic.Int64
	entities []string
	versions map[string][]*engram.Snapshot // in the order of arrival
}

func (m *model) commit(t *rapid.T) { m.commitTo(t, m.entities) }

// overload commits more than may wait for the recorder, and than the working memory
// keeps, of what has to survive that.
func (m *model) overload(t *rapid.T) {
	if !m.life.Recorded(m.t.Context(), m.life.wm.Number()) {
		t.Fatal("the recorder does not come on")
	}
	release := m.life.HoldRecorder()
	for range modelQueue + 10 {
		m.commitTo(t, m.entities[1:])
	}
	release()
	if rapid.Bool().Draw(t, "seal at once") {
		m.seal(t)
	}
	if !m.life.Recorded(m.t.Context(), m.life.wm.Number()) {
		t.Fatal("what the log has is not recorded")
	}
}

// modelQueue is how many updates may wait for the recorder.
const modelQueue = 64

// forget forgets a span of an entity, or of several.
func (m *model) forget(t *rapid.T) {
	pattern := rapid.SampledFrom([]string{"Test/Volatile", "Test/*/p/cup", "Test/Synced/q/bowl"}).Draw(t, "pattern")
	f := ltm.Forgetting{Patterns: patterns(pattern), Why: "the model wants it"}
	f.Span.Start = engram.Time(rapid.IntRange(0, 30).Draw(t, "from"))
	f.Span.End = f.Span.Start + engram.Time(rapid.IntRange(1, 6).Draw(t, "length"))
	if _, err := m.life.Forget(m.t.Context(), f, nil); err != nil {
		t.Fatal(err)
	}
	matcher, err := f.Patterns[0].Matcher()
	if err != nil {
		t.Fatal(err)
	}
	for entity, versions := range m.versions {
		if matcher.Match(engram.MustID(entity)) {
			m.versions[entity] = slices.DeleteFunc(versions, func(s *engram.Snapshot) bool { return f.Span.Contains(s.Time) })
		}
	}
}

func (m *model) commitTo(t *rapid.T, entities []string) {
	u := engram.EntityUpdate{
		Entity: engram.MustID(rapid.SampledFrom(entities).Draw(t, "entity")),
		Time:   engram.Time(rapid.IntRange(0, 30).Draw(t, "time")),
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "instances") {
		var v any = float64(m.clock.Load()) + float64(i)/4
		if rapid.IntRange(0, 3).Draw(t, "a text") == 0 {
			v = fmt.Sprintf("%v %d", m.clock.Load(), i)
		}
		p, err := idf.ValuePayload(v)
		if err != nil {
			t.Fatal(err)
		}
		in := engram.NewInstance(p)
		in.Confidence = float32(rapid.IntRange(0, 4).Draw(t, "confidence")) / 4
		u.Instances = append(u.Instances, in)
	}
	results, err := m.life.wm.Commit(m.t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	batch, err := m.stream.Next(m.t.Context())
	if err != nil || len(batch) != 1 || batch[0].Number != results[0].Number {
		t.Fatal(batch, err)
	}
	// What is volatile may be lost when too much waits for the recorder.
	if u.Entity.CoreSegment() == "Volatile" && !m.life.Recorded(m.t.Context(), results[0].Number) {
		t.Fatal("the recorder does not come on")
	}
	stored := batch[0].Snapshot
	m.versions[u.Entity.String()] = append(m.versions[u.Entity.String()], stored)
}

func (m *model) restart(t *rapid.T) {
	m.life.end(m.t)
	m.begin(t)
}

func (m *model) begin(t *rapid.T) {
	m.life = beginWithin(m.t, m.options, wm.Limits{MaxQueue: modelQueue})
	var err error
	if m.stream, err = m.life.wm.Subscribe(m.t.Context(), engram.Subscription{WithData: true}); err != nil {
		t.Fatal(err)
	}
}

func (m *model) seal(t *rapid.T) {
	if err := m.life.Seal(m.t.Context(), "the model wants it"); err != nil {
		t.Fatal(err)
	}
}

// expected is what a query of one selector finds of an entity.
func (m *model) expected(entity string, asOf *engram.Time, confident bool, sel engram.SnapshotSelector) []*engram.Snapshot {
	current := map[engram.Time]*engram.Snapshot{}
	for _, s := range m.versions[entity] {
		if asOf == nil || s.Arrived <= *asOf {
			current[s.Time] = s
		}
	}
	var line []*engram.Snapshot
	for _, s := range current {
		if confident {
			kept := *s
			kept.Instances = slices.DeleteFunc(slices.Clone(s.Instances), func(i engram.Instance) bool { return i.Confidence < 0.5 })
			if s = &kept; len(kept.Instances) == 0 {
				continue
			}
		}
		line = append(line, s)
	}
	slices.SortFunc(line, func(a, b *engram.Snapshot) int { return cmp.Compare(a.Time, b.Time) })
	return ltm.SlowSelect(line, sel)
}

func (m *model) query(t *rapid.T) {
	entity := rapid.SampledFrom(m.entities).Draw(t, "entity")
	sel := ltm.DrawSelector(t, 30)
	q := engram.SelectID(engram.MustID(entity), sel)
	q.Target = rapid.SampledFrom([]engram.Target{engram.TargetBoth, engram.TargetLTM}).Draw(t, "target")
	if rapid.IntRange(0, 3).Draw(t, "as of") == 0 {
		at := engram.Time(rapid.IntRange(1000, int(m.clock.Load())).Draw(t, "arrival"))
		q.AsOf = &at
	}
	confident := rapid.IntRange(0, 3).Draw(t, "where") == 0
	if confident {
		q.Where = "confidence >= 0.5"
	}
	q.WithoutPayload = rapid.Bool().Draw(t, "without payload")
	r, err := m.life.Query(m.t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := m.expected(entity, q.AsOf, confident, sel)
	items := r.Items()
	for _, missing := range r.Missing {
		if missing.Reason != engram.MissingForgotten {
			t.Errorf("%+v: missing %+v", q, missing)
		}
	}
	m.numbers(t, q, want)
	if len(items) != len(want) {
		t.Fatalf("%+v of %s: %d snapshots, want %d", q, entity, len(items), len(want))
	}
	for i, item := range items {
		if item.Time != want[i].Time || item.Arrived != want[i].Arrived || len(item.Instances) != len(want[i].Instances) {
			t.Fatalf("%+v of %s: the %d-th is of time %d, arrived %d; want %d, %d", q, entity, i, item.Time, item.Arrived, want[i].Time, want[i].Arrived)
		}
		for k, in := range item.Instances {
			w := want[i].Instances[k]
			if in.Confidence != w.Confidence || in.Sent != w.Sent || !q.WithoutPayload && string(in.Payload.Bytes) != string(w.Payload.Bytes) {
				t.Fatalf("%+v of %s: the %d-th has %+v; want %+v", q, entity, i, in, w)
			}
		}
	}
}

// numbers compares what is read of numbers with those of what a query finds.
func (m *model) numbers(t *rapid.T, q engram.Query, want []*engram.Snapshot) {
	rows, err := idf.NewNumberRows(m.life.Types(), []string{"", "[1]"}, rapid.IntRange(0, 1).Draw(t, "instance"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got, expected []string
	say := func(at engram.Time, row []float64) string { return fmt.Sprint(at, row) }
	q.WithoutPayload = false
	q.Numbers = &engram.Numbers{Paths: []string{"", "[1]"}, Instance: rows.Instance(), Take: func(at engram.Time, row []float64) error {
		got = append(got, say(at, row))
		return nil
	}}
	err = m.life.QueryParts(m.t.Context(), q, func(r *engram.Result) error {
		if items := r.Items(); len(items) > 0 {
			t.Fatalf("%d snapshots beside numbers", len(items))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, rows.Len())
	for _, s := range want {
		if err := rows.Read(s, row); err != nil {
			t.Fatal(err)
		}
		expected = append(expected, say(s.Time, row))
	}
	if !slices.Equal(got, expected) {
		t.Fatalf("%+v: numbers %v, want %v", q, got, expected)
	}
}

// latest compares the short way with the model.
func (m *model) latest(t *rapid.T) {
	entity := rapid.SampledFrom(m.entities).Draw(t, "entity")
	at := engram.Time(rapid.IntRange(-1, 31).Draw(t, "at"))
	want := m.expected(entity, nil, false, engram.AtOrBefore(at))
	got, err := m.life.AtOrBefore(m.t.Context(), engram.MustID(entity), at)
	switch {
	case len(want) == 0 && engram.CodeOf(err) != engram.NotFound && engram.CodeOf(err) != engram.TooOld: // forgotten
		t.Fatalf("%s at or before %d: %v, %v; want NotFound", entity, at, got, err)
	case len(want) > 0 && (err != nil || got.Time != want[0].Time || got.Arrived != want[0].Arrived):
		t.Fatalf("%s at or before %d: %v, %v; want %v", entity, at, got, err, want[0])
	}
}

// wide compares the names and counts that a query of everything finds.
func (m *model) wide(t *rapid.T) {
	q := engram.MustPattern("Test/*/~[pq]").Select(engram.All())
	r, err := m.life.Query(m.t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for item := range r.All() {
		got[item.ID.Truncate(engram.LevelEntity).String()]++
	}
	for _, entity := range m.entities {
		if want := len(m.expected(entity, nil, false, engram.All())); got[entity] != want {
			t.Fatalf("%s has %d snapshots in a query of everything; want %d", entity, got[entity], want)
		}
	}
}

// Whatever is committed, sealed, forgotten and restarted in whatever order, also when the
// recorder cannot keep up, queries of every kind
// over the disk, and over both memories, find what was committed: the working memory
// keeps three snapshots of each entity, and the rest comes from disk.
func TestStoreIsAModel(t *testing.T) {
	fast := fastDir(t)
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(fast, "life")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{
			t: t, versions: map[string][]*engram.Snapshot{},
			entities: []string{"Test/Volatile/p/cup", "Test/Logged/p/cup", "Test/Synced/q/bowl"},
		}
		m.clock.Store(1000)
		m.options = ltm.Options{Dir: dir, Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Logged"): {Codec: "columns"}}, Now: func() engram.Time { return engram.Time(m.clock.Add(1)) }}
		m.begin(r)
		defer func() { m.life.end(t) }()
		r.Repeat(map[string]func(*rapid.T){
			"commit": m.commit, "commit again": m.commit, "commit once more": m.commit,
			"query": m.query, "query again": m.query, "latest": m.latest, "wide": m.wide,
			"seal": m.seal, "restart": m.restart, "forget": m.forget, "overload": m.overload,
		})
	})
}
