package client

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/service"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// LongTerm returns the long-term memory of the server that hosts a memory; of the
// server that offers the name system if the memory's name is empty. Where the memory
// is, is found out at each call. Calls return Unsupported if its server keeps nothing
// on disk. They go over RPC, as those of [Client.Poses].
func (c *Client) LongTerm(memory string) service.Service {
	if memory == "" {
		if c.home.server != nil {
			return c.home.server.LongTerm()
		}
		if r := c.routes(); len(r.servers) == 1 {
			return longTerm{c, r.own[0].memory}
		}
	}
	return longTerm{c, memory}
}

// longTerm implements service.Service over the connections to memory servers.
type longTerm struct {
	c      *Client
	memory string
}

// ask asks what may be asked twice, order what must not happen twice.
func ask[T any](ctx context.Context, l longTerm, f func(service.Service) (T, error)) (T, error) {
	answer, _, err := atServer(ctx, l.c, l.memory, readsOnly, func(c *rpc.Client) (T, error) { return f(c.LongTerm()) })
	return answer, err
}

func order(ctx context.Context, l longTerm, f func(service.Service) error) error {
	_, _, err := atServer(ctx, l.c, l.memory, changes, func(c *rpc.Client) (struct{}, error) { return struct{}{}, f(c.LongTerm()) })
	return err
}

func (l longTerm) Episodes(ctx context.Context, iv engram.Interval) ([]service.EpisodeInfo, error) {
	return ask(ctx, l, func(s service.Service) ([]service.EpisodeInfo, error) { return s.Episodes(ctx, iv) })
}

func (l longTerm) Episode(ctx context.Context, name string) (info service.EpisodeInfo, entities []episode.Entity, err error) {
	entities, err = ask(ctx, l, func(s service.Service) (list []episode.Entity, err error) {
		info, list, err = s.Episode(ctx, name)
		return list, err
	})
	return info, entities, err
}

func (l longTerm) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	return ask(ctx, l, func(s service.Service) ([]episode.Problem, error) { return s.Verify(ctx, name) })
}

func (l longTerm) Damaged(ctx context.Context) ([]service.Damaged, error) {
	return ask(ctx, l, func(s service.Service) ([]service.Damaged, error) { return s.Damaged(ctx) })
}

func (l longTerm) Repair(ctx context.Context, name string) (info service.EpisodeInfo, lost []episode.Problem, err error) {
	err = order(ctx, l, func(s service.Service) (err error) {
		info, lost, err = s.Repair(ctx, name)
		return err
	})
	return info, lost, err
}

func (l longTerm) Seal(ctx context.Context, why string) error {
	return order(ctx, l, func(s service.Service) error { return s.Seal(ctx, why) })
}

func (l longTerm) Mark(ctx context.Context, m episode.Mark) error {
	return order(ctx, l, func(s service.Service) error { return s.Mark(ctx, m) })
}

func (l longTerm) Unmark(ctx context.Context, label string, iv engram.Interval) (n int, err error) {
	err = order(ctx, l, func(s service.Service) (err error) {
		n, err = s.Unmark(ctx, label, iv)
		return err
	})
	return n, err
}

func (l longTerm) Marks(ctx context.Context, iv engram.Interval) ([]episode.Mark, error) {
	return ask(ctx, l, func(s service.Service) ([]episode.Mark, error) { return s.Marks(ctx, iv) })
}

func (l longTerm) KeepEpisode(ctx context.Context, name string, keep bool) error {
	return order(ctx, l, func(s service.Service) error { return s.KeepEpisode(ctx, name, keep) })
}

func (l longTerm) DropEpisode(ctx context.Context, name, why, by string) error {
	return order(ctx, l, func(s service.Service) error { return s.DropEpisode(ctx, name, why, by) })
}

func (l longTerm) Rules(ctx context.Context) ([]service.Rule, error) {
	return ask(ctx, l, func(s service.Service) ([]service.Rule, error) { return s.Rules(ctx) })
}

func (l longTerm) SetRule(ctx context.Context, r service.Rule) error {
	return order(ctx, l, func(s service.Service) error { return s.SetRule(ctx, r) })
}

func (l longTerm) RemoveRule(ctx context.Context, name string) error {
	return order(ctx, l, func(s service.Service) error { return s.RemoveRule(ctx, name) })
}

func (l longTerm) Policies(ctx context.Context) ([]service.SegmentPolicy, error) {
	return ask(ctx, l, func(s service.Service) ([]service.SegmentPolicy, error) { return s.Policies(ctx) })
}

func (l longTerm) SetPolicy(ctx context.Context, o policy.Override) error {
	return order(ctx, l, func(s service.Service) error { return s.SetPolicy(ctx, o) })
}

func (l longTerm) Recall(ctx context.Context, q engram.Query) (n uint64, err error) {
	err = order(ctx, l, func(s service.Service) (err error) {
		n, err = s.Recall(ctx, q)
		return err
	})
	return n, err
}

func (l longTerm) Forget(ctx context.Context, f service.Forgetting, p service.Progress) (done service.Forgotten, err error) {
	err = order(ctx, l, func(s service.Service) (err error) {
		done, err = s.Forget(ctx, f, p)
		return err
	})
	return done, err
}

func (l longTerm) Compact(ctx context.Context, dryRun bool, p service.Progress) (done service.Compacted, err error) {
	err = order(ctx, l, func(s service.Service) (err error) {
		done, err = s.Compact(ctx, dryRun, p)
		return err
	})
	return done, err
}

func (l longTerm) LTMStats(ctx context.Context) (service.Stats, error) {
	return ask(ctx, l, func(s service.Service) (service.Stats, error) { return s.LTMStats(ctx) })
}
