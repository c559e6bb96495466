package predict

import "strings"

// Pose is a member of which position and rotation are predicted, by where their members begin: x, y, z and x, y, z, w.
type Pose struct {
	Path                  string
	Translation, Rotation int
}

// Poses finds the poses among the members.
func (m *Members) Poses() (poses []Pose) {
	for _, r := range m.rotations {
		of := strings.TrimSuffix(m.Paths[r], ".x")
		path, dot := "", ""
		if i := strings.LastIndexByte(of, '.'); i >= 0 {
			path, dot = of[:i], "."
		}
		for i := 0; i+3 <= len(m.Paths); i++ {
			for _, name := range [...]string{"position", "translation"} {
				at := path + dot + name
				if m.Paths[i] == at+".x" && m.Paths[i+1] == at+".y" && m.Paths[i+2] == at+".z" {
					poses = append(poses, Pose{path, i, r})
				}
			}
		}
	}
	return poses
}

// Covariance is that of a predicted pose, row by row as ROS has it: x, y, z and the rotation about the fixed axes x, y, z.
// It comes of the numbers' standard deviations, which errors lately tell; those of position are taken as independent.
func (p *Pose) Covariance(f *Forecast) (c [36]float64) {
	for k := range 3 {
		c[7*k] = f.SD[p.Translation+k] * f.SD[p.Translation+k]
	}
	q, sd := [4]float64(f.Mean[p.Rotation:]), [4]float64(f.SD[p.Rotation:])
	// A small turn a changes q by a⊗q/2, so a is twice the vector of δq⊗q*.
	turns := [3][4]float64{
		{q[3], -q[2], q[1], -q[0]},
		{q[2], q[3], -q[0], -q[1]},
		{-q[1], q[0], q[3], -q[2]},
	}
	for a := range 3 {
		for b := range 3 {
			for k := range 4 {
				c[6*(3+a)+3+b] += 4 * turns[a][k] * turns[b][k] * sd[k] * sd[k]
			}
		}
	}
	return c
}
