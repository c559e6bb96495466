package memories

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
)

func newWorldServer(t *testing.T, robot string) (*server.Server, lookup.Service) {
	t.Helper()
	p := newPoses(DefaultPoseRetention())
	s, err := server.New(server.Config{Robot: robot, Memories: []server.Memory{robotState(p), object(p), World()}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, p.service
}

// named runs a test for a robot without a name, one that a fleet calls as its own data do, and
// one that it calls otherwise.
func named(t *testing.T, test func(t *testing.T, robot string)) {
	for _, robot := range []string{"", "rover", "robot1"} {
		t.Run("of "+robot, func(t *testing.T) { test(t, robot) })
	}
}

// state commits items and joints at a time, as a provider.
type state struct {
	*testing.T
	svc   engram.Service
	codec *world.Codec
}

func newState(t *testing.T, svc engram.Service) state {
	t.Helper()
	c, err := world.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	return state{t, svc, c}
}

func (s state) commit(entity string, at engram.Time, p engram.Payload, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	r, err := s.svc.Commit(s.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)},
	}}})
	if err != nil || r[0].Err != nil {
		s.Fatal(err, r)
	}
}

func (s state) item(provider, name string, at engram.Time, it world.Item) {
	s.Helper()
	p, err := s.codec.EncodeItem(&it)
	id, _ := engram.NewID("World", "Item", provider, name)
	s.commit(id.String(), at, p, err)
}

func (s state) joint(name string, at engram.Time, a world.Articulation) {
	s.Helper()
	p, err := s.codec.EncodeJoint(&a)
	s.commit("World/Articulation/plan/"+name, at, p, err)
}

func (s state) other(entity, typ string, at engram.Time, value map[string]any) {
	s.Helper()
	t, _ := Type(typ)
	b, err := t.Encode(value)
	s.commit(entity, at, engram.Payload{Type: typ, Bytes: b}, err)
}

func in(parent, frame string, x, y float64, kinds ...string) world.Item {
	return world.Item{
		Structure:   &world.Structure{Parent: parent},
		Placement:   &world.Placement{Frame: frame, Pose: pose.Translation(x, y, 0), Cov: pose.DiagonalCov(0.01, 0.01)},
		Description: &world.Description{Kinds: kinds},
	}
}

// eventually waits until the poses have followed the world.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testkit.Until(t, func() (string, bool) { return what, ok() })
}

func placedAt(t *testing.T, p lookup.Service, target, source string, when engram.Time) (pose.Pose, pose.Cov, error) {
	a, err := p.LookUp(t.Context(), []lookup.Question{{Target: target, Source: source, Time: when, Cov: true}})
	if err != nil {
		t.Fatal(err)
	}
	return a[0].Pose, a[0].Cov, a[0].Err
}

func near(p pose.Pose, x, y float64) bool { return math.Hypot(p.T.X-x, p.T.Y-y) < 1e-9 }

// A cup lies on the shelf of a cupboard's door, which stands in the odometry's frame of a robot that is
// localised in the map. Where it was ten seconds ago goes through hinge, cupboard and robot, and a
// revision of where the robot was moves it.
func TestWorldIsInThePoses(t *testing.T) { named(t, worldIsInThePoses) }

