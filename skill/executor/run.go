package executor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// Request tells that an execution is asked for, or that its caller is still there. A request
// that was claimed before is not claimed again.
func (e *Executor) Request(now engram.Time, id engram.ID, r skill.Request) []Action {
	e.at(now)
	e.request(id, r)
	return e.done()
}

func (e *Executor) request(id engram.ID, r skill.Request) {
	of, err := executionOf(id)
	if err != nil {
		return
	}
	if x := e.active[of]; x != nil {
		x.callerHeard = e.now
		return
	}
	if e.cfg.Claimed(of) {
		return
	}
	x := &execution{Execution: skill.Execution{
		ID: of, Request: id.Truncate(engram.LevelEntity), Caller: r.Caller, Cause: r.Cause, Parent: r.Parent, Started: e.now,
		Parameters: r.Parameters, DryRun: r.DryRun,
	}, req: r, callerHeard: e.now}
	if r.Timeout > 0 {
		x.Deadline = e.now.Add(r.Timeout)
	}
	if best := e.choose(r.Skill); best != nil {
		x.offer = best
		x.Skill = descriptionID(best)
	}
	e.add(x)
	e.enter(x, skill.Constructing, "")
	parentGone := !e.adopt(x)
	if a, ok := e.aborts[of]; ok {
		delete(e.aborts, of)
		e.abortsIn = slices.DeleteFunc(e.abortsIn, func(id engram.ID) bool { return id == of })
		e.abort(x, a)
		return
	}
	if parentGone {
		e.abort(x, skill.AbortOrder{Reason: skill.ReasonParent, Message: "what called it has ended"})
		return
	}
	if x.offer == nil {
		e.fail(x, unknown(r.Skill))
		return
	}
	if err := engram.CheckName(callName(of)); err != nil {
		e.fail(x, &skill.Failure{Code: skill.CodeParameters, Retry: skill.RetryNo, Message: "the names of the caller's segment and of the request are too long together"})
		return
	}
	x.Priority = x.offer.desc.Priority
	if r.Priority != nil {
		x.Priority = *r.Priority
	} else if x.parent != nil {
		x.Priority = max(x.Priority, x.parent.Priority)
	}
	e.enter(x, skill.Initializing, "")
	e.prepare(x)
}

func (e *Executor) add(x *execution) {
	e.active[x.ID] = x
	e.list = append(e.list, x)
}

// adopt makes x a child of its parent, if that runs; false if the parent has ended.
func (e *Executor) adopt(x *execution) bool {
	if x.Parent.Level() < engram.LevelEntity {
		return true
	}
	id := x.Parent.Truncate(engram.LevelEntity)
	p := e.active[id]
	if p == nil {
		return !e.cfg.Claimed(id) // an execution of another server is none of ours
	}
	if p == x || p.Status != skill.Running || p.ending != nil {
		return false
	}
	x.parent = p
	p.children = append(p.children, x)
	return true
}

// prepare resolves the parameters and has x wait for its turn.
func (e *Executor) prepare(x *execution) {
	if !e.resolve(x) {
		return
	}
	e.enter(x, skill.Preparing, "")
}

func (e *Executor) resolve(x *execution) bool {
	d := x.offer.desc
	x.Skill, x.Resources = descriptionID(x.offer), d.Resources
	parameters, err := e.cfg.Resolve(d, x.req.Parameters)
	if err != nil {
		f := &skill.Failure{Code: skill.CodeParameters, Message: err.Error(), Retry: skill.RetryNo}
		if own, ok := errors.AsType[*skill.Failure](err); ok {
			f = own
		}
		e.fail(x, f)
		return false
	}
	x.Parameters = parameters
	e.unwatch(x)
	x.met, x.unmet = len(d.Conditions) == 0, nil
	if !x.met {
		x.watching = true
		e.do(Watch{x.ID, d.Conditions})
	}
	return true
}

func (e *Executor) unwatch(x *execution) {
	if x.watching {
		x.watching = false
		e.do(Unwatch{x.ID})
	}
}

