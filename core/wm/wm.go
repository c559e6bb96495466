package wm

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/query"
)

// Config configures a working memory.
type Config struct {
	Types *idf.Registry      // nil means a new one
	Now   func() engram.Time // the clock; nil means the wall clock
	// Journal is the log of Logged and Synced segments; nil offers Volatile only.
	Journal Journal
	// Robot is the name of the robot whose memories these are, "" if it has none: links may name it.
	Robot string
	Limits
}

// Limits bound what one call may ask for. Zero fields mean the defaults.
type Limits struct {
	MaxPayload    int // bytes of one payload; default 64 MiB
	MaxInstances  int // of one snapshot; default 4096
	MaxQueryNodes int // nodes, names and selectors of one query; default 10,000
	// MaxSegments bounds the core and provider segments of one memory, each kind: they are
	// not evicted. Default 4096.
	MaxSegments int
	MaxResults  int // snapshots and bare names in one answer, or one part of it; default 1,000,000
	MaxQueue    int // of one subscription; default 65,536
	// MaxQueueBytes bounds the payloads that wait in one subscription's queue;
	// beyond it its slow policy applies, as it does to the queue's length. At
	// least one update can always wait. Default 256 MiB.
	MaxQueueBytes int64
	// MaxPinnedBytes bounds what the queues of subscriptions hold beside the memory, all
	// together: 144 bytes for each update that waits, and what the memory has evicted,
	// payloads and 256 bytes for each snapshot. Beyond it the
	// subscription that is furthest behind loses its oldest updates, which are told as
	// dropped. Default a quarter of the memories' bounds, and no less than one full queue.
	MaxPinnedBytes int64
	// MaxAskedBytes bounds what all open subscriptions ask for: their patterns, filters and
	// fields, each once in a subscription, beyond 16 KiB of each. Default 128 MiB.
	MaxAskedBytes int64
	// MaxFilterSteps bounds what one query may compute in all: what its filter costs, and the
	// regular expressions of its names, compiled and matched; a step takes about 50 ns.
	// Default 200,000,000: about ten seconds.
	MaxFilterSteps int64
	// Recent is how many updates the memory remembers to have written where, so that
	// who resumes behind one of them need not search for what followed; default 65,536.
	Recent int
	// Removals is how many removals the memory remembers for who was away; default 4096.
	Removals int
}

// WithDefaults returns the limits with the defaults for fields that are zero.
func (l Limits) WithDefaults() Limits {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.MaxPayload, 64<<20)
	def(&l.MaxInstances, 4096)
	def(&l.MaxQueryNodes, 10_000)
	def(&l.MaxResults, 1_000_000)
	def(&l.MaxSegments, 4096)
	def(&l.MaxQueue, 65_536)
	def(&l.Recent, 65_536)
	def(&l.Removals, 4096)
	if l.MaxQueueBytes <= 0 {
		l.MaxQueueBytes = 256 << 20
	}
	if l.MaxAskedBytes <= 0 {
		l.MaxAskedBytes = 128 << 20
	}
	if l.MaxFilterSteps <= 0 {
		l.MaxFilterSteps = 200_000_000
	}
	return l
}

// fullQueue returns what the largest queue of one subscription holds, in bytes.
func (l *Limits) fullQueue() int64 { return l.MaxQueueBytes + int64(l.MaxQueue)*placeBytes }

// Query returns the bounds of one query.
func (l *Limits) Query() query.Limits {
	return query.Limits{Nodes: l.MaxQueryNodes, Results: l.MaxResults, FilterSteps: l.MaxFilterSteps}
}

// WM is a working memory. It implements engram.Writer, Reader, PartReader,
// LatestReader, Subscriber, Segments, Types and Statistician. Safe for concurrent
// use.
type WM struct {
	writer
	compiler *query.Compiler
	indexes  Indexes
}

// writer is the hierarchy of a working memory, and all that changes it.
type writer struct {
	types    *idf.Registry
	now      func() engram.Time
	limits   Limits
	epoch    uint64
	journal  Journal                                     // nil if only Volatile is offered
	kept     atomic.Pointer[func(entity engram.ID) bool] // see KeptBy
	memories table[*memory]

	// number is the newest published update number: readers' high-water mark. It is
	// stored when all up to it can be read.
	number atomic.Uint64

	removal  atomic.Uint64 // the Order of the last removal
	restored atomic.Uint64 // the number given last to what was restored of an earlier epoch

	// defining is held, before mu, while segments and types change and removals are noted:
	// what is written to the disk of that is in the order in which it counts.
	defining sync.Mutex

	// mu serialises writers: all changes of the hierarchy and of the timelines, and
	// the order in which updates reach the subscriptions. It is taken before a
	// subscription's own lock.
	mu struct {
		sync.Mutex
		closed   bool
		number   uint64      // the last given
		clock    engram.Time // when what is written now was begun to be
		arrived  engram.Time // the last given
		syncing  int         // updates on their way to the disk, of all memories
		removing engram.Time // Until of the removal on its way there, MaxTime if there is none
		feed     feed

		bounded   int64 // the memories' bounds in bytes
		maxPinned int64 // Limits.MaxPinnedBytes, or its default
	}
}

