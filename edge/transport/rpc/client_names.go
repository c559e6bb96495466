package rpc

import (
	"context"
	"errors"
	"iter"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Names returns the name system that the server offers. Its calls return
// Unsupported if it offers none.
func (c *Client) Names() mns.Registry { return nameClient{c} }

// nameClient implements mns.Registry over the client's connection.
type nameClient struct{ c *Client }

func (n nameClient) Register(ctx context.Context, r mns.Registration) (mns.Lease, error) {
	// The same server registering again takes its own lease over.
	m, err := call[*engramv1.RegisterResponse](ctx, n.c, namePath+"Register", &engramv1.RegisterRequest{
		Memories: r.Memories, Addresses: r.Addresses, Server: r.Server, TtlNanos: int64(r.TTL), Copies: r.Copies,
	}, repeatable)
	return mns.Lease{ID: m.GetLease(), TTL: time.Duration(m.GetTtlNanos())}, err
}

func (n nameClient) Renew(ctx context.Context, lease uint64) error {
	_, err := call[*engramv1.RenewResponse](ctx, n.c, namePath+"Renew", &engramv1.RenewRequest{Lease: lease}, repeatable)
	return err
}

func (n nameClient) Release(ctx context.Context, lease uint64) error {
	_, err := call[*engramv1.ReleaseResponse](ctx, n.c, namePath+"Release", &engramv1.ReleaseRequest{Lease: lease}, repeatable)
	return err
}

func (n nameClient) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	m, err := call[*engramv1.ResolveResponse](ctx, n.c, namePath+"Resolve", &engramv1.ResolveRequest{Memory: memory}, repeatable)
	return entryFromMessage(m.GetEntry()), err
}

func (n nameClient) Wait(ctx context.Context, memory string) (mns.Entry, error) {
	m, err := call[*engramv1.ResolveResponse](ctx, n.c, namePath+"Resolve", &engramv1.ResolveRequest{Memory: memory, Wait: true}, repeatable)
	return entryFromMessage(m.GetEntry()), err
}

func (n nameClient) List(ctx context.Context) ([]mns.Entry, error) {
	m, err := call[*engramv1.ListNamesResponse](ctx, n.c, namePath+"ListNames", &engramv1.ListNamesRequest{}, repeatable)
	if err != nil {
		return nil, err
	}
	entries := make([]mns.Entry, len(m.GetEntries()))
	for i, e := range m.GetEntries() {
		entries[i] = entryFromMessage(e)
	}
	return entries, nil
}

// Revocations yields what is revoked where the server is, at once and whenever it
// changes. It ends with an error, Unsupported if the server does not tell.
func (c *Client) Revocations(ctx context.Context) iter.Seq2[[]access.Revocation, error] {
	return watch(ctx, c, namePath+"WatchRevocations", &engramv1.WatchRevocationsRequest{}, func(m *engramv1.WatchRevocationsResponse) []access.Revocation {
		var list []access.Revocation
		for _, id := range m.GetIdentities() {
			list = append(list, access.Revocation{Identity: access.Identity(id)})
		}
		for _, serial := range m.GetSerials() {
			list = append(list, access.Revocation{Serial: serial})
		}
		return list
	})
}

func (n nameClient) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return watch(ctx, n.c, namePath+"WatchNames", &engramv1.WatchNamesRequest{}, func(m *engramv1.WatchNamesResponse) mns.Event {
		return mns.Event{Entry: entryFromMessage(m.GetEntry()), Removed: m.GetRemoved(), Synced: m.GetSynced()}
	})
}

// watch yields what a stream of the name system tells, until it ends with an error.
func watch[M proto.Message, T any](ctx context.Context, c *Client, procedure string, request proto.Message, read func(M) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		stream, err := receive(ctx, c, procedure, request, made[M])
		if err != nil {
			yield(none, c.domainError(ctx, err))
			return
		}
		defer stream.Close()
		for stream.Receive() {
			if !yield(read(stream.Msg().m.(M)), nil) {
				cancel() // Close would wait for the server otherwise
				return
			}
		}
		err = stream.Err()
		if err == nil {
			err = connect.NewError(connect.CodeUnavailable, errors.New("the watch was ended"))
		}
		yield(none, c.domainError(ctx, err))
	}
}
