// Package posevalue turns poses into members of decoded messages of the type Pose, and back.
package posevalue

import "github.com/seed-301d4374/engram/pose"

// Of reads a pose of a decoded message; ok is false if it is none, such as one without a rotation.
func Of(v any) (p pose.Pose, ok bool) {
	p, err := read(v).Checked()
	return p, err == nil
}

// OrIdentity is Of, but what was left out of the pose is as in the identity.
func OrIdentity(v any) (p pose.Pose, ok bool) {
	p = read(v)
	if p.R == (pose.Quat{}) {
		p.R = pose.Identity().R
	}
	p, err := p.Checked()
	return p, err == nil
}

func read(v any) pose.Pose {
	m, _ := v.(map[string]any)
	t, _ := m["position"].(map[string]any)
	r, _ := m["orientation"].(map[string]any)
	number := func(m map[string]any, key string) float64 { f, _ := m[key].(float64); return f }
	return pose.Pose{
		T: pose.Vec3{X: number(t, "x"), Y: number(t, "y"), Z: number(t, "z")},
		R: pose.Quat{W: number(r, "w"), X: number(r, "x"), Y: number(r, "y"), Z: number(r, "z")},
	}
}

// Cov reads the covariance of a pose as ROS has it; what is none is unknown.
func Cov(v any, p pose.Pose) pose.Cov {
	list, _ := v.([]any)
	var m [36]float64
	if len(list) != len(m) {
		return pose.Cov{}
	}
	for i := range m {
		m[i], _ = list[i].(float64)
	}
	c, err := pose.CovFromROS(p, &m)
	if err != nil {
		return pose.Cov{}
	}
	return c
}

// To returns a pose as a message to encode.
func To(p pose.Pose) map[string]any {
	return map[string]any{
		"position":    map[string]any{"x": p.T.X, "y": p.T.Y, "z": p.T.Z},
		"orientation": map[string]any{"w": p.R.W, "x": p.R.X, "y": p.R.Y, "z": p.R.Z},
	}
}
