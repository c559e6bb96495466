package sim

import "github.com/seed-301d4374/engram/mind/pose"

type vec3 = pose.Vec3

func xyz(x, y, z float64) vec3 { return vec3{X: x, Y: y, Z: z} }

// unit returns the vector of length 1 in v's direction.
func unit(v vec3) vec3 { return v.Scale(1 / v.Norm()) }

// ramp rises smoothly from 0 to 1 while t goes from start to end.
func ramp(t, start, end float64) float64 {
	s := min(max((t-start)/(end-start), 0), 1)
	return s * s * s * (s*(6*s-15) + 10)
}
