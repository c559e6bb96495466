package navigation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill/navigation"
)

// notebook is a memory that keeps everything.
type notebook struct {
	mu      sync.Mutex
	commits []engram.EntityUpdate
}

func (n *notebook) Commit(_ context.Context, c engram.Commit) (results []engram.UpdateResult, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range c.Updates {
		n.commits = append(n.commits, u)
		results = append(results, engram.UpdateResult{ID: u.Entity.At(u.Time), Number: uint64(len(n.commits))})
	}
	return results, nil
}

func (n *notebook) Type(_ context.Context, name string) (engram.TypeDef, error) {
	t, ok := memories.Type(name)
	if !ok {
		return engram.TypeDef{}, engram.NotFound
	}
	return t.Def(), nil
}

// of returns what was written to a core segment.
func (n *notebook) of(t testing.TB, segment string) (all []map[string]any) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, u := range n.commits {
		if u.Entity.CoreSegment() != segment {
			continue
		}
		typ, _ := memories.Type(u.Instances[0].Payload.Type)
		v, err := typ.Decode(u.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		m := v.(map[string]any)
		m["id"] = u.Entity.At(u.Time)
		all = append(all, m)
	}
	return all
}

func (n *notebook) kinds(t testing.TB) (kinds []string) {
	for _, e := range n.of(t, "Event") {
		kinds = append(kinds, fmt.Sprint(e["kind"]))
	}
	return kinds
}

// room is an empty hall of 12 m x 8 m with a wall in the middle that has a door above and one below.
func room() navigation.Grid {
	g := navigation.Grid{Width: 120, Height: 80, Resolution: 0.1, Cells: make([]navigation.State, 120*80)}
	for y := range 80 {
		if y < 15 || y >= 30 && y < 50 || y >= 65 {
			g.Cells[y*120+60] = navigation.Occupied
		}
	}
	return g
}

// driving is a robot in the room.
type driving struct {
	floor *navigation.Floor
	sim   *navigation.Simulated
	notes *notebook
	*navigation.Navigator
	mu     sync.Mutex
	around []navigation.Obstacle
}

func (d *driving) put(o ...navigation.Obstacle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.around = o
}

func drive(t *testing.T, g navigation.Grid, change ...func(*navigation.Options)) *driving {
	t.Helper()
	d := &driving{notes: &notebook{}}
	var err error
	if d.floor, err = navigation.NewFloor("hall", "map", g, navigation.FloorOptions{Inflation: navigation.Inflation{Radius: 0.3}}); err != nil {
		t.Fatal(err)
	}
	clock := navigation.NewScaledClock(engram.Now(), 10)
	d.sim = navigation.NewSimulated(clock, navigation.Pose2D{Point: navigation.Point{X: 2, Y: 2.25}}, 0.3, func(at navigation.Pose2D) []navigation.Obstacle {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.DeleteFunc(slices.Clone(d.around), func(o navigation.Obstacle) bool { return o.At.Distance(at.Point) > 4 })
	})
	o := navigation.Options{Floor: d.floor, Platform: d.sim, Clock: clock, Record: d.notes, Robot: "rover"}
	for _, c := range change {
		c(&o)
	}
	if d.Navigator, err = navigation.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return d
}

func goal(x, y float64) navigation.Goal {
	return navigation.Goal{Pose2D: navigation.Pose2D{Point: navigation.Point{X: x, Y: y}, Yaw: math.Pi / 2}}
}

