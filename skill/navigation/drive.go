package navigation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
)

// drive is one way to a goal.
type drive struct {
	*Navigator
	goal   Goal
	target Pose2D // the goal, or where near it the robot goes
	result Result

	at    Pose2D
	seen  bool // at is where it is
	path  Path
	next  int // the point of the path that is headed for
	plan  engram.ID
	floor uint64 // version of the floor on which the rest of the path was looked at

	sensed map[string]sighting
	slow   bool // slower for a person
	wait   *waiting
	stop   *waiting // for a person
	push   pushing

	turnsAtGoal bool // it stands at the goal and turns

	moved    bool        // the goal is elsewhere than the path leads to
	followed engram.Time // when the last path was planned for that
}

// sighting is something that sensors saw.
type sighting struct {
	Obstacle
	until engram.Time
}

// rememberFor is how long what sensors saw is there without being seen.
const rememberFor = 2 * time.Second

// waiting is a time in which the robot stands and waits.
type waiting struct {
	since, tried engram.Time
	trapped      bool
	why          error
}

// pushing notices that wheels turn and nothing moves.
type pushing struct {
	since engram.Time // 0: it is not told to move
	ahead bool        // forwards, and not only to turn
	from  Pose2D
	stuck Point // where it was stuck last
	tries int   // how often it was stuck near there
}

const (
	stuckAfter    = 3 * time.Second
	stuckDistance = 0.05 // metres
	stuckYaw      = 0.1
	stuckTries    = 3
	// freeDistance is how far a robot comes that is not stuck any more, metres.
	freeDistance = 0.5
	// pushedFor is how long what the robot pushed against stays on the floor: it was felt and not seen.
	pushedFor  = 10 * time.Second
	retryEvery = time.Second
	// trappedArea is how much room the robot has that cannot get away, square metres.
	trappedArea = 4.0
)

// run drives until there is an end: the kind of the event that is it, and an error if it is no success.
func (d *drive) run(ctx context.Context) (EventKind, error) {
	d.sensed = map[string]sighting{}
	p, err := d.o.Platform.Pose(ctx)
	if err != nil {
		return InternalError, err
	}
	d.saw(p)
	d.event(ctx, Started, "", engram.ID{})
	if err := d.sense(ctx); err != nil {
		return InternalError, err
	}
	if err := d.planPath(ctx); err != nil {
		d.noticeTrap(ctx, err)
		return GlobalPlanningFailed, err
	}
	d.event(ctx, GlobalPlanned, fmt.Sprintf("%.2f m over %d points", d.path.Length(), len(d.path)), engram.ID{})
	for {
		done, kind, err := d.tick(ctx)
		if done || err != nil {
			return kind, err
		}
		if err := d.o.Clock.Sleep(ctx, d.o.Period); err != nil {
			return Aborted, err
		}
	}
}

// saw takes where the robot is.
func (d *drive) saw(p Pose2D) {
	if d.seen {
		d.result.Length += d.at.Distance(p.Point)
	}
	d.at, d.seen = p, true
}

// tick looks, decides and drives for one period.
func (d *drive) tick(ctx context.Context) (done bool, kind EventKind, err error) {
	p, err := d.o.Platform.Pose(ctx)
	if err != nil {
		return true, InternalError, err
	}
	d.saw(p)
	if err := d.sense(ctx); err != nil {
		return true, InternalError, err
	}
	now := d.o.Clock.Now()
	if err := d.followGoal(ctx, now); err != nil {
		return true, InternalError, err
	}
	if !d.moved && d.arrived() {
		return true, GoalReached, nil
	}
	if d.wait != nil {
		if over, kind, err := d.waitForWay(ctx, now); over || d.wait != nil {
			return over, kind, err
		}
	} else if v := d.o.Floor.Version(); v != d.floor {
		d.floor = v
		if rest, blocked := d.blocked(); blocked {
			if err := d.replan(ctx, rest); err != nil {
				return false, 0, d.beginWait(ctx, now, err)
			}
		}
	}
	if standing, err := d.person(ctx, now); standing || err != nil {
		return err != nil, LocalPlanningFailed, err
	}
	if waits, err := d.stuck(ctx, now); waits || err != nil {
		return err != nil, Trapped, err
	}
	d.pass(ctx)
	ahead, turn := d.steer()
	if d.slow {
		ahead *= d.slowness()
	}
	d.pushes(now, ahead, turn)
	if err := d.o.Platform.Drive(ctx, ahead, turn); err != nil {
		return true, InternalError, err
	}
	return false, 0, nil
}

