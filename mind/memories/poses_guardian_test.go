package memories

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const tiltURDF = `<robot name="guardian">
  <link name="laser_tilt_mount_link"/><link name="laser_tilt_link"/>
  <joint name="laser_tilt_joint" type="continuous">
    <parent link="laser_tilt_mount_link"/><child link="laser_tilt_link"/><axis xyz="0 1 0"/>
  </joint>
</robot>`

// The joint states of a recording, through a description of the tilting mount,
// reproduce its own transforms of that edge; and the transforms answer everywhere
// within the recording.
func TestPosesGuardianTilt(t *testing.T) {
	bag := testkit.Shared(t, "recordings", "guardian_palette.bag")
	const mount, tilt = "guardian/laser_tilt_mount_link", "guardian/laser_tilt_link"
	open := func(urdf string) (*server.Server, lookup.Service) {
		s, p := newPoseServer(t)
		mustPut(t, s, "RobotState/Description/guardian/guardian", 0, map[string]any{"urdf": urdf})
		if _, err := ingest.Import(t.Context(), s, bag, ingest.Options{Source: "guardian"}); err != nil {
			t.Fatal(err)
		}
		return s, p
	}
	memory, transforms := open("")
	_, joints := open(tiltURDF)
	edges, err := transforms.Path(t.Context(), mount, tilt, 0)
	if err != nil || len(edges) != 1 || edges[0].Samples < 1000 || edges[0].Joint != "" {
		t.Fatal(edges, err)
	}
	// At the transforms' own times: there are more joint states than transforms.
	entity := engram.MustID("RobotState/Localization/guardian/laser_tilt_mount_link,laser_tilt_link")
	history, err := memory.Query(t.Context(), engram.SelectID(entity, engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var questions []lookup.Question
	for it := range history.All() {
		questions = append(questions, lookup.Question{Target: mount, Source: tilt, Time: it.Time})
	}
	if len(questions) < 1000 {
		t.Fatalf("there are only %d transforms", len(questions))
	}
	want, err := transforms.LookUp(t.Context(), questions)
	if err != nil {
		t.Fatal(err)
	}
	got, err := joints.LookUp(t.Context(), questions)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0.0
	for i := range questions {
		if want[i].Err != nil || got[i].Err != nil {
			t.Fatalf("%v: %v, %v", questions[i].Time, want[i].Err, got[i].Err)
		}
		if trans, rot := want[i].Pose.Distance(got[i].Pose); trans > 1e-9 || rot > 1e-7 {
			t.Fatalf("%v: %v by the joint, %v by the transform", questions[i].Time, got[i].Pose, want[i].Pose)
		}
		_, rot := want[i].Pose.Distance(want[0].Pose)
		moved = max(moved, rot)
	}
	if moved < 0.1 {
		t.Errorf("the mount tilted by %g rad only", moved)
	}
}
