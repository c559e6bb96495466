package pose

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
	"pgregory.net/rapid"
)

const (
	modelGap  = engram.Time(50)
	modelSpan = 600
)

// modelFrames are those of newWorld: earth and site are worlds above anchors, of which the
// base may hang below one odometry and later below the other.
var modelFrames = []string{"earth", "site", "odom", "wheels", "base", "cam", "lens", "head", "tool", "claw", "cup", "handle", "island", "boat"}

var modelAnchors = []naiveEdge{{"earth", "site"}, {"site", "odom"}, {"site", "wheels"}}

// modelRetention is that of the edges above the frames; values take 16 bytes, poses 64
// and 240 with a covariance.
var modelRetention = map[string]Retention{
	"base": {MaxCount: 40}, "cup": {MaxAge: 150}, "boat": {MaxBytes: 64 * 30}, "head": {MaxCount: 40, MaxBytes: 16 * 30},
}

// world is a store and the naive one, to which the same is done.
type world struct {
	*rapid.T
	r        *rand.Rand
	s        *Store
	n        *naive
	acquired map[AcquisitionID]worldAcquired
	views    []worldView
	log      []string // of what was done
}

// worldAcquired is an acquisition that was not released: the edges that it pins.
type worldAcquired struct {
	sensor string
	rev    int
	t      engram.Time
	clock  int
	edges  []naiveEdge
}

// worldView is a view with what it answered when it was made.
type worldView struct {
	p    *Path
	t    engram.Time
	want Pose
	fail FailureCode
}

func randomPose(r *rand.Rand) Pose {
	q := Quat{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	n := math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	return Pose{
		T: Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()},
		R: Quat{q.W / n, q.X / n, q.Y / n, q.Z / n},
	}
}

func newWorld(t *rapid.T) *world {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	w := &world{T: t, r: r, s: New(Config{MaxGap: time.Duration(modelGap), Revisions: 1 << 20}), n: newNaive(), acquired: map[AcquisitionID]worldAcquired{}}
	for _, e := range modelAnchors {
		w.ok(w.s.Anchor(e.parent, e.child))
		w.n.add(e.child, naivePeriod{parent: e.parent, kind: KindAnchor}, naiveOptions{})
	}
	for _, e := range [3]naiveEdge{{"base", "cam"}, {"cup", "handle"}, {"cam", "lens"}} {
		p, cov := randomPose(r), w.cov()
		w.ok(w.s.Fixed(e.parent, e.child, p, cov))
		w.n.add(e.child, naivePeriod{parent: e.parent, kind: KindFixed, fixed: &naiveFixed{p, cov}}, naiveOptions{})
	}
	for _, e := range [3]naiveEdge{{"odom", "base"}, {"site", "cup"}, {"island", "boat"}} {
		noise := Noise{}
		switch r.IntN(4) {
		case 0:
			noise = ExactNoise()
		case 1:
			noise = ConstantNoise(w.cov())
		case 2:
			noise = GrowthNoise(w.cov(), w.rate())
		}
		must[*FreeEdge](t)(w.s.Free(e.parent, e.child, Keep(modelRetention[e.child]), Uncertain(noise)))
		w.n.add(e.child, naivePeriod{parent: e.parent, kind: KindFree}, naiveOptions{modelGap, 0, noise, 0})
	}
	types := []urdf.JointType{urdf.Revolute, urdf.Continuous, urdf.Prismatic}
	sigma := []float64{0, 0.1, math.NaN()}[r.IntN(3)]
	for _, j := range []struct {
		parent, child string
		mimic         *Mimic
	}{
		{"base", "head", nil}, {"head", "tool", &Mimic{"head", []float64{-2, 0.3, 1}[r.IntN(3)], 0.5}}, {"tool", "claw", &Mimic{"tool", 0.5, -0.1}},
	} {
		spec := JointSpec{Name: j.child, Type: types[r.IntN(3)], Origin: randomPose(r), Axis: Vec3{0, 0.6, 0.8}, Mimic: j.mimic}
		must[*JointEdge](t)(w.s.Joint(j.parent, j.child, spec, Keep(modelRetention[j.child]), Sigma(sigma)))
		w.n.joints[j.child] = spec
		w.n.add(j.child, naivePeriod{parent: j.parent, kind: KindJoint, joint: j.child}, naiveOptions{})
	}
	w.n.now().options[naiveEdge{"", "head"}] = naiveOptions{maxGap: modelGap, sigma: sigma}
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.fail("%v", err)
	}
}

