package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// NewClient administers the copies that a server holds. Its calls return Unsupported if
// it holds none.
func NewClient(c feature.Conn) contract.Admin { return client{c} }

type client struct{ conn feature.Conn }

func (c client) call(ctx context.Context, procedure string, request, answer proto.Message) error {
	return c.conn.Call(ctx, "/"+name+"/"+procedure, request, answer)
}

func (c client) AddCopy(ctx context.Context, of contract.Copy) error {
	return c.call(ctx, "AddCopy", &engramv1.AddCopyRequest{Copy: copyMessage(&of)}, &engramv1.AddCopyResponse{})
}

func (c client) RemoveCopy(ctx context.Context, pattern string, drop bool) error {
	return c.call(ctx, "RemoveCopy", &engramv1.RemoveCopyRequest{Pattern: pattern, Drop: drop}, &engramv1.RemoveCopyResponse{})
}

func (c client) CopyStatus(ctx context.Context) ([]contract.Status, error) {
	var m engramv1.ListCopiesResponse
	if err := c.call(ctx, "ListCopies", &engramv1.ListCopiesRequest{}, &m); err != nil {
		return nil, err
	}
	out := make([]contract.Status, len(m.GetCopies()))
	for i, s := range m.GetCopies() {
		var err error
		if out[i], err = copyStatusFromMessage(s); err != nil {
			return nil, wire.BadAnswer(err)
		}
	}
	return out, nil
}

func (c client) Fetch(ctx context.Context, f contract.Fetching) (contract.Fetched, error) {
	m := &engramv1.FetchCopiesRequest{MaxBytes: f.MaxBytes}
	for _, p := range f.Patterns {
		m.Patterns = append(m.Patterns, p.String())
	}
	if f.Span != (engram.Interval{}) {
		m.Span = wire.SpanMessage(f.Span)
	}
	var got engramv1.FetchCopiesResponse
	err := c.call(ctx, "FetchCopies", m, &got)
	return contract.Fetched{Versions: got.GetVersions(), Had: got.GetHad(), Bytes: got.GetBytes(), More: got.GetMore()}, err
}
