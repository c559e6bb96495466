package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/query"
	hosting "github.com/seed-301d4374/engram/core/server/api"
	"github.com/seed-301d4374/engram/core/wm"
)

// Config configures a server.
type Config struct {
	Robot    string // whose memories they are, "" if it has no name
	Memories []Memory
	Types    *idf.Registry // nil means a new one
	Now      func() engram.Time
	Limits   wm.Limits
	Log      *slog.Logger // nil means slog.Default()
	// Journal is the log of Logged and Synced segments, opened with Types; what it
	// holds is put back before the Start hooks run, and Close closes it. Nil offers
	// Volatile only, and gives the memories' own segments that durability.
	Journal *wal.Journal
	// CloseWithin bounds how long Close waits for a disk that refuses what the journal was to
	// write; 0 means what it does for a store, whose own options count if there is one.
	CloseWithin time.Duration
	// Store is the long-term memory: the memories are recorded, and queries find what
	// is on disk. Types and Journal are the store's then. The server owns it from then
	// on and closes it, also if New fails. Nil means none.
	Store *ltm.Store
	// Announce tells the name system of all memories when a program hosts one more; its error
	// refuses that. They are asked for when names do not change. Nil tells nobody.
	Announce func(ctx context.Context, memories func() []string) error
}

// Server hosts memories. It implements feature.Server. Safe for concurrent use.
type Server struct {
	wm    *wm.WM
	ltm   *ltm.Store // nil if there is no long-term memory
	log   *slog.Logger
	robot string

	hosted  offered
	hosting hostings
	hosts   *hosting.Hosts // of memories of programs

	features []feature.Feature // of the memories
	refused  refusals
	copied   copied

	journal  *wal.Journal  // nil without a log
	settle   time.Duration // see Config.CloseWithin
	recovery *wal.Recovery

	ctx    context.Context // of the Start and Run hooks; ends with Close
	cancel context.CancelFunc
	run    sync.WaitGroup // the Run hooks

	close  sync.Once
	closed atomic.Bool
}

