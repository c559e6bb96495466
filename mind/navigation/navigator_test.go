package navigation_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/navigation"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// speed is how fast the platform of tests is, metres per second.
const speed = 0.5

// platform follows plans, in steps of 50 ms.
func (r *robot) platform() skill.Skill {
	return skill.Skill{Name: "Follow", Description: skill.Description{Resources: []string{"platform"}}, Do: func(ctx context.Context, c *skill.Call) error {
		id, _ := c.Parameters["plan"].(engram.ID)
		p, err := r.planner.Read(ctx, id)
		if err != nil {
			return err
		}
		points := p.Path.Points
		at := grid.Point{X: r.poses.is().T.X, Y: r.poses.is().T.Y}
		next, best := 0, math.Inf(1)
		for i := range points[1:] { // where the robot is on the path
			if d := at.Distance(at.NearestOn(points[i], points[i+1])); d < best {
				next, best = i+1, d
			}
		}
		for _, to := range points[next:] {
			for at != to {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(50 * time.Millisecond):
				}
				at = at.Between(to, min(1, speed*0.05/at.Distance(to)))
				r.poses.set(pose.Translation(at.X, at.Y, 0))
			}
		}
		return nil
	}}
}

// drives runs a test with a robot that offers its skills.
func drives(t *testing.T, test func(r *robot, skills *skill.Skills)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := inRooms(t)
		r.run()
		skills, err := skill.Open(t.Context(), r.Server)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- skills.Provide(ctx, "Platform", skill.ProvideOptions{}, r.platform()) }()
		n := navigation.NewNavigator(r.planner, navigation.NavigatorOptions{})
		go func() {
			ended <- skills.Provide(ctx, "Navigator", skill.ProvideOptions{}, r.planner.Skill(), n.Skill())
		}()
		defer func() {
			cancel()
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait()
		test(r, skills)
	})
}

