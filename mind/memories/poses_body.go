package memories

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// body is what is known of a frame whose place entities of Localization set.
type body struct {
	source  engram.ID // who sets it; see sourceOf
	handles map[string]*pose.FreeEdge
	rests   bool // it was stated to rest at some time
	changes int  // how often it changed its parent, or began to rest or to move
}

// maxParentChanges bounds how often a frame changes its parent, or whether it rests.
const maxParentChanges = 256

// placement is what a localization does to the store. The zero placement does
// nothing.
type placement struct {
	localization
	source  engram.ID
	changes bool  // the parent of the child, or whether it has one, or whether it rests there
	fixes   bool  // a static one is of an edge that its source does not observe
	left    error // why the store is not to take it; it is no reason to refuse it
	taken   bool
}

// writeLocalization is the memory's Write hook of localizations. One that cannot be
// is refused. What is stored and not among the poses, or not as it was said, is noted.
func (p *poses) writeLocalization(ctx context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var buf [1]placement
	plans := buf[:0]
	for i := range u.Instances {
		plan, err := p.planLocked(u.Entity, u.Time, u.Instances[i].Payload.Bytes)
		if err != nil {
			return err
		}
		plans = append(plans, plan)
	}
	if err := put(u); err != nil {
		return err
	}
	p.follow()
	if slices.ContainsFunc(plans, func(plan placement) bool { return !plan.static }) { // what rests is said at any time
		snap := &engram.Snapshot{Time: u.Time, Arrived: engram.Now(), Instances: u.Instances}
		if p.followLocked(ctx, u.Entity, snap) {
			for i := range plans {
				plans[i] = p.replanLocked(u.Entity, u.Time, u.Instances[i].Payload.Bytes)
			}
		}
	}
	for i := range plans {
		if note := p.placeLocked(u.Entity, u.Time, &plans[i]); note != nil {
			server.Note(ctx, note)
		}
	}
	return nil
}

// replayLocked does again what a localization, or joint states, did when they were committed.
func (p *poses) replayLocked(entity engram.ID, snap *engram.Snapshot) {
	for i := range snap.Instances {
		b := snap.Instances[i].Payload.Bytes
		if entity.CoreSegment() == "Proprioception" {
			if err := p.feelLocked(entity, snap.Time, b); err != nil {
				p.service.LeaveOut(entity, snap.Time, err)
			}
			continue
		}
		plan := p.replanLocked(entity, snap.Time, b)
		_ = p.placeLocked(entity, snap.Time, &plan) // there is nobody to be told
	}
}

// replanLocked finds out what a localization does that the memory has.
func (p *poses) replanLocked(entity engram.ID, t engram.Time, b []byte) placement {
	plan, err := p.planLocked(entity, t, b)
	if err != nil {
		return placement{left: err}
	}
	return plan
}

// sourceOf returns who sets the place of a localization's child. Recordings hold one
// entity for each edge of the transform tree, named "parent,child"; of a provider
// segment these are one source together, so that a child can change its parent.
func sourceOf(entity engram.ID, l *localization) engram.ID {
	if entity.Entity() == l.parent+","+l.child {
		return entity.Parent()
	}
	return entity
}

// sourceText says which entities set where the child is.
func (b *body) sourceText(child string) string {
	if b.source.Level() == engram.LevelEntity {
		return "the entity " + b.source.String()
	}
	return "the transforms " + b.source.String() + "/…," + strings.TrimPrefix(child, b.source.ProviderSegment()+"/")
}

// planLocked finds out what a localization does. An error refuses it.
//
// An edge is set by the source that set it first: recordings hold the same odometry
// as a transform and as a topic of its own. What another says of the same edge is
// left out; another parent of the child is refused.
func (p *poses) planLocked(entity engram.ID, t engram.Time, b []byte) (placement, error) {
	l, cov, err := decodeLocalization(b)
	if err != nil {
		return placement{left: err}, nil // what is no message, the memory says best
	}
	plan := placement{localization: l, source: sourceOf(entity, &l)}
	robot := lookup.RobotOf(entity)
	plan.parent, plan.child = lookup.Absolute(robot, l.parent), lookup.Absolute(robot, l.child)
	p.yieldLocked(plan.child)
	if plan.parent == "" || plan.child == "" {
		plan.left = engram.Errorf(engram.Invalid, entity.String(), "it names no parent and child frame")
		return plan, nil
	}
	if err := plan.check(cov); err != nil {
		return plan, engram.Errorf(engram.CodeOf(err), entity.String(), "%s in %s: %w", plan.child, plan.parent, err)
	}
	if plan.static {
		err = p.planStaticLocked(entity, t, &plan)
	} else {
		err = p.planMovingLocked(t, &plan)
	}
	if err == nil {
		plan.taken = true
		return plan, nil
	}
	err = engram.Errorf(engram.CodeOf(err), entity.String(), "%w", err)
	code := engram.CodeOf(err)
	if code == engram.TooOld || (code == engram.Conflict || code == engram.Exhausted) && p.joinedLocked(t, plan.parent, plan.child) {
		plan.left = err
		return plan, nil
	}
	return plan, err
}

// joinedLocked reports whether there is an edge between two frames at t.
func (p *poses) joinedLocked(t engram.Time, parent, child string) bool {
	path, err := p.store.Path(parent, child)
	if err != nil {
		return false
	}
	edges, fail := path.Edges(t)
	return fail.Code == pose.OK && len(edges) == 1 && edges[0].Parent == parent
}

