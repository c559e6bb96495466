package predict

import "math"

// from is a snapshot from which something is said, and how far ahead.
type from struct {
	s, h  int
	steps float64
	// What all members share: the damped trend's factor, and rows of values.
	damping       float64
	x, x1, xk     []float64
	k             float64
	lagged        [lags][]float64 // nil where too little is known
	ahead, before []float64       // a period ago; nil without one
	states        []state
	said          []float32
}

const phi = 0.85 // of the damped trend, for each step

// from gathers what is said from snapshot s on, some steps ahead; h is the horizon that is meant.
func (t *Tracker) from(s, h int, steps float64) from {
	b := from{s: s, h: h, steps: steps, x: t.at(s), states: t.states[(s&(recent-1))*t.n:][:t.n]}
	if s < 1 {
		return b
	}
	k := min(3, s)
	b.damping = phi * (1 - math.Pow(phi, steps)) / (1 - phi)
	b.x1, b.xk, b.k = t.at(s-1), t.at(s-k), float64(k)
	if t.stride > 0 && s >= lagged[lags-1]*t.stride {
		for k, l := range lagged {
			b.lagged[k] = t.at(s - l*t.stride)
		}
	}
	if t.repeat > 0 && s >= t.repeat {
		b.before = t.at(s - t.repeat)
		b.ahead = t.at(s - t.repeat + int(math.Round(steps))%t.repeat)
	}
	if t.said != nil {
		b.said = t.said[((s&(recent-1))*len(horizons)+h)*t.n*2:][:t.n*2]
	}
	return b
}

// guess is by how much each model says that a member changes. Models that have nothing to say
// answer NaN. f are the regression's features, if it has any.
func (t *Tracker) guess(b *from, i int, out *[models]float64, f *[lags]float64) (regressed bool) {
	none := math.NaN()
	out[told], out[smoothed] = none, none
	out[hold], out[periodic], out[regression], out[trained], out[anew] = 0, none, none, none, none
	since := t.members[i].since
	if b.x1 == nil || b.s <= since {
		out[linear], out[damped], out[filtered] = none, none, none
		return false
	}
	m := &t.members[i]
	x := b.x[i]
	out[linear] = (x - b.x1[i]) * b.steps
	out[damped] = (x - b.xk[i]) / b.k * b.damping
	if b.s-int(b.k) < since {
		out[damped] = out[linear] / b.steps * b.damping
	}
	out[filtered] = float64(b.states[i].off) + float64(b.states[i].velocity)*b.steps
	if t.rated != nil && t.rated.has(i) {
		if d := t.rated.change(b.x, i, b.steps*t.period/1e9); math.Abs(d) <= largest {
			out[told], out[smoothed] = d, d+float64(t.rated.off[(b.s&(recent-1))*t.n+i])
		}
	}
	if b.before != nil && b.s-t.repeat >= since {
		out[periodic] = b.ahead[i] - b.before[i]
	}
	if b.lagged[0] != nil && m.unit > 0 && b.s-lagged[lags-1]*t.stride >= since {
		y := 0.0
		w := &m.w[b.h]
		for k := range lags {
			f[k] = (x - b.lagged[k][i]) / m.unit
			y += float64(w[k]) * f[k]
		}
		out[regression] = y * m.unit
		regressed = true
	}
	if b.said != nil {
		out[trained], out[anew] = float64(b.said[2*i]), float64(b.said[2*i+1])
	}
	return regressed
}

// learn judges what would have been said a horizon ago by what has come, and returns the mean
// square of the errors, in their usual size. It is called for every strideth snapshot.
func (t *Tracker) learn(h, stride int) (surprise float64) {
	now := t.count - 1
	s := now - horizons[h]
	if s < 0 || now-s >= recent {
		return 0
	}
	b := t.from(s, h, math.Max(t.steps(s, now), 0.1))
	truths := t.at(now)
	cells := t.errors[h*t.n:][:t.n]
	width := t.bands[h]
	outlier := 4 * math.Sqrt(float64(horizons[h]))
	var guesses [models]float64
	var f [lags]float64
	missed, counted := 0.0, 0.0
	for i := range t.members {
		if t.kinds[i] == Held || s < t.members[i].since {
			continue
		}
		m, c := &t.members[i], &cells[i]
		regressed := t.guess(&b, i, &guesses, &f)
		truth := truths[i] - b.x[i]
		first, said := c.mix(&guesses)
		e := (truth - said) * (truth - said)
		if c.seen > 8 && (c.blend > 0 || e > 0) { // what rests tells nothing of bands
			counted++
			if most := width*math.Sqrt(float64(c.blend)) + t.rounding(i); e > most*most {
				missed++
			}
			if c.blend > 0 {
				surprise += math.Min(e/float64(c.blend), mostSurprise)
			}
		}
		c.seen++
		slow, quick := float32(0.01), float32(1)/float32(20+2*horizons[h])
		if c.seen < 100 {
			slow = 1 / float32(c.seen)
			quick = max(slow, quick)
		}
		for k, g := range guesses {
			if d := float32((truth - g) * (truth - g)); d == d {
				c.square[k] += slow * (d - c.square[k])
			}
		}
		if !regressed && c.square[regression] == 0 {
			c.square[regression] = c.square[hold] // what it begins with
		}
		c.first += slow * (float32((truth-first)*(truth-first)) - c.first)
		c.blend += quick * (float32(e) - c.blend)
		if regressed {
			// An outlier moves it as far as the largest of the usual.
			off := (truth - guesses[regression]) / m.unit
			m.regress(h, &f, math.Max(-outlier, math.Min(outlier, off)), float64(stride))
		}
	}
	if counted > 0 {
		// Too narrow by every miss, too wide by the ninth part of a hit.
		t.bands[h] = math.Min(math.Max(width*math.Exp(0.1*(missed/counted-0.1)), 0.2), 10)
		surprise /= counted
	}
	return surprise
}

