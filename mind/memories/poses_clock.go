package memories

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/stamps"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// Of clocks that go back.
const (
	maxCourses  = maxPoseFrames    // entities whose stamps are followed
	troubled    = 10 * time.Minute // so long it is told that a clock went back
	maxTold     = 16               // entities are named
	maxResets   = 16               // of an entity are kept, then its stamps are followed anew
	maxDoubtful = 1024             // updates of an entity are remembered while its clock may have gone back
	maxSent     = time.Minute      // from sending to arrival; what was sent longer ago is a recording's
)

// poseClocks follows the stamps of what is committed to the poses in the order in which it arrives, and finds where the
// clock of a publisher went back. What is late, or comes in another order, is no such clock; of recordings the import
// knows more.
type poseClocks struct {
	courses map[engram.ID]*course
	back    []*course // whose clock went back, the newest last
}

// course is what is known of an entity's stamps.
type course struct {
	stamps.Course
	entity   engram.ID
	told     int                // of its resets
	last     stamps.Reset       // of them
	at       engram.Time        // when it arrived
	began    engram.Time        // when the first update of the present run arrived
	doubtful []*engram.Snapshot // since the clock went back, as long as that is not certain
}

// follow takes an update that was stored, but for its place among the poses, and notes where it tells that the clock
// went back. It returns those whose run has ended by that, if the clock goes on like one: the entity, and the
// robot's others that have the same clock. Doubtful of them are the updates of the new run, without this one.
func (p *poseClocks) follow(ctx context.Context, entity engram.ID, snap *engram.Snapshot) (ended []*course) {
	c := p.courses[entity]
	if c == nil {
		if len(p.courses) >= maxCourses {
			return nil
		}
		c = &course{entity: entity}
		p.courses[entity] = c
	}
	if !c.follow(snap) {
		return nil
	}
	all := c.Resets()
	c.told, c.last, c.at = len(all), all[len(all)-1], snap.Arrived
	if c.told == maxResets {
		c.Course, c.told = stamps.Course{}, 0
	}
	p.back = append(slices.DeleteFunc(p.back, func(o *course) bool { return o == c }), c)
	if len(p.back) > maxTold {
		p.back = slices.Delete(p.back, 0, 1)
	}
	server.Note(ctx, engram.Errorf(engram.Conflict, entity.String(), "%s", c.text()))
	if !c.last.Even {
		c.remember(snap)
		return nil
	}
	c.end(c.last.At)
	ended = append(ended, c)
	robot := lookup.RobotOf(entity)
	for _, o := range p.courses {
		if o != c && lookup.RobotOf(o.entity) == robot && o.endsWith(&c.last) {
			ended = append(ended, o)
		}
	}
	return ended
}

// follow takes an update, and reports whether it makes certain that the clock went back, or that it goes on like one.
func (c *course) follow(snap *engram.Snapshot) bool {
	c.Follow(snap.Time, snap.Arrived)
	all := c.Resets()
	switch n := len(all); {
	case n > c.told || n > 0 && n == c.told && all[n-1].Even && !c.last.Even:
		return true
	case n < c.told: // some turned out to be of several clocks
		c.told, c.at = n, 0
		c.last = stamps.Reset{Even: true}
	}
	c.remember(snap)
	return false
}

// remember keeps an update as long as it may be of a run that has just begun.
func (c *course) remember(snap *engram.Snapshot) {
	if !c.Doubtful() && !c.last.Unsettled(snap.Arrived) {
		c.doubtful = nil
	} else if len(c.doubtful) < maxDoubtful {
		c.doubtful = append(c.doubtful, cloned(snap))
	}
}

// cloned is a snapshot with payloads of its own.
func cloned(snap *engram.Snapshot) *engram.Snapshot {
	own := *snap
	own.Instances = slices.Clone(snap.Instances)
	for i := range own.Instances {
		own.Instances[i].Payload.Bytes = bytes.Clone(own.Instances[i].Payload.Bytes)
	}
	return &own
}

// end ends the run of an entity: what arrived from then on is of the next one.
func (c *course) end(at engram.Time) {
	c.began = at
	c.doubtful = slices.DeleteFunc(c.doubtful, func(s *engram.Snapshot) bool { return s.Arrived < at })
}

