package web

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

const (
	// revisedLately is how far back revisions are looked for that say where things were at a time; of those that came later,
	// which may have moved all before them, the newest few are read.
	revisedLately = 5 * time.Minute
	revisedSince  = 16
)

// pastPoses returns the poses at a time as the memory has them, working and long-term, for what the pose store has
// forgotten, and as they were known at another time: what was in force then counts as of then, moved as revisions say.
func (p *Page) pastPoses(ctx context.Context, when moment) (service.Service, error) {
	return p.posesWith(ctx, when, nil)
}

// posesWith is pastPoses with other payloads, decoded, in the place of what some entities said.
func (p *Page) posesWith(ctx context.Context, when moment, instead map[engram.ID]map[string]any) (service.Service, error) {
	store := pose.New(pose.Config{MaxFrames: 2 * maxFrames})
	for _, segment := range []string{"Description", "Localization", "Proprioception", "Revision"} {
		selectors := []engram.SnapshotSelector{when.selector()}
		if segment == "Revision" {
			selectors = []engram.SnapshotSelector{
				engram.AtOrBefore(when.at), engram.In(engram.Interval{Start: when.at.Add(-revisedLately), End: when.at}), engram.Latest(revisedSince),
			}
		}
		q := engram.MustPattern("RobotState/" + segment).Select(selectors...)
		q.AsOf = when.asOf
		found, err := p.svc.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		items := slices.Collect(found.All())
		if segment == "Revision" {
			slices.SortFunc(items, func(a, b engram.Item) int {
				return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Number, b.Number))
			})
		} else {
			slices.SortStableFunc(items, func(a, b engram.Item) int { return cmp.Compare(b.Time, a.Time) }) // the first counts
		}
		for _, it := range items {
			if m, ok := instead[it.ID.Truncate(engram.LevelEntity)]; ok {
				remember(store, it.ID, when.at, m)
				continue
			}
			for i := range it.Instances {
				// What cannot be read, or contradicts what came before, says nothing.
				if m, err := p.types.Decode(ctx, it.Instances[i].Payload); err == nil {
					remember(store, it.ID, when.at, m)
				}
			}
		}
	}
	return service.New(store, service.Writes{}), nil
}

func remember(store *pose.Store, id engram.ID, at engram.Time, m map[string]any) {
	robot := service.RobotOf(id)
	switch id.CoreSegment() {
	case "Revision":
		if tx, err := service.TransactionOf(id.Truncate(engram.LevelEntity), m, service.AsResolved); err == nil {
			_, _ = service.Apply(store, tx) // what it moves that is not there any more stays away
		}
	case "Description":
		text, _ := m["urdf"].(string)
		_ = store.LoadURDF(bytes.NewReader([]byte(text)), robot) // that of the first counts
	case "Localization":
		parent, _ := m["parent_frame_id"].(string)
		child, _ := m["child_frame_id"].(string)
		edge, err := store.Observe(at, service.Absolute(robot, parent), service.Absolute(robot, child))
		if err == nil {
			_ = edge.Set(at, transformOf(m)) // likewise
		}
	case "Proprioception":
		names, _ := m["name"].([]any)
		positions, _ := m["position"].([]any)
		for i := range min(len(names), len(positions)) {
			name, _ := names[i].(string)
			q, _ := positions[i].(float64)
			if joint, err := store.JointEdge(service.Absolute(robot, name)); err == nil {
				_ = joint.Set(at, q, 0) // one that is not finite is not set
			}
		}
	}
}

// transformOf reads the translation and rotation of a transform.
func transformOf(m map[string]any) pose.Pose {
	r, _ := m["rotation"].(map[string]any)
	v := vectorOf(r)
	w, _ := r["w"].(float64)
	return pose.Pose{T: vectorOf(m["translation"]), R: pose.Quat{W: w, X: v.X, Y: v.Y, Z: v.Z}}
}
