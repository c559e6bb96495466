package local

import (
	"context"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
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
	k, entity, selectors := kindSelect, engram.ID{}, []engram.SnapshotSelector(nil)
	var msg *engramv1.QueryRequest
	if id, sel, ok := ofEntity(&q); ok {
		entity, selectors = id, sel
	} else {
		k = kindQuery
		var err error
		if msg, err = rpc.QueryMessage(q); err != nil {
			return err
		}
	}
	return resume.Repeat(ctx, func() (bool, error) {
		m, err := c.connection(ctx)
		if err != nil {
			return true, err
		}
		var request []byte
		if k == kindQuery {
			if request, err = encodeMessage(msg, m.w.peer); err != nil {
				return false, err
			}
		}
		p := &pending{want: kindAnswer, inParts: inParts}
		e, err := m.begin(ctx, p)
		if err != nil {
			return true, err
		}
		defer m.end(p)
		e.u32(uint32(c.o.Window))
		if k == kindQuery {
			e.bytes(request)
		} else {
			e.query(&q, entity, selectors)
		}
		var flags uint8
		if inParts {
			flags |= flagParts
		}
		if k == kindQuery {
			flags |= flagDetail
		}
		m.w.send(k, flags, p.number)
		return c.parts(ctx, m, p, part)
	})
}

// ofEntity returns the entity and the selectors of a query, if a select frame can express
// the query.
func ofEntity(q *engram.Query) (id engram.ID, selectors []engram.SnapshotSelector, ok bool) {
	if q.AsOf != nil || q.Type != "" || len(q.LinksTo) > 0 || q.Where != "" || q.FilterOrder > engram.SelectThenFilter || len(q.Fields) > 0 || q.Numbers != nil || q.Source != engram.SourceAny {
		return id, nil, false
	}
	nodes := q.Memories
	for id.Level() < engram.LevelEntity {
		if len(nodes) != 1 || nodes[0].Names.Kind != engram.NameOneOf || len(nodes[0].Names.Names) != 1 || len(selectors) > 0 {
			return id, nil, false
		}
		var err error
		if id, err = id.Child(nodes[0].Names.Names[0]); err != nil {
			return id, nil, false
		}
		selectors, nodes = nodes[0].Snapshots, nodes[0].Children
	}
	return id, selectors, len(nodes) == 0 && len(selectors) > 0 && len(selectors) <= math.MaxUint8
}

// parts hands the parts of an answer over as they come. again says that there were
// none yet.
func (c *Client) parts(ctx context.Context, m *mux, p *pending, part func(*engram.Result) error) (again bool, err error) {
	again = true
	var owed uint32
	for {
		if err := m.wait(ctx, p); err != nil {
			return false, err
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
