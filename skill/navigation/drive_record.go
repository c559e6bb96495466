package navigation

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// unrecorded notes an error of a commit.
func (d *drive) unrecorded(err error) {
	if err != nil && d.result.Unrecorded == nil {
		d.result.Unrecorded = err
	}
}

func (d *drive) links(v map[string]any) map[string]any {
	link(v, "goal", d.goal.Link)
	link(v, "execution", d.goal.Execution)
	link(v, "request", d.goal.Request)
	return v
}

// event commits something that happened.
func (d *drive) event(ctx context.Context, kind EventKind, message string, blockedBy engram.ID) {
	if d.record == nil {
		return
	}
	at := d.record.now()
	v := d.links(map[string]any{
		"timestamp": at, "kind": kind.String(), "frame_id": d.o.Floor.frame, "goal_pose": poseValue(d.target), "message": message,
	})
	if d.seen {
		v["pose"] = poseValue(d.at)
	}
	link(v, "plan", d.plan)
	link(v, "blocked_by", blockedBy)
	id, err := d.record.commit(ctx, d.record.event, "Event", at, v)
	d.unrecorded(err)
	if err == nil {
		d.result.Events = append(d.result.Events, id)
	}
}

// commitPlan commits the path, and before it the cost map that it was planned on unless that is known.
func (d *drive) commitPlan(ctx context.Context) {
	if d.record == nil {
		return
	}
	costmap := d.commitCostmap(ctx)
	at := d.record.now()
	poses := make([]any, len(d.path))
	for i, p := range d.path {
		yaw := d.target.Yaw
		if i+1 < len(d.path) {
			yaw = direction(p, d.path[i+1])
		}
		poses[i] = poseValue(Pose2D{p, yaw})
	}
	v := d.links(map[string]any{
		"timestamp": at, "frame_id": d.o.Floor.frame, "path": poses, "length": d.path.Length(), "goal_pose": poseValue(d.target),
	})
	link(v, "costmap", costmap)
	link(v, "map", d.o.Floor.link)
	link(v, "replaces", d.plan)
	if l, ok := d.o.Platform.(Localised); ok {
		link(v, "robot_localization", l.Localization())
	}
	if named, ok := d.o.Planner.(interface{ Name() string }); ok {
		v["planner"] = named.Name()
	}
	id, err := d.record.commit(ctx, d.record.plan, "Plan", at, v)
	d.unrecorded(err)
	if err == nil {
		d.plan, d.result.Plan = id, id
	}
}

// commitCostmap returns the snapshot of the cost map as it is.
func (d *drive) commitCostmap(ctx context.Context) engram.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.version != d.o.Floor.Version() {
		id, version, err := d.o.Floor.CommitCostmap(ctx, d.record.to, d.o.Provider, d.record.now())
		d.unrecorded(err)
		if err != nil {
			return engram.ID{}
		}
		d.mu.costmap, d.mu.version = id, version
	}
	return d.mu.costmap
}

// end commits how it ended.
func (d *drive) end(ctx context.Context, kind EventKind, message string) {
	d.event(ctx, kind, message, engram.ID{})
	r := &d.result
	r.Success, r.EndedBy, r.Final, r.Message, r.Ended = kind == GoalReached, kind, d.at, message, d.o.Clock.Now()
	if d.record == nil {
		return
	}
	at := d.record.now()
	r.Ended = at
	events := make([]any, len(r.Events))
	for i, id := range r.Events {
		events[i] = id
	}
	v := d.links(map[string]any{
		"timestamp": at, "started": r.Started, "success": r.Success, "ended_by": kind.String(), "frame_id": d.o.Floor.frame,
		"goal_pose": poseValue(d.goal.Pose2D), "final_pose": poseValue(r.Final), "path_length": r.Length, "events": events, "message": message,
	})
	link(v, "plan", d.plan)
	var err error
	r.ID, err = d.record.commit(ctx, d.record.result, "Result", at, v)
	d.unrecorded(err)
}
