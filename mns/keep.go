package mns

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Kept is a registration that is kept alive in the background. Make one with
// [Keep].
type Kept struct {
	registry     Registry
	registration Registration
	cancel       context.CancelFunc
	done         chan struct{}

	active chan struct{} // closed when the names are registered for the first time
	again  chan struct{} // holds a token when the registration has changed

	mu    sync.Mutex // also of registration
	lease Lease      // the zero lease while a standby waits
	err   error
}

// Keep registers r and keeps it registered until [Kept.Close]: it renews the lease
// three times in its TTL, and registers again when the name system has lost it, by
// a restart or because it was out of reach for too long. A standby whose names are
// held registers as soon as they are free. The error is that of the first
// registration; ctx bounds only that.
func Keep(ctx context.Context, registry Registry, r Registration) (*Kept, error) {
	lease, err := registry.Register(ctx, r)
	if err != nil && !(r.Standby && engram.CodeOf(err) == engram.Conflict) {
		return nil, err
	}
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Kept{
		registry: registry, registration: r, cancel: cancel, done: make(chan struct{}),
		active: make(chan struct{}), again: make(chan struct{}, 1), lease: lease, err: err,
	}
	if err == nil {
		close(k.active)
	}
	go k.run(loop)
	return k, nil
}

// Active is closed once the names are registered: at once, but for a standby that
// waits for them.
func (k *Kept) Active() <-chan struct{} { return k.active }

func (k *Kept) run(ctx context.Context) {
	defer close(k.done)
	began := time.Now() // of the last attempt: one that fails slowly leaves time for the next
	for {
		lease, _ := k.state()
		interval := max(lease.TTL, MinTTL) / 3
		changed := false
		select {
		case <-time.After(interval - time.Since(began)):
		case <-k.again:
			changed = true
		case <-ctx.Done():
			return
		}
		began = time.Now()
		call, cancel := context.WithTimeout(ctx, interval)
		waiting := lease.ID == 0
		var err error
		if !waiting && !changed {
			err = k.registry.Renew(call, lease.ID)
		}
		if waiting || changed || engram.CodeOf(err) == engram.NotFound {
			var again Lease
			if again, err = k.registry.Register(call, k.current()); err == nil {
				lease = again
			} else if changed && !waiting {
				k.tell() // at the next turn, too
			}
		}
		cancel()
		if err != nil && changed && !waiting {
			select {
			case <-time.After(MinTTL / 3):
			case <-ctx.Done():
				return
			}
		}
		k.mu.Lock()
		k.lease, k.err = lease, err
		k.mu.Unlock()
		if waiting && err == nil {
			close(k.active)
		}
	}
}

// SetCopies registers anew, in the background, with other copies.
func (k *Kept) SetCopies(copies []string) {
	k.mu.Lock()
	same := slices.Equal(k.registration.Copies, copies)
	k.registration.Copies = slices.Clone(copies)
	k.mu.Unlock()
	if !same {
		k.tell()
	}
}

// SetMemories registers anew with other memories. After an error, such as Conflict if another
// server hosts one of them, the registration is as it was; Unavailable if it is not active, or
// the name system does not answer.
func (k *Kept) SetMemories(ctx context.Context, memories []string) error {
	k.mu.Lock()
	r, held := k.registration, k.lease
	k.mu.Unlock()
	if held.ID == 0 {
		return engram.Errorf(engram.Unavailable, r.Server, "the server waits for its names; try again when it has them")
	}
	r.Memories = slices.Clone(memories)
	call, cancel := context.WithTimeout(ctx, max(held.TTL, MinTTL)/3)
	defer cancel()
	lease, err := k.registry.Register(call, r)
	switch {
	case err != nil && call.Err() != nil && ctx.Err() == nil:
		return engram.Errorf(engram.Unavailable, r.Server, "the name system does not answer; try again: %w", err)
	case err != nil:
		return err
	}
	k.mu.Lock()
	k.registration.Memories, k.lease = r.Memories, lease
	k.mu.Unlock()
	k.tell() // in case that a renewal came between
	return nil
}

// Copies returns the copies of which the registration tells.
func (k *Kept) Copies() []string { return slices.Clone(k.current().Copies) }

func (k *Kept) tell() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

func (k *Kept) current() Registration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.registration
}

func (k *Kept) state() (Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease, k.err
}

// Err returns why the last attempt to renew the registration failed, or nil: a
// Conflict if another server took a name while this one was away, or holds one that
// a standby waits for, Unavailable if the name system does not answer.
func (k *Kept) Err() error {
	_, err := k.state()
	return err
}

// Close stops the renewal and releases the names. It waits at most a second for
// the name system, whose lease runs out otherwise.
func (k *Kept) Close() error {
	k.cancel()
	<-k.done
	lease, _ := k.state()
	if lease.ID == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return k.registry.Release(ctx, lease.ID)
}
