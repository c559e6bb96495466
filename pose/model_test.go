package pose

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose/urdf"
	"pgregory.net/rapid"
)

// model is the slow, obvious implementation: per edge and period a sorted slice,
// copied as a whole for each revision. It forgets nothing, but knows what the store
// may forget.
type model struct {
	modelState
	past     []modelState // of the revisions before the current
	periods  int          // ever made
	acquired map[AcquisitionID]*modelAcquired
	views    []modelView
}

// modelAcquired is an acquisition that was not released.
type modelAcquired struct {
	t     engram.Time
	keeps []*modelKept
}

// modelKept is what a period's history must not forget: what is at or after from, and
// around the pinned times.
type modelKept struct {
	from engram.Time
	pins map[engram.Time]int
}

func (k *modelKept) mayForget(t engram.Time) bool { return t < k.from && k.pins[t] == 0 }

// modelView is a view with what it answered when it was made.
type modelView struct {
	p    *Path
	t    engram.Time
	want Pose
	fail FailureCode
}

// modelState is everything that answers depend on.
type modelState struct {
	frames  map[string][]modelPeriod // by child, sorted by time
	fixed   map[string]Pose          // by child
	anchors map[string][]modelSample // by child: keys
}

// modelPeriod is a time under one parent. While it is the same period, its new
// samples belong to earlier revisions as well.
type modelPeriod struct {
	id      int
	from    engram.Time
	parent  string // "" for none
	samples []modelSample
	kept    *modelKept
}

type modelSample struct {
	t engram.Time
	p Pose
}

// revise keeps the present state for the present revision.
func (m *model) revise() { m.past = append(m.past, m.modelState.clone()) }

func (st *modelState) clone() modelState {
	out := modelState{map[string][]modelPeriod{}, maps.Clone(st.fixed), map[string][]modelSample{}}
	for k, v := range st.frames {
		for _, p := range v {
			p.samples = slices.Clone(p.samples)
			out.frames[k] = append(out.frames[k], p)
		}
	}
	for k, v := range st.anchors {
		out.anchors[k] = slices.Clone(v)
	}
	return out
}

// period returns the period of a frame at t.
func (st *modelState) period(child string, t engram.Time) int {
	periods := st.frames[child]
	return sort.Search(len(periods), func(i int) bool { return periods[i].from > t }) - 1
}

func (m *model) newPeriod(from engram.Time, parent string, samples []modelSample) modelPeriod {
	m.periods++
	return modelPeriod{m.periods, from, parent, samples, &modelKept{engram.MinTime, map[engram.Time]int{}}}
}

// modelRetention is that of the edges above the frames; values take 16 bytes, poses 64.
var modelRetention = map[string]Retention{
	"base": {MaxCount: 40}, "cup": {MaxAge: 150}, "boat": {MaxBytes: 64 * 30}, "head": {MaxCount: 40, MaxBytes: 16 * 30},
}

// write puts a sample into a period and lets the store forget what it may.
func (p *modelPeriod) write(child string, smp modelSample) {
	p.samples = put(p.samples, smp)
	r, n := modelRetention[child], len(p.samples)
	keepLast := func(count int) {
		if count > 0 && n > count {
			p.kept.from = max(p.kept.from, p.samples[n-count].t)
		}
	}
	keepLast(r.MaxCount)
	if child == "head" {
		keepLast(int(r.MaxBytes) / 16)
	} else {
		keepLast(int(r.MaxBytes) / 64)
	}
	if r.MaxAge > 0 {
		p.kept.from = max(p.kept.from, p.samples[n-1].t-engram.Time(r.MaxAge))
	}
}

const modelGap = engram.Time(50)

var (
	modelPan  = JointSpec{Name: "pan", Type: urdf.Revolute, Origin: Translation(0, 0, 1), Axis: Vec3{Z: 1}}
	modelTilt = JointSpec{Name: "tilt", Type: urdf.Revolute, Origin: Translation(1, 0, 0), Axis: Vec3{Y: 1}, Mimic: &Mimic{"pan", -2, 0.5}}
)

// modelHop is the answer for one edge: the parent, and the pose or a code; the answer
// may be Pruned as well.
type modelHop struct {
	frame, parent string
	p             Pose
	code          FailureCode
	pruned        bool
}