// followGoal plans anew when the goal was moved; while it moves on, not more often than ways are tried.
func (d *drive) followGoal(ctx context.Context, now engram.Time) error {
	w := d.goal.follow
	if w == nil || d.moved || now < d.followed.Add(retryEvery) && !d.arrived() {
		return nil
	}
	by, err := w.moved(ctx, d.o.Tolerance)
	if err != nil || by == 0 {
		return err
	}
	d.moved, d.followed = true, now
	if err := d.planPath(ctx); err != nil {
		if d.wait != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		return d.beginWait(ctx, now, err)
	}
	d.wait = nil
	d.event(ctx, Replanned, fmt.Sprintf("%s was moved by %.2f m: %.2f m over %d points", w.item, by, d.path.Length(), len(d.path)), engram.ID{})
	return nil
}

// resolveAgain takes the goal from where it is now.
func (d *drive) resolveAgain(ctx context.Context) error {
	w := d.goal.follow
	forest, err := w.places.World.View(ctx)
	if err != nil {
		return err
	}
	g, err := w.again(forest, d.at.Point)
	if err != nil {
		return err
	}
	if g.follow != nil {
		d.goal.follow = g.follow
	}
	d.goal.Pose2D, d.goal.Link, d.result.Goal = g.Pose2D, g.Link, g.Pose2D
	return nil
}

// sense puts what the sensors see on the floor. Around a person there is room to keep.
func (d *drive) sense(ctx context.Context) error {
	obstacles, err := d.o.Platform.Sense(ctx)
	if err != nil {
		return err
	}
	now := d.o.Clock.Now()
	for name, s := range d.sensed {
		if s.until < now {
			delete(d.sensed, name)
		}
	}
	for i, o := range obstacles {
		if o.Name == "" {
			o.Name = fmt.Sprint(i)
		}
		d.sensed[o.Name] = sighting{o, now.Add(rememberFor)}
	}
	outlines := make(map[string]Outline, len(d.sensed))
	for name, s := range d.sensed {
		r := s.Radius
		if s.Person {
			r += d.o.StopGap
		}
		outlines[name] = Circle(s.At, r)
	}
	d.o.Floor.Sense(outlines)
	return nil
}

// planPath finds a path from where the robot is, and commits it.
func (d *drive) planPath(ctx context.Context) error {
	d.floor = d.o.Floor.Version()
	if d.moved {
		if err := d.resolveAgain(ctx); err != nil {
			return err
		}
	}
	path, target, err := d.findPath(ctx)
	if err != nil {
		return err
	}
	d.path, d.target, d.next, d.moved = path, target, 1, false
	d.mu.Lock()
	d.mu.plan = path
	d.mu.Unlock()
	d.commitPlan(ctx)
	return nil
}

// findPath plans to the goal, or to what is near it; out of where the robot must not be, if it is
// too near to something.
func (d *drive) findPath(ctx context.Context) (Path, Pose2D, error) {
	start, target := d.at.Point, d.goal.Pose2D
	var away Path
	d.o.Floor.Read(func(c *Costmap) {
		if away = c.Escape(start, d.o.Floor.options.Radius+1); len(away) > 0 {
			start = away[len(away)-1]
		}
		if p, ok := c.Nearest(target.Point, d.goal.Near); ok && p != target.Point {
			target.Point = p
		}
	})
	path, asked, err := d.askedPath(ctx, start, target.Point)
	if !asked {
		path, err = d.o.Floor.Plan(ctx, d.o.Planner, start, target.Point)
	}
	if err == nil && len(path) > 1 {
		err = d.turns(path, target)
	}
	if err == nil && len(path) < 2 {
		err = engram.Errorf(engram.Internal, d.o.Robot, "the planner gave a path of %d points", len(path))
	}
	if err != nil {
		return nil, target, err
	}
	if len(away) > 0 {
		path = append(away[:len(away)-1:len(away)-1], path...)
	}
	return path.straight(), target, nil
}

// turns returns a *[Failure] if the robot cannot turn into the path, or at its end as the goal says.
func (d *drive) turns(p Path, target Pose2D) (err error) {
	last := len(p) - 1
	d.o.Floor.Read(func(c *Costmap) {
		switch {
		case d.at.Distance(p[0]) < reached && !c.Turns(d.at.Point, d.at.Yaw, direction(p[0], p[1])):
			err = fail(StartBlocked, p[0], "the robot cannot turn at the start (%.3f, %.3f)", p[0].X, p[0].Y)
		case !d.goal.AnyYaw && !c.Turns(target.Point, direction(p[last-1], p[last]), target.Yaw):
			err = fail(GoalBlocked, target.Point, "the robot cannot turn at the goal (%.3f, %.3f) to %.2f rad", target.X, target.Y, target.Yaw)
		}
	})
	return err
}

