package memories

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// wantLeftOut checks how many instances of which entities are not among the poses.
func wantLeftOut(t *testing.T, p lookup.Service, want map[string]uint64) {
	t.Helper()
	left, err := p.LeftOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, l := range left {
		got[l.Entity.String()] += l.Count
		if engram.CodeOf(l.Reason) == engram.Internal || !strings.Contains(l.Reason.Error(), " ") {
			t.Errorf("%v is left out for the reason %v", l.Entity, l.Reason)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("left out are %v, want %v: %v", got, want, left)
	}
}

// numbers returns the number of edges and the revision.
func numbers(t *testing.T, p lookup.Service) (edges int, rev pose.Revision) {
	t.Helper()
	tree, err := p.Tree(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	revisions, err := p.Revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(tree), revisions.List[len(revisions.List)-1].Revision
}

// What cannot be is refused with an error that names it, counted, and leaves what
// was stored as it was.
func TestPosesRefuseLocalizations(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	edges, rev := numbers(t, p)
	turned := func(w float64) map[string]any {
		return placed("odom", "base", 1, 1, "rotation", map[string]any{"w": w})
	}
	bad := make([]float64, 36)
	bad[0], bad[1], bad[6], bad[7] = 1, 2, 2, 1
	cases := []struct {
		what, entity string
		value        map[string]any
		code         engram.Code
		names        string
	}{
		{"a rotation that is not a number", "odom", turned(math.NaN()), engram.Invalid, "rover1/base"},
		{"a rotation far from unit length", "odom", turned(0.9), engram.Invalid, "rover1/base"},
		{"a rotation of zeros", "odom", turned(0), engram.Invalid, "rover1/base"},
		{"a translation that is infinite", "odom", placed("odom", "base", math.Inf(1), 0), engram.Invalid, "rover1/base"},
		{"a covariance that is none", "odom", placed("odom", "base", 1, 0, "pose_covariance", bad), engram.Invalid, "semidefinite"},
		{"a covariance of two numbers", "odom", placed("odom", "base", 1, 0, "pose_covariance", []float64{1, 2}), engram.Invalid, "pose_covariance"},
		{"a loop", "loop", placed("head", "odom", 1, 0), engram.Conflict, "loop"},
		{"a loop of one", "loop", placed("cup", "cup", 1, 0), engram.Conflict, "loop"},
		{"a loop at all times", "loop", placed("head", "odom", 1, 0, "is_static", true), engram.Conflict, "loop"},
		{"a second parent beside odometry", "other", placed("map", "base", 1, 0), engram.Conflict, "second"},
		{"a second parent beside a joint", "other", placed("map", "head", 1, 0), engram.Conflict, "second parent"},
		{"a second parent beside a fixed edge", "other", placed("map", "mast", 1, 0), engram.Conflict, "second parent"},
		{"a second parent at all times", "other", placed("map", "mast", 1, 0, "is_static", true), engram.Conflict, "second parent"},
	}
	for _, c := range cases {
		err := put(t, s, "RobotState/Localization/rover1/"+c.entity, 2*second, c.value)
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), "RobotState/Localization/rover1/"+c.entity) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if e, r := numbers(t, p); e != edges || r != rev {
		t.Errorf("refusals made %d edges and revision %d of %d and %d", e, r, edges, rev)
	}
	at(t, p, "odom", "rover1/base", 2*second, 2, 0, 0)
	wantLeftOut(t, p, map[string]uint64{})
	stats, err := s.Stats(t.Context(), engram.MustPattern("RobotState/Localization"), engram.LevelCoreSegment)
	if err != nil || stats[len(stats)-1].Refused != uint64(len(cases)) {
		t.Errorf("%d were refused, the memory counts %+v, %v", len(cases), stats, err)
	}
	// What the memory itself refuses is not in the store either.
	u := localizationOf(t, "RobotState/Localization/rover1/cup2", second, placed("new", "cup2", 1, 0))
	u.Instances[0].Confidence = 7
	if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || engram.CodeOf(r[0].Err) != engram.OutOfRange {
		t.Fatal(r, err)
	}
	if e, _ := numbers(t, p); e != edges {
		t.Error("a localization that the memory refused is among the poses")
	}
}

func localizationOf(t *testing.T, entity string, at engram.Time, value map[string]any) engram.EntityUpdate {
	t.Helper()
	return updateOf(t, "engram.robot_state.Localization", entity, at, value)
}

func updateOf(t *testing.T, typeName, entity string, at engram.Time, value map[string]any) engram.EntityUpdate {
	t.Helper()
	typ, _ := Type(typeName)
	b, err := typ.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}
}

