package predict

import "math"

// Rates say which members are told beside their rates of change per second, such as a joint's
// position with its velocity. A rate that is none, or of another unit, loses to other models.
type Rates struct {
	By    []int // for each member its rate, or -1
	Poses []PoseRates
}

// PoseRates are a pose with its velocities: each is where its members begin, or -1.
type PoseRates struct {
	Translation, Rotation int // x, y, z; x, y, z, w
	Linear, Angular       int // per second, in the pose's own frame or in its parent's; the Tracker finds out
}

// rated follows members with their rates.
type rated struct {
	Rates
	pose     []int           // of each member, or -1
	fits     [][2][2]float64 // of each pose, translation and rotation: the errors in its own frame and in its parent's
	position []float64       // smoothed along the rates
	rates    []float32       // recent × n, in the frame of the values
	off      []float32       // recent × n: the smoothed position from the value
}

const (
	ownFrame = iota
	parentFrame
)

func newRated(r Rates, n, kept int) *rated {
	t := &rated{Rates: r, pose: make([]int, n), fits: make([][2][2]float64, len(r.Poses)), position: make([]float64, n), rates: make([]float32, kept*n), off: make([]float32, kept*n)}
	for i := range t.pose {
		t.pose[i] = -1
	}
	for p, pose := range r.Poses {
		if pose.Translation >= 0 && pose.Linear >= 0 {
			for k := range 3 {
				t.pose[pose.Translation+k] = p
			}
		}
		if pose.Rotation >= 0 && pose.Angular >= 0 {
			for k := range 4 {
				t.pose[pose.Rotation+k] = p
			}
		}
	}
	return t
}

// frame is the one that the velocities fit better in.
func (r *rated) frame(p, of int) int {
	if r.fits[p][of][parentFrame] < r.fits[p][of][ownFrame] {
		return parentFrame
	}
	return ownFrame
}

// has reports whether a member is told with its rate.
func (r *rated) has(i int) bool { return r.By[i] >= 0 || r.pose[i] >= 0 }

// change is by how much a member changes within s seconds if its rate stays, NaN without one.
func (r *rated) change(row []float64, i int, s float64) float64 {
	if by := r.By[i]; by >= 0 {
		return row[by] * s
	}
	p := r.pose[i]
	if p < 0 {
		return math.NaN()
	}
	if at := r.Poses[p].Rotation; at >= 0 && i >= at && i < at+4 {
		return r.turned(row, p, r.frame(p, 1), s)[i-at] - row[i]
	}
	return r.moved(row, p, r.frame(p, 0), s)[i-r.Poses[p].Translation]
}

// turned is where a rotation turns to within s seconds.
func (r *rated) turned(row []float64, p, frame int, s float64) [4]float64 {
	pose := &r.Poses[p]
	q, w := [4]float64(row[pose.Rotation:]), [3]float64(row[pose.Angular:])
	d := exponential(w, s)
	if frame == parentFrame {
		return product(d, q)
	}
	return product(q, d)
}

// moved is by how much a translation moves within s seconds: along an arc, if it turns.
func (r *rated) moved(row []float64, p, frame int, s float64) [3]float64 {
	pose := &r.Poses[p]
	v := [3]float64(row[pose.Linear:])
	for k := range v {
		v[k] *= s
	}
	if frame == parentFrame || pose.Rotation < 0 {
		return v
	}
	q := [4]float64(row[pose.Rotation:])
	if pose.Angular >= 0 {
		w := [3]float64(row[pose.Angular:])
		if r.frame(p, 1) == parentFrame {
			w = rotate([4]float64{-q[0], -q[1], -q[2], q[3]}, w)
		}
		for k := range w {
			w[k] *= s
		}
		if a := math.Sqrt(w[0]*w[0] + w[1]*w[1] + w[2]*w[2]); a > 1e-6 {
			c := cross(w, v)
			cc := cross(w, c)
			for k := range v {
				v[k] += (1-math.Cos(a))/(a*a)*c[k] + (a-math.Sin(a))/(a*a*a)*cc[k]
			}
		}
	}
	return rotate(q, v)
}

// judge compares what both frames say of a later row.
func (r *rated) judge(before, after []float64, s float64) {
	for p := range r.Poses {
		pose := &r.Poses[p]
		for frame := range 2 {
			if pose.Translation >= 0 && pose.Linear >= 0 && pose.Rotation >= 0 {
				d, e := r.moved(before, p, frame, s), 0.0
				for k := range d {
					e += math.Pow(after[pose.Translation+k]-before[pose.Translation+k]-d[k], 2)
				}
				r.fits[p][0][frame] += 0.01 * (math.Min(e, 1e30) - r.fits[p][0][frame])
			}
			if pose.Rotation >= 0 && pose.Angular >= 0 {
				d, e := r.turned(before, p, frame, s), 0.0
				for k := range d {
					e += math.Pow(after[pose.Rotation+k]-d[k], 2)
				}
				r.fits[p][1][frame] += 0.01 * (math.Min(e, 1e30) - r.fits[p][1][frame])
			}
		}
	}
}

