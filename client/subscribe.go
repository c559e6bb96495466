package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport"
)

// Subscribe implements engram.Subscriber over all servers that host what the
// patterns select, those included that register later; from such a one every kept
// update is delivered.
//
// Numbers and epochs are per server: updates of one server come in the order of
// its numbers, those of several mixed, and Epoch is that of the server which the
// last batch from Next came from. A start of kind StartNumber with an epoch
// applies to the server of that epoch; from others, what comes from now on is
// delivered.
//
// Memories of other robots are subscribed to at their owners, and at who holds
// copies only if the source says so ([engram.SourceNear]): after a cut, of any length, their updates go on where they were left off, or
// from the first that is kept at a server that has taken them over.
func (c *Client) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	sub.Transient = false // a source is asked for more while the consumer has its last
	m := &merged{
		c: c, sub: sub, batches: make(chan batch), lost: make(chan struct{}, 1), done: make(chan struct{}),
		sources: map[*conn]source{}, opening: map[*conn]bool{}, starts: map[serverKey]engram.Start{},
		epochs: map[uint64]*delivered{}, in: map[string]uint64{}, owners: map[string]serverKey{}, had: map[string]serverKey{},
	}
	for _, p := range sub.Patterns {
		if _, err := p.Matcher(); err != nil {
			return nil, err
		}
		if len(p.Levels) > 0 {
			c.learn(ctx, p.Levels[0], map[string]error{}) // those that are away it follows when they are back
		}
	}
	if sub.Absences {
		m.absences = &absences{gone: map[serverKey]*engram.Absence{}}
	}
	m.ctx, m.cancel = context.WithCancel(c.ctx)
	c.mu.Lock()
	changed := c.changed
	c.mu.Unlock()
	if err := m.begin(ctx); err != nil {
		m.cancel()
		m.goroutines.Wait()
		return nil, err
	}
	owned := c.own(func() {
		m.follow(changed)
		m.goroutines.Wait()
		close(m.done)
	})
	if !owned {
		m.cancel()
		m.goroutines.Wait()
		return nil, c.alive()
	}
	return m, nil
}

// merged is a subscription at several servers. One goroutine follows the set of servers,
// and one per server forwards its updates.
type merged struct {
	c       *Client
	sub     engram.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	batches chan batch
	lost    chan struct{} // a source has ended, or could not be opened
	epoch   atomic.Uint64 // of what Next returned last

	goroutines sync.WaitGroup // of the sources, and of opening them
	done       chan struct{}  // all goroutines have ended

	mu      sync.Mutex
	sources map[*conn]source           // servers that are subscribed to
	opening map[*conn]bool             // servers at which that is tried
	starts  map[serverKey]engram.Start // where to begin when it can be reached again
	epochs  map[uint64]*delivered      // by epoch
	in      map[string]uint64          // by memory: the epoch of its last update
	owners  map[string]serverKey       // by memory: where it is subscribed to, or was, or is to be
	had     map[string]serverKey       // by memory: where it was subscribed to last
	err     error                      // why the subscription ended by itself

	*absences // nil unless they are to be told
}

// source is a subscription at one server.
type source struct {
	*share                // of the memories that are wanted of it
	epoch  *atomic.Uint64 // of the server, as its stream told last
	heard  *atomic.Uint64 // how often updates have come
	cancel context.CancelFunc
}

// delivered is what was delivered of one epoch of a server. Two sources may lead to it
// for a moment: one that reconnected by itself, and one that was begun when the
// server registered again.
type delivered struct {
	last map[string]uint64 // by memory: number of the last update
	told bool              // that the server was restarted
}

type batch struct {
	updates []engram.Update
	epoch   uint64
}

// concerned returns the servers of the selected memories, each with its memories.
func (m *merged) concerned() shares {
	r := m.c.routes()
	if r.only != nil && !m.namesRobots() {
		return shares{{conn: r.only, hosts: r.own, whole: true}}
	}
	var hosts []*host
	for _, p := range m.patterns() {
		sel, err := r.selection(p.Levels[0])
		if err != nil {
			continue // it was compiled before
		}
		hosts = append(hosts, sel.all()...)
	}
	if m.sub.Source != engram.SourceNear {
		s, _ := divide(r.united(hosts), engram.SourceOwner)
		return s
	}
	var s shares
	for _, h := range r.united(hosts) {
		switch {
		case h.isNear(): // beside what the holder owns: there is one subscription at each server
			s.put(h.copies[0].conn, false, false, h, h.copies[0].memory)
		case h.owner != nil:
			s.put(h.owner, false, false, h, h.local)
		}
	}
	return s
}

