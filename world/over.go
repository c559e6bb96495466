package world

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// inWorld matches what a world over a memory is made of.
var inWorld = engram.MustPattern("World/~" + itemSegment + "|" + jointSegment + "|" + stateSegment)

// Memory is a [Model] over the memory World of a server, in this process or another. It
// follows what all providers commit.
type Memory struct {
	keeper
	svc    engram.Service
	codec  *Codec
	stream engram.UpdateStream
	done   chan struct{} // closed when it follows no more
}

// Over returns the world of the memory World that the service has. What it writes are
// statements of the provider, to whose provider segments nobody else writes. It has all that
// was committed before the call. ctx bounds only the call; Close ends the world.
func Over(ctx context.Context, svc engram.Service, provider string, rules Rules) (*Memory, error) {
	if err := engram.CheckName(provider); err != nil {
		return nil, err
	}
	codec, err := NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	// What the queue loses is read anew.
	stream, err := svc.Subscribe(ctx, engram.Subscription{Patterns: codec.Patterns(), WithData: true, Queue: 1 << 16})
	if err != nil {
		return nil, err
	}
	m := &Memory{svc: svc, codec: codec, stream: stream, done: make(chan struct{})}
	m.keeper = keeper{hub: newHub(rules), provider: provider, now: engram.Now, store: m.commit}
	if err := m.reload(ctx); err != nil {
		_ = stream.Close() // the error that counts is the first
		return nil, err
	}
	go m.follow()
	return m, nil
}

// Close ends the world: calls fail with Canceled from then on. It waits for what it does in
// the background.
func (m *Memory) Close() error {
	err := m.stream.Close()
	<-m.done
	return err
}

// follow takes what is committed until the stream ends.
func (m *Memory) follow() {
	defer close(m.done)
	ctx := context.Background() // Close ends the stream, and with it what waits for it
	for {
		updates, err := m.stream.Next(ctx)
		if err != nil {
			m.end(err)
			return
		}
		if slices.ContainsFunc(updates, func(u engram.Update) bool { return u.Dropped > 0 || u.Restarted }) {
			if err := m.reload(ctx); err != nil {
				m.end(err)
				return
			}
		}
		to := Mark{Epoch: m.stream.Epoch()}
		items := make([]engram.Item, 0, len(updates))
		for _, u := range updates {
			if u.Snapshot != nil {
				items = append(items, engram.Item{ID: u.ID, Snapshot: u.Snapshot})
				to.Number = u.Number
			}
		}
		if len(items) > 0 {
			m.take(to, items)
		}
	}
}

// reload reads everything anew. All that was written before it is there then.
func (m *Memory) reload(ctx context.Context) error {
	q := m.query(engram.Latest(1))
	q.WithoutPayload = true
	to := Mark{Epoch: m.stream.Epoch()}
	before, err := m.svc.Query(ctx, q)
	if err != nil {
		return err
	}
	// An answer may have a later update and lack an earlier one; the next has all that this
	// one has seen the numbers of.
	for it := range before.All() {
		to.Number = max(to.Number, it.Number)
	}
	q.WithoutPayload = false
	all, err := m.svc.Query(ctx, q)
	if err != nil {
		return err
	}
	m.take(to, all.Items())
	return nil
}

// query selects snapshots of all that the world is made of.
func (m *Memory) query(s engram.SnapshotSelector) engram.Query {
	var q engram.Query
	for _, p := range m.codec.Patterns() {
		q.Memories = append(q.Memories, p.Select(s).Memories...)
	}
	return q
}

// Past implements [Model].
func (m *Memory) Past(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error) {
	q := m.query(engram.AtOrBefore(at))
	q.AsOf = asOf
	r, err := m.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	b := NewBuilder(m.builder.f.rules)
	for it := range r.All() {
		_, _ = m.put(b, it) // what cannot be read is left out, as it is at present
	}
	return b.Forest(), nil
}

// take puts snapshots into the world. What cannot be read is left out, as is what is too much.
func (m *Memory) take(to Mark, items []engram.Item) {
	m.change(to, func(b *Builder) []string {
		names := map[string]bool{}
		for _, it := range items {
			name, err := m.put(b, it)
			if err == nil {
				names[name] = true
			}
		}
		return slices.Sorted(maps.Keys(names))
	})
}

func (m *Memory) put(b *Builder, it engram.Item) (string, error) {
	if _, memory, other := strings.Cut(it.ID.Memory(), ":"); it.ID.Memory() != "World" && (!other || memory != "World") {
		s, err := m.codec.Seen(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return s.Name, b.see(s)
	}
	switch it.ID.CoreSegment() {
	case itemSegment:
		s, err := m.codec.Statement(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Item)
	case jointSegment:
		s, err := m.codec.Joint(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Joint)
	}
	s, err := m.codec.State(it.ID, it.Snapshot)
	if err != nil {
		return "", err
	}
	return b.put("", s.Said, s.State)
}

// commit writes updates in one commit.
func (m *Memory) commit(ctx context.Context, updates []update) ([]error, Mark, error) {
	var c engram.Commit
	failed := make([]error, len(updates))
	var places []int // of the commit's updates among these
	for i, u := range updates {
		segment, p, err := m.encode(u.what)
		var id engram.ID
		if err == nil {
			id, err = engram.NewID("World", segment, m.provider, u.name)
		}
		if failed[i] = err; err != nil {
			continue
		}
		in := engram.NewInstance(p)
		in.Confidence = float32(u.confidence)
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: id, Time: u.time, Instances: []engram.Instance{in}})
		places = append(places, i)
	}
	mark := Mark{Epoch: m.stream.Epoch()}
	results, err := m.svc.Commit(ctx, c)
	if err != nil {
		return nil, Mark{}, err
	}
	for i, r := range results {
		failed[places[i]] = r.Err
		mark.Number = max(mark.Number, r.Number)
	}
	return failed, mark, nil
}

func (m *Memory) encode(what any) (segment string, p engram.Payload, err error) {
	switch v := what.(type) {
	case *Item:
		p, err = m.codec.EncodeItem(v)
		return itemSegment, p, err
	case *Articulation:
		p, err = m.codec.EncodeJoint(v)
		return jointSegment, p, err
	case *State:
		p, err = m.codec.EncodeState(v)
		return stateSegment, p, err
	}
	return "", p, engram.Errorf(engram.Internal, "world", "a statement of %T", what)
}
