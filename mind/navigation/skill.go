package navigation

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Skill returns the planner as a skill, Plan. Its parameter to is what [Planner.Goal] reads, or a pose in a frame:
//
//	{"frame_id": "map", "pose": {"position": {"x": 1, "y": 2}, "orientation": {"w": 1}}}
//
// The result has plan, the link to the plan, and its length in metres. A failure has the code unreachable if there is no way, else
// that of the error.
func (p *Planner) Skill() skill.Skill {
	return skill.Skill{
		Name:        "Plan",
		Description: skill.Description{Text: "plans a path to a place, a thing or a pose", Repeatable: true},
		Do:          p.do,
	}
}

func (p *Planner) do(ctx context.Context, c *skill.Call) error {
	g, err := p.GoalOf(ctx, c.Parameters["to"])
	if err != nil {
		return failure(err)
	}
	replaces, _ := c.Parameters["replaces"].(engram.ID)
	obstacle, _ := c.Parameters["obstacle"].(engram.ID)
	r, err := p.Plan(ctx, Ask{Goal: *g, Execution: c.ID, Replaces: replaces, Obstacle: obstacle, Message: c.Text("message")})
	if err != nil {
		return failure(err)
	}
	c.SetResult(map[string]any{"plan": r.ID, "length": r.Path.Length})
	return nil
}

// failure returns why a skill failed.
func failure(err error) error {
	f := &skill.Failure{Code: engram.CodeOf(err).String(), Message: err.Error()}
	if Unreachable(err) {
		f.Code, f.Retry = "unreachable", true
	}
	return f
}

// GoalOf returns the goal that a parameter is: a name, see [Planner.Goal], or a pose in a frame. The error is Invalid for
// something else.
func (p *Planner) GoalOf(ctx context.Context, parameter any) (*Goal, error) {
	switch v := parameter.(type) {
	case string:
		return p.Goal(ctx, v)
	case map[string]any:
		return p.poseGoal(ctx, v)
	}
	return nil, engram.Errorf(engram.Invalid, "to", "the goal is the name of a place or a thing, or a pose with its frame: {frame_id, pose: {position, orientation}}")
}

// poseGoal returns the goal to be at a pose in a frame.
func (p *Planner) poseGoal(ctx context.Context, v map[string]any) (*Goal, error) {
	frame, _ := v["frame_id"].(string)
	in, err := poseOf(v["pose"])
	if err != nil || frame == "" {
		return nil, engram.Errorf(engram.Invalid, "to", "a pose as goal has a frame_id and a pose with position and orientation")
	}
	if frame == p.costs.frame {
		return &Goal{Pose: in}, nil
	}
	a, err := p.in(ctx, frame)
	if err != nil {
		return nil, err
	}
	return &Goal{Pose: a.Pose.Mul(in)}, nil
}