// patterns returns the subscription's patterns, each with a selector of memories.
func (m *merged) patterns() []engram.Pattern {
	if len(m.sub.Patterns) == 0 {
		return []engram.Pattern{{Levels: []engram.NameSelector{engram.AllNames()}}}
	}
	patterns := slices.Clone(m.sub.Patterns)
	for i := range patterns {
		if len(patterns[i].Levels) == 0 {
			patterns[i].Levels = []engram.NameSelector{engram.AllNames()}
		}
	}
	return patterns
}

func (m *merged) namesRobots() bool {
	return slices.ContainsFunc(m.sub.Patterns, func(p engram.Pattern) bool {
		return len(p.Levels) > 0 && namesRobots([]engram.QueryNode{{Names: p.Levels[0]}})
	})
}

// at returns the subscription as it is made at one server.
func (m *merged) at(sh *share, start engram.Start) engram.Subscription {
	sub := m.sub
	sub.Start = start
	if sh.whole {
		return sub
	}
	r := m.c.routes()
	sub.Patterns = nil
	for _, p := range m.patterns() {
		sel, err := r.selection(p.Levels[0])
		if err != nil {
			continue // it was compiled before
		}
		var names []string
		for i, h := range sh.hosts {
			if selected, _ := sel.has(h); selected {
				names = append(names, sh.locals[i])
			}
		}
		if len(names) > 0 {
			p.Levels = slices.Clone(p.Levels)
			p.Levels[0] = engram.OneOf(names...)
			sub.Patterns = append(sub.Patterns, p)
		}
	}
	return sub
}

// begin subscribes at the servers there are, at the same time. A refusal of one is the
// answer; one that is away is left to follow.
func (m *merged) begin(ctx context.Context) error {
	concerned := m.concerned()
	if len(concerned) == 0 {
		return m.judge(ctx)
	}
	streams := make([]engram.UpdateStream, len(concerned))
	errs := make([]error, len(concerned))
	open := func(i int, start engram.Start) {
		streams[i], errs[i] = m.open(ctx, concerned[i], start)
	}
	var wait sync.WaitGroup
	for i := range concerned {
		wait.Go(func() { open(i, m.sub.Start) })
	}
	wait.Wait()
	conflicts := 0
	for _, err := range errs {
		if engram.CodeOf(err) == engram.Conflict {
			conflicts++
		}
	}
	var refused error
	for i, sh := range concerned {
		m.owned(sh)
		start := m.sub.Start
		if engram.CodeOf(errs[i]) == engram.Conflict && conflicts < len(concerned) { // the epoch is another server's
			start = engram.Start{}
			open(i, start)
		}
		switch err := errs[i]; {
		case err == nil:
			m.add(sh, streams[i], false)
		case engram.CodeOf(err) == engram.Unavailable, unanswered(err) && len(concerned) > 1:
			m.startAt(sh.conn, start)
		default:
			if refused == nil {
				refused = errs[i]
			}
		}
	}
	return refused
}

// judge has the server at home judge the subscription, so that a bad one is not
// accepted only because nothing is there yet.
func (m *merged) judge(ctx context.Context) error {
	servers := m.c.all()
	if len(servers) == 0 {
		return nil
	}
	judge, err := m.open(ctx, &share{conn: servers[0], whole: true}, m.sub.Start)
	if err != nil {
		return err
	}
	return judge.Close()
}

func (m *merged) open(ctx context.Context, sh *share, start engram.Start) (stream engram.UpdateStream, err error) {
	_, err = m.c.on(ctx, sh.conn, sh.conn.hurried(), func(ctx context.Context, s transport.Client) (err error) {
		stream, err = s.Subscribe(ctx, m.at(sh, start))
		return err
	})
	return stream, err
}

func (m *merged) startAt(cn *conn, start engram.Start) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starts[cn.key()] = start
}

// owned notes who owns memories.
func (m *merged) owned(sh *share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range sh.hosts {
		m.owners[h.memory] = sh.conn.key()
	}
}

