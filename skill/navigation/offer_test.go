package navigation_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

// The skill MoveTo drives to what a text means, and says what is wrong with a goal.
func TestMoveTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		srv, err := server.New(server.Config{Memories: []server.Memory{memories.Navigation(), memories.World(), memories.Object(), memories.Skill()}})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		w, err := world.Over(ctx, srv, "anna", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		state(t, w, thing("hall", "", 0, 0, pose.Vec3{X: 10, Y: 10, Z: 3}, world.KindMap),
			thing("table", "hall", 8, 5, pose.Vec3{X: 0.8, Y: 0.8, Z: 0.7}, world.KindObject))
		if _, err := w.SetMap(ctx, "floorplan", hall.Map([]string{"hall"}, "hall"), hall.Data); err != nil {
			t.Fatal(err)
		}
		floor, err := navigation.OpenFloor(ctx, w, "floorplan", navigation.FloorOptions{Robot: "rover"})
		if err != nil {
			t.Fatal(err)
		}
		defer floor.Close()
		clock := navigation.NewScaledClock(engram.Now(), 1)
		robot := navigation.NewSimulated(clock, navigation.Pose2D{Point: navigation.Point{X: 1, Y: 5}}, 0.3, nil)
		n, err := navigation.New(ctx, navigation.Options{Floor: floor, Platform: robot, Clock: clock, Record: srv, Robot: "rover"})
		if err != nil {
			t.Fatal(err)
		}
		p := skill.NewProvider(srv, "Platform")
		navigation.Offer(p, n, &navigation.Places{Floor: floor, World: w})
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		defer func() {
			stop()
			<-ended
		}()
		synctest.Wait()

		move := func(goal string) (*skill.Execution, engram.ID) {
			x, err := skill.Start(ctx, srv, skill.Request{Skill: navigation.MoveTo, Parameters: map[string]any{"goal": goal}, Caller: "test"})
			if err != nil {
				t.Fatal(err)
			}
			e, err := x.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return e, x.ID()
		}
		e, id := move("the table")
		if e.Status != skill.Succeeded {
			t.Fatalf("%+v", e)
		}
		result, err := srv.Latest(ctx, engram.MustID("Navigation/Result/Navigator/rover"))
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := memories.Type("engram.navigation.Result")
		v, err := typ.Decode(result.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if of := v.(map[string]any); of["execution"] != id || of["request"] != engram.MustID("Skill/Request/test/"+id.Entity()) {
			t.Errorf("the result says %v", of)
		}
		for goal, code := range map[string]string{"the moon": "unknown_goal", "100,5": "goal_outside"} {
			if e, _ := move(goal); e.Status != skill.Failed || e.Failure == nil || e.Failure.Code != code {
				t.Errorf("to %s: %+v %+v", goal, e, e.Failure)
			}
		}

		// A planner of one's own is a skill, too: MoveTo goes where that says.
		planning, enough := context.WithCancel(ctx)
		planner, planned := skill.NewProvider(srv, "Detours"), 0
		skill.Handle(planner, skill.Spec{Name: navigation.PlanPath}, func(c *skill.Call, in navigation.PlanPathParameters) (out navigation.PlanPathResult, err error) {
			planned++
			if in.To.X < 2 {
				return out, skill.Errorf("unreachable", skill.RetryNo, nil, "not there")
			}
			out.Path = []navigation.Point{in.From, {X: 4, Y: 2}, in.To}
			return out, nil
		})
		stopped := make(chan error, 1)
		go func() { stopped <- planner.Run(planning) }()
		synctest.Wait()
		if e, _ := move("7,2"); e.Status != skill.Succeeded || planned == 0 {
			t.Errorf("with a planner of one's own, asked %d times: %+v %+v", planned, e, e.Failure)
		}
		if e, _ := move("1,1"); e.Status != skill.Failed || e.Failure == nil || e.Failure.Code != "unreachable" {
			t.Errorf("where that leads nowhere: %+v %+v", e, e.Failure)
		}
		enough()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if e, _ := move("1,5"); e.Status != skill.Succeeded {
			t.Errorf("when it has gone: %+v %+v", e, e.Failure)
		}
		x, err := skill.Run(ctx, srv, skill.Request{Skill: navigation.PlanPath, Caller: "test", Parameters: navigation.PlanPathParameters{From: navigation.Point{X: 1, Y: 5}, To: navigation.Point{X: 5, Y: 5}}})
		if m, _ := x.(map[string]any); err != nil || m["length"] != 4.0 {
			t.Errorf("PlanPath by itself: %v, %v", x, err)
		}

		// One's own skill of the name takes its place while it is in service; the other is there under its whole name.
		by := func(name string) string {
			x, err := skill.Start(ctx, srv, skill.Request{Skill: name, Parameters: map[string]any{"goal": "the table"}, Caller: "test"})
			if err != nil {
				t.Fatal(err)
			}
			e, err := x.Wait(ctx)
			if err != nil || e.Status != skill.Succeeded {
				t.Fatalf("%s: %+v, %v", name, e, err)
			}
			return e.SkillProvider
		}
		running, end := context.WithCancel(ctx)
		own := skill.NewProvider(srv, "Acme")
		skill.Handle(own, skill.Spec{Name: navigation.MoveTo, Resources: []string{"platform"}},
			func(*skill.Call, navigation.MoveToParameters) (navigation.MoveToResult, error) {
				return navigation.MoveToResult{X: 1}, nil
			})
		gone := make(chan error, 1)
		go func() { gone <- own.Run(running) }()
		synctest.Wait()
		if first, whole := by(navigation.MoveTo), by("Platform/"+navigation.MoveTo); first != "Acme" || whole != "Platform" {
			t.Errorf("MoveTo is run by %s, Platform/MoveTo by %s", first, whole)
		}
		// Of several the one that began last is used; who wants another for sure disables it.
		if err := skill.Enable(ctx, srv, "", "Acme/"+navigation.MoveTo, false, "test", ""); err != nil {
			t.Fatal(err)
		}
		if p := by(navigation.MoveTo); p != "Platform" {
			t.Errorf("with one's own disabled, MoveTo is run by %s", p)
		}
		if err := skill.Enable(ctx, srv, "", "Acme/"+navigation.MoveTo, true, "test", ""); err != nil {
			t.Fatal(err)
		}
		if p := by(navigation.MoveTo); p != "Acme" {
			t.Errorf("with one's own enabled again, MoveTo is run by %s", p)
		}
		end()
		if err := <-gone; err != nil {
			t.Error(err)
		}
		if p := by(navigation.MoveTo); p != "Platform" {
			t.Errorf("when one's own has gone, MoveTo is run by %s", p)
		}
	})
}