// A way to a goal is recorded: plan, events and result, with links to each other and to what wanted it.
func TestDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		g := goal(10, 6)
		g.Request, g.Execution = engram.MustID("Skill/Request/operator/7"), engram.MustID("Skill/Execution/rover/7")
		g.Link = engram.MustID("Navigation/Location/operator/far")
		r, err := d.Go(t.Context(), g)
		if err != nil || !r.Success || r.EndedBy != navigation.GoalReached || r.Unrecorded != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if r.Final.Distance(g.Point) > 0.1 || math.Abs(r.Final.Yaw-g.Yaw) > 0.1 {
			t.Errorf("it ended at %v", r.Final)
		}
		plans, results, events := d.notes.of(t, "Plan"), d.notes.of(t, "Result"), d.notes.of(t, "Event")
		if len(plans) != 1 || len(results) != 1 || len(d.notes.commits) != 3+len(events) {
			t.Fatalf("%d plans, %d results, %d events, %d commits", len(plans), len(results), len(events), len(d.notes.commits))
		}
		p, res := plans[0], results[0]
		if length := p["length"].(float64); math.Abs(length-r.Length) > 0.3 || length < 8.8 {
			t.Errorf("planned %g m, driven %g m", length, r.Length)
		}
		if p["costmap"].(engram.ID).CoreSegment() != "Costmap" || p["execution"] != g.Execution || p["goal"] != g.Link || p["request"] != g.Request {
			t.Errorf("the plan is %v", p)
		}
		if res["plan"] != p["id"] || r.Plan != p["id"] || r.ID != res["id"] || res["execution"] != g.Execution || len(res["events"].([]any)) != len(events) {
			t.Errorf("the result is %v", res)
		}
		kinds := d.notes.kinds(t)
		if kinds[0] != "Started" || kinds[1] != "GlobalPlanned" || kinds[len(kinds)-1] != "GoalReached" || !slices.Contains(kinds, "WaypointReached") {
			t.Errorf("the events are %v", kinds)
		}
		for _, e := range events[1:] {
			if e["plan"] != p["id"] || e["execution"] != g.Execution || e["request"] != g.Request {
				t.Errorf("an event is %v", e)
			}
		}
		if d.Plan() != nil {
			t.Error("a plan is followed at the goal")
		}
	})
}

// What comes into the way has another way planned; what closes the last one is waited for.
func TestReplan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		// The lower door is closed by what the robot sees when it comes near.
		d.put(navigation.Obstacle{Name: "box", At: navigation.Point{X: 6.05, Y: 2.25}, Radius: 0.8, Link: engram.MustID("Object/Instance/eye/box")})
		r, err := d.Go(t.Context(), goal(10, 2.25))
		if err != nil || r.Length < 9.5 { // 8 m are straight on
			t.Fatalf("%+v: %v", r, err)
		}
		plans := d.notes.of(t, "Plan")
		if kinds := d.notes.kinds(t); len(plans) != 2 || !slices.Contains(kinds, "Replanned") || plans[1]["replaces"] != plans[0]["id"] || r.Plan != plans[1]["id"] {
			t.Fatalf("%d plans, %v", len(plans), kinds)
		}
		for _, e := range d.notes.of(t, "Event") {
			if fmt.Sprint(e["kind"]) == "Replanned" && (e["blocked_by"] != engram.MustID("Object/Instance/eye/box") || e["plan"] != plans[1]["id"]) {
				t.Errorf("the event is %v", e)
			}
		}
		// Both doors are closed, and then one is opened.
		d.put(navigation.Obstacle{Name: "box", At: navigation.Point{X: 6.05, Y: 2.25}, Radius: 0.8},
			navigation.Obstacle{Name: "box2", At: navigation.Point{X: 6.05, Y: 5.75}, Radius: 0.8})
		time.AfterFunc(4*time.Second, func() { d.put() }) // 40 s of the robot's time
		d = onward(d, navigation.Options{Patience: time.Minute})
		if r, err := d.Go(t.Context(), goal(2, 2.25)); err != nil || !r.Success {
			t.Fatalf("%+v: %v", r, err)
		}
		// They stay closed.
		d.put(navigation.Obstacle{Name: "box", At: navigation.Point{X: 6.05, Y: 2.25}, Radius: 0.8},
			navigation.Obstacle{Name: "box2", At: navigation.Point{X: 6.05, Y: 5.75}, Radius: 0.8})
		r, err = d.Go(t.Context(), goal(10, 2.25))
		if !errors.Is(err, engram.Unavailable) || r.Success || r.EndedBy != navigation.LocalPlanningFailed {
			t.Errorf("%+v: %v", r, err)
		}
	})
}

// onward returns the same robot with other options.
func onward(d *driving, o navigation.Options) *driving {
	o.Floor, o.Platform, o.Clock, o.Record, o.Robot = d.floor, d.sim, navigation.NewScaledClock(engram.Now(), 10), d.notes, "rover"
	n, err := navigation.New(context.Background(), o)
	if err != nil {
		panic(err)
	}
	d.Navigator = n
	return d
}

