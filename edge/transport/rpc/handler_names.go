package rpc

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// nameHandler implements NameService.
type nameHandler struct{ *Handler }

func (h nameHandler) Register(ctx context.Context, r *connect.Request[engramv1.RegisterRequest]) (*connect.Response[engramv1.RegisterResponse], error) {
	lease, err := h.names.Register(ctx, mns.Registration{
		Server: r.Msg.GetServer(), Memories: r.Msg.GetMemories(), Addresses: r.Msg.GetAddresses(), TTL: time.Duration(r.Msg.GetTtlNanos()),
		Copies: r.Msg.GetCopies(),
	})
	return answer(&engramv1.RegisterResponse{Lease: lease.ID, TtlNanos: int64(lease.TTL)}, err)
}

func (h nameHandler) Renew(ctx context.Context, r *connect.Request[engramv1.RenewRequest]) (*connect.Response[engramv1.RenewResponse], error) {
	return answer(&engramv1.RenewResponse{}, h.names.Renew(ctx, r.Msg.GetLease()))
}

func (h nameHandler) Release(ctx context.Context, r *connect.Request[engramv1.ReleaseRequest]) (*connect.Response[engramv1.ReleaseResponse], error) {
	return answer(&engramv1.ReleaseResponse{}, h.names.Release(ctx, r.Msg.GetLease()))
}

func (h nameHandler) Resolve(ctx context.Context, r *connect.Request[engramv1.ResolveRequest]) (*connect.Response[engramv1.ResolveResponse], error) {
	find := h.names.Resolve
	if r.Msg.GetWait() {
		// A waiting call must not keep a stopping server up.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.draining, cancel)()
		find = h.names.Wait
	}
	e, err := find(ctx, r.Msg.GetMemory())
	if err != nil && h.draining.Err() != nil {
		err = errDraining()
	}
	return answer(&engramv1.ResolveResponse{Entry: entryMessage(e)}, err)
}

func (h nameHandler) ListNames(ctx context.Context, _ *connect.Request[engramv1.ListNamesRequest]) (*connect.Response[engramv1.ListNamesResponse], error) {
	entries, err := h.names.List(ctx)
	m := &engramv1.ListNamesResponse{}
	for _, e := range entries {
		m.Entries = append(m.Entries, entryMessage(e))
	}
	return answer(m, err)
}

func (h nameHandler) WatchNames(ctx context.Context, _ *connect.Request[engramv1.WatchNamesRequest], stream *connect.ServerStream[engramv1.WatchNamesResponse]) error {
	release, err := h.o.AdmitSubscription()
	if err != nil {
		return wireError(err)
	}
	defer release()
	for e, err := range h.names.Watch(ctx) {
		if err != nil {
			return h.ended(err)
		}
		if err := stream.Send(&engramv1.WatchNamesResponse{Entry: entryMessage(e.Entry), Removed: e.Removed, Synced: e.Synced}); err != nil {
			return wireError(err)
		}
	}
	return nil
}

// WatchRevocations tells what the access rules say is revoked. Whoever is let in may know:
// they must leave servers that are.
func (h nameHandler) WatchRevocations(ctx context.Context, _ *connect.Request[engramv1.WatchRevocationsRequest], stream *connect.ServerStream[engramv1.WatchRevocationsResponse]) error {
	release, err := h.o.AdmitSubscription()
	if err != nil {
		return wireError(err)
	}
	defer release()
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
			if err := stream.Send(m); err != nil {
				return wireError(err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return h.ended(ctx.Err())
		}
	}
}
