package access

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// bare is a working memory as a server.
type bare struct {
	*wm.WM
	names []string
}

func (b bare) CommitStream(context.Context) (engram.CommitStream, error) {
	return nil, errors.New("not here")
}
func (b bare) Predict(context.Context, []engram.ID) ([]engram.Prediction, error) {
	return nil, errors.New("not here")
}
func (b bare) MemoriesFor(context.Context) []string { return b.names }

// world is a memory with all content, and the one that holds only the readable part
// of it.
type world struct {
	t         *rapid.T
	now       engram.Time
	all, part bare
	guard     *Guard
	rules     []Rule
	who       Identity
	has       map[engram.ID]bool // of part
}

// said says, by the words of the rules alone, whether an identity may read an entity
// (or all below a node).
func said(rules []Rule, who Identity, id engram.ID) bool {
	allowed := false
	for _, r := range rules {
		if r.Actions&Read == 0 || !slices.ContainsFunc(r.To, func(to string) bool { return to == "*" || to == string(who) }) {
			continue
		}
		for _, p := range r.On {
			text := p.String()
			for strings.HasSuffix(text, "/*") {
				text = strings.TrimSuffix(text, "/*")
			}
			p = engram.MustPattern(text)
			if text == "*" {
				p = engram.Pattern{}
			}
			m, err := p.Matcher()
			if err != nil {
				panic(err)
			}
			if r.Deny {
				// Whatever of it may lie at or below id.
				above := p
				above.Levels = above.Levels[:min(len(p.Levels), int(id.Level()))]
				if am, _ := above.Matcher(); am.Match(id) {
					return false
				}
			} else if m.Match(id) {
				allowed = true
			}
		}
	}
	return allowed
}

var (
	worldMemories  = []string{"A", "B"}
	worldSegments  = []string{"X", "Y"}
	worldProviders = []string{"p", "q"}
	worldEntities  = []string{"e", "f", "g h"}
)

func drawPattern(t *rapid.T, label string) engram.Pattern {
	var p engram.Pattern
	levels := [][]string{worldMemories, worldSegments, worldProviders, worldEntities}
	for i := range rapid.IntRange(0, 4).Draw(t, label+" levels") {
		names := levels[i]
		switch rapid.IntRange(0, 9).Draw(t, label+" kind") {
		case 0, 1:
			p.Levels = append(p.Levels, engram.AllNames())
		case 2:
			p.Levels = append(p.Levels, engram.MatchRegex("["+names[0]+"-"+names[1]+"]"))
		default:
			p.Levels = append(p.Levels, engram.OneOf(rapid.SampledFrom(names).Draw(t, label+" name")))
		}
	}
	return p
}

func drawRules(t *rapid.T) []Rule {
	var rules []Rule
	for range rapid.IntRange(1, 6).Draw(t, "rules") {
		on := drawPattern(t, "rule")
		if len(on.Levels) == 0 {
			on = engram.MustPattern("*")
		}
		rules = append(rules, Rule{
			Deny: rapid.IntRange(0, 3).Draw(t, "deny") == 0, Actions: Read | Subscribe,
			To: []string{rapid.SampledFrom([]string{"*", "alice", "bob"}).Draw(t, "to")}, On: []engram.Pattern{on},
		})
	}
	return rules
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: 1000, rules: drawRules(t), who: "alice", has: map[engram.ID]bool{}}
	now := func() engram.Time { return w.now }
	// Some answers are too large: whether they are, what may not be read does not decide.
	limits := wm.Limits{MaxResults: rapid.SampledFrom([]int{0, 3, 10}).Draw(t, "max results")}
	w.all, w.part = bare{WM: wm.New(wm.Config{Now: now, Limits: limits})}, bare{WM: wm.New(wm.Config{Now: now, Limits: limits})}
	c := New(Options{})
	if err := c.Set(Policy{Rules: w.rules}); err != nil {
		t.Fatal(err)
	}
	for _, m := range worldMemories {
		if err := w.all.AddMemory(m, engram.Bounds{}); err != nil {
			t.Fatal(err)
		}
		w.all.names = append(w.all.names, m)
		if id := engram.MustID(m); said(w.rules, w.who, id) {
			w.ensure(id)
		}
		for _, s := range worldSegments {
			id := engram.MustID(m + "/" + s)
			w.define(w.all, id)
			if said(w.rules, w.who, id) {
				w.ensure(id)
			}
			for _, p := range worldProviders {
				if rapid.IntRange(0, 4).Draw(t, "added") == 0 {
					id := engram.MustID(m + "/" + s + "/" + p)
					w.define(w.all, id)
					if said(w.rules, w.who, id) {
						w.ensure(id)
					}
				}
			}
		}
	}
	w.guard = NewGuard(w.all, c)
	return w
}

