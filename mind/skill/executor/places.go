package executor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// places tell where things are, in the frames at the roots of the tree of poses. Safe for concurrent use.
type places struct {
	poses lookup.Service // nil without: frames are as they are called
	types *types

	mu    sync.Mutex
	roots []string // of the tree
	asked time.Time
}

// Of implements [condition.Places]: where the pose of an instance, in its frame_id, was at its time.
func (p *places) Of(entity engram.ID, s *engram.Snapshot, instance int) (condition.Place, bool) {
	payload := s.Instances[instance].Payload
	t := p.types.of(payload.Type)
	if t == nil {
		return condition.Place{}, false
	}
	v, err := t.Decode(payload.Bytes)
	if err != nil {
		return condition.Place{}, false
	}
	return p.stated(entity.ProviderSegment(), v, s.Time)
}

// stated returns where a value of a robot's says that something is at a time.
func (p *places) stated(robot string, v any, at engram.Time) (condition.Place, bool) {
	frame, in, ok := stated(v)
	if !ok {
		return condition.Place{}, false
	}
	root, of, ok := p.root(frame, at)
	if full := lookup.Absolute(robot, frame); ok && root == frame && full != frame { // it is in no tree, or several robots have it
		if r, o, ok := p.root(full, at); ok && r != full {
			root, of = r, o
		}
	}
	return condition.Place{Frame: root, Position: of.Apply(in)}, ok
}

// calledSo is how near a pose is to what it is called after, in metres.
const calledSo = 1.0

// nearest returns the nearest of what there is to where a value says that something is now; false if nothing is near.
func (p *places) nearest(v any, items []engram.Item) (nearest engram.Item, ok bool) {
	now := engram.Now()
	from, known := p.stated("", v, now)
	if !known {
		return nearest, false
	}
	least := calledSo
	for _, item := range items {
		// What stays in its frame moves with that.
		at, placed := p.Of(item.ID, &engram.Snapshot{Time: now, Instances: item.Instances}, 0)
		if d := at.Position.Sub(from.Position).Norm(); placed && at.Frame == from.Frame && d <= least {
			nearest, least, ok = item, d, true
		}
	}
	return nearest, ok
}

// Frame implements [condition.Places].
func (p *places) Frame(now engram.Time, name string) (condition.Place, bool) {
	root, of, ok := p.root(name, now)
	return condition.Place{Frame: root, Position: of.T}, ok
}

// stated returns the position that a value states, and in which frame. It has both, or one of its members does, such as the placement
// of an item.
func stated(v any) (frame string, at pose.Vec3, ok bool) {
	m, _ := v.(map[string]any)
	if frame, at, ok = position(m); ok {
		return frame, at, ok
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		member, _ := m[name].(map[string]any)
		if frame, at, ok = position(member); ok {
			return frame, at, ok
		}
	}
	return "", at, false
}

// position reads a value with a frame, and a pose or a position.
func position(m map[string]any) (frame string, at pose.Vec3, ok bool) {
	frame, _ = m["frame_id"].(string)
	in := m
	if of, is := m["pose"].(map[string]any); is {
		in = of
	}
	xyz, _ := in["position"].(map[string]any)
	x, ok := xyz["x"].(float64)
	y, _ := xyz["y"].(float64)
	z, _ := xyz["z"].(float64)
	return strings.TrimLeft(frame, "/"), pose.Vec3{X: x, Y: y, Z: z}, ok && frame != ""
}

// root returns the frame at the root above a frame, and the pose of the frame in it at a time; what is newer than what is known is
// taken as it is known last. A frame that is in no tree is its own root.
func (p *places) root(frame string, at engram.Time) (root string, of pose.Pose, ok bool) {
	if p.poses == nil {
		return frame, pose.Identity(), true
	}
	roots := p.allRoots()
	var answers []lookup.Answer
	for _, when := range []lookup.When{lookup.At, lookup.LatestCommon} {
		questions := make([]lookup.Question, len(roots))
		for i, r := range roots {
			questions[i] = lookup.Question{Target: r, Source: frame, When: when, Time: at}
		}
		var err error
		if answers, err = p.poses.LookUp(context.Background(), questions); err != nil {
			return "", of, false
		}
		for i, a := range answers {
			if a.Err == nil {
				return roots[i], a.Pose, true
			}
		}
		if !slices.ContainsFunc(answers, func(a lookup.Answer) bool { return engram.CodeOf(a.Err) == engram.TooNew }) {
			break
		}
	}
	nowhere := !slices.ContainsFunc(answers, func(a lookup.Answer) bool { return engram.CodeOf(a.Err) != engram.NotFound })
	return frame, pose.Identity(), nowhere
}

// rootsFor is how long the roots of the tree are taken to be the same.
const rootsFor = time.Second

// allRoots returns the frames that are in no other.
func (p *places) allRoots() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roots != nil && time.Since(p.asked) < rootsFor {
		return p.roots
	}
	edges, err := p.poses.Tree(context.Background(), nil)
	if err != nil {
		return nil
	}
	children, parents := map[string]bool{}, map[string]bool{}
	for _, e := range edges {
		children[e.Child], parents[e.Parent] = true, true
	}
	maps.DeleteFunc(parents, func(name string, _ bool) bool { return children[name] })
	p.roots, p.asked = slices.Sorted(maps.Keys(parents)), time.Now()
	return p.roots
}