// derive writes the members' rates per second in the frame of their values, 0 of those without.
func (r *rated) derive(row []float64, out []float32) {
	const short = 1e-3
	for i := range out {
		out[i] = 0
		if r.has(i) {
			if d := r.change(row, i, short) / short; math.Abs(d) <= largest {
				out[i] = float32(d)
			}
		}
	}
}

// Tell has the Tracker use the rates that members are told with. Call it before the first Observe. Rates of
// other members than it has are ignored.
func (t *Tracker) Tell(r Rates) {
	if r.of(t.n) {
		t.rated = newRated(r, t.n, recent)
	}
}

// of reports whether there are rates, all of them among n members.
func (r *Rates) of(n int) bool {
	if len(r.By) != n {
		return false
	}
	some := len(r.Poses) > 0
	for _, by := range r.By {
		if by < -1 || by >= n {
			return false
		}
		some = some || by >= 0
	}
	for _, p := range r.Poses {
		if min(p.Translation, p.Rotation, p.Linear, p.Angular) < -1 || max(p.Translation+3, p.Rotation+4, p.Linear+3, p.Angular+3) > n {
			return false
		}
	}
	return some
}

// follow takes the newest snapshot in.
func (t *Tracker) follow() {
	const gain, apart = 0.2, 8
	r := t.rated
	s := t.count - 1
	row := t.at(s)
	at := (s & (recent - 1)) * t.n
	if s >= apart {
		r.judge(t.at(s-apart), row, float64(t.times[s&(history-1)]-t.times[(s-apart)&(history-1)])/1e9)
	}
	for i := range r.position {
		if !r.has(i) {
			continue
		}
		if t.known(i) <= 1 {
			r.position[i] = row[i]
		} else {
			d := r.change(t.at(s-1), i, float64(t.times[s&(history-1)]-t.times[(s-1)&(history-1)])/1e9)
			if !(math.Abs(d) <= largest) {
				d = 0
			}
			r.position[i] += d
			// At first it is the mean.
			r.position[i] += math.Max(gain, 1/float64(t.known(i))) * (row[i] - r.position[i])
		}
		r.off[at+i] = float32(r.position[i] - row[i])
	}
	if t.model != nil {
		r.derive(row, r.rates[at:][:t.n])
	}
}

// rates are those of snapshots back from the newest, nil without any.
func (t *Tracker) rates() func(back int) []float32 {
	if t.rated == nil {
		return nil
	}
	s := t.count - 1
	return func(back int) []float32 { return t.rated.rates[((s-back)&(recent-1))*t.n:][:t.n] }
}

// ratesOf are those of each row of a series, nil without any.
func (e *Series) ratesOf() [][]float32 {
	if len(e.Values) == 0 || !e.Rates.of(len(e.Values[0])) {
		return nil
	}
	const apart = 8
	n := len(e.Values[0])
	r := newRated(e.Rates, n, 0)
	for s := apart; s < len(e.Values); s++ {
		r.judge(e.Values[s-apart], e.Values[s], float64(e.Times[s]-e.Times[s-apart])/1e9)
	}
	out := make([][]float32, len(e.Values))
	for s := range out {
		out[s] = make([]float32, n)
		r.derive(e.Values[s], out[s])
	}
	return out
}

// exponential is the rotation by a vector's angles within s seconds.
func exponential(w [3]float64, s float64) [4]float64 {
	a := math.Sqrt(w[0]*w[0]+w[1]*w[1]+w[2]*w[2]) * s
	f := s / 2
	if a > 1e-6 {
		f = math.Sin(a/2) / a * s
	}
	return [4]float64{w[0] * f, w[1] * f, w[2] * f, math.Cos(a / 2)}
}

func product(a, b [4]float64) [4]float64 {
	return [4]float64{
		a[3]*b[0] + a[0]*b[3] + a[1]*b[2] - a[2]*b[1],
		a[3]*b[1] - a[0]*b[2] + a[1]*b[3] + a[2]*b[0],
		a[3]*b[2] + a[0]*b[1] - a[1]*b[0] + a[2]*b[3],
		a[3]*b[3] - a[0]*b[0] - a[1]*b[1] - a[2]*b[2],
	}
}

func rotate(q [4]float64, v [3]float64) [3]float64 {
	u := [3]float64{q[0], q[1], q[2]}
	c := cross(u, v)
	cc := cross(u, c)
	for k := range v {
		v[k] += 2 * (q[3]*c[k] + cc[k])
	}
	return v
}

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
