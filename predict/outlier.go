package predict

import "math"

const (
	// outlying is from how many usual steps on a value is doubted, unlikely from how many deviations of what is expected.
	outlying, unlikely = 24, 16
	// doubted is how many values in a row are.
	doubted = 3
)

// doubt is a possible outlier. Until the next value the Tracker goes on with the expected one.
type doubt struct {
	at    int // the snapshot, counted as count is, + 1; 0 is none
	row   int // how many there are in a row
	value float64
}

// believe returns what the newest value of a member counts as, which is told some steps after the last: the value, or what was
// expected in its place if it is an outlier. It was none if the next one is off to the same side; if that is near to it,
// the member begins anew there.
func (t *Tracker) believe(i int, y, steps float64) float64 {
	m, c := &t.members[i], &t.errors[i]
	last := t.count - 1
	far := outlying * m.unit
	if !(math.Abs(y-t.at(last)[i]) > far) || c.seen <= 16 || !(c.blend < 0.25*c.square[hold]) || t.known(i) <= lagged[lags-1] {
		return y
	}
	b := t.from(last, 0, math.Min(math.Max(steps, 0.1), 16))
	var guesses [models]float64
	var f [lags]float64
	t.guess(&b, i, &guesses, &f)
	_, said := c.mix(&guesses)
	expected := b.x[i] + said
	if off := math.Abs(y - expected); off <= far || off <= unlikely*math.Sqrt(float64(c.blend))*math.Max(steps, 1) {
		return y
	}
	d := &m.doubt
	if d.at != t.count {
		d.row = 0
	}
	if was := t.at(last); d.row == doubted || d.row > 0 && (d.value-was[i])*(y-expected) > 0 {
		was[i] = d.value
		if math.Abs(y-d.value) <= far {
			m.since = last
		}
		*d = doubt{}
		return y
	}
	*d = doubt{t.count + 1, d.row + 1, y}
	return expected
}

// doubts is how far the newest value of a member is off from what it counts as.
func (t *Tracker) doubts(i int) float64 {
	if d := &t.members[i].doubt; d.at == t.count {
		return math.Abs(d.value - t.at(t.count - 1)[i])
	}
	return 0
}
