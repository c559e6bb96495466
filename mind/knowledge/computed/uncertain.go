package computed

import (
	"math"
	"sync"

	"github.com/seed-301d4374/engram/mind/pose"
)

// probability integrates over where the first body may be in the second one's frame. The nodes
// are those of a lattice in six dimensions and their opposites, all of equal weight, so that
// equal poses have equal answers; the error is about 0.02.
func (s *Scene) probability(r *Relation, a, b *solid, holds bool) float64 {
	c := s.source.between(a.Body, b.Body)
	if c.S == (pose.Sym6{}) {
		if holds {
			return 1
		}
		return 0
	}
	root := rootOf(&c)
	n, moved, all := 0, new(solid), nodes()
	for i := range lattice {
		z := &all[i]
		var x [6]float64
		for i := range 6 {
			for j := range i + 1 {
				x[i] += root[i][j] * z[j]
			}
		}
		t := pose.Twist{Rho: pose.Vec3{X: x[0], Y: x[1], Z: x[2]}, Phi: pose.Vec3{X: x[3], Y: x[4], Z: x[5]}}
		for _, sign := range [2]float64{1, -1} {
			if *moved = a.at(a.Pose.Mul(pose.Exp(t.Scale(sign)))); r.holds(s, moved, b) {
				n++
			}
		}
	}
	if holds { // at the estimate, so it is not impossible
		return max(float64(n), 0.5) / (2 * lattice)
	}
	return float64(n) / (2 * lattice)
}

// lattice is the number of nodes without their opposites.
const lattice = 128

// nodes returns standard normal vectors that fill space evenly: the additive sequence of the
// root of x⁷ = x+1 (Roberts), through the inverse of the normal distribution.
var nodes = sync.OnceValue(func() *[lattice][6]float64 {
	z := new([lattice][6]float64)
	const root = 1.1127756842787055
	for k := range z {
		step := 1.0
		for i := range 6 {
			step /= root
			_, u := math.Modf(0.5 + float64(k+1)*step)
			z[k][i] = math.Sqrt2 * math.Erfinv(2*u-1)
		}
	}
	return z
})

// rootOf returns the lower triangle L with L·Lᵀ the covariance; a dimension without variance has
// none in it.
func rootOf(c *pose.Cov) (l [6][6]float64) {
	for j := range 6 {
		d := c.At(j, j)
		for k := range j {
			d -= l[j][k] * l[j][k]
		}
		if d <= 1e-12*c.At(j, j) {
			continue
		}
		l[j][j] = math.Sqrt(d)
		for i := j + 1; i < 6; i++ {
			x := c.At(i, j)
			for k := range j {
				x -= l[i][k] * l[j][k]
			}
			l[i][j] = x / l[j][j]
		}
	}
	return l
}
