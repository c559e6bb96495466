package copies

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// alter begins a change of which copies there are, which done ends. What waits for that
// goes on then.
func (h *Holder) alter() (done func()) {
	h.altering.Lock()
	return func() {
		h.altering.Unlock()
		h.change()
	}
}

// AddCopy implements contract.Admin.
func (h *Holder) AddCopy(ctx context.Context, c contract.Copy) error {
	c, err := h.normal(c)
	if err != nil {
		return err
	}
	defer h.alter()()
	if c.OfMany() {
		return h.addRule(ctx, c)
	}
	pattern := c.Pattern.String()
	h.mu.Lock()
	r := h.replicas[pattern]
	rule, configured := "", false
	if r != nil {
		rule, configured = r.madeBy()
	}
	switch {
	case rule != "": // from now on it is there by itself
		r.adopt()
		r.follow(c.Rules)
	case configured:
		err = engram.Errorf(engram.Conflict, pattern, "the copy is in the configuration of the server; change it there")
	case r != nil:
		r.follow(c.Rules)
	default:
		if err = h.roomLocked(pattern); err == nil {
			r = h.beginLocked(c, "", false)
			h.listLocked()
		}
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	h.change() // it does not wait until that is written
	_, err = h.save(ctx, []*replica{r})
	return err
}

// RemoveCopy implements contract.Admin.
func (h *Holder) RemoveCopy(ctx context.Context, pattern string, drop bool) error {
	p, err := engram.ParsePattern(pattern)
	if err != nil {
		return err
	}
	c, err := h.normal(contract.Copy{Pattern: p})
	if err != nil {
		return err
	}
	pattern = c.Pattern.String()
	defer h.alter()()
	if c.OfMany() {
		return h.removeRule(ctx, pattern, drop)
	}
	h.mu.Lock()
	r := h.replicas[pattern]
	gone := false // its robot is, as far as is known
	if r != nil && h.others != nil {
		_, known := slices.BinarySearch(h.others, r.memory)
		gone = !known
	}
	h.mu.Unlock()
	if r == nil {
		return noCopy(pattern)
	}
	switch rule, configured := r.madeBy(); {
	case rule != "" && gone: // the rule makes it again should the robot come back
	case rule != "":
		return engram.Errorf(engram.Conflict, pattern, "the copy is there by the rule %s; remove that, or give this copy rules of its own first ('engram copy add %s …')", rule, pattern)
	case configured:
		return isConfigured(pattern)
	}
	return h.remove(ctx, r, drop)
}

func noCopy(pattern string) error {
	return engram.Errorf(engram.NotFound, pattern, "there is no such copy; 'engram copy ls' lists them")
}

func isConfigured(pattern string) error {
	return engram.Errorf(engram.Conflict, pattern, "the copy is in the configuration of the server; remove it there")
}

func staysOnDisk(pattern string, err error) error {
	return engram.Errorf(engram.Unavailable, pattern, "the copy is ended, but comes back with the server: its file cannot be removed: %w", err)
}

// remove ends a copy, and forgets what is held of it if it is to be dropped. The caller
// holds altering.
func (h *Holder) remove(ctx context.Context, r *replica, drop bool) error {
	h.mu.Lock()
	delete(h.replicas, r.pattern)
	h.listLocked()
	var over []*link // of its server, and of the one before if the memory has moved just now
	for server, l := range h.links {
		if slices.Contains(l.replicas, r) {
			over = append(over, l)
			delete(h.links, server) // and begins anew without it
		}
	}
	h.mu.Unlock()
	done := h.turn(r.memory) // what is fetched meanwhile is not put into it any more
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	done()
	for _, l := range over {
		l.stop()
	}
	h.change() // what was pulled beside it does not wait for what follows
	if err := h.forget(r.pattern); err != nil {
		return staysOnDisk(r.pattern, err)
	}
	if !drop {
		return nil
	}
	if err := h.forgetIdle(r.memory); err != nil {
		return engram.Errorf(engram.Unavailable, r.pattern, "the copy is ended, but what is held of it stays: where a copy of an earlier epoch was cannot be forgotten: %w", err)
	}
	err := h.o.Memory.DropCopy(ctx, r.copy.Pattern)
	h.tell()
	// What other copies of the memory had of it is gone, too: they pull it again.
	for _, other := range h.list() {
		if other.memory == r.memory {
			other.beginAnew()
		}
	}
	return err
}

// forgetIdle forgets where copies of a memory were that nobody asks for now: should
// somebody, they begin anew, since what they had may be gone. The caller holds altering.
func (h *Holder) forgetIdle(memory string) error {
	h.mu.Lock()
	idle := maps.Clone(h.idle)
	h.mu.Unlock()
	for pattern, x := range idle {
		if x.memory != memory {
			continue
		}
		if err := h.forget(pattern); err != nil {
			return err
		}
		h.mu.Lock()
		delete(h.idle, pattern)
		h.mu.Unlock()
	}
	return nil
}

// CopyStatus implements contract.Admin.
func (h *Holder) CopyStatus(context.Context) ([]contract.Status, error) {
	list := h.list()
	h.mu.Lock()
	rules := h.rulesLocked()
	h.mu.Unlock()
	made := map[string][]contract.Status{} // by rule, "" for those that are there by themselves
	for _, r := range list {
		s := r.status()
		made[s.Rule] = append(made[s.Rule], s)
	}
	out := make([]contract.Status, 0, len(list)+len(rules))
	for _, r := range rules {
		h.mu.Lock()
		s := ruleStatus(r, made[r.pattern])
		h.mu.Unlock()
		out = append(append(out, s), made[r.pattern]...)
	}
	return append(out, made[""]...), nil
}