// straight returns the path without points on straight lines.
func (p Path) straight() Path {
	out := p[:1:1]
	for i := 1; i < len(p); i++ {
		if n := len(out); n > 1 {
			a, b, c := out[n-2], out[n-1], p[i]
			cross := (b.X-a.X)*(c.Y-b.Y) - (b.Y-a.Y)*(c.X-b.X)
			along := (b.X-a.X)*(c.X-b.X) + (b.Y-a.Y)*(c.Y-b.Y)
			if math.Abs(cross) < 1e-9 && along > 0 {
				out = out[:n-1]
			}
		}
		out = append(out, p[i])
	}
	return out
}

// blocked returns the rest of the path, and whether some of it cannot be entered any more, or does not lead to the
// goal.
func (d *drive) blocked() (rest Path, blocked bool) {
	rest = append(Path{d.at.Point}, d.path[d.next:]...)
	if d.moved {
		return rest, true
	}
	d.o.Floor.Read(func(c *Costmap) {
		if !c.Enterable(d.at.Point) {
			blocked = true
			return
		}
		for i := 1; i < len(rest) && !blocked; i++ {
			blocked = !c.passes(rest[i-1], rest[i], c.bare())
		}
	})
	return rest, blocked
}

// replan finds another path, because something is in the way of the rest of the present one.
func (d *drive) replan(ctx context.Context, rest Path) error {
	var what string
	var seen engram.ID
	if !d.moved {
		what, seen = d.blocking(rest)
	}
	if err := d.planPath(ctx); err != nil {
		return err
	}
	message := fmt.Sprintf("%.2f m over %d points", d.path.Length(), len(d.path))
	if what != "" {
		message = what + " came into the way: " + message
	}
	d.event(ctx, Replanned, message, seen)
	return nil
}

// blocking returns what is in the way: its name, and a link to it.
func (d *drive) blocking(rest Path) (string, engram.ID) {
	for name, s := range d.sensed {
		for i := 1; i < len(rest); i++ {
			line := Outline{rest[i-1], rest[i]}
			if line.Distance(s.At) < s.Radius+d.o.Floor.options.Radius+d.o.StopGap {
				return name, s.Link
			}
		}
	}
	if name := d.o.Floor.Blocking(rest); name != "" {
		return name, d.o.Floor.item(name)
	}
	return "", engram.ID{}
}

// beginWait stops because there is no way at present.
func (d *drive) beginWait(ctx context.Context, now engram.Time, why error) error {
	if err := d.o.Platform.Stop(ctx); err != nil {
		return err
	}
	d.wait = &waiting{since: now, tried: now, why: why}
	d.push.since = 0
	d.wait.trapped = d.noticeTrap(ctx, why)
	return nil
}

// noticeTrap tells that the robot has nowhere to go, if that is why there is no way.
func (d *drive) noticeTrap(ctx context.Context, why error) bool {
	f, ok := errors.AsType[*Failure](why)
	if !ok || f.Reason != Unreachable && f.Reason != StartBlocked {
		return false
	}
	var room float64
	d.o.Floor.Read(func(c *Costmap) { room = c.Room(d.at.Point, trappedArea) })
	if room < trappedArea {
		d.event(ctx, Trapped, fmt.Sprintf("there is no way out of %.2f m²: %v", room, why), engram.ID{})
	}
	return room < trappedArea
}

// waitForWay tries again to find a way. d.wait is nil when it has one.
func (d *drive) waitForWay(ctx context.Context, now engram.Time) (over bool, kind EventKind, err error) {
	v := d.o.Floor.Version()
	if v == d.floor && now < d.wait.tried.Add(retryEvery) {
		return d.patience(now)
	}
	d.wait.tried = now
	rest, blocked := d.blocked()
	if !blocked { // what was in the way has gone
		d.floor = v
		d.wait = nil
		return false, 0, nil
	}
	err = d.replan(ctx, rest)
	if err == nil {
		d.wait = nil
		return false, 0, nil
	}
	if ctx.Err() != nil {
		return true, Aborted, err
	}
	d.wait.why = err
	if !d.wait.trapped {
		d.wait.trapped = d.noticeTrap(ctx, err)
	}
	return d.patience(now)
}

