package client

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
)

// AddCoreSegment implements engram.Segments. A type that the memory's server does
// not know is brought to it from this client or another server.
func (c *Client) AddCoreSegment(ctx context.Context, seg engram.CoreSegment) error {
	return c.addSegment(ctx, seg.ID, seg.Type, func(ctx context.Context, s transport.Client, id engram.ID) error {
		seg.ID = id
		return s.AddCoreSegment(ctx, seg)
	})
}

// AddProviderSegment implements engram.Segments; types are brought as by
// AddCoreSegment.
func (c *Client) AddProviderSegment(ctx context.Context, seg engram.ProviderSegment) error {
	return c.addSegment(ctx, seg.ID, seg.Type, func(ctx context.Context, s transport.Client, id engram.ID) error {
		seg.ID = id
		return s.AddProviderSegment(ctx, seg)
	})
}

func (c *Client) addSegment(ctx context.Context, id engram.ID, typeName string, add func(context.Context, transport.Client, engram.ID) error) error {
	return c.onMemory(ctx, id.Memory(), true, func(ctx context.Context, s transport.Client, h *host) error {
		there, err := id.InMemory(h.local)
		if err != nil {
			return err
		}
		err = add(ctx, s, there)
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
		return add(ctx, s, there)
	})
}

// RemoveSegment implements engram.Segments.
func (c *Client) RemoveSegment(ctx context.Context, id engram.ID) error {
	return c.onMemory(ctx, id.Memory(), false, func(ctx context.Context, s transport.Client, h *host) error {
		there, err := id.InMemory(h.local)
		if err != nil {
			return err
		}
		return s.RemoveSegment(ctx, there)
	})
}

// Describe implements engram.Segments. The error is Unavailable if one of the
// servers concerned does not answer, nor anybody who holds copies; what others
// answered is returned with it.
func (c *Client) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	return gather(ctx, c, p, func(d *engram.Description) *engram.ID { return &d.ID }, func(ctx context.Context, s transport.Client, p engram.Pattern) ([]engram.Description, error) {
		return s.Describe(ctx, p)
	})
}

// Stats implements engram.Statistician. The error is Unavailable if one of the
// servers concerned does not answer, nor anybody who holds copies; what others
// answered is returned with it.
func (c *Client) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	return gather(ctx, c, p, func(s *engram.Stats) *engram.ID { return &s.ID }, func(ctx context.Context, s transport.Client, p engram.Pattern) ([]engram.Stats, error) {
		return s.Stats(ctx, p, depth)
	})
}

// gather calls f with every server that hosts what the pattern selects, at the same
// time, and returns what they answer, sorted by ID.
func gather[T any](ctx context.Context, c *Client, p engram.Pattern, id func(*T) *engram.ID, f func(context.Context, transport.Client, engram.Pattern) ([]T, error)) ([]T, error) {
	q := engram.Query{Memories: []engram.QueryNode{{}}}
	if len(p.Levels) > 0 {
		q.Memories[0].Names = p.Levels[0]
	}
	plan, err := c.plan(ctx, q)
	if err != nil {
		return nil, err
	}
	answers := make([][]T, len(plan.shares))
	failed := make([]error, len(plan.shares))
	var ask func(sh *share, tried map[*conn]bool) ([]T, error)
	ask = func(sh *share, tried map[*conn]bool) (all []T, err error) {
		tried[sh.conn] = true
		begun := false
		err = c.asked(ctx, sh, func(ctx context.Context, s transport.Client) (err error) {
			all, err = f(ctx, s, sh.pattern(p))
			return err
		}, &begun)
		if unanswered(err) {
			stand := sh.standIn(tried)
			for _, held := range stand {
				some, heldErr := ask(held, tried)
				all = append(all, some...)
				if heldErr == nil && len(stand) == 1 && len(held.hosts) == len(sh.hosts) {
					err = nil
				}
			}
			return all, err
		}
		all = slices.DeleteFunc(all, func(one T) bool { // what it holds copies of, if it was not asked for those
			_, ok := sh.here(*id(&one))
			return !ok
		})
		for i := range all {
			*id(&all[i]), _ = sh.here(*id(&all[i]))
		}
		return all, err
	}
	var wait sync.WaitGroup
	for i, sh := range plan.shares {
		wait.Go(func() { answers[i], failed[i] = ask(sh, map[*conn]bool{}) })
	}
	wait.Wait()
	var all []T
	var away error
	for i := range answers {
		if failed[i] != nil && !unanswered(failed[i]) {
			return nil, failed[i]
		}
		if away == nil {
			away = failed[i]
		}
		all = append(all, answers[i]...)
	}
	if away == nil && len(plan.absent) > 0 {
		away = plan.errAbsent()
	}
	slices.SortStableFunc(all, func(a, b T) int { return id(&a).Compare(*id(&b)) })
	return all, away
}

// AddType implements engram.Types: the type becomes known to every server of this
// robot, and to those that this client reaches later.
func (c *Client) AddType(ctx context.Context, t engram.TypeDef) error {
	if err := c.alive(); err != nil {
		return err
	}
	for _, cn := range c.all() {
		_, err := c.on(ctx, cn, cn.hurried(), func(ctx context.Context, s transport.Client) error { return s.AddType(ctx, t) })
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

// Type implements engram.Types: the first server that knows the type answers, this
// robot's before others'.
func (c *Client) Type(ctx context.Context, name string) (engram.TypeDef, error) {
	if err := c.alive(); err != nil {
		return engram.TypeDef{}, err
	}
	var first error
	asked := map[*conn]bool{}
	for _, again := range []bool{false, true} {
		if again {
			if engram.CodeOf(first) != engram.NotFound {
				break
			}
			// A server that has registered a moment ago may know it. While the name system
			// is away, those that are known have answered.
			_, _ = c.Names().List(ctx)
		}
		for _, cn := range suspectedLast(append(slices.Clone(c.all()), c.routes().strangers()...)) {
			if asked[cn] {
				continue
			}
			asked[cn] = true
			var t engram.TypeDef
			_, err := c.on(ctx, cn, cn.hurried(), func(ctx context.Context, s transport.Client) (err error) {
				t, err = s.Type(ctx, name)
				return err
			})
			if err == nil {
				return t, nil
			}
			if first == nil || engram.CodeOf(first) == engram.NotFound && !cn.foreign {
				first = err
			}
		}
	}
	if first == nil {
		first = c.errNobody()
	}
	return engram.TypeDef{}, first
}

// TypeNames implements engram.Types, of this robot's servers. The error is Unavailable
// if one of them does not answer.
func (c *Client) TypeNames(ctx context.Context) ([]string, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	var all []string
	for _, cn := range c.all() {
		_, err := c.on(ctx, cn, cn.hurried(), func(ctx context.Context, s transport.Client) error {
			names, err := s.TypeNames(ctx)
			all = append(all, names...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
