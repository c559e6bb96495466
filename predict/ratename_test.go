package predict

import "testing"

func TestRatesByName(t *testing.T) {
	paths := []string{"position[0]", "position[1]", "velocity[0]", "velocity[1]", "charge", "charge_rate", "arm.yaw", "arm.yawRate", "pose.position.x", "pose.position.y", "twist.linear.x", "heading", "speed", `position["a"]`, `velocity["a"]`, "a.b_c", "a.b_c_dot"}
	want := map[string]string{"position[0]": "velocity[0]", "position[1]": "velocity[1]", "charge": "charge_rate", "arm.yaw": "arm.yawRate", "pose.position.x": "twist.linear.x", `position["a"]`: `velocity["a"]`, "a.b_c": "a.b_c_dot"}
	r := ratesOf(paths, make([]Kind, len(paths)), nil)
	for i, by := range r.By {
		got := ""
		if by >= 0 {
			got = paths[by]
		}
		if got != want[paths[i]] {
			t.Errorf("%s is told with %q, want %q", paths[i], got, want[paths[i]])
		}
	}
}
