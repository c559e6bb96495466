package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Abort has an execution stop, and all that it called. It changes nothing where that is told already; NotFound if it is not
// under way.
func (s *Schedule) Abort(now engram.Time, id engram.ID, why Stop) ([]Task, error) {
	e := s.tasks[id]
	if e == nil {
		return nil, engram.Errorf(engram.NotFound, id.String(), "this execution is not under way")
	}
	s.stop(now, e, why)
	return s.done(now), nil
}

// Enable says whether a skill may be called. What was called goes on.
func (s *Schedule) Enable(now engram.Time, skill engram.ID, enabled bool) []Task {
	if enabled {
		delete(s.disabled, skill)
		s.stale = true
	} else {
		s.disabled[skill] = true
	}
	return s.done(now)
}

// Lease begins or renews the lease of a provider. A later epoch is greater. AlreadyExists while another epoch of the provider has
// a lease, Conflict for one that was fenced or is over, and for the renewal of one that the schedule does not know.
func (s *Schedule) Lease(now engram.Time, name string, epoch uint64, lease time.Duration, renewal bool) ([]Task, error) {
	s.expire(now)
	if s.providers[name] == nil && len(s.providers) >= MaxProviders {
		s.sweep()
		if len(s.providers) >= MaxProviders {
			return s.done(now), engram.Errorf(engram.Exhausted, name, "there are %d providers", MaxProviders)
		}
	}
	p := s.provider(name)
	switch {
	case p.until != 0 && p.epoch != epoch:
		return s.done(now), engram.Errorf(engram.AlreadyExists, name, "another provider has this name until %v, or until it ends", p.until)
	case p.until != 0 && p.fenced:
		return s.done(now), engram.Errorf(engram.Conflict, name, "this provider did not stop an execution in time and is fenced; stop everything and begin anew with another epoch")
	case p.until == 0 && (epoch <= p.epoch || renewal):
		return s.done(now), engram.Errorf(engram.Conflict, name, "the lease of this epoch is over; stop everything and begin anew with a greater epoch")
	}
	p.epoch, p.until, p.lease, p.fenced, p.heard = epoch, now.Add(lease), lease, false, true
	s.timers.Set(&p.timer, p.until)
	s.stale = true
	return s.done(now), nil
}

// sweep forgets providers that are not there and have nothing to do.
func (s *Schedule) sweep() {
	for name, p := range s.providers {
		if p.until == 0 && len(p.tasks) == 0 {
			delete(s.providers, name)
		}
	}
}

// Leave ends the lease of a provider that stands still. What it has not begun waits for another.
func (s *Schedule) Leave(now engram.Time, name string, epoch uint64) []Task {
	s.expire(now)
	if p := s.providers[name]; p != nil && p.until != 0 && p.epoch == epoch {
		for _, e := range inOrder(p.tasks) {
			if e.active() && e.Status == Preparing { // it was not begun
				s.again(now, e)
			}
		}
		s.lose(now, p, "its provider has ended")
	}
	return s.done(now)
}

// Report is what a provider says of an execution.
type Report struct {
	Epoch   uint64
	Status  Status // Constructing to Running, or how it ended; Stopping is to say nothing of it
	Refused bool   // it does not stop
}

// Check returns why a report is refused, nil if it is not: Conflict if the execution was not handed to that epoch, or has ended
// before; NotFound if it is not under way.
func (s *Schedule) Check(now engram.Time, id engram.ID, r Report) error {
	e := s.tasks[id]
	switch {
	case e == nil:
		return engram.Errorf(engram.NotFound, id.String(), "this execution is not under way; it has ended or was never asked for")
	case e.Called == 0 || e.Epoch != r.Epoch:
		return engram.Errorf(engram.Conflict, id.String(), "this execution was not handed to epoch %d of %s", r.Epoch, e.Provider())
	}
	if p := s.providers[e.Provider()]; p.until == 0 || p.until <= now || p.epoch != r.Epoch {
		return engram.Errorf(engram.Conflict, id.String(), "the lease of %s is over", e.Provider())
	}
	return nil
}

// Report takes over what a provider says of an execution; the error is that of [Schedule.Check]. What changes because of it
// comes back, the execution that it is of among them.
func (s *Schedule) Report(now engram.Time, id engram.ID, r Report) ([]Task, error) {
	s.expire(now)
	if err := s.Check(now, id, r); err != nil {
		return s.done(now), err
	}
	e := s.tasks[id]
	switch {
	case r.Status.Ended():
		if e.Status == Stopping {
			e.Stop.Answer = Confirmed
			if r.Status == Aborted {
				r.Status = ended(e.Stop.Reason)
			}
		}
		s.end(now, e, r.Status)
	case e.Status == Stopping && r.Refused:
		e.Stop.Answer, e.Stop.Deadline, e.Status = Refused, 0, Running
		s.timers.Set(&e.timer, 0)
		if limit := e.Called.Add(e.Limit); e.Limit > 0 && limit > now {
			s.timers.Set(&e.timer, limit)
		}
		s.change(e)
		if why := e.next; why != nil {
			e.next = nil
			s.stop(now, e, *why)
		}
	case e.Status == Stopping || r.Status == Stopping:
	case r.Status != e.Status:
		e.Status = r.Status
		s.change(e)
	}
	return s.done(now), nil
}

// Tick does what is due.
func (s *Schedule) Tick(now engram.Time) []Task {
	s.expire(now)
	return s.done(now)
}