func (d *drive) patience(now engram.Time) (over bool, kind EventKind, err error) {
	if now < d.wait.since.Add(d.o.Patience) {
		return false, 0, nil
	}
	if d.wait.trapped {
		return true, Trapped, engram.Errorf(engram.Unavailable, d.o.Robot, "it is trapped: %w", d.wait.why)
	}
	if _, ok := errors.AsType[*Failure](d.wait.why); ok {
		return true, LocalPlanningFailed, engram.Errorf(engram.Unavailable, d.o.Robot, "the way stayed blocked for %v: %w", d.o.Patience, d.wait.why)
	}
	return true, LocalPlanningFailed, d.wait.why
}

// person stops for a person who is near ahead, and is slow before that. standing says that
// the robot stands for one.
func (d *drive) person(ctx context.Context, now engram.Time) (standing bool, err error) {
	gap, name, at, id := d.nearestPerson()
	switch {
	case gap < d.o.StopGap:
		if d.stop == nil {
			if err := d.o.Platform.Stop(ctx); err != nil {
				return true, err
			}
			d.stop = &waiting{since: now}
			d.push.since = 0
			d.event(ctx, SafetyStop, fmt.Sprintf("%s is %.2f m ahead", name, max(gap, 0)), id)
			return true, nil
		}
		if now >= d.stop.since.Add(d.o.Patience) {
			return true, engram.Errorf(engram.Unavailable, d.o.Robot, "%s has been in the way for %v", name, d.o.Patience)
		}
		return true, d.turnAway(ctx, now, at)
	case gap < d.o.SlowGap:
		if !d.slow && d.stop == nil {
			d.event(ctx, SafetySlowdown, fmt.Sprintf("%s is %.2f m ahead", name, gap), id)
		}
		d.slow, d.stop = true, nil
	default:
		d.slow, d.stop = false, nil
	}
	return false, nil
}

// turnAfter is how long the robot stands before it turns away from a person.
const turnAfter = 2 * time.Second

// turnAway turns on the spot, if the way leads past a person who stays.
func (d *drive) turnAway(ctx context.Context, now engram.Time, person Point) error {
	turn := 0.0
	if to := d.path[d.next]; now >= d.stop.since.Add(turnAfter) &&
		math.Abs(normal(direction(d.at.Point, to)-direction(d.at.Point, person))) > math.Pi/3 {
		turn = d.turning(normal(direction(d.at.Point, to)-d.at.Yaw)) / 2
	}
	return d.o.Platform.Drive(ctx, 0, turn)
}

func direction(from, to Point) float64 { return math.Atan2(to.Y-from.Y, to.X-from.X) }

// nearestPerson returns what is left between the robot and a person ahead, metres.
func (d *drive) nearestPerson() (gap float64, name string, at Point, id engram.ID) {
	gap = math.Inf(1)
	see := func(who string, p Point, radius float64, link engram.ID) {
		left := d.at.Distance(p) - radius - d.o.Floor.options.Radius
		if off := math.Abs(normal(direction(d.at.Point, p) - d.at.Yaw)); left < gap && (off < math.Pi/3 || left < 0.1) {
			gap, name, at, id = left, who, p, link
		}
	}
	for who, s := range d.sensed {
		if s.Person {
			see(who, s.At, s.Radius, s.Link)
		}
	}
	for who, p := range d.o.Floor.Persons() {
		see(who, p, personRadius, d.o.Floor.item(who))
	}
	return gap, name, at, id
}

func (d *drive) slowness() float64 {
	gap, _, _, _ := d.nearestPerson()
	return min(max((gap-d.o.StopGap)/(d.o.SlowGap-d.o.StopGap), 0.2), 1)
}

// pushes notes what the robot is told to do.
func (d *drive) pushes(now engram.Time, ahead, turn float64) {
	moved := d.at.Distance(d.push.from.Point) > stuckDistance || math.Abs(normal(d.at.Yaw-d.push.from.Yaw)) > stuckYaw
	if d.push.since == 0 || moved {
		d.push.since, d.push.from, d.push.ahead = now, d.at, false
	}
	d.push.ahead = d.push.ahead || ahead > 0
	if d.push.tries > 0 && d.at.Distance(d.push.stuck) > freeDistance {
		d.push.tries = 0
	}
	if ahead == 0 && turn == 0 {
		d.push.since = 0
	}
}

