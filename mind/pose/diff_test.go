package pose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
	"pgregory.net/rapid"
)

// diffWorld has every kind of edge, and changes every kind of thing.
type diffWorld struct {
	*testing.T
	r    *rand.Rand
	s    *Store
	unit engram.Time // of time
	size float64     // of movements
}

const diffSpan = 600 // units

func (w *diffWorld) ok(err error) {
	w.Helper()
	ok(w.T, err)
}

func (w *diffWorld) time() engram.Time { return engram.Time(w.r.IntN(diffSpan)) * w.unit }

// near returns a pose that is little different from p.
func (w *diffWorld) near(p Pose) Pose {
	r := w.r.NormFloat64
	x := Twist{Vec3{r(), r(), r()}, Vec3{r(), r(), r()}}
	return p.Mul(Exp(x.Scale(w.size)))
}

func newDiffWorld(t *testing.T, seed uint64) *diffWorld {
	r := rand.New(rand.NewPCG(seed, 3))
	w := &diffWorld{T: t, r: r, unit: 1, size: []float64{1e-3, 0.03, 0.5}[r.IntN(3)]}
	if r.IntN(2) == 0 {
		w.unit = 10_000_000
	}
	w.s = New(Config{MaxGap: time.Duration(80 * w.unit)})
	w.ok(w.s.Anchor("earth", "site"))
	w.ok(w.s.Anchor("site", "odom"))
	beyond := [][]Option{nil, {Hold(time.Duration(50 * w.unit))}, {Extrapolate(time.Duration(50 * w.unit))}, {Hold(math.MaxInt64)}}
	base := must[*FreeEdge](t)(w.s.Free("odom", "base", beyond[r.IntN(4)]...))
	// Out and back, turning, and far from the origin at times.
	p := Translation([]float64{0, 3, 500}[r.IntN(3)], 0, 0)
	step := Exp(Twist{Vec3{X: 0.1}, Vec3{Z: 0.2 * r.NormFloat64()}})
	w.limit(base, r)
	for at := w.time() / 8; at < diffSpan*w.unit; at += (1 + engram.Time(r.IntN(12))) * w.unit {
		w.ok(base.Set(at, p))
		p = w.near(p.Mul(step))
		if r.IntN(40) == 0 {
			at += 90 * w.unit // a gap
		}
	}
	w.ok(w.s.Fixed("base", "mast", randomPose(r), ExactCov()))
	joint := urdf.JointType([]urdf.JointType{urdf.Revolute, urdf.Continuous, urdf.Prismatic}[r.IntN(3)])
	pan := must[*JointEdge](t)(w.s.Joint("mast", "head", JointSpec{Name: "pan", Type: joint, Origin: randomPose(r), Axis: Vec3{Z: 1}}, beyond[r.IntN(4)]...))
	must[*JointEdge](t)(w.s.Joint("head", "cam", JointSpec{Name: "tilt", Type: urdf.Revolute, Origin: randomPose(r), Axis: Vec3{Y: 1}, Mimic: &Mimic{"pan", -0.5, 0.1}}))
	q := 0.0
	for at := w.time() / 8; at < diffSpan*w.unit; at += (1 + engram.Time(r.IntN(20))) * w.unit {
		w.ok(pan.Set(at, math.Remainder(q, 2*math.Pi), 0))
		q += r.NormFloat64() * w.size * 3
	}
	must[*FreeEdge](t)(w.s.Free("site", "cup", MaxGap(0)))
	w.ok(w.s.Fixed("cup", "handle", Translation(0, 0.1, 0), ExactCov()))
	w.samples("site")
	w.revise(w.key)
	return w
}

// limit makes chunks so small that there are many.
func (w *diffWorld) limit(e *FreeEdge, r *rand.Rand) {
	for _, span := range *e.spans.Load() {
		span.h.mu.Lock()
		span.h.limit = []int{minChunk, 512}[r.IntN(2)]
		span.h.mu.Unlock()
	}
}

