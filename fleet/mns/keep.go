package mns

import (
	"context"
	"maps"
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

	mu        sync.Mutex // also of registration
	lease     Lease      // the zero lease while a standby waits
	err       error
	elsewhere map[string]string // what it yields, and to which servers

	registering sync.Mutex           // held, before mu, while it registers and tells Yields of that
	gone        map[string]time.Time // since when nobody has a name of elsewhere
}

// Keep registers r and keeps it registered until [Kept.Close]: it renews the lease
// three times in its TTL, and registers again when the name system has lost it, by
// a restart or because it was out of reach for too long. A standby whose names are
// held registers as soon as they are free, as does a server with what it yields. The
// error is that of the first registration; ctx bounds only that.
func Keep(ctx context.Context, registry Registry, r Registration) (*Kept, error) {
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Kept{
		registry: registry, registration: r, cancel: cancel, done: make(chan struct{}),
		active: make(chan struct{}), again: make(chan struct{}, 1),
	}
	lease, err := k.register(ctx, nil)
	if err != nil && !(r.Standby && engram.CodeOf(err) == engram.Conflict) {
		cancel()
		return nil, err
	}
	if k.lease, k.err = lease, err; err == nil {
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
		before, _ := k.state()
		interval := max(before.TTL, MinTTL) / 3
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
		k.registering.Lock()
		lease, _ := k.state()
		waiting := lease.ID == 0
		var err error
		if !waiting && !changed {
			err = k.registry.Renew(call, lease.ID) // first, so that nothing keeps it from that
		}
		lost := engram.CodeOf(err) == engram.NotFound
		elsewhere, free := k.Elsewhere(), false
		if err == nil || lost {
			elsewhere, free = k.stillElsewhere(call)
		}
		if waiting || changed || lost || free {
			again, failed := k.register(call, elsewhere)
			switch {
			case failed == nil:
				lease, err = again, nil
			case waiting || changed || lost: // else it has what it had, and the next turn tries again
				err = failed
			}
			if failed != nil && changed && !waiting {
				k.tell() // at the next turn, too
			}
		}
		k.mu.Lock()
		k.lease, k.err = lease, err
		k.mu.Unlock()
		k.registering.Unlock()
		cancel()
		if err != nil && changed && !waiting {
			select {
			case <-time.After(MinTTL / 3):
			case <-ctx.Done():
				return
			}
		}
		if waiting && err == nil {
			close(k.active)
		}
	}
}

// register registers all but the memories that are known to be elsewhere, and those that turn
// out to be and may be.
func (k *Kept) register(ctx context.Context, elsewhere map[string]string) (Lease, error) {
	wanted := k.current()
	elsewhere = maps.Clone(elsewhere)
	for {
		r := wanted
		r.Memories = slices.DeleteFunc(slices.Clone(r.Memories), func(m string) bool { return elsewhere[m] != "" })
		lease, err := k.registry.Register(ctx, r)
		if err == nil {
			k.setElsewhere(elsewhere)
			return lease, nil
		}
		if wanted.Yields == nil || engram.CodeOf(err) != engram.Conflict {
			return lease, err
		}
		all, listErr := k.registry.List(ctx)
		if listErr != nil {
			return lease, err
		}
		before := len(elsewhere)
		for _, e := range all {
			if e.Server != "" && e.Server != r.Server && slices.Contains(r.Memories, e.Memory) && wanted.Yields.MayYield(e.Memory) {
				if elsewhere == nil {
					elsewhere = map[string]string{}
				}
				elsewhere[e.Memory] = e.Server
			}
		}
		if len(elsewhere) == before {
			return lease, err
		}
	}
}

// stillElsewhere returns what it yields and still has to, and whether some of it is free. A
// name is not while its server may be about to come back.
func (k *Kept) stillElsewhere(ctx context.Context) (still map[string]string, free bool) {
	still = k.Elsewhere()
	maps.DeleteFunc(k.gone, func(m string, _ time.Time) bool { return still[m] == "" })
	if len(still) == 0 {
		return still, false
	}
	all, err := k.registry.List(ctx)
	if err != nil {
		return still, false
	}
	servers := map[string]string{}
	for _, e := range all {
		servers[e.Memory] = e.Server // "" if there are copies only
	}
	for m := range still {
		server := servers[m]
		if server != "" && server != k.registration.Server {
			still[m] = server
			delete(k.gone, m)
			continue
		}
		since, ok := k.gone[m]
		switch {
		case server != "", ok && time.Since(since) >= TakeoverTime: // its own is of an attempt whose answer was lost
			delete(still, m)
			free = true
		case !ok:
			if k.gone == nil {
				k.gone = map[string]time.Time{}
			}
			k.gone[m] = time.Now()
		}
	}
	return still, free
}

// Elsewhere returns the memories that are yielded, and the servers that have them.
func (k *Kept) Elsewhere() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.elsewhere)
}

// setElsewhere is called by who registers.
func (k *Kept) setElsewhere(elsewhere map[string]string) {
	k.mu.Lock()
	same := maps.Equal(k.elsewhere, elsewhere)
	k.elsewhere = elsewhere
	yields := k.registration.Yields
	k.mu.Unlock()
	if !same {
		yields.Yielded(maps.Clone(elsewhere))
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

// SetMemories registers anew with other memories, and goes on to want those that are yielded.
// They are asked for once, when what is yielded does not change any more. After an error, such
// as Conflict if another server hosts one of them, the registration is as it was; Unavailable
// if it is not active, or the name system does not answer.
func (k *Kept) SetMemories(ctx context.Context, memories func() []string) error {
	k.registering.Lock()
	defer k.registering.Unlock()
	k.mu.Lock()
	r, held := k.registration, k.lease
	k.mu.Unlock()
	if held.ID == 0 {
		return engram.Errorf(engram.Unavailable, r.Server, "the server waits for its names; try again when it has them")
	}
	r.Memories = slices.Clone(memories())
	call, cancel := context.WithTimeout(ctx, max(held.TTL, MinTTL)/3)
	defer cancel()
	lease, err := k.registry.Register(call, r)
	switch {
	case err != nil && call.Err() != nil && ctx.Err() == nil:
		return engram.Errorf(engram.Unavailable, r.Server, "the name system does not answer; try again: %w", err)
	case err != nil:
		return err
	}
	elsewhere := k.Elsewhere()
	maps.DeleteFunc(elsewhere, func(m, _ string) bool { return slices.Contains(r.Memories, m) })
	k.mu.Lock()
	k.registration.Memories, k.lease = slices.AppendSeq(slices.Clone(r.Memories), maps.Keys(elsewhere)), lease
	k.mu.Unlock()
	k.setElsewhere(elsewhere)
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