// endsWith ends the run of an entity where the clock of another one went back, if it is the same clock: the entity said
// nothing since, or what it said goes back alike.
func (c *course) endsWith(r *stamps.Reset) bool {
	stamp, arrived, ok := c.Last()
	switch now, doubtful := c.Doubt(); {
	case doubtful && r.New(&now):
		c.end(now.At)
	case ok && arrived < r.At && r.Old(stamp, arrived):
		c.end(r.At)
	default:
		return false
	}
	c.Course, c.told = stamps.Course{}, 0
	for _, s := range c.doubtful {
		c.Follow(s.Time, s.Arrived)
	}
	return true
}

// text says how the clock went back last.
func (c *course) text() string {
	r := &c.last
	text := fmt.Sprintf("the stamps go back by %v, from %v to %v: a clock was set, or a simulation or a bag began anew", r.By(), r.Top, r.To)
	if !r.Even {
		return text + "; poses asked for between may be of both runs. Commit each run under a provider of its own, or forget the earlier one (engram ltm forget)"
	}
	return text + ". The poses are those of the new run; the memory keeps both. Commit each run under a provider of its own to have the poses of both"
}

// troubles tells whose clock went back of late.
func (p *poses) troubles() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clocks.back {
		if engram.Now().Sub(c.at) < troubled {
			all = append(all, c.entity.String()+": "+c.text())
		}
	}
	return all
}

// isRecorded reports whether an update that the memory holds is a recording's, by the time at which it was sent.
func isRecorded(snap *engram.Snapshot) bool {
	return slices.ContainsFunc(snap.Instances, func(i engram.Instance) bool {
		return i.HasSent && snap.Arrived.Sub(i.Sent).Abs() > maxSent
	})
}

// followLocked follows the stamps of an update that was stored, but for its place among the poses. Where it tells that the
// clock went back, the poses let go of what the clock stamped before. It reports whether they did.
func (p *poses) followLocked(ctx context.Context, entity engram.ID, snap *engram.Snapshot) bool {
	if server.Recorded(ctx) {
		return false
	}
	ended := p.clocks.follow(ctx, entity, snap)
	if len(ended) == 0 {
		return false
	}
	var of []engram.Item // of the new runs
	for _, c := range ended {
		for _, s := range c.doubtful {
			of = append(of, engram.Item{ID: c.entity, Snapshot: s})
		}
		if !c.Doubtful() {
			c.doubtful = nil
		}
	}
	p.forgetLocked(ended)
	// Of two that say where a frame is, the first one counts.
	slices.SortStableFunc(of, func(a, b engram.Item) int { return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), a.ID.Compare(b.ID)) })
	for i := range of {
		p.replayLocked(of[i].ID, of[i].Snapshot)
	}
	return true
}

// began returns when the first update of an entity's present run arrived, if the clock went back.
func (p *poseClocks) began(entity engram.ID) engram.Time {
	if c := p.courses[entity]; c != nil {
		return c.began
	}
	return engram.MinTime
}

// setBy is a frame, and who sets where it is; see [sourceOf].
type setBy struct {
	source engram.ID
	child  string // "" for all that the source sets
}

// forgetLocked lets go of the poses and joint values that entities have set, but for what has rested all the time.
func (p *poses) forgetLocked(ended []*course) {
	gone := map[setBy]bool{}
	for _, c := range ended {
		gone[setBy{source: c.entity}] = true
		for _, name, ok := strings.Cut(c.entity.Entity(), ","); ok; _, name, ok = strings.Cut(name, ",") {
			gone[setBy{c.entity.Parent(), lookup.Absolute(lookup.RobotOf(c.entity), name)}] = true
		}
	}
	for name, owner := range p.owners {
		if h, err := p.store.JointEdge(name); gone[setBy{source: owner}] && err == nil {
			h.Clear()
		}
	}
	var frames []string
	for child, b := range p.bodies {
		if len(b.handles) > 0 && (gone[setBy{source: b.source}] || gone[setBy{b.source, child}]) {
			frames = append(frames, child)
			delete(p.bodies, child)
		}
	}
	pose.Detach(p.store, frames...)
}
