package navigation

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Options say how a [Navigator] drives. Platform and Floor are needed; zero values of the others
// are the defaults.
type Options struct {
	Floor    *Floor
	Platform Platform
	Clock    Clock    // default: real time
	Planner  Planner  // default: a GridPlanner
	Record   Recorder // where plans, events, results and cost maps are committed; nil: nowhere
	Provider string   // whose provider segments these are; default "Navigator"
	Robot    string   // the name of the entities; default "robot"

	Speed     float64       // ahead, m/s; default 0.5
	TurnSpeed float64       // rad/s; default 1
	Period    time.Duration // between two looks at where the robot is; default 100 ms
	// Tolerance is how far from a goal the robot may stop, metres and radians; default 0.1.
	Tolerance float64
	// StopGap is what is left between robot and a person ahead when the robot stops, metres; default 0.5. It is
	// slower from SlowGap on; default 1.2.
	StopGap, SlowGap float64
	// Patience is how long it waits for a way to become free; default 20 s.
	Patience time.Duration
}

// Goal is where a robot is to go.
type Goal struct {
	Pose2D
	AnyYaw bool // it does not matter in which direction the robot stands
	// Near is how far from the pose the robot may stop if the pose itself cannot be reached, metres.
	Near float64
	Link engram.ID // of the place or thing that it is; may be zero
	// Request and Execution are what wanted it, to which everything that is committed links; may be zero.
	Request, Execution engram.ID

	follow *follow // nil: it does not move
}

// Result is how going to a goal ended.
type Result struct {
	Success        bool
	EndedBy        EventKind
	Goal, Final    Pose2D
	Length         float64 // of the way that was driven, metres
	Started, Ended engram.Time
	Message        string
	// ID is the snapshot of Navigation/Result, Plan that of the last plan, Events those on the way.
	ID, Plan engram.ID
	Events   []engram.ID
	// Unrecorded is the first error of a commit; the robot drives on without.
	Unrecorded error
}

// Navigator drives a platform to goals, one after the other.
type Navigator struct {
	o      Options
	record *record // nil: nothing is recorded

	driving sync.Mutex

	mu struct {
		sync.Mutex
		costmap engram.ID // the newest that was committed
		version uint64    // of the floor that it is
		plan    Path      // that is followed now
	}
}

// New returns a navigator. The error is Invalid without floor and platform, or that of asking for types.
func New(ctx context.Context, o Options) (*Navigator, error) {
	if o.Floor == nil || o.Platform == nil {
		return nil, engram.Errorf(engram.Invalid, "", "a navigator needs a floor and a platform")
	}
	if o.Clock == nil {
		o.Clock = NewScaledClock(engram.Now(), 1)
	}
	if o.Planner == nil {
		o.Planner = &GridPlanner{}
	}
	o.Provider, o.Robot = cmp.Or(o.Provider, "Navigator"), cmp.Or(o.Robot, "robot")
	o.Speed, o.TurnSpeed = cmp.Or(o.Speed, 0.5), cmp.Or(o.TurnSpeed, 1)
	o.Period, o.Patience = cmp.Or(o.Period, 100*time.Millisecond), cmp.Or(o.Patience, 20*time.Second)
	o.Tolerance = cmp.Or(o.Tolerance, 0.1)
	o.StopGap, o.SlowGap = cmp.Or(o.StopGap, 0.5), cmp.Or(o.SlowGap, 1.2)
	n := &Navigator{o: o}
	if o.Record != nil {
		var err error
		if n.record, err = newRecord(ctx, o.Record, o.Clock, o.Provider, o.Robot); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Plan returns the path that is followed now; nil while the robot goes nowhere.
func (n *Navigator) Plan() Path {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(Path(nil), n.mu.plan...)
}

// endTimeout bounds stopping and writing down how it ended, after the caller gave it up.
const endTimeout = 10 * time.Second

// Go drives to a goal and returns how it ended; the error is nil if the robot is there. Else it is a
// *[Failure], Canceled when ctx ended, Unavailable if the way stayed blocked or the robot is trapped, Conflict while it goes
// elsewhere, or what the platform says. When it returns the platform stands, unless the error says that it
// cannot stop. The result is committed whatever happens.
func (n *Navigator) Go(ctx context.Context, g Goal) (Result, error) {
	if !n.driving.TryLock() {
		return Result{}, engram.Errorf(engram.Conflict, n.o.Robot, "it is on its way to another goal; end that first")
	}
	defer n.driving.Unlock()
	d := &drive{Navigator: n, goal: g, target: g.Pose2D}
	d.result = Result{Goal: g.Pose2D, Started: n.o.Clock.Now()}
	kind, err := d.run(ctx)
	ended := err
	if ctx.Err() != nil && err != nil {
		kind, err = Aborted, engram.Errorf(engram.Canceled, n.o.Robot, "it was told to stop: %w", context.Cause(ctx))
		ended = err
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if stop := n.o.Platform.Stop(end); stop != nil {
		kind, err = InternalError, engram.Errorf(engram.CodeOf(stop), n.o.Robot, "the platform does not stop: %w", stop)
		ended = err
	}
	if p, err := n.o.Platform.Pose(end); err == nil {
		d.saw(p)
	}
	message := ""
	if ended != nil {
		message = ended.Error()
	}
	d.end(end, kind, message)
	n.mu.Lock()
	n.mu.plan = nil
	n.mu.Unlock()
	return d.result, err
}