func (st *modelState) edgeAt(child string, t engram.Time) (h modelHop) {
	h = modelHop{frame: child, p: Identity()}
	switch child {
	case "cam":
		h.parent, h.p = "base", st.fixed["cam"]
		return h
	case "head", "tool": // the value stands where a translation along x has its length
		spec := modelPan
		h = st.historyAt("head", t)
		if h.frame = child; child == "tool" {
			spec, h.parent = modelTilt, "head"
		}
		scale, offset := spec.scaleOffset()
		h.p = spec.Origin.Mul(Pose{R: AxisAngle(spec.Axis, scale*h.p.T.X+offset)})
		return h
	case "odom":
		h.parent = "site"
		keys := st.anchors["odom"]
		i := sort.Search(len(keys), func(i int) bool { return keys[i].t > t })
		switch {
		case len(keys) == 0:
			h.code = Unset
		case i == 0:
			h.p = keys[0].p
		case i == len(keys):
			h.p = keys[i-1].p
		default:
			a, b := keys[i-1], keys[i]
			h.p = Geodesic(a.p, b.p, float64(t-a.t)/float64(b.t-a.t))
		}
		return h
	}
	return st.historyAt(child, t)
}

// historyAt is edgeAt for an edge with samples.
func (st *modelState) historyAt(child string, t engram.Time) (h modelHop) {
	h = modelHop{frame: child, p: Identity()}
	periods := st.frames[child]
	i := sort.Search(len(periods), func(i int) bool { return periods[i].from > t }) - 1
	if i < 0 || periods[i].parent == "" {
		return h
	}
	p := periods[i]
	h.parent, h.pruned = p.parent, p.kept.mayForget(t)
	s := p.samples
	if len(s) == 0 {
		h.code = Unset
		return h
	}
	j := sort.Search(len(s), func(j int) bool { return s[j].t > t })
	switch {
	case j == 0:
		h.code = TooOld
	case s[j-1].t == t:
		h.p = s[j-1].p
	case j == len(s) && i+1 < len(periods):
		h.code = Gap
	case j == len(s):
		h.code = TooNew
	case s[j].t-s[j-1].t > modelGap:
		h.code = Gap
	default:
		a, b := s[j-1], s[j]
		h.p = Interpolate(a.p, b.p, float64(t-a.t)/float64(b.t-a.t))
	}
	return h
}

// lookup answers target ← source, or with the codes of all guilty edges on the way;
// Pruned beside an answer means that it may be forgotten.
func (st *modelState) lookup(target, source string, t engram.Time) (Pose, map[FailureCode]bool) {
	way := func(f string) (hops []modelHop) {
		for f != "" {
			hops = append(hops, st.edgeAt(f, t))
			f = hops[len(hops)-1].parent
		}
		return hops
	}
	ws, wt := way(source), way(target)
	if ws[len(ws)-1].frame != wt[len(wt)-1].frame {
		return Pose{}, map[FailureCode]bool{NotConnected: true}
	}
	for len(ws) > 0 && len(wt) > 0 && ws[len(ws)-1].frame == wt[len(wt)-1].frame {
		ws, wt = ws[:len(ws)-1], wt[:len(wt)-1]
	}
	guilty := map[FailureCode]bool{}
	join := func(hops []modelHop) Pose {
		p := Identity()
		for i := len(hops) - 1; i >= 0; i-- {
			if hops[i].code != OK {
				guilty[hops[i].code] = true
			}
			if hops[i].pruned {
				guilty[Pruned] = true
			}
			p = p.Mul(hops[i].p)
		}
		return p
	}
	s, tt := join(ws), join(wt)
	return tt.Inverse().Mul(s), guilty
}

func randomPose(r *rand.Rand) Pose {
	q := Quat{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	n := math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	return Pose{
		T: Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()},
		R: Quat{q.W / n, q.X / n, q.Y / n, q.Z / n},
	}
}

// TestModel runs random writes in any order, replacements, pruning, re-parenting,
// calibrations, transactions, acquisitions and releases against the model, with
// readers beside them, and compares all look-ups of the current and of every past
// revision, views that were kept, and differences.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		s := New(Config{MaxGap: time.Duration(modelGap), Revisions: 1 << 20})
		m := &model{
			modelState: modelState{map[string][]modelPeriod{}, map[string]Pose{}, map[string][]modelSample{}},
			acquired:   map[AcquisitionID]*modelAcquired{},
		}
		done := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		done(s.Anchor("site", "odom"))
		done(s.Fixed("base", "cam", Identity(), ExactCov()))
		m.fixed["cam"] = Identity()
		for _, e := range [][2]string{{"odom", "base"}, {"site", "cup"}, {"island", "boat"}} {
			_, err := s.Free(e[0], e[1], Keep(modelRetention[e[1]]))
			done(err)
			m.frames[e[1]] = []modelPeriod{m.newPeriod(engram.MinTime, e[0], nil)}
		}
		_, err := s.Joint("base", "head", modelPan, Keep(modelRetention["head"]))
		done(err)
		_, err = s.Joint("head", "tool", modelTilt)
		done(err)
		m.frames["head"] = []modelPeriod{m.newPeriod(engram.MinTime, "base", nil)}

		stop := make(chan struct{})
		var readers sync.WaitGroup
		for i := range uint64(2) {
			readers.Go(func() { readAll(s, rand.New(rand.NewPCG(1, i)), stop) })
		}
		steps := rapid.IntRange(1, 60).Draw(rt, "steps")
		for range steps {
			m.step(rt, s, r)
		}
		close(stop)
		readers.Wait()
		m.compare(rt, s, r)
	})
}

