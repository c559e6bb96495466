package memories

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// released completes attachments that end: what is let go stays where it was then.
type released struct {
	poses *poses // nil without
	host  atomic.Pointer[poseHost]
}

// poseHost is a server that keeps poses.
type poseHost struct {
	engram.Service
	poses lookup.Service
}

// start is the Start hook of the memory Object.
func (r *released) start(_ context.Context, svc engram.Service) error {
	if r.poses != nil {
		r.host.Store(&poseHost{svc, r.poses.service})
	}
	return nil
}

// committed is the Commit hook of the memory Object. It completes the rotations of poses. At the end of an attachment whose frame moves, or is
// not named, it writes the object's last place: a frame that stays, and the pose in it. An attachment of a time
// with unknown poses is committed unchanged.
func (r *released) committed(ctx context.Context, u *engram.EntityUpdate) error {
	if err := rotations(u); err != nil {
		return err
	}
	h := r.host.Load()
	// A server may host Object of all memories, and not RobotState.
	if h == nil || r.poses.svc.Load() == nil || u.Entity.CoreSegment() != "Attachments" {
		return nil
	}
	for i := range u.Instances {
		typ, ok := Type(u.Instances[i].Payload.Type)
		if !ok {
			continue
		}
		v, err := typ.Decode(u.Instances[i].Payload.Bytes)
		if err != nil {
			continue // what is no message, the memory says best
		}
		a, _ := v.(map[string]any)
		if active, _ := a["active"].(bool); active || !h.rest(ctx, u, a) {
			continue
		}
		b, err := typ.Encode(a)
		if err != nil {
			return err
		}
		u.Instances = slices.Clone(u.Instances)
		u.Instances[i].Payload.Bytes = b
	}
	return nil
}

// rest gives an attachment that ended the frame in which the object stays, if it moved until then.
func (h *poseHost) rest(ctx context.Context, u *engram.EntityUpdate, a map[string]any) bool {
	held := a
	if frame, _ := a["frame_id"].(string); frame == "" {
		if held = h.before(ctx, u, objectOf(u.Entity, a)); held["active"] != true {
			return false
		}
	}
	frame, stays := h.frames(ctx, u, held)
	if stays == "" {
		return false
	}
	q := lookup.Question{Target: stays, Source: frame, Time: u.Time}
	answers, err := h.poses.LookUp(ctx, []lookup.Question{q})
	if err == nil && engram.CodeOf(answers[0].Err) == engram.TooNew {
		q.When = lookup.LatestCommon // the odometry is a little behind
		answers, err = h.poses.LookUp(ctx, []lookup.Question{q})
	}
	if err != nil || answers[0].Err != nil {
		return false
	}
	in, ok := poseOf(held["pose"])
	if !ok {
		return false
	}
	at := answers[0].Pose.Mul(in)
	a["frame_id"] = stays
	a["pose"] = map[string]any{
		"position":    map[string]any{"x": at.T.X, "y": at.T.Y, "z": at.T.Z},
		"orientation": map[string]any{"w": at.R.W, "x": at.R.X, "y": at.R.Y, "z": at.R.Z},
	}
	return true
}

// before returns what the entity of an attachment said of an object last before it: what is in RAM of that, else among the newest
// fromDisk snapshots. It is nil if nothing was found.
func (h *poseHost) before(ctx context.Context, u *engram.EntityUpdate, object string) map[string]any {
	q := engram.SelectID(u.Entity, engram.In(engram.Interval{Start: engram.MinTime, End: u.Time}))
	q.Target = engram.TargetWM
	if a := h.last(ctx, q, u, object); a != nil {
		return a
	}
	return h.last(ctx, engram.SelectID(u.Entity, engram.Latest(fromDisk), engram.AtOrBefore(u.Time-1)), u, object)
}

// fromDisk is how many snapshots a commit reads from disk to find what a hand held: a server that began anew has few in RAM.
const fromDisk = 1000

// last returns what the newest snapshot of an answer before an update says of an object; nil if none does.
func (h *poseHost) last(ctx context.Context, q engram.Query, u *engram.EntityUpdate, object string) map[string]any {
	r, err := h.Query(ctx, q)
	if err != nil {
		return nil
	}
	for _, it := range slices.Backward(r.Items()) {
		if it.Snapshot.Time >= u.Time {
			continue
		}
		typ, ok := Type(it.Snapshot.Instances[0].Payload.Type)
		if !ok {
			continue
		}
		v, err := typ.Decode(it.Snapshot.Instances[0].Payload.Bytes)
		if a, _ := v.(map[string]any); err == nil && objectOf(u.Entity, a) == object {
			return a
		}
	}
	return nil
}

// objectOf returns the name of the object that an attachment is about.
func objectOf(entity engram.ID, a map[string]any) string {
	object, _ := a["object"].(engram.ID)
	return cmp.Or(object.Entity(), entity.Entity())
}

// frames returns the full name of the frame of an attachment, and the frame below which it moves; that is
// "" if it does not, or if it is an item's: what is put on a table moves with the table.
func (h *poseHost) frames(ctx context.Context, u *engram.EntityUpdate, a map[string]any) (frame, stays string) {
	name, _ := a["frame_id"].(string)
	name = strings.TrimLeft(name, "/")
	if item, err := engram.NewID("World", "Item", "x", name); err == nil && name != "" {
		p := engram.PatternOf(item)
		p.Levels[2] = engram.AllNames()
		if r, err := h.Query(ctx, p.Select(engram.Latest(1))); err == nil && len(r.Items()) > 0 {
			return name, ""
		}
	}
	edges, err := h.poses.Tree(ctx, nil)
	if err != nil {
		return "", ""
	}
	agent, _ := a["agent"].(engram.ID)
	for _, robot := range []string{"", cmp.Or(agent.ProviderSegment(), agent.Entity()), agent.Entity(), u.Entity.ProviderSegment()} {
		frame = lookup.Absolute(robot, name)
		if slices.ContainsFunc(edges, func(e pose.EdgeInfo) bool { return e.Child == frame }) {
			break
		}
	}
	for at, steps := frame, 0; steps <= len(edges); steps++ {
		i := slices.IndexFunc(edges, func(e pose.EdgeInfo) bool { return e.Child == at && e.Valid.Contains(u.Time) })
		if i < 0 {
			return frame, stays
		}
		if at = edges[i].Parent; edges[i].Kind == pose.KindFree || edges[i].Kind == pose.KindJoint {
			stays = at
		}
	}
	return frame, stays
}

// poseOf reads a pose of a decoded message.
func poseOf(v any) (pose.Pose, bool) {
	m, _ := v.(map[string]any)
	t, _ := m["position"].(map[string]any)
	r, _ := m["orientation"].(map[string]any)
	number := func(m map[string]any, key string) float64 { f, _ := m[key].(float64); return f }
	p, err := pose.Pose{
		T: pose.Vec3{X: number(t, "x"), Y: number(t, "y"), Z: number(t, "z")},
		R: pose.Quat{W: number(r, "w"), X: number(r, "x"), Y: number(r, "y"), Z: number(r, "z")},
	}.Checked()
	return p, err == nil
}