func worldIsInThePoses(t *testing.T, robot string) {
	s, p := newWorldServer(t, robot)
	st := newState(t, s)
	rev, err := p.CommitRevision(t.Context(), lookup.Transaction{Author: "slam", Keys: []lookup.Key{{Parent: "rover/map", Child: "rover/odom", Time: 0, Pose: pose.Translation(100, 0, 0), Cov: pose.DiagonalCov(0.1, 0.01)}}})
	if err != nil {
		t.Fatal(rev, err)
	}
	for i := range engram.Time(40) {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
	}
	st.item("plan", "cupboard", second, in("", "rover/odom", 2, 0, world.KindObject))
	st.item("plan", "door", second, in("cupboard", "", 0, 1, world.KindObject))
	st.item("eye", "cup", second, in("door", "", 0, 1, world.KindObject))
	hinge := world.Articulation{Base: "cupboard", Moved: "door", Kind: world.Revolute, Pose: pose.Identity(), Sigma: 0.1}
	shut, open := 0.0, -math.Pi/2
	hinge.Value = &shut
	st.joint("hinge", 2*second, hinge)
	hinge.Value = &open
	st.joint("hinge", 20*second, hinge)
	is := func(target, source string, when engram.Time, x, y float64) func() bool {
		return func() bool {
			got, cov, err := placedAt(t, p, target, source, when)
			below := target == "rover/map" && when < 33*second // what hangs on the odometry, which says nothing of its errors
			return err == nil && near(got, x, y) && (!below || cov.Mask == pose.AllDims && cov.Matrix()[0][0] > 0)
		}
	}
	eventually(t, "the open door", is("rover/map", "cup", 30*second, 104, 0))
	for _, want := range []struct {
		target string
		when   engram.Time
		x, y   float64
	}{{"rover/map", 20*second - 1, 102, 2}, {"rover/map", 10 * second, 102, 2}, {"rover/map", 20 * second, 104, 0}, {"rover/base", 30 * second, -26, 0}, {"cupboard", 39 * second, 2, 0}} {
		if !is(want.target, "cup", want.when, want.x, want.y)() {
			got, _, err := placedAt(t, p, want.target, "cup", want.when)
			t.Errorf("the cup from %s at %v: %v, %v", want.target, want.when, got, err)
		}
	}
	// What rests does not hold back the latest time.
	if a, err := p.LookUp(t.Context(), []lookup.Question{{Target: "rover/base", Source: "cup", When: lookup.LatestCommon}}); err != nil || a[0].Err != nil || a[0].Info.SourceTime != 39*second {
		t.Errorf("%+v, %v", a, err)
	}
	// The robot takes the cup, without a jump, and puts it down; what was known late was so all the same.
	st.item("eye", "cup", 33*second, in("rover/base", "rover/base", -29, 0, world.KindObject))
	eventually(t, "the cup in the hand", is("rover/map", "cup", 35*second, 106, 0))
	if !is("rover/map", "cup", 33*second, 104, 0)() || !is("rover/map", "cup", 33*second-1, 104, 0)() {
		t.Error("it jumped")
	}
	st.item("nose", "cup", 25*second, in("cupboard", "", 7, 0, world.KindObject))
	eventually(t, "a late statement", is("rover/map", "cup", 26*second, 109, 0))
	if !is("rover/map", "cup", 35*second, 106, 0)() || !is("rover/map", "cup", 24*second, 104, 0)() {
		t.Error("a late statement changed what it does not tell of")
	}
	// The map turns out to lie elsewhere.
	if _, err = p.CommitRevision(t.Context(), lookup.Transaction{Author: "slam", Keys: []lookup.Key{{Parent: "rover/map", Child: "rover/odom", Time: 0, Pose: pose.Translation(200, 0, 0), Cov: pose.DiagonalCov(0.1, 0.01)}}}); err != nil {
		t.Fatal(err)
	}
	if !is("rover/map", "cup", 10*second, 202, 2)() || !is("rover/map", "cup", 35*second, 206, 0)() {
		t.Error("a revision does not move it")
	}
	// A removal ends the edge, and a restart finds all of it again.
	st.item("eye", "cup", 38*second, world.Item{Removed: &world.Removal{Reason: "broken"}})
	eventually(t, "the removal", func() bool { _, _, err := placedAt(t, p, "rover/map", "cup", 39*second); return err != nil })
	again := newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	defer again.world.model.Close()
	p = again.service
	for _, ok := range []bool{is("rover/map", "cup", 10*second, 202, 2)(), is("rover/map", "cup", 35*second, 206, 0)(), is("rover/map", "cup", 26*second, 209, 0)()} {
		if !ok {
			t.Error("after a restart it is elsewhere")
		}
	}
}

