package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// epochOf returns the epoch of the server at which a memory is followed; 0 if it is at none
// just now.
func (m *Memory) epochOf(memory string) uint64 {
	if of, ok := m.stream.(interface{ EpochOf(memory string) uint64 }); ok {
		return of.EpochOf(memory)
	}
	return m.stream.Epoch()
}

// knows reports whether anything of an epoch is in the world, or will be.
func (m *Memory) knows(epoch uint64) bool {
	return m.epochOf(ownMemory) == epoch || m.hub.knows(epoch)
}

// isCurrent reports whether more may come of an epoch: of a server that is followed at present, or of an owner of
// copies.
func (m *Memory) isCurrent(epoch uint64) bool {
	if m.epochOf(ownMemory) == epoch || len(m.followedIn(epoch)) > 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.owners, epoch)
}

// How long what could not be read anew waits for the next attempt: twice as long each time.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// follow takes what is committed until the stream or ctx ends.
func (m *Memory) follow(ctx context.Context) {
	defer close(m.done)
	anew := map[string]uint64{}  // memories that are to be read anew, with the epoch of who said so
	gone := map[engram.ID]bool{} // snapshots of what is held that were replaced, until they are read anew
	to := map[uint64]uint64{}    // by epoch, how far the world is then
	pause, due := firstPause, time.Time{}
	for {
		updates, err := m.next(ctx, len(anew) > 0, due)
		if err != nil {
			m.end(err)
			return
		}
		b := m.sort(updates)
		for _, id := range b.gone {
			gone[id] = true
		}
		if len(b.gone) > 0 { // what was replaced is heard before what it was replaced by is read
			m.take(batch{items: b.items})
			b.items, b.gone = nil, nil
		}
		for _, memory := range b.anew {
			if _, owed := anew[memory]; !owed {
				due = time.Time{}
			}
			anew[memory] = b.to[0].Epoch
		}
		for _, t := range b.to {
			to[t.Epoch] = max(to[t.Epoch], t.Number)
		}
		if len(anew) > 0 && !time.Now().Before(due) {
			missing, err := m.reload(ctx, gone, slices.Sorted(maps.Keys(anew))...)
			switch {
			case err == nil:
				maps.DeleteFunc(anew, func(memory string, _ uint64) bool { return !slices.Contains(missing, memory) })
				maps.DeleteFunc(gone, func(id engram.ID, _ bool) bool { return !slices.Contains(missing, id.Memory()) })
			case !away(err):
				m.end(err)
				return
			}
			due, pause = time.Now().Add(pause), min(2*pause, longestPause)
		}
		if len(anew) == 0 {
			pause = firstPause
		}
		lacks := map[uint64]bool{} // epochs of which something is missing
		for memory, epoch := range anew {
			lacks[epoch] = true
			delete(b.come, memory)
		}
		b.to = nil
		for epoch, number := range to {
			if !lacks[epoch] {
				b.to = append(b.to, Mark{epoch, number})
				delete(to, epoch)
			}
		}
		m.take(b)
	}
}

// away reports whether an error may be gone when it is tried again.
func away(err error) bool {
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.Exhausted, engram.Canceled:
		return true
	}
	return false
}