// Updates of one commit that contradict each other: the first stands.
func TestPosesContradictionWithinACommit(t *testing.T) {
	s, p := newPoseServer(t)
	r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{
		localizationOf(t, "RobotState/Localization/r/a,b", second, placed("a", "b", 1, 0)),
		localizationOf(t, "RobotState/Localization/r/b,a", second, placed("b", "a", 1, 0)),
		localizationOf(t, "RobotState/Localization/r/x", second, placed("c", "b", 1, 0)),
	}})
	if err != nil || r[0].Err != nil || engram.CodeOf(r[1].Err) != engram.Conflict || engram.CodeOf(r[2].Err) != engram.Conflict {
		t.Fatal(r, err)
	}
	wantLeftOut(t, p, map[string]uint64{})
	at(t, p, "r/a", "r/b", second, 1, 0, 0)
}

// A revision that the store or the memory refuses leaves no trace.
func TestPosesRefusedRevisionLeavesNothing(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	edges, rev := numbers(t, p)
	anchor := placed("map", "odom", 1, 0, "timestamp", second)
	future := placed("map", "base", 1, 0, "timestamp", 99*second, "is_body", true)
	if err := put(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{anchor, future}}); engram.CodeOf(err) != engram.TooNew {
		t.Errorf("a body where odometry is not known: %v", err)
	}
	u := updateOf(t, revisionType, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{anchor}})
	u.Instances[0].Confidence = 7
	if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || engram.CodeOf(r[0].Err) != engram.OutOfRange {
		t.Fatal(r, err)
	}
	u = updateOf(t, revisionType, "RobotState/Revision/rover1/slam", engram.MaxTime, map[string]any{"keys": []any{anchor}})
	if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || engram.CodeOf(r[0].Err) != engram.OutOfRange {
		t.Fatal(r, err)
	}
	if e, r := numbers(t, p); e != edges || r != rev {
		t.Errorf("refusals made %d edges and revision %d of %d and %d", e, r, edges, rev)
	}
	// The place above odom is free.
	mustPut(t, s, "RobotState/Localization/rover1/map,odom", second, placed("earth", "odom", 7, 0))
	at(t, p, "rover1/earth", "rover1/base", second, 8, 0, 0)
}

// forgetful is a memory that has forgotten some segments.
type forgetful struct {
	engram.Service
	segments []string
}

func (f forgetful) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	r, err := f.Service.Query(ctx, q)
	if err != nil {
		return r, err
	}
	kept := &engram.Result{}
	for _, m := range r.Memories {
		left := &engram.ResultNode{Name: m.Name}
		for _, c := range m.Children {
			if !slices.Contains(f.segments, c.Name) {
				left.Children = append(left.Children, c)
			}
		}
		kept.Memories = append(kept.Memories, left)
	}
	return kept, nil
}

func (f forgetful) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	r, err := f.Query(ctx, q)
	if err != nil {
		return err
	}
	return part(r)
}

