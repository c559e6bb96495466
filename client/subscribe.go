package client

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
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
func (c *Client) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	sub.Transient = false // a source is asked for more while the consumer has its last
	m := &merged{
		c: c, sub: sub, batches: make(chan batch), lost: make(chan struct{}, 1), done: make(chan struct{}),
		sources: map[*conn]context.CancelFunc{}, starts: map[string]engram.Start{},
		lives: map[uint64]*life{}, in: map[string]uint64{},
	}
	for _, p := range sub.Patterns {
		pm, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		m.patterns = append(m.patterns, pm)
		if len(p.Levels) > 0 {
			c.learn(ctx, p.Levels[0])
		}
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

// merged is a subscription at several servers. A goroutine follows which servers
// there are, and one per server hands on what it delivers.
type merged struct {
	c        *Client
	sub      engram.Subscription
	patterns []*engram.PatternMatcher
	ctx      context.Context
	cancel   context.CancelFunc
	batches  chan batch
	lost     chan struct{} // a source has ended
	epoch    atomic.Uint64 // of what Next returned last

	goroutines sync.WaitGroup // of the sources
	done       chan struct{}  // all goroutines have ended

	mu      sync.Mutex
	sources map[*conn]context.CancelFunc // servers that are subscribed to
	starts  map[string]engram.Start      // by server: where to begin when it can be reached again
	lives   map[uint64]*life             // by epoch
	in      map[string]uint64            // by memory: the epoch of its last update
	err     error                        // why the subscription ended by itself
}

// life is what was delivered from one life of a server. Two sources may lead to it
// for a moment: one that reconnected by itself, and one that was begun when the
// server registered again.
type life struct {
	last uint64 // number of the last update
	told bool   // that the server was restarted
}

type batch struct {
	updates []engram.Update
	epoch   uint64
}

// concerned returns the servers that host what the patterns select.
func (m *merged) concerned() []*conn {
	byMemory, _ := m.c.hosts()
	set := map[*conn]bool{}
	var conns []*conn
	for _, name := range keys(byMemory) {
		if cn := byMemory[name]; !set[cn] && m.selects(name) {
			set[cn] = true
			conns = append(conns, cn)
		}
	}
	return conns
}

func (m *merged) selects(memory string) bool {
	for _, p := range m.patterns {
		if p.Level(engram.LevelMemory).Match(memory) {
			return true
		}
	}
	return len(m.patterns) == 0
}

// begin subscribes at the servers there are. A refusal of one is the answer; one
// that is away is left to follow.
func (m *merged) begin(ctx context.Context) error {
	conns := m.concerned()
	if len(conns) == 0 {
		// The server at home judges the subscription, so that a bad one is not
		// accepted only because nothing is there yet.
		judge, err := m.c.home.Subscribe(ctx, m.sub)
		if err != nil {
			return err
		}
		return judge.Close()
	}
	now := m.sub
	now.Start = engram.Start{}
	var conflicts []*conn
	var conflict error
	for _, cn := range conns {
		stream, err := m.open(ctx, cn, m.sub)
		switch engram.CodeOf(err) {
		case 0:
			m.add(cn, stream, false)
		case engram.Unavailable:
			m.startAt(cn, m.sub.Start)
		case engram.Conflict:
			conflicts, conflict = append(conflicts, cn), err
		default:
			return err
		}
	}
	if len(conflicts) == len(conns) {
		return conflict
	}
	for _, cn := range conflicts { // the epoch is another server's
		stream, err := m.open(ctx, cn, now)
		switch engram.CodeOf(err) {
		case 0:
			m.add(cn, stream, false)
		case engram.Unavailable:
			m.startAt(cn, now.Start)
		default:
			return err
		}
	}
	return nil
}

func (m *merged) open(ctx context.Context, cn *conn, sub engram.Subscription) (engram.UpdateStream, error) {
	client, err := m.c.get(ctx, cn)
	if err != nil {
		return nil, err
	}
	return client.Subscribe(ctx, sub)
}

func (m *merged) startAt(cn *conn, start engram.Start) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starts[cn.server] = start
}