// fail tells what was done as well.
func (w *world) fail(format string, args ...any) {
	w.Helper()
	w.T.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

func (w *world) did(format string, args ...any) {
	w.n.clock++
	w.log = append(w.log, fmt.Sprintf("%d: ", w.n.rev())+fmt.Sprintf(format, args...))
}

func (w *world) time() engram.Time { return engram.Time(w.r.IntN(modelSpan)) }

func (w *world) span() engram.Interval {
	iv := engram.Interval{Start: w.time(), End: engram.MaxTime}
	if w.r.IntN(6) == 0 {
		iv.Start = engram.MinTime
	}
	if w.r.IntN(4) > 0 {
		iv.End = max(iv.Start, 0) + 1 + engram.Time(w.r.IntN(300))
	}
	return iv
}

func (w *world) cov() Cov {
	switch w.r.IntN(5) {
	case 0:
		return Cov{}
	case 1:
		return ExactCov()
	case 2:
		c := DiagonalCov(0.1, 0.01)
		c.Mask = PlanarDims
		c.clearUnmasked()
		return c
	}
	return randomCov(w.r, 0.01)
}

// rate is a covariance per second that adds to those of cov within modelSpan.
func (w *world) rate() Cov {
	c := w.cov()
	return c.scaled(1e9 / modelSpan)
}

// oneOf returns one of the names.
func (w *world) oneOf(names ...string) string { return names[w.r.IntN(len(names))] }

// TestModel does random things of every kind to a store and to the naive one, with
// readers beside them, and compares all look-ups of the present and of every past
// revision, views that were kept, differences, and what subscribers are told. More
// than the usual hundred worlds with -rapid.checks; .ci/nightly does that.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for i := range uint64(2) {
			readers.Go(func() { readAll(w.s, rand.New(rand.NewPCG(1, i)), stop) })
		}
		defer readers.Wait()
		defer close(stop)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.step()
		}
		w.compare()
	})
}

// TestModelOfRests is TestModel of what makes frames change their parents, rest and move only, which
// meets more seldom there.
func TestModelOfRests(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch w.r.IntN(6) {
			case 0:
				w.reparent("boat", w.oneOf("site", "island", ""))
			case 1:
				w.observe("boat", w.oneOf("site", "island"))
			default:
				w.observeFixed("boat", w.oneOf("site", "island"))
			}
		}
		w.compare()
	})
}

// step does one random change to both.
func (w *world) step() {
	switch w.r.IntN(22) {
	case 0, 1:
		child, parent := w.oneOf("cup", "cup", "cam", "head", "handle", "boat", "lens", "base"), w.oneOf("cam", "site", "tool", "cup", "island", "base", "head", "")
		if child == "base" {
			parent = w.oneOf("odom", "wheels", "wheels", "boat", "")
		}
		w.reparent(child, parent)
	case 2:
		w.observe(w.oneOf("cup", "boat", "handle"), w.oneOf("cam", "site", "tool", "island", "base"))
	case 3, 4, 5:
		w.transaction()
	case 6:
		w.acquire(w.oneOf("cam", "claw", "cup", "lens"), w.time())
	case 7:
		w.release()
	case 8: // a view, to look at later
		p := must[*Path](w.T)(w.s.Now().Path(w.oneOf(modelFrames...), w.oneOf(modelFrames...)))
		v := worldView{p: p, t: w.time()}
		var fail Failure
		v.want, _, fail = p.At(v.t)
		v.fail = fail.Code
		w.views = append(w.views, v)
	case 9:
		w.configure()
	case 20, 21:
		w.observeFixed(w.oneOf("cup", "cup", "boat", "handle"), w.oneOf("cam", "site", "tool", "island", "base"))
	default:
		w.write()
	}
	if got := int(w.s.Revision()); got != w.n.rev() {
		w.fail("revision %d; the naive store counts %d", got, w.n.rev())
	}
}

func (w *world) reparent(child, parent string) {
	at := w.time()
	w.did("re-parent %s to %q at %d", child, parent, at)
	_, err := w.s.Reparent(at, parent, child, Keep(modelRetention[child]))
	if _, refused := w.n.reparent(at, parent, child); refused != (engram.CodeOf(err) == engram.Conflict) {
		w.fail("%s to %q at %d: %v; refused: %v", child, parent, at, err, refused)
	}
}

