package predict

import "math"

// Off is by how much a member is off from what was expected: of an angle the short way round.
func (t *Tracker) Off(i int, truth, expected float64) float64 {
	if t.kinds[i] == Angle {
		return math.Remainder(truth-expected, 2*math.Pi)
	}
	return truth - expected
}

// wrapped reports whether an angle, in rad, went round from one value to the next: it was near
// one end of what angles are told in, ±π or 0 and 2π, and is near the other.
func wrapped(before, after float64) bool {
	const near = 0.5
	low, high := math.Min(before, after), math.Max(before, after)
	if math.Abs(high-low-2*math.Pi) > near {
		return false
	}
	return math.Abs(low+math.Pi) < near && math.Abs(high-math.Pi) < near || math.Abs(low) < near && math.Abs(high-2*math.Pi) < near
}

// Unwrap makes angles of a series go on without jumps, in place: as a Tracker sees them.
func Unwrap(kinds []Kind, rows [][]float64) {
	for i, k := range kinds {
		if k != Angle && k != Radian {
			continue
		}
		wraps := k == Angle
		for s := 1; s < len(rows); s++ {
			before := rows[s-1][i]
			if wraps = wraps || wrapped(before, rows[s][i]); wraps {
				rows[s][i] = before + math.Remainder(rows[s][i]-before, 2*math.Pi)
			}
		}
	}
}

// wrap tells angles in the range that they were told in.
func (t *Tracker) wrap(f *Forecast) {
	for i, k := range t.kinds {
		if k != Angle {
			continue
		}
		low := -math.Pi
		if t.members[i].positive {
			low = 0
		}
		off := -2 * math.Pi * math.Floor((f.Mean[i]-low)/(2*math.Pi))
		f.Mean[i], f.Low[i], f.High[i] = f.Mean[i]+off, f.Low[i]+off, f.High[i]+off
	}
}
