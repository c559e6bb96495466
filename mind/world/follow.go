package world

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// knows reports whether anything of an epoch is in the world, or will be.
func (m *Memory) knows(epoch uint64) bool {
	return m.follower.Epoch(ownMemory) == epoch || m.Knows(epoch)
}

// isCurrent reports whether more may come of an epoch: of a server that is followed at present, or of an owner of
// copies.
func (m *Memory) isCurrent(epoch uint64) bool {
	if m.follower.Epoch(ownMemory) == epoch || len(m.follower.FollowedIn(epoch)) > 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.owners, epoch)
}

// batch is something that came of the memories.
type batch struct {
	items []engram.Item
	to    []Mark          // all up to these has come with it
	own   map[string]Mark // up to where what providers say in the own memory World has come
	lost  Mark            // where something was lost, of whomever
	// whole are memories of which there is nothing but the items; but for what arrived after a copy that answered.
	whole  []string
	copies []engram.CopyUsed
	// removed are names of entities of which something was removed.
	removed []string
}

// reader is the world as what follows it keeps it.
type reader struct{ *Memory }

// Apply implements [follow.View].
func (m reader) Apply(epoch uint64, updates []engram.Update) (anew []string, err error) {
	var b batch
	for i := range updates {
		u := &updates[i]
		memory := u.ID.Memory()
		if u.Supersedes && ofSeveral(u.ID.CoreSegment()) {
			anew = append(anew, memory)
		}
		if memory == ownMemory {
			if b.own == nil {
				b.own = map[string]Mark{}
			}
			b.own[u.ID.ProviderSegment()] = Mark{Epoch: epoch, Number: u.Number}
		}
		if u.Dropped > 0 && m.follower.Epoch(ownMemory) == epoch {
			b.lost = Mark{Epoch: epoch, Number: u.Number} // what was lost has a lower number
		}
		if u.Removed {
			b.removed = append(b.removed, u.ID.Entity())
		}
		if u.Snapshot != nil {
			b.items = append(b.items, engram.Item{ID: u.ID, Snapshot: u.Snapshot})
		}
	}
	m.take(b)
	return anew, nil
}

// Query implements [follow.Reader].
func (m reader) Query(memories []string) engram.Query { return m.query(memories...) }

// Reset implements [follow.Reader]. What was written before the answer is in the world then.
func (m reader) Reset(_ context.Context, a follow.Answer) error {
	m.take(batch{items: a.Items(), whole: a.Whole, copies: a.Copies})
	return nil
}

// read puts into the world what memories have.
func (m *Memory) read(ctx context.Context, memories ...string) (*engram.Result, error) {
	r, err := m.svc.Query(ctx, m.query(memories...))
	if err == nil {
		m.take(batch{items: r.Items()})
	}
	return r, err
}

// inCopies looks for what was written up to marks in copies of other robots' memories: the own
// robot may not hear what their owners tell.
func (m *Memory) inCopies(ctx context.Context, marks []Mark) error {
	var q engram.Query // of nothing: it tells how far the copies are
	q.Source = engram.SourceNear
	for _, p := range m.patterns[len(m.codec.Patterns()):] {
		p.Levels = []engram.NameSelector{p.Levels[0], engram.OneOf(itemSegment), engram.OneOf("-"), engram.OneOf("-")}
		q.Memories = append(q.Memories, p.Select(engram.Latest(1)).Memories...)
	}
	r, err := m.svc.Query(ctx, q)
	if err != nil {
		return err
	}
	var owners []uint64
	for _, c := range r.Copies {
		owners = append(owners, c.Epoch)
	}
	m.mu.Lock()
	m.owners = owners
	m.mu.Unlock()
	for _, c := range r.Copies {
		to := Mark{Epoch: c.Epoch, Number: c.Number}
		if !slices.ContainsFunc(marks, func(m Mark) bool { return m.Epoch == to.Epoch && m.Number <= to.Number }) {
			continue
		}
		if m.followed(ctx, &c) {
			m.take(batch{to: []Mark{to}})
			continue
		}
		r, err := m.read(ctx, c.Memory)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Copies, func(by engram.CopyUsed) bool { return by.Memory == c.Memory && by.Server == c.Server }) {
			m.take(batch{to: []Mark{to}})
		}
	}
	return nil
}

// followTimeout is how long the news of what a copy has are waited for before it is read anew.
const followTimeout = 100 * time.Millisecond

// followed waits a little until the news of a copy have come up to what that had when it was
// asked, and reports whether they have.
func (m *Memory) followed(ctx context.Context, c *engram.CopyUsed) bool {
	epoch := m.follower.Epoch(c.Memory)
	if c.Away || epoch == 0 || epoch == c.Epoch { // what is followed is another copy, or the owner
		return false
	}
	patient, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	for {
		news, _ := m.News()
		if come := m.follower.Come(c.Memory); come.Epoch == epoch && come.Number >= c.Held {
			return true
		}
		if m.await(patient, news) != nil {
			return false
		}
	}
}
