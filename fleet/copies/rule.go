package copies

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// rule has the holder make copies: one of each memory of another robot that its
// pattern matches, as soon as the memory is known. They stay when the robot leaves,
// and end with the rule. The holder's lock protects it.
type rule struct {
	pattern    string // the text of the copy's
	copy       contract.Copy
	memory     engram.NameMatcher
	configured bool
	since      engram.Time // when it was made in this epoch
	problem    error       // why it cannot make more copies
	unknown    error       // why it is not known which memories there are
	matched    int         // how many memories matched last, -1 before that was looked at
}

func newRule(c contract.Copy, configured bool) (*rule, error) {
	m, err := c.Pattern.Levels[0].Matcher()
	if err != nil {
		return nil, err
	}
	return &rule{pattern: c.Pattern.String(), copy: c, memory: m, configured: configured, since: engram.Now(), matched: -1}, nil
}

// makes returns the copy that the rule makes of a memory; ok is false if it makes none.
func (r *rule) makes(memory string) (c contract.Copy, ok bool) {
	if !r.memory.Match(memory) {
		return c, false
	}
	return contract.Copy{Pattern: rename(r.copy.Pattern, memory), Rules: r.copy.Rules}, true
}

// rulesLocked returns the rules by their patterns.
func (h *Holder) rulesLocked() []*rule {
	out := make([]*rule, 0, len(h.rules))
	for _, r := range h.rules {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *rule) int { return cmp.Compare(a.pattern, b.pattern) })
	return out
}

// expand makes the copies that the rules ask for of the memories that are known now. It
// reports whether those are known.
func (h *Holder) expand() bool {
	h.mu.Lock()
	n := len(h.rules)
	h.mu.Unlock()
	if n == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
	defer cancel()
	memories, err := h.o.Owners.Memories(ctx)
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, r := range h.rules {
			r.unknown = err
		}
		return false
	}
	memories = slices.DeleteFunc(memories, func(memory string) bool {
		robot, _ := engram.SplitName(memory)
		return robot == "" || robot == h.o.Robot
	})
	slices.Sort(memories)
	// Whoever removes a rule, and with it what it made, is not crossed, nor waited for:
	// dropping takes long, and the other copies go on meanwhile.
	if !h.altering.TryLock() {
		return false
	}
	defer h.altering.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	made := false
	h.others = append([]string{}, memories...) // not nil: it is known
	for _, r := range h.rulesLocked() {        // of several that ask for the same copy the first makes it
		r.problem, r.unknown, r.matched = nil, nil, 0
		for _, memory := range memories {
			c, ok := r.makes(memory)
			if !ok {
				continue
			}
			r.matched++
			pattern := c.Pattern.String()
			if h.replicas[pattern] != nil {
				continue // made, or there by itself, or by another rule
			}
			if err := h.roomLocked(pattern); err != nil {
				r.problem = err
				break
			}
			h.beginLocked(c, r.pattern, r.configured)
			h.o.Log.Info("a copy begins by a rule", "copy", pattern, "rule", r.pattern)
			made = true
		}
	}
	if made {
		h.listLocked()
	}
	return true
}

// roomLocked returns why another copy or rule cannot be.
func (h *Holder) roomLocked(pattern string) error {
	if n := len(h.replicas) + len(h.rules); n >= MaxCopies {
		return engram.Errorf(engram.Exhausted, pattern, "the server holds %d copies; at most %d are allowed; end some with 'engram copy remove', also those that rules made of robots that are gone", n, MaxCopies)
	}
	return nil
}

// addRule begins a rule or changes the rules of what it makes.
func (h *Holder) addRule(ctx context.Context, c contract.Copy) error {
	pattern := c.Pattern.String()
	h.mu.Lock()
	r, there := h.rules[pattern]
	var err error
	switch {
	case there && r.configured:
		err = engram.Errorf(engram.Conflict, pattern, "the copy is in the configuration of the server; change it there")
	case there:
		r.copy.Rules = c.Rules
	default:
		if err = h.roomLocked(pattern); err == nil {
			if r, err = newRule(c, false); err == nil {
				h.rules[pattern] = r
			}
		}
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	var made []*replica
	for _, x := range h.list() {
		if by, _ := x.madeBy(); by == pattern {
			x.follow(c.Rules)
			made = append(made, x)
		}
	}
	h.change()
	if err := h.saveRule(r); err != nil {
		return err
	}
	_, err = h.save(ctx, made)
	return err
}

// removeRule ends a rule and the copies that it made, but for those that another rule
// asks for: they go on by that.
func (h *Holder) removeRule(ctx context.Context, pattern string, drop bool) error {
	h.mu.Lock()
	r := h.rules[pattern]
	var err error
	switch {
	case r == nil:
		err = noCopy(pattern)
	case r.configured:
		err = isConfigured(pattern)
	default:
		delete(h.rules, pattern)
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	if err = h.forget(pattern); err != nil {
		err = staysOnDisk(pattern, err)
	}
	for _, x := range h.list() {
		if by, _ := x.madeBy(); by != pattern {
			continue
		}
		if h.takenOver(x) {
			continue
		}
		if err2 := h.remove(ctx, x, drop); err == nil {
			err = err2
		}
	}
	return err
}

// takenOver has a copy go on by the first rule that asks for it, and reports whether one
// does.
func (h *Holder) takenOver(x *replica) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rulesLocked() {
		if c, ok := r.makes(x.memory); ok && c.Pattern.String() == x.pattern {
			x.handOver(r)
			return true
		}
	}
	return false
}

// ruleStatus sums up what a rule made.
func ruleStatus(r *rule, made []contract.Status) contract.Status {
	s := contract.Status{Copy: r.copy, Configured: r.configured, State: contract.StateWaiting, Since: r.since, Made: len(made)}
	if len(made) == 0 {
		switch {
		case r.unknown != nil:
			s.Error = "which memories there are is not known: " + r.unknown.Error()
		case r.matched > 0:
			s.Error = "what it matches is copied already, by itself or by another rule"
		case r.matched == 0:
			s.Error = "no other robot that is known has such a memory"
		}
	}
	worst := []contract.State{contract.StateWaiting, contract.StateLive, contract.StateCatching, contract.StateFailed}
	for i := range made {
		m := &made[i]
		if rank := slices.Index(worst, m.State) - slices.Index(worst, s.State); rank > 0 || i == 0 {
			s.State, s.Since, s.Error = m.State, m.Since, ""
			if m.State == contract.StateFailed {
				s.Error = m.Error
			}
		} else if rank == 0 {
			s.Since = max(s.Since, m.Since)
		}
		s.Updates += m.Updates
		s.Bytes += m.Bytes
		s.Lag, s.Contact = max(s.Lag, m.Lag), max(s.Contact, m.Contact)
		s.Received += m.Received
		s.Payload += m.Payload
		s.Wire += m.Wire
		s.Had += m.Had
		s.Removed += m.Removed
		s.Lost += m.Lost
		for _, l := range m.LeftOut {
			at := slices.IndexFunc(s.LeftOut, func(x contract.LeftOutCount) bool { return x.Reason == l.Reason })
			if at < 0 {
				at = len(s.LeftOut)
				s.LeftOut = append(s.LeftOut, contract.LeftOutCount{Reason: l.Reason})
			}
			s.LeftOut[at].Count += l.Count
			s.LeftOut[at].Bytes += l.Bytes
		}
	}
	if r.problem != nil {
		s.State, s.Error = contract.StateFailed, r.problem.Error()
	}
	return s
}
