package client

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/transport"
)

// Commit implements engram.Writer. The parts for several servers are committed at
// the same time; what goes to a server that does not answer is answered with
// Unavailable update by update, unless none answers.
func (c *Client) Commit(ctx context.Context, commit engram.Commit) ([]engram.UpdateResult, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	if memory, ok := c.together(commit.Updates); ok {
		var results []engram.UpdateResult
		err := c.onMemory(ctx, memory, false, func(s transport.Client) (err error) {
			results, err = s.Commit(ctx, commit)
			return err
		})
		return results, err
	}
	parts, refused := c.divide(ctx, len(commit.Updates), func(i int) string { return commit.Updates[i].Entity.Memory() })
	results := make([]engram.UpdateResult, len(commit.Updates))
	for i, err := range refused {
		results[i] = engram.UpdateResult{ID: commit.Updates[i].Entity, Err: err}
	}
	var wait sync.WaitGroup
	failed := make([]error, len(parts))
	for i, p := range parts {
		wait.Go(func() {
			var answers []engram.UpdateResult
			failed[i] = c.onMemory(ctx, p.memory, false, func(s transport.Client) (err error) {
				answers, err = s.Commit(ctx, p.commit(commit.Updates))
				return err
			})
			p.place(answers, failed[i], commit.Updates, results)
		})
	}
	wait.Wait()
	if len(parts) > 0 && !slices.Contains(failed, nil) && allRefused(results) {
		return nil, failed[0]
	}
	return results, nil
}

func allRefused(results []engram.UpdateResult) bool {
	return !slices.ContainsFunc(results, func(r engram.UpdateResult) bool { return r.Err == nil })
}

// together returns a memory of the updates if the server that hosts it hosts the
// memories of all of them.
func (c *Client) together(updates []engram.EntityUpdate) (memory string, ok bool) {
	if len(updates) == 0 {
		return "", false
	}
	memory = updates[0].Entity.Memory()
	c.mu.Lock()
	defer c.mu.Unlock()
	first, ok := c.table[memory]
	if !ok {
		return "", false
	}
	last := memory
	for i := range updates {
		m := updates[i].Entity.Memory()
		if m == last {
			continue
		}
		last = m
		if e, ok := c.table[m]; !ok || e.Server != first.Server {
			return "", false
		}
	}
	return memory, true
}

// part is what one server is to get of a commit or another list of things.
type part struct {
	conn    *conn
	memory  string // one that the server hosts
	indices []int  // of the things in the list
}

// divide shares n things out among the servers that host their memories, in the
// order of their first ones. Those of unknown memories get an error.
func (c *Client) divide(ctx context.Context, n int, memory func(i int) string) (parts []*part, refused map[int]error) {
	conns := map[string]*conn{}
	errs := map[string]error{}
	for i := range n {
		m := memory(i)
		if conns[m] == nil && errs[m] == nil {
			conns[m], errs[m] = c.host(ctx, m)
		}
		if errs[m] != nil {
			if refused == nil {
				refused = map[int]error{}
			}
			refused[i] = errs[m]
			continue
		}
		k := slices.IndexFunc(parts, func(p *part) bool { return p.conn == conns[m] })
		if k < 0 {
			k = len(parts)
			parts = append(parts, &part{conn: conns[m], memory: m})
		}
		parts[k].indices = append(parts[k].indices, i)
	}
	return parts, refused
}

func (p *part) commit(updates []engram.EntityUpdate) engram.Commit {
	c := engram.Commit{Updates: make([]engram.EntityUpdate, len(p.indices))}
	for k, i := range p.indices {
		c.Updates[k] = updates[i]
	}
	return c
}

// place puts a server's answers, or the error in their stead, where they belong.
func (p *part) place(answers []engram.UpdateResult, err error, updates []engram.EntityUpdate, results []engram.UpdateResult) {
	for k, i := range p.indices {
		if err != nil {
			results[i] = engram.UpdateResult{ID: updates[i].Entity, Err: err}
		} else {
			results[i] = answers[k]
		}
	}
}
