package memories

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	posesfeature "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const roverURDF = `<robot name="anything">
  <link name="base"/><link name="mast"/><link name="head"/>
  <joint name="mount" type="fixed"><parent link="base"/><child link="mast"/><origin xyz="0 0 1"/></joint>
  <joint name="pan" type="continuous"><parent link="mast"/><child link="head"/><axis xyz="0 0 1"/></joint>
</robot>`

const second = engram.Time(1e9)

// posesOf returns the poses that a server offers, as a program within its process has them.
func posesOf(s *server.Server) lookup.Service { return posesfeature.NewClient(feature.Within(s)) }

func newPoseServer(t *testing.T) (*server.Server, lookup.Service) {
	t.Helper()
	p := newPoses(DefaultPoseRetention())
	s, err := server.New(server.Config{Memories: []server.Memory{robotState(p)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, p.service
}

// put commits one value; the error is the update's.
func put(t *testing.T, s engram.Writer, entity string, at engram.Time, value map[string]any) error {
	t.Helper()
	id := engram.MustID(entity)
	typ, ok := Type("engram.robot_state." + id.CoreSegment())
	if !ok {
		t.Fatalf("no type for %s", id)
	}
	b, err := typ.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return r[0].Err
}

func mustPut(t *testing.T, s engram.Writer, entity string, at engram.Time, value map[string]any) {
	t.Helper()
	if err := put(t, s, entity, at, value); err != nil {
		t.Fatalf("%s: %v", entity, err)
	}
}

func placed(parent, child string, x, y float64, more ...any) map[string]any {
	m := map[string]any{"parent_frame_id": parent, "child_frame_id": child,
		"translation": map[string]any{"x": x, "y": y}, "rotation": map[string]any{"w": 1.0}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

func ask(t *testing.T, s lookup.Service, target, source string, at engram.Time) lookup.Answer {
	t.Helper()
	a, err := s.LookUp(t.Context(), []lookup.Question{{Target: target, Source: source, Time: at}})
	if err != nil {
		t.Fatal(err)
	}
	return a[0]
}

// at checks where the source is, in the plane.
func at(t *testing.T, s lookup.Service, target, source string, when engram.Time, x, y, yaw float64) {
	t.Helper()
	a := ask(t, s, target, source, when)
	if a.Err != nil {
		t.Errorf("%s in %s at %v: %v", source, target, when, a.Err)
		return
	}
	_, _, gotYaw := a.Pose.R.EulerZYX()
	if math.Abs(a.Pose.T.X-x) > 1e-9 || math.Abs(a.Pose.T.Y-y) > 1e-9 || math.Abs(gotYaw-yaw) > 1e-9 {
		t.Errorf("%s in %s at %v: %v, want x %g, y %g, yaw %g", source, target, when, a.Pose, x, y, yaw)
	}
}

// drive commits a description, joint states and localizations of one robot.
func drive(t *testing.T, s engram.Writer) {
	t.Helper()
	mustPut(t, s, "RobotState/Description/rover1/rover1", second, map[string]any{"urdf": roverURDF})
	for i := engram.Time(1); i <= 3; i++ {
		mustPut(t, s, "RobotState/Proprioception/rover1/joints", i*second, map[string]any{
			"name": []string{"pan"}, "position": []float64{float64(i) / 10}})
		mustPut(t, s, "RobotState/Localization/rover1/odom", i*second, placed("/odom", "base", float64(i), 0))
	}
	mustPut(t, s, "RobotState/Localization/rover1/cup", second, placed("base", "tray", 0.5, 0, "is_static", true))
}

func TestPosesFollowTheMemory(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	at(t, p, "rover1/odom", "rover1/head", 2*second+second/2, 2.5, 0, 0.25)
	at(t, p, "odom", "rover1/tray", 3*second, 3.5, 0, 0)
	// The robot's name may be left out where it is clear.
	if a := ask(t, p, "odom", "head", second); a.Err != nil || a.Target != "rover1/odom" || a.Source != "rover1/head" {
		t.Errorf("%+v", a)
	}
	if a := ask(t, p, "odom", "nose", second); engram.CodeOf(a.Err) != engram.NotFound {
		t.Errorf("a frame that does not exist: %v", a.Err)
	}
	if a := ask(t, p, "odom", "head", 9*second); engram.CodeOf(a.Err) != engram.TooNew {
		t.Errorf("the future: %v", a.Err)
	}
}

// The same joints and edges from other sources do not mix with the first.
func TestPosesOneSourcePerEdge(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	mustPut(t, s, "RobotState/Proprioception/rover1/commands", 2*second, map[string]any{"name": []string{"pan"}, "position": []float64{2}})
	mustPut(t, s, "RobotState/Localization/rover1/wheel odometry", 2*second, placed("odom", "base", 50, 0))
	mustPut(t, s, "RobotState/Localization/rover1/tf", 2*second, placed("mast", "head", 9, 9))
	if err := put(t, s, "RobotState/Localization/rover1/tf", 3*second, placed("odom", "head", 9, 9)); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("a second parent: %v", err)
	}
	at(t, p, "rover1/odom", "rover1/head", 2*second, 2, 0, 0.2)
	at(t, p, "rover1/odom", "rover1/head", 3*second, 3, 0, 0.3)
	// Another robot has frames of its own.
	mustPut(t, s, "RobotState/Localization/rover2/odom", 2*second, placed("odom", "base", 7, 0))
	at(t, p, "rover2/odom", "rover2/base", 2*second, 7, 0, 0)
	if a := ask(t, p, "odom", "base", 2*second); engram.CodeOf(a.Err) != engram.NotFound {
		t.Errorf("a name that two robots have: %v", a.Err)
	}
	// What the memory keeps and the poses do not is told.
	wantLeftOut(t, p, map[string]uint64{
		"RobotState/Proprioception/rover1/commands": 1, "RobotState/Localization/rover1/wheel odometry": 1, "RobotState/Localization/rover1/tf": 1,
	})
}

func TestPosesLateDescription(t *testing.T) {
	s, p := newPoseServer(t)
	mustPut(t, s, "RobotState/Proprioception/rover1/joints", second, map[string]any{"name": []string{"pan"}, "position": []float64{0.5}})
	mustPut(t, s, "RobotState/Localization/rover1/m", second, placed("base", "mast", 4, 0))
	mustPut(t, s, "RobotState/Description/"+PriorKnowledgeProvider+"/rover1", second, map[string]any{"urdf": roverURDF})
	at(t, p, "rover1/mast", "rover1/head", second, 0, 0, 0.5)
	// Transforms came before the description; they stay.
	at(t, p, "rover1/base", "rover1/head", second, 4, 0, 0.5)
}

func TestPosesReparenting(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	mustPut(t, s, "RobotState/Localization/rover1/mug", second, placed("tray", "mug", 1, 0))
	mustPut(t, s, "RobotState/Localization/rover1/mug", 2*second, placed("head", "mug", 0, 1))
	mustPut(t, s, "RobotState/Localization/rover1/mug", 2*second+1e6, placed("head", "mug", 0, 1))
	mustPut(t, s, "RobotState/Localization/rover1/mug", second+1e8, placed("tray", "mug", 2, 0)) // late
	at(t, p, "rover1/tray", "rover1/mug", second, 1, 0, 0)
	at(t, p, "rover1/tray", "rover1/mug", second+1e8, 2, 0, 0)
	at(t, p, "rover1/head", "rover1/mug", 2*second+1e5, 0, 1, 0)
}

func TestPosesCalibration(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	before, _ := p.Revisions(t.Context())
	// The description's own value again is no calibration.
	same := placed("base", "mast", 0, 0, "is_static", true)
	same["translation"] = map[string]any{"z": 1.0}
	mustPut(t, s, "RobotState/Localization/rover1/a", second, same)
	after, _ := p.Revisions(t.Context())
	if len(before.List) != len(after.List) {
		t.Errorf("a static transform that says nothing new was a revision: %v", after.List)
	}
	mustPut(t, s, "RobotState/Localization/rover1/a", second, placed("base", "mast", 0.01, 0, "is_static", true))
	at(t, p, "rover1/base", "rover1/mast", 7*second, 0.01, 0, 0)
	changes, err := p.Diff(t.Context(), "rover1/odom", "rover1/head", before.List[len(before.List)-1].Revision,
		after.List[len(after.List)-1].Revision+1, pose.Threshold{Trans: 1e-3, Rot: 1})
	if err != nil || len(changes) != 1 || math.Abs(changes[0].Trans-math.Hypot(0.01, 1)) > 1e-9 {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestPosesRefusals(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	edges, _ := p.Tree(t.Context(), nil)
	err := put(t, s, "RobotState/Description/rover2/rover2", second, map[string]any{"urdf": `<robot name="r"><link name="a"/><link name="a"/></robot>`})
	if engram.CodeOf(err) != engram.Invalid && engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("a description with two links of one name: %v", err)
	}
	bad := placed("odom", "base", 1, 1)
	bad["rotation"] = map[string]any{"w": math.NaN()}
	if err := put(t, s, "RobotState/Localization/rover1/odom", 4*second, bad); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a rotation that is none: %v", err)
	}
	key := placed("map", "odom", 1, 0, "timestamp", second, "rotation", map[string]any{"w": 2.0})
	if err := put(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{key}}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a key that is no pose: %v", err)
	}
	if err := put(t, s, "RobotState/Revision/rover1/slam", second, nil); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("an empty revision: %v", err)
	}
	key = placed("map", "mast", 1, 0, "timestamp", second)
	if err := put(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{key}}); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("an anchor above a frame that has a parent: %v", err)
	}
	after, _ := p.Tree(t.Context(), nil)
	if len(after) != len(edges) {
		t.Errorf("what was refused changed the tree: %v", after)
	}
	if _, err := s.Latest(t.Context(), engram.MustID("RobotState/Revision/rover1/slam")); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a refused revision is in the memory: %v", err)
	}
}

// A revision committed to the segment is applied, one made through the service is
// committed, and a store built anew from the memory answers the same.
func TestPosesRevisions(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	mustPut(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{placed("map", "odom", 10, 0, "timestamp", second)}})
	at(t, p, "rover1/map", "rover1/base", 2*second, 12, 0, 0)
	snap, err := s.Latest(t.Context(), engram.MustID("RobotState/Revision/rover1/slam"))
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := Type(revisionType)
	v, err := typ.Decode(snap.Instances[0].Payload.Bytes)
	revisions, _ := p.Revisions(t.Context())
	first := revisions.List[len(revisions.List)-1]
	if err != nil || v.(map[string]any)["number"] != uint64(first.Revision) || first.Author != "slam" {
		t.Errorf("the memory has %v, the store %+v, %v", v, first, err)
	}

	watch, err := p.Watch(t.Context(), pose.Changes{Target: "map", Source: "rover1/head", OnlyAcquired: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	a, err := p.Acquire(t.Context(), lookup.Acquire{Sensor: "rover1/head", Time: 2 * second, Wait: true})
	if err != nil || a.Base != "rover1/base" {
		t.Fatal(a, err)
	}
	tx := lookup.Transaction{
		Author: "loop closure",
		Keys: []lookup.Key{
			{Parent: "rover1/map", Child: "rover1/base", Body: true, Time: 2 * second, Pose: pose.Translation(20, 5, 0), Cov: pose.DiagonalCov(0.1, 0.01)},
		},
		Replaced:     []lookup.Replaced{{Parent: "rover1/map", Child: "rover1/odom", Interval: engram.Interval{Start: 0, End: 2 * second}}},
		Calibrations: []lookup.Calibration{{Parent: "rover1/base", Child: "rover1/mast", Valid: engram.Interval{Start: 3 * second, End: engram.MaxTime}, Pose: pose.Translation(1, 0, 0), Cov: pose.ExactCov()}},
	}
	rev, err := p.CommitRevision(t.Context(), tx)
	if err != nil || rev <= first.Revision {
		t.Fatal(rev, err)
	}
	ev, err := watch.Next(t.Context())
	if err != nil || len(ev.Moved) != 1 || ev.Moved[0].ID != a.ID || ev.To != rev || math.Abs(ev.Moved[0].Trans-math.Hypot(8, 5)) > 1e-9 {
		t.Errorf("%+v, %v", ev, err)
	}
	check := func(p lookup.Service) {
		t.Helper()
		at(t, p, "rover1/map", "rover1/base", 2*second, 20, 5, 0)
		at(t, p, "rover1/map", "rover1/head", 3*second, 22, 5, 0.3)
		at(t, p, "rover1/map", "rover1/head", 2*second, 20, 5, 0.2)
		answers, err := p.LookUp(t.Context(), []lookup.Question{{Target: "rover1/map", Source: "rover1/odom", Time: 2 * second, Cov: true}})
		if err != nil || answers[0].Err != nil || answers[0].Cov.State() != pose.Estimated {
			t.Errorf("%+v, %v", answers, err)
		}
	}
	check(p)

	again := newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	check(again.service)
	if _, err := p.CommitRevision(t.Context(), lookup.Transaction{Author: "nobody"}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a transaction that changes nothing: %v", err)
	}
}

func TestPosesWaitAndCancel(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	got := make(chan lookup.Answer, 1)
	go func() {
		a, _ := p.LookUp(context.WithoutCancel(t.Context()), []lookup.Question{{Target: "odom", Source: "rover1/base", Time: 4 * second, Wait: true}})
		got <- a[0]
	}()
	mustPut(t, s, "RobotState/Localization/rover1/odom", 4*second, placed("odom", "base", 4, 0))
	if a := <-got; a.Err != nil || a.Pose.T.X != 4 {
		t.Errorf("%+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Acquire(ctx, lookup.Acquire{Sensor: "rover1/head", Time: 9 * second, Wait: true}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a wait that was given up: %v", err)
	}
}

// What the short decoders read is what the type's own decoding reads.
func FuzzPoseDecode(f *testing.F) {
	encode := func(name string, v map[string]any) []byte {
		typ, _ := Type(name)
		b, err := typ.Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	f.Add(encode("engram.robot_state.Localization", placed("odom", "base", 1, 2, "pose_covariance", make([]float64, 36), "is_static", true)))
	f.Add(encode("engram.robot_state.Proprioception", map[string]any{"name": []string{"pan"}, "position": []float64{2}}))
	f.Add(encode("engram.robot_state.Description", map[string]any{"urdf": roverURDF}))
	f.Add(encode(revisionType, map[string]any{"keys": []any{placed("map", "odom", 1, 0, "timestamp", second)}, "replaced": []any{map[string]any{"end": second}}}))
	lt, _ := Type("engram.robot_state.Localization")
	jt, _ := Type("engram.robot_state.Proprioception")
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPoses(DefaultPoseRetention())
		id := engram.MustID("RobotState/Description/r/r")
		u := engram.EntityUpdate{Entity: id, Time: second, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Bytes: b})}}
		put := func(engram.EntityUpdate) error { return nil }
		_ = p.describe(t.Context(), id, second, b)
		_ = p.feel(id, second, b)
		_ = p.writeLocalization(t.Context(), u, put)
		_ = p.writeRevision(t.Context(), u, func(u engram.EntityUpdate) error {
			if _, err := revisionOf(id, u.Instances[0].Payload.Bytes, lookup.AsResolved); err != nil {
				t.Errorf("the payload with its outcome cannot be read: %v", err)
			}
			return nil
		})
		if jt.Check(b) == nil {
			v, err := jt.Decode(b)
			j, err2 := decodeJoints(b)
			if err != nil || err2 != nil || len(j.names) != len(v.(map[string]any)["name"].([]any)) || len(j.positions) != len(v.(map[string]any)["position"].([]any)) {
				t.Errorf("%v %v: %v instead of %v", err, err2, j, v)
			}
		}
		if lt.Check(b) == nil {
			v, err := lt.Decode(b)
			l, _, err2 := decodeLocalization(b)
			if err != nil || err2 == nil && (l.child != v.(map[string]any)["child_frame_id"] || l.static != v.(map[string]any)["is_static"]) {
				t.Errorf("%v %v: %v instead of %v", err, err2, l, v)
			}
		}
	})
}

// A doubtful description is taken, and what was doubtful about it is told.
func TestDoubtfulDescription(t *testing.T) {
	s, p := newPoseServer(t)
	mustPut(t, s, "RobotState/Description/r/r", second, map[string]any{"urdf": `<?xml version="1.1" encoding="us-ascii"?>