// goes asks for a way to a goal.
func (r *robot) goes(skills *skill.Skills, to string) *skill.Handle {
	r.Helper()
	h, err := skills.Start(r.Context(), skill.Ask{Skill: "Navigator/GoTo", Parameters: map[string]any{"to": to}})
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// came waits until a way has ended, and returns its events and its result.
func (r *robot) came(h *skill.Handle) (e *skill.Execution, events []map[string]any, result map[string]any) {
	r.Helper()
	e, err := h.Wait(r.Context(), nil)
	if e == nil {
		r.Fatal(err)
	}
	read := func(id engram.ID) map[string]any {
		at, _ := id.Time()
		s, err := r.AtOrBefore(r.Context(), id.Truncate(engram.LevelEntity), at)
		if err != nil {
			r.Fatal(err)
		}
		typ, _ := memories.Type(s.Instances[0].Payload.Type)
		v, err := typ.Decode(s.Instances[0].Payload.Bytes)
		if err != nil {
			r.Fatal(err)
		}
		return v.(map[string]any)
	}
	result = read(engram.MustID("Navigation/Result/Navigator/platform").At(engram.MaxTime - 1))
	for _, id := range result["events"].([]any) {
		events = append(events, read(id.(engram.ID)))
	}
	return e, events, result
}

func kinds(events []map[string]any) (all []string) {
	for _, e := range events {
		all = append(all, text(e["kind"]))
	}
	return all
}

func text(v any) string {
	if s, ok := v.(interface{ String() string }); ok {
		return s.String()
	}
	s, _ := v.(string)
	return s
}

func wantKinds(t testing.TB, events []map[string]any, want ...string) {
	t.Helper()
	if got := kinds(events); !slices.Equal(got, want) {
		t.Fatalf("the events are %q, want %q", got, want)
	}
}

// A robot drives to a desk in the other room; events and result link to what they are about.
func TestGoTo(t *testing.T) {
	drives(t, func(r *robot, skills *skill.Skills) {
		r.place("desk", 9, 1, 0)
		e, events, result := r.came(r.goes(skills, "desk"))
		wantKinds(t, events, "Started", "GlobalPlanned", "GoalReached")
		plan, _ := result["plan"].(engram.ID)
		p, err := r.planner.Read(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		length, _ := result["path_length"].(float64)
		if e.Status != schedule.Succeeded || result["success"] != true || math.Abs(length-p.Path.Length) > 0.05 || result["execution"] != any(e.ID) {
			t.Errorf("it is %+v, and the result %v of the plan %+v", e, result, p)
		}
		if at := r.poses.is().T; at.X != 9 || at.Y != 1 {
			t.Errorf("the robot is at %v", at)
		}
		if events[0]["request"] != any(e.Request) || events[1]["plan"] != any(plan) || p.Execution.ProviderSegment() != "Navigator" {
			t.Errorf("events link to %v and %v, the plan to %v", events[0]["request"], events[1]["plan"], p.Execution)
		}
		if h := r.goes(skills, "nowhere"); h != nil {
			e, events, _ := r.came(h)
			wantKinds(t, events, "GlobalPlanningFailed")
			if e.Status != schedule.Failed || e.Failure.Code != engram.NotFound.String() {
				t.Errorf("to nowhere: %+v %+v", e, e.Failure)
			}
		}
	})
}

// A crate that comes into the way is driven around.
func TestReplans(t *testing.T) {
	drives(t, func(r *robot, skills *skill.Skills) {
		r.place("desk", 1, 4, 0)
		h := r.goes(skills, "desk")
		time.Sleep(2 * time.Second)
		r.item("crate", "map", pose.Translation(1, 3, 0), pose.Vec3{X: 0.4, Y: 0.4, Z: 0.5})
		e, events, result := r.came(h)
		wantKinds(t, events, "Started", "GlobalPlanned", "Replanned", "GoalReached")
		by, _ := events[2]["obstacle"].(engram.ID)
		if e.Status != schedule.Succeeded || by.Entity() != "crate" {
			t.Errorf("it is %+v, because of %v", e, by)
		}
		p, err := r.planner.Read(t.Context(), result["plan"].(engram.ID))
		if err != nil || p.Replaces.IsRoot() || p.Obstacle.Entity() != "crate" || !strings.Contains(p.Message, "the crate is in the way") {
			t.Errorf("the second plan is %+v: %v", p, err)
		}
	})
}

// The robot stops for a person, and goes on when they have; around one who stays.
func TestStopsForPeople(t *testing.T) {
	for name, stays := range map[string]bool{"who goes on": false, "who stays": true} {
		t.Run(name, func(t *testing.T) {
			drives(t, func(r *robot, skills *skill.Skills) {
				r.place("desk", 1, 4, 0)
				h := r.goes(skills, "desk")
				time.Sleep(time.Second)
				r.item("anna", "map", pose.Translation(1, 3.4, 0), pose.Vec3{X: 0.3, Y: 0.3, Z: 1.7}, navigation.KindPerson)
				time.Sleep(3 * time.Second)
				if y := r.poses.is().T.Y; y < 1.3 || y > 2.7 {
					t.Errorf("before a person the robot stands at y = %g", y)
				}
				want := []string{"Started", "GlobalPlanned", "SafetyStop", "Replanned", "GoalReached"}
				if !stays {
					r.item("anna", "map", pose.Translation(4, 1, 0), pose.Vec3{X: 0.3, Y: 0.3, Z: 1.7}, navigation.KindPerson)
					want = slices.Delete(want, 3, 4)
				}
				_, events, result := r.came(h)
				wantKinds(t, events, want...)
				if by, _ := events[2]["obstacle"].(engram.ID); by.Entity() != "anna" || result["success"] != true {
					t.Errorf("it stopped because of %v, and %v", by, result)
				}
			})
		})
	}
}

// A robot that is trapped says so, waits for a way, and gives up in the end.
func TestTrapped(t *testing.T) {
	for name, opens := range map[string]bool{"opens": true, "stays shut": false} {
		t.Run(name, func(t *testing.T) {
			drives(t, func(r *robot, skills *skill.Skills) {
				r.place("desk", 9, 1, 0)
				h := r.goes(skills, "desk")
				time.Sleep(2 * time.Second)
				shut := pose.Vec3{X: 0.1, Y: 1.4, Z: 2}
				r.item("door", "map", pose.Translation(5, 4.4, 0), shut)
				time.Sleep(5 * time.Second)
				if opens {
					r.item("door", "map", pose.Translation(5.6, 1.4, 0), shut)
				}
				e, events, result := r.came(h)
				if opens {
					wantKinds(t, events, "Started", "GlobalPlanned", "Trapped", "Replanned", "GoalReached")
					return
				}
				wantKinds(t, events, "Started", "GlobalPlanned", "Trapped", "Trapped")
				if e.Failure == nil || e.Failure.Code != "trapped" || !e.Failure.Retry || len(e.Failure.BlockedBy) != 1 || e.Failure.BlockedBy[0].Entity() != "door" || text(result["ended_by"]) != "Trapped" {
					t.Errorf("it is %+v %+v", e, e.Failure)
				}
			})
		})
	}
}

// A goal that moves is followed, and an abort has the robot stand still.
func TestGoalMovesAndAbort(t *testing.T) {
	drives(t, func(r *robot, skills *skill.Skills) {
		h := r.goes(skills, "table")
		time.Sleep(time.Second)
		r.item("table", "map", pose.Translation(3, 1, 0), pose.Vec3{X: 1, Y: 0.6, Z: 0.8})
		_, events, _ := r.came(h)
		wantKinds(t, events, "Started", "GlobalPlanned", "Replanned", "GoalReached")
		if m := text(events[2]["message"]); !strings.Contains(m, "the goal has moved by 2.0 m") {
			t.Errorf("it was planned again because %q", m)
		}
		r.place("desk", 9, 1, 0)
		h = r.goes(skills, "desk")
		time.Sleep(time.Second)
		if err := h.Abort(t.Context(), "stop it"); err != nil {
			t.Fatal(err)
		}
		e, events, result := r.came(h)
		wantKinds(t, events, "Started", "GlobalPlanned", "Aborted")
		if e.Status != schedule.Aborted || result["success"] == true {
			t.Errorf("it is %+v", e)
		}
		at := r.poses.is()
		time.Sleep(time.Second)
		if at != r.poses.is() {
			t.Error("the robot goes on")
		}
	})
}
