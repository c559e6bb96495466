package depth

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
)

// Class is a box whose edges are known.
type Class struct {
	Name string
	Size pose.Vec3 // metres along the axes of its frame
}

// Match is a class that a box may be.
type Match struct {
	Class Class
	Pose  pose.Pose // cameraFromClass, one of those that look the same
	Cov   pose.Cov
	// Difference is the largest between an edge and that of the class, metres.
	Difference float64
	// Symmetries are the turns of the class's frame after which it looks the same within
	// the tolerance, the identity first: Pose·turn is as good as Pose.
	Symmetries []pose.Quat
}

// Nearest returns the pose among those that look the same whose orientation is nearest to
// that of guess.
func (m *Match) Nearest(guess pose.Pose) pose.Pose {
	best, least := m.Pose, math.Inf(1)
	for _, turn := range m.Symmetries {
		p := m.Pose.Mul(pose.Pose{R: turn})
		if _, angle := p.Distance(guess); angle < least {
			best, least = p, angle
		}
	}
	return best
}

// matches returns the classes that a box may be.
func matches(b *Box, opts *Options) (found []Match) {
	for _, class := range opts.Classes {
		turn, difference := closest(class.Size, b.Size)
		if difference > opts.Tolerance {
			continue
		}
		turned := pose.Pose{R: turn}
		exact := pose.ExactCov()
		m := Match{Class: class, Pose: b.Pose.Mul(turned), Cov: pose.ComposeCov(&b.Cov, turned, &exact), Difference: difference}
		for _, q := range quarterTurns {
			if unlike(turnedSize(q, class.Size), class.Size) <= opts.Tolerance {
				m.Symmetries = append(m.Symmetries, q)
			}
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b Match) int { return cmp.Compare(a.Difference, b.Difference) })
	return found
}

// closest returns the turn of a class, boxFromClass, after which its edges differ least from
// those of a box.
func closest(class, box pose.Vec3) (turn pose.Quat, difference float64) {
	difference = math.Inf(1)
	for _, q := range quarterTurns {
		if d := unlike(turnedSize(q, class), box); d < difference {
			turn, difference = q, d
		}
	}
	return turn, difference
}

// turnedSize returns the edges of a box along the axes after quarter turns.
func turnedSize(q pose.Quat, size pose.Vec3) pose.Vec3 {
	v := q.Rotate(size)
	return pose.Vec3{X: math.Abs(v.X), Y: math.Abs(v.Y), Z: math.Abs(v.Z)}
}

// unlike returns the largest difference between two boxes' edges.
func unlike(a, b pose.Vec3) float64 {
	return max(math.Abs(a.X-b.X), math.Abs(a.Y-b.Y), math.Abs(a.Z-b.Z))
}

// quarterTurns are the 24 rotations that put axes on axes, the identity first.
var quarterTurns = func() (turns []pose.Quat) {
	add := func(q pose.Quat) {
		if !slices.ContainsFunc(turns, func(r pose.Quat) bool { return q.Conj().Mul(r).Angle() < 0.1 }) {
			turns = append(turns, q)
		}
	}
	add(pose.Quat{W: 1})
	for i := range 64 {
		add(pose.RPY(float64(i&3)*math.Pi/2, float64(i>>2&3)*math.Pi/2, float64(i>>4)*math.Pi/2))
	}
	return turns
}()
