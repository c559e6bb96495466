package web

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const (
	// revisedLately is how far back revisions are read that say where things were at a time.
	// Of later ones, which may have moved all before them, the newest revisedSince are read.
	revisedLately = 5 * time.Minute
	revisedSince  = 16
)

// pastPoses returns the poses at a time as the memory has them, working and long-term: for
// what the pose store has forgotten, and for what was known at another time. The snapshots
// in force then count, moved as revisions say.
func (p *scenes) pastPoses(ctx context.Context, when moment) (lookup.Service, error) {
	past := past{store: pose.New(pose.Config{MaxFrames: 2 * maxFrames}), at: when.at, told: map[string]bool{}}
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
		slices.SortStableFunc(items, func(a, b engram.Item) int {
			if segment == "Revision" {
				return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Number, b.Number))
			}
			// What several say of one thing, the first says: what was measured last.
			return cmp.Or(cmp.Compare(rank(a.ID), rank(b.ID)), cmp.Compare(b.Time, a.Time))
		})
		for _, it := range items {
			for i := range it.Instances {
				// What cannot be read, or contradicts what came before, says nothing.
				if m, err := p.types.decode(ctx, it.Instances[i].Payload); err == nil {
					past.take(it.ID.Truncate(engram.LevelEntity), m)
				}
			}
		}
	}
	return lookup.New(past.store, lookup.Writes{}), nil
}

func rank(id engram.ID) int {
	if lookup.Commanded(id.Truncate(engram.LevelEntity)) {
		return 1
	}
	return 0
}

// past are the poses at one time.
type past struct {
	store *pose.Store
	at    engram.Time
	told  map[string]bool // frames and joints of which it is known where they are
}

// take takes what an entity of the memory RobotState says.
func (p *past) take(entity engram.ID, m map[string]any) {
	robot := lookup.RobotOf(entity)
	switch entity.CoreSegment() {
	case "Revision":
		if tx, err := lookup.TransactionOf(entity, m, lookup.AsResolved); err == nil {
			_, _ = lookup.Apply(p.store, tx) // what it moves that is not there any more stays away
		}
	case "Description":
		text, _ := m["urdf"].(string)
		_ = p.store.LoadURDF(strings.NewReader(text), robot) // what was described before stays
	case "Localization":
		parent, _ := m["parent_frame_id"].(string)
		child, _ := m["child_frame_id"].(string)
		child = lookup.Absolute(robot, child)
		if p.told[child] {
			return
		}
		edge, err := p.store.Observe(p.at, lookup.Absolute(robot, parent), child)
		if err == nil {
			there, cov := placementOf(m)
			p.told[child] = edge.SetCov(p.at, there, cov) == nil
		}
	case "Proprioception":
		names, _ := m["name"].([]any)
		positions, _ := m["position"].([]any)
		for i := range min(len(names), len(positions)) {
			name, _ := names[i].(string)
			q, _ := positions[i].(float64)
			name = lookup.Absolute(robot, name)
			if joint, err := p.store.JointEdge(name); err == nil && !p.told["joint "+name] {
				p.told["joint "+name] = joint.Set(p.at, q, 0) == nil
			}
		}
	}
}

// placementOf reads the transform of a localization, and its covariance, which is unknown if
// it is none.
func placementOf(m map[string]any) (at pose.Pose, cov pose.Cov) {
	list, _ := m["pose_covariance"].([]any)
	numbers := make([]float64, len(list))
	for i := range list {
		numbers[i], _ = list[i].(float64)
	}
	at, cov, _ = pose.MeasuredROS(transformOf(m["translation"], m["rotation"]), numbers) // what is no pose, the store refuses
	return at, cov
}