func (w *diffWorld) samples(parent string) {
	e := must[*FreeEdge](w.T)(w.s.Free(parent, "cup"))
	for range w.r.IntN(30) {
		at := w.time()
		if err := e.Set(at, randomPose(w.r)); err != nil && engram.CodeOf(err) != engram.Conflict {
			w.Fatal(err)
		}
	}
}

func (w *diffWorld) revise(ops ...func(tx *Tx)) {
	tx := w.s.Begin("test")
	for _, op := range ops {
		op(tx)
	}
	must[Revision](w.T)(tx.Commit())
}

// key moves some corrections, near to what they were or not.
func (w *diffWorld) key(tx *Tx) {
	c := w.s.states.now().content
	for _, e := range [2][2]string{{"earth", "site"}, {"site", "odom"}} {
		child, _ := w.s.frameID(c, e[1])
		keys := c.frames.at(child).periods[0].edge.keys.keys
		if len(keys) == 0 || w.r.IntN(4) == 0 {
			tx.Key(e[0], e[1], w.time(), randomPose(w.r), Cov{})
		}
		for range w.r.IntN(4) {
			at, p := w.time(), randomPose(w.r)
			if len(keys) > 0 {
				k := keys[w.r.IntN(len(keys))]
				p = w.near(k.v.c)
				if w.r.IntN(2) == 0 {
					at = k.t
				}
			}
			tx.Key(e[0], e[1], at, p, Cov{})
		}
	}
}

// change does one of all that makes a revision.
func (w *diffWorld) change() {
	switch w.r.IntN(6) {
	case 0:
		w.revise(func(tx *Tx) {
			iv := engram.Interval{Start: w.time(), End: diffSpan * w.unit}
			tx.Fix("base", "mast", iv, w.near(Identity()), ExactCov())
		})
	case 1: // samples written again
		e := must[*FreeEdge](w.T)(w.s.Free("odom", "base"))
		s := (*e.spans.Load())[0].h.snapshot()
		for range 1 + w.r.IntN(3) {
			smp := s.chunk(0).s[w.r.IntN(len(s.chunk(0).s))]
			if w.r.IntN(2) == 0 {
				smp = s.b.active[s.n-1-w.r.IntN(min(2, s.n))]
			}
			w.ok(e.Set(smp.t, w.near(smp.v)))
		}
	case 2: // and values
		j := must[*JointEdge](w.T)(w.s.JointEdge("pan"))
		s := j.h.snapshot().chunk(0).s
		w.ok(j.Set(s[w.r.IntN(len(s))].t, w.r.NormFloat64(), 0))
	case 3:
		parent := []string{"site", "cam", "base", ""}[w.r.IntN(4)]
		_, err := w.s.Reparent(w.time(), parent, "cup")
		w.ok(err)
		if parent != "" {
			w.samples(parent)
		}
	default:
		w.revise(w.key)
	}
}

// TestDiffAgainstBruteForce looks everywhere.
func TestDiffAgainstBruteForce(t *testing.T) {
	frames := []string{"earth", "site", "odom", "base", "mast", "head", "cam", "cup", "handle"}
	thresholds := []Threshold{{}, {0.01, 0.01}, {0.1, 0.03}, {1, 0.3}, {5, 1}, {1e9, 0.1}, {0.3, 9}}
	rapid.Check(t, func(rt *rapid.T) {
		w := newDiffWorld(t, rapid.Uint64().Draw(rt, "seed"))
		a := w.s.Revision()
		for range 1 + w.r.IntN(3) {
			w.change()
		}
		b := w.s.Revision()
		if w.r.IntN(4) == 0 {
			a, b = b, a
		}
		va, vb := must[*View](t)(w.s.View(AsOf(a))), must[*View](t)(w.s.View(AsOf(b)))
		for range 2 {
			target, source := frames[w.r.IntN(len(frames))], frames[w.r.IntN(len(frames))]
			th := thresholds[w.r.IntN(len(thresholds))]
			changes := must[[]Change](t)(w.s.Diff(target, source, a, b, th))
			pa, pb := must[*Path](t)(va.Path(target, source)), must[*Path](t)(vb.Path(target, source))
			compareDiff(rt, w, pa, pb, th, changes)
		}
	})
}

// within is the tolerance of what Diff promises.
func within(x float64) float64 { return 0.01*x + 1e-6 }

