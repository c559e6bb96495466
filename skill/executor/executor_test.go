package executor

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

func calmWorld(t *testing.T) *world {
	w := newWorld(t, 1)
	w.calm = true
	w.describeAll()
	return w
}

func (w *world) of(request engram.ID) skill.Execution {
	id, _ := executionOf(request)
	return w.executions[id]
}

func (w *world) want(request engram.ID, s skill.Status, message string) skill.Execution {
	w.t.Helper()
	x := w.of(request)
	if x.Status != s || !strings.Contains(x.Message, message) {
		w.fatalf("%s is %s %q, want %s %q", request, x.Status, x.Message, s, message)
	}
	return x
}

func priority(p int32) *int32 { return &p }

// Of those that wait for a resource the one of the greatest priority comes first, and of equals
// the one that came first; what it waits for is not given to others meanwhile.
func TestPriorities(t *testing.T) {
	w := calmWorld(t)
	holds := w.request(skill.Request{Skill: "Arm2"})
	low := w.request(skill.Request{Skill: "Arm2", Priority: priority(1)})
	both := w.request(skill.Request{Skill: "Both2", Priority: priority(5)})
	base := w.request(skill.Request{Skill: "Base2", Priority: priority(4)})
	w.want(holds, skill.Running, "")
	w.want(base, skill.Preparing, "base is for Both2 first")
	w.finish(w.providers["Arm"])
	w.want(both, skill.Running, "")
	w.want(low, skill.Preparing, "arm is held by Both2")
	w.finish(w.providers["Both"])
	w.want(low, skill.Running, "")
	w.want(base, skill.Running, "")
}

// A request of higher priority stops what may be stopped, and starts when that stands still.
func TestPreemption(t *testing.T) {
	w := calmWorld(t)
	first := w.request(skill.Request{Skill: "Arm1", Priority: priority(1)})
	same := w.request(skill.Request{Skill: "Arm1", Priority: priority(1)})
	w.want(first, skill.Running, "")
	high := w.request(skill.Request{Skill: "Arm2", Priority: priority(2), Caller: "boss"})
	if x := w.want(first, skill.Stopping, "needs what it holds"); x.Stop.Reason != skill.ReasonPreempted || x.Stop.By != "boss" {
		w.fatalf("it was stopped by %+v", x.Stop)
	}
	w.want(high, skill.Preparing, "arm is held by Arm1")
	w.finish(w.providers["Arm"])
	w.want(first, skill.Aborted, "")
	w.want(high, skill.Running, "")
	w.want(same, skill.Preparing, "")
	higher := w.request(skill.Request{Skill: "Arm1", Priority: priority(9)})
	w.want(high, skill.Running, "") // it must not be stopped
	w.want(higher, skill.Preparing, "arm is held by Arm2")
}

// What a skill calls may use what that holds; two that wait for each other are told.
func TestNestedResources(t *testing.T) {
	w := calmWorld(t)
	arm := w.request(skill.Request{Skill: "Arm2"})
	w.want(w.request(skill.Request{Skill: "Arm1", Parent: w.of(arm).ID}), skill.Running, "")
	base := w.request(skill.Request{Skill: "Base2"})
	a := w.request(skill.Request{Skill: "Base1", Parent: w.of(arm).ID})
	w.want(a, skill.Preparing, "base is held by Base2")
	b := w.request(skill.Request{Skill: "Arm1", Parent: w.of(base).ID})
	w.want(b, skill.Preparing, "arm is held by Arm2")
	if x := w.want(a, skill.Failed, "waits for what this one's callers hold"); x.Failure.Code != skill.CodeDeadlock {
		w.fatalf("it failed as %+v", x.Failure)
	}
}

// A skill that is disabled is stopped, and waited for as long as the request says.
func TestDisabled(t *testing.T) {
	w := calmWorld(t)
	w.pass(4 * time.Second)
	id := engram.MustID("Skill/Description/Arm/Arm2")
	runs := w.request(skill.Request{Skill: "Arm2"})
	w.carryOut(w.e.Switch(w.now, skill.Switch{Timestamp: w.now, Skill: id, By: "op", Reason: "maintenance"}))
	w.want(runs, skill.Stopping, "maintenance")
	w.finish(w.providers["Arm"])
	w.want(runs, skill.Aborted, "")
	if x := w.want(w.request(skill.Request{Skill: "Arm2"}), skill.Failed, "disabled: maintenance"); x.Failure.Code != skill.CodeDisabled {
		w.fatalf("it failed as %+v", x.Failure)
	}
	late := w.request(skill.Request{Skill: "Arm2", Timeout: time.Second})
	patient := w.request(skill.Request{Skill: "Arm2", Timeout: time.Minute})
	w.pass(2 * time.Second)
	w.want(late, skill.Failed, "did not come to run in time: the skill Arm2 is disabled")
	w.carryOut(w.e.Switch(w.now, skill.Switch{Timestamp: w.now, Skill: id, Enabled: true}))
	w.want(patient, skill.Running, "")
}

// What takes too long is stopped, and has failed when it stands still.
func TestTimeout(t *testing.T) {
	w := calmWorld(t)
	x := w.request(skill.Request{Skill: "Arm2"})
	w.pass(4100 * time.Millisecond)
	w.want(x, skill.Stopping, "longer than it may")
	w.finish(w.providers["Arm"])
	if e := w.want(x, skill.Failed, ""); e.Failure.Code != skill.CodeTimeout || e.Stop.Answer != skill.Confirmed {
		w.fatalf("it failed as %+v, %+v", e.Failure, e.Stop)
	}
}
