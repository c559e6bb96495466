package memories

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
)

// simulation commits what a simulation says of a robot whose stamps are at, while real time goes on. Run counts from 0.
func simulation(t *testing.T, s engram.Writer, run int, at engram.Time) {
	t.Helper()
	seconds, far := float64(at)/1e9, float64(100*run)
	mustPut(t, s, "RobotState/Localization/sim/odom,base", at, placed("odom", "base", far+seconds, 0))
	mustPut(t, s, "RobotState/Proprioception/sim/joints", at, map[string]any{"name": []string{"pan"}, "position": []float64{seconds/100 + float64(run)}})
	// The cup goes from the table to the hand, at 8 s of the first run and at 4 s of the second.
	holder := "table"
	if at >= engram.Time(8-4*run)*second {
		holder = "base"
	}
	mustPut(t, s, "RobotState/Localization/sim/"+holder+",cup", at, placed(holder, "cup", far+seconds, 0))
}

// TestRunsOfALiveClock lets a simulation begin anew: poses are of the new run alone, be it those of edges and joints that are
// said again or of one that is said so seldom that its stamps have not come back yet. What another publisher says, and an
// import, stays. A server that is started with what the memory has on disk answers the same.
func TestRunsOfALiveClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := withLog(t, dir)
		mustPut(t, s, "RobotState/Description/sim/sim", second, map[string]any{"urdf": roverURDF})
		began := engram.Now()
		for run := range 2 {
			for i := range engram.Time(50 - 20*run) {
				// The second run's stamps lie between those of the first.
				stamp := second + i*second/5 + engram.Time(run)*second/10
				simulation(t, s, run, stamp)
				mustPut(t, s, "RobotState/Localization/real/odom,base", engram.Now(), placed("odom", "base", float64(engram.Now()-began)/1e9, 0))
				if run == 0 && i%20 == 0 {
					mustPut(t, s, "RobotState/Localization/sim/map,odom", stamp, placed("map", "odom", 1, 0))
				}
				time.Sleep(200 * time.Millisecond)
			}
		}
		check := func(s *server.Server, joints bool) {
			t.Helper()
			p := posesOf(s)
			for _, when := range []engram.Time{second * 11 / 10, second * 14 / 10, second * 3 / 2, second * 11 / 2} {
				seconds := float64(when) / 1e9
				at(t, p, "sim/odom", "sim/base", when, 100+seconds, 0, 0)
				if joints {
					at(t, p, "sim/mast", "sim/head", when, 0, 0, 1+seconds/100)
				}
				holder := "sim/table"
				if when >= 4*second {
					holder = "sim/base"
				}
				at(t, p, holder, "sim/cup", when, 100+seconds, 0, 0)
			}
			if a := ask(t, p, "sim/odom", "sim/base", 9*second); a.Err == nil {
				t.Errorf("after the second run %v is answered", a)
			}
			if a := ask(t, p, "sim/map", "sim/base", 5*second); a.Err == nil {
				t.Errorf("by a pose of the first run and one of the second %v is answered", a)
			}
			at(t, p, "real/odom", "real/base", began.Add(time.Second), 1, 0, 0)
		}
		check(s, true)
		// A description takes the joint states of the present run once more, and no others.
		mustPut(t, s, "RobotState/Description/sim/sim", 2*second, map[string]any{"urdf": roverURDF + "<!-- -->"})
		check(s, true)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = withLog(t, dir)
		defer s.Close()
		check(s, false) // the log has no joint states
	})
}

// TestRunsThatAreRestored brings two runs of joint states into the poses as a server does that begins anew. Where they were
// sent when they arrived, the poses are of the second; where they are of recordings, of both.
func TestRunsThatAreRestored(t *testing.T) {
	typ, _ := Type("engram.robot_state.Proprioception")
	for _, recorded := range []bool{false, true} {
		p := newPoses(DefaultPoseRetention())
		if err := p.describe(t.Context(), engram.MustID("RobotState/Description/sim/sim"), 0, describing(t, roverURDF)); err != nil {
			t.Fatal(err)
		}
		arrived := 1000 * second
		for run := range 2 {
			for i := range engram.Time(20) {
				b, err := typ.Encode(map[string]any{"name": []string{"pan"}, "position": []float64{float64(run)}})
				if err != nil {
					t.Fatal(err)
				}
				instance := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})
				if instance.Sent, instance.HasSent = arrived, true; recorded {
					instance.Sent = i * second
				}
				stamp := i*second + engram.Time(run)*second/2
				id := engram.MustID("RobotState/Proprioception/sim/joints").At(stamp)
				p.restore(t.Context(), &engram.Item{ID: id, Snapshot: &engram.Snapshot{Time: stamp, Arrived: arrived, Instances: []engram.Instance{instance}}})
				arrived += second
			}
		}
		want := 1.0
		if recorded {
			want = 0.5
		}
		at(t, p.service, "sim/mast", "sim/head", 10*second+second/4, 0, 0, want)
	}
}

// describing encodes a description.
func describing(t *testing.T, text string) []byte {
	t.Helper()
	typ, _ := Type("engram.robot_state.Description")
	b, err := typ.Encode(map[string]any{"urdf": text})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRunOlderThanWhatIsKept lets a simulation begin anew after so long that the poses keep nothing of its beginning.
func TestRunOlderThanWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{RobotState(WithPoseRetention(pose.Retention{MaxCount: 10}))}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for run := range 2 {
			for i := range engram.Time(200 - 180*run) {
				mustPut(t, s, "RobotState/Localization/sim/odom,base", i*second/5, placed("odom", "base", float64(i), float64(run)))
				time.Sleep(200 * time.Millisecond)
			}
		}
		at(t, posesOf(s), "sim/odom", "sim/base", 3*second, 15, 1, 0)
	})
}

// TestLateDataLetsGoOfNothing commits late data: the poses have them beside the others.
func TestLateDataLetsGoOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		put := func(stamp engram.Time) {
			mustPut(t, s, "RobotState/Localization/sim/odom,base", stamp, placed("odom", "base", float64(stamp)/1e9, 0))
		}
		for i := range engram.Time(50) {
			if i != 10 && i != 11 {
				put(i * second / 5)
			}
			if i == 30 { // held back for 4 s
				put(10 * second / 5)
				put(11 * second / 5)
			}
			time.Sleep(200 * time.Millisecond)
		}
		for i := range engram.Time(50) {
			at(t, posesOf(s), "sim/odom", "sim/base", i*second/5, float64(i)/5, 0, 0)
		}
	})
}

// TestWritesInAnyOrderStay commits poses in no order of time, as a program does that fills in what it has on file, slowly
// and fast: all of them are there.
func TestWritesInAnyOrderStay(t *testing.T) {
	for _, pause := range []time.Duration{2 * time.Millisecond, 200 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			put := func(stamp engram.Time) {
				mustPut(t, s, "RobotState/Localization/r/odom,base", stamp, placed("odom", "base", float64(stamp)/1e9, 0))
			}
			for i := range engram.Time(20) { // live, and then what was before
				put((1000 + i) * second)
				time.Sleep(time.Second)
			}
			for i := range engram.Time(150) {
				put((800 + i) * second)
				time.Sleep(pause)
			}
			for _, when := range []engram.Time{800*second + second/2, 949 * second, 1000 * second, 1018*second + second/2} {
				at(t, posesOf(s), "r/odom", "r/base", when, float64(when)/1e9, 0, 0)
			}
		})
	}
}
