package mission

import (
	"context"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

const controlPeriod = 50 * time.Millisecond

// wheels are a robot's drive, for the navigator: where the robot is says its localiser.
type wheels struct {
	b     *body
	stood map[string]navigation.Point // where what is beside the robot was last said to be
}

func (w wheels) Pose(context.Context) (navigation.Pose2D, error) {
	p := w.b.Pose()
	return navigation.Pose2D{Point: navigation.Point(p.Point), Yaw: p.Yaw}, nil
}

func (w wheels) Drive(_ context.Context, ahead, turn float64) error {
	if ahead != 0 || turn != 0 {
		w.b.act()
	}
	w.b.m.truth.Drive(w.b.name, ahead, turn)
	return nil
}

func (w wheels) Stop(context.Context) error {
	w.b.m.truth.Drive(w.b.name, 0, 0)
	return nil
}

// Sense returns what the robot's bumpers and sonars notice all around.
func (w wheels) Sense(context.Context) (out []navigation.Obstacle, err error) {
	var odom hallway.Pose
	var beside map[string]hallway.Disc
	w.b.m.truth.Sense(w.b.name, func(s hallway.Sensors) {
		odom, _, _ = s.Odometry()
		beside = s.Beside()
	})
	at := w.b.inHallway(odom)
	for name, o := range beside {
		p := at.Mul(hallway.Pose{Point: o.Point})
		// What stands does not move because the robot's place is a little uncertain.
		if last, ok := w.stood[name]; !ok || last.Distance(navigation.Point(p.Point)) > 0.15 {
			w.stood[name] = navigation.Point(p.Point)
		}
		out = append(out, navigation.Obstacle{Name: name, At: w.stood[name], Radius: o.Radius + 0.03})
	}
	return out, nil
}

func (w wheels) Localization() engram.ID { return w.b.Localized() }

// records are what the navigator writes, which has the hallway's time; the memory has the wall clock's.
type records struct {
	navigation.Recorder
	clock *Clock
}

// Commit implements engram.Writer.
func (r records) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	for i := range c.Updates {
		u := &c.Updates[i]
		u.Time = r.clock.Wall(u.Time)
		for j := range u.Instances {
			p := &u.Instances[j].Payload
			t, ok := memories.Type(p.Type)
			if !ok {
				continue
			}
			v, err := t.Decode(p.Bytes)
			if err != nil {
				return nil, err
			}
			m, _ := v.(map[string]any)
			for _, member := range []string{"timestamp", "started"} {
				if at, ok := m[member].(engram.Time); ok {
					m[member] = r.clock.Wall(at)
				}
			}
			if p.Bytes, err = t.Encode(m); err != nil {
				return nil, err
			}
		}
	}
	return r.Recorder.Commit(ctx, c)
}

// openFloor reads the map out of the world, and gets ready to drive on it.
func (b *body) openFloor(ctx context.Context) error {
	if b.navigator != nil {
		return nil
	}
	floor, err := navigation.OpenFloor(ctx, b.world, "", navigation.FloorOptions{
		Inflation: navigation.Inflation{Radius: hallway.Radius + 0.05}, Robot: b.name, Height: 0.6,
		Ignore: func(it *world.Merged) bool { return it.Is(world.KindRobot) }, // the sonars notice where they really are
	})
	if err != nil {
		return err
	}
	b.member.run(func(ctx context.Context) { b.told("floor", floor.Follow(ctx)) })
	b.navigator, err = navigation.New(ctx, navigation.Options{
		Floor: floor, Platform: wheels{b, map[string]navigation.Point{}}, Clock: b.m.Clock, Record: records{b.svc, b.m.Clock}, Provider: b.name, Robot: b.name,
		Speed: hallway.MaxSpeed, TurnSpeed: hallway.MaxTurn, Period: controlPeriod, Tolerance: 0.1,
	})
	return err
}

// moveTo drives to a pose.
func (b *body) moveTo(c *skill.Call, in moveIn) (moveOut, error) {
	if err := b.ready(); err != nil {
		return moveOut{}, err
	}
	r, err := b.navigator.Go(c, navigation.Goal{
		Pose2D: navigation.Pose2D{Point: navigation.Point{X: in.X, Y: in.Y}, Yaw: in.Yaw}, Near: in.Near, Execution: c.Execution,
	})
	if err != nil && c.Err() == nil {
		is := b.m.truth.Truth(b.name)
		b.say("did not get to (%.1f, %.1f): %v (it is %.2f m from where it believes to be, and touches %q)",
			in.X, in.Y, err, is.Dist(b.Pose().Point), b.bumped())
	}
	b.think() // of what comes next
	return moveOut{r.Length}, err
}

// bumped returns what the robot drives against; "" for nothing.
func (b *body) bumped() (what string) {
	b.m.truth.Sense(b.name, func(s hallway.Sensors) { what = s.Bumped() })
	return what
}

// backOff goes back a little from what the robot touched.
func (b *body) backOff(ctx context.Context) {
	b.m.truth.Drive(b.name, -0.3, 0.4*(b.m.rand()-0.5))
	_ = b.m.Clock.Sleep(ctx, 900*time.Millisecond)
	b.m.truth.Drive(b.name, 0, 0)
}

// turn turns in place, by an angle, until that is enough.
func (b *body) turn(ctx context.Context, angle float64, enough func() bool) {
	b.act()
	defer b.m.truth.Drive(b.name, 0, 0)
	last, gone := b.Pose().Yaw, 0.0
	b.m.Clock.Every(ctx, controlPeriod, func() bool {
		now := b.Pose().Yaw
		gone += hallway.Wrap(now - last)
		last = now
		left := angle - gone
		if math.Abs(left) < 0.1 || enough() {
			return false
		}
		b.m.truth.Drive(b.name, 0, 3*left)
		return true
	})
}