func descriptionID(o *offer) engram.ID {
	id, err := engram.NewID(skill.Memory, "Description", o.provider, o.desc.Name)
	if err != nil {
		return engram.ID{}
	}
	return id
}

// choose returns who would execute a skill, by its name or "Provider/Name": of those that are
// in service the one that began last, so that one's own takes the place of what was there.
func (e *roster) choose(name string) *offer {
	provider, own, named := strings.Cut(name, "/")
	if o := e.offers[own][provider]; named && o != nil && o.desc != nil {
		return o
	}
	of := e.offers[name]
	var best *offer
	for _, key := range sortedKeys(of) {
		if of[key].desc == nil {
			continue
		}
		if best == nil || slices.Compare(e.rank(of[key]), e.rank(best)) > 0 {
			best = of[key]
		}
	}
	return best
}

func (e *roster) rank(o *offer) []int64 {
	p := e.providers[o.provider]
	r := make([]int64, 3)
	if p.serving() {
		r[0] = 1
	}
	if !o.disabled {
		r[1] = 1
	}
	if p != nil {
		r[2] = p.epoch
	}
	if r[0] == 1 && r[1] == 0 { // one that is disabled is no better than one that is away
		r[0] = 0
	}
	return r
}

func unknown(name string) *skill.Failure {
	return &skill.Failure{Code: skill.CodeUnknownSkill, Message: fmt.Sprintf("no skill %q is known", name), Retry: skill.RetryNo}
}

// enter writes that an execution has reached a status.
func (e *Executor) enter(x *execution, s skill.Status, message string) {
	from := x.Status
	x.Status, x.Message = s, message
	t := &skill.Transition{ToStatus: s, Reason: message}
	if s != skill.Constructing {
		t.FromStatus = &from
	}
	e.write(x, t)
}

// write writes x as it is. Snapshots of an execution have times of their own, and so have the
// transitions of a skill.
func (e *Executor) write(x *execution, t *skill.Transition) {
	x.Timestamp = max(e.now, x.Timestamp.Add(time.Microsecond))
	w := Write{Execution: x.Execution, Transition: t}
	if x.Stop != nil {
		stop := *x.Stop
		w.Execution.Stop = &stop
	}
	if t != nil {
		provider, name := "unknown", x.req.Skill
		if x.offer != nil {
			provider, name = x.offer.provider, x.offer.desc.Name
		}
		of, err := engram.NewID(skill.Memory, "Transition", provider, cmp.Or(name, "unknown"))
		if err == nil {
			t.Timestamp = max(x.Timestamp, e.written[of].Add(time.Microsecond))
			e.written[of] = t.Timestamp
			t.Execution = x.ID.At(x.Timestamp)
			w.Of = of
		} else {
			w.Transition = nil
		}
	}
	e.do(w)
}

// fail ends x as Failed. The path to the failure begins with its skill.
func (e *Executor) fail(x *execution, f *skill.Failure) {
	own := *f
	name := x.Skill.Entity()
	if name == "" {
		name = x.req.Skill
	}
	if len(own.Stage) == 0 || own.Stage[0] != name {
		own.Stage = append([]string{name}, own.Stage...)
	}
	x.Failure = &own
	e.end(x, skill.Failed, own.Message)
}

// endStopped ends x as its stop says.
func (e *Executor) endStopped(x *execution, answer skill.StopAnswer) {
	x.Stop.Answer = answer
	switch x.Stop.Reason {
	case skill.ReasonTimeout:
		e.fail(x, &skill.Failure{Code: skill.CodeTimeout, Retry: skill.RetryYes, Message: "it took longer than it may"})
	case skill.ReasonLostProvider:
		e.fail(x, &skill.Failure{Code: skill.CodeLostProvider, Retry: skill.RetryLater, Message: x.Stop.Message})
	default:
		e.end(x, skill.Aborted, cmp.Or(x.Stop.Message, x.Stop.Reason))
	}
}

