package skill_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// inRooms is inBubble with poses, things and places.
func inRooms(t *testing.T, test func(r *robot)) {
	t.Helper()
	withMemories(t, func() (all []server.Memory) {
		for _, m := range memories.All() {
			switch m.Name {
			case "Skill", "RobotState", "Object", "Navigation":
				all = append(all, m)
			}
		}
		return all
	}, test)
}

// put commits a value of a type.
func (r *robot) put(id, of string, v map[string]any) {
	r.Helper()
	time.Sleep(time.Millisecond)
	typ, ok := memories.Type(of)
	if !ok {
		r.Fatal("there is no type", of)
	}
	b, err := typ.Encode(v)
	if err != nil {
		r.Fatal(err)
	}
	testkit.Commit(r.T, r.Server, engram.EntityUpdate{Entity: engram.MustID(id), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of, Bytes: b})}})
	synctest.Wait()
}

func poseAt(x float64) map[string]any {
	return map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}
}

// sees commits where an object is.
func (r *robot) sees(name, frame string, x float64) {
	r.Helper()
	r.put("Object/Instance/Eye/"+name, "engram.object.Instance", map[string]any{"timestamp": engram.Now(), "frame_id": frame, "pose": poseAt(x)})
}

// drives commits where the robot is in the map.
func (r *robot) drives(x float64) {
	r.Helper()
	r.put("RobotState/Localization/Tim/base", "engram.robot_state.Localization", map[string]any{
		"parent_frame_id": "map", "child_frame_id": "base_link", "translation": map[string]any{"x": x}, "rotation": map[string]any{"w": 1.0}})
}

// Terms count only what is near: to the thing of the condition, seen from wherever, or to a frame, which moves.
func TestNobodyIsNear(t *testing.T) {
	inRooms(t, func(r *robot) {
		calls := r.counted()
		nobody, err := condition.ParseTerm("no Object/Instance/*/~person.* near 1 m within 1h")
		if err != nil {
			t.Fatal(err)
		}
		r.drives(10)
		r.when("take", skill.When{Skill: "Arm/Wave", On: "Object/Instance/*/cup", All: []condition.Term{nobody}, FromUpdate: map[string]string{"who": condition.Name, "text": condition.Name}})
		r.sees("person1", "map", 12.5)
		r.sees("cup", "base_link", 2) // at 12 in the map
		wantCalls(t, calls())
		r.sees("person1", "map", 13.5)
		wantCalls(t, calls(), "cup|cup")
		r.sees("person1", "base_link", 2.5)
		r.sees("cup", "map", 30)
		wantCalls(t, calls(), "cup|cup", "cup|cup")
		r.sees("person2", "nowhere", 0) // nobody knows how near that is
		r.sees("cup", "map", 31)
		r.sees("cup", "map", 32)
		wantCalls(t, calls(), "cup|cup", "cup|cup")

		visit, err := condition.ParseTerm("some Object/Instance/*/cup near 1.5 m of base_link")
		if err != nil {
			t.Fatal(err)
		}
		r.when("there", skill.When{Skill: "Arm/Wave", All: []condition.Term{visit}, Parameters: map[string]any{"text": "there", "who": "me"}})
		for _, x := range []float64{30, 31, 32, 33, 34, 33} { // near, near, near, near, away, near
			r.drives(x)
			time.Sleep(time.Second)
		}
		wantCalls(t, calls()[2:], "there|me", "there|me")
	})
}

// A skill that must not be executed beside people stops when the robot comes near one.
func TestSkillStopsBesidePeople(t *testing.T) {
	inRooms(t, func(r *robot) {
		alone, err := condition.ParseTerm("no Object/Instance/*/~person.* near 1 m of base_link")
		if err != nil {
			t.Fatal(err)
		}
		alone.Lasting = true
		r.offers("Arm", skill.Skill{Name: "Wave", Description: skill.Description{Requires: []condition.Term{alone}}, Do: wave})
		r.sees("person1", "map", 5)
		r.drives(0)
		h := r.start(skill.Ask{Skill: "Arm/Wave", Parameters: map[string]any{"times": int64(1000)}})
		time.Sleep(300 * time.Millisecond)
		if e, err := open(r.Server).Execution(r.ctx, h.ID); err != nil || e.Status != schedule.Running {
			t.Fatalf("it is %+v: %v", e, err)
		}
		r.drives(4.5)
		if e := r.wait(h); e.Status != schedule.Failed || !strings.Contains(e.Message, "near 1 m of base_link") || len(e.Failure.BlockedBy) != 1 || e.Failure.BlockedBy[0].Entity() != "person1" {
			t.Errorf("it is %+v %+v", e, e.Failure)
		}
		if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave", Rehearsal: skill.Check})); e.Status != schedule.Failed || !strings.Contains(e.Message, "person1") {
			t.Errorf("a check beside a person: %+v", e)
		}
	})
}

// A pose that is given instead of a name is called after what is there.
func TestPosesAreNamed(t *testing.T) {
	inRooms(t, func(r *robot) {
		r.offers("Base", skill.Skill{Name: "GoTo", Description: skill.Description{Resolves: map[string]string{"to": "Navigation/Location"}},
			Do: func(context.Context, *skill.Call) error { return nil }})
		r.drives(10)
		for name, x := range map[string]float64{"table": 12, "window": 12.8} {
			r.put("Navigation/Location/Map/"+name, "engram.navigation.Location", map[string]any{"names": []any{name}, "frame_id": "map", "pose": poseAt(x)})
		}
		for x, want := range map[float64]string{2.3: "table", 2.6: "window", 4: ""} {
			e := r.wait(r.start(skill.Ask{Skill: "Base/GoTo", Parameters: map[string]any{"to": map[string]any{"frame_id": "base_link", "pose": poseAt(x)}}}))
			to, _ := e.Resolved["to"].(map[string]any)
			id, _ := to["id"].(engram.ID)
			if e.Status != schedule.Succeeded || id.Entity() != want {
				t.Errorf("%g m before the robot is %v, not %q: %+v", x, to, want, e)
			}
		}
	})
}
