package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// nameHandler implements NameService.
type nameHandler struct{ *Handler }

func (h nameHandler) register(ctx context.Context, r *engramv1.RegisterRequest) (*engramv1.RegisterResponse, error) {
	lease, err := h.names.Register(ctx, mns.Registration{
		Server: r.GetServer(), Memories: r.GetMemories(), Addresses: r.GetAddresses(), TTL: time.Duration(r.GetTtlNanos()),
		Copies: r.GetCopies(),
	})
	return &engramv1.RegisterResponse{Lease: lease.ID, TtlNanos: int64(lease.TTL)}, err
}

func (h nameHandler) renew(ctx context.Context, r *engramv1.RenewRequest) (*engramv1.RenewResponse, error) {
	return &engramv1.RenewResponse{}, h.names.Renew(ctx, r.GetLease())
}

func (h nameHandler) release(ctx context.Context, r *engramv1.ReleaseRequest) (*engramv1.ReleaseResponse, error) {
	return &engramv1.ReleaseResponse{}, h.names.Release(ctx, r.GetLease())
}

func (h nameHandler) resolve(ctx context.Context, r *engramv1.ResolveRequest) (*engramv1.ResolveResponse, error) {
	find := h.names.Resolve
	if r.GetWait() {
		// A waiting call must not keep a stopping server up.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.draining, cancel)()
		find = h.names.Wait
	}
	e, err := find(ctx, r.GetMemory())
	if err != nil && h.draining.Err() != nil {
		err = errDraining()
	}
	return &engramv1.ResolveResponse{Entry: entryMessage(e)}, err
}

func (h nameHandler) listNames(ctx context.Context, _ *engramv1.ListNamesRequest) (*engramv1.ListNamesResponse, error) {
	entries, err := h.names.List(ctx)
	m := &engramv1.ListNamesResponse{}
	for _, e := range entries {
		m.Entries = append(m.Entries, entryMessage(e))
	}
	return m, err
}

func (h nameHandler) watchNames(ctx context.Context, _ *engramv1.WatchNamesRequest, send func(*engramv1.WatchNamesResponse) error) error {
	for e, err := range h.names.Watch(ctx) {
		if err != nil {
			return err
		}
		if err := send(&engramv1.WatchNamesResponse{Entry: entryMessage(e.Entry), Removed: e.Removed, Synced: e.Synced}); err != nil {
			return err
		}
	}
	return nil
}

// WatchRevocations tells what the access rules say is revoked. Whoever is let in may know:
// they must leave servers that are.
func (h nameHandler) watchRevocations(ctx context.Context, _ *engramv1.WatchRevocationsRequest, send func(*engramv1.WatchRevocationsResponse) error) error {
	rules := h.o.Secure.Access
	if rules == nil {
		rules = access.New(access.Options{})
	}
	var last *engramv1.WatchRevocationsResponse
	for {
		changed := rules.Changed() // before what it is about is read
		m := &engramv1.WatchRevocationsResponse{}
		for _, r := range rules.Table().Policy().Revoked {
			if r.Serial != "" {
				m.Serials = append(m.Serials, r.Serial)
			} else {
				m.Identities = append(m.Identities, string(r.Identity))
			}
		}
		if last == nil || !proto.Equal(m, last) {
			last = m
			if err := send(m); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
