package memories

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// tf commits a transform as imports of /tf and /tf_static do.
func tf(t *testing.T, s engram.Writer, at engram.Time, parent, child string, x float64, static bool) {
	t.Helper()
	mustPut(t, s, "RobotState/Localization/r/"+parent+","+child, at, placed(parent, child, x, 0, "is_static", static))
}

// An edge that rests, moves, rests elsewhere and changes its parent: the newest statement counts
// from its time on, whatever came first, and after a restart from the log or the disk.
func TestPosesRestAndMove(t *testing.T) {
	said := []func(t *testing.T, s engram.Writer){
		func(t *testing.T, s engram.Writer) { tf(t, s, 1*second, "map", "odom", 0.5, true) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 2*second, "map", "odom", 2, false) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 3*second, "map", "odom", 3, false) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 4*second, "map", "odom", 7, true) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 5*second, "map", "odom", 7, true) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 6*second, "map", "odom", 6, false) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 7*second, "earth", "odom", 9, true) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 8*second, "earth", "odom", 8, false) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 9*second, "map", "odom", 1, true) },
		func(t *testing.T, s engram.Writer) { tf(t, s, 10*second, "map", "odom", 4, true) },
	}
	check := func(p lookup.Service) {
		t.Helper()
		for _, c := range []struct {
			at     engram.Time
			parent string
			x      float64
		}{
			{0, "map", 0.5}, {1 * second, "map", 0.5}, {19e8, "map", 0.5}, {2 * second, "map", 2}, {25e8, "map", 2.5}, {3 * second, "map", 3},
			{4 * second, "map", 7}, {55e8, "map", 7}, {6 * second, "map", 6}, {7 * second, "earth", 9}, {75e8, "earth", 9}, {8 * second, "earth", 8},
			{9 * second, "map", 4}, {95e8, "map", 4}, {99 * second, "map", 4},
		} {
			at(t, p, "r/"+c.parent, "r/odom", c.at, c.x, 0, 0)
		}
		for _, gap := range []engram.Time{35e8, 65e8, 85e8} {
			if a := ask(t, p, "r/map", "r/odom", gap); a.Err == nil {
				t.Errorf("at %v, before a statement and after motion: %+v", gap, a)
			}
		}
		wantLeftOut(t, p, map[string]uint64{})
	}
	for name, order := range map[string][]int{
		"in order": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "backwards": {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, "in disorder": {4, 9, 1, 7, 0, 3, 8, 2, 6, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newPoseServer(t)
			for _, i := range order {
				said[i](t, s)
			}
			check(p)
			again := newPoses(DefaultPoseRetention())
			if err := again.start(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			check(again.service)
		})
	}
	t.Run("from the log", func(t *testing.T) {
		dir := t.TempDir()
		for life := range 2 {
			s := withLog(t, dir)
			for i := 0; life == 0 && i < len(said); i++ {
				said[i](t, s)
			}
			check(posesOf(s))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("from the disk", func(t *testing.T) {
		dir := t.TempDir()
		for life := range 2 {
			s := withDisk(t, dir)
			for i := 0; life == 0 && i < len(said); i++ {
				said[i](t, s)
			}
			check(posesOf(s))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// withDisk returns a server that has the poses of a long-term memory.
func withDisk(t *testing.T, dir string) *server.Server {
	t.Helper()
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}, Types: idf.NewRegistry(), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What rests since long, and was stated again since, is not said to have rested while it moved.
func TestPosesRestAfterARestart(t *testing.T) {
	dir := t.TempDir()
	for life := range 2 {
		s := withDisk(t, dir)
		if life == 0 {
			tf(t, s, 0, "base", "mast", 1, true)
			tf(t, s, 100*second, "map", "odom", 1, false)
			tf(t, s, 3600*second, "map", "odom", 7, true)
			tf(t, s, 4300*second, "map", "odom", 7, true)
			tf(t, s, 4300*second, "base", "mast", 1, true)
		}
		p := posesOf(s)
		at(t, p, "r/base", "r/mast", -5*second, 1, 0, 0)
		at(t, p, "r/base", "r/mast", 5000*second, 1, 0, 0)
		at(t, p, "r/map", "r/odom", 100*second, 1, 0, 0)
		at(t, p, "r/map", "r/odom", 3700*second, 7, 0, 0)
		for _, unknown := range []engram.Time{50 * second, 2000 * second} {
			if a := ask(t, p, "r/map", "r/odom", unknown); a.Err == nil {
				t.Errorf("life %d at %v: %+v", life, unknown, a)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A correction and a calibration made while an edge rests stay when it moves and when it was
// stated again; what a rest says anew is a revision, and who acquired learns of it.
func TestPosesRestWithRevisions(t *testing.T) {
	dir := t.TempDir()
	s := withLog(t, dir)
	p := posesOf(s)
	tf(t, s, 1*second, "odom", "base", 1, true)
	tf(t, s, 1*second, "base", "cam", 0.5, true)
	if _, err := p.CommitRevision(t.Context(), lookup.Transaction{
		Author: "slam",
		Keys: []lookup.Key{
			{Parent: "r/map", Child: "r/odom", Time: second, Pose: pose.Identity()},
			{Parent: "r/map", Child: "r/base", Body: true, Time: 2 * second, Pose: pose.Translation(20, 0, 0)},
		},
		Calibrations: []lookup.Calibration{{
			Parent: "r/base", Child: "r/cam", Valid: engram.Always(), Pose: pose.Translation(0.7, 0, 0), Cov: pose.ExactCov(),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	tf(t, s, 3*second, "odom", "base", 3, false)
	tf(t, s, 4*second, "odom", "base", 4, false)
	tf(t, s, 4*second, "base", "cam", 0.5, true) // again, as publishers do
	check := func(p lookup.Service) {
		t.Helper()
		at(t, p, "r/map", "r/cam", 2*second, 20.7, 0, 0)
		at(t, p, "r/map", "r/cam", 35e8, 23.2, 0, 0)
		wantLeftOut(t, p, map[string]uint64{})
	}
	check(p)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = withLog(t, dir)
	defer s.Close()
	check(posesOf(s))

	before := posesOf(s)
	revisions, err := before.Revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tf(t, s, 5*second, "base", "cam", 0.9, true)
	at(t, posesOf(s), "r/base", "r/cam", 2*second, 0.9, 0, 0)
	last := revisions.List[len(revisions.List)-1].Revision
	changes, err := before.Diff(t.Context(), "r/base", "r/cam", last, last+1, pose.Threshold{Trans: 1e-3, Rot: 1})
	if err != nil || len(changes) != 1 || math.Abs(changes[0].Trans-0.2) > 1e-9 {
		t.Errorf("%+v, %v", changes, err)
	}
	if revisions, _ = before.Revisions(t.Context()); !strings.Contains(revisions.List[len(revisions.List)-1].Author, "base,cam") {
		t.Errorf("the author of a statement is %+v", revisions.List[len(revisions.List)-1])
	}
}

// A transform that moves beside one at rest for ever is kept, and left out of the poses from
// some change on, which the answer to the commit tells.
func TestPosesRestlessPublishers(t *testing.T) {
	s, p := newPoseServer(t)
	var left uint64
	for i := range engram.Time(2 * maxParentChanges) {
		r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{
			localizationOf(t, "RobotState/Localization/r/map,odom", i*second, placed("map", "odom", float64(i), 0, "is_static", i%2 == 0)),
		}})
		if err != nil || r[0].Err != nil {
			t.Fatal(r, err)
		}
		if r[0].Note != nil {
			if left++; engram.CodeOf(r[0].Note) != engram.Exhausted || !strings.Contains(r[0].Note.Error(), "left out of the poses: r/odom in r/map") {
				t.Fatal(r[0].Note)
			}
		}
	}
	if left == 0 || left > maxParentChanges {
		t.Errorf("%d are left out", left)
	}
	wantLeftOut(t, p, map[string]uint64{"RobotState/Localization/r/map,odom": left})
	if edges, _ := numbers(t, p); edges > maxParentChanges+2 {
		t.Errorf("%d edges", edges)
	}
}

// What the poses leave out, or take otherwise than it was said, is in the answer to the commit.
func TestCommitTellsWhatPosesLeaveOut(t *testing.T) {
	s, _ := newPoseServer(t)
	drive(t, s)
	joints := func(name string) engram.EntityUpdate {
		return updateOf(t, "engram.robot_state.Proprioception", "RobotState/Proprioception/rover1/"+name, 4*second, map[string]any{"name": []string{"pan"}, "position": []float64{1}})
	}
	odd := placed("odom", "base", 4, 0, "rotation", map[string]any{"w": 1.004})
	for _, c := range []struct {
		what string
		u    engram.EntityUpdate
		note string
	}{
		{"the robot's odometry", localizationOf(t, "RobotState/Localization/rover1/odom", 4*second, placed("odom", "base", 4, 0)), ""},
		{"another source", localizationOf(t, "RobotState/Localization/rover1/wheels", 4*second, placed("odom", "base", 4, 0)), "left out of the poses: rover1/base in rover1/odom: rover1/base: a second source"},
		{"another source at rest", localizationOf(t, "RobotState/Localization/rover1/wheels", 4*second, placed("odom", "base", 4, 0, "is_static", true)), "left out of the poses: rover1/base in rover1/odom: "},
		{"motion of what the description fixed", localizationOf(t, "RobotState/Localization/rover1/tf", 4*second, placed("base", "mast", 4, 0)), "it is fixed and cannot become free"},
		{"no frames", localizationOf(t, "RobotState/Localization/rover1/nothing", 4*second, placed("", "", 4, 0)), "names no parent"},
		{"a quaternion of unit length within libtf2's tolerance", localizationOf(t, "RobotState/Localization/rover1/odom", 5*second, odd), "the quaternion of rover1/base in rover1/odom was normalised"},
		{"the robot's joints", joints("joints"), ""},
		{"commands", joints("commands"), "left out of the poses: Proprioception: a second source"},
	} {
		r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{c.u}})
		if err != nil || r[0].Err != nil {
			t.Fatalf("%s: %v, %v", c.what, r, err)
		}
		if note := r[0].Note; (note != nil) != (c.note != "") || note != nil && (!strings.Contains(note.Error(), c.note) || !strings.HasPrefix(note.Error(), c.u.Entity.String())) {
			t.Errorf("%s: noted is %v; want %q", c.what, note, c.note)
		}
	}
}
