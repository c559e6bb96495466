package navigation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/navigation"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rooms are two rooms of 5 m x 5 m with a wall between them, which has a door at the top: 10 m x 5 m in cells of 0.1 m.
func rooms() (yaml, pgm []byte) {
	const w, h = 100, 50
	b := bytes.Repeat([]byte{254}, w*h)
	for y := range h {
		for x := range w {
			border := x == 0 || y == 0 || x == w-1 || y == h-1
			wall := x == 50 && y >= 12 // rows from the top
			if border || wall {
				b[y*w+x] = 0
			}
		}
	}
	return []byte("image: rooms.pgm\nresolution: 0.1\norigin: [0, 0, 0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"),
		append([]byte(fmt.Sprintf("P5 %d %d 255\n", w, h)), b...)
}

// standing is where the robot is in the map.
type standing struct {
	lookup.Service
	mu sync.Mutex
	at pose.Pose
}

func (s *standing) is() pose.Pose {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *standing) set(p pose.Pose) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = p
}

// LookUp implements [lookup.Service] for the robot's root link in the map.
func (s *standing) LookUp(_ context.Context, all []lookup.Question) ([]lookup.Answer, error) {
	answers := make([]lookup.Answer, len(all))
	for i, q := range all {
		if answers[i] = (lookup.Answer{Target: q.Target, Source: "Tim/" + q.Source, Pose: s.is()}); q.Source != "base_link" {
			answers[i].Err = engram.Errorf(engram.NotFound, q.Source, "there is no such frame")
		}
	}
	return answers, nil
}

// robot is a memory with a map and things, and a planner.
type robot struct {
	testing.TB
	*server.Server
	world   *world.Memory
	costs   *navigation.Costs
	planner *navigation.Planner
	poses   *standing
}