// planMovingLocked checks a pose that holds at t.
func (p *poses) planMovingLocked(t engram.Time, plan *placement) (err error) {
	b := p.bodies[plan.child]
	if b != nil && b.source != plan.source {
		second := "source"
		if !p.joinedLocked(t, plan.parent, plan.child) {
			second = "parent, " + plan.parent
		}
		return engram.Errorf(engram.Conflict, plan.child, "a second %s: where it is, %s said first", second, b.sourceText(plan.child))
	}
	if b != nil && !b.rests && len(b.handles) == 1 && b.handles[plan.parent] != nil {
		return nil // as always
	}
	plan.changes, err = p.store.CheckObserve(t, plan.parent, plan.child)
	return cmp.Or(err, plan.checkChanges(b))
}

// checkChanges refuses a change of a body that changed too often.
func (plan *placement) checkChanges(b *body) error {
	if plan.changes && b != nil && b.changes >= maxParentChanges {
		return engram.Errorf(engram.Exhausted, plan.child, "it changed its parent, or from rest to motion, %d times already; do two publishers disagree about it?", b.changes)
	}
	return nil
}

// planStaticLocked checks a pose that holds from t on, or of an edge of the description at
// all times.
func (p *poses) planStaticLocked(entity engram.ID, t engram.Time, plan *placement) (err error) {
	if b := p.bodies[plan.child]; b == nil || b.source == plan.source {
		plan.changes, err = p.store.Statements("").Check(t, plan.parent, plan.child)
		if engram.CodeOf(err) != engram.Conflict {
			return cmp.Or(err, plan.checkChanges(b))
		}
	}
	plan.changes, plan.fixes = false, true
	if p.static[entity] == plan.localization {
		return nil // publishers repeat themselves
	}
	err = p.store.CheckFixed(plan.parent, plan.child, plan.pose, plan.cov)
	if engram.CodeOf(err) != engram.Conflict {
		return err
	}
	tx := p.store.Begin("")
	tx.Fix(plan.parent, plan.child, engram.Always(), plan.pose, plan.cov)
	if _, notFixed := tx.Check(); notFixed != nil {
		return err
	}
	return nil
}

// placeLocked does what was planned and counts what the store does not take. It returns what
// is to be known of it, if anything.
func (p *poses) placeLocked(entity engram.ID, t engram.Time, plan *placement) (note *engram.Error) {
	err := plan.left
	switch {
	case !plan.taken:
	case plan.fixes:
		err = p.fixLocked(entity, &plan.localization)
	case plan.static:
		err = p.placeStaticLocked(entity, t, plan)
	default:
		err = p.placeMovingLocked(t, plan)
	}
	switch {
	case err != nil:
		p.service.LeaveOut(entity, t, err)
		what := "Localization"
		if plan.parent != "" && plan.child != "" {
			what = plan.child + " in " + plan.parent
		}
		return leftOut(entity, what, err)
	case plan.normalised:
		return engram.Errorf(engram.Invalid, entity.String(), "the quaternion of %s in %s was normalised; it was not of unit length", plan.child, plan.parent)
	}
	return nil
}

// leftOut is the note that something said by an entity is not among the poses. It is the same
// for all that is left out for one reason.
func leftOut(entity engram.ID, what string, err error) *engram.Error {
	why := err.Error()
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Thing == entity.String() {
		why = e.Msg
	}
	if engram.CodeOf(err) == engram.TooOld {
		why = "it is older than what retention keeps"
	}
	return engram.Errorf(engram.CodeOf(err), entity.String(), "left out of the poses: %s: %s", what, why)
}

// placeStaticLocked lets a body rest.
func (p *poses) placeStaticLocked(entity engram.ID, t engram.Time, plan *placement) error {
	err := p.store.Statements(entity.String()).Observe(t, plan.parent, plan.child, plan.pose, plan.cov)
	if err == nil {
		p.bodyLocked(plan).rests = true
	}
	return err
}

// bodyLocked returns the body that a placement is about, and counts the change.
func (p *poses) bodyLocked(plan *placement) *body {
	b := p.bodies[plan.child]
	switch {
	case b == nil:
		b = &body{source: plan.source, handles: map[string]*pose.FreeEdge{}}
		p.bodies[plan.child] = b
		p.meetLocked(plan.parent, plan.child)
	case plan.changes:
		b.changes++
	}
	return b
}

// fixLocked calibrates an edge that is fixed.
func (p *poses) fixLocked(entity engram.ID, l *localization) error {
	if p.static[entity] == *l {
		return nil
	}
	err := p.calibrate(entity, l.parent, l.child, l.pose, l.cov)
	if err == nil && len(p.static) < maxPoseFrames {
		p.static[entity] = *l
		p.meetLocked(l.parent, l.child)
	}
	return err
}

func (p *poses) placeMovingLocked(t engram.Time, plan *placement) error {
	b := p.bodies[plan.child]
	if b == nil || b.handles[plan.parent] == nil || plan.changes {
		edge, err := p.store.Observe(t, plan.parent, plan.child)
		if err != nil {
			return err
		}
		b = p.bodyLocked(plan)
		b.handles[plan.parent] = edge
	}
	edge := b.handles[plan.parent]
	if plan.cov.Mask != 0 {
		return edge.SetCov(t, plan.pose, plan.cov)
	}
	return edge.Set(t, plan.pose)
}