func compareDiff(rt interface{ Fatalf(string, ...any) }, w *diffWorld, pa, pb *Path, th Threshold, changes []Change) {
	what := pa.Target() + " ← " + pa.Source()
	distance := func(t engram.Time) (trans, rot float64, failed, none bool) {
		a, _, failA := pa.At(t)
		b, _, failB := pb.At(t)
		if failA.Code != OK || failB.Code != OK {
			return 0, 0, failA.Code == OK || failB.Code == OK, true
		}
		trans, rot = a.Distance(b)
		return trans, rot, false, false
	}
	said := func() (out string) {
		for _, c := range changes {
			out += fmt.Sprintf("[%d %d) %g m at %d, %g rad at %d, failed: %v; ", c.Start, c.End, c.Trans, c.TransAt, c.Rot, c.RotAt, c.Failed)
		}
		return out
	}
	for i, c := range changes {
		if c.Empty() || i > 0 && c.Start < changes[i-1].End {
			rt.Fatalf("%s: %s", what, said())
		}
		if !c.Failed && c.Trans <= th.Trans-within(th.Trans) && c.Rot <= th.Rot-within(th.Rot) {
			rt.Fatalf("%s: the change %d of %s is below the threshold %+v", what, i, said(), th)
		}
		for _, most := range [2]struct {
			at   engram.Time
			want float64
		}{{c.TransAt, c.Trans}, {c.RotAt, c.Rot}} {
			trans, rot, _, none := distance(most.at)
			if !c.Contains(most.at) && most.at != c.End || !none && math.Abs(trans-most.want) > 1e-9 && math.Abs(rot-most.want) > 1e-7 {
				rt.Fatalf("%s: %s; at %d it is %g m, %g rad", what, said(), most.at, trans, rot)
			}
		}
	}
	failed := make([]bool, len(changes))
	i := 0
	step := max(w.unit/7, 1)
	for t := -100 * w.unit; t < (diffSpan+120)*w.unit; t += step {
		for i < len(changes) && changes[i].End <= t {
			i++
		}
		trans, rot, asymmetric, none := distance(t)
		in := i < len(changes) && changes[i].Contains(t)
		// Rounding: what is compared here is not computed in the same order.
		if !in && (asymmetric || !none && (trans > th.Trans+1e-9 || rot > th.Rot+1e-7)) {
			rt.Fatalf("%s at %d: moved by %g m, %g rad (failed: %v) beyond %+v, and not in %s", what, t, trans, rot, asymmetric, th, said())
		}
		if in {
			c := &changes[i]
			failed[i] = failed[i] || asymmetric
			if asymmetric && !c.Failed || !none && (trans > c.Trans+within(max(c.Trans, th.Trans))+1e-9 || rot > c.Rot+within(max(c.Rot, min(th.Rot, math.Pi)))+1e-7) {
				rt.Fatalf("%s at %d: moved by %g m, %g rad (failed: %v); not as in %s", what, t, trans, rot, asymmetric, said())
			}
		}
	}
	for i, c := range changes {
		if c.Failed && !failed[i] && c.Start > -100*w.unit && c.Start < (diffSpan+120)*w.unit && step == 1 {
			rt.Fatalf("%s: the change %d of %s did not fail anywhere", what, i, said())
		}
	}
}

