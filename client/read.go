package client

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/transport"
)

// Query implements engram.Reader. Servers are asked at the same time; a memory
// whose server does not answer is Missing from the result, unless none answers.
func (c *Client) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	shares, err := c.shares(ctx, q)
	if err != nil {
		return nil, err
	}
	answers := make([]*engram.Result, len(shares))
	failed := make([]error, len(shares))
	var wait sync.WaitGroup
	for i, sh := range shares {
		wait.Go(func() {
			failed[i] = c.ask(ctx, sh, func(s transport.Client) (err error) {
				answers[i], err = s.Query(ctx, sh.query)
				return err
			})
		})
	}
	wait.Wait()
	if err := refusal(failed); err != nil {
		return nil, err
	}
	whole := &engram.Result{}
	for i, sh := range shares {
		if failed[i] != nil {
			whole.Missing = append(whole.Missing, sh.missing()...)
			continue
		}
		whole.Merge(answers[i])
	}
	return whole, nil
}

// QueryParts implements engram.PartReader. Servers are asked one after the other.
func (c *Client) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	shares, err := c.shares(ctx, q)
	if err != nil {
		return err
	}
	failed := make([]error, len(shares))
	for i, sh := range shares {
		begun := false
		failed[i] = c.ask(ctx, sh, func(s transport.Client) error {
			if begun { // parts that were handed over must not come again from elsewhere
				return failed[i]
			}
			failed[i] = s.QueryParts(ctx, sh.query, func(r *engram.Result) error {
				begun = true
				return part(r)
			})
			return failed[i]
		})
		if failed[i] != nil && (begun || engram.CodeOf(failed[i]) != engram.Unavailable) {
			return failed[i]
		}
	}
	if err := refusal(failed); err != nil {
		return err
	}
	unreachable := &engram.Result{}
	for i, sh := range shares {
		if failed[i] != nil {
			unreachable.Missing = append(unreachable.Missing, sh.missing()...)
		}
	}
	if len(unreachable.Missing) > 0 {
		return part(unreachable)
	}
	return nil
}

// refusal returns the error that answers a call as a whole: the first one that is
// not about a server being away, or that one if all are away.
func refusal(failed []error) error {
	away := 0
	for _, err := range failed {
		if err != nil && engram.CodeOf(err) != engram.Unavailable {
			return err
		}
		if err != nil {
			away++
		}
	}
	if away > 0 && away == len(failed) {
		return failed[0]
	}
	return nil
}

// share is what one server is asked of a query.
type share struct {
	conn     *conn
	memories []string // that it hosts and the query can select
	query    engram.Query
}

// shares divides a query among the servers that host what it selects.
func (c *Client) shares(ctx context.Context, q engram.Query) ([]*share, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	for i := range q.Memories {
		c.learn(ctx, q.Memories[i].Names)
	}
	byMemory, only := c.hosts()
	if only != nil {
		return []*share{{conn: only, memories: keys(byMemory), query: q}}, nil
	}
	if len(byMemory) == 0 {
		return []*share{{conn: c.all()[0], query: q}}, nil
	}
	var shares []*share
	for _, m := range keys(byMemory) {
		i := slices.IndexFunc(shares, func(sh *share) bool { return sh.conn == byMemory[m] })
		if i < 0 {
			i = len(shares)
			shares = append(shares, &share{conn: byMemory[m], query: q})
			shares[i].query.Memories = nil
		}
		shares[i].memories = append(shares[i].memories, m)
	}
	matchers := make([]engram.NameMatcher, len(q.Memories))
	for i := range q.Memories {
		var err error
		if matchers[i], err = q.Memories[i].Names.Matcher(); err != nil {
			return nil, err
		}
	}
	for _, sh := range shares {
		var selected []string
		for i := range q.Memories {
			names := slices.DeleteFunc(slices.Clone(sh.memories), func(m string) bool { return !matchers[i].Match(m) })
			if len(names) == 0 {
				continue
			}
			node := q.Memories[i]
			node.Names = engram.OneOf(names...)
			sh.query.Memories = append(sh.query.Memories, node)
			selected = append(selected, names...)
		}
		slices.Sort(selected)
		sh.memories = slices.Compact(selected)
	}
	asked := slices.DeleteFunc(slices.Clone(shares), func(sh *share) bool { return len(sh.query.Memories) == 0 })
	if len(asked) == 0 {
		// Nothing that is known is selected; some server must still judge the query.
		shares[0].query = q
		return shares[:1], nil
	}
	return asked, nil
}

func keys(byMemory map[string]*conn) []string {
	names := make([]string, 0, len(byMemory))
	for m := range byMemory {
		names = append(names, m)
	}
	slices.Sort(names)
	return names
}

// ask calls f with a share's server, or with the one that hosts its memories by now.
func (c *Client) ask(ctx context.Context, sh *share, f func(transport.Client) error) error {
	if len(sh.memories) > 0 {
		return c.onMemory(ctx, sh.memories[0], true, f)
	}
	_, err := c.on(ctx, sh.conn, f)
	return err
}

func (sh *share) missing() []engram.Missing {
	var missing []engram.Missing
	for _, m := range sh.memories {
		if id, err := engram.NewID(m); err == nil {
			missing = append(missing, engram.Missing{ID: id, Reason: engram.MissingUnreachable, Interval: engram.Always()})
		}
	}
	return missing
}

// Latest implements engram.LatestReader.
func (c *Client) Latest(ctx context.Context, entity engram.ID) (snap *engram.Snapshot, err error) {
	err = c.onMemory(ctx, entity.Memory(), true, func(s transport.Client) (err error) {
		snap, err = s.Latest(ctx, entity)
		return err
	})
	return snap, err
}

// AtOrBefore implements engram.LatestReader.
func (c *Client) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (snap *engram.Snapshot, err error) {
	err = c.onMemory(ctx, entity.Memory(), true, func(s transport.Client) (err error) {
		snap, err = s.AtOrBefore(ctx, entity, t)
		return err
	})
	return snap, err
}

// Predict implements engram.Predictor.
func (c *Client) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	parts, refused := c.divide(ctx, len(ids), func(i int) string { return ids[i].Memory() })
	predictions := make([]engram.Prediction, len(ids))
	for i, id := range ids {
		predictions[i] = engram.Prediction{ID: id, Err: refused[i]}
	}
	for _, p := range parts {
		asked := make([]engram.ID, len(p.indices))
		for k, i := range p.indices {
			asked[k] = ids[i]
		}
		var answers []engram.Prediction
		err := c.onMemory(ctx, p.memory, true, func(s transport.Client) (err error) {
			answers, err = s.Predict(ctx, asked)
			return err
		})
		if err != nil && len(parts) == 1 && len(asked) == len(ids) {
			return nil, err
		}
		for k, i := range p.indices {
			if err != nil {
				predictions[i].Err = err
			} else {
				predictions[i] = answers[k]
			}
		}
	}
	return predictions, nil
}