// The robot is slower near persons and stops before it comes too near; it drives on when they
// have gone.
func TestPersons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Somebody fills the lower door; the upper one is closed.
		g := room()
		for y := 50; y < 65; y++ {
			g.Cells[y*120+60] = navigation.Occupied
		}
		d := drive(t, g)
		least := math.Inf(1)
		person := navigation.Obstacle{Name: "anna", At: navigation.Point{X: 4, Y: 2.25}, Radius: 0.3, Person: true}
		time.AfterFunc(100*time.Millisecond, func() { d.put(person) })
		go func() {
			for range 1000 {
				time.Sleep(10 * time.Millisecond)
				p, _ := d.sim.Pose(context.Background())
				d.mu.Lock()
				for _, o := range d.around {
					least = min(least, o.At.Distance(p.Point)-o.Radius-0.3)
				}
				d.mu.Unlock()
			}
		}()
		time.AfterFunc(3*time.Second, func() { person.At.X = 5.9; d.put(person) })
		time.AfterFunc(4*time.Second, func() { d.put() })
		r, err := d.Go(t.Context(), goal(10, 2.25))
		if err != nil || !r.Success {
			t.Fatalf("%+v: %v, %v", r, err, d.notes.kinds(t))
		}
		time.Sleep(10 * time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		if least < 0.3 || least > 1.5 {
			t.Errorf("it came to %.2f m", least)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room(), func(o *navigation.Options) { o.Patience = time.Hour })
		// Somebody steps in front of the robot.
		step := navigation.Obstacle{Name: "bert", Radius: 0.3, Person: true}
		time.AfterFunc(400*time.Millisecond, func() {
			p, _ := d.sim.Pose(context.Background())
			step.At = navigation.Point{X: p.X + 1, Y: p.Y}
			d.put(step)
		})
		time.AfterFunc(500*time.Millisecond, func() {
			before, _ := d.sim.Pose(context.Background())
			time.AfterFunc(50*time.Millisecond, func() {
				if p, _ := d.sim.Pose(context.Background()); p.Point != before.Point {
					t.Errorf("it drives from %v to %v before a person", before, p)
				}
				time.AfterFunc(time.Second, func() { d.put() })
			})
		})
		r, err := d.Go(t.Context(), goal(10, 2.25))
		if kinds := d.notes.kinds(t); err != nil || !slices.Contains(kinds, "SafetyStop") {
			t.Fatalf("%+v: %v, %v", r, err, kinds)
		}
	})
}

// blind is a platform whose sensors see nothing.
type blind struct{ *navigation.Simulated }

func (blind) Sense(context.Context) ([]navigation.Obstacle, error) { return nil, nil }

// What a robot does not see and pushes against it drives around; that it was stuck elsewhere before does not count.
func TestPushedAgainst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sim *navigation.Simulated
		d := drive(t, room(), func(o *navigation.Options) {
			sim = navigation.NewSimulated(o.Clock, navigation.Pose2D{Point: navigation.Point{X: 2, Y: 2.25}}, 0.2, func(navigation.Pose2D) (out []navigation.Obstacle) {
				for _, x := range []float64{3, 4.5, 7.5, 9} {
					out = append(out, navigation.Obstacle{At: navigation.Point{X: x, Y: 2.25}, Radius: 0.1})
				}
				return out
			})
			o.Platform = blind{sim}
		})
		r, err := d.Go(t.Context(), goal(10, 2.25))
		kinds := d.notes.kinds(t)
		if err != nil || r.EndedBy != navigation.GoalReached || !slices.Contains(kinds, "Trapped") {
			t.Errorf("%+v: %v, %v", r, err, kinds)
		}
	})
}

// A robot whose wheels turn in vain notices it, and so does one that is walled in.
func TestTrapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		time.AfterFunc(300*time.Millisecond, func() { d.sim.Hold(true) })
		time.AfterFunc(900*time.Millisecond, func() { d.sim.Hold(false) })
		r, err := d.Go(t.Context(), goal(10, 2.25))
		if kinds := d.notes.kinds(t); err != nil || !slices.Contains(kinds, "Trapped") {
			t.Errorf("%+v: %v, %v", r, err, kinds)
		}
		d.sim.Hold(true)
		r, err = d.Go(t.Context(), goal(2, 2.25))
		if !errors.Is(err, engram.Unavailable) || r.EndedBy != navigation.Trapped {
			t.Errorf("%+v: %v", r, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		time.AfterFunc(300*time.Millisecond, func() {
			p, _ := d.sim.Pose(context.Background())
			var ring []navigation.Obstacle
			for i := range 16 {
				s, c := math.Sincos(float64(i) * math.Pi / 8)
				ring = append(ring, navigation.Obstacle{Name: fmt.Sprint("pillar", i), At: navigation.Point{X: p.X + c, Y: p.Y + s}, Radius: 0.15})
			}
			d.put(ring...)
		})
		r, err := d.Go(t.Context(), goal(10, 2.25))
		if kinds := d.notes.kinds(t); !errors.Is(err, engram.Unavailable) || r.EndedBy != navigation.Trapped || !slices.Contains(kinds, "Trapped") {
			t.Errorf("%+v: %v, %v", r, err, kinds)
		}
		// It is told at once of a robot that is so from the beginning.
		r, err = d.Go(t.Context(), goal(10, 2.25))
		if kinds := d.notes.kinds(t); !errors.Is(err, engram.NotFound) || r.EndedBy != navigation.GlobalPlanningFailed || kinds[len(kinds)-2] != "Trapped" {
			t.Errorf("%+v: %v, %v", r, err, kinds)
		}
	})
}

