package local

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// Query implements engram.Reader.
func (c *Client) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	var result *engram.Result
	err := c.query(ctx, q, false, func(r *engram.Result) error {
		result = r
		return nil
	})
	return result, err
}

// QueryParts implements engram.PartReader. It is not repeated once the first part
// has come.
func (c *Client) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	return c.query(ctx, q, true, part)
}

func (c *Client) query(ctx context.Context, q engram.Query, inParts bool, part func(*engram.Result) error) error {
	msg, err := rpc.QueryMessage(q)
	if err != nil {
		return err
	}
	return c.repeat(ctx, func() (bool, error) {
		m, err := c.connection(ctx)
		if err != nil {
			return true, err
		}
		request, err := encodeMessage(msg, m.w.peer)
		if err != nil {
			return false, err
		}
		p := &pending{want: kindAnswer, inParts: inParts}
		e, err := m.begin(ctx, p)
		if err != nil {
			return true, err
		}
		defer m.end(p)
		e.u32(uint32(c.o.Window))
		e.bytes(request)
		var flags uint8
		if inParts {
			flags = flagParts
		}
		m.w.send(kindQuery, flags, p.number)
		return c.parts(ctx, m, p, part)
	})
}

// parts hands the parts of an answer over as they come. again says that there were
// none yet.
func (c *Client) parts(ctx context.Context, m *mux, p *pending, part func(*engram.Result) error) (again bool, err error) {
	again = true
	var owed uint32
	for {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return false, gaveUp(ctx, m.address)
		}
		p.mu.Lock()
		parts, ended, err := p.mu.parts, p.mu.ended, p.mu.err
		owed += p.mu.bytes
		p.mu.parts, p.mu.bytes = nil, 0
		p.mu.Unlock()
		for _, r := range parts {
			again = false
			if err := part(r); err != nil {
				return false, err
			}
		}
		if ended {
			return again, err
		}
		if owed >= uint32(c.o.Window)/2 {
			m.control(kindCredit, p.number, owed)
			owed = 0
		}
	}
}
