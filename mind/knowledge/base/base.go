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
	"time"

	"github.com/seed-301d4374/engram"
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
	svc    engram.Service
	codec  *record.Codec
	deeds  deeds
	robot  string
	world  *world.Memory // nil where there is none
	moves  world.Watcher // of the world; asked under reading
	stream news
	moved  news // of the world: only what came last
	cancel context.CancelFunc
	done   chan struct{}

	pulling sync.Mutex // held by who takes from stream
	behind  bool       // something of it was lost, or is to be forgotten; under pulling

	reading chan struct{} // has one of who brings the graph up to the present world
	last    world.Mark    // of what was written to it; under reading

	mu      sync.Mutex
	present state
	imports map[string]*record.Unfinished // by provider: what they have come to say so far
	view    *knowledge.View               // of the present; nil since a change
	most    int                           // more is said: what the memories have evicted is forgotten
	past    []*past                       // what was asked for last comes first
	ended   error
}

const knowledgeMemory = "Knowledge"

// news is a stream of a server in the same process: what was committed lies in it before who committed it is answered.
type news interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
}

func subscribe(ctx context.Context, svc engram.Service, sub engram.Subscription) (news, error) {
	s, err := svc.Subscribe(ctx, sub)
	if err != nil {
		return nil, err
	}
	n, ok := s.(news)
	if !ok {
		_ = s.Close() // the error that counts is this one
		return nil, engram.Errorf(engram.Unsupported, "", "knowledge is kept of a server in the same process only")
	}
	return n, nil
}

// Over returns the base of the memories of a server in the same process. It has all that was committed before the call.
// ctx bounds only the call; Close ends the base.
func Over(ctx context.Context, svc engram.Service) (*Base, error) {
	codec, err := record.NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	b := &Base{svc: svc, codec: codec, done: make(chan struct{}), reading: make(chan struct{}, 1), imports: map[string]*record.Unfinished{}}
	if b.deeds, err = newDeeds(ctx, svc); err != nil {
		return nil, err
	}
	if err = b.followWorld(ctx); err == nil {
		b.present = newState(b.robot)
		b.stream, err = subscribe(ctx, svc, engram.Subscription{Patterns: b.patterns(), WithData: true, Queue: mostNews, Source: engram.SourceNear})
	}
	if err == nil {
		err = b.reload(ctx)
	}
	if err != nil {
		b.closeWorld()
		if b.stream != nil {
			_ = b.stream.Close() // the error that counts is the first
		}
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go b.follow(background)
	return b, nil
}

// mostNews is how many updates wait to be taken.
const mostNews = 1 << 16

// followWorld follows the memory World, if there is one.
func (b *Base) followWorld(ctx context.Context) error {
	c, err := world.NewCodec(ctx, b.svc)
	if engram.CodeOf(err) == engram.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	// Before the world is followed, which then hears of all that this stream does.
	if b.moved, err = subscribe(ctx, b.svc, engram.Subscription{Patterns: c.Patterns(), Queue: 1, Source: engram.SourceNear}); err != nil {
		return err
	}
	if b.world, err = world.Over(ctx, b.svc, "knowledge", world.DefaultRules()); err != nil {
		b.world = nil
		return err
	}
	b.robot = b.world.Robot()
	b.moves, err = b.world.Watch(ctx)
	return err
}

// Done is closed when the base follows its memories no more.
func (b *Base) Done() <-chan struct{} { return b.done }

// Close ends the base: what is asked then fails with Canceled.
func (b *Base) Close() error {
	b.cancel()
	<-b.done
	b.closeWorld()
	return b.stream.Close()
}

func (b *Base) closeWorld() {
	if b.moves != nil {
		b.moves.Close()
	}
	if b.world != nil {
		_ = b.world.Close() // it is only read
	}
	if b.moved != nil {
		_ = b.moved.Close()
	}
}

// patterns match what is said beside the world.
func (b *Base) patterns() []engram.Pattern {
	return append(b.deeds.patterns(), engram.MustPattern(knowledgeMemory))
}

// query returns the snapshots of what is said beside the world, as of a belief. An import that has not come to its end says
// nothing yet; those are returned, too.
func (b *Base) query(ctx context.Context, s engram.SnapshotSelector, asOf *engram.Time) ([]engram.Item, map[string]*record.Unfinished, error) {
	q := engram.Query{AsOf: asOf}
	for _, p := range b.patterns() {
		q.Memories = append(q.Memories, p.Select(s).Memories...)
	}
	r, err := b.svc.Query(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	return record.Settle(ctx, b.svc, b.patterns(), s, asOf, r.Items())
}

// fewSaid are never too many entities to be kept that the memories may have evicted.
const fewSaid = 1 << 12

// reload reads what is said beside the world anew. What is not there any more is forgotten.
func (b *Base) reload(ctx context.Context) error {
	items, imports, err := b.query(ctx, engram.Latest(1), nil)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changedSince(engram.MinTime) // what came late was lost, too
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

// follow takes what is committed until the stream or ctx ends.
func (b *Base) follow(ctx context.Context) {
	defer close(b.done)
	for {
		err := b.pull(ctx)
		if err == nil {
			err = b.stream.Wait(ctx)
		}
		if err != nil {
			b.mu.Lock()
			b.ended = err
			b.mu.Unlock()
			return
		}
	}
}

// pull takes all that was committed before the call. What the queue lost is read anew.
func (b *Base) pull(ctx context.Context) error {
	b.pulling.Lock()
	defer b.pulling.Unlock()
	for taken := 0; taken <= mostNews; { // what waited at the beginning
		updates, err := b.stream.Poll()
		if err != nil {
			return err
		}
		if len(updates) == 0 {
			break
		}
		taken += len(updates)
		b.mu.Lock()
		for _, u := range updates {
			b.behind = b.behind || u.Dropped > 0 || u.Restarted
			if u.Snapshot != nil {
				b.hear(engram.Item{ID: u.ID, Snapshot: u.Snapshot})
			}
		}
		b.behind = b.behind || len(b.present.said) > b.most
		b.mu.Unlock()
	}
	if b.behind {
		if err := b.reload(ctx); err != nil {
			return err
		}
		b.behind = false
	}
	return nil
}

// View returns what is known at present: all that was committed before the call, with a world that has all that was
// written up to the marks, too. It does not change meanwhile. Its Past asks for earlier times.
func (b *Base) View(ctx context.Context, after ...world.Mark) (*knowledge.View, error) {
	if err := b.pull(ctx); err != nil {
		return nil, err
	}
	if b.world != nil {
		if err := b.catchUp(ctx, after); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return nil, b.ended
	}
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
	forest, err := b.presentWorld(ctx, after)
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
	return nil
}

// newsTimeout bounds how long the world is waited for to have what was written to it last: it never has that if it was
// removed meanwhile.
const newsTimeout = 10 * time.Second

// presentWorld returns a world that has all that was written before the call, and up to the marks.
func (b *Base) presentWorld(ctx context.Context, after []world.Mark) (*world.Forest, error) {
	updates, err := b.moved.Poll()
	if err != nil {
		return nil, err
	}
	for _, u := range updates {
		b.last = world.Mark{Epoch: b.moved.Epoch(), Number: u.Number}
	}
	patient, cancel := context.WithTimeout(ctx, newsTimeout)
	defer cancel()
	_, err = b.world.View(patient, b.last)
	switch {
	case err == nil:
	case patient.Err() == nil || ctx.Err() != nil: // who comes next waits for it still
		return nil, err
	default:
		b.last = world.Mark{}
	}
	return b.world.View(ctx, after...)
}
