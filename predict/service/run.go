package service

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// MaxFollowed bounds the entities that are followed at a time.
	MaxFollowed = 256
	// waiting is how many updates may wait. Those that are lost are read all the same.
	waiting = 4096
	// pause is how long following rests after an error.
	pause = time.Second
	// gather is how long following rests after what it read: a commit does not wake it each time, and meets
	// caches that it has not emptied. Whoever asks for a prediction has what is new taken at once.
	gather = 10 * time.Millisecond
)

// Check refuses an update that asks for what cannot be followed: Invalid, or Exhausted
// where MaxFollowed are; and one that resets what is no entity: Invalid. It is for a Commit hook.
func (s *Service) Check(_ context.Context, u *engram.EntityUpdate) error {
	if u.Entity.CoreSegment() == ResetSegment {
		_, err := decodeReset(s.typeOf, u.Entity, &engram.Snapshot{Instances: u.Instances})
		return err
	}
	if u.Entity.CoreSegment() != FollowSegment {
		return nil
	}
	for i := range u.Instances {
		f, err := decodeFollowing(s.typeOf, &u.Instances[i].Payload)
		if err != nil {
			return err
		}
		if f.Enabled && s.full(f.Entity) {
			return engram.Errorf(engram.Exhausted, f.Entity.String(), "%d entities are followed, which is as many as can be", MaxFollowed)
		}
	}
	return nil
}

func (s *Service) full(of engram.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.entities {
		if e.pinned {
			n++
		}
	}
	e := s.entities[of]
	return n >= MaxFollowed && (e == nil || !e.pinned)
}

// follower follows entities; one goroutine uses it.
type follower struct {
	*Service
	svc    engram.Service
	asked  map[engram.ID]Following // by who asks: entities of Prediction/Follow
	of     map[engram.ID]bool      // that are followed
	stream engram.UpdateStream
	number uint64
}

