package copies

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// namesChanged has the names looked up again, and what waits try at once.
func (h *Holder) namesChanged() {
	h.mu.Lock()
	for _, l := range h.links {
		l.hurry()
	}
	h.mu.Unlock()
	h.change()
}

// lookAgain is how often owners are looked for that are not known, and lookAnyway how
// often all are, whatever the names told.
const (
	lookAgain  = 2 * time.Second
	lookAnyway = 15 * time.Second
)

// manage keeps one link to each server that owns what is copied.
func (h *Holder) manage() {
	defer func() {
		h.mu.Lock()
		links := h.links
		h.links = map[string]*link{}
		h.mu.Unlock()
		for _, l := range links {
			l.cancel()
		}
		for _, l := range links {
			l.stop()
		}
	}()
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	for {
		if h.regroup() {
			again.Reset(lookAnyway)
		} else {
			again.Reset(lookAgain)
		}
		select {
		case <-h.changed:
		case <-again.C:
		case <-h.ctx.Done():
			return
		}
	}
}

// regroup finds the owners of all copies and begins and ends links. It reports
// whether all are known.
func (h *Holder) regroup() (complete bool) {
	complete = h.expand()
	groups := map[string][]*replica{}
	asked := map[string]error{}
	for _, r := range h.list() {
		problem, ok := asked[r.memory]
		if !ok {
			problem = h.find(r.memory)
			asked[r.memory] = problem
		}
		h.mu.Lock()
		server := h.servers[r.memory]
		h.mu.Unlock()
		switch {
		case server != "":
			groups[server] = append(groups[server], r)
		case problem != nil:
			complete = false
			state := contract.StateWaiting
			if !retried(problem) {
				state = contract.StateFailed
			}
			r.setState(state, "", problem.Error())
		}
	}
	var over []*link
	h.mu.Lock()
	for server, l := range h.links {
		if !slices.Equal(l.replicas, groups[server]) || l.rules() != l.begun {
			over = append(over, l)
		}
	}
	h.mu.Unlock()
	for _, l := range over { // among the links until it is over: who removes a copy waits for it, too
		l.stop()
	}
	if h.ctx.Err() != nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range over {
		if h.links[l.server] == l {
			delete(h.links, l.server)
		}
	}
	for server, replicas := range groups {
		// Finding takes its time; what was removed meanwhile is not pulled any more.
		replicas = slices.DeleteFunc(replicas, func(r *replica) bool { return h.replicas[r.pattern] != r })
		if h.links[server] == nil && len(replicas) > 0 {
			h.links[server] = h.newLink(server, replicas)
		}
	}
	return complete
}

// find looks for the server that owns a memory. Where none is found, what was known
// before stays: names are away when their server is, and when the name system is.
func (h *Holder) find(memory string) error {
	ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
	defer cancel()
	server, err := h.o.Owners.Find(ctx, memory)
	if err != nil {
		return err
	}
	if server == h.o.Server {
		return engram.Errorf(engram.Conflict, memory, "this server owns the memory itself")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if before := h.servers[memory]; before != "" && before != server {
		h.o.Log.Info("what is copied has moved", "memory", memory, "from", before, "to", server)
	}
	h.servers[memory] = server
	return nil
}
