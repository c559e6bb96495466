package client

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
)

// Query implements engram.Reader. Servers are asked at the same time; a memory
// whose server does not answer is Missing from the result, unless none answers. Where
// copies of it are known, one of them answers in its stead, and the result says so.
func (c *Client) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	p, err := c.plan(ctx, q)
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(p.shares))
	ask := func(i int) { answers[i] = p.answer(ctx, p.shares[i], whole) }
	if len(answers) == 1 {
		ask(0)
	} else {
		var wait sync.WaitGroup
		for i := range answers {
			wait.Go(func() { ask(i) })
		}
		wait.Wait()
	}
	return p.merge(answers)
}

// QueryParts implements engram.PartReader. Servers are asked one after the other.
func (c *Client) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	p, err := c.plan(ctx, q)
	if err != nil {
		return err
	}
	p.part = part
	answers := make([]answer, len(p.shares))
	for i, sh := range p.shares {
		answers[i] = p.answer(ctx, sh, inParts)
		if err := answers[i].err; err != nil && (answers[i].begun || !unanswered(err)) {
			return err
		}
	}
	rest, err := p.merge(answers)
	if err == nil && len(rest.Missing) > 0 {
		err = part(rest)
	}
	return err
}

// plan is who is asked what of a query.
type plan struct {
	c      *Client
	query  engram.Query
	nodes  []selection // of the memories, one per node of the query
	shares shares
	absent []string                   // memories that nobody can be asked for
	why    map[string]error           // why, where the name system has said it
	part   func(*engram.Result) error // takes what comes; nil if it is kept
}

// plan divides a query among the servers that host what it selects.
func (c *Client) plan(ctx context.Context, q engram.Query) (*plan, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	p := &plan{c: c, query: q, why: map[string]error{}}
	for i := range q.Memories {
		c.learn(ctx, q.Memories[i].Names, p.why)
	}
	r := c.routes()
	for m := range p.why {
		if r.find(m) == nil {
			p.absent = append(p.absent, m)
		}
	}
	if r.only != nil && !namesRobots(q.Memories) {
		p.shares = shares{{conn: r.only, hosts: r.own, whole: true}}
		return p, nil
	}
	p.nodes = make([]selection, len(q.Memories))
	var hosts []*host
	for i := range q.Memories {
		var err error
		if p.nodes[i], err = r.selection(q.Memories[i].Names); err != nil {
			return nil, err
		}
		hosts = append(hosts, p.nodes[i].all()...)
		p.absent = append(p.absent, p.nodes[i].absent()...)
	}
	slices.Sort(p.absent)
	p.absent = slices.Compact(p.absent)
	var nobody []*host
	p.shares, nobody = divide(r.united(hosts), q.Source)
	for _, h := range nobody {
		p.absent = append(p.absent, h.memory)
	}
	if len(p.shares) == 0 && len(p.absent) == 0 {
		// Nothing that is known is selected; some server must still judge the query.
		servers := c.all()
		if len(servers) == 0 {
			return nil, c.errNobody()
		}
		p.shares = shares{{conn: servers[0], whole: true}}
	}
	return p, nil
}

// namesRobots reports whether a query may select memories by robots' names.
func namesRobots(nodes []engram.QueryNode) bool {
	for i := range nodes {
		if strings.IndexByte(nodes[i].Names.Regex, ':') >= 0 {
			return true
		}
		for _, n := range nodes[i].Names.Names {
			if strings.IndexByte(n, ':') >= 0 {
				return true
			}
		}
	}
	return false
}

// answer is what became of a share.
type answer struct {
	result engram.Result // what was not handed over in parts
	err    error         // why its server did not answer
	begun  bool          // parts were handed over, so nobody else may answer
	copied bool          // copies have answered for some of it at least
}

// asking asks a server a query.
type asking func(ctx context.Context, s transport.Client, q engram.Query, part func(*engram.Result) error) error

func whole(ctx context.Context, s transport.Client, q engram.Query, part func(*engram.Result) error) error {
	r, err := s.Query(ctx, q)
	if err != nil {
		return err
	}
	return part(r)
}

func inParts(ctx context.Context, s transport.Client, q engram.Query, part func(*engram.Result) error) error {
	return s.QueryParts(ctx, q, part)
}

// answer asks a share's server, or those that may answer in its stead.
func (p *plan) answer(ctx context.Context, sh *share, ask asking) (a answer) {
	a.err = p.ask(ctx, sh, ask, &a)
	if unanswered(a.err) && !a.begun && p.query.Source != engram.SourceOwner {
		a.copied = p.standIn(ctx, sh, ask, &a, map[*conn]bool{sh.conn: true})
	}
	return a
}

