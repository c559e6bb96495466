package executor

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// Known is what a memory holds when its server begins.
type Known struct {
	Descriptions map[engram.ID]skill.Description
	Providers    map[string]skill.ProviderState // that were quicker than the executor
	Switches     []skill.Switch
	Aborts       []skill.AbortOrder
	Requests     map[engram.ID]skill.Request
	Executions   []skill.Execution // the newest state of each, ended or not
}

// Restore begins with what an earlier run of the server has left. Requests that were not
// claimed are claimed; what waited waits again; what ran is told to stop, holds its resources
// until it does, and has failed or is begun again as its description says.
func (e *Executor) Restore(now engram.Time, k Known) []Action {
	e.at(now)
	for id, d := range k.Descriptions {
		e.describe(id.ProviderSegment(), d)
	}
	for name, s := range k.Providers {
		e.hear(e.provider(name), s)
	}
	for _, s := range k.Switches {
		e.switched(s)
	}
	slices.SortFunc(k.Executions, func(a, b skill.Execution) int {
		// What was called ends before what called it.
		return cmp.Or(cmp.Compare(b.Started, a.Started), b.ID.Compare(a.ID))
	})
	claimed := map[engram.ID]bool{}
	for _, x := range k.Executions {
		claimed[x.ID] = true
		e.recover(x, k.Requests)
	}
	slices.Reverse(e.list)
	for _, a := range k.Aborts {
		id, err := executionOf(a.Request)
		if err != nil {
			continue
		}
		if x := e.active[id]; x != nil {
			e.abort(x, a)
		} else if !claimed[id] && !e.cfg.Claimed(id) {
			e.remember(id, a)
		}
	}
	type asked struct {
		id engram.ID
		skill.Request
	}
	var requests []asked
	for id, r := range k.Requests {
		if of, err := executionOf(id); err == nil && !claimed[of] {
			requests = append(requests, asked{id, r})
		}
	}
	slices.SortFunc(requests, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), a.id.Compare(b.id))
	})
	for _, r := range requests {
		e.request(r.id, r.Request)
	}
	return e.done()
}

// recover takes an execution over.
func (e *Executor) recover(rec skill.Execution, requests map[engram.ID]skill.Request) {
	if rec.Request.Level() < engram.LevelEntity {
		return // written by somebody else, before there was an executor
	}
	x := &execution{Execution: rec, req: requests[rec.Request], callerHeard: e.now}
	if x.req.Skill == "" { // the request is forgotten
		x.req = skill.Request{Skill: rec.Skill.ProviderSegment() + "/" + rec.Skill.Entity(), Parameters: rec.Parameters}
	}
	if o := e.offers[rec.Skill.Entity()][rec.Skill.ProviderSegment()]; o != nil && o.desc != nil {
		x.offer = o
	}
	if rec.Status.Ended() {
		lost := rec.Failure != nil && (rec.Failure.Code == skill.CodeLostProvider || rec.Failure.Code == skill.CodeServerRestarted)
		lost = lost || rec.Stop != nil && rec.Stop.Reason == skill.ReasonServerRestarted
		silent := rec.Stop != nil && rec.Stop.Answer == skill.Unconfirmed
		if !lost && !silent || rec.SkillProvider == "" {
			return
		}
		// Whether its provider was heard, fenced or has said since that it stands still is
		// forgotten: a lease and a stop timeout each.
		if d := skill.DefaultLease + x.stopWithin(); e.now < rec.Timestamp.Add(5*d) {
			e.orphaned(x, e.now.Add(d))
		}
		if silent && rec.Stop.Reason != skill.ReasonServerRestarted || rec.Failure != nil && rec.Failure.Code == skill.CodeLostProvider {
			e.fence(e.provider(rec.SkillProvider), rec.ProviderEpoch)
		}
		return
	}
	e.add(x)
	if !x.holds() && x.Attempt == 0 {
		if !e.adopt(x) { // what called it is not taken over yet, and does not go on as it was
			e.abort(x, skill.AbortOrder{Reason: skill.ReasonParent, Message: "what called it has ended"})
			return
		}
		if x.offer == nil {
			e.fail(x, unknown(x.req.Skill))
			return
		}
		if x.Status == skill.Constructing {
			e.enter(x, skill.Initializing, "")
		}
		e.prepare(x)
		return
	}
	o := e.orphaned(x, e.now.Add(skill.DefaultLease+x.stopWithin()))
	resume := x.Status != skill.Stopping && x.offer != nil && x.offer.desc.Resumable && x.Parent.Level() < engram.LevelEntity
	stopping := x.Stop != nil && x.Status == skill.Stopping
	if !stopping {
		x.Stop = &skill.Stop{Reason: skill.ReasonServerRestarted, Message: "the memory server restarted", Asked: e.now, Deadline: e.now.Add(x.stopWithin())}
	}
	e.tellStop(x)
	switch {
	case resume:
		x.Stop, x.orphan, x.Progress, x.ExpectedEnd = nil, o, 0, 0
		e.prepare(x)
	case stopping:
		e.endStopped(x, skill.Unconfirmed)
	default:
		x.Stop.Answer = skill.Unconfirmed
		e.fail(x, &skill.Failure{Code: skill.CodeServerRestarted, Retry: skill.RetryYes, Message: "the memory server died while it ran"})
	}
}
