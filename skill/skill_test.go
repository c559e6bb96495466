package skill_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

func newServer(t testing.TB) *server.Server {
	return serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
}

// provide runs a provider until the test ends or stop is called, and waits until it is in
// service.
func provide(t testing.TB, svc engram.Service, p *skill.Provider, name string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the provider: %v", err)
		}
	}
	t.Cleanup(stop)
	inService(t, svc, name)
	return stop
}

// inService waits until a provider and its skills are known.
func inService(t testing.TB, svc engram.Service, name string) {
	t.Helper()
	stream, err := svc.Subscribe(t.Context(), engram.Subscription{Start: engram.Start{Kind: engram.StartLast, N: 1},
		Patterns: []engram.Pattern{engram.MustPattern("Skill/Description/" + name)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range engram.Updates(t.Context(), stream) {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

func wait(t testing.TB, x *skill.Ongoing) *skill.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := x.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func start(t testing.TB, svc engram.Service, r skill.Request) *skill.Ongoing {
	t.Helper()
	x, err := skill.Start(t.Context(), svc, r)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// until waits for a state.
func until(t testing.TB, x *skill.Ongoing, is func(e *skill.Execution) bool) *skill.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for e, err := range x.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if is(e) {
			return e
		}
	}
	e, err := x.Wait(ctx)
	t.Fatalf("it has ended before: %+v, %v", e, err)
	return nil
}

func running(e *skill.Execution) bool { return e.Status == skill.Running }

// TestRequestIsExecuted goes the whole way: a request is a commit, the answer the execution's
// entity, with each status in its order, progress, what was found, the result, and links.
func TestRequestIsExecuted(t *testing.T) {
	s := newServer(t)
	p := skill.NewProvider(s, "Arm")
	skill.Handle(p, skill.Spec{Name: "Grasp", Resources: []string{"right_arm"}, Timeout: time.Minute, ExpectedDuration: time.Second, Priority: 3},
		func(c *skill.Call, in graspIn) (graspOut, error) {
			c.Progress(0.5, "closing around "+in.Object)
			c.Intermediate(map[string]any{"contact": true})
			return graspOut{Force: 12}, nil
		})
	provide(t, s, p, "Arm")
	cause := engram.MustID("Speech/Command/mic/1/2026-01-01 00:00:00")
	x := start(t, s, skill.Request{Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, Caller: "me", Cause: cause})
	e := wait(t, x)
	if e.Status != skill.Succeeded || e.Result.(map[string]any)["force"] != 12.0 || e.Caller != "me" || e.Cause != cause || e.Request != x.Request() ||
		e.Skill.String() != "Skill/Description/Arm/Grasp" || e.SkillProvider != "Arm" || e.Priority != 3 || e.Progress != 1 || e.Deadline == 0 || e.ExpectedEnd == 0 {
		t.Errorf("it ended as %+v", e)
	}
	types, err := skill.LoadTypes(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Query(t.Context(), engram.PatternOf(x.ID()).Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var statuses []string
	for item := range result.All() {
		var e skill.Execution
		if err := types.DecodeSnapshot(item.Snapshot, &e); err != nil {
			t.Fatal(err)
		}
		if n := len(statuses); n == 0 || statuses[n-1] != e.Status.String() {
			statuses = append(statuses, e.Status.String())
		}
	}
	if got := strings.Join(statuses, " "); got != "Constructing Initializing Preparing Running Succeeded" {
		t.Errorf("its statuses are %s", got)
	}
	if again, err := skill.Find(t.Context(), s, x.Request()); err != nil || again.Status != skill.Succeeded {
		t.Errorf("found again: %v, %v", again, err)
	}
	if _, err := skill.Start(t.Context(), s, skill.Request{Skill: "Grasp", Parameters: graspIn{"plate"}, Caller: "me", Name: x.Request().Entity()}); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("a name that was used: %v", err)
	}
}

// TestBadRequests are refused with what is wrong, by the commit.
func TestBadRequests(t *testing.T) {
	s := newServer(t)
	p := skill.NewProvider(s, "Arm")
	skill.Handle(p, skill.Spec{Name: "Grasp"}, func(c *skill.Call, in graspIn) (any, error) { return nil, nil })
	provide(t, s, p, "Arm")
	for want, r := range map[string]skill.Request{
		"did you mean Grasp?":   {Skill: "Graps"},
		"there are Grasp":       {Skill: "Fly"},
		"the parameter object":  {Skill: "Grasp"},
		"object: expected":      {Skill: "Arm/Grasp", Parameters: map[string]any{"object": 3}},
		"no parameter objct":    {Skill: "Grasp", Parameters: map[string]any{"object": "cup", "objct": "cup"}},
		"takes an object of me": {Skill: "Grasp", Parameters: "cup"},
		"timeout: -3s is less":  {Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, Timeout: -3 * time.Second},
		"no \"abrot\"; there":   {Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, OnCallerGone: "abrot"},
	} {
		_, err := skill.Start(t.Context(), s, r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
		switch code := engram.CodeOf(err); {
		case r.Parameters == nil && r.Skill != "Grasp" && code == engram.NotFound, code == engram.Invalid, code == engram.TypeMismatch:
		default:
			t.Errorf("%+v: %v", r, code)
		}
	}
	x := engram.MustID("Skill/Execution/me/forged")
	types, err := skill.LoadTypes(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	u, err := types.Update(x, engram.Now(), &skill.Execution{Request: engram.MustID("Skill/Request/me/forged")})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || engram.CodeOf(r[0].Err) != engram.Forbidden {
		t.Errorf("an execution by somebody else: %v, %v", r, err)
	}
}

// TestAbort stops what runs, what waits, and what did not come yet.
func TestAbort(t *testing.T) {
	s := newServer(t)
	p := skill.NewProvider(s, "Base")
	stopped := make(chan string, 10)
	skill.Handle(p, skill.Spec{Name: "Drive", Resources: []string{"platform"}}, func(c *skill.Call, _ any) (any, error) {
		<-c.Done()
		stopped <- c.StopReason()
		return nil, c.Err()
	})
	skill.Handle(p, skill.Spec{Name: "Fall", CannotStop: true}, func(c *skill.Call, in map[string]any) (any, error) {
		for c.Err() == nil && in["end"] == nil {
			time.Sleep(time.Millisecond)
		}
		return "down", nil
	})
	provide(t, s, p, "Base")
	first := start(t, s, skill.Request{Skill: "Drive"})
	until(t, first, running)
	second := start(t, s, skill.Request{Skill: "Drive", Timeout: time.Minute})
	until(t, second, func(e *skill.Execution) bool { return strings.Contains(e.Message, "platform is held by Drive") })
	if a, err := second.Abort(t.Context(), skill.ReasonOperator, "no need"); a != skill.Confirmed || err != nil {
		t.Errorf("of what waits: %v, %v", a, err)
	}
	if e := wait(t, second); e.Status != skill.Aborted || e.Stop == nil || e.Stop.Reason != skill.ReasonOperator || e.Stop.Message != "no need" {
		t.Errorf("what waited ended as %+v", e)
	}
	if a, err := first.Abort(t.Context(), skill.ReasonCondition, ""); a != skill.Confirmed || err != nil {
		t.Errorf("of what runs: %v, %v", a, err)
	}
	if e := wait(t, first); e.Status != skill.Aborted || <-stopped != skill.ReasonCondition {
		t.Errorf("what ran ended as %+v", e)
	}
	fall := start(t, s, skill.Request{Skill: "Fall"})
	until(t, fall, running)
	if a, err := fall.Abort(t.Context(), skill.ReasonOperator, ""); a != skill.Refused || err != nil {
		t.Errorf("of what cannot stop: %v, %v", a, err)
	}
	early, err := skill.Follow(s, engram.MustID("Skill/Request/me/early"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	_, err = early.Abort(ctx, skill.ReasonOperator, "")
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of what does not exist: %v", err)
	}
	if e := wait(t, start(t, s, skill.Request{Skill: "Drive", Caller: "me", Name: "early"})); e.Status != skill.Aborted {
		t.Errorf("what was aborted before it was asked for ended as %+v", e)
	}
}

// TestNested runs skills within skills: the path of a failure, and an abort that goes down.
func TestNested(t *testing.T) {
	s := newServer(t)
	p := skill.NewProvider(s, "Robot")
	skill.Handle(p, skill.Spec{Name: "Open", Resources: []string{"arm"}}, func(c *skill.Call, in map[string]any) (any, error) {
		if in["wait"] == true {
			<-c.Done()
			return nil, c.Err()
		}
		return nil, skill.Errorf("locked", skill.RetryNo, []engram.ID{engram.MustID("World/Item/me/fridge")}, "the door of the %v is locked", in["door"])
	})
	skill.Handle(p, skill.Spec{Name: "PutAway", Resources: []string{"arm"}}, func(c *skill.Call, in map[string]any) (any, error) {
		return c.Run("Open", map[string]any{"door": "fridge", "wait": in["wait"]})
	})
	provide(t, s, p, "Robot")
	e := wait(t, start(t, s, skill.Request{Skill: "PutAway", Parameters: map[string]any{"wait": false}}))
	if f := e.Failure; e.Status != skill.Failed || f == nil || f.Code != "locked" || f.Retry != skill.RetryNo || len(f.BlockedBy) != 1 ||
		e.Err().Error() != "PutAway > Open: the door of the fridge is locked" {
		t.Errorf("it failed as %+v", e.Failure)
	}
	x := start(t, s, skill.Request{Skill: "PutAway", Parameters: map[string]any{"wait": true}})
	child := childOf(t, s, x.ID())
	until(t, child, running)
	if a, err := x.Abort(t.Context(), skill.ReasonOperator, ""); a != skill.Confirmed || err != nil {
		t.Fatal(a, err)
	}
	if c := wait(t, child); c.Status != skill.Aborted || c.Stop.Reason != skill.ReasonParent || c.Parent != x.ID() {
		t.Errorf("the child ended as %+v", c)
	}
	if e := wait(t, x); e.Status != skill.Aborted {
		t.Errorf("it ended as %+v", e)
	}
}

// childOf waits for an execution that another one has called.
func childOf(t testing.TB, s engram.Service, parent engram.ID) *skill.Ongoing {
	t.Helper()
	types, err := skill.LoadTypes(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.Subscribe(t.Context(), engram.Subscription{Start: engram.Start{Kind: engram.StartLast, N: 1}, WithData: true,
		Patterns: []engram.Pattern{engram.MustPattern("Skill/Execution")}})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range engram.Updates(t.Context(), stream) {
		if err != nil {
			t.Fatal(err)
		}
		var e skill.Execution
		if err := types.DecodeSnapshot(u.Snapshot, &e); err != nil {
			t.Fatal(err)
		}
		if e.Parent == parent {
			x, err := skill.Follow(s, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	return nil
}
