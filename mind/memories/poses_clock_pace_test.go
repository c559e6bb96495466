package memories

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// stretch is a part of what a publisher says: count stamps from a time on, step apart, one each pause. The first ones come all
// at once.
type stretch struct {
	from, step, pause time.Duration
	count, atOnce     int
}

// TestPaceOfRuns lets a clock go back whose runs begin slowly, pause, are short or come in a burst: the poses are of the last
// stretch alone. Old data that come faster than a clock goes let go of nothing, file after file.
func TestPaceOfRuns(t *testing.T) {
	const tenth = 100 * time.Millisecond
	live := stretch{10 * time.Second, tenth, tenth, 100, 0}
	anew := stretch{0, tenth, tenth, 100, 0}
	for name, c := range map[string]struct {
		all  []stretch
		keep bool
	}{
		"plain":                   {[]stretch{live, anew}, false},
		"after an hour's pause":   {[]stretch{live, {20 * time.Second, tenth, time.Hour, 1, 0}, {21 * time.Second, tenth, tenth, 20, 0}, anew}, false},
		"a slow beginning":        {[]stretch{live, {0, tenth, 20 * tenth, 20, 0}, {2 * time.Second, tenth, tenth, 20, 0}}, false},
		"a pause after the first": {[]stretch{live, {0, tenth, time.Minute, 1, 0}, {tenth, tenth, tenth, 50, 0}}, false},
		"one before":              {[]stretch{{10 * time.Second, tenth, tenth, 1, 0}, anew}, false},
		"two before":              {[]stretch{{10 * time.Second, tenth, tenth, 2, 0}, anew}, false},
		"a burst after it":        {[]stretch{live, {0, tenth, tenth, 100, 20}}, false},
		"fast":                    {[]stretch{{10 * time.Second, tenth, tenth / 8, 100, 0}, {0, tenth, tenth / 8, 100, 0}}, false},
		"fast, after a short run": {[]stretch{{10 * time.Second, tenth, tenth / 8, 100, 0}, {5 * time.Second, tenth, tenth / 8, 3, 0}, {0, tenth, tenth / 8, 100, 0}}, false},
		"fast, twice by a second": {[]stretch{{10 * time.Second, tenth, tenth / 8, 100, 0}, {time.Second, tenth, tenth / 8, 2, 0}, {0, tenth, tenth / 8, 100, 0}}, false},
		"files":                   {[]stretch{{1000 * time.Second, tenth, tenth, 100, 0}, {800 * time.Second, time.Second, 2 * time.Millisecond, 150, 0}, {600 * time.Second, time.Second, 2 * time.Millisecond, 150, 0}}, true},
		"files alone":             {[]stretch{{800 * time.Second, time.Second, 2 * time.Millisecond, 150, 0}, {600 * time.Second, time.Second, 2 * time.Millisecond, 150, 0}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				said := map[engram.Time]float64{}
				for n, p := range c.all {
					if n > 0 && p.from < c.all[n-1].from && !c.keep {
						clear(said)
					}
					for i := range p.count {
						stamp := engram.Time(p.from + time.Duration(i)*p.step)
						said[stamp] = float64(stamp) / 1e9
						mustPut(t, s, "RobotState/Localization/sim/odom,base", stamp, placed("odom", "base", float64(stamp)/1e9, 0))
						if i >= p.atOnce {
							time.Sleep(p.pause)
						}
					}
				}
				for stamp, x := range said {
					at(t, posesOf(s), "sim/odom", "sim/base", stamp, x, 0, 0)
				}
				if a := ask(t, posesOf(s), "sim/odom", "sim/base", engram.Time(c.all[0].from)); a.Err == nil && !c.keep {
					t.Errorf("of the run before is answered %v", a)
				}
			})
		})
	}
}

// TestRunsOfARobot lets a simulation begin anew whose edges and joints are said at rates of their own, some so seldom that they
// are not said again, faster and slower than real time: no path is of two runs. What rests stays where it is, as does what has
// another clock.
func TestRunsOfARobot(t *testing.T) {
	for _, pace := range []time.Duration{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			mustPut(t, s, "RobotState/Description/sim/sim", second, map[string]any{"urdf": roverURDF})
			mustPut(t, s, "RobotState/Localization/sim/tf", second, placed("base", "camera", 0.5, 0, "is_static", true))
			for run := range 2 {
				x := float64(1 + run)
				for i := range engram.Time(120 - 90*run) {
					stamp := second + i*second/10
					if i%10 == 0 { // before the faster ones
						mustPut(t, s, "RobotState/Localization/sim/slow", stamp, placed("earth", "map", x, 0))
					}
					if i%20 == 3 && run == 0 {
						mustPut(t, s, "RobotState/Localization/sim/map,odom", stamp, placed("map", "odom", x, 0))
						mustPut(t, s, "RobotState/Proprioception/sim/joints", stamp, map[string]any{"name": []string{"pan"}, "position": []float64{x}})
					}
					if i%10 == 5 {
						mustPut(t, s, "RobotState/Localization/sim/wall", engram.Now(), placed("room", "clock", 1, 0))
					}
					// One edge moves, and one rests, in one snapshot.
					mustPutAll(t, s, "RobotState/Localization/sim/tf", stamp, placed("odom", "base", x, 0), placed("base", "lidar", 2, 0, "is_static", true))
					mustPut(t, s, "RobotState/Localization/sim/truth", stamp, placed("odom", "base", 7, 0))
					time.Sleep(100 * time.Millisecond / pace)
				}
			}
			p := posesOf(s)
			at(t, p, "sim/odom", "sim/base", 2*second, 2, 0, 0)
			at(t, p, "sim/earth", "sim/map", 2*second, 2, 0, 0)
			at(t, p, "sim/base", "sim/camera", 2*second, 0.5, 0, 0)
			at(t, p, "sim/base", "sim/lidar", 2*second, 2, 0, 0)
			at(t, p, "sim/room", "sim/clock", engram.Now()-2*second, 1, 0, 0)
			for _, way := range [][2]string{{"map", "base"}, {"mast", "head"}} {
				for _, when := range []engram.Time{2 * second, 11 * second} {
					if a := ask(t, p, "sim/"+way[0], "sim/"+way[1], when); a.Err == nil {
						t.Errorf("%v at %v, of two runs: %v", way, when, a.Pose)
					}
				}
			}
		})
	}
}

// mustPutAll commits several instances as one snapshot.
func mustPutAll(t *testing.T, s engram.Writer, entity string, at engram.Time, values ...map[string]any) {
	t.Helper()
	id := engram.MustID(entity)
	typ, _ := Type("engram.robot_state." + id.CoreSegment())
	u := engram.EntityUpdate{Entity: id, Time: at}
	for _, v := range values {
		b, err := typ.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b}))
	}
	if results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || results[0].Err != nil {
		t.Fatal(fmt.Sprint(err, results))
	}
}
