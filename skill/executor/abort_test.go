package executor

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// An abort comes before each event of an execution that waits for a resource, is nested, runs,
// reports and ends: it always ends as Aborted, or as it would have if it had ended before; its
// child never outlives it; and what was aborted before it ran is never started.
func TestAbortAtEveryInstant(t *testing.T) {
	request := engram.MustID("Skill/Request/me/r0002")
	events := []func(w *world){
		func(w *world) { w.describeAll() },
		func(w *world) { w.request(skill.Request{Skill: "Arm2", Caller: "me"}) }, // r0001 holds the arm
		func(w *world) { w.request(skill.Request{Skill: "Both2", Caller: "me", Timeout: time.Minute}) },
		func(w *world) { w.finish(w.providers["Arm"]) },
		func(w *world) { w.report(w.providers["Both"], w.moving(request), skill.ReportAccepted) },
		func(w *world) {
			w.request(skill.Request{Skill: "Base1", Caller: "Both", Parent: engram.MustID("Skill/Execution/me/r0002")})
		},
		func(w *world) { w.report(w.providers["Both"], w.moving(request), skill.ReportRunning) },
		func(w *world) { w.finish(w.providers["Base"]) },
		func(w *world) { w.report(w.providers["Both"], w.moving(request), skill.ReportRunning) },
		func(w *world) { w.finish(w.providers["Both"]) },
	}
	for at := range len(events) + 1 {
		w := newWorld(t, 1)
		w.calm = true
		for i, event := range events {
			if i == at {
				w.abort(request)
			}
			event(w)
		}
		if at == len(events) {
			w.abort(request)
		}
		for range 8 { // what was told to stop says that it has
			for _, name := range sortedKeys(w.providers) {
				w.finish(w.providers[name])
			}
			w.pass(lease / 3)
		}
		e := w.executions[engram.MustID("Skill/Execution/me/r0002")]
		want := skill.Aborted
		if at == len(events) {
			want = skill.Succeeded
		}
		if e.Status != want || want == skill.Aborted && (e.Stop == nil || e.Stop.Answer != skill.Confirmed || e.Stop.Reason != skill.ReasonOperator) {
			w.fatalf("aborted before event %d it is %v, %+v", at, e.Status, e.Stop)
		}
		for id, x := range w.executions {
			if !x.Status.Ended() {
				w.fatalf("aborted before event %d, %s is %s", at, id, x.Status)
			}
		}
		if n := w.started["Skill/Execution/me/r0002 1"]; at <= 3 && n > 0 {
			w.fatalf("aborted before event %d it was started", at)
		}
	}
}

// moving returns what a request has a provider do; something else if nothing.
func (w *world) moving(request engram.ID) *motion {
	id, _ := executionOf(request)
	for _, r := range w.providers {
		if m := r.moving[id]; m != nil {
			return m
		}
	}
	return &motion{order: skill.Order{Execution: id, Attempt: 1}}
}