// succeedsLocked reports whether a server has taken over what another one owned.
func (m *merged) succeedsLocked(sh *share) bool {
	return slices.ContainsFunc(sh.hosts, func(h *host) bool {
		owner, known := m.owners[h.memory]
		return known && owner != sh.conn.key()
	})
}

// gainsLocked reports whether a server is to tell of a memory that was subscribed to at
// another one.
func (m *merged) gainsLocked(sh *share) bool {
	return m.sub.Source == engram.SourceNear && slices.ContainsFunc(sh.hosts, func(h *host) bool {
		at, known := m.had[h.memory]
		return (known || h.isNear()) && at != sh.conn.key()
	})
}

// add makes a server's stream a source of the merged one. restarted is told with
// the first update.
func (m *merged) add(sh *share, stream engram.UpdateStream, restarted bool) {
	m.owned(sh)
	ctx, cancel := context.WithCancel(m.ctx)
	m.mu.Lock()
	src := source{sh, new(atomic.Uint64), new(atomic.Uint64), cancel}
	src.epoch.Store(stream.Epoch())
	m.sources[sh.conn] = src
	for _, h := range sh.hosts {
		m.had[h.memory] = sh.conn.key()
	}
	m.mu.Unlock()
	m.look() // there may be something to tell of it
	m.epoch.CompareAndSwap(0, stream.Epoch())
	m.goroutines.Go(func() {
		defer cancel()
		err := m.pass(ctx, src, stream, restarted)
		stream.Close()
		start := m.sub.Start
		if s, ok := stream.(interface{ Position() engram.Start }); ok {
			start = s.Position()
		}
		m.startAt(sh.conn, start)
		m.mu.Lock()
		delete(m.sources, sh.conn)
		m.mu.Unlock()
		if m.ctx.Err() == nil && m.ends(err) {
			m.fail(err)
		}
		m.look()
	})
}

// look has follow look at the servers.
func (m *merged) look() {
	select {
	case m.lost <- struct{}{}:
	default:
	}
}

// mayReturn reports whether a server's stream can be had again: it, or the
// connection to it, was away.
func mayReturn(err error) bool {
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.Exhausted, engram.Canceled:
		return true
	}
	return false
}

// ends reports whether an error of one server ends the subscription: not if another one is
// where it was, who is not believed; nor if it is revoked, and there are others.
func (m *merged) ends(err error) bool {
	return !mayReturn(err) && !credentials.MayPass(err) && !(errors.Is(err, credentials.ErrNotBelieved) && len(m.concerned()) > 1)
}

func (m *merged) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.cancel()
}

// pass hands on what a source delivers until it or ctx ends.
func (m *merged) pass(ctx context.Context, src source, stream engram.UpdateStream, restarted bool) error {
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		src.heard.Add(1)
		epoch := stream.Epoch()
		src.epoch.Store(epoch)
		// A copy: the stream's own is valid until its next call only.
		if updates = m.admit(src.share, slices.Clone(updates), epoch, restarted); len(updates) == 0 {
			continue
		}
		restarted = false
		select {
		case m.batches <- batch{updates, epoch}:
		case <-m.ctx.Done():
			return m.ctx.Err()
		}
	}
}

// admit returns what of a source's updates was not delivered before, by the names that
// memories have here, with the first of a server's new epoch marked.
func (m *merged) admit(sh *share, updates []engram.Update, epoch uint64, restarted bool) []engram.Update {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.epochs[epoch]
	if l == nil {
		l = &delivered{last: map[string]uint64{}}
		m.epochs[epoch] = l
	}
	kept := updates[:0]
	for _, u := range updates {
		id, ok := sh.here(u.ID)
		if !ok || sh.whole && strings.IndexByte(id.Memory(), ':') >= 0 { // a copy that came since
			continue
		}
		memory := id.Memory()
		if last := l.last[memory]; u.Number <= last && (u.Failed == nil && !u.Removed || u.Number < last) && epoch != 0 {
			continue // of one number, what failed or was removed is told after the update
		}
		u.ID = id
		if u.Failed != nil {
			failed := sh.missing(*u.Failed)
			u.Failed = &failed
		}
		before, known := m.in[memory]
		u.Restarted = !l.told && (u.Restarted || restarted || known && before != epoch)
		l.told = l.told || u.Restarted
		l.last[memory], m.in[memory] = u.Number, epoch
		kept = append(kept, u)
	}
	return kept
}