func (w *world) observe(child, parent string) {
	at := w.time()
	w.did("observe %s on %s at %d", child, parent, at)
	if p, _ := w.n.now().at(child, at); p.parent != "" && p.kept.from > engram.MinTime {
		return // what is known of that time may be forgotten
	}
	e, err := w.s.Observe(at, parent, child, Keep(modelRetention[child]))
	if refused := w.n.observe(at, parent, child); refused != (engram.CodeOf(err) == engram.Conflict) {
		w.fail("%s on %s at %d: %v; refused: %v", child, parent, at, err, refused)
	} else if refused {
		return
	}
	smp := randomPose(w.r)
	err = e.Set(at, smp)
	if p, _ := w.n.now().at(child, at); engram.CodeOf(err) == engram.TooOld && at < p.kept.from {
		return // it hangs there as it did later, of which this is forgotten already
	}
	w.ok(err)
	w.n.write(naiveEdge{parent, child}, at, smp, Cov{})
	w.keep(child, at)
}

// observeFixed states that a frame rests, half of the time where it was stated before.
func (w *world) observeFixed(child, parent string) {
	at := w.time()
	value := naiveFixed{randomPose(w.r), w.cov()}
	if said := w.n.now().stated[child]; len(said) > 0 && w.r.IntN(2) == 0 {
		s := said[w.r.IntN(len(said))]
		parent, value = s.parent, *s.value
	}
	w.did("%s rests on %s at %d: x = %.3g", child, parent, at, value.pose.T.X)
	if p, _ := w.n.now().at(child, at); p.parent != "" && p.kept.from > engram.MinTime {
		return // what is known of that time may be forgotten
	}
	err := w.s.Statements("somebody").Observe(at, parent, child, value.pose, value.cov)
	if refused := w.n.observeFixed(at, parent, child, value); refused != (engram.CodeOf(err) == engram.Conflict) {
		w.fail("%s rests on %s at %d: %v; refused: %v", child, parent, at, err, refused)
	}
}

// configure changes the options of an edge; earlier revisions keep theirs.
func (w *world) configure() {
	o := naiveOptions{maxGap: engram.Time(10 + w.r.IntN(80)), hold: engram.Time(w.r.IntN(40))}
	e := [3]naiveEdge{{"site", "cup"}, {"base", "head"}, {"base", "cam"}}[w.r.IntN(3)]
	if !slices.ContainsFunc(w.n.now().above[e.child], func(p naivePeriod) bool { return p.parent == e.parent }) {
		return
	}
	w.did("configure %v: gap %d, hold %d", e, o.maxGap, o.hold)
	w.ok(w.s.Configure(e.parent, e.child, MaxGap(time.Duration(o.maxGap)), Hold(time.Duration(o.hold))))
	if e.child == "head" {
		e.parent = ""
	}
	was := w.n.now().options[e]
	o.noise, o.sigma = was.noise, was.sigma
	w.n.now().options[e] = o
}

// write sets some samples, mostly in order, some of them replacing others.
func (w *world) write() {
	child, at := w.oneOf("base", "base", "cup", "boat", "head", "cam", "handle", "lens"), w.time()
	for range w.r.IntN(30) {
		t := w.time()
		if w.r.IntN(3) > 0 {
			at = (at + engram.Time(w.r.IntN(30))) % (modelSpan + 60) // compareDiff sees all of it, held too
			t = at
		}
		p, pose, cov := w.n.now().at, randomPose(w.r), Cov{}
		period, _ := p(child, t)
		if w.r.IntN(3) == 0 && !slices.ContainsFunc(modelAnchors, func(e naiveEdge) bool { return e.child == period.parent }) {
			cov = w.cov()
		}
		e := naiveEdge{period.parent, child}
		var err error
		switch {
		case child == "head":
			e.parent = ""
			period.kept = &naiveKept{from: w.n.mayForget[e]}
			pose = Translation(3*pose.T.X, 0, 0)
			err = w.s.SetJoints(t, []JointValue{{Name: "head", Q: pose.T.X}, {Name: "tool", Q: 77}})
		case period.parent == "" || period.kind != KindFree:
			continue
		default:
			f := must[*FreeEdge](w.T)(w.s.Free(e.parent, e.child))
			w.manyChunks(f)
			if cov.Mask == 0 {
				err = f.Set(t, pose)
			} else {
				err = f.SetCov(t, pose, cov)
			}
		}
		if engram.CodeOf(err) == engram.TooOld && t < period.kept.from {
			continue
		}
		w.ok(err)
		w.log = append(w.log, fmt.Sprintf("%d: %v at %d: x = %.3g", w.n.rev(), e, t, pose.T.X))
		w.n.write(e, t, pose, cov)
		w.keep(child, t)
	}
}