// end ends x once what it called has ended.
func (e *Executor) end(x *execution, s skill.Status, message string) {
	if x.Stop == nil && x.orphan != nil && slices.Contains(e.orphans, x.orphan) {
		x.Stop = &skill.Stop{Reason: skill.ReasonServerRestarted, Asked: e.now, Answer: skill.Unconfirmed}
	}
	x.ending = func() {
		e.unwatch(x)
		e.enter(x, s, message)
		delete(e.active, x.ID)
		e.list = slices.DeleteFunc(e.list, func(o *execution) bool { return o == x })
		if p := x.parent; p != nil {
			p.children = slices.DeleteFunc(p.children, func(c *execution) bool { return c == x })
			if p.ending != nil && len(p.children) == 0 {
				p.ending()
			}
		}
	}
	if len(x.children) == 0 {
		x.ending()
		return
	}
	e.abortChildren(x, x.Caller)
}

// startAll starts what can, the greatest priority first.
func (e *Executor) startAll() {
	for {
		var waiting []*execution
		for _, x := range e.list {
			if x.waits() && x.ending == nil {
				waiting = append(waiting, x)
			}
		}
		slices.SortStableFunc(waiting, func(a, b *execution) int { return cmp.Compare(b.Priority, a.Priority) })
		reserved := map[string]*execution{}
		again := false
		for _, x := range waiting {
			if !x.waits() || e.active[x.ID] != x {
				continue
			}
			f := e.blocked(x, reserved)
			if e.active[x.ID] != x { // another provider takes other parameters
				again = true
				continue
			}
			if f != nil {
				again = e.wait(x, f) || again
				continue
			}
			e.start(x)
			again = again || x.DryRun // what it would have held is free
		}
		if !again {
			return
		}
	}
}

// wait has x wait, and says why; true if it has failed instead.
func (e *Executor) wait(x *execution, f *skill.Failure) bool {
	x.failure = f
	away := f.Code == skill.CodeOutOfService || f.Code == skill.CodeDisabled
	if f.Code == skill.CodeDeadlock || f.Code == skill.CodeParameters || away && x.req.Timeout == 0 && e.now >= e.cfg.grace() {
		e.fail(x, f)
		return true
	}
	if x.Message != f.Message {
		x.Message = f.Message
		e.write(x, nil)
	}
	return false
}

