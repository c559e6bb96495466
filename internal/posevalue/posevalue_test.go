package posevalue

import (
	"testing"

	"github.com/seed-301d4374/engram/pose"
)

func TestPoses(t *testing.T) {
	at := pose.Pose{T: pose.Vec3{X: 1, Y: 2, Z: 3}, R: pose.AxisAngle(pose.Vec3{Z: 1}, 1)}
	bare := map[string]any{"position": map[string]any{"x": 1.0, "y": 2.0, "z": 3.0}}
	for _, read := range []func(any) (pose.Pose, bool){Of, OrIdentity} {
		if p, ok := read(To(at)); !ok || p != at {
			t.Errorf("%v came back as %v", at, p)
		}
		if _, ok := read(map[string]any{"orientation": map[string]any{"w": 0.0, "x": 5e-324}}); ok {
			t.Error("a rotation of no length is a pose")
		}
	}
	if _, ok := Of(bare); ok {
		t.Error("what has no rotation is a pose")
	}
	if p, ok := OrIdentity(bare); !ok || p != pose.Translation(1, 2, 3) {
		t.Errorf("without a rotation it is %v", p)
	}
	if p, ok := OrIdentity(nil); !ok || p != pose.Identity() {
		t.Errorf("nothing is %v", p)
	}
	known := pose.DiagonalCov(0.1, 0.2)
	m := known.ROS(at)
	list := make([]any, len(m))
	for i := range m {
		list[i] = m[i]
	}
	if c := Cov(list, at); c.State() != pose.Estimated {
		t.Errorf("a covariance is %v", c.State())
	}
	list[0] = -1.0
	for _, v := range []any{nil, list[:35], list} {
		if c := Cov(v, at); c.State() != pose.Unknown {
			t.Errorf("a covariance that is none is %v", c.State())
		}
	}
}