// newRobot returns a robot at (1, 1) of a map.
func newRobot(t testing.TB, yaml, image []byte, c navigation.Config) *robot {
	t.Helper()
	s, err := server.New(server.Config{Memories: memories.All(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w, err := world.Over(t.Context(), s, "plan", world.Rules{}, world.FromSource(world.PriorKnowledge))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r := &robot{TB: t, Server: s, world: w, poses: &standing{at: pose.Translation(1, 1, 0)}}
	file, err := files.ReadGrid(yaml, "rooms.yaml", func(string) ([]byte, error) { return image, nil })
	if err != nil {
		t.Fatal(err)
	}
	mark, err := w.SetMap(t.Context(), "rooms", file.Map([]string{"flat"}, "map"), file.Data)
	if err != nil {
		t.Fatal(err)
	}
	r.reach(mark)
	r.item("flat", "map", pose.Translation(5, 2.5, 0), pose.Vec3{X: 10, Y: 5, Z: 3}, world.KindMap)
	r.item("table", "map", pose.Translation(3, 3, 0), pose.Vec3{X: 1, Y: 0.6, Z: 0.8})
	if r.costs, err = navigation.OpenCosts(t.Context(), s, w, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.costs.Close)
	if r.planner, err = navigation.NewPlanner(t.Context(), s, r.poses, w, r.costs); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *robot) reach(m world.Mark) {
	r.Helper()
	if _, err := r.world.View(r.Context(), m); err != nil {
		r.Fatal(err)
	}
}

// item states an item whose box stands on the floor.
func (r *robot) item(name, frame string, at pose.Pose, size pose.Vec3, kinds ...string) {
	r.Helper()
	refused, mark, err := r.world.Update(r.Context(), world.NamedItem{Name: name, Item: world.Item{
		Placement:   &world.Placement{Frame: frame, Pose: at, Cov: pose.ExactCov()},
		Description: &world.Description{Kinds: append(kinds, world.KindObject)[:max(1, len(kinds))], Box: &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: size}},
	}})
	if err != nil || len(refused) > 0 {
		r.Fatal(refused, err)
	}
	r.reach(mark)
}

// place states a place.
func (r *robot) place(name string, x, y, yaw float64, spoken ...any) {
	r.Helper()
	typ, _ := memories.Type("engram.navigation.Location")
	q := pose.RPY(0, 0, yaw)
	b, err := typ.Encode(map[string]any{"names": spoken, "frame_id": "map", "pose": map[string]any{
		"position": map[string]any{"x": x, "y": y}, "orientation": map[string]any{"w": q.W, "z": q.Z}}})
	if err != nil {
		r.Fatal(err)
	}
	testkit.Commit(r, r.Server, engram.EntityUpdate{Entity: engram.MustID("Navigation/Location/Plan/" + name), Time: engram.Now(),
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
}

func (r *robot) plan(name string) (*navigation.Plan, error) {
	g, err := r.planner.Goal(r.Context(), name)
	if err != nil {
		return nil, err
	}
	return r.planner.Plan(r.Context(), navigation.Ask{Goal: *g})
}

var round = navigation.Config{Costs: grid.Config{Footprint: grid.Footprint{Radius: 0.25}}}

func inRooms(t testing.TB) *robot {
	yaml, pgm := rooms()
	return newRobot(t, yaml, pgm, round)
}

// Goals are places, things, rooms and poses. A plan to each is committed with links to all that it was made of.
func TestGoals(t *testing.T) {
	r := inRooms(t)
	r.place("desk", 9, 1, 1.5, "the desk", "Schreibtisch")
	r.place("d1", 9, 2, 0, "door")
	r.place("d2", 9, 3, 0, "door")
	r.item("cup", "table", pose.Translation(0.3, 0, 0.8), pose.Vec3{X: 0.08, Y: 0.08, Z: 0.1})
	r.item("lamp", "map", pose.Translation(1, 1, 2.4), pose.Vec3{X: 1, Y: 1, Z: 0.2})
	r.item("carpet", "map", pose.Translation(1, 1, 0), pose.Vec3{X: 2, Y: 2, Z: 0.01})
	for name, is := range map[string]func(*navigation.Plan) error{
		"desk": func(p *navigation.Plan) error {
			if p.Goal.Of.Entity() != "desk" || p.Goal.Pose.T.X != 9 || p.Path.Length < 9 { // by the door at the top
				return errors.New("it does not lead to the desk by the door")
			}
			return nil
		},
		"schreibtisch": func(p *navigation.Plan) error {
			if p.Goal.Of.Entity() != "desk" {
				return errors.New("it is another place")
			}
			return nil
		},
		"cup": func(p *navigation.Plan) error {
			end := p.Path.Points[len(p.Path.Points)-1]
			if d := end.Distance(grid.Point{X: 3.3, Y: 3}); d > 0.8 || p.Goal.Of.CoreSegment() != "Item" {
				return fmt.Errorf("it ends %g m from the cup", d)
			}
			ahead := p.Goal.Pose.Apply(pose.Vec3{X: grid.Point{X: 3.3, Y: 3}.Distance(end)})
			if d := ahead.Sub(pose.Vec3{X: 3.3, Y: 3}).Norm(); d > 1e-6 {
				return fmt.Errorf("the robot does not look at the cup, but %g m beside it", d)
			}
			return nil
		},
		"flat": func(p *navigation.Plan) error {
			if p.Path.Length > 1.8 {
				return errors.New("it goes farther into the flat than needed")
			}
			return nil
		},
	} {
		p, err := r.plan(name)
		if err == nil {
			err = is(p)
		}
		if err != nil {
			t.Errorf("%s: %v in %+v", name, err, p)
			continue
		}
		if p.Costmap.IsRoot() || p.Map.CoreSegment() != "Map" || p.Frame != "map" {
			t.Errorf("%s: it links to %v and %v", name, p.Costmap, p.Map)
		}
		snap, err := r.AtOrBefore(t.Context(), p.ID.Truncate(engram.LevelEntity), p.Time)
		if err != nil || snap.Time != p.Time {
			t.Errorf("%s: the plan is not in the memory: %v", name, err)
		}
	}
	for name, want := range map[string]struct {
		code engram.Code
		text string
	}{
		"door": {engram.Invalid, "several places are called so"},
		"dask": {engram.NotFound, "did you mean desk?"},
		"lamp": {0, ""},
	} {
		if _, err := r.plan(name); want.code != 0 && (engram.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text)) || want.code == 0 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	g, err := r.planner.GoalOf(t.Context(), map[string]any{"frame_id": "base_link", "pose": map[string]any{"position": map[string]any{"x": 1.0}, "orientation": map[string]any{"w": 1.0}}})
	if err != nil || g.Pose.T.X != 2 || g.Pose.T.Y != 1 {
		t.Errorf("one metre ahead is %+v: %v", g, err)
	}
	for _, bad := range []any{nil, 3, map[string]any{"frame_id": "map"}, map[string]any{"frame_id": "nowhere", "pose": map[string]any{"orientation": map[string]any{"w": 1.0}}}} {
		if g, err := r.planner.GoalOf(t.Context(), bad); engram.CodeOf(err) != engram.Invalid && engram.CodeOf(err) != engram.NotFound {
			t.Errorf("%v is %+v: %v", bad, g, err)
		}
	}
}

// run keeps the cost map until the test ends.
func (r *robot) run() {
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.costs.Run(ctx) }()
	r.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
}

// until waits until a cost map is so.
func (r *robot) until(what string, is func(navigation.Map) bool) navigation.Map {
	r.Helper()
	deadline := time.After(testkit.Patience)
	for {
		m, next := r.costs.Now()
		if is(m) {
			return m
		}
		select {
		case <-next:
		case <-deadline:
			r.Fatalf("the cost map is not so: %s", what)
		}
	}
}

// The cost map follows what moves, what stands on that, and what is taken away, and each is committed.
func TestCostsFollowTheWorld(t *testing.T) {
	r := inRooms(t)
	r.item("box", "table", pose.Translation(1, 0, 0), pose.Vec3{X: 0.2, Y: 0.2, Z: 0.5})
	r.run()
	free := func(m navigation.Map, x, y float64) bool {
		c, _ := m.Grid().CellOf(grid.Point{X: x, Y: y})
		return m.CanEnter(c)
	}
	first := r.until("the box is there", func(m navigation.Map) bool { return !free(m, 4, 3) && !free(m, 3, 3) })
	r.item("table", "map", pose.Translation(7, 2, 0), pose.Vec3{X: 1, Y: 0.6, Z: 0.8})
	moved := r.until("table and box have moved", func(m navigation.Map) bool { return free(m, 3, 3) && free(m, 4, 3) && !free(m, 7, 2) && !free(m, 8, 2) })
	if free(first, 3, 3) {
		t.Error("a cost map has changed after it was returned")
	}
	if _, err := r.world.Remove(t.Context(), "box", "it was thrown away", world.RefuseChildren); err != nil {
		t.Fatal(err)
	}
	gone := r.until("the box is gone", func(m navigation.Map) bool { return free(m, 8, 2) && !free(m, 7, 2) })
	if moved.ID == gone.ID {
		t.Error("both are one snapshot")
	}
	typ, _ := memories.Type("foxglove.Grid")
	for name, m := range map[string]navigation.Map{"moved": moved, "gone": gone} {
		snap, err := r.AtOrBefore(t.Context(), m.ID.Truncate(engram.LevelEntity), must(m.ID.Time()))
		if err != nil {
			t.Fatal(err)
		}
		v, err := typ.Decode(snap.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		of := v.(map[string]any)
		data, _ := of["data"].([]byte)
		if of["frame_id"] != "map" || len(data) != 100*50 || (data[20*100+80] == 0) != (name == "gone") || data[20*100+70] != grid.Lethal {
			t.Errorf("%s: what was committed is another cost map", name)
		}
	}
}

func must(t engram.Time, ok bool) engram.Time {
	if !ok {
		panic("it has no time")
	}
	return t
}

// What the robot holds is not in its way.
func TestOwnPartsAreNoObstacles(t *testing.T) {
	yaml, pgm := rooms()
	c := round
	c.Robot = "Tim"
	r := newRobot(t, yaml, pgm, c)
	r.item("tray", "map", pose.Translation(1, 1, 0.5), pose.Vec3{X: 0.5, Y: 0.5, Z: 0.1})
	r.run()
	r.until("the tray is in the way", func(m navigation.Map) bool { return !m.CanEnter(grid.Cell{X: 10, Y: 10}) })
	_, mark, err := r.world.Update(t.Context(), world.NamedItem{Name: "Tim", Item: world.Item{
		Placement: &world.Placement{Frame: "map", Pose: pose.Translation(1, 1, 0), Cov: pose.ExactCov()}, Description: &world.Description{Kinds: []string{"machine"}}}})
	if err != nil {
		t.Fatal(err)
	}
	r.reach(mark)
	if _, err := r.world.Attach(t.Context(), "tray", "Tim", nil); err != nil {
		t.Fatal(err)
	}
	r.until("the robot holds it", func(m navigation.Map) bool { return m.CanEnter(grid.Cell{X: 10, Y: 10}) })
}

// A way that is not there, and places where the robot cannot be, are told apart.
func TestNoWay(t *testing.T) {
	r := inRooms(t)
	r.place("wall", 5.05, 1, 0)
	r.place("out", 50, 1, 0)
	r.place("desk", 9, 1, 0)
	for name, code := range map[string]engram.Code{"wall": engram.Invalid, "out": engram.OutOfRange} {
		if _, err := r.plan(name); engram.CodeOf(err) != code || navigation.Unreachable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.item("door", "map", pose.Translation(5, 4.4, 0), pose.Vec3{X: 0.1, Y: 1.4, Z: 2})
	r.run()
	r.until("the door is shut", func(m navigation.Map) bool { return !m.CanEnter(grid.Cell{X: 50, Y: 44}) })
	if _, err := r.plan("desk"); !navigation.Unreachable(err) || !errors.Is(err, plan.ErrUnreachable) {
		t.Errorf("through a shut door: %v", err)
	}
}

// BenchmarkObjectMoves is from when an object is stated to have moved until the new cost map of depot is committed.
func BenchmarkObjectMoves(b *testing.B) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "maps")
	yaml, err := os.ReadFile(filepath.Join(dir, "depot.yaml"))
	if err != nil {
		b.Skip(err)
	}
	image, err := os.ReadFile(filepath.Join(dir, "depot.pgm"))
	if err != nil {
		b.Fatal(err)
	}
	c := round
	c.Costs.Inflation, c.Costs.Decay = 0.55, 3
	r := newRobot(b, yaml, image, c)
	r.run()
	at := 0.0
	for b.Loop() {
		_, next := r.costs.Now()
		at = 1 - at
		r.item("crate", "map", pose.Translation(5+at, 0, 0), pose.Vec3{X: 0.6, Y: 0.4, Z: 0.5})
		<-next
	}
}
