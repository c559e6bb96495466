package pose

import (
	"fmt"
	"math"

	"github.com/seed-301d4374/engram"
)

// Cov is the covariance of a pose T = T̄·Exp([ρ φ]): a right perturbation, in the
// axes of the child (source) frame, translation first, in m², m·rad and rad².
//
// Unknown is not zero. Mask has bit i set if dimension i (ρx ρy ρz φx φy φz) is
// estimated, and the rows and columns of the others are zero. The zero Cov is
// therefore unknown, and a Cov with a full mask and all zeros is exact.
type Cov struct {
	// S is the upper triangle, row by row: S00 S01 … S05 S11 … S55.
	S    Sym6
	Mask uint8
}

// Sym6 is a symmetric 6×6 matrix, the upper triangle row by row.
type Sym6 [21]float64

// AllDims is the mask of a covariance in which every dimension is estimated.
const AllDims = 0x3f

// From these variances on a dimension is not estimated: drivers write 1e6, 1e9 or the
// greatest number for what they do not measure. An error of a kilometre, or of a whole turn,
// says nothing.
const (
	unmeasuredTrans = 1e6                   // m²
	unmeasuredRot   = 4 * math.Pi * math.Pi // rad²
)

// unmeasured returns the variance from which on dimension i is not estimated.
func unmeasured(i int) float64 {
	if i < 3 {
		return unmeasuredTrans
	}
	return unmeasuredRot
}

// CovState is what is known about an uncertainty.
type CovState uint8

// The states of a covariance.
const (
	Unknown   CovState = iota // nothing is known about some dimension
	Exact                     // taken as free of error
	Estimated                 // every dimension has a variance
)

var covStateNames = [...]string{"unknown", "exact", "estimated"}

// String returns "unknown", "exact" or "estimated".
func (c CovState) String() string {
	if int(c) < len(covStateNames) {
		return covStateNames[c]
	}
	return "unknown state"
}

// ExactCov returns the covariance of a pose taken as free of error.
func ExactCov() Cov { return Cov{Mask: AllDims} }

// DiagonalCov returns a covariance with the standard deviations sigmaTrans (m) and
// sigmaRot (rad) on every axis.
func DiagonalCov(sigmaTrans, sigmaRot float64) Cov {
	c := Cov{Mask: AllDims}
	for i := range 3 {
		c.S[symIndex(i, i)] = sigmaTrans * sigmaTrans
		c.S[symIndex(i+3, i+3)] = sigmaRot * sigmaRot
	}
	return c
}

// NewCov returns the covariance with the full matrix m and every dimension
// estimated, but for those whose variance is so large, 1e6 m² or (2π)² rad², that it says
// that they were not measured. The error is Invalid if m is not finite, symmetric (within 1e-9 of
// its largest element) and positive semidefinite.
func NewCov(m *[6][6]float64) (Cov, error) { return NewPartialCov(m, AllDims) }

// PlanarDims is the mask of what planar odometry and SLAM estimate: x, y and yaw.
const PlanarDims = 1<<0 | 1<<1 | 1<<5

// NewPartialCov returns the covariance with only the dimensions in mask estimated
// (bit i is dimension i of ρx ρy ρz φx φy φz, see [PlanarDims]); what m holds of the
// others is not looked at. The errors are those of [NewCov], and Invalid for a mask
// with other bits.
func NewPartialCov(m *[6][6]float64, mask uint8) (Cov, error) {
	for i := range 6 {
		if m[i][i] >= unmeasured(i) {
			mask &^= 1 << i
		}
	}
	c := Cov{Mask: mask}
	estimated := func(i, j int) bool { return mask>>i&1 == 1 && mask>>j&1 == 1 }
	var largest float64
	for i := range 6 {
		for j := range 6 {
			if !estimated(i, j) {
				continue
			}
			if !finite(m[i][j]) {
				return Cov{}, engram.Errorf(engram.Invalid, "", "covariance has %g at row %d, column %d, counted from 0; it must be finite", m[i][j], i, j)
			}
			largest = math.Max(largest, math.Abs(m[i][j]))
		}
	}
	for i := range 6 {
		for j := i; j < 6; j++ {
			if !estimated(i, j) {
				continue
			}
			if !(math.Abs(m[i][j]-m[j][i]) <= 1e-9*largest) {
				return Cov{}, engram.Errorf(engram.Invalid, "", "covariance has %g at row %d, column %d and %g at the transposed place; it must be symmetric", m[i][j], i, j, m[j][i])
			}
			c.S[symIndex(i, j)] = m[i][j]
		}
	}
	return c.Checked()
}

// Checked returns c without the dimensions that were not measured ([NewCov]), and with the
// rows and columns outside its mask set to zero. The error is Invalid if a number is not finite or if c is not positive semidefinite
// (within rounding).
func (c Cov) Checked() (Cov, error) {
	for i, x := range c.S.diagonal() {
		if x >= unmeasured(i) {
			c.Mask &^= 1 << i
		}
	}
	return c.checked()
}

// checked is Checked of what may be arbitrarily large.
func (c Cov) checked() (Cov, error) {
	if c.Mask&^AllDims != 0 {
		return Cov{}, engram.Errorf(engram.Invalid, "", "covariance mask %#x has bits beyond the six dimensions", c.Mask)
	}
	c.clearUnmasked()
	for i, x := range c.S {
		if !finite(x) {
			return Cov{}, engram.Errorf(engram.Invalid, "", "covariance element %d of 21 is %g", i, x)
		}
	}
	if !c.S.positiveSemidefinite() {
		return Cov{}, engram.Errorf(engram.Invalid, "", "covariance with the diagonal %.3g is not positive semidefinite", c.S.diagonal())
	}
	return c, nil
}

