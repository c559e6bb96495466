package navigation

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/pose"
)

// codec reads and writes payloads.
type codec struct{ plan, event, result, localization *idf.Type }

func newCodec(ctx context.Context, types engram.Types) (*codec, error) {
	c := &codec{}
	for name, to := range map[string]**idf.Type{
		"engram.navigation.Plan": &c.plan, "engram.navigation.Event": &c.event, "engram.navigation.Result": &c.result, "engram.robot_state.Localization": &c.localization,
	} {
		def, err := types.Type(ctx, name)
		if err != nil {
			return nil, err
		}
		if *to, err = idf.ParseType(def); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// child returns the frame whose place a snapshot of RobotState/Localization states.
func (c *codec) child(item engram.Item) (string, bool) {
	v, err := c.localization.Decode(item.Instances[0].Payload.Bytes)
	m, _ := v.(map[string]any)
	name, _ := m["child_frame_id"].(string)
	return name, err == nil && name != ""
}

// planUpdate writes a plan.
func (c *codec) planUpdate(entity engram.ID, r *Plan) (u engram.EntityUpdate, err error) {
	path := make([]any, len(r.Path.Points))
	for i, p := range r.Path.Points {
		path[i] = positionValue(p)
	}
	v := map[string]any{
		"timestamp": r.Time, "goal_name": r.Goal.Name, "frame_id": r.Frame, "goal_pose": poseValue(r.Goal.Pose), "start_pose": poseValue(r.Start),
		"path": path, "length": r.Path.Length, "message": r.Message,
	}
	for member, id := range map[string]engram.ID{
		"goal": r.Goal.Of, "execution": r.Execution, "costmap": r.Costmap, "map": r.Map, "robot_localization": r.Robot, "replaces": r.Replaces, "obstacle": r.Obstacle,
	} {
		if !id.IsRoot() {
			v[member] = id
		}
	}
	return update(entity, r.Time, c.plan, v)
}

// update writes a snapshot with one instance.
func update(entity engram.ID, at engram.Time, of *idf.Type, v map[string]any) (engram.EntityUpdate, error) {
	b, err := of.Encode(v)
	return engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})}}, err
}

// readPlan reads a plan from a snapshot.
func (c *codec) readPlan(item engram.Item) (*Plan, error) {
	decoded, err := c.plan.Decode(item.Instances[0].Payload.Bytes)
	if err != nil {
		return nil, err
	}
	m, _ := decoded.(map[string]any)
	link := func(name string) engram.ID { id, _ := m[name].(engram.ID); return id }
	text := func(name string) string { s, _ := m[name].(string); return s }
	r := &Plan{
		ID: item.ID.Instance(0), Time: item.Time, Frame: text("frame_id"), Message: text("message"), Goal: Goal{Name: text("goal_name"), Of: link("goal")},
		Execution: link("execution"), Costmap: link("costmap"), Map: link("map"), Robot: link("robot_localization"), Replaces: link("replaces"), Obstacle: link("obstacle"),
	}
	r.Path.Length, _ = m["length"].(float64)
	points, _ := m["path"].([]any)
	for _, p := range points {
		at := vectorOf(p)
		r.Path.Points = append(r.Path.Points, grid.Point{X: at.X, Y: at.Y})
	}
	if r.Goal.Pose, err = poseOf(m["goal_pose"]); err != nil {
		return nil, engram.Errorf(engram.Invalid, item.ID.String(), "goal_pose: %w", err)
	}
	if r.Start, err = poseOf(m["start_pose"]); err != nil {
		return nil, engram.Errorf(engram.Invalid, item.ID.String(), "start_pose: %w", err)
	}
	if len(r.Path.Points) == 0 {
		return nil, engram.Errorf(engram.Invalid, item.ID.String(), "the path of the plan has no points")
	}
	return r, nil
}

func positionValue(p grid.Point) map[string]any { return map[string]any{"x": p.X, "y": p.Y, "z": 0.0} }

func poseValue(p pose.Pose) map[string]any {
	return map[string]any{
		"position":    map[string]any{"x": p.T.X, "y": p.T.Y, "z": p.T.Z},
		"orientation": map[string]any{"x": p.R.X, "y": p.R.Y, "z": p.R.Z, "w": p.R.W},
	}
}

// poseOf reads a pose. The error is Invalid for one that is none.
func poseOf(v any) (pose.Pose, error) {
	m, _ := v.(map[string]any)
	r, _ := m["orientation"].(map[string]any)
	number := func(name string) float64 { f, _ := r[name].(float64); return f }
	return pose.Pose{T: vectorOf(m["position"]), R: pose.Quat{X: number("x"), Y: number("y"), Z: number("z"), W: number("w")}}.Checked()
}

func vectorOf(v any) pose.Vec3 {
	m, _ := v.(map[string]any)
	number := func(name string) float64 { f, _ := m[name].(float64); return f }
	return pose.Vec3{X: number("x"), Y: number("y"), Z: number("z")}
}