// stuck notices that the robot does not move although it is told to. It tries to drive back a little and
// then another way, around what it pushed against; after some times in one place the error says that it is stuck.
// waits says that there is no such way at present.
func (d *drive) stuck(ctx context.Context, now engram.Time) (waits bool, err error) {
	if d.push.since == 0 || now < d.push.since.Add(stuckAfter) ||
		d.at.Distance(d.push.from.Point) > stuckDistance || math.Abs(normal(d.at.Yaw-d.push.from.Yaw)) > stuckYaw {
		return false, nil
	}
	d.push.since = 0
	d.push.tries++
	d.push.stuck = d.at.Point
	if d.push.ahead {
		sin, cos := math.Sincos(d.at.Yaw)
		const radius = 0.05
		front := d.o.Floor.options.Radius + radius
		d.sensed[fmt.Sprint("felt at ", now)] = sighting{
			Obstacle{At: Point{d.at.X + front*cos, d.at.Y + front*sin}, Radius: radius}, now.Add(pushedFor),
		}
	}
	why := fmt.Sprintf("it does not move although it is told to, for %v", stuckAfter)
	if d.push.tries == 1 {
		d.event(ctx, Trapped, why, engram.ID{})
	}
	if d.push.tries >= stuckTries {
		return false, engram.Errorf(engram.Unavailable, d.o.Robot, "it is trapped: %s", why)
	}
	const back, backFor = -0.1, 2 * time.Second
	behind := Point{d.at.X - 0.3*math.Cos(d.at.Yaw), d.at.Y - 0.3*math.Sin(d.at.Yaw)}
	clear := false
	d.o.Floor.Read(func(c *Costmap) { clear = c.Enterable(behind) })
	for until := now.Add(backFor); clear && d.o.Clock.Now() < until; {
		if err := d.o.Platform.Drive(ctx, back, 0); err != nil {
			return false, err
		}
		if err := d.o.Clock.Sleep(ctx, d.o.Period); err != nil {
			return false, err
		}
	}
	p, err := d.o.Platform.Pose(ctx)
	if err != nil {
		return false, err
	}
	d.saw(p)
	if err := d.sense(ctx); err != nil {
		return false, err
	}
	if err := d.replan(ctx, append(Path{d.at.Point}, d.path[d.next:]...)); err != nil {
		return true, d.beginWait(ctx, now, err)
	}
	return false, nil
}

// reached is how near the robot comes to a point of the path before it heads for the next one, metres.
const reached = 0.08

// pass goes over to the next point of the path.
func (d *drive) pass(ctx context.Context) {
	for d.next < len(d.path)-1 {
		from, to := d.path[d.next-1], d.path[d.next]
		left := d.at.Distance(to)
		beyond := (d.at.X-to.X)*(to.X-from.X)+(d.at.Y-to.Y)*(to.Y-from.Y) >= 0
		if left > reached && !(beyond && left < 3*reached) {
			return
		}
		d.next++
		d.event(ctx, WaypointReached, "", engram.ID{})
	}
}

// arrived reports whether the robot is at the goal.
func (d *drive) arrived() bool {
	return d.next == len(d.path)-1 && d.at.Distance(d.target.Point) <= d.o.Tolerance &&
		(d.goal.AnyYaw || math.Abs(normal(d.target.Yaw-d.at.Yaw)) <= d.o.Tolerance)
}

// steer returns speeds: along the line to the next point, turning on the spot where that is far off.
func (d *drive) steer() (ahead, turn float64) {
	to := d.path[d.next]
	left := d.at.Distance(to)
	last := d.next == len(d.path)-1
	if last && left <= d.o.Tolerance/2 || last && left <= d.o.Tolerance && d.turnsAtGoal {
		d.turnsAtGoal = true
		return 0, d.turning(normal(d.target.Yaw - d.at.Yaw))
	}
	d.turnsAtGoal = false
	off := normal(direction(d.at.Point, to) - d.at.Yaw)
	turn = d.turning(off)
	const onTheSpot = 0.4 // radians
	if a := math.Abs(off); a < onTheSpot {
		ahead = d.o.Speed * (1 - a/onTheSpot)
		if last || math.Abs(normal(direction(to, d.path[d.next+1])-direction(d.path[d.next-1], to))) > onTheSpot/2 {
			ahead = min(ahead, 0.05+1.5*left) // slowly enough to turn there
		}
	}
	return ahead, turn
}

// turning returns the speed to turn by an angle.
func (d *drive) turning(off float64) float64 {
	return max(min(off/(3*d.o.Period.Seconds()), d.o.TurnSpeed), -d.o.TurnSpeed)
}
