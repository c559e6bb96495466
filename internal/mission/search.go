package mission

import (
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/explore"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/world"
)

// gone is after how much time without news another scout is not counted with.
const gone = 6 * time.Second

// search is one scout's part of a search.
type search struct {
	b *body

	mu   sync.Mutex
	plan *explore.Search
}

// hear takes over what all who look have looked at, those of other robots as far as they are
// heard.
func (s *search) hear(ctx context.Context) {
	var patterns []engram.Pattern
	for _, memory := range []string{"World", "*:World"} {
		patterns = append(patterns, engram.MustPattern(memory+"/Observation"))
	}
	stream, err := s.b.client.Subscribe(ctx, engram.Subscription{
		Patterns: patterns, WithData: true, Source: engram.SourceNear, Start: engram.Start{Kind: engram.StartTime, Time: s.b.m.began}, Queue: 1 << 14,
	})
	if s.b.told("subscription of looks", err); err != nil {
		return
	}
	defer stream.Close()
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		for _, u := range updates {
			if u.Snapshot == nil {
				continue
			}
			l, err := s.b.codec.Look(u.ID, u.Snapshot)
			if err != nil || l.Frame != hallwayItem {
				continue
			}
			base := l.Pose.Mul(baseFromCamera.Inverse())
			s.plan.Look(floor(base).Mul(hallway.Camera))
		}
		s.mu.Unlock()
	}
}

// left returns the part of the floor that nobody has seen.
func (s *search) left() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.Left()
}

// rest returns how many square metres that nobody has seen a target shows still.
func (s *search) rest(to explore.Target) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.Around {
		return s.plan.Around(to.Point)
	}
	return s.plan.Gain(to.Pose.Mul(hallway.Camera))
}

// partners returns where the other scouts are that were heard of lately.
func (s *search) partners(ctx context.Context) (others []hallway.Point) {
	f, err := s.b.world.View(ctx)
	if err != nil {
		return nil
	}
	for _, o := range s.b.m.members {
		if o == s.b.member || len(o.groups) == 0 {
			continue
		}
		it, err := f.Get(o.name)
		if err != nil {
			continue
		}
		if t, ok := it.PlacedAt(); !ok || s.b.m.Clock.Ago(t) > gone {
			continue
		}
		if at, err := f.Pose(hallwayItem, o.name); err == nil {
			others = append(others, floor(at.Pose).Point)
		}
	}
	return others
}

// missing returns which of the objects nobody has seen yet.
func (b *member) missing(ctx context.Context, objects []string) (out []string) {
	f, err := b.world.View(ctx)
	if err != nil {
		return objects
	}
	for _, o := range objects {
		if _, err := f.Pose(hallwayItem, o); err != nil {
			out = append(out, o)
		}
	}
	return out
}

// find explores until all the objects are in the world, whoever saw them.
func (b *body) find(ctx *skill.Call, objects []string) error {
	release := b.m.Clock.Hold() // what can be seen from where takes a while
	s := &search{b: b, plan: explore.New(b.grid, b.Pose().Point, hallway.CameraView, hallway.CameraRange)}
	release()
	hearing, stop := context.WithCancel(ctx)
	defer stop()
	b.member.run(func(context.Context) { s.hear(hearing) })
	found := func() bool { return len(b.missing(ctx, objects)) == 0 }
	b.mu.Lock()
	b.search = s
	b.mu.Unlock()
	for !found() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.think()
		others := s.partners(ctx)
		s.mu.Lock()
		target, ok := s.plan.Next(b.Pose(), others, nil)
		left := s.plan.Left()
		if !ok {
			s.plan.Again()
		}
		s.mu.Unlock()
		if !ok {
			b.say("has seen all that can be seen, and begins anew")
			continue
		}
		ctx.Progress(1-left, "")
		arrived := false
		stale, err := b.goFor(ctx, target, func() bool {
			// Who turns around there need not stand there first, nor in a certain direction.
			arrived = target.Around && b.Pose().Dist(target.Point) < 0.3
			// On the way this one or others may see what was to be seen from there.
			return arrived || found() || s.rest(target) < 0.3*target.Gain
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.mu.Lock()
			s.plan.Blocked(target)
			s.mu.Unlock()
			_ = b.m.Clock.Sleep(ctx, 500*time.Millisecond)
		case target.Around && (arrived || !stale):
			b.turn(ctx, 6.0, func() bool { return found() || s.rest(target) < 0.5 })
		case !stale:
			b.act()
			_ = b.m.Clock.Sleep(ctx, lookPeriod)
		}
	}
	return nil
}

// goFor goes to where to look from; stale says that this was of no use any more, and given up.
func (b *body) goFor(c *skill.Call, to explore.Target, enough func() bool) (stale bool, err error) {
	x, err := c.Start(skill.Request{Skill: "MoveTo", Parameters: moveIn{X: to.X, Y: to.Y, Yaw: to.Yaw, Near: 0.4}})
	if err != nil {
		return false, err
	}
	waiting, ended := context.WithCancel(c)
	var moved *skill.Execution
	var failed error
	done := make(chan struct{})
	b.member.work.Go(func() {
		defer close(done)
		defer ended()
		moved, failed = x.Wait(waiting)
	})
	b.m.Clock.Every(waiting, lookPeriod, func() bool {
		stale = enough()
		return !stale
	})
	if stale {
		b.think()
		_, err := x.Abort(c, skill.ReasonParent, "what was to be seen there is seen")
		ended()
		return true, err
	}
	<-done
	if failed == nil && moved != nil {
		failed = moved.Err()
	}
	return false, failed
}

// placeOf returns where an object is in the hallway as the world of the member has it.
func (b *member) placeOf(ctx context.Context, object string) (hallway.Pose, *world.Merged, error) {
	f, err := b.world.View(ctx)
	if err != nil {
		return hallway.Pose{}, nil, err
	}
	it, err := f.Get(object)
	if err != nil {
		return hallway.Pose{}, nil, err
	}
	at, err := f.Pose(hallwayItem, object)
	return floor(at.Pose), it, err
}