// The frame map of the only robot, and the robot's base, are those of the world.
func TestWorldAndRobotsShareFrames(t *testing.T) { named(t, worldAndRobotsShareFrames) }

func worldAndRobotsShareFrames(t *testing.T, robot string) {
	s, p := newWorldServer(t, robot)
	st := newState(t, s)
	st.item("eye", "cup", second, in("", "map", 3, 0, world.KindObject))
	st.item("rover", "rover", second, in("", "map", 9, 9, world.KindRobot))
	st.item("rover", "rover/camera", second, in("rover", "", 0, 1, world.KindComponent))
	st.item("plan", "rover/mast", second, in("rover", "", 5, 5, world.KindComponent))
	is := func(target, source string, x, y float64) func() bool {
		return func() bool {
			got, _, err := placedAt(t, p, target, source, 5*second)
			return err == nil && near(got, x, y)
		}
	}
	eventually(t, "the robot's own place", is("map", "rover/camera", 9, 10))
	mustPut(t, s, "RobotState/Localization/rover/amcl", second, placed("map", "base", 1, 1))
	mustPut(t, s, "RobotState/Localization/rover/amcl", 5*second+second/2, placed("map", "base", 1, 1))
	mustPut(t, s, "RobotState/Localization/rover/amcl", 4*second+6e8, placed("map", "base", 1, 1))
	mustPut(t, s, "RobotState/Description/rover/urdf", second, map[string]any{"urdf": roverURDF})
	eventually(t, "where the robot is", is("map", "rover/camera", 1, 2))
	eventually(t, "the cup from the robot", is("rover/base", "cup", 2, -1))
	// A part that the robot's description has is where that says.
	eventually(t, "the mast", is("rover", "rover/mast", 0, 0))
	eventually(t, "a note", func() bool {
		left, err := p.LeftOut(t.Context())
		return err == nil && len(left) > 0
	})
	// With a second robot it is not clear any more whose map it is.
	mustPut(t, s, "RobotState/Localization/tug/amcl", second, placed("map", "base", 1, 1))
	eventually(t, "two maps", func() bool {
		_, _, err := placedAt(t, p, "map", "rover/base", 5*second)
		return engram.CodeOf(err) == engram.NotFound
	})
}

// What a robot's camera saw stays where it was when the robot goes on.
func TestWhatWasSeenStays(t *testing.T) { named(t, whatWasSeenStays) }

func whatWasSeenStays(t *testing.T, robot string) {
	s, p := newWorldServer(t, robot)
	st := newState(t, s)
	mustPut(t, s, "RobotState/Description/rover/urdf", 0, map[string]any{"urdf": roverURDF})
	for i := range engram.Time(20) {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
	}
	seen := func(at engram.Time, frame string, x float64, more ...any) map[string]any {
		v := map[string]any{"timestamp": at, "frame_id": frame, "pose": map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}}
		for i := 0; i < len(more); i += 2 {
			v[more[i].(string)] = more[i+1]
		}
		return v
	}
	st.other("Object/Instance/rover/cup", "engram.object.Instance", 5*second, seen(5*second, "mast", 2))
	is := func(when engram.Time, x float64) func() bool {
		return func() bool {
			got, _, err := placedAt(t, p, "rover/odom", "cup", when)
			return err == nil && math.Abs(got.T.X-x) < 1e-9
		}
	}
	eventually(t, "the cup", is(15*second, 7))
	// An image may come before the odometry of its time, however much is said meanwhile.
	st.other("Object/Instance/rover/cup", "engram.object.Instance", 25*second, seen(25*second, "mast", 2))
	for i := range engram.Time(20) {
		st.item("plan", "mug", (6+i)*second, in("", "rover/odom", float64(i), 0))
		eventually(t, "the mug", func() bool {
			got, _, err := placedAt(t, p, "rover/odom", "mug", 30*second)
			return err == nil && got.T.X == float64(i)
		})
	}
	for i := engram.Time(20); i < 40; i++ {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
	}
	eventually(t, "the cup seen later", is(30*second, 27))
	if !is(25*second-1, 7)() {
		t.Error("it was elsewhere before")
	}
	// Held, it moves with the robot.
	st.other("Object/Attachments/rover/grasp", "engram.object.Attachment", 28*second, seen(28*second, "base", 1, "active", true, "object", engram.MustID("Object/Instance/rover/cup")))
	eventually(t, "the cup held", is(35*second, 36))
	// Let go, it stays where it was then; who lets it go need not know where that is.
	st.other("Object/Attachments/rover/grasp", "engram.object.Attachment", 36*second, map[string]any{
		"timestamp": 36 * second, "object": engram.MustID("Object/Instance/rover/cup")})
	eventually(t, "the cup let go", is(39*second, 37))
	if !is(36*second, 37)() || !is(35*second, 36)() {
		t.Error("it jumped")
	}
	w, err := world.Over(t.Context(), s, "test", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f, err := w.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Pose("rover/odom", "cup"); err != nil || math.Abs(got.Pose.T.X-37) > 1e-9 {
		t.Errorf("in the world it is at %v, %v", got, err)
	}
}

