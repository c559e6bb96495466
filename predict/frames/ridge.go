package frames

import "math"

const (
	frameFeatures = 16
	classes       = 4 // of pixels, by how much was changing around them
)

// Model blends what a pixel may be: a ridge for each class of pixels and each horizon, on the differences to the
// last frame.
type Model struct {
	gram    [Ahead][classes][frameFeatures][frameFeatures]float64
	right   [Ahead][classes][frameFeatures]float64
	weights [Ahead][classes][frameFeatures]float64
}

// candidates are what pixels may be.
type candidates struct {
	p                        *Past
	moved, slower, movedWide Frame
	back                     Frame
}

func (p *Past) candidates(steps float64) *candidates {
	times := float32(steps)
	c := &candidates{p: p, moved: p.advect(times), slower: p.advect(times / 2)}
	c.movedWide = smooth(c.moved, 2)
	c.back = make(Frame, Side*Side)
	for y := range Side {
		for x := range Side {
			i := y*Side + x
			c.back[i] = sample(p.frames[0], Side, float32(x)+times*p.dx[i], float32(y)+times*p.dy[i])
		}
	}
	return c
}

// features are the differences of a pixel to its last value.
func (c *candidates) features(i int, f *[frameFeatures]float64) (class int) {
	p := c.p
	last := p.frames[0][i]
	x, y := i%Side, i/Side
	at := func(dx, dy int) float64 {
		return float64(p.frames[0][max(0, min(y+dy, Side-1))*Side+max(0, min(x+dx, Side-1))] - last)
	}
	*f = [frameFeatures]float64{
		float64(c.moved[i] - last), float64(c.slower[i] - last), float64(c.movedWide[i] - last), float64(c.back[i] - last),
		float64(last - p.frames[1][i]), float64(p.frames[1][i] - p.frames[2][i]), float64(p.background[i] - last),
		float64(p.near[i] - last), float64(p.middle[i] - last), float64(p.wide[i] - last),
		at(-3, 0), at(3, 0), at(0, -3), at(0, 3), at(0, 6), 1,
	}
	return p.class(i)
}

// class returns the class of a pixel.
func (p *Past) class(i int) int {
	switch change := p.change[i]; {
	case change < 1.5:
		return 0
	case change < 4:
		return 1
	case change < 10:
		return 2
	}
	return 3
}

// Learn takes notice of what became of a past, so many steps after it: 1 to [Ahead]. It counts from the next Fit on.
func (m *Model) Learn(p *Past, step int, truth Frame) {
	m.learn(p.candidates(float64(step)), step, truth)
}

func (m *Model) learn(c *candidates, step int, truth Frame) {
	p, h := c.p, step-1
	var f [frameFeatures]float64
	for i, x := range truth {
		class := c.features(i, &f)
		y := float64(x - p.frames[0][i])
		for a := range f {
			for b := range a + 1 {
				m.gram[h][class][a][b] += f[a] * f[b]
			}
			m.right[h][class][a] += f[a] * y
		}
	}
}

// Fit makes what was learned count.
func (m *Model) Fit() {
	for h := range Ahead {
		for class := range classes {
			m.weights[h][class] = ridge(&m.gram[h][class], &m.right[h][class])
		}
	}
}

// fade lets what was learned before count less beside what is learned next.
func (m *Model) fade(by float64) {
	for h := range Ahead {
		for class := range classes {
			for a := range frameFeatures {
				m.right[h][class][a] *= by
				for b := range a + 1 {
					m.gram[h][class][a][b] *= by
				}
			}
		}
	}
}

// ridge solves least squares with a small penalty, by Cholesky's decomposition.
func ridge(gram *[frameFeatures][frameFeatures]float64, right *[frameFeatures]float64) (w [frameFeatures]float64) {
	var l [frameFeatures][frameFeatures]float64
	for a := range l {
		for b := range a + 1 {
			v := gram[a][b]
			if a == b {
				v += 1e-3*gram[a][a] + 1e-9
			}
			for k := range b {
				v -= l[a][k] * l[b][k]
			}
			if a == b {
				l[a][a] = math.Sqrt(math.Max(v, 1e-12))
			} else {
				l[a][b] = v / l[b][b]
			}
		}
		w[a] = right[a]
		for k := range a {
			w[a] -= l[a][k] * w[k]
		}
		w[a] /= l[a][a]
	}
	for a := frameFeatures - 1; a >= 0; a-- {
		for k := a + 1; k < frameFeatures; k++ {
			w[a] -= l[k][a] * w[k]
		}
		w[a] /= l[a][a]
	}
	return w
}

// Predict writes what the frame will be so many steps after the last one: more than 0, at most [Ahead]. Between two steps
// the weights lie between theirs.
func (m *Model) Predict(p *Past, steps float64, out Frame) {
	m.predict(p.candidates(steps), steps, out)
}

func (m *Model) predict(c *candidates, steps float64, out Frame) {
	p, weights := c.p, m.at(steps)
	var f [frameFeatures]float64
	for i := range out {
		w := &weights[c.features(i, &f)]
		y := float64(p.frames[0][i])
		for a := range f {
			y += w[a] * f[a]
		}
		out[i] = float32(math.Max(0, math.Min(255, y)))
	}
}

// grows is how many of the features, the first ones, grow with the distance in time by themselves.
const grows = 4

// at returns the weights for a distance in time.
func (m *Model) at(steps float64) (w [classes][frameFeatures]float64) {
	h := min(max(int(math.Ceil(steps)), 1), Ahead) - 1
	w = m.weights[h]
	for class := range w {
		for a := range frameFeatures {
			switch {
			case h > 0:
				w[class][a] += (m.weights[h-1][class][a] - w[class][a]) * (float64(h+1) - steps)
			case a >= grows:
				w[class][a] *= steps
			}
		}
	}
	return w
}