// expire does what is due.
func (s *Schedule) expire(now engram.Time) {
	for t := s.timers.Take(now); t != nil; t = s.timers.Take(now) {
		switch of := t.Of.(type) {
		case *provider:
			s.lose(now, of, "the lease of its provider is over")
			continue
		case callerOf:
			s.stop(now, of.entry, Stop{Reason: CallerGone, Message: "it was not heard for " + of.CallerLease.String()})
			continue
		}
		e := t.Of.(*entry)
		switch {
		case !e.active():
			s.stop(now, e, Stop{Reason: Waited, Message: s.waitsFor(e)})
		case e.Status == Stopping:
			e.Stop.Answer = Unconfirmed
			s.change(e)
			s.providers[e.Provider()].fenced = true
		default:
			s.stop(now, e, Stop{Reason: TimeLimit, Message: "it took longer than " + e.Limit.String()})
		}
	}
}

// waitsFor says what a task waits for.
func (s *Schedule) waitsFor(e *entry) string {
	what, _ := s.obstacle(e)
	return cmp.Or(what, "others were served before")
}

// obstacle says why a task cannot be called now, and which execution stands in the way, if one does; "" if none of that is so.
func (s *Schedule) obstacle(e *entry) (what string, by engram.ID) {
	p := s.providers[e.Provider()]
	switch {
	case s.disabled[e.Skill]:
		return "the skill is disabled", by
	case p == nil || p.until == 0 || p.fenced || !p.heard:
		return "its provider " + e.Provider() + " is not there", by
	}
	for _, r := range e.Resources {
		for _, u := range s.users[r] {
			if !s.shares(e, u, r) {
				return r + " is in use by " + u.ID.Entity(), u.ID
			}
		}
	}
	return "", by
}

// Obstacle says why an execution that is not there could not be called now, and which other one stands in the way, if one does; ""
// if none of that is so.
func (s *Schedule) Obstacle(t Task) (what string, by engram.ID) {
	return s.obstacle(&entry{Task: t, parent: s.tasks[t.Parent]})
}

// lose ends a provider's lease: nothing of it moves any more.
func (s *Schedule) lose(now engram.Time, p *provider, why string) {
	p.until, p.fenced, p.heard = 0, false, false
	s.timers.Set(&p.timer, 0)
	for _, e := range inOrder(p.tasks) {
		if e.active() {
			s.lost(now, e, why)
		}
	}
}

// lost ends what a provider ran that is not there any more, or has it wait to be called again.
func (s *Schedule) lost(now engram.Time, e *entry, why string) {
	switch {
	case e.Status == Stopping:
		s.end(now, e, ended(e.Stop.Reason))
	case e.Repeatable && e.parent == nil:
		s.again(now, e)
	default:
		e.Stop = &Stop{Reason: ProviderLost, Message: why}
		s.end(now, e, Failed)
	}
}

// again has a task wait to be called again. What it called is told to stop.
func (s *Schedule) again(now engram.Time, e *entry) {
	s.release(e)
	s.timers.Set(&e.timer, 0)
	e.Called, e.Epoch, e.Status, e.Stop, e.next = 0, 0, Preparing, nil, nil
	e.Asked = now
	s.wait(e)
	s.change(e)
	for _, c := range inOrder(e.children) {
		s.stop(now, c, Stop{Reason: ParentEnded, By: e.ID})
	}
}

// Restore adds executions that were under way when another schedule ended. What was called goes on if its provider renews its
// lease within the grace of its name, which is at least the longest that its lease may have been.
func (s *Schedule) Restore(now engram.Time, tasks []Task, grace func(provider string) time.Duration) []Task {
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, func(a, b Task) int { return cmp.Or(cmp.Compare(a.Asked, b.Asked), a.ID.Compare(b.ID)) })
	for len(tasks) > 0 {
		rest := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool {
			parent := s.tasks[t.Parent]
			if parent == nil && slices.ContainsFunc(tasks, func(o Task) bool { return o.ID == t.Parent && o.ID != t.ID }) {
				return false
			}
			s.restore(now, t, parent, grace)
			return true
		})
		if len(rest) == len(tasks) { // in a circle, which nothing makes
			s.restore(now, rest[0], nil, grace)
			rest = rest[1:]
		}
		tasks = rest
	}
	for _, p := range s.providers {
		for _, e := range inOrder(p.tasks) {
			if e.active() && e.Epoch != p.epoch { // another took its place
				s.lost(now, e, "its provider has ended")
			}
		}
	}
	return s.done(now)
}

func (s *Schedule) restore(now engram.Time, t Task, parent *entry, within func(provider string) time.Duration) {
	if t.Status == Stopping && t.Stop == nil { // nothing makes that
		t.Stop = &Stop{}
	}
	e, grace := s.add(t, parent), within(t.Provider())
	s.hear(now.Add(grace), e)
	if t.Called == 0 {
		if !t.Parent.IsRoot() && parent == nil {
			s.stop(now, e, Stop{Reason: ParentEnded, By: t.Parent})
		}
		return
	}
	p := s.providers[e.Provider()]
	if p.epoch < e.Epoch { // the last that was there
		p.epoch, p.until = e.Epoch, now.Add(grace)
		s.timers.Set(&p.timer, p.until)
	}
	switch {
	case t.Stop != nil && t.Status == Stopping:
		s.timers.Set(&e.timer, max(t.Stop.Deadline, now.Add(grace)))
	case !t.Parent.IsRoot() && parent == nil:
		s.stop(now, e, Stop{Reason: ParentEnded, By: t.Parent})
	case t.Limit > 0:
		s.timers.Set(&e.timer, max(t.Called.Add(t.Limit), now.Add(grace)))
	}
}

// Drop ends an execution that was called by the last event, before its provider has heard of that. A stop says why it has failed.
func (s *Schedule) Drop(now engram.Time, id engram.ID, status Status, why *Stop) []Task {
	e := s.tasks[id]
	if e == nil {
		return nil
	}
	e.Called, e.Epoch, e.Stop = 0, 0, why
	s.end(now, e, status)
	return s.done(now)
}
