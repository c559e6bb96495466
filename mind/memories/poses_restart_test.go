package memories

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// withLog returns a server that has the poses of a log.
func withLog(t *testing.T, dir string) *server.Server {
	t.Helper()
	return withLogOf(t, dir, newPoses(DefaultPoseRetention()))
}

// withLogOf is withLog with the poses that the server keeps.
func withLogOf(t *testing.T, dir string, p *poses) *server.Server {
	t.Helper()
	types := idf.NewRegistry()
	journal, err := wal.OpenJournal(wal.JournalOptions{Dir: dir, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{robotState(p)}, Types: types, Journal: journal})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A server that restarts with its log has the poses and revisions that it had.
func TestPosesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	open := func() *server.Server { return withLog(t, dir) }
	check := func(p lookup.Service) {
		t.Helper()
		at(t, p, "rover1/map", "rover1/base", 2*second, 20, 5, 0)
		at(t, p, "rover1/base", "rover1/tray", 2*second, 0.7, 0, 0)
		at(t, p, "rover1/tray", "rover1/mug", 1*second, 1, 0, 0)
		at(t, p, "rover1/mast", "rover1/mug", 3*second, 2, 0, 0)
		revisions, err := p.Revisions(t.Context())
		if err != nil || revisions.List[len(revisions.List)-1].Author != "slam" {
			t.Errorf("%v, %v", revisions, err)
		}
	}
	s := open()
	drive(t, s)
	mustPut(t, s, "RobotState/Localization/rover1/tray,mug", 1*second, placed("tray", "mug", 1, 0))
	mustPut(t, s, "RobotState/Localization/rover1/mast,mug", 3*second, placed("mast", "mug", 2, 0))
	if _, err := posesOf(s).CommitRevision(t.Context(), lookup.Transaction{
		Author:       "slam",
		Keys:         []lookup.Key{{Parent: "rover1/map", Child: "rover1/odom", Time: second}},
		Calibrations: []lookup.Calibration{{Parent: "rover1/base", Child: "rover1/tray", Valid: engram.Always(), Pose: pose.Translation(0.7, 0, 0)}},
	}); engram.CodeOf(err) != engram.Invalid {
		t.Fatal("a zero quaternion: ", err)
	}
	if _, err := posesOf(s).CommitRevision(t.Context(), lookup.Transaction{
		Author: "slam",
		Keys: []lookup.Key{
			{Parent: "rover1/map", Child: "rover1/odom", Time: second, Pose: pose.Identity()},
			{Parent: "rover1/map", Child: "rover1/base", Body: true, Time: 2 * second, Pose: pose.Translation(20, 5, 0)},
		},
		Calibrations: []lookup.Calibration{{Parent: "rover1/base", Child: "rover1/tray", Valid: engram.Always(), Pose: pose.Translation(0.7, 0, 0)}},
	}); err != nil {
		t.Fatal(err)
	}
	check(posesOf(s))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	check(posesOf(s))
	wantLeftOut(t, posesOf(s), map[string]uint64{})
	// It goes on where it was.
	mustPut(t, s, "RobotState/Localization/rover1/odom", 4*second, placed("odom", "base", 4, 0))
	at(t, posesOf(s), "rover1/map", "rover1/base", 4*second, 22, 5, 0)
}

// A memory that has more on disk than one answer may hold is started nevertheless.
func TestPosesStartWithMoreThanAnAnswer(t *testing.T) {
	dir := t.TempDir()
	const limit, committed = 500, 700
	for life := range 2 {
		store, err := ltm.Open(t.Context(), ltm.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}, Store: store, Limits: wm.Limits{MaxResults: limit}})
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		if life == 0 {
			for i := range committed {
				mustPut(t, s, "RobotState/Localization/rover1/odom,base", engram.Time(i)*second, placed("odom", "base", float64(i), 0))
			}
		}
		at(t, posesOf(s), "rover1/odom", "rover1/base", (committed-1)*second, committed-1, 0, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