<robot name="r" version="1.1" xmlns="http://example.org">
<link name="a"/><link name="b"/>
<joint name="j" type="fixed"><parent link="a"/><child link="b"/><origin xyz="1 0 0" quat_xyzw="0 0 1 0"/>
<limit effort="1" velocity="1"/>
<limit effort="2" velocity="2"/></joint></robot>`})
	at(t, p, "r/a", "r/b", second, 1, 0, math.Pi)
	left, err := p.LeftOut(t.Context())
	if err != nil || len(left) != 1 || left[0].Reason.Error() != `r.urdf:6: joint "j": a second <limit> is left out; the first counts` {
		t.Errorf("%+v, %v", left, err)
	}
}

// A frame that several robots have is that of the robot of the other frame, whichever
// of the two is said first.
func TestTheOtherFrameDecides(t *testing.T) {
	s, p := newPoseServer(t)
	for _, robot := range []string{"r1", "r2"} {
		mustPut(t, s, "RobotState/Localization/"+robot+"/base", second, placed("odom", "base", 1, 0))
	}
	mustPut(t, s, "RobotState/Localization/r2/laser", second, placed("base", "laser", 1, 0))
	for _, q := range [][2]string{{"base", "laser"}, {"laser", "base"}, {"odom", "laser"}, {"odom", "r2/base"}, {"r2/odom", "base"}} {
		a := ask(t, p, q[0], q[1], second)
		if a.Err != nil || a.Target[:3] != "r2/" || a.Source[:3] != "r2/" {
			t.Errorf("%v: %+v", q, a)
		}
	}
	a := ask(t, p, "odom", "base", second)
	if engram.CodeOf(a.Err) != engram.NotFound || !strings.Contains(a.Err.Error(), "say which: r1/odom, r2/odom") {
		t.Errorf("where nothing decides: %v", a.Err)
	}
}

// What was measured moves a robot, also where a command of the same stamp came first;
// names of which the description has none are told.
func TestPosesStatesBeforeCommands(t *testing.T) {
	for _, first := range []string{"joint_commands", "joint_states"} {
		s, poses := newPoseServer(t)
		mustPut(t, s, "RobotState/Description/rover/urdf", 0, map[string]any{"urdf": roverURDF})
		values := map[string]float64{"joint_commands": 1, "joint_states": 0.5}
		order := []string{first, "joint_commands", "joint_states"}
		for i := range engram.Time(3) {
			seen := map[string]bool{}
			for _, name := range order {
				if !seen[name] {
					mustPut(t, s, "RobotState/Proprioception/rover/"+name, (i+1)*second, map[string]any{
						"name": []string{"pan"}, "position": []float64{values[name]},
					})
				}
				seen[name] = true
			}
		}
		for i := range engram.Time(3) {
			at(t, poses, "rover/mast", "rover/head", (i+1)*second, 0, 0, 0.5)
		}
	}
	for _, names := range [][]string{{"tilt", "roll"}, {"tilt", "pan"}} {
		s, poses := newPoseServer(t)
		mustPut(t, s, "RobotState/Description/rover/urdf", 0, map[string]any{"urdf": roverURDF})
		mustPut(t, s, "RobotState/Proprioception/rover/joint_states", second, map[string]any{"name": names, "position": []float64{0.5, 0.1}})
		left, err := poses.LeftOut(t.Context())
		if err != nil || len(left) != 1 || !strings.Contains(left[0].Reason.Error(), "no moving joint tilt") {
			t.Errorf("of %q is told %+v, %v", names, left, err)
		}
	}
}
