package intake

import (
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Budget bounds the bytes that all messages take which a server takes in at once. It
// has two halves: one for messages that are being read, one for those that are decoded
// and worked on. Who has room in the second never waits for room in the first, so they
// come to an end. Safe for concurrent use.
type Budget struct {
	half     int64
	patience time.Duration
	mu       struct {
		sync.Mutex
		used    [2]int64
		waiting [2][]*waiter // first come, first served
	}
}

type waiter struct {
	bytes int64
	ready chan struct{} // closed when it has room
}

// stage is a half of the budget.
type stage int

const (
	reading stage = iota
	working
)

// free is how many bytes a message may take without counting: small ones are bounded by
// the connections and streams that there may be.
const free = 16 << 10

// DefaultPatience is how long a message waits for room.
const DefaultPatience = 5 * time.Second

// NewBudget returns a budget of bytes; who finds no room waits for as long as patience.
func NewBudget(bytes int64, patience time.Duration) *Budget {
	return &Budget{half: max(bytes/2, 2*free), patience: patience}
}

// Most returns how many bytes one message may take when it is decoded.
func (b *Budget) Most() int64 { return b.half }

// Used returns how many bytes are taken.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.used[reading] + b.mu.used[working]
}

// Lease is what one call has of a budget. The zero lease of a nil budget has no bound.
// It is not safe for concurrent use.
type Lease struct {
	budget *Budget
	has    [2]int64
}

// Lease returns a lease of nothing yet.
func (b *Budget) Lease() Lease { return Lease{budget: b} }

// Read takes room for a message of which so many bytes have been or are about to be read.
// It may be called again as the message grows. The error is Exhausted if there is no room
// and none became free in time, Canceled if ctx ended.
func (l *Lease) Read(ctx context.Context, bytes int64) error { return l.grow(ctx, reading, bytes) }

// Work takes room for a message that takes so many bytes when it is decoded.
func (l *Lease) Work(ctx context.Context, bytes int64) error { return l.grow(ctx, working, bytes) }

func (l *Lease) grow(ctx context.Context, s stage, to int64) error {
	if l.budget == nil || to <= free || to <= l.has[s] {
		return nil
	}
	if err := l.budget.take(ctx, s, to-l.has[s]); err != nil {
		return err
	}
	l.has[s] = to
	return nil
}

// Release gives back what the lease has.
func (l *Lease) Release() {
	for s, n := range l.has {
		if n > 0 {
			l.budget.give(stage(s), n)
			l.has[s] = 0
		}
	}
}

func (b *Budget) take(ctx context.Context, s stage, n int64) error {
	b.mu.Lock()
	if n > b.half {
		b.mu.Unlock()
		return engram.Errorf(engram.Exhausted, "", "a message takes %d bytes to decode; at most %d are allowed; split it", n, b.half)
	}
	if len(b.mu.waiting[s]) == 0 && b.mu.used[s]+n <= b.half {
		b.mu.used[s] += n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{bytes: n, ready: make(chan struct{})}
	b.mu.waiting[s] = append(b.mu.waiting[s], w)
	b.mu.Unlock()
	timer := time.NewTimer(b.patience)
	defer timer.Stop()
	var err error
	select {
	case <-w.ready:
		return nil
	case <-timer.C:
		err = engram.Errorf(engram.Exhausted, "", "the server has been decoding as many bytes at once as it may for %v; try again, with smaller messages or fewer at once", b.patience)
	case <-ctx.Done():
		err = engram.Errorf(engram.Canceled, "", "the call was given up while its message waited to be decoded: %w", ctx.Err())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.mu.waiting[s] {
		if other == w {
			b.mu.waiting[s] = append(b.mu.waiting[s][:i:i], b.mu.waiting[s][i+1:]...)
			b.wake(s) // who waits behind it may need less
			return err
		}
	}
	return nil // it got room at the same moment
}

func (b *Budget) give(s stage, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used[s] -= n
	b.wake(s)
}

// wake lets those who wait have room, in their order. It is called under the lock.
func (b *Budget) wake(s stage) {
	for len(b.mu.waiting[s]) > 0 {
		w := b.mu.waiting[s][0]
		if b.mu.used[s]+w.bytes > b.half {
			return
		}
		b.mu.used[s] += w.bytes
		b.mu.waiting[s] = b.mu.waiting[s][1:]
		close(w.ready)
	}
}
