package pose

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func loadRobot(t testing.TB, s *Store, name string, opts ...Option) {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "urdf", name+".urdf"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.LoadURDF(f, name, opts...); err != nil {
		t.Fatal(err)
	}
}

func TestForwardKinematicsOracle(t *testing.T) {
	for robot, root := range map[string]string{
		"fetch": "base_link", "pr2": "base_footprint", "spot": "body", "tiago": "base_footprint", "turtlebot3_waffle_pi": "base_footprint",
	} {
		s := New(Config{})
		loadRobot(t, s, robot)
		rows := readCSV(t, "fk/"+robot+".csv")
		at, sample := engram.Time(0), ""
		worst := 0.0
		for _, r := range rows {
			if r["sample"] != sample {
				sample = r["sample"]
				at += 1e9
				var values []JointValue
				for _, nv := range strings.Split(r["joints"], ";") {
					name, value, _ := strings.Cut(nv, "=")
					q, err := strconv.ParseFloat(value, 64)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, JointValue{Name: robot + "/" + name, Q: q})
				}
				if err := s.SetJoints(at, values); err != nil {
					t.Fatal(err)
				}
			}
			got, _, fail := s.Lookup(robot+"/"+root, robot+"/"+r["link"], at)
			if fail.Code != OK {
				t.Fatalf("%s: %v", robot, fail.Err())
			}
			e := poseError(got, r.pose(t, ""))
			if !(e <= 1e-9) {
				t.Errorf("%s, sample %s, link %s: differs by %g", robot, sample, r["link"], e)
			}
			worst = max(worst, e)
		}
		t.Logf("%s: %d poses, largest difference %.2g", robot, len(rows), worst)
	}
}
