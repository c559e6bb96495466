// Package base keeps what the memories of a server know as one graph: what providers say in the
// memory Knowledge, and the world, each item under its IRI. It follows what is committed, gives
// the graph as it was at a time, as of a belief, and answers questions of it.
//
// A [Base] is a view that can be thrown away: nothing is stored in it that does not lie in the
// memories. [Local] keeps one for each set of rights that somebody asks with, so that a question
// sees nothing of what its caller may not read.
package base

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/knowledge/swrl"
	"github.com/seed-301d4374/engram/mind/world"
)

// Base is a graph that follows the memories of a server. All methods are safe for
// concurrent use.
type Base struct {
	svc   engram.Service
	codec *record.Codec
	deeds deeds
	robot string
	world *world.Memory // nil where there is none
	moves world.Watcher // of the world; asked under reading

	follower *follow.Follower // of what is said beside the world
	most     int              // more is said: what the memories have evicted is forgotten; the follower's

	reading chan struct{} // has one of who brings the graph up to the present world

	mu      sync.Mutex
	present state
	imports map[string]*record.Unfinished // by provider: what they have come to say so far
	view    *knowledge.View               // of the present; nil since a change
	past    []*past                       // what was asked for last comes first
}

const knowledgeMemory = "Knowledge"

// Over returns the base of the memories of a server in the same process. It has all that was committed before the call.
// ctx bounds only the call; Close ends the base.
func Over(ctx context.Context, svc engram.Service) (*Base, error) {
	codec, err := record.NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	b := &Base{svc: svc, codec: codec, reading: make(chan struct{}, 1), imports: map[string]*record.Unfinished{}}
	if b.deeds, err = newDeeds(ctx, svc); err != nil {
		return nil, err
	}
	b.follower = follow.New(svc, said{b}, follow.Options{Patterns: b.patterns(), Source: engram.SourceNear, Local: true})
	if err = b.followWorld(ctx); err == nil {
		b.present = newState(b.robot)
		err = b.follower.Open(ctx)
	}
	if err != nil {
		_ = b.Close() // the error that counts is this one
		return nil, err
	}
	b.follower.Start()
	return b, nil
}

// followWorld follows the memory World, if there is one.
func (b *Base) followWorld(ctx context.Context) error {
	w, err := world.Over(ctx, b.svc, "knowledge", world.DefaultRules())
	if engram.CodeOf(err) == engram.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	b.world = w
	b.robot = b.world.Robot()
	b.moves, err = b.world.Watch(ctx)
	return err
}

// Done is closed when the base follows its memories no more.
func (b *Base) Done() <-chan struct{} { return b.follower.Done() }

// Close ends the base: what is asked then fails with Canceled.
func (b *Base) Close() error {
	if b.moves != nil {
		b.moves.Close()
	}
	if b.world != nil {
		_ = b.world.Close() // it is only read
	}
	return b.follower.Close()
}

// patterns match what is said beside the world.
func (b *Base) patterns() []engram.Pattern {
	return append(b.deeds.patterns(), engram.MustPattern(knowledgeMemory))
}

// query returns the snapshots of what is said beside the world, as of a belief. An import that has not come to its end says
// nothing yet; those are returned, too.
func (b *Base) query(ctx context.Context, s engram.SnapshotSelector, asOf *engram.Time) ([]engram.Item, map[string]*record.Unfinished, error) {
	r, err := b.svc.Query(ctx, b.selected(s, asOf))
	if err != nil {
		return nil, nil, err
	}
	return record.Settle(ctx, b.svc, b.patterns(), s, asOf, r.Items())
}

func (b *Base) selected(s engram.SnapshotSelector, asOf *engram.Time) engram.Query {
	q := engram.Query{AsOf: asOf}
	for _, p := range b.patterns() {
		q.Memories = append(q.Memories, p.Select(s).Memories...)
	}
	return q
}

// fewSaid are never too many entities to be kept that the memories may have evicted.
const fewSaid = 1 << 12

// said is the base as what follows what is said beside the world keeps it.
type said struct{ *Base }

// Apply implements [follow.View].
func (b said) Apply(_ uint64, updates []engram.Update) (anew []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range updates {
		if u := &updates[i]; u.Snapshot != nil {
			b.hear(engram.Item{ID: u.ID, Snapshot: u.Snapshot})
		}
	}
	if len(b.present.said) > b.most {
		anew = b.memories()
	}
	return anew, nil
}

