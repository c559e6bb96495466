package predict

import (
	"math"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

const (
	// maxSituations and situationBytes bound what is kept to compare with.
	maxSituations  = 2048
	situationBytes = 64 << 10
	// maxSituated is the most numbers of which situations are kept: with more, as of all joints of a robot, no two situations
	// are alike, and comparing them would cost more than all else of a prediction.
	maxSituated = 16
	// maxTexts are the texts of one payload that are looked at, maxValues the values that one of them, or a
	// number that stands for a state, may take.
	maxTexts  = 16
	maxValues = 32
	maxText   = 64 // bytes
	// fewest are the past situations that anything is said from, and most the ones that are looked at.
	fewestAlike = 8
	mostAlike   = 200
	// MaxOutcomes bounds what may follow a situation.
	MaxOutcomes = 6
	velocityLag = 5   // snapshots between which a situation has its velocity
	noisy       = 0.2 // smoothness, 0 to 1, up to which a number or its velocity is noise
)

// Situations are an entity's past states. What followed the nearest ones is expected after the newest: a person's way at
// this fork, a state's change after so long. For one goroutine.
type Situations struct {
	kinds []Kind
	n, d  int // numbers and texts
	rows  int // that are kept
	off   func(i int, truth, expected float64) float64

	times   []engram.Time
	numbers []float64
	codes   []int32 // of texts
	stretch []int32 // rows of one have no gap and no reset between
	texts   []map[string]int32
	values  [][]string
	free    []bool // texts of too many values

	seen  int
	scale scales
}

// NewSituations returns the situations of an entity that a Tracker follows, with some texts; nil if there are too many members.
func NewSituations(t *Tracker, texts int) *Situations {
	if t.n > maxSituated || t.n+texts == 0 {
		return nil
	}
	s := &Situations{kinds: t.kinds, n: t.n, d: min(texts, maxTexts), off: t.Off}
	s.rows = min(maxSituations, situationBytes/(8*s.n+4*s.d+12))
	s.texts, s.values, s.free = make([]map[string]int32, s.d), make([][]string, s.d), make([]bool, s.d)
	for i := range s.texts {
		s.texts[i] = map[string]int32{}
	}
	return s
}

// Remembered is how many snapshots are kept of an entity of so many numbers.
func Remembered(numbers int) int {
	if numbers > maxSituated {
		return 0
	}
	return min(maxSituations, situationBytes/(8*numbers+4+12))
}

// Bytes is what the situations take.
func (s *Situations) Bytes() int {
	if s == nil {
		return 0
	}
	return 8*cap(s.times) + 8*cap(s.numbers) + 4*cap(s.codes) + 4*cap(s.stretch) + 2048*s.d + 512
}

// Observe takes a snapshot's numbers and texts; begins says that it does not lead on from the one before.
func (s *Situations) Observe(at engram.Time, row []float64, texts []string, begins bool) {
	if s == nil || len(s.times) > 0 && at <= s.times[len(s.times)-1] {
		return
	}
	if over := len(s.times) - s.rows; over >= s.rows/8 {
		s.times = append(s.times[:0], s.times[over:]...)
		s.numbers = append(s.numbers[:0], s.numbers[over*s.n:]...)
		s.codes = append(s.codes[:0], s.codes[over*s.d:]...)
		s.stretch = append(s.stretch[:0], s.stretch[over:]...)
	}
	last := len(s.times) - 1
	part := int32(0)
	if last >= 0 {
		if part = s.stretch[last]; begins {
			part++
		}
	}
	for i, x := range row {
		if !(math.Abs(x) <= largest) {
			x = 0
			if last >= 0 {
				x = s.numbers[last*s.n+i]
			}
		}
		s.numbers = append(s.numbers, x)
	}
	for i := range s.d {
		text := ""
		if i < len(texts) {
			text = texts[i]
		}
		s.codes = append(s.codes, s.code(i, text))
	}
	s.times, s.stretch = append(s.times, at), append(s.stretch, part)
	s.seen++
}

func (s *Situations) code(i int, text string) int32 {
	if s.free[i] {
		return -1
	}
	c, ok := s.texts[i][text]
	if !ok {
		if len(s.values[i]) == maxValues || len(text) > maxText {
			s.free[i], s.texts[i], s.values[i] = true, nil, nil
			return -1
		}
		c = int32(len(s.values[i]))
		s.texts[i][text], s.values[i] = c, append(s.values[i], text)
	}
	return c
}

// States reports whether a text of so many values, and of so many bytes, stands for a state, which past situations predict.
func States(values, bytes int) bool { return values <= maxValues && bytes <= maxText }

func (s *Situations) row(i int) []float64 { return s.numbers[i*s.n:][:s.n] }

// scales are in what units members are compared.
type scales struct {
	at              int       // how many were seen then
	place, velocity []float64 // weights of squares of differences
	least           []float64 // the smallest step
	state           []bool    // numbers that stand for a state
	changing        bool      // some state or text changes
	period          float64   // ns
	regular         bool      // some number leads on
}

// measure finds the scales.
func (s *Situations) measure() {
	if s.scale.at > 0 && s.seen < s.scale.at+s.scale.at/8 {
		return
	}
	rows := len(s.times)
	c := scales{at: s.seen, place: make([]float64, s.n), velocity: make([]float64, s.n), least: make([]float64, s.n), state: make([]bool, s.n)}
	gaps := make([]float64, 0, rows)
	for i := 1; i < rows; i++ {
		gaps = append(gaps, float64(s.times[i]-s.times[i-1]))
	}
	slices.Sort(gaps)
	c.period = gaps[len(gaps)/2]
	for m := range s.n {
		at := func(i int) float64 { return s.numbers[i*s.n+m] }
		values := map[float64]bool{}
		changes := 0
		var mean, square, steps, velocity, turn, count, turns float64
		c.least[m] = math.Inf(1)
		for i := range rows {
			if len(values) <= maxValues {
				values[at(i)] = true
			}
			d := at(i) - mean
			mean += d / float64(i+1)
			square += d * (at(i) - mean)
			if i == 0 || s.stretch[i] != s.stretch[i-1] {
				continue
			}
			step := s.off(m, at(i), at(i-1))
			steps += step * step
			if step != 0 {
				changes++
				if a := math.Abs(step); a > 1e-12*math.Abs(at(i)) {
					c.least[m] = math.Min(c.least[m], a)
				}
			}
			if i >= velocityLag {
				v := s.off(m, at(i), at(i-velocityLag))
				velocity += v * v
				count++
				if i >= 2*velocityLag {
					e := v - s.off(m, at(i-velocityLag), at(i-2*velocityLag))
					turn += e * e
					turns++
				}
			}
		}
		variance := square / float64(rows)
		held := s.kinds[m] == Held || len(values) <= 8 && 4*changes <= rows
		if held {
			c.state[m] = len(values) <= maxValues
			c.changing = c.changing || changes > 0 && c.state[m]
			continue
		}
		if variance > 0 {
			if smooth := 1 - steps/float64(rows)/(2*variance); smooth > noisy {
				c.place[m] = smooth * smooth / variance
				c.regular = true
			}
		}
		if velocity > 0 && turns > 0 {
			if smooth := 1 - (turn/turns)/(2*velocity/count); smooth > noisy {
				c.velocity[m] = smooth * smooth / (velocity / count)
			}
		}
	}
	for i := range s.d {
		c.changing = c.changing || len(s.values[i]) > 1
	}
	// The mean over the weights, not their sum.
	total := 0.0
	for m := range s.n {
		v := s.variance(m, &c)
		total += c.place[m]*v.place + c.velocity[m]*v.velocity
	}
	for m := range s.n {
		if total > 0 {
			c.place[m] /= total
			c.velocity[m] /= total
		}
	}
	s.scale = c
}

type variances struct{ place, velocity float64 }

// variance is the mean square of what is compared of a member.
func (s *Situations) variance(m int, c *scales) (v variances) {
	mean, square := 0.0, 0.0
	rows := len(s.times)
	for i := range rows {
		x := s.numbers[i*s.n+m]
		d := x - mean
		mean += d / float64(i+1)
		square += d * (x - mean)
		if i >= velocityLag {
			e := s.off(m, x, s.numbers[(i-velocityLag)*s.n+m])
			v.velocity += e * e / float64(rows-velocityLag)
		}
	}
	v.place = square / float64(rows)
	return v
}

// states is what a row is as to members that are states.
func (s *Situations) states(i int) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for m := range s.n {
		if s.scale.state[m] {
			h = (h ^ math.Float64bits(s.numbers[i*s.n+m])) * prime
		}
	}
	for k := range s.d {
		h = (h ^ uint64(uint32(s.codes[i*s.d+k]))) * prime
	}
	return h
}

