package boxes

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram/pose"
)

// Kind is a kind of boxes that is looked for.
type Kind struct {
	Name  string
	Sizes []pose.Vec3 // edge lengths along its axes, m; several if it comes in several
}

// Matched is a box with what it probably is.
type Matched struct {
	Box
	Kind int // the index of the kind
	// Middle is the pose of the kind's box, with its axes: where a side is hidden, the box
	// goes on to the size that the kind has. A box looks the same after half a turn; Turns
	// are the poses that look so, this one the first.
	Middle pose.Pose
	Turns  []pose.Pose
	Size   pose.Vec3 // of the kind, along its axes
	Error  float64   // greatest difference of a seen size, m
	// Second is the error of the next best kind, and Others are the kinds that fit about as
	// well: a box that may as well be another is told by that.
	Second float64
	Others []Matched
}

// alike is by how much errors of kinds differ that fit equally well, m.
const alike = 0.004

// tolerance is by how much a size may differ, m.
func tolerance(size float64) float64 { return 0.012 + 0.06*size }

// Match returns what the boxes are by their sizes, those that fit none left out.
func Match(found []Box, kinds []Kind) []Matched {
	var all []Matched
	for _, b := range found {
		var fits []Matched
		for k, kind := range kinds {
			if m, ok := matchKind(b, kind); ok {
				m.Kind = k
				fits = append(fits, m)
			}
		}
		if len(fits) == 0 {
			continue
		}
		slices.SortStableFunc(fits, func(a, b Matched) int { return cmp.Compare(a.Error, b.Error) })
		best := fits[0]
		best.Second = math.Inf(1)
		for _, m := range fits[1:] {
			best.Second = min(best.Second, m.Error)
			if m.Error-best.Error < alike {
				best.Others = append(best.Others, m)
			}
		}
		all = append(all, best)
	}
	slices.SortStableFunc(all, func(a, b Matched) int { return cmp.Compare(a.Error, b.Error) })
	return all
}

// matchKind returns the way in which a kind's box fits best: which of its axes are up and
// along x.
func matchKind(b Box, kind Kind) (best Matched, ok bool) {
	seen := [3]float64{b.Size.X, b.Size.Y, b.Size.Z}
	best.Error = math.Inf(1)
	for _, size := range kind.Sizes {
		edges := [3]float64{size.X, size.Y, size.Z}
		for _, order := range [6][3]int{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}} {
			// The kind's axis order[i] lies along the box's axis i.
			worst, fits := 0.0, true
			for i, axis := range order {
				d := seen[i] - edges[axis]
				if i < 2 && b.Hidden[i] != 0 && d < 0 {
					d /= 4 // the rest may be hidden, but then less fits
					if seen[i] > 0.02 && -d > edges[axis]/4 {
						fits = false
					}
				}
				if math.Abs(d) > tolerance(edges[axis]) {
					fits = false
				}
				worst = max(worst, math.Abs(d))
			}
			if !fits || worst >= best.Error {
				continue
			}
			ok = true
			best = Matched{Box: b, Error: worst, Size: size}
			middle := b.Pose
			for i := range 2 {
				if missing := edges[order[i]] - seen[i]; b.Hidden[i] != 0 && missing > 0 {
					var off pose.Vec3
					if i == 0 {
						off.X = b.Hidden[0] * missing / 2
					} else {
						off.Y = b.Hidden[1] * missing / 2
					}
					middle.T = middle.Apply(off)
				}
			}
			best.Turns = turns(middle, order)
			best.Middle = best.Turns[0]
		}
	}
	return best, ok
}

// turns returns the poses of a kind's frame that lie in a box that way; a box of three
// different edges has four.
func turns(middle pose.Pose, order [3]int) []pose.Pose {
	units := [3]pose.Vec3{{X: 1}, {Y: 1}, {Z: 1}}
	// The kind's axis order[i] points along plus or minus the box's axis i.
	var all []pose.Pose
	for _, sign := range [4][2]float64{{1, 1}, {-1, -1}, {1, -1}, {-1, 1}} {
		var columns [3]pose.Vec3
		columns[order[2]] = units[2].Scale(sign[1])
		columns[order[0]] = units[0].Scale(sign[0])
		// The third follows, as the frame is right-handed.
		third := order[1]
		columns[third] = columns[(third+1)%3].Cross(columns[(third+2)%3])
		r := fromColumns(columns[0], columns[1], columns[2])
		all = append(all, pose.Pose{T: middle.T, R: middle.R.Mul(r)})
	}
	return all
}
