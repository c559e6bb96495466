package memories

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// A robot whose clock was a year ahead has its latest poses of the present once it is set
// right, by the server's clock, also where that is of another time; what a recording from
// another time says of a robot is there as before.
func TestPosesOfAClockThatIsSetRight(t *testing.T) {
	const year = engram.Time(365 * 24 * time.Hour)
	var now atomic.Int64 // the server's goroutines read it, too
	now.Store(int64(year))
	clock := func() engram.Time { return engram.Time(now.Load()) }
	s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	latest := func() lookup.Answer {
		t.Helper()
		a, err := posesOf(s).LookUp(t.Context(), []lookup.Question{{Target: "odom", Source: "rover1/head", When: lookup.LatestCommon}})
		if err != nil {
			t.Fatal(err)
		}
		return a[0]
	}
	mustPut(t, s, "RobotState/Description/rover1/rover1", clock(), map[string]any{"urdf": roverURDF})
	step := func() {
		t.Helper()
		now := engram.Time(now.Add(int64(second / 10)))
		mustPut(t, s, "RobotState/Proprioception/rover1/joints", now, map[string]any{"name": []string{"pan"}, "position": []float64{0.1}})
		mustPut(t, s, "RobotState/Localization/rover1/odom", now, placed("/odom", "base", float64(now%year)/1e9, 0))
	}
	for range 20 {
		step()
	}
	now.Add(int64(year))
	for range 20 {
		step()
	}
	now.Add(-int64(year))
	for range 20 {
		step()
		now := clock()
		if a := latest(); a.Err != nil || a.Info.TargetTime != now || a.Pose.T.X != float64(now%year)/1e9 {
			t.Fatalf("the latest pose is %+v; want that of %v", a, now)
		}
	}
}

// What a recording from the future says is among the poses, and stays as long as nothing of
// the present is said of the same edge.
func TestPosesOfARecordingFromTheFuture(t *testing.T) {
	now := 30 * 365 * 24 * 3600 * second
	s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}, Now: func() engram.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	typ, _ := Type("engram.robot_state.Localization")
	later := now + 365*24*3600*second
	for i := range engram.Time(5) {
		b, err := typ.Encode(placed("/map", "base", float64(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Commit(t.Context(), engram.Commit{Recorded: true, Updates: []engram.EntityUpdate{{
			Entity: engram.MustID("RobotState/Localization/bag/odom"), Time: later + i*second, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
		}}})
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	mustPut(t, s, "RobotState/Localization/rover1/odom", now, placed("/odom", "base", 1, 0))
	for i := range engram.Time(5) {
		at(t, posesOf(s), "map", "bag/base", later+i*second, float64(i), 0, 0)
	}
}