// standIn asks others for what a share's server does not answer; it reports whether
// any has answered.
func (p *plan) standIn(ctx context.Context, sh *share, ask asking, a *answer, tried map[*conn]bool) (answered bool) {
	for _, held := range sh.standIn(tried) {
		tried[held.conn] = true
		err := p.ask(ctx, held, ask, a)
		if err != nil && !a.begun {
			answered = p.standIn(ctx, held, ask, a, tried) || answered
			continue
		}
		answered = true
	}
	return answered
}

// ask asks a share's server, or the one that hosts its memories by now.
func (p *plan) ask(ctx context.Context, sh *share, ask asking, a *answer) error {
	c, q := p.c, sh.query(p.query, p.nodes, p.c.Robot())
	told := false
	take := func(r *engram.Result) error {
		sh.translate(r)
		if !told {
			told = true
			sh.used(r)
		}
		if p.part == nil {
			a.result.Merge(r)
			return nil
		}
		a.begun = true
		return p.part(r)
	}
	call := func(ctx context.Context, s transport.Client) error { return ask(ctx, s, q, take) }
	err := c.asked(ctx, sh, call, &a.begun)
	if err == nil && !told && sh.copies {
		err = take(&engram.Result{})
	}
	return err
}

// asked calls f with a share's server, or with the one that hosts its memories by
// now, unless begun is set.
func (c *Client) asked(ctx context.Context, sh *share, f func(context.Context, transport.Client) error, begun *bool) error {
	cn := sh.conn
	for first := true; ; first = false {
		_, err := c.on(ctx, cn, sh.few || cn.hurried(), f)
		if !unanswered(err) || !first || *begun || sh.copies || len(sh.hosts) == 0 || cn.foreign {
			return err
		}
		moved, resolveErr := c.resolve(ctx, sh.hosts[0].memory)
		if resolveErr != nil || moved.owner == nil || moved.owner == cn {
			return err
		}
		cn = moved.owner
	}
}

// merge puts the answers together. The error answers the query as a whole: the first
// one that is not about a server being away, or about that if nobody has answered.
func (p *plan) merge(answers []answer) (*engram.Result, error) {
	var away error
	answered := false
	r := &engram.Result{}
	for i := range answers {
		a, sh := &answers[i], p.shares[i]
		if a.err != nil && !unanswered(a.err) {
			return nil, a.err
		}
		r.Merge(&a.result)
		answered = answered || a.err == nil || a.copied
		if a.err != nil && away == nil {
			away = a.err
		}
		if sh.away || a.err != nil && !sh.copies {
			r.Missing = append(r.Missing, missing(sh.hosts, missingReason(a.err))...)
		}
	}
	for _, m := range p.absent {
		r.Missing = append(r.Missing, missingMemory(m, engram.MissingUnreachable, p.c.lastHeard(m))...)
	}
	switch {
	case answered:
		return r, nil
	case away != nil:
		return nil, away
	case len(p.absent) > 0:
		return nil, p.errAbsent()
	}
	return r, nil
}

// errAbsent is the error where nobody can be asked for memories: of the first one.
func (p *plan) errAbsent() error {
	memory := p.absent[0]
	if err := p.why[memory]; err != nil {
		return err
	}
	if robot, _ := engram.SplitName(memory); robot != "" {
		return engram.Errorf(engram.Unavailable, memory, "robot %s is not reached", robot)
	}
	return engram.Errorf(engram.Unavailable, memory, "the server that owns the memory is not reached")
}

// Latest implements engram.LatestReader. The memory's owner answers, never a copy:
// what is returned could not say so.
func (c *Client) Latest(ctx context.Context, entity engram.ID) (snap *engram.Snapshot, err error) {
	err = c.onMemory(ctx, entity.Memory(), true, func(ctx context.Context, s transport.Client, h *host) (err error) {
		if entity, err = entity.InMemory(h.local); err == nil {
			snap, err = s.Latest(ctx, entity)
		}
		return err
	})
	return snap, err
}

// AtOrBefore implements engram.LatestReader, as Latest does.
func (c *Client) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (snap *engram.Snapshot, err error) {
	err = c.onMemory(ctx, entity.Memory(), true, func(ctx context.Context, s transport.Client, h *host) (err error) {
		if entity, err = entity.InMemory(h.local); err == nil {
			snap, err = s.AtOrBefore(ctx, entity, t)
		}
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
			asked[k] = p.there(ids[i])
		}
		var answers []engram.Prediction
		err := c.onMemory(ctx, p.memory, true, func(ctx context.Context, s transport.Client, _ *host) (err error) {
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
				predictions[i].ID = p.here(answers[k].ID, ids[i])
			}
		}
	}
	return predictions, nil
}
