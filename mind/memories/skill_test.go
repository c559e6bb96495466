package memories_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/memories"
)

// A motion comes from a file of prior knowledge.
func TestTrajectoryIsPriorKnowledge(t *testing.T) {
	srv := newServer(t, memories.All(memories.WithPriorKnowledge(folder("Skill/Trajectory/nod.yaml", `
name: nod
robot: RobotState/Description/PriorKnowledge/rover
joint_names: [neck_pitch, neck_yaw]
waypoints:
  - {positions: [0, 0], time_from_start: 0s}
  - {positions: [0.3, 0.1], velocities: [0, 0.5], time_from_start: 500ms}
loop: true
`)))...)
	_, m := latest(t, srv, "Skill/Trajectory/PriorKnowledge/nod")
	waypoints, _ := m["waypoints"].([]any)
	if m["loop"] != true || len(waypoints) != 2 || m["robot"] != engram.MustID("RobotState/Description/PriorKnowledge/rover") {
		t.Fatalf("the motion is %v", m)
	}
	last, _ := waypoints[1].(map[string]any)
	if !reflect.DeepEqual(last["positions"], []any{0.3, 0.1}) || !reflect.DeepEqual(last["velocities"], []any{0.0, 0.5}) || last["time_from_start"] != 500*time.Millisecond {
		t.Errorf("its last waypoint is %v", last)
	}
}

// Of a step that was not asked for nothing is said; others have a status and an execution.
func TestPlan(t *testing.T) {
	typ := typeOf(t, "engram.skill.Plan")
	b, err := typ.Encode(map[string]any{
		"goal": "Anna has the cup", "cause": engram.MustID("Speech/Command/a/b"), "planner": "Planner", "status": 3,
		"steps": []any{
			map[string]any{"skill": engram.MustID("Skill/Description/Arm/Grasp"), "status": 4, "execution": engram.MustID("Skill/Execution/Arm/Grasp-1"), "parameters": map[string]any{"object": "cup"}},
			map[string]any{"skill": engram.MustID("Skill/Description/Arm/Hand"), "waits_for": []any{int32(0)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := typ.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	steps, _ := v.(map[string]any)["steps"].([]any)
	if len(steps) != 2 {
		t.Fatalf("the plan is %v", v)
	}
	done, next := steps[0].(map[string]any), steps[1].(map[string]any)
	if done["execution"] != engram.MustID("Skill/Execution/Arm/Grasp-1") || !reflect.DeepEqual(done["parameters"], map[string]any{"object": "cup"}) {
		t.Errorf("what was done is %v", done)
	}
	if _, said := next["status"]; said || !reflect.DeepEqual(next["waits_for"], []any{int32(0)}) {
		t.Errorf("what is next is %v", next)
	}
}
