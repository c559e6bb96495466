package predict

import (
	"math"
	"time"
)

// Skills tells of each model in use, at the horizon nearest to one, by how much its errors were
// smaller lately than those of holding the last value: 1 is none, 0 as large. Each member that moves
// counts alike. It is empty as long as too little is known.
func (t *Tracker) Skills(horizon time.Duration) map[string]float64 {
	if t.period == 0 {
		return nil
	}
	near := 0
	for h, steps := range horizons {
		if math.Abs(float64(steps)*t.period-float64(horizon)) < math.Abs(float64(horizons[near])*t.period-float64(horizon)) {
			near = h
		}
	}
	var ratio [models]float64
	members := 0
	for i := range t.members {
		c := &t.errors[near*t.n+i]
		if t.kinds[i] == Held || c.seen < 16 || c.square[hold] == 0 {
			continue
		}
		members++
		for k, s := range c.square {
			if (k == told || k == smoothed) && (t.rated == nil || !t.rated.has(i)) {
				s = c.square[hold]
			}
			ratio[k] += math.Sqrt(float64(s / c.square[hold]))
		}
	}
	if members == 0 {
		return nil
	}
	skills := map[string]float64{}
	for k, r := range ratio {
		usable := k < told || k < periodic && t.rated != nil || k == regression || k == periodic && t.repeat > 0 || k == trained && t.said != nil
		if usable {
			skills[modelNames[k]] = 1 - r/float64(members)
		}
	}
	return skills
}