// Whatever is stated in whatever order, the poses have at present what the world has, as they followed
// it and as they are rebuilt.
func TestPosesEqualTheWorld(t *testing.T) {
	for seed := range uint64(testkit.Repeats(8, 100)) {
		s, p := newWorldServer(t, "")
		st := newState(t, s)
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "d", "e", "f"}
		now := engram.Time(0)
		for range 60 {
			now += engram.Time(r.IntN(3)) * second / 2
			at := max(1, now-engram.Time(r.IntN(4)/3)*2*second) // some come late
			name, parent := names[r.IntN(6)], names[r.IntN(6)]
			it := in(parent, "", float64(r.IntN(9)), float64(r.IntN(9)), world.KindObject)
			it.Placement.Pose.R = pose.RPY(0, 0, r.Float64())
			switch n := r.IntN(10); {
			case n == 0:
				it = world.Item{Removed: &world.Removal{}}
			case n == 1:
				it = world.Item{}
			case n == 2:
				it.Placement.Frame = names[r.IntN(6)]
			case n == 3:
				it.Structure, it.Placement.Frame = nil, "map"
			case n == 4 && name != parent:
				value := r.Float64()
				st.joint("of "+name, at, world.Articulation{Base: parent, Moved: name, Kind: world.Revolute, Pose: pose.Identity(), Value: &value, Sigma: 0.1})
				continue
			}
			st.item([]string{"p", "q"}[r.IntN(2)], name, at, it)
		}
		w, err := world.Over(t.Context(), s, "test", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		differs := func(p lookup.Service) string {
			for _, target := range append(names, "map") {
				for _, source := range names {
					if !f.Has(source) || target != "map" && !f.Has(target) {
						continue
					}
					want, wantErr := f.Pose(target, source)
					got, cov, err := placedAt(t, p, target, source, now+100*second)
					if target == source {
						continue
					}
					trans, rot := got.Distance(want.Pose)
					if (err == nil) != (wantErr == nil) || err == nil && (trans > 1e-9 || rot > 1e-7 || cov.Mask != want.Cov.Mask || math.Abs(cov.Matrix()[0][0]-want.Cov.Matrix()[0][0]) > 1e-9) {
						return fmt.Sprintf("seed %d: %s in %s: %v %v, not %v %v", seed, source, target, got, err, want.Pose, wantErr)
					}
				}
			}
			return ""
		}
		testkit.Until(t, func() (string, bool) { d := differs(p); return d, d == "" })
		again := newPoses(DefaultPoseRetention())
		if err := again.start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if d := differs(again.service); d != "" {
			t.Error("rebuilt: " + d)
		}
		again.world.model.Close()
	}
}
