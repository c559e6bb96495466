package access

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
)

// GuardNames returns a name system behind the rules. Who may do nothing in a memory
// does not find its name, and does not hear that it was there; registering a memory, or
// copies of one, needs the right to administer it, and nobody registers as a server that
// another identity is.
func GuardNames(names mns.Registry, c *Control) mns.Registry {
	return &guardedNames{inner: names, c: c, leases: map[uint64]registrant{}}
}

type guardedNames struct {
	inner mns.Registry
	c     *Control

	mu     sync.Mutex
	leases map[uint64]registrant // by whom each was got
}

// registrant is who has registered, as which server.
type registrant struct {
	id     Identity
	server string
}

func (n *guardedNames) grant(ctx context.Context) *grant {
	return n.c.table.Load().grant(IdentityOf(ctx))
}

func (n *guardedNames) Register(ctx context.Context, r mns.Registration) (mns.Lease, error) {
	gr := n.grant(ctx)
	for _, m := range slices.Concat(r.Memories, r.Copies) {
		id, err := engram.NewID(m)
		if err != nil {
			return mns.Lease{}, err
		}
		if !gr.may(Admin, id) {
			return mns.Lease{}, n.c.forbidden(gr.id, Admin, m)
		}
	}
	if err := n.itself(ctx, gr, r.Server); err != nil {
		return mns.Lease{}, err
	}
	lease, err := n.inner.Register(ctx, r)
	if err != nil {
		return lease, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.leases) >= mns.MaxEntries {
		clear(n.leases) // those who renew are told that their lease is over, and register again
	}
	maps.DeleteFunc(n.leases, func(_ uint64, old registrant) bool { return old.server == r.Server })
	n.leases[lease.ID] = registrant{gr.id, r.Server}
	for _, m := range r.Memories {
		n.c.note(Event{Kind: EventAdmin, Identity: gr.id, Action: Admin, Thing: m, Text: "register as server " + r.Server})
	}
	return lease, nil
}

// itself reports, as an error, whether an identity would register as a server that is
// another's: the names of that one would be given up.
func (n *guardedNames) itself(ctx context.Context, gr *grant, server string) error {
	if gr.may(Admin, engram.ID{}) {
		return nil
	}
	entries, err := n.inner.List(ctx)
	if err != nil {
		return err
	}
	isServer := func(c mns.Copy) bool { return c.Server == server }
	if !slices.ContainsFunc(entries, func(e mns.Entry) bool {
		return e.Server == server || slices.ContainsFunc(e.Copies, isServer)
	}) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.leases {
		if l == (registrant{gr.id, server}) {
			return nil
		}
	}
	return n.c.forbidden(gr.id, Admin, "server "+server)
}

// owns reports whether the identity of a call has got the lease.
func (n *guardedNames) owns(ctx context.Context, lease uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, ok := n.leases[lease]
	return ok && l.id == IdentityOf(ctx)
}

func (n *guardedNames) Renew(ctx context.Context, lease uint64) error {
	if !n.owns(ctx, lease) {
		return engram.Errorf(engram.NotFound, "", "there is no such lease; register again")
	}
	return n.inner.Renew(ctx, lease)
}

func (n *guardedNames) Release(ctx context.Context, lease uint64) error {
	if !n.owns(ctx, lease) {
		return nil
	}
	n.mu.Lock()
	delete(n.leases, lease)
	n.mu.Unlock()
	return n.inner.Release(ctx, lease)
}

func (n *guardedNames) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	gr := n.grant(ctx)
	if gr.knowsMemory(memory) {
		e, err := n.inner.Resolve(ctx, memory)
		left, has := mns.HasLeft(err)
		switch {
		case has && !gr.knowsMemory(left.Memory): // as below
		case engram.CodeOf(err) == engram.NotFound:
		case err == nil && !gr.knowsMemory(e.Memory): // by a name that it has elsewhere
		default:
			return e, err
		}
	}
	return mns.Entry{}, n.unknown(ctx, memory)
}

// unknown is the error for a name that there is not; it names only what the identity
// may know.
func (n *guardedNames) unknown(ctx context.Context, memory string) error {
	entries, err := n.List(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, e := range entries {
		known = append(known, e.Memory)
	}
	return mns.Unknown(memory, known)
}

func (n *guardedNames) Wait(ctx context.Context, memory string) (mns.Entry, error) {
	gr := n.grant(ctx)
	if gr.knowsMemory(memory) {
		if e, err := n.inner.Wait(ctx, memory); err != nil || gr.knowsMemory(e.Memory) {
			return e, err
		}
	}
	<-ctx.Done()
	return mns.Entry{}, engram.Errorf(engram.Canceled, memory, "given up waiting for the memory: %w", ctx.Err())
}

func (n *guardedNames) List(ctx context.Context) ([]mns.Entry, error) {
	gr := n.grant(ctx)
	entries, err := n.inner.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]mns.Entry, 0, len(entries))
	for _, e := range entries {
		if gr.knowsMemory(e.Memory) {
			out = append(out, e)
		}
	}
	return out, nil
}

func (n *guardedNames) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		ctx, end, err := n.c.Bound(ctx)
		if err != nil {
			yield(mns.Event{}, err)
			return
		}
		defer end()
		gr := n.grant(ctx)
		for e, err := range n.inner.Watch(ctx) {
			if err != nil {
				yield(mns.Event{}, Cause(ctx, err))
				return
			}
			if !e.Synced && !gr.knowsMemory(e.Entry.Memory) {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