// blocked returns what keeps x from starting; nil if nothing does. What only x's resources
// stand in the way of is reserved for it.
func (e *Executor) blocked(x *execution, reserved map[string]*execution) *skill.Failure {
	best := e.choose(x.req.Skill)
	if best == nil {
		return unknown(x.req.Skill)
	}
	p := e.providers[best.provider]
	switch {
	case best.disabled:
		return &skill.Failure{Code: skill.CodeDisabled, Retry: skill.RetryLater, BlockedBy: []engram.ID{descriptionID(best)},
			Message: strings.TrimSuffix(fmt.Sprintf("the skill %s is disabled: %s", best.desc.Name, best.switches), ": ")}
	case !p.serving():
		return &skill.Failure{Code: skill.CodeOutOfService, Retry: skill.RetryLater, BlockedBy: []engram.ID{descriptionID(best)},
			Message: fmt.Sprintf("the provider %s of %s is out of service", best.provider, best.desc.Name)}
	}
	if best != x.offer {
		x.offer = best
		if !e.resolve(x) {
			return x.Failure
		}
	}
	if x.orphan != nil && slices.Contains(e.orphans, x.orphan) {
		return &skill.Failure{Code: skill.CodeServerRestarted, Message: "waits until what ran before the server restarted stands still"}
	}
	x.orphan = nil
	if !x.met {
		f := &skill.Failure{Code: "condition", Retry: skill.RetryLater, Message: "its conditions are looked at"}
		var all []string
		for _, u := range x.unmet {
			all = append(all, fmt.Sprintf("%s does not hold (%s)", u.Name, u.Value))
			f.BlockedBy = append(f.BlockedBy, u.IDs...)
		}
		if len(all) > 0 {
			f.Message = strings.Join(all, "; ")
		}
		return f
	}
	f := &skill.Failure{Code: "resource", Retry: skill.RetryLater}
	var all []string
	var victims []*execution
	preempt := true
	for _, r := range x.Resources {
		for _, h := range e.list {
			if !h.holds() || !slices.Contains(h.Resources, r) || x.within(h) {
				continue
			}
			f.BlockedBy = append(f.BlockedBy, h.ID)
			all = append(all, fmt.Sprintf("%s is held by %s", r, h.Skill.Entity()))
			victims = append(victims, h)
			preempt = preempt && (h.Status == skill.Stopping || h.ending != nil || preemptible(h, x))
			if x.parent != nil && e.leadsTo(h, x, map[*execution]bool{}) {
				return &skill.Failure{Code: skill.CodeDeadlock, Retry: skill.RetryYes, BlockedBy: f.BlockedBy,
					Message: fmt.Sprintf("%s is held by %s, which waits for what this one's callers hold", r, h.Skill.Entity())}
			}
		}
		for _, o := range e.orphans {
			if slices.Contains(o.resources, r) {
				preempt = false
				f.BlockedBy = append(f.BlockedBy, o.execution)
				all = append(all, fmt.Sprintf("%s may still be moved by %s", r, o.provider))
			}
		}
		if first := reserved[r]; first != nil && x.parent == nil {
			preempt = false
			f.BlockedBy = append(f.BlockedBy, first.ID)
			all = append(all, fmt.Sprintf("%s is for %s first", r, first.Skill.Entity()))
		}
	}
	if len(all) == 0 {
		return nil
	}
	for _, r := range x.Resources {
		if reserved[r] == nil {
			reserved[r] = x
		}
	}
	if preempt && !x.DryRun {
		for _, h := range victims {
			e.stop(h, skill.AbortOrder{Reason: skill.ReasonPreempted, By: x.Caller,
				Message: fmt.Sprintf("%s of priority %d needs what it holds", x.Skill.Entity(), x.Priority)})
		}
	}
	f.Message = "waits: " + strings.Join(all, ", ")
	return f
}

// preemptible reports whether h may be stopped for x.
func preemptible(h, x *execution) bool {
	return h.Priority < x.Priority && h.offer != nil && h.offer.desc.Preemptible && !h.refused[skill.ReasonPreempted]
}

// leadsTo reports whether h waits, through what it called, for something that callers of x
// hold.
func (e *Executor) leadsTo(h, x *execution, seen map[*execution]bool) bool {
	if seen[h] {
		return false
	}
	seen[h] = true
	for _, y := range e.list {
		if !y.waits() || y == x || !y.within(h) {
			continue
		}
		for _, b := range e.list {
			if b.holds() && !y.within(b) && slices.ContainsFunc(y.Resources, func(r string) bool { return slices.Contains(b.Resources, r) }) &&
				(x.within(b) || e.leadsTo(b, x, seen)) {
				return true
			}
		}
	}
	return false
}

// start gives x to its provider.
func (e *Executor) start(x *execution) {
	p := e.providers[x.offer.provider]
	e.unwatch(x)
	x.SkillProvider = p.name
	if x.DryRun {
		x.Resources = nil
		e.end(x, skill.Succeeded, fmt.Sprintf("dry run: %s would be told to start %s now", p.name, x.Skill.Entity()))
		return
	}
	d := x.offer.desc
	x.ProviderEpoch, x.Attempt = p.epoch, x.Attempt+1
	if d.Timeout > 0 && (x.Deadline == 0 || e.now.Add(d.Timeout) < x.Deadline) {
		x.Deadline = e.now.Add(d.Timeout)
	}
	if d.ExpectedDuration > 0 {
		x.ExpectedEnd = e.now.Add(d.ExpectedDuration)
	}
	e.enter(x, skill.Running, "")
	e.do(Tell{callOf(p.name, x.ID), skill.Order{
		Timestamp: x.Timestamp, Execution: x.ID, Skill: d.Name, Action: skill.StartAction, Parameters: x.Parameters,
		ProviderEpoch: p.epoch, Attempt: x.Attempt, Deadline: x.Deadline, Caller: x.Caller, Cause: x.Cause,
	}})
}