// New makes a server, adds the memories' types and segments, puts back what the log
// holds, and runs their Start hooks in the order of the memories. If one fails, what was begun is ended and
// the error returned.
func New(c Config) (*Server, error) {
	if c.Store != nil {
		c.Types, c.Journal = c.Store.Types(), c.Store.Journal()
	}
	s := &Server{
		robot:   c.Robot,
		ltm:     c.Store,
		wm:      wm.New(wm.Config{Types: c.Types, Now: c.Now, Limits: c.Limits, Journal: c.journal(), Robot: c.Robot}),
		log:     c.Log,
		journal: c.Journal,
		hosting: hostings{announce: c.Announce, turn: make(chan struct{}, 1), pool: hostedPool},
		settle:  cmp.Or(c.CloseWithin, (ltm.Options{}).WithDefaults().CloseWithin),
	}
	s.hosted.Store(&hosted{hooks: map[string]*Hooks{}, programs: map[string]bool{}})
	if s.log == nil {
		s.log = slog.Default()
	}
	s.hosting.s = s
	s.hosts = hosting.New(&s.hosting, s.log)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	links := wm.IndexOptions{New: func() query.Index { return query.NewLinkIndex(query.Naming(s.robot), s.wm.Registry()) }}
	if err := s.Indexes().Register("links", links); err != nil {
		return nil, err
	}
	if err := s.Indexes().Register("type", wm.IndexOptions{New: query.NewTypeIndex}); err != nil {
		return nil, err
	}
	if err := s.start(&c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(c *Config) error {
	memories := c.Memories
	for i := range memories {
		if err := s.add(&memories[i], c); err != nil {
			return engram.Errorf(engram.CodeOf(err), memories[i].Name, "the memory cannot be set up: %w", err)
		}
	}
	s.hosting.addKnown()
	if err := addCopies(s); err != nil {
		return err
	}
	if err := s.restore(c.Journal); err != nil {
		return err
	}
	for i := range memories {
		m := &memories[i]
		if m.Hooks.Start != nil {
			if err := m.Hooks.Start(s.ctx, s); err != nil {
				return startError(m.Name, err)
			}
		}
		if m.Hooks.Run != nil {
			s.run.Go(func() {
				if err := m.Hooks.Run(s.ctx, s); err != nil && s.ctx.Err() == nil {
					s.log.Error("the memory's Run hook ended", "memory", m.Name, "error", err)
				}
			})
		}
	}
	lookAhead(s) // for who asks right away
	s.run.Go(func() { tellTroubles(s) })
	return nil
}

// startError is the error of a memory that cannot start. One that names what is wrong,
// such as a file, says enough.
func startError(memory string, err error) error {
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Thing != "" {
		return err
	}
	return engram.Errorf(engram.CodeOf(err), memory, "the memory cannot start: %w", err)
}

// add sets one memory up. Start hooks run when all memories are there, so that
// they can commit to each other.
func (s *Server) add(m *Memory, c *Config) error {
	if s.hosted.Load().hosts(m.Name) {
		return engram.Errorf(engram.AlreadyExists, "", "two memories have this name")
	}
	if err := s.wm.AddMemory(m.Name, m.Bounds); err != nil {
		return err
	}
	if m.KeepNewest {
		if err := s.wm.KeepNewest(m.Name); err != nil {
			return err
		}
	}
	for _, t := range m.Types {
		if err := s.wm.AddType(s.ctx, t); err != nil {
			return err
		}
	}
	for name := range m.Policies {
		if !slices.ContainsFunc(m.Segments, func(s engram.CoreSegment) bool { return s.ID.CoreSegment() == name }) {
			return engram.Errorf(engram.Invalid, m.Name+"/"+name, "there is a policy, but no such core segment")
		}
	}
	for _, seg := range m.Segments {
		if seg.ID.Memory() != m.Name {
			return engram.Errorf(engram.Invalid, seg.ID.String(), "the segment lies in another memory")
		}
		p := m.Policies[seg.ID.CoreSegment()]
		if c.Store != nil {
			if err := c.Store.AddPolicy(seg.ID, p); err != nil {
				return err
			}
			p = c.Store.Policy(seg.ID)
		}
		seg.Durability = durability(s.journal, p, seg.Durability)
		if err := s.wm.AddCoreSegment(s.ctx, seg); err != nil {
			return err
		}
	}
	for i := range m.Features {
		if slices.ContainsFunc(s.features, func(f feature.Feature) bool { return f.Service == m.Features[i].Service }) {
			return engram.Errorf(engram.AlreadyExists, "", "another memory of this server offers %s already", m.Features[i].Service)
		}
	}
	s.features = append(s.features, m.Features...)
	s.hosted.change(func(all *hosted) { all.add(m.Name, m.Hooks, false) })
	return nil
}

// hosted are the memories of a server. It does not change.
type hosted struct {
	names     []string          // sorted, without those that are elsewhere
	hooks     map[string]*Hooks // by memory
	programs  map[string]bool   // memories that programs host
	elsewhere map[string]string // of programs' memories those whose names other servers have, and these servers
	has       struct{ commit, write, stored, query bool }
}

// hosts reports whether a memory is one of them, of the server itself or of a program.
func (m *hosted) hosts(memory string) bool { return m.hooks[memory] != nil }

func (m *hosted) add(name string, h Hooks, program bool) {
	m.hooks[name] = &h
	if program {
		m.programs[name] = true
	}
}

// commitHook returns what sees a memory's updates before they are stored, nil if nothing does.
func (m *hosted) commitHook(memory string) func(context.Context, *engram.EntityUpdate) error {
	if server := m.elsewhere[memory]; server != "" {
		return func(context.Context, *engram.EntityUpdate) error {
			return engram.Errorf(engram.Conflict, memory, "the server %q hosts this memory now; commit to that", server)
		}
	}
	if h := m.hooks[memory]; h != nil {
		return h.Commit
	}
	return nil
}

// offered are the memories of a server at present.
type offered struct {
	atomic.Pointer[hosted]
	changing sync.Mutex
}

// change changes what the server hosts, for calls that begin from then on.
func (o *offered) change(change func(*hosted)) {
	o.changing.Lock()
	defer o.changing.Unlock()
	m := o.Load()
	next := &hosted{hooks: maps.Clone(m.hooks), programs: maps.Clone(m.programs), elsewhere: m.elsewhere}
	change(next)
	next.has.commit = len(next.elsewhere) > 0
	for name, h := range next.hooks {
		if next.elsewhere[name] == "" {
			next.names = append(next.names, name)
		}
		next.has.commit = next.has.commit || h.Commit != nil
		next.has.write = next.has.write || len(h.Write) > 0
		next.has.stored = next.has.stored || h.Stored != nil
		next.has.query = next.has.query || h.Query != nil
	}
	slices.Sort(next.names)
	o.Store(next)
}

// Yielder says, for the name system, which memories may have their names at another server: see
// mns.Yielder, which it is.
type Yielder interface {
	MayYield(memory string) bool
	Yielded(elsewhere map[string]string)
}

// Programs says, for the name system, which memories programs host.
func (s *Server) Programs() Yielder { return &s.hosting }

// Memories returns the names of the memories hosted, sorted.
func (s *Server) Memories() []string { return slices.Clone(s.hosted.Load().names) }

// LongTerm returns what the long-term memory offers, nil if the server has none.
func (s *Server) LongTerm() admin.Service {
	if s.ltm == nil {
		return nil
	}
	return s.ltm
}

// Robot returns the name of the robot whose memories the server has, "" if it has no name.
func (s *Server) Robot() string { return s.robot }

// Epoch identifies this epoch of the server; it is never 0.
func (s *Server) Epoch() uint64 { return s.wm.Epoch() }

// Number returns the number of the newest update, 0 if there was none.
func (s *Server) Number() uint64 { return s.wm.Number() }

// Close ends the hooks' context, waits for the Run hooks, which may still commit
// what they have, ends all subscriptions, and writes and closes the log. The error names what
// was acknowledged as logged and could not be written. What is called afterwards returns
// Unavailable. It must not be called by a hook.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		s.cancel()
		s.run.Wait()
		s.closed.Store(true)
		err = s.closeMemory()
	})
	return err
}

// Alive returns Unavailable once the server is closed.
func (s *Server) Alive() error {
	if s.closed.Load() {
		return engram.Errorf(engram.Unavailable, "", "the memory server is closed")
	}
	return nil
}
