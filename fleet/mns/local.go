package mns

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Local is the registry of one process. It has no goroutines; leases expire by
// timers.
type Local struct {
	robot   string
	mu      sync.Mutex
	table   Table
	left    Departures
	holder  map[string]uint64
	leases  map[uint64]*lease
	changed chan struct{} // closed and replaced at each change
	closed  bool
}

type lease struct {
	Lease
	server   string
	memories []string
	expiry   *time.Timer
	deadline time.Time
}

// NewLocal returns an empty registry of a robot without a name.
func NewLocal() *Local { return NewLocalOf("") }

// NewLocalOf returns an empty registry of a robot, whose memories are then found by
// the names that they have for others, too: "robot1:Object".
func NewLocalOf(robot string) *Local {
	return &Local{
		robot:  robot,
		holder: map[string]uint64{}, leases: map[uint64]*lease{},
		changed: make(chan struct{}),
	}
}

// Register implements [Registry].
func (l *Local) Register(ctx context.Context, r Registration) (Lease, error) {
	if err := r.Check(); err != nil {
		return Lease{}, err
	}
	memories := slices.Compact(slices.Sorted(slices.Values(r.Memories)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.aliveLocked(ctx); err != nil {
		return Lease{}, err
	}
	fresh := 0
	for _, m := range memories {
		held, ok := l.table.Hosted(m)
		if ok && held.Server != r.Server {
			return Lease{}, Taken(held, r)
		}
		if !ok {
			fresh++
		}
	}
	if n := l.table.Len(); n+fresh+len(r.Copies) > MaxEntries {
		return Lease{}, engram.Errorf(engram.Exhausted, r.Server, "the name system holds %d memories; at most %d are allowed", n, MaxEntries)
	}
	for id, old := range l.leases {
		if old.server == r.Server {
			l.dropLocked(id, memories)
		}
	}
	ls := &lease{server: r.Server, memories: memories}
	ls.TTL = min(max(cmp.Or(r.TTL, DefaultTTL), MinTTL), MaxTTL)
	for ls.ID == 0 || l.leases[ls.ID] != nil {
		ls.ID = rand.Uint64() // not to be mistaken for a lease of an earlier epoch
	}
	ls.deadline = time.Now().Add(ls.TTL)
	ls.expiry = time.AfterFunc(ls.TTL, func() { l.expire(ls) })
	l.leases[ls.ID] = ls
	for _, m := range memories {
		l.table.Host(Entry{Memory: m, Addresses: slices.Clone(r.Addresses), Server: r.Server, Robot: l.robot})
		l.holder[m] = ls.ID
	}
	held := r.HeldCopies()
	for m, c := range held {
		c.Robot = l.robot
		held[m] = c
	}
	l.table.Hold(r.Server, held)
	l.wakeLocked()
	return ls.Lease, nil
}

// dropLocked ends a lease. The names in keep stay, for the lease that follows.
func (l *Local) dropLocked(id uint64, keep []string) {
	ls := l.leases[id]
	ls.expiry.Stop()
	delete(l.leases, id)
	for _, m := range ls.memories {
		if l.holder[m] == id && !slices.Contains(keep, m) {
			l.table.Unhost(m)
			l.left.Note(m, ls.server)
			delete(l.holder, m)
		}
	}
	l.table.Hold(ls.server, nil)
}

func (l *Local) expire(ls *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[ls.ID] != ls {
		return
	}
	// A renewal may have come between the timer's firing and the lock.
	if left := time.Until(ls.deadline); left > 0 {
		ls.expiry.Reset(left)
		return
	}
	l.dropLocked(ls.ID, nil)
	l.wakeLocked()
}

// Renew implements [Registry].
func (l *Local) Renew(ctx context.Context, id uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.aliveLocked(ctx); err != nil {
		return err
	}
	ls := l.leases[id]
	if ls == nil {
		return engram.Errorf(engram.NotFound, "", "the lease has expired or is of an earlier epoch of the name system; register again")
	}
	ls.deadline = time.Now().Add(ls.TTL)
	ls.expiry.Reset(ls.TTL)
	return nil
}

// Release implements [Registry].
func (l *Local) Release(ctx context.Context, id uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.aliveLocked(ctx); err != nil {
		return err
	}
	if l.leases[id] != nil {
		l.dropLocked(id, nil)
		l.wakeLocked()
	}
	return nil
}

// Resolve implements [Registry].
func (l *Local) Resolve(ctx context.Context, memory string) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.aliveLocked(ctx); err != nil {
		return Entry{}, err
	}
	return l.resolveLocked(memory)
}

func (l *Local) resolveLocked(memory string) (Entry, error) {
	if robot, name := engram.SplitName(memory); robot != "" && robot == l.robot {
		memory = name
	}
	if e, ok := l.table.Entry(memory); ok {
		return e, nil
	}
	return Entry{}, l.left.Unknown(memory, slices.Sorted(maps.Keys(l.table.All())))
}

// Wait implements [Registry].
func (l *Local) Wait(ctx context.Context, memory string) (Entry, error) {
	if err := engram.CheckName(memory); err != nil {
		return Entry{}, err
	}
	for {
		l.mu.Lock()
		err := l.aliveLocked(ctx)
		e, missing := l.resolveLocked(memory)
		changed := l.changed
		l.mu.Unlock()
		if err != nil {
			return Entry{}, err
		}
		if missing == nil {
			return e, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Entry{}, engram.Errorf(engram.Canceled, memory, "given up waiting for the memory to be registered: %w", ctx.Err())
		}
	}
}

// List implements [Registry].
func (l *Local) List(ctx context.Context) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.aliveLocked(ctx); err != nil {
		return nil, err
	}
	return Sorted(l.table.All()), nil
}

// Watch implements [Registry]. A slow watcher costs nothing: what it is told is
// the difference between the registry and what it knows already.
func (l *Local) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		known := map[string]Entry{}
		for synced := false; ; {
			l.mu.Lock()
			err := l.aliveLocked(ctx)
			now := l.table.All()
			changed := l.changed
			l.mu.Unlock()
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, ev := range Changes(known, now) {
				if !yield(ev, nil) {
					return
				}
			}
			if !synced && !yield(Event{Synced: true}, nil) {
				return
			}
			known, synced = now, true
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// Close ends all leases, waiters and watchers; what is called afterwards returns
// Unavailable.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for id := range l.leases {
		l.dropLocked(id, nil)
	}
	l.wakeLocked()
	return nil
}

func (l *Local) wakeLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Local) aliveLocked(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return engram.Errorf(engram.Canceled, "", "the call to the name system was given up: %w", err)
	}
	if l.closed {
		return engram.Errorf(engram.Unavailable, "", "the name system is closed")
	}
	return nil
}
