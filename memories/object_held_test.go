package memories

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// A hand that holds two things lets the one go that it names, where that was.
func TestHandThatHoldsTwo(t *testing.T) {
	s, p := newWorldServer(t, "")
	st := newState(t, s)
	mustPut(t, s, "RobotState/Description/rover/urdf", 0, map[string]any{"urdf": roverURDF})
	for i := range engram.Time(10) {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
	}
	hold := func(at engram.Time, thing string, v map[string]any) {
		v["timestamp"], v["object"] = at, engram.MustID("Object/Instance/rover/"+thing)
		st.other("Object/Attachments/rover/hand", "engram.object.Attachment", at, v)
	}
	in := func(x float64) map[string]any {
		return map[string]any{"frame_id": "base", "active": true, "pose": map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}}
	}
	hold(1*second, "cup", in(1))
	hold(2*second, "plate", in(2))
	hold(4*second, "cup", map[string]any{}) // nobody says where
	hold(6*second, "plate", map[string]any{})
	for thing, x := range map[string]float64{"cup": 5, "plate": 8} {
		eventually(t, "the "+thing, func() bool {
			got, _, err := placedAt(t, p, "rover/odom", thing, 9*second)
			return err == nil && near(got, x, 0)
		})
	}
}