// alike is a past situation.
type alike struct {
	row      int
	distance float64 // squared
}

// past finds the situations that are nearest to the newest one, each from another time; what followed them within
// a horizon is known. With numbers they count.
func (s *Situations) past(horizon float64, numbers bool) (found []alike, then []int) {
	rows := len(s.times)
	now := rows - 1
	combos, since := make([]uint64, rows), make([]int, rows)
	before := make([]uint64, rows) // the state before the one in force
	if s.scale.changing {
		for i := range rows {
			combos[i] = s.states(i)
			switch {
			case i == 0 || s.stretch[i] != s.stretch[i-1]:
				since[i] = i
			case combos[i] != combos[i-1]:
				since[i], before[i] = i, combos[i-1]
			default:
				since[i], before[i] = since[i-1], before[i-1]
			}
		}
	}
	age := float64(s.times[now] - s.times[since[now]])
	ages := math.Max(math.Max(2*s.scale.period, 0.25*horizon), 0.1*age)
	then = make([]int, rows)
	j, within := 0, 0.25*0.25
	newest := s.row(now)
	var candidates []alike
	for i := range rows {
		for j < now && float64(s.times[j]-s.times[i]) < horizon {
			j++
		}
		then[i] = j
		if float64(s.times[j]-s.times[i]) < horizon || s.stretch[j] != s.stretch[i] || combos[i] != combos[now] || before[i] != before[now] {
			continue
		}
		d := 0.0
		if s.scale.changing && before[now] != 0 {
			off := (float64(s.times[i]-s.times[since[i]]) - age) / ages
			d = off * off * within
		}
		if numbers {
			if i < velocityLag || s.stretch[i] != s.stretch[i-velocityLag] {
				continue
			}
			row, earlier, last := s.row(i), s.row(i-velocityLag), s.row(max(0, now-velocityLag))
			for m, x := range row {
				if w := s.scale.place[m]; w > 0 {
					off := s.off(m, x, newest[m])
					d += w * off * off
				}
				if w := s.scale.velocity[m]; w > 0 {
					off := s.off(m, x, earlier[m]) - s.off(m, newest[m], last[m])
					d += w * off * off
				}
			}
		}
		if d <= within {
			candidates = append(candidates, alike{i, d})
		}
	}
	sort.SliceStable(candidates, func(a, b int) bool { return candidates[a].distance < candidates[b].distance })
	// Each time counts once: a state as long as it lasts, numbers as long as what follows is the same.
	apart := math.Max(horizon, 8*s.scale.period)
	same := func(i, of int) bool {
		if !numbers {
			return since[i] == since[of]
		}
		return math.Abs(float64(s.times[i]-s.times[of])) < apart
	}
	taken := make([]bool, rows)
	take := func(of int) {
		for i := of; i < rows && same(i, of); i++ {
			taken[i] = true
		}
		for i := of; i >= 0 && same(i, of); i-- {
			taken[i] = true
		}
	}
	take(now)
	for _, c := range candidates {
		if taken[c.row] {
			continue
		}
		if k := len(found); k == mostAlike || k >= 12 && c.distance > 0.001+8*found[k/2].distance {
			break
		}
		found = append(found, c)
		take(c.row)
	}
	return found, then
}