// A store that is begun anew has the revisions, though the odometry that they were
// made with is gone, and with the covariances as they were given.
func TestPosesRebuiltWithoutOdometry(t *testing.T) {
	planar := pose.Cov{Mask: 1<<0 | 1<<1 | 1<<5}
	planar.S[0], planar.S[6], planar.S[20] = 0.04, 0.09, 0.01
	s, p := newPoseServer(t)
	drive(t, s)
	if _, err := p.CommitRevision(t.Context(), lookup.Transaction{
		Author: "slam",
		Keys: []lookup.Key{
			{Parent: "rover1/map", Child: "rover1/odom", Time: second, Pose: pose.Translation(10, 0, 0), Cov: planar},
			{Parent: "rover1/map", Child: "rover1/base", Body: true, Time: 2 * second, Pose: pose.Translation(20, 5, 0), Cov: planar},
			{Parent: "rover1/map", Child: "rover1/base", Body: true, Time: 3 * second, Pose: pose.Translation(30, 5, 0)},
		},
		Calibrations: []lookup.Calibration{{
			Parent: "rover1/base", Child: "rover1/mast", Valid: engram.Interval{Start: 3 * second, End: engram.MaxTime}, Pose: pose.Translation(1, 0, 0), Cov: planar,
		}},
	}); err != nil {
		t.Fatal(err)
	}
	ask := func(p lookup.Service) []lookup.Answer {
		t.Helper()
		questions := []lookup.Question{
			{Target: "rover1/base", Source: "rover1/mast", Time: 4 * second, Cov: true},
		}
		for _, at := range []engram.Time{second, 2 * second, 2*second + 5e8, 3 * second} {
			questions = append(questions, lookup.Question{Target: "rover1/map", Source: "rover1/odom", Time: at, Cov: true})
		}
		answers, err := p.LookUp(t.Context(), questions)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Err != nil {
				t.Errorf("question %d: %v", i, a.Err)
			}
			answers[i].Info.Revision = 0
		}
		return answers
	}
	want := ask(p)
	for i, mask := range []uint8{planar.Mask, planar.Mask, planar.Mask, 0, 0} {
		if want[i].Cov.Mask != mask {
			t.Errorf("answer %d: mask %#x, want %#x", i, want[i].Cov.Mask, mask)
		}
	}
	if want[2].Pose.T != (pose.Vec3{X: 18, Y: 5}) {
		t.Errorf("%+v", want[2])
	}
	again := newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), forgetful{s, []string{"Localization"}}); err != nil {
		t.Fatal(err)
	}
	for i, got := range ask(again.service) {
		if got != want[i] {
			t.Errorf("answer %d: %+v, before %+v", i, got, want[i])
		}
	}
	wantLeftOut(t, again.service, map[string]uint64{})

	// Where more is gone, that alone is left out, and told.
	again = newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), forgetful{s, []string{"Localization", "Description"}}); err != nil {
		t.Fatal(err)
	}
	answers, err := again.service.LookUp(t.Context(), []lookup.Question{{Target: "rover1/map", Source: "rover1/odom", Time: 2 * second}})
	if err != nil || answers[0].Err != nil || answers[0].Pose != want[2].Pose {
		t.Errorf("%+v, %v", answers, err)
	}
	wantLeftOut(t, again.service, map[string]uint64{"RobotState/Revision/PoseService/slam": 1})
}

// A mask that is none is refused, and a client cannot forge what a body came to.
func TestPosesRevisionMembers(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	cov := make([]float64, 21)
	key := placed("map", "odom", 1, 0, "timestamp", second, "covariance", cov, "covariance_mask", uint32(64))
	if err := put(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{key}}); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "covariance_mask") {
		t.Errorf("a mask of more than six bits: %v", err)
	}
	mustPut(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{placed("map", "odom", 1, 0, "timestamp", second)}})
	forged := placed("map", "base", 9, 0, "timestamp", 2*second, "is_body", true, "correction", placed("map", "odom", 1000, 0))
	mustPut(t, s, "RobotState/Revision/rover1/slam", 2*second, map[string]any{"keys": []any{forged}, "number": uint64(77)})
	at(t, p, "rover1/map", "rover1/base", 2*second, 9, 0, 0)
	again := newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	at(t, again.service, "rover1/map", "rover1/base", 2*second, 9, 0, 0)
	_, rev := numbers(t, p)
	snap, err := s.Latest(t.Context(), engram.MustID("RobotState/Revision/rover1/slam"))
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := Type(revisionType)
	v, err := typ.Decode(snap.Instances[0].Payload.Bytes)
	if err != nil || v.(map[string]any)["number"] != uint64(rev) {
		t.Errorf("%v, %v; want revision %d", v, err, rev)
	}
}

func TestPoseRetentionCanBeSet(t *testing.T) {
	p := newPoses(optionsOf([]Option{WithPoseRetention(pose.Retention{MaxAge: time.Second})}).poses)
	put := func(engram.EntityUpdate) error { return nil }
	for i := range engram.Time(2000) {
		u := localizationOf(t, "RobotState/Localization/r/odom", i*1e7, placed("odom", "base", 1, 0))
		if err := p.writeLocalization(t.Context(), u, put); err != nil {
			t.Fatal(err)
		}
	}
	if e := p.store.Edges(); len(e) != 1 || e[0].Samples < 100 || e[0].Samples > 1000 || e[0].Pruned == 0 {
		t.Errorf("%+v", e)
	}
	// What is too old for the store, the memory keeps.
	if err := p.writeLocalization(t.Context(), localizationOf(t, "RobotState/Localization/r/odom", 5, placed("odom", "base", 1, 0)), put); err != nil {
		t.Error(err)
	}
	wantLeftOut(t, p.service, map[string]uint64{"RobotState/Localization/r/odom": 1})
}
