package memories

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/world"
)

// elsewhere is what the memory Skill knows of the memories of other servers, and the world that its parts
// share. Safe for concurrent use.
type elsewhere struct {
	own hosts // the server; nil for a service of which it is not known what it hosts

	mu    sync.Mutex
	reach server.Reach  // nil until it is needed
	world *world.Memory // nil until it is asked for
}

// hosts says what a server has.
type hosts interface {
	Memories() []string
	Copies() []string
}

// of says whose parts ask.
func (e *elsewhere) of(svc engram.Service) { e.own, _ = svc.(hosts) }

// elsewhereWait is how long an answer from another server is waited for, where others wait for it.
const elsewhereWait = 500 * time.Millisecond

// has reports whether the own server has a memory, or a copy of it.
func (e *elsewhere) has(memory string) bool {
	return e.own == nil || slices.Contains(e.own.Memories(), memory) || slices.Contains(e.own.Copies(), memory)
}

// split returns the parts of patterns that the own server can match, and those that only others can. A
// pattern of memories of any name is of both.
func (e *elsewhere) split(patterns []engram.Pattern) (own, far []engram.Pattern) {
	for _, p := range patterns {
		if e.own == nil || len(p.Levels) == 0 || p.Levels[0].Kind != engram.NameOneOf {
			own = append(own, p)
			if e.own != nil {
				far = append(far, p)
			}
			continue
		}
		var here, there []string
		for _, name := range p.Levels[0].Names {
			if e.has(name) {
				here = append(here, name)
			} else {
				there = append(there, name)
			}
		}
		part := func(names []string) engram.Pattern {
			q := engram.Pattern{Levels: slices.Clone(p.Levels)}
			q.Levels[0] = engram.OneOf(names...)
			return q
		}
		if len(here) > 0 {
			own = append(own, part(here))
		}
		if len(there) > 0 {
			far = append(far, part(there))
		}
	}
	return own, far
}

// service returns a connection to all memories, the same to all who ask until close.
func (e *elsewhere) service(ctx context.Context) (server.Reach, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reach == nil {
		reach, err := server.Elsewhere(ctx)
		if err != nil {
			return nil, err
		}
		e.reach = reach
	}
	return e.reach, nil
}

// known returns the connection to all memories if there is one already; else nil.
func (e *elsewhere) known() server.Reach {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reach
}

// place returns the service that has a memory: the own server, or the connection to the others.
func (e *elsewhere) place(ctx context.Context, svc engram.Service, memory string) (engram.Service, error) {
	if e.has(memory) {
		return svc, nil
	}
	return e.service(ctx)
}

// worldOf returns the world, over the memory of whatever server has it.
func (e *elsewhere) worldOf(ctx context.Context, svc engram.Service) (*world.Memory, error) {
	from := svc
	if !e.has("World") {
		wait, cancel := context.WithTimeout(ctx, elsewhereWait)
		defer cancel()
		there, err := e.service(wait)
		if err != nil {
			return nil, err
		}
		ctx, from = wait, there
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.world == nil {
		w, err := world.Over(ctx, from, "conditions", world.DefaultRules())
		if err != nil {
			return nil, err
		}
		e.world = w
	}
	return e.world, nil
}

func (e *elsewhere) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.world != nil {
		_ = e.world.Close() // it is only read
	}
	e.world = nil
}

// news is what came from other servers.
type news struct {
	updates []engram.Update
	epoch   uint64
	// begun is that what is followed begins anew, with all there is in state.
	begun bool
	state []engram.Item
}

// follower follows patterns at other servers in a goroutine of its own, so that nobody waits for those, until
// it is closed.
type follower struct {
	elsewhere *elsewhere
	patterns  []engram.Pattern
	cancel    context.CancelFunc
	done      chan struct{}

	mu      sync.Mutex
	arrived []news
	wake    func() // called when something arrives; nil if nobody waits
}

// follow begins to follow patterns.
func (e *elsewhere) follow(ctx context.Context, patterns []engram.Pattern) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{elsewhere: e, patterns: patterns, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		told := false
		for ctx.Err() == nil {
			err := f.run(ctx, func() { told = false })
			if engram.CodeOf(err) == engram.Unsupported {
				return // there is no way to others
			}
			if ctx.Err() == nil && !told && engram.CodeOf(err) != engram.Unavailable {
				slog.Warn("conditions of skills cannot follow other servers", "error", err)
				told = true
			}
			select {
			case <-time.After(conditionPause / 4):
			case <-ctx.Done():
			}
		}
	}()
	return f
}

// run follows until the stream ends.
func (f *follower) run(ctx context.Context, begun func()) error {
	svc, err := f.elsewhere.service(ctx)
	if err != nil {
		return err
	}
	stream, err := svc.Subscribe(ctx, engram.Subscription{Patterns: f.patterns, WithData: true, Queue: conditionQueue})
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := f.read(ctx, svc); err != nil {
		return err
	}
	begun()
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		anew := false
		n := news{epoch: stream.Epoch()}
		for _, u := range updates {
			anew = anew || u.Dropped > 0 || u.Restarted
			if u.Snapshot == nil || f.elsewhere.has(u.ID.Memory()) {
				continue
			}
			u.Snapshot = unnumbered(u.Snapshot)
			n.updates = append(n.updates, u)
		}
		f.put(n)
		if anew {
			if err := f.read(ctx, svc); err != nil {
				return err
			}
		}
	}
}

// unnumbered returns a snapshot without its number, which says nothing at this server.
func unnumbered(s *engram.Snapshot) *engram.Snapshot {
	c := *s
	c.Number = 0
	return &c
}

// read reads the newest of all that is followed.
func (f *follower) read(ctx context.Context, svc engram.Service) error {
	var q engram.Query
	for _, p := range f.patterns {
		q.Memories = append(q.Memories, p.Select(engram.Latest(1)).Memories...)
	}
	r, err := svc.Query(ctx, q)
	if err != nil {
		return err
	}
	n := news{begun: true}
	for it := range r.All() {
		if !f.elsewhere.has(it.ID.Memory()) {
			it.Snapshot = unnumbered(it.Snapshot)
			n.state = append(n.state, it)
		}
	}
	f.put(n)
	return nil
}

func (f *follower) put(n news) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(n.updates) == 0 && !n.begun {
		return
	}
	f.arrived = append(f.arrived, n)
	if f.wake != nil {
		f.wake()
	}
}

// wakes has wake called when something arrives, until it is nil; false if something has.
func (f *follower) wakes(wake func()) bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
	return len(f.arrived) == 0
}

// take returns what has arrived.
func (f *follower) take() []news {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	arrived := f.arrived
	f.arrived = nil
	return arrived
}

func (f *follower) close() {
	if f != nil {
		f.cancel()
		<-f.done
	}
}