// Who gives a goal up has the robot stand, and written down that it does.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		for _, after := range []time.Duration{0, time.Nanosecond, 100 * time.Millisecond, 555 * time.Millisecond, time.Second} {
			ctx, cancel := context.WithCancel(t.Context())
			if after == 0 {
				cancel()
			} else {
				time.AfterFunc(after, cancel)
			}
			r, err := d.Go(ctx, goal(10, 2.25))
			if !errors.Is(err, engram.Canceled) || r.EndedBy != navigation.Aborted || r.ID.IsRoot() || r.Unrecorded != nil {
				t.Errorf("after %v: %+v: %v", after, r, err)
			}
			before, _ := d.sim.Pose(t.Context())
			time.Sleep(time.Second)
			if p, _ := d.sim.Pose(t.Context()); p != before || p != r.Final {
				t.Errorf("after %v it drives on from %v to %v", after, before, p)
			}
			cancel()
		}
		// One goal at a time.
		var first error
		var wait sync.WaitGroup
		wait.Go(func() { _, first = d.Go(t.Context(), goal(10, 6)) })
		time.Sleep(100 * time.Millisecond)
		if _, err := d.Go(t.Context(), goal(2, 2)); !errors.Is(err, engram.Conflict) {
			t.Errorf("a second goal: %v", err)
		}
		wait.Wait()
		if first != nil {
			t.Error(first)
		}
	})
}

func TestNoWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room())
		for _, c := range []struct {
			goal   navigation.Goal
			reason navigation.Reason
		}{{goal(6.05, 0.5), navigation.GoalBlocked}, {goal(13, 0.5), navigation.GoalOutside}} {
			r, err := d.Go(t.Context(), c.goal)
			failure, ok := errors.AsType[*navigation.Failure](err)
			if !ok || failure.Reason != c.reason || r.EndedBy != navigation.GlobalPlanningFailed || r.Success || r.ID.IsRoot() {
				t.Errorf("%+v: %v", r, err)
			}
		}
		// What is near will do, if it is allowed to.
		g := goal(6.05, 0.5)
		g.Near = 1
		if r, err := d.Go(t.Context(), g); err != nil || r.Final.Distance(g.Point) > 1.1 {
			t.Errorf("%+v: %v", r, err)
		}
		if _, err := navigation.New(t.Context(), navigation.Options{}); !errors.Is(err, engram.Invalid) {
			t.Errorf("a navigator of nothing: %v", err)
		}
	})
}

// straightOn is a planner of one's own.
type straightOn struct{ err error }

func (s straightOn) Name() string { return "straight on" }

func (s straightOn) Plan(_ context.Context, _ *navigation.Costmap, start, goal navigation.Point) (navigation.Path, error) {
	return navigation.Path{start, goal}, s.err
}

func TestOwnPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, room(), func(o *navigation.Options) { o.Planner = straightOn{} })
		if _, err := d.Go(t.Context(), goal(5, 2.25)); err != nil {
			t.Fatal(err)
		}
		if p := d.notes.of(t, "Plan"); len(p) != 1 || p[0]["planner"] != "straight on" {
			t.Errorf("the plans are %v", p)
		}
		d = drive(t, room(), func(o *navigation.Options) { o.Planner = straightOn{errors.New("no idea")} })
		if r, err := d.Go(t.Context(), goal(5, 2.25)); err == nil || r.EndedBy != navigation.GlobalPlanningFailed {
			t.Errorf("%+v: %v", r, err)
		}
	})
}
