package rpc_test

import (
	"context"
	"math"
	"net"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// servePoses serves a store over a socket and returns a client's view of it.
func servePoses(t *testing.T, store lookup.Service) lookup.Service {
	t.Helper()
	m := server.Memory{Name: "Test"}
	if store != nil {
		m.Features = []feature.Feature{poses.Feature(store)}
	}
	s, err := server.New(server.Config{Memories: []server.Memory{m}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(ctx, rpc.NewHandler(s, nil, rpc.Options{}), l) }()
	c, err := rpc.Dial(t.Context(), rpc.AddressOf(l), rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-served
		s.Close()
	})
	return poses.NewClient(c)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a client is answered is what the store in the server answers.
func TestPosesOverRPC(t *testing.T) {
	store := pose.New(pose.Config{})
	must(t, store.Anchor("map", "r/odom"))
	edge, err := store.Free("r/odom", "r/base", pose.Uncertain(pose.ConstantNoise(pose.DiagonalCov(0.1, 0.01))))
	must(t, err)
	must(t, store.Fixed("r/base", "r/cam", pose.Pose{T: pose.Vec3{Z: 1}, R: pose.RPY(0.1, 0.2, 0.3)}, pose.ExactCov()))
	for i := range engram.Time(10) {
		must(t, edge.Set(i*1e8, pose.Translation(float64(i), 0, 0)))
	}
	here := lookup.New(store, lookup.Writes{})
	there := servePoses(t, here)
	ctx := t.Context()

	watch, err := there.Watch(ctx, pose.Changes{Target: "map", Source: "r/base"}, nil)
	must(t, err)
	mine, err := there.Watch(ctx, pose.Changes{Target: "r/odom", Source: "r/cam", OnlyAcquired: true}, nil)
	must(t, err)
	acquired, err := there.Acquire(ctx, lookup.Acquire{Sensor: "r/cam", Time: 5e7, Wait: true})
	if err != nil || acquired.Base != "r/base" || acquired.Pose.T.Z != 1 || acquired.Cov.State() != pose.Exact {
		t.Fatalf("%+v, %v", acquired, err)
	}
	planar := pose.Cov{Mask: 35}
	planar.S[0], planar.S[20] = 0.1, 0.2
	rev, err := there.CommitRevision(ctx, lookup.Transaction{
		Author:       "slam",
		Keys:         []lookup.Key{{Parent: "map", Child: "r/odom", Pose: pose.Translation(0, 3, 0), Cov: pose.DiagonalCov(0.2, 0)}, {Parent: "map", Child: "r/base", Body: true, Time: 5e8, Pose: pose.Translation(5, 4, 0), Cov: planar}},
		Replaced:     []lookup.Replaced{{Parent: "map", Child: "r/odom", Interval: engram.Always()}},
		Calibrations: []lookup.Calibration{{Parent: "r/base", Child: "r/cam", Valid: engram.Always(), Pose: pose.Translation(0, 0, 2), Cov: pose.ExactCov()}},
	})
	must(t, err)
	ev, err := watch.Next(ctx)
	if err != nil || ev.To != rev || len(ev.Changes) == 0 {
		t.Errorf("%+v, %v", ev, err)
	}
	ev, err = mine.Next(ctx)
	if err != nil || len(ev.Moved) != 1 || ev.Moved[0].ID != acquired.ID || math.Abs(ev.Moved[0].Trans-1) > 1e-12 || mine.Position() != ev.From {
		t.Errorf("%+v, %v", ev, err)
	}
	must(t, there.Release(ctx, acquired.ID))

	old := rev - 1
	questions := []lookup.Question{
		{Target: "map", Source: "r/cam", Time: 55e6, Cov: true},
		{Target: "map", Source: "r/odom", Time: 5e8, Cov: true},
		{Target: "cam", Source: "r/base", When: lookup.LatestCommon},
		{Target: "r/odom", Source: "r/cam", Time: 55e6, AsOf: &old},
		{Target: "r/base", Source: "r/base", When: lookup.Between, Time: 9e8, SourceTime: 1e8, Fixed: "odom", Cov: true},
		{Target: "map", Source: "r/base", Time: 1e12},
		{Target: "map", Source: "nowhere"},
		{Target: "map", Source: "r/base", Time: 1, AsOf: new(pose.Revision(99))},
	}
	want, err := here.LookUp(ctx, questions)
	must(t, err)
	got, err := there.LookUp(ctx, questions)
	must(t, err)
	for i := range want {
		if engram.CodeOf(got[i].Err) != engram.CodeOf(want[i].Err) || (i < 5) != (got[i].Err == nil) {
			t.Errorf("question %d: %v instead of %v", i, got[i].Err, want[i].Err)
		}
		got[i].Err, want[i].Err = nil, nil
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("question %d: %+v instead of %+v", i, got[i], want[i])
		}
	}
	same := func(what string, a any, errA error, b any, errB error) {
		t.Helper()
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %+v, %v instead of %+v, %v", what, a, errA, b, errB)
		}
	}
	a, errA := there.Revisions(ctx)
	b, errB := here.Revisions(ctx)
	same("Revisions", a, errA, b, errB)
	c, errA := there.Diff(ctx, "map", "r/cam", old, rev, pose.Threshold{})
	d, errB := here.Diff(ctx, "map", "r/cam", old, rev, pose.Threshold{})
	same("Diff", c, errA, d, errB)
	e, errA := there.Tree(ctx, &old)
	f, errB := here.Tree(ctx, &old)
	same("Tree", e, errA, f, errB)
	e, errA = there.Path(ctx, "map", "r/cam", 5)
	f, errB = here.Path(ctx, "map", "r/cam", 5)
	same("Path", e, errA, f, errB)
	here.LeaveOut(engram.MustID("RobotState/Localization/r/odom"), 5, engram.Errorf(engram.Conflict, "r/base", "another says where it is"))
	here.LeaveOut(engram.ID{}, 6, engram.Errorf(engram.TooOld, "", "it is"))
	g, errA := there.LeftOut(ctx)
	h, errB := here.LeftOut(ctx)
	same("LeftOut", g, errA, h, errB)
	if len(g) != 2 {
		t.Errorf("left out are %v", g)
	}
	must(t, watch.Close())
	if _, err := watch.Next(ctx); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

func TestNoPosesOverRPC(t *testing.T) {
	_, err := servePoses(t, nil).Tree(t.Context(), nil)
	if engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a server without poses: %v", err)
	}
}
