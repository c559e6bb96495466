package memories_test

import (
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/predict/chain"
)

const armURDF = `<robot name="arm">
  <link name="base"/><link name="upper"/><link name="lower"/><link name="hand"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="9"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="9"/></joint>
  <joint name="wrist" type="fixed"><parent link="lower"/><child link="hand"/><origin xyz="0.3 0 0"/></joint>
</robot>`

// A cup in the hand of an arm that moves, on a platform that drives, is predicted along the way of the hand: much better than
// where the hand is now, and as surely as is said.
func TestPredictInAMovingHand(t *testing.T) {
	srv := newServer(t, memories.RobotState(), memories.Object())
	base := engram.Time(1e18)
	const rate = 50.0
	shoulder := func(s float64) float64 { return 0.2 + 1.2*s }
	elbow := func(s float64) float64 { return 0.5 - 0.8*s }
	put := func(id, typ string, at engram.Time, m map[string]any) { t.Helper(); commitAs(t, srv, id, typ, at, m) }
	when := func(s float64) engram.Time { return base.Add(time.Duration(s * 1e9)) }
	put("RobotState/Description/arm/arm", "engram.robot_state.Description", base, map[string]any{"name": "arm", "urdf": armURDF})
	for i := range 60 {
		s := float64(i) / rate
		at := when(s)
		put("RobotState/Proprioception/arm/joints", "engram.robot_state.Proprioception", at, map[string]any{"timestamp": at,
			"name": []any{"shoulder", "elbow"}, "position": []any{shoulder(s), elbow(s)}})
		put("RobotState/Localization/arm/base", "engram.robot_state.Localization", at, map[string]any{"timestamp": at,
			"parent_frame_id": "/map", "child_frame_id": "base", "translation": map[string]any{"x": 0.3 * s}, "rotation": map[string]any{"w": 1.0}})
	}
	hand := func(s float64) (x, y float64) {
		a, b := shoulder(s), shoulder(s)+elbow(s)
		return 0.3*s + 0.4*math.Cos(a) + 0.3*math.Cos(b), 0.4*math.Sin(a) + 0.3*math.Sin(b)
	}
	end := 59 / rate
	cup := func(s float64) (x, y float64) {
		x, y = hand(s)
		b := shoulder(s) + elbow(s)
		return x + 0.1*math.Cos(b), y + 0.1*math.Sin(b)
	}
	off := func(p pose.Pose, x, y float64) float64 { return math.Hypot(p.T.X-x, p.T.Y-y) }
	in := posevalue.To(pose.Translation(0.1, 0, 0))
	cx, cy := cup(0)
	put("Object/Instance/arm/cup", "engram.object.Instance", base, map[string]any{"timestamp": base, "frame_id": "arm/map", "pose": posevalue.To(pose.Translation(cx, cy, 0))})
	put("Object/Attachments/arm/cup", "engram.object.Attachment", base, map[string]any{"timestamp": base, "frame_id": "arm/hand", "pose": in, "active": true})
	for _, ahead := range []float64{0.1, 0.2, 0.5} {
		at := when(end + ahead)
		a, err := chain.LookUp(t.Context(), srv.Poses(), "arm/map", "arm/hand", at)
		if err != nil {
			t.Fatal(err)
		}
		x, y := hand(end + ahead)
		nx, ny := hand(end)
		if miss, held := off(a.Pose, x, y), math.Hypot(x-nx, y-ny); miss > 0.1*held || len(a.Moving) != 3 {
			t.Errorf("%v s ahead the hand is off by %.4f m, without prediction by %.4f; %+v", ahead, miss, held, a.Moving)
		}
		if a.Cov.State() != pose.Estimated {
			t.Errorf("%v s ahead the covariance is %v", ahead, a.Cov)
		}
		_, o := predictedObject(t, srv, engram.MustID("Object/Instance/arm/cup").At(at))
		p, _ := posevalue.Of(o["pose"])
		x, y = cup(end + ahead)
		nx, ny = cup(end)
		if miss, held := off(p, x, y), math.Hypot(x-nx, y-ny); miss > 0.1*held || o["frame_id"] != "arm/map" {
			t.Errorf("%v s ahead the cup is off by %.4f m in %v, without prediction by %.4f", ahead, miss, o["frame_id"], held)
		}
	}
	// What is known is not predicted; what stands still stays; the motion does not go on for ever.
	a, err := chain.LookUp(t.Context(), srv.Poses(), "arm/map", "arm/hand", when(0.5))
	if x, y := hand(0.5); err != nil || len(a.Moving) != 0 || off(a.Pose, x, y) > 1e-3 {
		t.Errorf("what is known: %+v, %v", a, err)
	}
	a, err = chain.LookUp(t.Context(), srv.Poses(), "arm/lower", "arm/hand", when(end+1))
	if err != nil || len(a.Moving) != 0 || math.Abs(a.Pose.T.X-0.3) > 1e-9 {
		t.Errorf("a fixed edge: %+v, %v", a, err)
	}
	late, err := chain.LookUp(t.Context(), srv.Poses(), "arm/map", "arm/base", when(end+3600))
	if err != nil || late.Pose.T.X > 0.3*(end+2)+0.1 {
		t.Errorf("an hour ahead the platform is at %v, %v", late.Pose, err)
	}
	if soon, err := chain.LookUp(t.Context(), srv.Poses(), "arm/map", "arm/base", when(end+0.2)); err != nil || !(soon.Cov.SigmaTrans() < late.Cov.SigmaTrans()) {
		t.Errorf("it is as sure of an hour as of a moment: %v, %v, %v", soon.Cov, late.Cov, err)
	}
	if _, err := chain.LookUp(t.Context(), srv.Poses(), "arm/map", "arm/nose", when(end+1)); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a frame that there is not: %v", err)
	}
}
