package navigation

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Kinds of events, as engram.navigation.EventKind has them.
const (
	started         = "Started"
	planned         = "GlobalPlanned"
	goalReached     = "GoalReached"
	planningFailed  = "GlobalPlanningFailed"
	followingFailed = "LocalPlanningFailed"
	safetyStop      = "SafetyStop"
	aborted         = "Aborted"
	internalError   = "InternalError"
	replanned       = "Replanned"
	trapped         = "Trapped"
)

// event commits that something happened on the way.
func (t *trip) event(ctx context.Context, kind string, h hindrance) error {
	v := t.common(ctx)
	v["kind"], v["message"] = kind, h.message
	if by := h.by(); by != nil {
		v["obstacle"] = by[0]
	}
	if !t.call.Request.IsRoot() {
		v["request"] = t.call.Request
	}
	id, err := t.note(ctx, "Event", t.planner.codec.event, v)
	if err == nil {
		t.events = append(t.events, id)
	}
	return err
}

// end commits how the way ended, and has the skill return that. The error that it ended with is nil at the goal.
func (t *trip) end(ctx context.Context, kind string, why error) error {
	message := ""
	if why != nil {
		message = why.Error()
		var f *skill.Failure
		if errors.As(why, &f) {
			message = f.Message
		}
	}
	if err := t.event(ctx, kind, hindrance{message: message}); err != nil {
		return err
	}
	v := t.common(ctx)
	v["started"], v["success"], v["ended_by"], v["message"], v["path_length"] = t.began, kind == goalReached, kind, message, t.gone
	v["final_pose"] = v["pose"]
	delete(v, "pose")
	if v["final_pose"] == nil {
		v["final_pose"] = poseValue(pose.Identity())
	}
	events := make([]any, len(t.events))
	for i, id := range t.events {
		events[i] = id
	}
	v["events"] = events
	if t.plan != nil {
		t.call.SetResult(map[string]any{"plan": t.plan.ID, "length": t.gone})
	}
	_, err := t.note(ctx, "Result", t.planner.codec.result, v)
	return err
}

// common returns what events and results have in common.
func (t *trip) common(ctx context.Context) map[string]any {
	v := map[string]any{"frame_id": t.planner.costs.frame, "execution": t.call.ID}
	if a, err := t.planner.in(ctx, t.planner.config.Frame); err == nil {
		v["pose"] = poseValue(a.Pose)
		t.at(floor(a.Pose))
	}
	v["goal_pose"] = poseValue(pose.Identity())
	if t.goal != nil {
		v["goal_pose"] = poseValue(t.goal.Pose)
		if !t.goal.Of.IsRoot() {
			v["goal"] = t.goal.Of
		}
	}
	if t.plan != nil {
		v["plan"] = t.plan.ID
	}
	return v
}

// note commits an event or a result, and returns its ID.
func (t *trip) note(ctx context.Context, segment string, of *idf.Type, v map[string]any) (engram.ID, error) {
	c := t.planner.config
	entity, err := engram.NewID("Navigation", segment, c.Navigator, cmp.Or(c.Robot, "platform"))
	if err != nil {
		return entity, err
	}
	at := max(engram.Now(), t.noted+1)
	t.noted = at
	v["timestamp"] = at
	u, err := update(entity, at, of, v)
	if err == nil {
		err = commit(ctx, t.planner.memory, u)
	}
	return entity.At(at).Instance(0), err
}