// follow subscribes at servers that come, and come back, until the end.
func (m *merged) follow(changed <-chan struct{}) {
	const pause = time.Second // before a registered server that does not answer is tried again
	m.goroutines.Go(func() { m.again(pause) })
	if !m.noticeAbsences(m.concerned()) {
		return
	}
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-changed:
		case <-m.lost:
		}
		m.c.mu.Lock()
		changed = m.c.changed
		m.c.mu.Unlock()
		concerned, holding := m.concerned(), m.c.routes().holding
		if !m.noticeAbsences(concerned) {
			return
		}
		m.mu.Lock()
		for cn, src := range m.sources {
			i := slices.IndexFunc(concerned, func(sh *share) bool { return sh.conn == cn })
			if i < 0 || !src.same(concerned[i], holding[cn]) {
				src.cancel() // the server is gone, or has other memories
			}
		}
		for _, sh := range concerned {
			if _, has := m.sources[sh.conn]; has || m.opening[sh.conn] {
				continue
			}
			start, known := m.starts[sh.conn.key()]
			switch {
			case m.gainsLocked(sh): // what it has of it is news
				start = engram.Start{Kind: engram.StartNumber}
			case known:
			case !sh.conn.foreign, m.succeedsLocked(sh): // it has registered since: all it has is news
				start = engram.Start{Kind: engram.StartNumber}
			case m.sub.Start.Kind != engram.StartNumber || m.sub.Start.Epoch == 0:
				start = m.sub.Start // it may have been there for long, out of reach
			}
			m.opening[sh.conn] = true
			m.goroutines.Go(func() {
				err := m.resume(sh, start)
				m.mu.Lock()
				delete(m.opening, sh.conn)
				m.mu.Unlock()
				switch {
				case err == nil:
					m.look() // it may have gone meanwhile
				case m.ends(err):
					m.fail(err)
				default:
					m.again(pause)
				}
			})
		}
		m.mu.Unlock()
	}
}

// again has follow look at the servers after a pause.
func (m *merged) again(pause time.Duration) {
	select {
	case <-time.After(pause):
		m.look()
	case <-m.ctx.Done():
	}
}

// same reports whether a subscription to one share is one to another, of the same
// server. One to all that a server has is, unless it holds copies by now.
func (sh *share) same(o *share, holding bool) bool {
	return (sh.whole == o.whole || !holding) && slices.EqualFunc(sh.hosts, o.hosts, func(a, b *host) bool { return a.memory == b.memory && a.local == b.local })
}

// resume subscribes at a server where its updates were left off.
func (m *merged) resume(sh *share, start engram.Start) error {
	stream, err := m.open(m.ctx, sh, start)
	restarted := engram.CodeOf(err) == engram.Conflict
	if restarted {
		stream, err = m.open(m.ctx, sh, engram.Start{Kind: engram.StartNumber})
	}
	if err == nil {
		m.add(sh, stream, restarted)
	}
	return err
}

// Next implements engram.UpdateStream.
func (m *merged) Next(ctx context.Context) ([]engram.Update, error) {
	select {
	case b := <-m.batches:
		if b.epoch != 0 {
			m.epoch.Store(b.epoch)
		}
		return b.updates, nil
	case <-ctx.Done():
		return nil, engram.Errorf(engram.Canceled, "", "given up waiting for an update: %w", ctx.Err())
	case <-m.ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.err != nil {
			return nil, m.err
		}
		return nil, engram.Errorf(engram.Canceled, "", "the subscription is closed")
	}
}

// Epoch implements engram.UpdateStream: the epoch of the last batch's server.
func (m *merged) Epoch() uint64 { return m.epoch.Load() }

// EpochOf returns the epoch of the server that a memory is subscribed to at, by its name in
// the subscription's updates; 0 if it is not, just now.
func (m *merged) EpochOf(memory string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, src := range m.sources {
		if slices.ContainsFunc(src.hosts, func(h *host) bool { return h.memory == memory }) {
			return src.epoch.Load()
		}
	}
	return 0
}

// Close implements engram.UpdateStream.
func (m *merged) Close() error {
	m.cancel()
	<-m.done
	return nil
}
