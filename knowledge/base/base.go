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
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/computed"
	"github.com/seed-301d4374/engram/knowledge/rdf"
	"github.com/seed-301d4374/engram/knowledge/record"
	"github.com/seed-301d4374/engram/knowledge/swrl"
	"github.com/seed-301d4374/engram/world"
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
	stream engram.UpdateStream
	cancel context.CancelFunc
	done   chan struct{}

	reading sync.Mutex // held by who brings the graph up to the present world
	mu      sync.Mutex
	present state
	view    *knowledge.View // of the present; nil since a change
	most    int             // more is said: what the memories have evicted is forgotten
	past    []*past         // what was asked for last comes first
	ended   error
}

const knowledgeMemory = "Knowledge"

// Over returns the base of a server's memories. It has all that was committed before the call.
// ctx bounds only the call; Close ends the base.
func Over(ctx context.Context, svc engram.Service) (*Base, error) {
	ctx = engram.WithAsker(ctx, engram.Nobody) // it follows all, whatever is asked
	codec, err := record.NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	b := &Base{svc: svc, codec: codec, done: make(chan struct{})}
	if b.deeds, err = newDeeds(ctx, svc); err != nil {
		return nil, err
	}
	switch b.world, err = world.Over(ctx, svc, "knowledge", world.DefaultRules()); {
	case engram.CodeOf(err) == engram.NotFound: // there is no memory World
		b.world, err = nil, nil
	case err != nil:
		return nil, err
	}
	if b.world != nil {
		b.robot = b.world.Robot()
		b.moves, err = b.world.Watch(ctx)
	}
	b.present = newState(b.robot)
	if err == nil {
		b.stream, err = svc.Subscribe(ctx, engram.Subscription{
			Patterns: b.patterns(), WithData: true, Queue: 1 << 16, Source: engram.SourceNear,
		})
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
	background, cancel := context.WithCancel(engram.WithAsker(context.Background(), engram.Nobody))
	b.cancel = cancel
	go b.follow(background)
	return b, nil
}

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
}

// patterns match what is said beside the world.
func (b *Base) patterns() []engram.Pattern {
	return append(b.deeds.patterns(), engram.MustPattern(knowledgeMemory))
}

// query selects snapshots of what is said beside the world.
func (b *Base) query(s engram.SnapshotSelector) (q engram.Query) {
	for _, p := range b.patterns() {
		q.Memories = append(q.Memories, p.Select(s).Memories...)
	}
	return q
}

// fewSaid are never too many entities to be kept that the memories may have evicted.
const fewSaid = 1 << 12

// reload reads what is said beside the world anew. What is not there any more is forgotten.
func (b *Base) reload(ctx context.Context) error {
	r, err := b.svc.Query(ctx, b.query(engram.Latest(1)))
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changedSince(engram.MinTime) // what came late was lost, too
	kept := map[engram.ID]bool{}
	for it := range r.All() {
		kept[it.ID.Truncate(engram.LevelEntity)] = true
		b.hear(it.ID, it.Snapshot)
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

// hear takes a snapshot, unless a newer one of its entity is there. The lock is held.
func (b *Base) hear(id engram.ID, s *engram.Snapshot) {
	b.changedSince(s.Time) // that something newer is said already does not change what was so then
	entity := id.Truncate(engram.LevelEntity)
	if newer(s, b.present.said[entity]) {
		b.say(&b.present, entity, s)
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

// follow takes what is committed until the stream or ctx ends. What the queue lost is read anew.
func (b *Base) follow(ctx context.Context) {
	defer close(b.done)
	for {
		updates, err := b.stream.Next(ctx)
		anew := false
		b.mu.Lock()
		for _, u := range updates {
			anew = anew || u.Dropped > 0 || u.Restarted
			if u.Snapshot != nil {
				b.hear(u.ID, u.Snapshot)
			}
		}
		anew = anew || len(b.present.said) > b.most
		b.mu.Unlock()
		if err == nil && anew {
			err = b.reload(ctx)
		}
		if err != nil {
			b.mu.Lock()
			b.ended = err
			b.mu.Unlock()
			return
		}
	}
}

// View returns what is known at present, with a world that has all that was written up to the
// marks. It does not change meanwhile. Its Past asks for earlier times.
func (b *Base) View(ctx context.Context, after ...world.Mark) (*knowledge.View, error) {
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
	v := &knowledge.View{Graph: s.graph.Fork(), At: at}
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
	b.reading.Lock()
	defer b.reading.Unlock()
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
	return nil
}