var (
	_ engram.Writer       = (*WM)(nil)
	_ engram.Reader       = (*WM)(nil)
	_ engram.PartReader   = (*WM)(nil)
	_ engram.LatestReader = (*WM)(nil)
	_ engram.Subscriber   = (*WM)(nil)
	_ engram.Segments     = (*WM)(nil)
	_ engram.Types        = (*WM)(nil)
	_ engram.Statistician = (*WM)(nil)
)

// New returns an empty working memory.
func New(c Config) *WM {
	w := &WM{compiler: query.NewCompiler(query.Naming(c.Robot))}
	w.types, w.now, w.journal = c.Types, c.Now, c.Journal
	w.limits, w.epoch = c.Limits.WithDefaults(), rand.Uint64()|1
	w.indexes.w = w
	if w.types == nil {
		w.types = idf.NewRegistry()
	}
	if w.now == nil {
		w.now = engram.Now
	}
	w.mu.arrived, w.mu.removing = engram.MinTime, engram.MaxTime
	w.mu.maxPinned = cmp.Or(w.limits.MaxPinnedBytes, w.limits.fullQueue())
	w.mu.feed.keep, w.mu.feed.removals.keep = uint64(w.limits.Recent), w.limits.Removals
	return w
}

// KeptBy tells the memory what else keeps what is committed to an entity, such as a
// recorder: a commit that the bounds would evict at once is refused where nothing does.
// keeps is called under the memory's lock, for such commits only.
func (w *WM) KeptBy(keeps func(entity engram.ID) bool) { w.kept.Store(&keeps) }

// AddMemory adds a memory; bounds limit all it holds together. Adding it again
// with the same bounds does nothing; Conflict if it exists with others.
func (w *WM) AddMemory(name string, bounds engram.Bounds) error {
	return addMemory(w, name, bounds, nil)
}

func addMemory(w *WM, name string, bounds engram.Bounds, pool *Pool) error {
	id, err := engram.NewID(name)
	if err != nil {
		return err
	}
	if err := checkBounds(id, bounds); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if m, ok := w.memories.Get(name); ok {
		if m.bounds != bounds || m.pool != pool {
			return engram.Errorf(engram.Conflict, id.String(), "the memory exists with other bounds: %+v, not %+v", m.bounds, bounds)
		}
		return nil
	}
	m, more := &memory{id: id, bounds: bounds, feed: &w.mu.feed, pool: pool}, bounds.MaxBytes
	if pool != nil {
		if more = 0; len(pool.members) == 0 {
			more = pool.MaxBytes
		}
		pool.members = append(pool.members, m)
	}
	w.memories.add(name, m)
	if w.mu.bounded += more; w.limits.MaxPinnedBytes <= 0 {
		w.mu.maxPinned = max(w.limits.fullQueue(), w.mu.bounded/4)
	}
	return nil
}

// KeepNewest has a memory refuse, as Exhausted, what it would have to forget the newest
// state of another entity for, unless something else keeps what is refused.
func (w *WM) KeepNewest(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.memories.Get(name)
	if !ok {
		return engram.Errorf(engram.NotFound, name, "there is no such memory here")
	}
	m.keepsNewest = true
	return nil
}

// Epoch identifies this run of the working memory; it is never 0.
func (w *WM) Epoch() uint64 { return w.epoch }

// Number returns the number of the newest update that can be read; 0 if there was
// none.
func (w *WM) Number() uint64 { return w.number.Load() }

// Registry returns the types that the memory knows.
func (w *WM) Registry() *idf.Registry { return w.types }

// Now returns the time by the memory's clock.
func (w *WM) Now() engram.Time { return w.now() }

// Close ends all subscriptions; what waits in their queues can still be taken.
// Commits are refused from then on as Unavailable; reading goes on.
func (w *WM) Close() error {
	w.mu.Lock()
	w.mu.closed = true
	appended := w.lastSyncingLocked()
	w.mu.Unlock()
	for _, s := range appended { // it is in the journal: subscriptions are told of it yet
		w.finish(s)
	}
	w.mu.Lock()
	subs := w.mu.feed.takeAll()
	var owed notices
	w.mu.feed.wakeWatchers(&owed)
	w.mu.Unlock()
	owed.wakeUp()
	w.indexes.close()
	for _, s := range subs {
		s.queue.finish(errServerClosed, false)
	}
	return nil
}

// checkContext returns a Canceled error if ctx has ended.
func checkContext(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return canceled(ctx)
}

func canceled(ctx context.Context) error {
	return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
}

func checkBounds(id engram.ID, b engram.Bounds) error {
	if b.MaxCount < 0 || b.MaxAge < 0 || b.MaxBytes < 0 {
		return engram.Errorf(engram.Invalid, id.String(), "bounds %+v: none may be negative; 0 means no bound", b)
	}
	return nil
}