// manyChunks makes the chunks of an edge small.
func (w *world) manyChunks(e *FreeEdge) {
	for _, span := range *e.spans.Load() {
		span.h.mu.Lock()
		span.h.limit = minChunk
		span.h.mu.Unlock()
	}
}

// keep lets the store forget what it may after a write at t.
func (w *world) keep(child string, t engram.Time) {
	p, end := w.n.now().at(child, t)
	e, r, kept := naiveEdge{p.parent, child}, modelRetention[child], p.kept
	from, size := p.from, 240
	if child == "head" {
		e.parent, from, end, kept, size = "", engram.MinTime, engram.MaxTime, &naiveKept{from: engram.MinTime}, 16
	}
	list := w.n.list(w.n.rev(), e, from, end)
	keepLast := func(count int) {
		if count > 0 && len(list) > count {
			kept.from = max(kept.from, list[len(list)-count].t)
		}
	}
	keepLast(r.MaxCount)
	keepLast(int(r.MaxBytes) / size)
	if r.MaxAge > 0 {
		kept.from = max(kept.from, list[len(list)-1].t-engram.Time(r.MaxAge))
	}
	if _, ok := w.n.mayForget[e]; !ok {
		w.n.mayForget[e] = engram.MinTime
	}
	w.n.mayForget[e] = max(w.n.mayForget[e], kept.from)
}

// acquire acquires a sensor, and notes what must be kept for it up to its root.
func (w *world) acquire(sensor string, t engram.Time) {
	w.did("acquire %s at %d", sensor, t)
	a, err := w.s.Acquire(sensor, t)
	base := sensor
	for {
		p, _ := w.n.now().at(base, t)
		if p.parent == "" || p.kind != KindFixed && p.kind != KindJoint {
			break
		}
		base = p.parent
	}
	want := w.n.lookup(w.n.rev(), base, sensor, t)
	if err != nil {
		for code := range want.guilty {
			if engram.CodeOf(err) == code.Code() {
				return
			}
		}
		w.fail("acquiring %s at %d: %v; the naive store says %v", sensor, t, err, want.guilty)
	}
	if a.Base != base || a.Info.Revision != w.s.Revision() || poseError(a.Pose, want.p) > 1e-9 {
		w.fail("acquired %+v; want %v on the base %s", a, want.p, base)
	}
	acquired := worldAcquired{sensor: sensor, rev: w.n.rev(), t: t, clock: w.n.clock}
	for f := sensor; f != ""; {
		p, _ := w.n.now().at(f, t)
		e := naiveEdge{p.parent, f}
		if p.kind == KindJoint {
			root, _, _ := w.n.root(p.joint)
			e = naiveEdge{"", root.Name}
		}
		// What is forgotten already does not come back.
		if _, _, fail := w.s.Lookup(p.parent, f, t); p.parent != "" && fail.Code == OK {
			if w.n.pins[e] == nil {
				w.n.pins[e] = map[engram.Time][]int{}
			}
			w.n.pins[e][t] = append(w.n.pins[e][t], w.n.clock)
			acquired.edges = append(acquired.edges, e)
		}
		f = p.parent
	}
	w.acquired[a.ID] = acquired
}

func (w *world) release() {
	ids := slices.Sorted(maps.Keys(w.acquired))
	if len(ids) == 0 {
		return
	}
	id := ids[w.r.IntN(len(ids))]
	w.did("release %d", id)
	w.ok(w.s.Release(id))
	a := w.acquired[id]
	for _, e := range a.edges {
		list := w.n.pins[e][a.t]
		i := slices.Index(list, a.clock)
		w.n.pins[e][a.t] = slices.Delete(slices.Clone(list), i, i+1)
	}
	delete(w.acquired, id)
}
