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
	"pgregory.net/rapid"
)

// model is the slow, obvious implementation: per edge and period a sorted slice,
// copied as a whole for each revision.
type model struct {
	modelState
	past    []modelState // of the revisions before the current
	periods int          // ever made
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
	return modelPeriod{m.periods, from, parent, samples}
}

const modelGap = engram.Time(50)

// edgeAt answers for one edge: the parent and the pose, or a code.
func (st *modelState) edgeAt(child string, t engram.Time) (string, Pose, FailureCode) {
	if child == "cam" {
		return "base", st.fixed["cam"], OK
	}
	if child == "odom" {
		keys := st.anchors["odom"]
		if len(keys) == 0 {
			return "site", Pose{}, Unset
		}
		i := sort.Search(len(keys), func(i int) bool { return keys[i].t > t })
		switch {
		case i == 0:
			return "site", keys[0].p, OK
		case i == len(keys):
			return "site", keys[i-1].p, OK
		}
		a, b := keys[i-1], keys[i]
		return "site", Geodesic(a.p, b.p, float64(t-a.t)/float64(b.t-a.t)), OK
	}
	periods := st.frames[child]
	i := sort.Search(len(periods), func(i int) bool { return periods[i].from > t }) - 1
	if i < 0 || periods[i].parent == "" {
		return "", Pose{}, OK
	}
	p := periods[i]
	s := p.samples
	if len(s) == 0 {
		return p.parent, Pose{}, Unset
	}
	j := sort.Search(len(s), func(j int) bool { return s[j].t > t })
	switch {
	case j == 0:
		return p.parent, Pose{}, TooOld
	case s[j-1].t == t:
		return p.parent, s[j-1].p, OK
	case j == len(s) && i+1 < len(periods):
		return p.parent, Pose{}, Gap
	case j == len(s):
		return p.parent, Pose{}, TooNew
	case s[j].t-s[j-1].t > modelGap:
		return p.parent, Pose{}, Gap
	}
	a, b := s[j-1], s[j]
	return p.parent, Interpolate(a.p, b.p, float64(t-a.t)/float64(b.t-a.t)), OK
}

// lookup answers target ← source, or with the codes of all guilty edges on the way.
func (st *modelState) lookup(target, source string, t engram.Time) (Pose, map[FailureCode]bool) {
	type hop struct {
		frame string
		p     Pose
		code  FailureCode
	}
	way := func(f string) (hops []hop) {
		for f != "" {
			parent, p, code := st.edgeAt(f, t)
			hops = append(hops, hop{f, p, code})
			f = parent
		}
		return hops
	}
	ws, wt := way(source), way(target)
	for len(ws) > 0 && len(wt) > 0 && ws[len(ws)-1].frame == wt[len(wt)-1].frame {
		ws, wt = ws[:len(ws)-1], wt[:len(wt)-1]
		if len(ws) == 0 || len(wt) == 0 || ws[len(ws)-1].frame != wt[len(wt)-1].frame {
			guilty := map[FailureCode]bool{}
			join := func(hops []hop) Pose {
				p := Identity()
				for i := len(hops) - 1; i >= 0; i-- {
					if hops[i].code != OK {
						guilty[hops[i].code] = true
					}
					p = p.Mul(hops[i].p)
				}
				return p
			}
			s, tt := join(ws), join(wt)
			if len(guilty) > 0 {
				return Pose{}, guilty
			}
			return tt.Inverse().Mul(s), nil
		}
	}
	return Pose{}, map[FailureCode]bool{NotConnected: true}
}

func randomPose(r *rand.Rand) Pose {
	q := Quat{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	n := math.Sqrt(q.W*q.W + q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	return Pose{
		T: Vec3{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()},
		R: Quat{q.W / n, q.X / n, q.Y / n, q.Z / n},
	}
}

// TestModel runs random writes in any order, replacements, re-parenting,
// calibrations and transactions against the model, with a reader beside them, and
// compares all look-ups of the current and of every past revision.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		s := New(Config{MaxGap: time.Duration(modelGap), Revisions: 1 << 20})
		m := &model{modelState: modelState{map[string][]modelPeriod{}, map[string]Pose{}, map[string][]modelSample{}}}
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		must(s.Anchor("site", "odom"))
		must(s.Fixed("base", "cam", Identity(), ExactCov()))
		m.fixed["cam"] = Identity()
		for _, e := range [][2]string{{"odom", "base"}, {"site", "cup"}, {"island", "boat"}} {
			_, err := s.Free(e[0], e[1])
			must(err)
			m.frames[e[1]] = []modelPeriod{m.newPeriod(engram.MinTime, e[0], nil)}
		}

		stop := make(chan struct{})
		var readers sync.WaitGroup
		readers.Go(func() { readAll(s, rand.New(rand.NewPCG(1, 1)), stop) })
		steps := rapid.IntRange(1, 40).Draw(rt, "steps")
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
	child := []string{"base", "cup", "boat"}[r.IntN(3)]
	switch r.IntN(12) {
	case 0: // re-parent the cup
		parent := []string{"cam", "site", "base", "cup", ""}[r.IntN(5)]
		_, err := s.Reparent(at, parent, "cup")
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
	*p = m.newPeriod(p.from, p.parent, kept)
	m.frames[child] = slices.Insert(m.frames[child], i+1, fresh)
}

func (m *model) set(rt *rapid.T, s *Store, child string, smp modelSample) {
	p := &m.frames[child][m.period(child, smp.t)]
	if p.parent == "" {
		return
	}
	e, err := s.Free(p.parent, child)
	if err != nil {
		rt.Fatal(err)
	}
	for _, span := range *e.spans.Load() {
		span.h.mu.Lock()
		span.h.limit = minChunk // many chunks
		span.h.mu.Unlock()
	}
	if err := e.Set(smp.t, smp.p); err != nil {
		rt.Fatal(err)
	}
	if slices.ContainsFunc(p.samples, func(o modelSample) bool { return o.t == smp.t }) {
		m.revise()
		p.samples = put(p.samples, smp)
		return
	}
	p.samples = put(p.samples, smp)
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

var modelFrames = []string{"site", "odom", "base", "cam", "cup", "island", "boat"}

// compare asks the store and the model the same questions, about now and about
// every revision.
func (m *model) compare(rt *rapid.T, s *Store, r *rand.Rand) {
	if got := int(s.Revision()); got != len(m.past) {
		rt.Fatalf("revision %d; the model counts %d", got, len(m.past))
	}
	for range 100 {
		target, source := modelFrames[r.IntN(7)], modelFrames[r.IntN(7)]
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
			target, source := modelFrames[r.IntN(7)], modelFrames[r.IntN(7)]
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
}

func check(rt *rapid.T, what string, got Pose, fail Failure, want Pose, guilty map[FailureCode]bool) {
	if len(guilty) > 0 {
		if !guilty[fail.Code] {
			rt.Fatalf("%s: %v; the model says %v", what, fail.Code, guilty)
		}
		return
	}
	if fail.Code != OK {
		rt.Fatalf("%s: %v; the model has an answer", what, fail.Err())
	}
	if e := poseError(got, want); e > 1e-9 {
		rt.Fatalf("%s: %v differs from the model's %v by %g", what, got, want, e)
	}
}

// readAll looks up at random until stopped; the race detector watches, and an
// answer must be a pose.
func readAll(s *Store, r *rand.Rand, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		p, _, fail := s.Lookup(modelFrames[r.IntN(7)], modelFrames[r.IntN(7)], engram.Time(r.IntN(600)))
		if fail.Code == OK {
			if _, err := p.Checked(); err != nil {
				panic(err)
			}
		}
	}
}
