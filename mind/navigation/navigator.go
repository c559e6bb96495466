package navigation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Navigator drives a robot to goals: it has a path planned, has the platform follow that, looks ahead on the cost map meanwhile, and
// has another path planned when something comes into the way.
type Navigator struct {
	planner *Planner
	o       NavigatorOptions
}

// NavigatorOptions are optional.
type NavigatorOptions struct {
	// Planner is the skill that plans; "" is Plan of the navigator's own provider segment. It takes to, and where it is asked again
	// replaces, obstacle and message, and returns plan, as [Planner.Skill] does.
	Planner string
	// Platform is the skill that follows a plan; "" is Platform/Follow. It takes plan, the link to a snapshot of Navigation/Plan,
	// begins at the point of the path that is nearest to where the robot is, and succeeds at its end. When it is told to stop it
	// stands still. If something is in its way it fails with the code blocked.
	Platform string
	// StopAt is how far ahead on the path a person may be at least before the robot stops for them, metres; 0 is 1.
	StopAt float64
	// Yield is how long the robot waits for a person to go on before it goes around them; 0 is 3 s.
	Yield time.Duration
	// Patience is how long a robot that is trapped waits for a way; 0 is 10 s.
	Patience time.Duration
	// Every is how often it looks ahead; 0 is 100 ms.
	Every time.Duration
}

// NewNavigator returns a navigator that has a planner's skill called, and looks ahead on its cost map.
func NewNavigator(p *Planner, o NavigatorOptions) *Navigator {
	o.Planner = cmp.Or(o.Planner, p.config.Navigator+"/Plan")
	o.Platform = cmp.Or(o.Platform, "Platform/Follow")
	o.StopAt = cmp.Or(o.StopAt, 1)
	o.Yield = cmp.Or(o.Yield, 3*time.Second)
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	o.Every = cmp.Or(o.Every, 100*time.Millisecond)
	return &Navigator{p, o}
}

// Skill returns the navigator as a skill, GoTo, which takes to as [Planner.Skill] does. Its result has the plan that was followed last and the
// length of the way that the robot went, in metres. A failure has the code unreachable or trapped if there is no way, else that of what
// failed.
func (n *Navigator) Skill() skill.Skill {
	return skill.Skill{
		Name:        "GoTo",
		Description: skill.Description{Text: "drives to a place, a thing or a pose", Resources: []string{"platform"}, Preemptible: true, StopWithin: 2 * time.Second},
		Do:          func(ctx context.Context, c *skill.Call) error { return (&trip{Navigator: n, call: c}).run(ctx) },
	}
}

// trip is one way to a goal.
type trip struct {
	*Navigator
	call  *skill.Call
	began engram.Time
	goal  *Goal
	plan  *Plan
	odometer
	events []engram.ID
	noted  engram.Time // of the last of them
	told   time.Time   // how far it is
	sought time.Time   // where the goal is
}

// odometer counts how far a robot has gone.
type odometer struct {
	gone float64
	last grid.Point
	set  bool
}

func (o *odometer) at(p grid.Point) {
	if o.set {
		o.gone += o.last.Distance(p)
	}
	o.last, o.set = p, true
}

// hindrance is why a path is not to be followed any more.
type hindrance struct {
	obstacle *Obstacle // nil if it is not known
	person   bool      // so near that the robot stops
	message  string
}

func (t *trip) run(ctx context.Context) error {
	t.began = engram.Now()
	kind, err := t.drive(ctx)
	switch {
	case err == nil:
		kind = goalReached
	case ctx.Err() != nil:
		kind, err = aborted, context.Cause(ctx)
	case isCanceled(err): // what this called was told so first
		kind = aborted
	}
	lasting := t.call.Lasting()
	if noted := t.end(lasting, kind, err); err == nil && noted != nil {
		return noted
	}
	return err
}

// drive drives to the goal. If it does not come there the kind says why, and the error.
func (t *trip) drive(ctx context.Context) (kind string, err error) {
	goal, err := t.planner.GoalOf(ctx, t.call.Parameters["to"])
	if err != nil {
		return planningFailed, failure(err)
	}
	t.goal = goal
	if err := t.event(ctx, started, hindrance{message: "to " + t.where()}); err != nil {
		return internalError, err
	}
	if err := t.replan(ctx, hindrance{}); err != nil {
		return planningFailed, err
	}
	if err := t.event(ctx, planned, hindrance{message: fmt.Sprintf("%.1f m", t.plan.Path.Length)}); err != nil {
		return internalError, err
	}
	for {
		h, err := t.follow(ctx)
		switch {
		case err != nil:
			return followingFailed, err
		case h == nil:
			return goalReached, nil
		}
		if kind, err := t.goOn(ctx, *h); err != nil {
			return kind, err
		}
	}
}

// isCanceled reports whether an error says that something was told to stop.
func isCanceled(err error) bool {
	var f *skill.Failure
	if errors.As(err, &f) {
		return f.Code == engram.Canceled.String()
	}
	return engram.CodeOf(err) == engram.Canceled
}

// where says what the goal is, for people.
func (t *trip) where() string {
	if t.goal.Name != "" {
		return t.goal.Name
	}
	return floor(t.goal.Pose).String()
}

// follow has the platform follow the plan until something is in the way, which it returns; nil at the goal.
func (t *trip) follow(ctx context.Context) (*hindrance, error) {
	driving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	met := make(chan *hindrance, 1)
	go func() {
		h := t.watch(driving)
		if h != nil {
			stop(errors.New(h.message))
		}
		met <- h
	}()
	_, err := t.call.Run(driving, skill.Ask{Skill: t.o.Platform, Parameters: map[string]any{"plan": t.plan.ID}})
	stop(nil)
	if h := <-met; h != nil && err != nil {
		return h, nil
	}
	var f *skill.Failure
	if errors.As(err, &f) && f.Code == "blocked" {
		h := &hindrance{message: f.Message}
		if len(f.BlockedBy) > 0 {
			h.obstacle = &Obstacle{Name: f.BlockedBy[0].Entity(), Of: f.BlockedBy[0]}
		}
		return h, nil
	}
	return nil, err
}