// next waits for updates; until then if something is to be done without.
func (m *Memory) next(ctx context.Context, owing bool, due time.Time) ([]engram.Update, error) {
	wait := ctx
	if owing {
		var cancel context.CancelFunc
		wait, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	updates, err := m.stream.Next(wait)
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return updates, err
}

// batch is something that came of the memories.
type batch struct {
	items []engram.Item
	to    []Mark          // all up to these has come with it
	come  map[string]Mark // of other robots' memories: how far their news have come with it
	own   Mark            // what the provider itself said has come up to it
	anew  []string        // memories that are to be read before
	gone  []engram.ID     // snapshots of what is held that were replaced
}

// sort returns what comes of updates.
func (m *Memory) sort(updates []engram.Update) (b batch) {
	to := Mark{Epoch: m.stream.Epoch()}
	if len(updates) == 0 {
		return b
	}
	home := m.epochOf(ownMemory)
	b.come = map[string]Mark{}
	read := func(memory string) {
		if !slices.Contains(b.anew, memory) {
			b.anew = append(b.anew, memory)
		}
	}
	for _, u := range updates {
		memory := u.ID.Memory()
		other := strings.Contains(memory, ":")
		if other {
			b.come[memory] = Mark{to.Epoch, u.Number}
		}
		if !other || to.Epoch != home { // of copies there are no marks
			to.Number = u.Number
		}
		own := memory == ownMemory && u.ID.ProviderSegment() == m.provider
		if u.Restarted || !m.isKnown(memory) {
			read(memory)
		}
		if u.Supersedes && ofSeveral(u.ID.CoreSegment()) {
			read(memory)
			b.gone = append(b.gone, u.ID)
		}
		if u.Dropped > 0 { // of any memory of that server
			read(memory)
			for _, lost := range m.followedIn(to.Epoch) {
				read(lost)
				if lost == ownMemory { // what of it was lost has a lower number
					own, to.Number = true, u.Number
				}
			}
		}
		if own {
			b.own = to
		}
		if u.Snapshot != nil {
			b.items = append(b.items, engram.Item{ID: u.ID, Snapshot: u.Snapshot})
		}
	}
	b.to = []Mark{to}
	return b
}

func (m *Memory) isKnown(memory string) bool {
	m.reading.Lock()
	defer m.reading.Unlock()
	return m.known[memory]
}

// followedIn returns the memories that are followed at the server of an epoch.
func (m *Memory) followedIn(epoch uint64) (memories []string) {
	m.reading.Lock()
	defer m.reading.Unlock()
	for memory := range m.known {
		if m.epochOf(memory) == epoch {
			memories = append(memories, memory)
		}
	}
	return memories
}

// reload reads memories anew, all if none is named: what was written before it is in the world
// then, and not what snapshots said of what is held that are gone. It returns those whose owner is not reached.
func (m *Memory) reload(ctx context.Context, gone map[engram.ID]bool, memories ...string) (missing []string, err error) {
	_, missing, err = m.read(ctx, gone, memories...)
	return missing, err
}

// read is reload, which returns the answer, too.
func (m *Memory) read(ctx context.Context, gone map[engram.ID]bool, memories ...string) (r *engram.Result, missing []string, err error) {
	if r, err = m.svc.Query(ctx, m.query(memories...)); err != nil {
		return nil, nil, err
	}
	for _, lack := range r.Missing {
		if lack.Reason == engram.MissingUnreachable || lack.Reason == engram.MissingNotBelieved {
			missing = append(missing, lack.ID.Memory())
		}
	}
	b := batch{items: r.Items()}
	for id := range gone {
		if !slices.Contains(missing, id.Memory()) {
			b.gone = append(b.gone, id)
		}
	}
	m.take(b)
	if len(memories) == 0 {
		for _, p := range m.codec.Patterns() { // the answer does not name one in which there is nothing yet
			memories = append(memories, p.Levels[0].String())
		}
	}
	for _, n := range r.Memories {
		memories = append(memories, n.Name)
	}
	m.reading.Lock()
	defer m.reading.Unlock()
	for _, memory := range memories {
		m.known[memory] = !slices.Contains(missing, memory)
	}
	return r, missing, nil
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
		to := Mark{c.Epoch, c.Number}
		if !slices.ContainsFunc(marks, func(m Mark) bool { return m.Epoch == to.Epoch && m.Number <= to.Number }) {
			continue
		}
		if m.followed(ctx, &c) {
			m.take(batch{to: []Mark{to}})
			continue
		}
		r, _, err := m.read(ctx, nil, c.Memory)
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
	epoch := m.epochOf(c.Memory)
	if c.Away || epoch == 0 || epoch == c.Epoch { // what is followed is another copy, or the owner
		return false
	}
	timeout := time.NewTimer(followTimeout)
	defer timeout.Stop()
	for {
		m.mu.Lock()
		come, news := m.come[c.Memory], m.news
		m.mu.Unlock()
		if come.Epoch == epoch && come.Number >= c.Held {
			return true
		}
		select {
		case <-news:
		case <-timeout.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
