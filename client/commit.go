package client

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
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
		err := c.onMemory(ctx, memory, false, func(ctx context.Context, s transport.Client, _ *host) (err error) {
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
			failed[i] = c.onMemory(ctx, p.memory, false, func(ctx context.Context, s transport.Client, h *host) (err error) {
				if err := c.teach(ctx, h.owner); err != nil {
					return err
				}
				answers, err = s.Commit(ctx, p.commit(commit))
				return err
			})
			p.place(answers, failed[i], commit.Updates, results)
		})
	}
	wait.Wait()
	switch {
	case len(parts) > 0 && !slices.Contains(failed, nil) && allRefused(results):
		return nil, failed[0]
	case len(parts) == 0 && len(results) > 0 && !slices.ContainsFunc(results, func(r engram.UpdateResult) bool { return engram.CodeOf(r.Err) != engram.Unavailable }):
		return nil, results[0].Err // nobody could be asked
	}
	return results, nil
}

func allRefused(results []engram.UpdateResult) bool {
	return !slices.ContainsFunc(results, func(r engram.UpdateResult) bool { return r.Err == nil })
}

// together returns the memory of one update if a single server hosts the memories of all
// updates, under the same names as here.
func (c *Client) together(updates []engram.EntityUpdate) (memory string, ok bool) {
	if len(updates) == 0 {
		return "", false
	}
	memory = updates[0].Entity.Memory()
	r := c.routes()
	first := r.hosts[memory]
	if first == nil || first.owner == nil || first.local != memory {
		return "", false
	}
	last := memory
	for i := range updates {
		m := updates[i].Entity.Memory()
		if m == last {
			continue
		}
		last = m
		if h := r.hosts[m]; h == nil || h.owner != first.owner || h.local != m {
			return "", false
		}
	}
	return memory, true
}

// part is what one server is to get of a commit or another list of things.
type part struct {
	conn    *conn
	memory  string            // one that the server hosts, as it is known here
	indices []int             // of the things in the list
	locals  map[string]string // the memories' names there, by those here; nil if all are the same
}

// there returns an ID as it is known at the server.
func (p *part) there(id engram.ID) engram.ID {
	if local, ok := p.locals[id.Memory()]; ok {
		if there, err := id.InMemory(local); err == nil {
			return there
		}
	}
	return id
}

// here translates an ID from the server's memory name to the caller's.
func (p *part) here(said, asked engram.ID) engram.ID {
	if p.locals != nil && !said.IsRoot() {
		if here, err := said.InMemory(asked.Memory()); err == nil {
			return here
		}
	}
	return said
}

// divide shares n things out among the servers that host their memories, in the
// order of their first ones. Those of unknown memories get an error.
func (c *Client) divide(ctx context.Context, n int, memory func(i int) string) (parts []*part, refused map[int]error) {
	hosts := map[string]*host{}
	errs := map[string]error{}
	for i := range n {
		m := memory(i)
		if hosts[m] == nil && errs[m] == nil {
			hosts[m], errs[m] = c.host(ctx, m)
		}
		if errs[m] != nil {
			if refused == nil {
				refused = map[int]error{}
			}
			refused[i] = errs[m]
			continue
		}
		h := hosts[m]
		k := slices.IndexFunc(parts, func(p *part) bool { return p.conn == h.owner })
		if k < 0 {
			k = len(parts)
			parts = append(parts, &part{conn: h.owner, memory: m})
		}
		parts[k].indices = append(parts[k].indices, i)
		if h.local != m {
			if parts[k].locals == nil {
				parts[k].locals = map[string]string{}
			}
			parts[k].locals[m] = h.local
		}
	}
	return parts, refused
}

func (p *part) commit(all engram.Commit) engram.Commit {
	c := all.With(make([]engram.EntityUpdate, len(p.indices)))
	for k, i := range p.indices {
		c.Updates[k] = all.Updates[i]
		c.Updates[k].Entity = p.there(all.Updates[i].Entity)
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
			results[i].ID = p.here(answers[k].ID, updates[i].Entity)
		}
	}
}
