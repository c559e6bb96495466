package rpc

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// QueryParts implements engram.PartReader. It is not repeated once the first part
// has come.
func (c *Client) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	req, err := wire.QueryMessage(q)
	if err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return errClosed(c.address)
	}
	// Leaving early must end the stream on the server too.
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := receive(call, c, memoryPath+"QueryStream", req, made[*engramv1.QueryResponse])
	if err != nil {
		return c.domainError(ctx, err)
	}
	defer stream.Close()
	for stream.Receive() {
		r, err := resultFromMessage(stream.Msg().m.(*engramv1.QueryResponse))
		if err != nil {
			return err
		}
		if err := part(r); err != nil {
			cancel()
			return err
		}
	}
	return c.domainError(ctx, stream.Err())
}
