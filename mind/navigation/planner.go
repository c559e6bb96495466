package navigation

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// Planner plans on the cost map of [Costs]. All methods are safe for concurrent use.
type Planner struct {
	memory engram.Service
	poses  lookup.Service
	world  World
	costs  *Costs
	config Config
	codec  *codec
}

// NewPlanner returns a planner on a cost map, which knows from poses where the robot is.
func NewPlanner(ctx context.Context, memory engram.Service, poses lookup.Service, w World, k *Costs) (*Planner, error) {
	c, err := newCodec(ctx, memory)
	if err != nil {
		return nil, err
	}
	return &Planner{memory: memory, poses: poses, world: w, costs: k, config: k.config, codec: c}, nil
}

// Ask asks for a plan.
type Ask struct {
	Goal      Goal
	Start     *pose.Pose // where it begins, in the map's frame; nil is where the robot is
	Execution engram.ID  // of the skill that wants it; the root if none does
	Replaces  engram.ID  // the plan that is not good enough any more; the root for none
	Obstacle  engram.ID  // what made it so; the root if that is not known
	Message   string     // for people
}

// Plan is a path to a goal, as Navigation/Plan has it.
type Plan struct {
	ID        engram.ID // the snapshot
	Time      engram.Time
	Goal      Goal // its pose is that of the robot's root link in the end
	Start     pose.Pose
	Frame     string // of all positions
	Path      plan.Path
	Execution engram.ID
	Costmap   engram.ID
	Map       engram.ID
	Robot     engram.ID // what told where the robot was; the root if that was given
	Replaces  engram.ID
	Obstacle  engram.ID
	Message   string
}

// Plan plans a path, and commits it. The errors are those of [plan.Find] and [plan.Approach]: Invalid for a start or a goal where
// the robot cannot be, NotFound with [plan.ErrUnreachable] if there is no way; and those of a look-up of where the robot is.
func (p *Planner) Plan(ctx context.Context, a Ask) (*Plan, error) {
	m, _ := p.costs.Now()
	r := &Plan{
		Goal: a.Goal, Frame: m.Frame, Execution: a.Execution, Costmap: m.ID, Map: m.Of, Replaces: a.Replaces, Obstacle: a.Obstacle, Message: a.Message,
	}
	if a.Start != nil {
		r.Start = *a.Start
	} else {
		at, source, err := p.Robot(ctx)
		if err != nil {
			return nil, err
		}
		r.Start, r.Robot = at, source
	}
	path, err := p.find(ctx, m, floor(r.Start), &a.Goal)
	if err != nil {
		return nil, err
	}
	r.Path = *path
	if a.Goal.Ring != nil {
		r.Goal.Pose = heading(path.Points[len(path.Points)-1], floor(a.Goal.Pose))
	}
	return r, p.commit(ctx, r)
}

// find finds a path to a goal. A robot that is a little nearer to an obstacle than it should be goes away from that first.
func (p *Planner) find(ctx context.Context, m Map, from grid.Point, g *Goal) (*plan.Path, error) {
	if c, ok := m.Grid().CellOf(from); ok && !m.CanEnter(c) {
		near, away, ok := m.Nearest(from)
		if clearance, _ := m.Clearance(c); ok && clearance > 0 && away <= tooNear {
			path, err := p.findFrom(ctx, m, m.Grid().CentreOf(near), g)
			if err == nil {
				path.Points = append([]grid.Point{from}, path.Points...)
				path.Length += from.Distance(path.Points[1])
			}
			return path, err
		}
	}
	return p.findFrom(ctx, m, from, g)
}

// tooNear is how far a robot may be where it should not be, and goes on all the same, metres.
const tooNear = 0.2

func (p *Planner) findFrom(ctx context.Context, m Map, from grid.Point, g *Goal) (*plan.Path, error) {
	o := plan.Options{Weight: p.config.Weight}
	if g.Ring != nil {
		return plan.Approach(ctx, m.Costmap, from, floor(g.Pose), *g.Ring, o)
	}
	return plan.Find(ctx, m.Costmap, from, floor(g.Pose), o)
}

// Robot returns where the robot is in the map, and what told that last.
func (p *Planner) Robot(ctx context.Context) (mapFromRobot pose.Pose, source engram.ID, err error) {
	a, err := p.in(ctx, p.config.Frame)
	if err != nil {
		return mapFromRobot, source, err
	}
	return a.Pose, p.localization(ctx, a.Source), nil
}

// in returns where a frame is in the map, as it is known last.
func (p *Planner) in(ctx context.Context, frame string) (lookup.Answer, error) {
	answers, err := p.poses.LookUp(ctx, []lookup.Question{{Target: p.costs.frame, Source: frame, When: lookup.LatestCommon}})
	if err != nil {
		return lookup.Answer{}, err
	}
	return answers[0], answers[0].Err
}

// localization returns the newest statement of where a frame is; the root if it is not found.
func (p *Planner) localization(ctx context.Context, frame string) engram.ID {
	r, err := p.memory.Query(ctx, engram.MustPattern("RobotState/Localization").Select(engram.Latest(1)))
	if err != nil {
		return engram.ID{}
	}
	var found engram.Item
	for item := range r.All() {
		if child, ok := p.codec.child(item); ok && lookup.Absolute(item.ID.ProviderSegment(), child) == frame && (found.Snapshot == nil || item.Time > found.Time) {
			found = item
		}
	}
	if found.Snapshot == nil {
		return engram.ID{}
	}
	return found.ID.Instance(0)
}

// commit commits a plan. Those to one goal are snapshots of one entity.
func (p *Planner) commit(ctx context.Context, r *Plan) error {
	name := r.Goal.Name
	if engram.CheckName(name) != nil {
		name = "pose"
	}
	entity, err := engram.NewID("Navigation", "Plan", p.config.Navigator, name)
	if err != nil {
		return err
	}
	r.Time = engram.Now()
	r.ID = entity.At(r.Time).Instance(0)
	u, err := p.codec.planUpdate(entity, r)
	if err != nil {
		return err
	}
	return commit(ctx, p.memory, u)
}

// Read returns a plan that was committed, by whatever planner.
func (p *Planner) Read(ctx context.Context, id engram.ID) (*Plan, error) {
	t, ok := id.Time()
	if !ok || id.CoreSegment() != "Plan" {
		return nil, engram.Errorf(engram.Invalid, id.String(), "it is no snapshot of Navigation/Plan")
	}
	entity := id.Truncate(engram.LevelEntity)
	snapshot, err := p.memory.AtOrBefore(ctx, entity, t)
	if err != nil {
		return nil, err
	}
	if snapshot.Time != t {
		return nil, engram.Errorf(engram.NotFound, id.String(), "there is no such plan")
	}
	return p.codec.readPlan(engram.Item{ID: entity.At(t), Snapshot: snapshot})
}

// Unreachable reports whether an error says that there is no way.
func Unreachable(err error) bool { return errors.Is(err, plan.ErrUnreachable) }