// memories returns the names of those that are read beside the world.
func (b *Base) memories() (names []string) {
	for _, p := range b.patterns() {
		names = append(names, p.Levels[0].String())
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// Query implements [follow.Reader]: all is read, which is little.
func (b said) Query([]string) engram.Query { return b.selected(engram.Latest(1), nil) }

// Reset implements [follow.Reader]. What is not there any more is forgotten.
func (b said) Reset(ctx context.Context, a follow.Answer) error {
	items, imports, err := record.Settle(ctx, b.svc, b.patterns(), engram.Latest(1), nil, a.Items())
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changedSince(engram.MinTime) // what came late was lost, too
	if len(a.Whole) > 0 {
		b.unsaid()
	}
	clear(b.imports)
	maps.Copy(b.imports, imports)
	kept := map[engram.ID]bool{}
	for _, it := range items {
		kept[it.ID.Truncate(engram.LevelEntity)] = true
		b.take(it)
	}
	for entity := range b.present.said {
		if !kept[entity] {
			b.say(&b.present, entity, nil)
			b.view = nil
		}
	}
	b.most = max(2*len(b.present.said), fewSaid)
	return nil
}

// hear takes what was committed. What an import says it takes when the import has come to its end. The lock is held.
func (b *Base) hear(it engram.Item) {
	entity := it.ID.Truncate(engram.LevelEntity)
	provider := entity.ProviderSegment()
	u := b.imports[provider]
	switch {
	case entity.Memory() == knowledgeMemory && record.Begins(it.Snapshot):
		b.imports[provider] = u.Begin(entity, it.Snapshot)
	case entity.Memory() != knowledgeMemory || u == nil:
		b.take(it)
	case u.Say(it):
		delete(b.imports, provider)
		for _, said := range u.Said {
			b.take(said)
		}
	}
}

// take takes a snapshot, unless a newer one of its entity is there. The lock is held.
func (b *Base) take(it engram.Item) {
	b.changedSince(it.Snapshot.Time) // that something newer is said already does not change what was so then
	entity := it.ID.Truncate(engram.LevelEntity)
	if newer(it.Snapshot, b.present.said[entity]) {
		b.say(&b.present, entity, it.Snapshot)
		b.view = nil
	}
}

// changedSince says that what was known differs from a time on. The lock is held.
func (b *Base) changedSince(from engram.Time) {
	for _, p := range b.past {
		if from <= p.at && p.open {
			p.stale = true
		}
	}
}

// unsaid says that what was known earlier may be known no more. The lock is held.
func (b *Base) unsaid() {
	for _, p := range b.past {
		p.stale = true
	}
}

// View returns what is known at present: all that was committed before the call, with a world that has all that was
// written up to the marks, too. It does not change meanwhile. Its Past asks for earlier times.
func (b *Base) View(ctx context.Context, after ...world.Mark) (*knowledge.View, error) {
	if err := b.follower.Pull(ctx); err != nil {
		return nil, err
	}
	if b.world != nil {
		if err := b.catchUp(ctx, after); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.view == nil {
		v, err := b.viewOf(ctx, &b.present, 0, engram.MaxTime)
		if err != nil {
			return nil, err
		}
		b.view = v
	}
	return b.view, nil
}

// viewOf returns the view of a state, which is forked, with what rules of SWRL conclude.
func (b *Base) viewOf(ctx context.Context, s *state, at, asOf engram.Time) (*knowledge.View, error) {
	v := &knowledge.View{Graph: s.graph.Fork(), Prefixes: knowledge.NewPrefixes(slices.Collect(maps.Values(s.prefixes))...), At: at}
	if rules, _ := swrl.Rules(v.Graph); len(rules) > 0 { // those that are not supported were told at their import
		if _, err := swrl.Infer(ctx, v.Graph, rules); err != nil {
			return nil, err
		}
	}
	v.Computed = computed.Over(s.scene, v)
	held := *s
	held.graph = v.Graph
	v.Links = func(t rdf.Triple) []engram.ID {
		b.mu.Lock() // what is said at present changes
		defer b.mu.Unlock()
		return b.links(&held, t)
	}
	v.Past = func(ctx context.Context, at engram.Time) (*knowledge.View, error) { return b.Past(ctx, at, asOf) }
	return v, nil
}

// catchUp brings the graph up to the present world.
func (b *Base) catchUp(ctx context.Context, after []world.Mark) error {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the question was given up before the world was there: %w", ctx.Err())
	}
	forest, err := b.world.View(ctx, after...)
	if err != nil {
		return err
	}
	now, cancel := context.WithCancel(ctx)
	cancel() // what there is, without waiting
	change, err := b.moves.Next(now)
	if err == nil {
		forest = change.Forest
	}
	var names []string
	since := engram.MinTime
	switch { // what is present changes under reading only
	case b.present.forest == nil:
		names = namesIn(forest)
	case err != nil:
		return ctx.Err()
	default:
		since = engram.MaxTime
		for _, name := range change.Names {
			since = min(since, change.Since(name))
		}
		names = affected(b.present.forest, forest, change.Names)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(&b.present, forest, names)
	b.view = nil
	b.changedSince(since)
	if change.Unsaid {
		b.unsaid()
	}
	return nil
}
