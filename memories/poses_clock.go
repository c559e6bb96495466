package memories

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/stamps"
	"github.com/seed-301d4374/engram/server"
)

// Of clocks that go back.
const (
	maxCourses = maxPoseFrames    // entities whose stamps are followed
	troubled   = 10 * time.Minute // so long it is told that a clock went back
	maxTold    = 16               // entities are named
	maxResets  = 16               // of an entity are kept, then its stamps are followed anew
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
	entity engram.ID
	told   int          // of its resets
	last   stamps.Reset // of them
	at     engram.Time  // when it arrived
}

// follow takes the time of an update that was stored, and notes where it tells that the clock went back.
func (p *poseClocks) follow(ctx context.Context, entity engram.ID, t, arrived engram.Time) {
	if server.Recorded(ctx) {
		return
	}
	c := p.courses[entity]
	if c == nil {
		if len(p.courses) >= maxCourses {
			return
		}
		c = &course{entity: entity}
		p.courses[entity] = c
	}
	c.Follow(t, arrived)
	all := c.Resets()
	if len(all) < c.told { // some turned out to be of several clocks
		c.told, c.at = len(all), 0
	}
	if len(all) == c.told {
		return
	}
	c.told, c.last, c.at = len(all), all[len(all)-1], arrived
	if c.told == maxResets {
		c.Course, c.told = stamps.Course{}, 0
	}
	p.back = append(slices.DeleteFunc(p.back, func(o *course) bool { return o == c }), c)
	if len(p.back) > maxTold {
		p.back = slices.Delete(p.back, 0, 1)
	}
	server.Note(ctx, engram.Errorf(engram.Conflict, entity.String(), "%s", c.text()))
}

// text says how the clock went back last.
func (c *course) text() string {
	r := &c.last
	return fmt.Sprintf("the stamps go back by %v, from %v to %v: a clock was set, or a simulation or a bag began anew; poses asked for between may be of both runs. "+
		"Commit each run under a provider of its own, or forget the earlier one (engram ltm forget)", r.By(), r.Top, r.To)
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
