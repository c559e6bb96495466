package memories

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// held returns what the memory holds of the acquisitions of the rover's head.
func held(t *testing.T, s *server.Server) []map[string]any {
	t.Helper()
	r, err := s.Query(t.Context(), engram.SelectID(engram.MustID("RobotState/Acquisition/rover1/head"), engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := Type(acquisitionType)
	var out []map[string]any
	for it := range r.All() {
		v, err := typ.Decode(it.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v.(map[string]any))
	}
	return out
}

func acquire(t *testing.T, p lookup.Service, sensor string, when engram.Time, data ...engram.ID) pose.Acquisition {
	t.Helper()
	ask := lookup.Acquire{Sensor: sensor, Time: when}
	if len(data) > 0 {
		ask.Data = data[0]
	}
	a, err := p.Acquire(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// An acquisition is in the memory with all that it answered, and in the service under
// the same number after a restart; one that was released is not.
func TestAcquisitionsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	var p *poses
	open := func() *server.Server {
		p = newPoses(DefaultPoseRetention())
		return withLogOf(t, dir, p)
	}
	s := open()
	drive(t, s)
	mustPut(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{placed("map", "odom", 10, 0, "timestamp", second)}})
	image := engram.MustID("Vision/ImageRGB/rover1/head/1970-01-01 00:00:02")
	a := acquire(t, posesOf(s), "rover1/head", 2*second, image)
	gone := acquire(t, posesOf(s), "rover1/head", second)
	if again := acquire(t, posesOf(s), "head", 2*second); again.ID != a.ID {
		t.Errorf("acquired at the same time again it is %d, not %d", again.ID, a.ID)
	}
	a = acquire(t, posesOf(s), "head", 2*second, image)
	if err := posesOf(s).Release(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		all := held(t, s)
		if len(all) != 2 {
			t.Fatalf("the memory holds %v", all)
		}
		m := all[1]
		translation := m["translation"].(map[string]any)
		if m["sensor_frame_id"] != "rover1/head" || m["base_frame_id"] != "rover1/base" || m["number"] != uint64(a.ID) ||
			m["revision"] != uint64(a.Info.Revision) || m["timestamp"] != 2*second || m["data"] != image ||
			m["released"] != false || translation["z"] != a.Pose.T.Z || a.Pose.T.Z == 0 {
			t.Errorf("the memory holds %v of %+v", m, a)
		}
		if all[0]["released"] != true || all[0]["base_frame_id"] != "rover1/base" {
			t.Errorf("of the one that was released the memory holds %v", all[0])
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	check()
	wantLeftOut(t, posesOf(s), map[string]uint64{})
	if err := posesOf(s).Release(t.Context(), gone.ID); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("the restart brought back what was released: %v", err)
	}
	// It is told when a revision moves it, and its number is not given away.
	mustPut(t, s, "RobotState/Proprioception/rover1/rover1", 2*second, map[string]any{"name": []any{"pan"}, "position": []any{0.0}})
	watch, err := p.service.Watch(t.Context(), pose.Changes{Target: "map", Source: "rover1/head", OnlyAcquired: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	mustPut(t, s, "RobotState/Revision/rover1/slam", second, map[string]any{"keys": []any{placed("map", "odom", 11, 0, "timestamp", second)}})
	ev, err := watch.Next(t.Context())
	if err != nil || len(ev.Moved) != 1 || ev.Moved[0].ID != a.ID || math.Abs(ev.Moved[0].Trans-1) > 1e-9 {
		t.Errorf("%+v, %v", ev, err)
	}
	if next := acquire(t, posesOf(s), "rover1/tray", 3*second); next.ID <= a.ID || next.ID <= gone.ID-1 {
		t.Errorf("the next is %d", next.ID)
	}
}

// To commit an acquisition is to acquire. The memory sets what it answers, and takes
// what it cannot answer not at all.
func TestCommittedAcquisition(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	mustPut(t, s, "RobotState/Acquisition/rover1/head", 2*second, map[string]any{"number": uint64(77), "base_frame_id": "nonsense"})
	all := held(t, s)
	if len(all) != 1 || all[0]["number"] != uint64(1) || all[0]["base_frame_id"] != "rover1/base" || all[0]["sensor_frame_id"] != "rover1/head" {
		t.Errorf("the memory holds %v", all)
	}
	err := put(t, s, "RobotState/Acquisition/rover1/head", 99*second, nil)
	if engram.CodeOf(err) != engram.TooNew || len(held(t, s)) != 1 {
		t.Errorf("at a time that is not known: %v", err)
	}
	mustPut(t, s, "RobotState/Acquisition/rover1/head", 2*second, map[string]any{"released": true})
	if err := p.Release(t.Context(), 1); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("it was released by a commit, and again: %v", err)
	}
	if err := put(t, s, "RobotState/Acquisition/rover1/head", 3*second, map[string]any{"released": true}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("released without having been acquired: %v", err)
	}
}

// A sensor that hangs on moving transforms only has no base. It is refused before
// anything is remembered, and the error says what is needed.
func TestSensorWithoutABase(t *testing.T) {
	s, p := newPoseServer(t)
	mustPut(t, s, "RobotState/Localization/r/base", second, placed("odom", "base", 1, 0))
	mustPut(t, s, "RobotState/Localization/r/laser", second, placed("base", "laser", 0.2, 0))
	for _, sensor := range []string{"r/laser", "r/base", "r/odom"} {
		_, err := p.Acquire(t.Context(), lookup.Acquire{Sensor: sensor, Time: second})
		if engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), "has no base") || !strings.Contains(err.Error(), "--urdf") || !strings.Contains(err.Error(), "/tf_static") {
			t.Errorf("%s: %v", sensor, err)
		}
	}
	r, err := s.Query(t.Context(), engram.MustPattern("RobotState/Acquisition").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		t.Errorf("the memory holds %v", it.ID)
	}
	mustPut(t, s, "RobotState/Localization/r/camera", second, placed("base", "camera", 0.1, 0, "is_static", true))
	if a := acquire(t, p, "r/camera", second); a.Base != "r/base" {
		t.Errorf("%+v", a)
	}
}