// Run predicts the entities that the memory Prediction says are to be followed, and writes their
// scores and surprises, until ctx ends, and trains models of them while the CPU is free: wait returns the
// share of time in which a task waited for it.
func (s *Service) Run(ctx context.Context, svc engram.Service, wait func(time.Time) float64) error {
	var training sync.WaitGroup
	defer training.Wait()
	training.Go(func() {
		t := trainer{svc: svc, types: s.typeOf, wait: wait, after: map[engram.ID]engram.Time{}}
		t.run(ctx)
	})
	for {
		f := &follower{Service: s, svc: svc, asked: map[engram.ID]Following{}, of: map[engram.ID]bool{}}
		err := f.run(ctx)
		if f.stream != nil {
			_ = f.stream.Close() // it was only read
		}
		if ctx.Err() != nil {
			return nil
		}
		slog.Warn("following of entities begins anew", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (f *follower) run(ctx context.Context) error {
	segment, err := engram.NewID(Memory, FollowSegment)
	if err != nil {
		return err
	}
	patterns := []engram.Pattern{engram.PatternOf(segment)}
	if f.stream, err = f.svc.Subscribe(ctx, engram.Subscription{Patterns: patterns, WithData: true, Queue: waiting, Start: engram.Start{Kind: engram.StartLast, N: 1}}); err != nil {
		return err
	}
	for {
		updates, err := f.stream.Next(ctx)
		if err != nil {
			return err
		}
		changed := false
		var touched []engram.ID
		for _, u := range updates {
			f.number = max(f.number, u.Number)
			entity := u.ID.Truncate(engram.LevelEntity)
			switch {
			case u.Restarted:
				return engram.Errorf(engram.Unavailable, "", "the server began anew")
			case u.ID.Memory() == Memory && u.ID.CoreSegment() == FollowSegment:
				changed = f.ask(entity, u.Snapshot) || changed
			case f.of[entity] && !slices.Contains(touched, entity):
				touched = append(touched, entity)
			}
			if u.Dropped > 0 {
				for id := range f.of {
					if !slices.Contains(touched, id) {
						touched = append(touched, id)
					}
				}
			}
		}
		if changed {
			begun, err := f.change(ctx, patterns)
			if err != nil {
				return err
			}
			touched = append(touched, begun...)
		}
		for _, id := range touched {
			f.read(ctx, id)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gather):
		}
	}
}

// ask takes notice of what is to be followed.
func (f *follower) ask(by engram.ID, n *engram.Snapshot) bool {
	if n == nil || len(n.Instances) == 0 {
		return false
	}
	asked, err := decodeFollowing(f.typeOf, &n.Instances[0].Payload)
	if err != nil {
		return false // it was refused, or is of a version to come
	}
	f.asked[by] = asked
	return true
}

// change follows what is to be followed, and no more; begun are entities that were not followed so.
func (f *follower) change(ctx context.Context, patterns []engram.Pattern) (begun []engram.ID, err error) {
	want := map[engram.ID]Following{}
	var asking []engram.ID
	for by := range f.asked {
		asking = append(asking, by)
	}
	slices.SortFunc(asking, engram.ID.Compare)
	for _, by := range asking {
		if a := f.asked[by]; a.Enabled && len(want) < MaxFollowed {
			want[a.Entity] = a
		}
	}
	for of := range f.of {
		if _, ok := want[of]; !ok {
			f.pin(of, nil)
			delete(f.of, of)
		}
	}
	for of, a := range want {
		if f.pin(of, &a) {
			begun = append(begun, of)
		}
		f.of[of] = true
	}
	slices.SortFunc(begun, engram.ID.Compare)
	for of := range f.of {
		patterns = append(patterns, engram.PatternOf(of))
	}
	stream, err := f.svc.Subscribe(ctx, engram.Subscription{Patterns: patterns, WithData: true, Queue: waiting,
		Start: engram.Start{Kind: engram.StartNumber, Number: f.number, Epoch: f.stream.Epoch()}})
	if err != nil {
		return nil, err
	}
	_ = f.stream.Close() // it was only read
	f.stream = stream
	return begun, nil
}

// pin has an entity followed, or not any more, and reports whether it is followed anew.
func (s *Service) pin(of engram.ID, as *Following) bool {
	e := s.entity(of)
	e.mu.Lock()
	defer e.mu.Unlock()
	if as == nil {
		e.following = nil
		for _, l := range e.layouts {
			l.watch = nil
		}
	} else {
		f := as.inFull()
		if old := e.following; old != nil && old.Threshold == f.Threshold && slices.Equal(old.Horizons, f.Horizons) {
			return false
		}
		e.following, e.live = &f, false
		e.anew() // what is known is judged, too
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.pinned = as != nil
	if s.entities[of] == nil {
		s.entities[of] = e
	}
	return true
}

// read takes what is new of an entity, and writes what there is to tell.
func (f *follower) read(ctx context.Context, of engram.ID) {
	e := f.entity(of)
	e.mu.Lock()
	// What it cannot be predicted from says so when it is asked.
	_ = f.follow(ctx, of, e)
	f.bound(of, e)
	all := e.news
	e.news = nil
	e.mu.Unlock()
	var c engram.Commit
	for _, n := range all {
		id, err := about(n.segment, n.provider, of, n.more)
		if err == nil {
			var u engram.EntityUpdate
			if u, err = update(f.typeOf, id, n.at, n.typ, n.value); err == nil {
				c.Updates = append(c.Updates, u)
				continue
			}
		}
		slog.Warn("what predictions tell of an entity cannot be written", "entity", of.String(), "error", err)
	}
	if len(c.Updates) == 0 {
		return
	}
	results, err := f.svc.Commit(ctx, c)
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil && ctx.Err() == nil {
		slog.Warn("what predictions tell of an entity is not written", "entity", of.String(), "error", err)
	}
}
