package knowledge

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Budget is what all questions of a server may take together: memory, and turns on half of the
// processors. The other half is left to all else, however many questions there are. Safe for concurrent use.
type Budget struct {
	memory int64         // bytes; 0 is no bound
	turns  chan struct{} // holds a token of each question that computes
	taken  atomic.Int64  // bytes, since somebody looked for garbage

	mu struct {
		sync.Mutex
		held int64 // bytes, of all shares
	}

	collecting sync.Mutex // held by who looks for garbage
}

// NewBudget returns a budget of so many bytes; 0 is no bound.
func NewBudget(memory int64) *Budget {
	return &Budget{memory: memory, turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

const (
	// turnTime is how long a question goes on while others wait for their turn.
	turnTime = 2 * time.Millisecond
	// lookAfter is how many bytes questions take between two looks for garbage. Less than leastGarbage is not collected.
	lookAfter, leastGarbage = 16 << 20, 64 << 20
)

// Share is what one question has of a [Budget]. A nil share is that of a question that is alone: it has
// all that it wants. It is used by one goroutine.
type Share struct {
	of     *Budget
	held   int64 // bytes, with those that are kept
	kept   int64
	inTurn bool
	begun  time.Time // of the turn
}

// Share returns the share of a question that begins. It is to be ended.
func (b *Budget) Share() *Share { return &Share{of: b} }

type shareKey struct{}

// WithShare returns a context for a question that has a share.
func WithShare(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// ShareOf returns the share of the question that a context is for; nil if it is alone.
func ShareOf(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// Hold has the question hold so many bytes from now on, beside what it keeps. It is called before they are
// taken. A question may hold as much as it leaves free for others: the first one half of all, the next one half
// of the rest, and so on, so that there is always room for one more. The error says so.
func (s *Share) Hold(bytes int64) error {
	if s == nil || s.of.memory == 0 {
		return nil
	}
	bytes += s.kept
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if most := (b.memory - (b.mu.held - s.held)) / 2; bytes > s.held && bytes > most {
		return fmt.Errorf("it takes more than the %d MB of memory that other questions leave it, which are answered at present: ask again when they have ended, or for less", most>>20)
	}
	b.mu.held += bytes - s.held
	s.held = bytes
	return nil
}

// Keep has the question hold so many bytes more (or fewer, if bytes is negative) beside those of [Share.Hold], until it
// ends. The error is that of Hold; then it keeps nothing more.
func (s *Share) Keep(bytes int64) error {
	if s == nil {
		return nil
	}
	held := s.held - s.kept
	s.kept += bytes
	err := s.Hold(held)
	if err != nil {
		s.kept -= bytes
	}
	return err
}

// Take counts bytes that the question has allocated, garbage included. The server's garbage is collected once it is as
// large as all else: by itself the runtime of a server does that much later.
func (s *Share) Take(bytes int64) {
	if s != nil && s.of.taken.Add(bytes) >= lookAfter {
		s.of.collect()
	}
}

func (b *Budget) collect() {
	if !b.collecting.TryLock() {
		return
	}
	defer b.collecting.Unlock()
	b.taken.Store(0)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if all, live := sample[0].Value.Uint64(), sample[1].Value.Uint64(); all > live+max(live, leastGarbage) {
		runtime.GC()
	}
}

// Begin waits for a turn: from then on the question may compute, and must not wait for anything. Turns come in
// the order in which they are asked for. The error is Canceled.
func (s *Share) Begin(ctx context.Context) error {
	if s == nil || s.inTurn {
		return nil
	}
	select {
	case s.of.turns <- struct{}{}:
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the question was given up: %w", ctx.Err())
	}
	s.inTurn, s.begun = true, time.Now()
	return nil
}

// Leave ends the turn, before the question waits for something.
func (s *Share) Leave() {
	if s != nil && s.inTurn {
		s.inTurn = false
		<-s.of.turns
	}
}

// Pause lets others have their turns, if this one has lasted long enough.
func (s *Share) Pause(ctx context.Context) error {
	if s == nil || !s.inTurn || time.Since(s.begun) < turnTime {
		return nil
	}
	s.Leave()
	runtime.Gosched()
	return s.Begin(ctx)
}

// End gives all back.
func (s *Share) End() {
	s.Leave()
	s.kept = 0
	_ = s.Hold(0) // less is never refused
}