// clearUnmasked sets what is not estimated to zero.
func (c *Cov) clearUnmasked() {
	if c.Mask == AllDims {
		return
	}
	for i := range 6 {
		for j := i; j < 6; j++ {
			if c.Mask>>i&1 == 0 || c.Mask>>j&1 == 0 {
				c.S[symIndex(i, j)] = 0
			}
		}
	}
}

// settle sets what is not estimated to zero. What has grown until it can be told from
// infinity no more, by a lever that is too long, is estimated no more.
func (c *Cov) settle() {
	largest := 0.0
	for _, x := range c.S {
		if x = math.Abs(x); !(x <= largest) {
			largest = x // NaN stays
		}
	}
	if !(largest < endless) {
		for i, x := range c.S.diagonal() {
			if !(x < endless) {
				c.Mask &^= 1 << i
			}
		}
		for i := range 6 {
			for j := i + 1; j < 6; j++ {
				if both := uint8(1<<i | 1<<j); c.Mask&both == both && !(math.Abs(c.S.at(i, j)) < endless) {
					c.Mask &^= both
				}
			}
		}
	}
	c.clearUnmasked()
}

// endless is as good as infinite: its square, and what a lever makes of it, is finite.
const endless = 1e100

// State returns what is known: Unknown if any dimension is not estimated.
func (c *Cov) State() CovState {
	switch {
	case c.Mask != AllDims:
		return Unknown
	case c.S == Sym6{}:
		return Exact
	}
	return Estimated
}

// At returns the element at row i and column j, 0 to 5.
func (c *Cov) At(i, j int) float64 { return c.S.at(i, j) }

// Matrix returns the full matrix.
func (c *Cov) Matrix() (m [6][6]float64) {
	for i := range 6 {
		for j := range 6 {
			m[i][j] = c.S.at(i, j)
		}
	}
	return m
}

// SigmaTrans returns the square root of the sum of the translation's variances, in
// metres; it does not depend on the axes.
func (c *Cov) SigmaTrans() float64 { return math.Sqrt(c.S[0] + c.S[6] + c.S[11]) }

// SigmaRot returns the same for the rotation, in radians.
func (c *Cov) SigmaRot() float64 { return math.Sqrt(c.S[15] + c.S[18] + c.S[20]) }

// String returns the state, and the standard deviations if any dimension has one;
// NaN is one that is not estimated.
func (c Cov) String() string {
	if s := c.State(); s == Exact || c.Mask == 0 {
		return s.String()
	}
	d := c.S.diagonal()
	for i := range d {
		if d[i] = math.Sqrt(d[i]); c.Mask>>i&1 == 0 {
			d[i] = math.NaN()
		}
	}
	return fmt.Sprintf("σ[%.3g %.3g %.3g m, %.3g %.3g %.3g rad]", d[0], d[1], d[2], d[3], d[4], d[5])
}

// symIndex returns the place of row i, column j in a Sym6, for i <= j.
func symIndex(i, j int) int { return i*(11-i)/2 + j }

func (s *Sym6) at(i, j int) float64 {
	if i > j {
		i, j = j, i
	}
	return s[symIndex(i, j)]
}

func (s *Sym6) diagonal() [6]float64 {
	return [6]float64{s[0], s[6], s[11], s[15], s[18], s[20]}
}

// addOuter adds k·v·vᵀ.
func (s *Sym6) addOuter(k float64, v Twist) {
	x := v.components()
	n := 0
	for i := range 6 {
		kx := k * x[i]
		for j := i; j < 6; j++ {
			s[n] += kx * x[j]
			n++
		}
	}
}

// positiveSemidefinite eliminates symmetrically, largest pivot first, and allows
// for rounding relative to the diagonal, so that a rank-deficient covariance (that
// of one joint, say) passes. Rows are scaled to a unit diagonal first, because
// metres and radians may differ by many orders of magnitude.
func (s *Sym6) positiveSemidefinite() bool {
	const tolerance = 1e-9
	var m [6][6]float64
	var scale [6]float64
	for i, d := range s.diagonal() {
		if d < 0 {
			return false
		}
		scale[i] = math.Sqrt(d)
	}
	for i := range 6 {
		for j := range 6 {
			x := s.at(i, j)
			if d := scale[i] * scale[j]; d > 0 {
				m[i][j] = x / d
			} else if x != 0 {
				return false // covariance with something that has no variance
			}
		}
	}
	var used [6]bool
	for range 6 {
		p := -1
		for i := range 6 {
			if !used[i] && (p < 0 || m[i][i] > m[p][p]) {
				p = i
			}
		}
		used[p] = true
		if m[p][p] <= tolerance {
			// Nothing positive is left: the remainder must vanish.
			used[p] = false
			return remainderVanishes(&m, &used, tolerance)
		}
		for i := range 6 {
			if used[i] {
				continue
			}
			f := m[i][p] / m[p][p]
			for j := range 6 {
				m[i][j] -= f * m[p][j]
			}
		}
	}
	return true
}

// remainderVanishes reports whether the rows and columns of m that are not used
// hold nothing beyond rounding. A pivot of at most tolerance bounds an
// off-diagonal element by itself only if m is positive semidefinite.
func remainderVanishes(m *[6][6]float64, used *[6]bool, tolerance float64) bool {
	for i := range 6 {
		for j := range 6 {
			if !used[i] && !used[j] && math.Abs(m[i][j]) > 2*tolerance {
				return false
			}
		}
	}
	return true
}