// step does one random change to both.
func (m *model) step(rt *rapid.T, s *Store, r *rand.Rand) {
	at := engram.Time(r.IntN(600))
	child := []string{"base", "cup", "boat", "head"}[r.IntN(4)]
	switch r.IntN(18) {
	case 0: // re-parent the cup
		parent := []string{"cam", "site", "tool", "cup", ""}[r.IntN(5)]
		_, err := s.Reparent(at, parent, "cup", Keep(modelRetention["cup"]))
		if parent == "cup" {
			if engram.CodeOf(err) != engram.Conflict {
				rt.Fatalf("a loop was not refused: %v", err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		m.reparent("cup", parent, at)
	case 1: // calibrate the camera, at all times
		p := randomPose(r)
		tx := s.Begin("calibration")
		tx.Fix("base", "cam", engram.Always(), p, ExactCov())
		if _, err := tx.Commit(); err != nil {
			rt.Fatal(err)
		}
		m.revise()
		m.fixed["cam"] = p
	case 2, 3: // keys
		tx := s.Begin("slam")
		keys := slices.Clone(m.anchors["odom"])
		if r.IntN(2) == 0 {
			iv := engram.Interval{Start: at, End: at + 200}
			tx.Replace("site", "odom", iv)
			var kept []modelSample
			for _, k := range keys {
				if !iv.Contains(k.t) {
					kept = append(kept, k)
				}
			}
			keys = kept
		}
		for range r.IntN(4) {
			k := modelSample{engram.Time(r.IntN(600)), randomPose(r)}
			tx.Key("site", "odom", k.t, k.p, Cov{})
			keys = put(keys, k)
		}
		if _, err := tx.Commit(); err != nil {
			rt.Fatal(err)
		}
		m.revise()
		m.anchors["odom"] = keys
	case 4: // keys by their consequence
		k := modelSample{at, randomPose(r)}
		tx := s.Begin("slam")
		tx.Localize("site", "base", k.t, k.p, Cov{})
		o := m.edgeAt("base", at)
		switch _, err := tx.Commit(); {
		case err == nil && o.code == OK:
			m.revise()
			k.p = k.p.Mul(o.p.Inverse())
			m.anchors["odom"] = put(slices.Clone(m.anchors["odom"]), k)
		case err == nil || engram.CodeOf(err) != o.code.Code() && !(o.pruned && engram.CodeOf(err) == engram.TooOld):
			rt.Fatalf("localized at %d: %v; the model says %v", at, err, o.code)
		}
	case 5, 6:
		m.acquire(rt, s, []string{"cam", "tool", "cup"}[r.IntN(3)], at)
	case 7:
		ids := slices.Sorted(maps.Keys(m.acquired))
		if len(ids) == 0 {
			return
		}
		id := ids[r.IntN(len(ids))]
		if err := s.Release(id); err != nil {
			rt.Fatal(err)
		}
		for _, k := range m.acquired[id].keeps {
			k.pins[m.acquired[id].t]--
		}
		delete(m.acquired, id)
	case 8: // a view, to look at later
		target, source := modelFrames[r.IntN(len(modelFrames))], modelFrames[r.IntN(len(modelFrames))]
		p, err := s.Now().Path(target, source)
		if err != nil {
			rt.Fatal(err)
		}
		v := modelView{p: p, t: at}
		var fail Failure
		v.want, _, fail = p.At(at)
		v.fail = fail.Code
		m.views = append(m.views, v)
	default: // a run of samples, some of them replacing
		for range r.IntN(30) {
			smp := modelSample{engram.Time(r.IntN(600)), randomPose(r)}
			if r.IntN(3) > 0 { // mostly in order
				at += engram.Time(r.IntN(30))
				smp.t = at
			}
			m.set(rt, s, child, smp)
		}
	}
}

// acquire acquires a sensor, and notes what must be kept for it up to its root.
func (m *model) acquire(rt *rapid.T, s *Store, sensor string, t engram.Time) {
	a, err := s.Acquire(sensor, t)
	base := sensor
	for _, seen := range []string{"cam", "head", "tool"} {
		if sensor == seen {
			base = "base"
		}
	}
	_, guilty := m.lookup(base, sensor, t)
	if err != nil {
		for code := range guilty {
			if engram.CodeOf(err) == code.Code() {
				return
			}
		}
		rt.Fatalf("acquiring %s at %d: %v; the model says %v", sensor, t, err, guilty)
	}
	if a.Base != base || a.Info.Revision != s.Revision() {
		rt.Fatalf("acquired %+v; want the base %s", a, base)
	}
	acquired := &modelAcquired{t: t}
	for f := sensor; f != ""; f = m.edgeAt(f, t).parent {
		of := f
		if f == "tool" {
			of = "head"
		}
		if len(m.frames[of]) == 0 {
			continue
		}
		// What is forgotten already does not come back.
		p := m.frames[of][m.period(of, t)]
		if _, _, fail := s.Lookup(m.edgeAt(f, t).parent, f, t); p.parent != "" && fail.Code == OK {
			p.kept.pins[t]++
			acquired.keeps = append(acquired.keeps, p.kept)
		}
	}
	m.acquired[a.ID] = acquired
}

func (m *model) reparent(child, parent string, t engram.Time) {
	i := m.period(child, t)
	p := &m.frames[child][i]
	if p.parent == parent {
		return
	}
	m.revise()
	fresh := m.newPeriod(t, parent, nil)
	if p.from == t {
		*p = fresh
		return
	}
	kept := slices.DeleteFunc(slices.Clone(p.samples), func(smp modelSample) bool { return smp.t >= t })
	cut := m.newPeriod(p.from, p.parent, kept)
	cut.kept.from = p.kept.from
	maps.Copy(cut.kept.pins, p.kept.pins)
	for _, a := range m.acquired {
		if slices.Contains(a.keeps, p.kept) {
			a.keeps = append(a.keeps, cut.kept)
		}
	}
	*p = cut
	m.frames[child] = slices.Insert(m.frames[child], i+1, fresh)
}

// writeTo writes to the store.
func (m *model) writeTo(s *Store, child, parent string, smp modelSample) error {
	if child == "head" {
		return s.SetJoints(smp.t, []JointValue{{Name: "pan", Q: smp.p.T.X}, {Name: "tilt", Q: 77}})
	}
	e, err := s.Free(parent, child)
	if err != nil {
		return err
	}
	for _, span := range *e.spans.Load() {
		span.h.mu.Lock()
		span.h.limit = minChunk // many chunks
		span.h.mu.Unlock()
	}
	return e.Set(smp.t, smp.p)
}

func (m *model) set(rt *rapid.T, s *Store, child string, smp modelSample) {
	p := &m.frames[child][m.period(child, smp.t)]
	if p.parent == "" {
		return
	}
	if child == "head" {
		smp.p = Translation(smp.p.T.X, 0, 0)
	}
	if err := m.writeTo(s, child, p.parent, smp); err != nil {
		if engram.CodeOf(err) == engram.TooOld && smp.t < p.kept.from {
			return
		}
		rt.Fatal(err)
	}
	if slices.ContainsFunc(p.samples, func(o modelSample) bool { return o.t == smp.t }) {
		m.revise()
		p.write(child, smp)
		return
	}
	p.write(child, smp)
	for i := range m.past {
		for j := range m.past[i].frames[child] {
			if q := &m.past[i].frames[child][j]; q.id == p.id {
				q.samples = put(q.samples, smp)
			}
		}
	}
}

func put(list []modelSample, smp modelSample) []modelSample {
	i := sort.Search(len(list), func(i int) bool { return list[i].t >= smp.t })
	if i < len(list) && list[i].t == smp.t {
		list[i] = smp
		return list
	}
	list = append(list, modelSample{})
	copy(list[i+1:], list[i:])
	list[i] = smp
	return list
}

var modelFrames = []string{"site", "odom", "base", "cam", "head", "tool", "cup", "island", "boat"}

// compare asks the store and the model the same questions, about now and about
// every revision.
func (m *model) compare(rt *rapid.T, s *Store, r *rand.Rand) {
	if got := int(s.Revision()); got != len(m.past) {
		rt.Fatalf("revision %d; the model counts %d", got, len(m.past))
	}
	for range 100 {
		target, source := modelFrames[r.IntN(len(modelFrames))], modelFrames[r.IntN(len(modelFrames))]
		t := engram.Time(r.IntN(620) - 10)
		want, guilty := m.lookup(target, source, t)
		got, info, fail := s.Lookup(target, source, t)
		check(rt, fmt.Sprintf("%s ← %s at %d", target, source, t), got, fail, want, guilty)
		if fail.Code == OK && info.Revision != s.Revision() {
			rt.Fatalf("answered in revision %d, not %d", info.Revision, s.Revision())
		}
	}
	for rev := range len(m.past) + 1 {
		v, err := s.View(AsOf(rev))
		if err != nil {
			rt.Fatal(err)
		}
		st := &m.modelState
		if rev < len(m.past) {
			st = &m.past[rev]
		}
		for range 8 {
			target, source := modelFrames[r.IntN(len(modelFrames))], modelFrames[r.IntN(len(modelFrames))]
			t := engram.Time(r.IntN(620) - 10)
			p, err := v.Path(target, source)
			if err != nil {
				rt.Fatal(err)
			}
			want, guilty := st.lookup(target, source, t)
			got, _, fail := p.At(t)
			check(rt, fmt.Sprintf("revision %d of %d: %s ← %s at %d", rev, len(m.past), target, source, t), got, fail, want, guilty)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.acquired)) { // at their own times nothing is forgotten
		a := m.acquired[id]
		for _, source := range []string{"cam", "tool", "cup"} {
			rev := r.IntN(len(m.past) + 1)
			st := &m.modelState
			if rev < len(m.past) {
				st = &m.past[rev]
			}
			p := must[*Path](rt)(must[*View](rt)(s.View(AsOf(rev))).Path("site", source))
			want, guilty := st.lookup("site", source, a.t)
			got, _, fail := p.At(a.t)
			check(rt, fmt.Sprintf("acquired at %d, revision %d: site ← %s", a.t, rev, source), got, fail, want, guilty)
		}
	}
	for _, v := range m.views {
		if got, _, fail := v.p.At(v.t); got != v.want || fail.Code != v.fail {
			rt.Fatalf("a view of %s ← %s at %d changed from %v, %v to %v, %v", v.p.Target(), v.p.Source(), v.t, v.want, v.fail, got, fail.Code)
		}
	}
	for range 3 {
		a, b := Revision(r.IntN(len(m.past)+1)), Revision(r.IntN(len(m.past)+1))
		target, source := modelFrames[r.IntN(len(modelFrames))], modelFrames[r.IntN(len(modelFrames))]
		th := Threshold{Trans: r.Float64(), Rot: r.Float64()}
		compareDiff(rt, &diffWorld{unit: 1},
			must[*Path](rt)(must[*View](rt)(s.View(AsOf(a))).Path(target, source)),
			must[*Path](rt)(must[*View](rt)(s.View(AsOf(b))).Path(target, source)),
			th, must[[]Change](rt)(s.Diff(target, source, a, b, th)))
	}
}

func check(rt *rapid.T, what string, got Pose, fail Failure, want Pose, guilty map[FailureCode]bool) {
	if fail.Code != OK && guilty[fail.Code] {
		return
	}
	delete(guilty, Pruned)
	if len(guilty) > 0 {
		rt.Fatalf("%s: %v; the model says %v", what, fail.Code, guilty)
	}
	if fail.Code != OK {
		rt.Fatalf("%s: %v; the model has an answer", what, fail.Err())
	}
	if e := poseError(got, want); e > 1e-9 {
		rt.Fatalf("%s: %v differs from the model's %v by %g", what, got, want, e)
	}
}

// readAll asks at random until stopped; the race detector watches, and an answer must
// be a pose.
func readAll(s *Store, r *rand.Rand, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		target, source, t := modelFrames[r.IntN(len(modelFrames))], modelFrames[r.IntN(len(modelFrames))], engram.Time(r.IntN(600))
		p, _, fail := s.Lookup(target, source, t)
		path, err := s.Path(target, source)
		if err != nil {
			panic(err)
		}
		switch r.IntN(8) {
		case 0:
			p, _, _, fail = path.AtCov(t)
		case 1:
			p, _, _, fail = path.LatestCommonCov()
		case 2:
			p, _, _, fail = path.BetweenCov(t, t/2, "site")
		case 3:
			if path, err = s.Now().Path(target, source); err != nil {
				panic(err)
			}
			p, _, fail = path.At(t)
			if again, _, _ := path.At(t); again != p {
				panic("a view changed")
			}
		case 4:
			if _, err := s.Diff(target, source, s.Revision()/2, s.Revision(), DefaultThreshold()); err != nil {
				panic(err)
			}
		case 5:
			s.Edges()
		}
		if fail.Code == OK {
			if _, err := p.Checked(); err != nil {
				panic(err)
			}
		}
	}
}