// TestDiffBounds compares the bounds of cells with what is in them.
func TestDiffBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newDiffWorld(t, rapid.Uint64().Draw(rt, "seed"))
		for range 1 + w.r.IntN(3) {
			w.change()
		}
		d := differ{sides: [2]*state{must[*state](t)(w.s.states.of(0)), w.s.states.now()}}
		if n := w.s.Revision(); n > 1 {
			d.sides[0] = must[*state](t)(w.s.states.of(Revision(w.r.Int64N(int64(n)))))
		}
		ice := newFrozen(nil)
		var segs [2]*segment
		for i, st := range d.sides {
			p := must[*Path](t)(w.s.newPath(w.s.viewOf(st, revisionNow, ice), st.content, []string{"earth", "site", "cup"}[w.r.IntN(3)], "cam"))
			segs[i] = p.segmentAt(st, 300*w.unit)
		}
		times := d.way.init(d.sides, segs[0], segs[1], engram.Interval{
			Start: max(segs[0].Start, segs[1].Start), End: min(segs[0].End, segs[1].End),
		})
		for i := range len(times) - 1 {
			from, to := times[i], times[i+1]
			if !d.differs(from, to) || to-from < 4 || to-from > diffSpan*w.unit {
				continue
			}
			if w.r.IntN(2) == 0 {
				from += engram.Time(w.r.Int64N(int64(to-from) / 2))
			}
			d.cover(times[i], times[i+1])
			d.differs(times[i], times[i+1])
			a, b, c := d.at(from), d.at(to), cell{}
			in := d.bound(&c, &a, &b, w.r.IntN(2) == 0)
			for at := from + 1; at < to; at += 1 + (to-from)/20 {
				p := d.at(at)
				switch both := p.ok[0] && p.ok[1]; {
				case both && in != bounded, p.ok[0] != p.ok[1] && in != failing:
					rt.Fatalf("[%d %d]: %d inside; at %d it is answered: %v", from, to, in, at, p.ok)
				case both && (p.by[0] > c.bound[0]+1e-9 || p.by[1] > c.bound[1]+1e-9):
					rt.Fatalf("[%d %d] is bound by %g m and the chord %g; at %d it is %g", from, to, c.bound[0], c.bound[1], at, p.by)
				}
			}
		}
	})
}

// Whatever the poses, rewriting what stands changes nothing under any threshold.
func TestDiffOfNothingIsEmpty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newDiffWorld(t, rapid.Uint64().Draw(rt, "seed"))
		for range w.r.IntN(3) {
			w.change()
		}
		a := w.s.Revision()
		w.revise(func(tx *Tx) {
			for e := range w.s.states.now().content.frames.all() {
				if k := e.periods[0].edge; k != nil && k.keys != nil {
					for _, key := range k.keys.keys {
						tx.Key(k.parentName, k.childName, key.t, key.v.c, DiagonalCov(1, 1))
					}
				}
			}
		})
		// A sample that goes and comes back, and one with another covariance only.
		e := must[*FreeEdge](t)(w.s.Free("odom", "base"))
		smp := (*e.spans.Load())[0].h.snapshot().chunk(0).s[0]
		w.ok(e.Set(smp.t, randomPose(w.r)))
		w.ok(e.SetCov(smp.t, smp.v, ExactCov()))
		if w.s.Revision() < a+3 {
			t.Fatal("these were to be revisions")
		}
		for _, target := range []string{"earth", "odom", "handle"} {
			for _, source := range []string{"cam", "base"} {
				if c := must[[]Change](t)(w.s.Diff(target, source, a, w.s.Revision(), Threshold{})); len(c) != 0 {
					rt.Fatalf("%s ← %s: %+v", target, source, c)
				}
			}
		}
	})
}

// A rover that returns to where it began under a turned key moved most on the way,
// between the keys.
func TestDiffFindsLoops(t *testing.T) {
	s := New(Config{})
	ok(t, s.Anchor("site", "odom"))
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	for i := range 6001 { // 60 s round a circle of 10 m, and back at the origin
		at := float64(i) / 6000 * 2 * math.Pi
		ok(t, e.Set(engram.Time(i)*second/100, Pose{T: Vec3{10 - 10*math.Cos(at), 10 * math.Sin(at), 0}, R: RPY(0, 0, at)}))
	}
	turned := func(yaw float64) Revision {
		tx := s.Begin("slam")
		tx.Key("site", "odom", 0, Pose{R: RPY(0, 0, yaw)}, Cov{})
		tx.Key("site", "odom", 60*second, Pose{R: RPY(0, 0, yaw)}, Cov{})
		return must[Revision](t)(tx.Commit())
	}
	one := turned(0)
	two := turned(0.02)
	changes := must[[]Change](t)(s.Diff("site", "base", one, two, Threshold{0.01, 1}))
	want := 20 * 2 * math.Sin(0.01)
	if len(changes) != 1 || math.Abs(changes[0].Trans-want) > 0.01*want || math.Abs(changes[0].TransAt.Sub(30*second).Seconds()) > 2 || changes[0].Rot < 0.0199 {
		t.Errorf("changes %+v; want %g m at half time", changes, want)
	}
	sub := must[*Subscription](t)(s.Subscribe(Changes{Target: "site", Source: "base", Trans: 0.39, Rot: 1}, one))
	if ev := must[Event](t)(sub.Next(t.Context())); len(ev.Changes) != 1 || ev.Changes[0].Trans < 0.396 {
		t.Errorf("event %+v", ev.Changes)
	}
	// The same, below the threshold, is nothing.
	if changes = must[[]Change](t)(s.Diff("site", "base", one, two, Threshold{0.41, 1})); len(changes) != 0 {
		t.Errorf("changes %+v", changes)
	}
}

