package memories

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// TestClockThatGoesBackIsTold commits two runs of a simulation, late data, and a recording: of the runs the answer to a commit
// says that the clock went back, by how much and whose, and so does the server, for a while.
func TestClockThatGoesBackIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		moved, _ := Type("engram.robot_state.Localization")
		joints, _ := Type("engram.robot_state.Proprioception")
		notes := map[string][]string{}
		commit := func(segment, entity string, at time.Duration, recorded bool) {
			t.Helper()
			typ, value := moved, map[string]any{"parent_frame_id": "odom", "child_frame_id": entity[strings.IndexByte(entity, '/')+1:]}
			if segment == "Proprioception" {
				typ, value = joints, map[string]any{"name": []string{"shoulder"}, "position": []float64{1}}
			}
			b, err := typ.Encode(value)
			if err != nil {
				t.Fatal(err)
			}
			id := engram.MustID("RobotState/" + segment + "/" + entity)
			results, err := s.Commit(t.Context(), engram.Commit{Recorded: recorded, Updates: []engram.EntityUpdate{{
				Entity: id, Time: engram.Time(at), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
			}}})
			if err != nil || results[0].Err != nil {
				t.Fatal(err, results)
			}
			if note := results[0].Note; note != nil && strings.Contains(note.Error(), "go back") {
				notes[segment+"/"+entity] = append(notes[segment+"/"+entity], note.Error())
			}
		}
		for run := range 2 {
			for i := range 50 {
				at := time.Duration(1+i) * 200 * time.Millisecond
				commit("Localization", "sim/base", at, false)
				commit("Proprioception", "simulated/arm", at, false)
				commit("Localization", "bag/base", at, true)
				late := time.Duration(run)*10*time.Second + at
				commit("Localization", "late/base", late, false)
				if i%10 == 9 {
					commit("Localization", "late/base", late-3*time.Second-time.Millisecond, false)
					commit("Localization", "late/base", late-time.Millisecond, false)
				}
				time.Sleep(200 * time.Millisecond)
			}
		}
		for _, entity := range []string{"Localization/sim/base", "Proprioception/simulated/arm"} {
			if got := notes[entity]; len(got) != 1 || !strings.Contains(got[0], entity) || !strings.Contains(got[0], "go back by 9.8s") {
				t.Errorf("of %s is told %q", entity, got)
			}
		}
		if len(notes) != 2 {
			t.Errorf("told is %q", notes)
		}
		if got := s.Troubles(); len(got) != 2 || !strings.Contains(got[0], "sim/") || !strings.Contains(got[0], "go back by 9.8s") {
			t.Errorf("troubles are %q", got)
		}
		time.Sleep(troubled)
		if got := s.Troubles(); len(got) != 0 {
			t.Errorf("after %v troubles are %q", troubled, got)
		}
	})
}

// TestClockOfAReplay commits a description anew, with which the joint states that the memory holds are taken once more: they
// are no clock that goes back.
func TestClockOfAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{RobotState()}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		commit := func(entity string, at time.Duration, value map[string]any) {
			t.Helper()
			id := engram.MustID("RobotState/" + entity)
			typ, _ := Type("engram.robot_state." + id.CoreSegment())
			b, err := typ.Encode(value)
			if err != nil {
				t.Fatal(err)
			}
			results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
				Entity: id, Time: engram.Time(at), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
			}}})
			if err != nil || results[0].Err != nil || results[0].Note != nil {
				t.Fatal(err, results)
			}
		}
		describe := func(at time.Duration) { commit("Description/rover/urdf", at, map[string]any{"urdf": roverURDF}) }
		describe(0)
		for i := range time.Duration(300) { // the simulation is slower than the wall clock
			commit("Proprioception/rover/arm", i*190*time.Millisecond, map[string]any{"name": []string{"pan"}, "position": []float64{1}})
			time.Sleep(200 * time.Millisecond)
		}
		describe(time.Minute)
		if got := s.Troubles(); len(got) != 0 {
			t.Errorf("troubles are %q", got)
		}
	})
}

// TestClockThatGoesBackWithoutEnd plays a bag in a loop: each time is told, and what is kept of them is bounded.
func TestClockThatGoesBackWithoutEnd(t *testing.T) {
	p := &poseClocks{courses: map[engram.ID]*course{}}
	entity, arrived := engram.MustID("RobotState/Localization/bag/base"), engram.Time(0)
	for run := range 3 * maxResets {
		began := arrived
		for i := range engram.Time(25) {
			arrived += second / 5
			p.follow(t.Context(), entity, &engram.Snapshot{Time: i * second / 5, Arrived: arrived})
		}
		c := p.courses[entity]
		if run > 0 && (len(p.back) != 1 || p.back[0] != c || c.at < began || !strings.Contains(c.text(), "go back by 4.8s, ")) {
			t.Fatalf("of run %d is told %q", run, c.text())
		}
		if n := len(c.Resets()); n >= maxResets {
			t.Fatalf("after run %d %d are kept", run, n)
		}
	}
}

// TestClocksInTurnAreNotTold has two publishers commit to one entity in turn: once that is clear, what was told is so no more;
// a clock that goes back later is.
func TestClocksInTurnAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPoses(DefaultPoseRetention())
		entity := engram.MustID("RobotState/Localization/rover/base")
		follow := func(behind time.Duration) {
			for range 15 {
				time.Sleep(200 * time.Millisecond)
				p.clocks.follow(t.Context(), entity, &engram.Snapshot{Time: engram.Now().Add(-behind), Arrived: engram.Now()})
			}
		}
		for range 10 {
			follow(0)
			follow(10 * time.Second)
		}
		if all := p.troubles(); len(all) != 0 {
			t.Errorf("told is %q", all)
		}
		follow(100 * time.Second)
		if all := p.troubles(); len(all) != 1 || !strings.Contains(all[0], "go back by 1m29.8s, ") {
			t.Errorf("of the clock that goes back then, told is %q", all)
		}
	})
}