func (w *world) define(b bare, id engram.ID) {
	var err error
	switch id.Level() {
	case engram.LevelMemory:
		err = b.AddMemory(id.Memory(), engram.Bounds{})
	case engram.LevelCoreSegment:
		err = b.AddCoreSegment(context.Background(), engram.CoreSegment{ID: id, History: engram.Bounds{MaxCount: 3}})
	case engram.LevelProviderSegment:
		err = b.AddProviderSegment(context.Background(), engram.ProviderSegment{ID: id})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// ensure defines a node, and those above it, in the readable part.
func (w *world) ensure(id engram.ID) {
	for l := engram.LevelMemory; l <= min(id.Level(), engram.LevelProviderSegment); l++ {
		if up := id.Truncate(l); !w.has[up] {
			w.has[up] = true
			w.define(w.part, up)
		}
	}
}

func (w *world) commit() {
	w.now++
	id, err := engram.NewID(rapid.SampledFrom(worldMemories).Draw(w.t, "m"), rapid.SampledFrom(worldSegments).Draw(w.t, "s"),
		rapid.SampledFrom(worldProviders).Draw(w.t, "p"), rapid.SampledFrom(worldEntities).Draw(w.t, "e"))
	if err != nil {
		w.t.Fatal(err)
	}
	u := engram.EntityUpdate{Entity: id, Time: engram.Time(rapid.IntRange(1, 9).Draw(w.t, "time")),
		Instances: []engram.Instance{engram.NewInstance(w.payload(id)), engram.NewInstance(w.payload(id))}}
	into := []bare{w.all}
	if said(w.rules, w.who, id) {
		w.ensure(id)
		into = append(into, w.part)
	} else if up := id.Truncate(engram.LevelProviderSegment); said(w.rules, w.who, up) {
		w.t.Fatalf("%v may be read and not %v in it", up, id)
	}
	for _, b := range into {
		r, err := b.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{u}})
		if err == nil {
			err = engram.FirstError(r)
		}
		if engram.CodeOf(err) == engram.TooOld { // by the segment's bounds: in both, or in neither
			err = nil
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// payload returns something to guess: each segment has members of its own, too.
func (w *world) payload(id engram.ID) engram.Payload {
	v := map[string]any{"n": int64(rapid.IntRange(0, 3).Draw(w.t, "n")), id.Memory() + id.CoreSegment(): true}
	if rapid.Bool().Draw(w.t, "linked") {
		v["to"] = rapid.SampledFrom(worldMemories).Draw(w.t, "to") + "/X/p/e"
	}
	return testkit.Value(w.t, v)
}

// guesses are filters by which one might find out what may not be read: by what they
// match, by what fails, and by what they are refused for.
var guesses = []string{
	"", "", "n == 1", "n > 1", "has(payload.AX)", "payload.BY == true", "to.startsWith('B/X')", "size(to) > 3", "n / (n - 1) > 0",
	"payload.exists(k, k == 'BX')", "confidence > 0.5", "type != ''", "arrived > timestamp('1970-01-01T00:00:00Z')", "nobody.has.this", "n +", "to.matches('(')",
}

// same compares what the guard shows with what the readable part is.
func (w *world) same(what string, got, want any, gotErr, wantErr error) {
	w.t.Helper()
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || engram.CodeOf(gotErr) != engram.CodeOf(wantErr) {
		w.t.Fatalf("%s: error %v, want %v; rules %v", what, gotErr, wantErr, w.rules)
	}
	empty := func(v any) bool { r := reflect.ValueOf(v); return r.Kind() == reflect.Slice && r.Len() == 0 }
	if gotErr == nil && !reflect.DeepEqual(got, want) && !(empty(got) && empty(want)) {
		w.t.Fatalf("%s:\n got %s\nwant %s\nrules %v", what, show(got), show(want), w.rules)
	}
}

func show(v any) string {
	if r, ok := v.(*engram.Result); ok {
		var out []string
		for _, it := range r.Items() {
			out = append(out, it.ID.String())
		}
		return fmt.Sprintf("%v names %v missing %v", out, namesIn(r.Memories), r.Missing)
	}
	return fmt.Sprintf("%+v", v)
}

// withoutRefusalsInPart takes out the refusals of what may be read in part: they are counted
// by segment, and not by entity.
func (w *world) withoutRefusalsInPart(ctx context.Context, lists ...[]engram.Stats) {
	seen := scope{w.guard.grant(ctx), Read}
	for _, list := range lists {
		for i := range list {
			if seen.Visibility(list[i].ID) == engram.Partial {
				list[i].Refused = 0
			}
		}
	}
}

func namesIn(nodes []*engram.ResultNode) (out []string) {
	for _, n := range nodes {
		out = append(out, fmt.Sprint(n.Name, namesIn(n.Children)))
	}
	return out
}

// unnumbered takes out the numbers of updates, which belong to the whole server.
func unnumbered(r *engram.Result) *engram.Result {
	if r == nil {
		return nil
	}
	var walk func(nodes []*engram.ResultNode)
	walk = func(nodes []*engram.ResultNode) {
		for _, n := range nodes {
			for i, s := range n.Snapshots {
				own := *s
				own.Number = 0
				n.Snapshots[i] = &own
			}
			walk(n.Children)
		}
	}
	walk(r.Memories)
	return r
}

// numbers returns which numbers a query takes out of snapshots, and of which types these are.
func (w *world) numbers(ctx context.Context, from engram.PartReader, q engram.Query) (got []string, err error) {
	q.Fields = nil
	q.Numbers = &engram.Numbers{Paths: []string{"n"}, Instance: 1,
		Take: func(at engram.Time, row []float64) error {
			got = append(got, fmt.Sprint(int64(at), row))
			return nil
		},
		Met: func(typ string) { got = append(got, typ) },
	}
	return got, from.QueryParts(ctx, q, func(*engram.Result) error { return nil })
}

// Whatever the rules, what is seen through the guard is what a memory holds that has
// only the readable part: names, snapshots, what is missing, statistics, descriptions,
// updates, errors.
func TestGuardShowsOnlyTheReadablePart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		ctx := WithIdentity(context.Background(), w.who)
		for range rapid.IntRange(0, 30).Draw(t, "commits") {
			w.commit()
		}
		for range 4 {
			p := drawPattern(t, "asked")
			q := p.Select(rapid.SampledFrom([]engram.SnapshotSelector{engram.All(), engram.Latest(2), engram.At(3), engram.AtOrBefore(5), engram.Indices(0, 0)}).Draw(t, "selector"))
			if depth := rapid.IntRange(0, 4).Draw(t, "bare"); depth > 0 { // the names alone, at one level
				nodes := &q.Memories
				for range depth - 1 {
					nodes = &(*nodes)[0].Children
				}
				(*nodes)[0].Children, (*nodes)[0].Snapshots = nil, nil
			}
			q.Where = rapid.SampledFrom(guesses).Draw(t, "where")
			if rapid.IntRange(0, 3).Draw(t, "fields") == 0 {
				q.Fields = []string{rapid.SampledFrom([]string{"n", "AX", "to", "nobody"}).Draw(t, "field")}
			}
			if rapid.IntRange(0, 3).Draw(t, "as of") == 0 {
				asOf := 1000 + engram.Time(rapid.IntRange(0, 30).Draw(t, "known then"))
				q.AsOf = &asOf
			}
			got, gotErr := w.guard.Query(ctx, q)
			want, wantErr := w.part.Query(ctx, q)
			w.same(fmt.Sprintf("query %v where %q", p, q.Where), unnumbered(got), unnumbered(want), gotErr, wantErr)
			gotNumbers, gotErr := w.numbers(ctx, w.guard, q)
			wantNumbers, wantErr := w.numbers(ctx, w.part, q)
			w.same(fmt.Sprintf("numbers of %v where %q", p, q.Where), gotNumbers, wantNumbers, gotErr, wantErr)

			depth := rapid.SampledFrom([]engram.Level{engram.LevelMemory, engram.LevelCoreSegment, engram.LevelProviderSegment, engram.LevelEntity}).Draw(t, "depth")
			gotStats, gotErr := w.guard.Stats(ctx, p, depth)
			wantStats, wantErr := w.part.Stats(ctx, p, depth)
			w.withoutRefusalsInPart(ctx, gotStats, wantStats)
			w.same(fmt.Sprintf("stats %v down to %v", p, depth), gotStats, wantStats, gotErr, wantErr)

			gotTold, gotErr := w.guard.Describe(ctx, p)
			wantTold, wantErr := w.part.Describe(ctx, p)
			w.same("describe "+p.String(), gotTold, wantTold, gotErr, wantErr)

			gotNews, gotErr := w.told(ctx, w.guard, p, q.Where)
			wantNews, wantErr := w.told(ctx, w.part, p, q.Where)
			w.same(fmt.Sprintf("subscribe to %v where %q", p, q.Where), gotNews, wantNews, gotErr, wantErr)
		}
		for range 3 {
			id, _ := engram.NewID(rapid.SampledFrom(append(worldMemories, "no")).Draw(t, "m"), rapid.SampledFrom(append(worldSegments, "no")).Draw(t, "s"),
				rapid.SampledFrom(append(worldProviders, "no")).Draw(t, "p"), rapid.SampledFrom(append(worldEntities, "no")).Draw(t, "e"))
			got, gotErr := w.guard.Latest(ctx, id)
			want, wantErr := w.part.Latest(ctx, id)
			w.same("latest "+id.String(), once(got), once(want), gotErr, wantErr)
			at := engram.Time(rapid.IntRange(0, 9).Draw(t, "at"))
			got, gotErr = w.guard.AtOrBefore(ctx, id, at)
			want, wantErr = w.part.AtOrBefore(ctx, id, at)
			w.same(fmt.Sprint("at or before ", at, id), once(got), once(want), gotErr, wantErr)
		}
		var known []string
		for _, m := range worldMemories {
			if w.guard.grant(ctx).knowsMemory(m) {
				known = append(known, m)
			}
		}
		if got := w.guard.MemoriesFor(ctx); !slices.Equal(got, known) {
			t.Fatalf("memories %v, want %v", got, known)
		}
	})
}

func once(s *engram.Snapshot) *engram.Snapshot {
	if s == nil {
		return nil
	}
	own := *s
	own.Number = 0
	return &own
}

// told returns what a subscription from the beginning delivers of what is there.
func (w *world) told(ctx context.Context, svc engram.Subscriber, p engram.Pattern, where string) ([]string, error) {
	s, err := svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{p}, Start: engram.Start{Kind: engram.StartNumber}, WithData: true, Where: where})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out []string
	for {
		batch, err := s.(attended).Poll()
		if err != nil {
			w.t.Fatal(err)
		}
		if len(batch) == 0 {
			return out, nil
		}
		for _, u := range batch {
			out = append(out, fmt.Sprint(u.ID, u.Arrived, u.Supersedes, u.Dropped, u.Snapshot.Time))
		}
	}
}