// What both revisions have behind a re-parented frame moves, too.
func TestDiffBehindReparenting(t *testing.T) {
	s := New(Config{MaxGap: -1})
	e := must[*FreeEdge](t)(s.Free("A", "C"))
	ok(t, e.Set(0, Identity()))
	ok(t, e.Set(second, Pose{R: RPY(0, 0, 170*degree)}))
	ok(t, s.Fixed("C", "D", Identity(), ExactCov()))
	ok(t, s.Fixed("A", "G", Identity(), ExactCov()))
	ok(t, s.Fixed("A", "B", Identity(), ExactCov()))
	a := s.Revision()
	must[*FreeEdge](t)(s.Reparent(5*second, "B", "C"))
	tx := s.Begin("calibration")
	tx.Fix("A", "G", engram.Always(), Translation(-1, 0, 0), ExactCov())
	tx.Fix("C", "D", engram.Always(), Translation(math.Cos(85*degree), -math.Sin(85*degree), 0), ExactCov())
	b := must[Revision](t)(tx.Commit())
	for _, limit := range []float64{0.01, 1.6, 1.9} {
		changes := must[[]Change](t)(s.Diff("D", "G", a, b, Threshold{limit, 9}))
		if len(changes) != 1 || math.Abs(changes[0].Trans-2) > 0.02 || !changes[0].Contains(second/2) {
			t.Errorf("beyond %g m: %+v; want 2 m at 0.5 s", limit, changes)
		}
	}
	if changes := must[[]Change](t)(s.Diff("D", "G", a, b, Threshold{2.03, 9})); len(changes) != 0 {
		t.Errorf("beyond 2.03 m: %+v", changes)
	}
}

// A history that begins earlier in one revision than in the other answers before what is
// its first sample there.
func TestDiffOfAnEarlierBeginning(t *testing.T) {
	s := New(Config{MaxGap: -1})
	must[*FreeEdge](t)(s.Free("island", "boat"))
	e := must[*FreeEdge](t)(s.Reparent(5*second, "site", "boat"))
	ok(t, e.Set(6*second, Translation(6, 0, 0)))
	ok(t, e.Set(7*second, Translation(7, 0, 0)))
	a := s.Revision()
	must[*FreeEdge](t)(s.Observe(2*second, "site", "boat")) // it was there all the time
	ok(t, e.Set(4*second, Translation(4, 0, 0)))
	if T, _, fail := s.Lookup("site", "boat", 5*second); fail.Code != OK || T.T.X != 5 {
		t.Fatalf("now: %v %v", T, fail.Err())
	}
	p := must[*Path](t)(must[*View](t)(s.View(AsOf(a))).Path("site", "boat"))
	if _, _, fail := p.At(5 * second); fail.Code != TooOld {
		t.Fatalf("before it was observed: %v", fail.Code)
	}
	changes := must[[]Change](t)(s.Diff("site", "boat", a, s.Revision(), DefaultThreshold()))
	covered := func(at engram.Time) bool {
		for _, c := range changes {
			if c.Failed && c.Contains(at) {
				return true
			}
		}
		return false
	}
	if !covered(4*second) || !covered(5*second) || !covered(6*second-1) || covered(6*second) {
		t.Errorf("changes %+v; want failures from 4 s to 6 s", changes)
	}
}