// regress has the regression for a horizon learn from an error, for as many snapshots as stand for it.
func (m *member) regress(h int, f *[lags]float64, e, stride float64) {
	var g [lags]float64
	q := 1.0
	for a := range lags {
		p := &m.p[a]
		g[a] = stride * (p[0]*f[0] + p[1]*f[1] + p[2]*f[2] + p[3]*f[3] + p[4]*f[4] + p[5]*f[5])
		q += f[a] * g[a]
	}
	e /= q
	w := &m.w[h]
	for a := range lags {
		w[a] += float32(g[a] * e)
	}
}

// rounding is half of the smallest step that a member is told in.
func (t *Tracker) rounding(i int) float64 {
	if l := t.members[i].least; !math.IsInf(l, 1) {
		return l / 2
	}
	return 0
}

// mostSurprise is the most that one member counts of a surprise.
const mostSurprise = 100

// enough are the judged predictions that say which models count.
const enough = 4

// mix says what comes of what the models say. Those of level 1 are blended: the better one did,
// the more it counts, by the third power of the inverse mean square of its errors. Between what
// level 1 says so and what was trained a much higher power all but chooses.
func (c *cell) mix(guesses *[models]float64) (first, all float64) {
	if c.seen < enough {
		return guesses[hold], guesses[hold]
	}
	best := c.square[hold]
	for k := linear; k < trained; k++ {
		if g := guesses[k]; g == g {
			best = min(best, c.square[k])
		}
	}
	sum, weights := 0.0, 0.0
	for k := range trained {
		g := guesses[k]
		if g != g {
			continue
		}
		w := 1.0
		if c.square[k] > best {
			r := float64(best / c.square[k])
			w = r * r * r
		}
		sum += w * g
		weights += w
	}
	first = sum / weights
	all = first
	if g := guesses[trained]; g == g {
		all = prefer(first, c.first, g, c.square[trained])
		if g := guesses[anew]; g == g {
			all = prefer(all, min(c.first, c.square[trained]), g, c.square[anew])
		}
	}
	return first, all
}

// prefer returns nearly that of two guesses whose errors are smaller.
func prefer(a float64, squareA float32, b float64, squareB float32) float64 {
	if squareA <= 0 || squareB <= 0 {
		if squareB < squareA {
			return b
		}
		return a
	}
	r := float64(squareB / squareA)
	r *= r
	r *= r
	r = 1 / (1 + r*r*r) // how much b counts
	return a + r*(b-a)
}

// try looks for a period: one lag with each snapshot.
func (t *Tracker) try() {
	const apart = 4 // snapshots between those that are compared
	last := t.count - 1
	if t.lag > last-8*apart || t.lag >= history/2 {
		t.lag = 2
		return
	}
	match := func(lag int) float64 {
		same, all := 0.0, 0.0
		for k := range 8 {
			a, b, c := t.at(last-k*apart), t.at(last-k*apart-lag), t.at(last-k*apart-max(lag/2, 1))
			for i := range a {
				if p := t.members[i].power; p > 0 && last-k*apart-lag >= t.members[i].since {
					same += (a[i] - b[i]) * (a[i] - b[i]) / p
					all += (a[i] - c[i]) * (a[i] - c[i]) / p
				}
			}
		}
		if all == 0 {
			return 1
		}
		return same / all
	}
	if t.repeat > 0 && t.repeat <= last-8*apart {
		t.match += 0.1 * (match(t.repeat) - t.match)
	}
	if m := match(t.lag); m < 0.2 && (t.repeat == 0 || m < 0.7*t.match) {
		t.repeat, t.match = t.lag, m
	}
	if t.repeat > 0 && t.match > 0.5 {
		t.repeat = 0
	}
	t.lag++
}
