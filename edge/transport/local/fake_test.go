package local

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
)

// fake is a memory server with just enough in it to be asked over a connection:
// each entity's newest snapshot, and subscriptions to everything.
type fake struct {
	feature.Server // nil: what is not here must not be called

	commitHook func(ctx context.Context, c engram.Commit) error // if set, before storing

	mu struct {
		sync.Mutex
		number uint64
		latest map[engram.ID]*engram.Snapshot
		subs   map[*fakeStream]struct{}
	}
}

func newFake() *fake {
	f := &fake{}
	f.mu.latest = map[engram.ID]*engram.Snapshot{}
	f.mu.subs = map[*fakeStream]struct{}{}
	return f
}

func (f *fake) Epoch() uint64 { return 42 }

func (f *fake) Number() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.number
}

func (f *fake) MemoriesFor(context.Context) []string { return nil }

func (f *fake) Features() []feature.Feature { return nil }

func (f *fake) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if f.commitHook != nil {
		if err := f.commitHook(ctx, c); err != nil {
			return nil, err
		}
	}
	results := make([]engram.UpdateResult, len(c.Updates))
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range c.Updates {
		u := &c.Updates[i]
		if u.Entity.Level() != engram.LevelEntity {
			results[i] = engram.UpdateResult{ID: u.Entity, Err: engram.Errorf(engram.Invalid, u.Entity.String(), "not an entity")}
			continue
		}
		f.mu.number++
		s := &engram.Snapshot{Time: u.Time, Arrived: u.Time + 1, Number: f.mu.number, Instances: append([]engram.Instance(nil), u.Instances...)}
		f.mu.latest[u.Entity] = s
		id := u.Entity.At(u.Time)
		results[i] = engram.UpdateResult{ID: id, Number: s.Number}
		for sub := range f.mu.subs {
			sub.add(engram.Update{Number: s.Number, ID: id, Arrived: s.Arrived, Snapshot: s})
		}
	}
	return results, nil
}

func (f *fake) Latest(_ context.Context, entity engram.ID) (*engram.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.mu.latest[entity]; s != nil {
		return s, nil
	}
	return nil, engram.Errorf(engram.NotFound, entity.String(), "no snapshot")
}

func (f *fake) Subscribe(_ context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	queue := s.Queue
	if queue == 0 {
		queue = 1024
	}
	st := &fakeStream{f: f, queue: queue, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.subs[st] = struct{}{}
	return st, nil
}

type fakeStream struct {
	f     *fake
	queue int
	ready chan struct{}
	batch []engram.Update
	mu    struct {
		sync.Mutex
		waiting []engram.Update
		dropped uint64
		closed  bool
	}
}

func (s *fakeStream) add(u engram.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.waiting) == s.queue {
		s.mu.dropped += 1 + s.mu.waiting[0].Dropped
		copy(s.mu.waiting, s.mu.waiting[1:])
		s.mu.waiting = s.mu.waiting[:len(s.mu.waiting)-1]
	}
	if len(s.mu.waiting) == 0 {
		u.Dropped, s.mu.dropped = s.mu.dropped, 0
	}
	s.mu.waiting = append(s.mu.waiting, u)
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *fakeStream) Next(ctx context.Context) ([]engram.Update, error) {
	for {
		s.mu.Lock()
		n := min(len(s.mu.waiting), maxBatch)
		if n > 0 {
			s.batch = append(s.batch[:0], s.mu.waiting[:n]...)
			s.mu.waiting = append(s.mu.waiting[:0], s.mu.waiting[n:]...)
			s.batch[0].Dropped += s.mu.dropped
			s.mu.dropped = 0
		}
		closed := s.mu.closed
		s.mu.Unlock()
		switch {
		case n > 0:
			return s.batch, nil
		case closed:
			return nil, engram.Errorf(engram.Canceled, "", "closed")
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, engram.Errorf(engram.Canceled, "", "given up: %w", ctx.Err())
		}
	}
}

func (s *fakeStream) Epoch() uint64 { return 42 }

func (s *fakeStream) Close() error {
	s.f.mu.Lock()
	delete(s.f.mu.subs, s)
	s.f.mu.Unlock()
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
	return nil
}
