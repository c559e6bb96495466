package mns

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Guard returns a name system behind the rules. Who may do nothing in a memory
// does not find its name, and does not hear that it was there; registering a memory, or
// copies of one, needs the right to administer it, and nobody registers as a server that
// another identity is.
func Guard(names Registry, rules *access.Control) Registry {
	return &guarded{inner: names, rules: rules, leases: map[uint64]registrant{}}
}

type guarded struct {
	inner Registry
	rules *access.Control

	mu     sync.Mutex
	leases map[uint64]registrant // by whom each was got
}

// registrant is who has registered, as which server.
type registrant struct {
	id     access.Identity
	server string
}

func (n *guarded) Register(ctx context.Context, r Registration) (Lease, error) {
	for _, m := range slices.Concat(r.Memories, r.Copies) {
		id, err := engram.NewID(m)
		if err != nil {
			return Lease{}, err
		}
		if err := n.rules.Permit(ctx, access.Need{Actions: access.Admin, On: id}); err != nil {
			return Lease{}, err
		}
	}
	if err := n.itself(ctx, r.Server); err != nil {
		return Lease{}, err
	}
	lease, err := n.inner.Register(ctx, r)
	if err != nil {
		return lease, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.leases) >= MaxEntries {
		clear(n.leases) // those who renew are told that their lease is over, and register again
	}
	maps.DeleteFunc(n.leases, func(_ uint64, old registrant) bool { return old.server == r.Server })
	n.leases[lease.ID] = registrant{access.IdentityOf(ctx), r.Server}
	for _, m := range r.Memories {
		n.rules.Administers(ctx, m, "register as server "+r.Server)
	}
	return lease, nil
}

// itself reports, as an error, whether an identity would register as a server that is
// another's: the names of that one would be given up.
func (n *guarded) itself(ctx context.Context, server string) error {
	if n.rules.May(ctx, access.Admin, engram.ID{}) {
		return nil
	}
	entries, err := n.inner.List(ctx)
	if err != nil {
		return err
	}
	isServer := func(c Copy) bool { return c.Server == server }
	if !slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Server == server || slices.ContainsFunc(e.Copies, isServer)
	}) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.leases {
		if l == (registrant{access.IdentityOf(ctx), server}) {
			return nil
		}
	}
	return n.rules.Permit(ctx, access.Need{Actions: access.Admin, Thing: "server " + server})
}

// owns reports whether the identity of a call has got the lease.
func (n *guarded) owns(ctx context.Context, lease uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, ok := n.leases[lease]
	return ok && l.id == access.IdentityOf(ctx)
}

func (n *guarded) Renew(ctx context.Context, lease uint64) error {
	if !n.owns(ctx, lease) {
		return engram.Errorf(engram.NotFound, "", "there is no such lease; register again")
	}
	return n.inner.Renew(ctx, lease)
}

func (n *guarded) Release(ctx context.Context, lease uint64) error {
	if !n.owns(ctx, lease) {
		return nil
	}
	n.mu.Lock()
	delete(n.leases, lease)
	n.mu.Unlock()
	return n.inner.Release(ctx, lease)
}

func (n *guarded) Resolve(ctx context.Context, memory string) (Entry, error) {
	if n.rules.Knows(ctx, memory) {
		e, err := n.inner.Resolve(ctx, memory)
		left, has := HasLeft(err)
		switch {
		case has && !n.rules.Knows(ctx, left.Memory): // as below
		case engram.CodeOf(err) == engram.NotFound:
		case err == nil && !n.rules.Knows(ctx, e.Memory): // by a name that it has elsewhere
		default:
			return e, err
		}
	}
	return Entry{}, n.unknown(ctx, memory)
}

// unknown is the error for a name that there is not; it names only what the identity
// may know.
func (n *guarded) unknown(ctx context.Context, memory string) error {
	entries, err := n.List(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, e := range entries {
		known = append(known, e.Memory)
	}
	return Unknown(memory, known)
}

func (n *guarded) Wait(ctx context.Context, memory string) (Entry, error) {
	if n.rules.Knows(ctx, memory) {
		if e, err := n.inner.Wait(ctx, memory); err != nil || n.rules.Knows(ctx, e.Memory) {
			return e, err
		}
	}
	<-ctx.Done()
	return Entry{}, engram.Errorf(engram.Canceled, memory, "given up waiting for the memory: %w", ctx.Err())
}

func (n *guarded) List(ctx context.Context) ([]Entry, error) {
	entries, err := n.inner.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if n.rules.Knows(ctx, e.Memory) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (n *guarded) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, end, err := n.rules.Bound(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer end()
		for e, err := range n.inner.Watch(ctx) {
			if err != nil {
				yield(Event{}, access.Cause(ctx, err))
				return
			}
			if !e.Synced && !n.rules.Knows(ctx, e.Entry.Memory) {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
