package memories

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
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
				commit("Proprioception", "sim/arm", at, false)
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
		for _, entity := range []string{"Localization/sim/base", "Proprioception/sim/arm"} {
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