// add makes a server's stream a source of the merged one. restarted is told with
// the first update.
func (m *merged) add(cn *conn, stream engram.UpdateStream, restarted bool) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.mu.Lock()
	m.sources[cn] = cancel
	m.mu.Unlock()
	m.epoch.CompareAndSwap(0, stream.Epoch())
	m.goroutines.Go(func() {
		defer cancel()
		err := m.pass(ctx, stream, restarted)
		stream.Close()
		start := m.sub.Start
		if s, ok := stream.(interface{ Position() engram.Start }); ok {
			start = s.Position()
		}
		m.startAt(cn, start)
		m.mu.Lock()
		delete(m.sources, cn)
		m.mu.Unlock()
		if m.ctx.Err() == nil && !mayReturn(err) {
			m.fail(err)
		}
		select {
		case m.lost <- struct{}{}:
		default:
		}
	})
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

func (m *merged) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.cancel()
}

// pass hands on what a source delivers until it or ctx ends.
func (m *merged) pass(ctx context.Context, stream engram.UpdateStream, restarted bool) error {
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		epoch := stream.Epoch()
		// A copy: the stream's own is valid until its next call only.
		if updates = m.admit(slices.Clone(updates), epoch, restarted); len(updates) == 0 {
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

// admit returns what of a source's updates was not delivered before, with the first
// of a server's new life marked.
func (m *merged) admit(updates []engram.Update, epoch uint64, restarted bool) []engram.Update {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lives[epoch]
	if l == nil {
		l = &life{}
		m.lives[epoch] = l
	}
	kept := updates[:0]
	for _, u := range updates {
		if u.Number <= l.last && epoch != 0 {
			continue
		}
		memory := u.ID.Memory()
		before, known := m.in[memory]
		u.Restarted = !l.told && (u.Restarted || restarted || known && before != epoch)
		l.told = l.told || u.Restarted
		l.last, m.in[memory] = u.Number, epoch
		kept = append(kept, u)
	}
	return kept
}

// follow subscribes at servers that come, and come back, until the end.
func (m *merged) follow(changed <-chan struct{}) {
	const pause = time.Second // before a registered server that does not answer is tried again
	retry := time.After(pause)
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-changed:
		case <-m.lost:
		case <-retry:
		}
		retry = nil
		m.c.mu.Lock()
		changed = m.c.changed
		m.c.mu.Unlock()
		concerned := m.concerned()
		m.mu.Lock()
		for cn, cancel := range m.sources {
			if !slices.Contains(concerned, cn) {
				cancel() // the server is gone, or registered in another way
			}
		}
		m.mu.Unlock()
		for _, cn := range concerned {
			m.mu.Lock()
			_, has := m.sources[cn]
			start, known := m.starts[cn.server]
			m.mu.Unlock()
			if has {
				continue
			}
			if !known { // it has registered since: all it has is news
				start = engram.Start{Kind: engram.StartNumber}
			}
			switch err := m.resume(cn, start); {
			case err == nil:
			case mayReturn(err):
				retry = time.After(pause)
			default:
				m.fail(err)
			}
		}
	}
}

// resume subscribes at a server where its updates were left off.
func (m *merged) resume(cn *conn, start engram.Start) error {
	sub := m.sub
	sub.Start = start
	stream, err := m.open(m.ctx, cn, sub)
	restarted := engram.CodeOf(err) == engram.Conflict
	if restarted {
		sub.Start = engram.Start{Kind: engram.StartNumber}
		stream, err = m.open(m.ctx, cn, sub)
	}
	if err == nil {
		m.add(cn, stream, restarted)
	}
	return err
}

// Next implements engram.UpdateStream.
func (m *merged) Next(ctx context.Context) ([]engram.Update, error) {
	select {
	case b := <-m.batches:
		m.epoch.Store(b.epoch)
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

// Epoch implements engram.UpdateStream: it is that of the server which the last
// batch came from.
func (m *merged) Epoch() uint64 { return m.epoch.Load() }

// Close implements engram.UpdateStream.
func (m *merged) Close() error {
	m.cancel()
	<-m.done
	return nil
}
