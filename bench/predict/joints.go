package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

// jointRow is how good predictions of one entity at one horizon were.
type jointRow struct {
	Entity    string  `json:"entity"`
	Level     string  `json:"level"` // "1", or "1+2" with the model that was trained
	HorizonMS float64 `json:"horizon_ms"`
	Joints    int     `json:"joints"`
	RMSE      float64 `json:"rmse"`
	Hold      float64 `json:"rmse_hold"`
	Ratio     float64 `json:"ratio"`
	// MedianRatio is that of the members' own ratios, of those that move.
	MedianRatio float64 `json:"median_ratio"`
	Band90      float64 `json:"band90"`
	Samples     int     `json:"samples"`
}

// joints measures all entities that all recordings have.
func joints(learned []*recording, judged *recording) ([]jointRow, error) {
	var rows []jointRow
	for _, name := range judged.order {
		if strings.Contains(name, "command") {
			continue
		}
		e := judged.states[name]
		model, err := train(learned, judged, name)
		if err != nil {
			return nil, err
		}
		for _, m := range []*predict.Model{nil, model} {
			got, err := measure(judged, name, e, m)
			if err != nil {
				return nil, err
			}
			rows = append(rows, got...)
			if model == nil {
				break
			}
		}
	}
	return rows, nil
}

// series are the snapshots of an entity with the values of its partner in force.
func (r *recording) series(name string) predict.Series {
	e := r.states[name]
	s := predict.Series{Times: e.times, Values: e.values, Rates: e.members.Rates}
	p := r.states[r.partner(name)]
	if p == nil {
		return s
	}
	at := 0
	for _, t := range e.times {
		for at+1 < len(p.times) && p.times[at+1] <= t {
			at++
		}
		s.Inputs = append(s.Inputs, p.values[at])
	}
	return s
}

// train returns nil if no recording has the entity.
func train(learned []*recording, judged *recording, judgedName string) (*predict.Model, error) {
	e := judged.states[judgedName]
	var m *predict.Model
	for _, l := range learned {
		at := slices.IndexFunc(l.order, func(n string) bool { return l.states[n].entity == e.entity && l.states[n].like(e) })
		if at < 0 {
			continue
		}
		name := l.order[at]
		var pairs []int
		if judged.partner(judgedName) != "" && l.partner(name) != "" {
			for i := range e.members.Paths {
				pairs = append(pairs, i)
			}
		}
		if m == nil {
			var err error
			if m, err = predict.NewModel(e.members.Kinds, pairs); err != nil {
				return nil, err
			}
		}
		if err := m.Add(l.series(name)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func measure(r *recording, name string, e *states, m *predict.Model) ([]jointRow, error) {
	t, err := predict.NewTracker(e.members.Kinds)
	if err != nil {
		return nil, err
	}
	t.Tell(e.members.Rates)
	// Other members are predicted beside those that are measured.
	var measured []int
	for i, path := range e.members.Paths {
		if strings.HasPrefix(path, r.measured) {
			measured = append(measured, i)
		}
	}
	level := "1"
	if m != nil {
		level = "1+2"
		if err := t.Use(m); err != nil {
			return nil, err
		}
	}
	s := r.series(name)
	n := len(e.members.Paths)
	type sum struct {
		square, hold  []float64
		inside, count int
	}
	sums := make([]sum, len(horizonsAsked))
	for h := range sums {
		sums[h] = sum{square: make([]float64, n), hold: make([]float64, n)}
	}
	var f predict.Forecast
	for i, now := range s.Times {
		var in []float64
		if s.Inputs != nil {
			in = s.Inputs[i]
		}
		t.Observe(now, s.Values[i], in)
		if i < warm {
			continue
		}
		for h, horizon := range horizonsAsked {
			k := nearest(s.Times, i, now.Add(horizon))
			if k < 0 {
				continue
			}
			if err := t.Predict(s.Times[k], &f); err != nil {
				return nil, err
			}
			u := &sums[h]
			u.count++
			for _, j := range measured {
				x := s.Values[k][j]
				u.square[j] += (x - f.Mean[j]) * (x - f.Mean[j])
				u.hold[j] += (x - s.Values[i][j]) * (x - s.Values[i][j])
				if x >= f.Low[j] && x <= f.High[j] {
					u.inside++
				}
			}
		}
	}
	var rows []jointRow
	for h, u := range sums {
		if u.count == 0 || len(measured) == 0 {
			continue
		}
		var square, hold float64
		var ratios []float64
		for _, j := range measured {
			square, hold = square+u.square[j], hold+u.hold[j]
			if u.hold[j] > 0 {
				ratios = append(ratios, math.Sqrt(u.square[j]/u.hold[j]))
			}
		}
		slices.Sort(ratios)
		of := float64(u.count * len(measured))
		row := jointRow{Entity: name, Level: level, HorizonMS: float64(horizonsAsked[h]) / float64(time.Millisecond), Joints: len(measured),
			RMSE: math.Sqrt(square / of), Hold: math.Sqrt(hold / of), Ratio: math.Sqrt(square / hold), Band90: float64(u.inside) / of, Samples: u.count}
		if len(ratios) > 0 {
			row.MedianRatio = ratios[len(ratios)/2]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// warm is how many snapshots are not judged: what every predictor needs to begin.
const warm = 16

// nearest is the snapshot after i that is nearest to a time, and not farther from it than half of a
// usual step; -1 is none.
func nearest(times []engram.Time, i int, at engram.Time) int {
	best := -1
	var off time.Duration
	for k := i + 1; k < len(times); k++ {
		d := times[k].Sub(at).Abs()
		if best < 0 || d < off {
			best, off = k, d
		}
		if times[k] > at {
			break
		}
	}
	if best < 0 || off > times[best].Sub(times[i])/2 {
		return -1
	}
	return best
}