// watch looks ahead until something is in the way, or ctx ends.
func (t *trip) watch(ctx context.Context) *hindrance {
	tick := time.NewTicker(t.o.Every)
	defer tick.Stop()
	for {
		m, changed := t.planner.costs.Now()
		if h := t.look(ctx, m); h != nil {
			return h
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
		}
	}
}

// look returns what is in the way on a map.
func (t *trip) look(ctx context.Context, m Map) *hindrance {
	a, err := t.planner.in(ctx, t.planner.config.Frame)
	if err != nil {
		return nil // the platform knows better
	}
	robot := floor(a.Pose)
	t.at(robot)
	if time.Since(t.sought) >= seekEvery {
		t.sought = time.Now()
		if h := t.moved(ctx); h != nil {
			return h
		}
	}
	if time.Since(t.told) >= tellEvery {
		t.told = time.Now()
		left := robot.Distance(t.plan.Path.Points[len(t.plan.Path.Points)-1])
		_ = t.call.Progress(ctx, t.gone/max(t.gone+left, goalMoves), fmt.Sprintf("%.1f m to go", left)) // the next one tells, too
	}
	b, blocked := t.plan.Path.Blocked(m.Costmap, robot)
	if !blocked {
		return nil
	}
	_, radius := m.Config().Footprint.Radii()
	h := &hindrance{message: fmt.Sprintf("something is in the way, %.1f m ahead", b.Ahead)}
	if o, ok := t.planner.costs.Near(b.At, radius+2*m.Grid().Resolution); ok {
		h.obstacle, h.message = &o, fmt.Sprintf("the %s is in the way, %.1f m ahead", o.Name, b.Ahead)
		if o.Person {
			if h.person = b.Ahead <= t.o.StopAt; !h.person {
				return nil // who goes on is not there any more when the robot comes
			}
		}
	}
	return h
}

// How often a trip looks where its goal is, and tells how far it has come.
const (
	seekEvery = time.Second
	tellEvery = time.Second
)

// goalMoves is how far a goal moves at least before another path is planned, metres.
const goalMoves = 0.1

// moved returns that the goal is elsewhere now.
func (t *trip) moved(ctx context.Context) *hindrance {
	if t.goal.Name == "" {
		return nil
	}
	g, err := t.planner.Goal(ctx, t.goal.Name)
	if err != nil {
		return nil // it may be seen again
	}
	away := floor(g.Pose).Distance(floor(t.goal.Pose))
	if away < goalMoves {
		return nil
	}
	t.goal = g
	return &hindrance{message: fmt.Sprintf("the goal has moved by %.1f m", away)}
}

// goOn goes on after something came into the way: it waits for people, and else plans another path, or waits for one.
func (t *trip) goOn(ctx context.Context, h hindrance) (kind string, err error) {
	if h.person {
		if err := t.event(ctx, safetyStop, h); err != nil {
			return internalError, err
		}
		if t.await(ctx, t.o.Yield, func(m Map) bool { return t.look(ctx, m) == nil }) {
			return "", nil
		}
	}
	err = t.replan(ctx, h)
	if isTrapped(err) {
		if err := t.event(ctx, trapped, h); err != nil {
			return internalError, err
		}
		t.await(ctx, t.o.Patience, func(Map) bool {
			err = t.replan(ctx, h)
			return !isTrapped(err)
		})
		if isTrapped(err) && ctx.Err() == nil {
			return trapped, &skill.Failure{Code: "trapped", Message: "there is no way any more: " + err.Error(), Retry: true, BlockedBy: h.by()}
		}
	}
	if err != nil {
		return planningFailed, err
	}
	return "", t.event(ctx, replanned, h)
}

// isTrapped reports whether an error of planning may be over when something has moved.
func isTrapped(err error) bool {
	var f *skill.Failure
	return errors.As(err, &f) && (f.Code == "unreachable" || f.Code == engram.Invalid.String())
}

// by returns links to what is in the way.
func (h *hindrance) by() []engram.ID {
	if h.obstacle == nil || h.obstacle.Of.IsRoot() {
		return nil
	}
	return []engram.ID{h.obstacle.Of}
}

// await waits until something is so on a cost map, for so long at most, and reports whether it is.
func (t *trip) await(ctx context.Context, most time.Duration, is func(Map) bool) bool {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		m, changed := t.planner.costs.Now()
		if is(m) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-over.C:
			return false
		case <-changed:
		}
	}
}

// replan has a path planned from where the robot is.
func (t *trip) replan(ctx context.Context, h hindrance) error {
	to := any(t.goal.Name)
	if t.goal.Name == "" {
		to = map[string]any{"frame_id": t.planner.costs.frame, "pose": poseValue(t.goal.Pose)}
	}
	parameters := map[string]any{"to": to, "message": h.message}
	if t.plan != nil {
		parameters["replaces"] = t.plan.ID
	}
	if by := h.by(); by != nil {
		parameters["obstacle"] = by[0]
	}
	e, err := t.call.Run(ctx, skill.Ask{Skill: t.o.Planner, Parameters: parameters})
	if err != nil {
		return err
	}
	id, _ := e.Result["plan"].(engram.ID)
	p, err := t.planner.Read(ctx, id)
	if err == nil {
		t.plan = p
	}
	return err
}
