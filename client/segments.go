package client

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/transport"
)

// AddCoreSegment implements engram.Segments. A type that the memory's server does
// not know is brought to it from this client or another server.
func (c *Client) AddCoreSegment(ctx context.Context, seg engram.CoreSegment) error {
	return c.addSegment(ctx, seg.ID, seg.Type, func(s transport.Client) error { return s.AddCoreSegment(ctx, seg) })
}

// AddProviderSegment implements engram.Segments; types are brought as by
// AddCoreSegment.
func (c *Client) AddProviderSegment(ctx context.Context, seg engram.ProviderSegment) error {
	return c.addSegment(ctx, seg.ID, seg.Type, func(s transport.Client) error { return s.AddProviderSegment(ctx, seg) })
}

func (c *Client) addSegment(ctx context.Context, id engram.ID, typeName string, add func(transport.Client) error) error {
	return c.onMemory(ctx, id.Memory(), true, func(s transport.Client) error {
		err := add(s)
		if engram.CodeOf(err) != engram.NotFound || typeName == "" {
			return err
		}
		def, findErr := c.Type(ctx, typeName)
		if findErr != nil {
			return err
		}
		if addErr := s.AddType(ctx, def); addErr != nil {
			return addErr
		}
		return add(s)
	})
}

// RemoveSegment implements engram.Segments.
func (c *Client) RemoveSegment(ctx context.Context, id engram.ID) error {
	return c.onMemory(ctx, id.Memory(), false, func(s transport.Client) error { return s.RemoveSegment(ctx, id) })
}

// Describe implements engram.Segments. The error is Unavailable if one of the
// servers concerned does not answer.
func (c *Client) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	return gather(ctx, c, p, func(d engram.Description) engram.ID { return d.ID }, func(s transport.Client) ([]engram.Description, error) {
		return s.Describe(ctx, p)
	})
}

// Stats implements engram.Statistician. The error is Unavailable if one of the
// servers concerned does not answer.
func (c *Client) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	return gather(ctx, c, p, func(s engram.Stats) engram.ID { return s.ID }, func(s transport.Client) ([]engram.Stats, error) {
		return s.Stats(ctx, p, depth)
	})
}

// gather calls f with every server that hosts what the pattern selects and returns
// what they answer, sorted by ID.
func gather[T any](ctx context.Context, c *Client, p engram.Pattern, id func(T) engram.ID, f func(transport.Client) ([]T, error)) ([]T, error) {
	q := engram.Query{Memories: []engram.QueryNode{{}}}
	if len(p.Levels) > 0 {
		q.Memories[0].Names = p.Levels[0]
	}
	shares, err := c.shares(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, sh := range shares {
		var some []T
		err := c.ask(ctx, sh, func(s transport.Client) (err error) {
			some, err = f(s)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b T) int { return id(a).Compare(id(b)) })
	return all, nil
}

// AddType implements engram.Types: the type becomes known to every server, and to
// those that this client reaches later.
func (c *Client) AddType(ctx context.Context, t engram.TypeDef) error {
	if err := c.alive(); err != nil {
		return err
	}
	for _, cn := range c.all() {
		client, err := c.get(ctx, cn)
		if err == nil {
			err = client.AddType(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(c.types, func(have engram.TypeDef) bool { return have.Name == t.Name }) {
		c.types = append(c.types, t)
	}
	return nil
}

// Type implements engram.Types: the first server that knows the type answers.
func (c *Client) Type(ctx context.Context, name string) (engram.TypeDef, error) {
	if err := c.alive(); err != nil {
		return engram.TypeDef{}, err
	}
	var first error
	for _, cn := range c.all() {
		client, err := c.get(ctx, cn)
		if err == nil {
			var t engram.TypeDef
			if t, err = client.Type(ctx, name); err == nil {
				return t, nil
			}
		}
		if first == nil || engram.CodeOf(first) == engram.NotFound {
			first = err
		}
	}
	return engram.TypeDef{}, first
}

// TypeNames implements engram.Types. The error is Unavailable if one of the servers
// does not answer.
func (c *Client) TypeNames(ctx context.Context) ([]string, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	var all []string
	for _, cn := range c.all() {
		client, err := c.get(ctx, cn)
		if err != nil {
			return nil, err
		}
		names, err := client.TypeNames(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
