package pose

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// compare asks the store and the naive one the same questions, about the present and
// about every revision.
func (w *world) compare() {
	for range 100 {
		w.compareAt(nil, w.n.rev(), w.oneOf(modelFrames...), w.oneOf(modelFrames...), w.time()+10-engram.Time(w.r.IntN(20)))
	}
	for rev := range w.n.rev() + 1 {
		v := must[*View](w.T)(w.s.View(AsOf(rev)))
		for range 8 {
			w.compareAt(v, rev, w.oneOf(modelFrames...), w.oneOf(modelFrames...), w.time())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.acquired)) { // at their own times nothing is forgotten
		a := w.acquired[id]
		rev := w.r.IntN(w.n.rev() + 1)
		w.compareAt(must[*View](w.T)(w.s.View(AsOf(rev))), rev, "site", a.sensor, a.t)
		w.compareAt(nil, w.n.rev(), "site", a.sensor, a.t)
	}
	for _, v := range w.views {
		if got, _, fail := v.p.At(v.t); got != v.want || fail.Code != v.fail {
			w.fail("a view of %s ← %s at %d changed from %v, %v to %v, %v", v.p.Target(), v.p.Source(), v.t, v.want, v.fail, got, fail.Code)
		}
	}
	for range 10 {
		w.compareLatest(w.oneOf(modelFrames...), w.oneOf(modelFrames...))
		w.compareBetween(w.oneOf(modelFrames...), w.oneOf(modelFrames...), w.oneOf(modelFrames...))
		moving := w.oneOf("base", "cam", "claw", "cup") // the motion of one frame, seen from the world
		w.compareBetween(moving, moving, w.oneOf("earth", "site", "odom", "wheels"))
	}
	for range 3 {
		a, b := Revision(w.r.IntN(w.n.rev()+1)), Revision(w.r.IntN(w.n.rev()+1))
		target, source := w.oneOf(modelFrames...), w.oneOf(modelFrames...)
		th := Threshold{Trans: w.r.Float64(), Rot: w.r.Float64()}
		compareDiff(w, &diffWorld{unit: 1},
			must[*Path](w.T)(must[*View](w.T)(w.s.View(AsOf(a))).Path(target, source)),
			must[*Path](w.T)(must[*View](w.T)(w.s.View(AsOf(b))).Path(target, source)),
			th, must[[]Change](w.T)(w.s.Diff(target, source, a, b, th)))
	}
	w.compareMoved(w.oneOf("cam", "claw", "cup", "lens"), w.r.IntN(w.n.rev()+1))
}

// Fatalf makes a world what compareDiff tells of.
func (w *world) Fatalf(format string, args ...any) {
	w.Helper()
	w.fail(format, args...)
}

// compareAt asks with and without the covariance, about a view or the present if that
// is nil.
func (w *world) compareAt(v *View, rev int, target, source string, t engram.Time) {
	p := must[*Path](w.T)(w.s.Path(target, source))
	if v != nil {
		p = must[*Path](w.T)(v.Path(target, source))
	}
	want := w.n.lookup(rev, target, source, t)
	got, info, fail := p.At(t)
	withCov, cov, _, failCov := p.AtCov(t)
	what := func() {

		w.Helper()
		w.fail("revision %d of %d: %s ← %s at %d: %v %v, with the covariance %v %v %v; the naive store says %v %v %v",
			rev, w.n.rev(), target, source, t, got, fail.Code, withCov, failCov.Code, cov, want.p, want.cov, want.guilty)
	}
	if v == nil {
		if named, _, failNamed := w.s.Lookup(target, source, t); named != got || failNamed.Code != fail.Code {
			what()
		}
	}
	if fail.Code != failCov.Code || fail.Code == OK && (poseError(withCov, got) > 1e-9 || info.Revision != Revision(rev)) {
		what()
	}
	if fail.Code != OK {
		if !want.guilty[fail.Code] {
			what()
		}
		return
	}
	delete(want.guilty, Pruned)
	if len(want.guilty) > 0 || poseError(got, want.p) > 1e-9 || covError(&cov, &want.cov) > 1e-6 {
		what()
	}
}

// compareLatest asks for the latest common time: no later time has samples of every
// edge on the way.
func (w *world) compareLatest(target, source string) {
	p := must[*Path](w.T)(w.s.Path(target, source))
	_, info, fail := p.LatestCommon()
	T, cov, _, failCov := p.LatestCommonCov()
	want, found := w.n.latest(target, source)
	switch {
	case failCov.Code != fail.Code:
	case !found && fail.Code != OK, found && want == info.TargetTime:
		if fail.Code == OK {
			said := w.n.lookup(w.n.rev(), target, source, want)
			if poseError(said.p, T) > 1e-9 || covError(&cov, &said.cov) > 1e-6 {
				break
			}
		}
		return
	case found:
		if guilty := w.n.lookup(w.n.rev(), target, source, want).guilty; fail.Code != OK && guilty[fail.Code] || guilty[Pruned] {
			return
		}
	}
	w.fail("the latest of %s ← %s is at %d, %v and %v; the naive store says %d, %v", target, source, info.TargetTime, fail.Err(), failCov.Err(), want, found)
}

// latest looks at all times at which something ends, from the latest on, as long as the
// frames are connected.
func (n *naive) latest(target, source string) (latest engram.Time, found bool) {
	times := []engram.Time{engram.MaxTime}
	for _, periods := range n.now().above {
		for _, p := range periods {
			times = append(times, p.from-1)
		}
	}
	for _, samples := range n.samples {
		times = append(times, slices.Collect(maps.Keys(samples))...)
	}
	slices.Sort(times)
	for _, t := range slices.Backward(times) {
		switch known, connected := n.known(target, source, t); {
		case known:
			return t, true
		case !connected:
			return 0, false
		}
	}
	return 0, false
}

// known reports whether every edge on the way at t has samples up to then or longer.
func (n *naive) known(target, source string, t engram.Time) (known, connected bool) {
	way := func(f string) (out []string) {
		for f != "" {
			out = append(out, f)
			p, _ := n.now().at(f, t)
			f = p.parent
		}
		return out
	}
	ws, wt := way(source), way(target)
	if ws[len(ws)-1] != wt[len(wt)-1] {
		return false, false
	}
	for len(ws) > 0 && len(wt) > 0 && ws[len(ws)-1] == wt[len(wt)-1] {
		ws, wt = ws[:len(ws)-1], wt[:len(wt)-1]
	}
	for _, f := range append(ws, wt...) {
		p, end := n.now().at(f, t)
		from, e := p.from, naiveEdge{p.parent, f}
		switch p.kind {
		case KindJoint:
			root, _, _ := n.root(p.joint)
			from, e = engram.MinTime, naiveEdge{"", root.Name}
		case KindFixed, KindAnchor:
			continue
		}
		if list := n.list(n.rev(), e, from, end); len(list) == 0 || list[len(list)-1].t < t {
			return false, true
		}
	}
	return true, true
}

// compareBetween asks for two times through a frame.
func (w *world) compareBetween(target, source, fixed string) {
	at, from := w.time(), w.time()
	if w.r.IntN(4) == 0 {
		from = at
	}
	p := must[*Path](w.T)(w.s.Path(target, source))
	got, _, fail := p.Between(at, from, fixed)
	withCov, cov, _, failCov := p.BetweenCov(at, from, fixed)
	to, back := w.n.lookup(w.n.rev(), target, fixed, at), w.n.lookup(w.n.rev(), fixed, source, from)
	maps.Copy(to.guilty, back.guilty)
	switch {
	case fail.Code != failCov.Code:
	case fail.Code != OK && to.guilty[fail.Code]:
		return
	case fail.Code == OK:
		delete(to.guilty, Pruned)
		if len(to.guilty) == 0 && poseError(got, to.p.Mul(back.p)) < 1e-9 && poseError(got, withCov) < 1e-9 {
			want, known := w.n.betweenCov(w.n.rev(), target, source, fixed, at, from)
			if known && covError(&cov, &want) > 1e-6 {
				w.fail("%s at %d ← %s ← %s at %d: covariance %v; the naive store says %v", target, at, fixed, source, from, cov, want)
			}
			return
		}
	}
	w.fail("%s at %d ← %s ← %s at %d: %v %v, with the covariance %v %v; the naive store says %v %v", target, at, fixed, source, from, got, fail.Code, withCov, failCov.Code, to.p.Mul(back.p), to.guilty)
}

// compareMoved asks which acquisitions of a sensor moved since a revision.
func (w *world) compareMoved(sensor string, from int) {
	ask := Changes{Target: "site", Source: sensor, OnlyAcquired: true, Trans: w.r.Float64() * 2, Rot: 9}
	sub := must[*Subscription](w.T)(w.s.Subscribe(ask, Revision(from)))
	ev := must[Event](w.T)(sub.since(Revision(from), w.s.Now()))
	for _, m := range ev.Moved {
		if _, ok := w.acquired[m.ID]; !ok || m.Trans <= ask.Trans && !m.Failed {
			w.fail("acquisition %d of %s is told as moved by %g m; the threshold is %g", m.ID, sensor, m.Trans, ask.Trans)
		}
	}
	for id, a := range w.acquired {
		if a.sensor != sensor {
			continue
		}
		was, now := w.n.lookup(max(from, a.rev), "site", sensor, a.t), w.n.lookup(w.n.rev(), "site", sensor, a.t)
		i := slices.IndexFunc(ev.Moved, func(m Moved) bool { return m.ID == id })
		if was.guilty[Pruned] || now.guilty[Pruned] {
			continue
		}
		moved := (len(was.guilty) == 0) != (len(now.guilty) == 0)
		if len(was.guilty) == 0 && len(now.guilty) == 0 {
			trans, _ := was.p.Distance(now.p)
			if math.Abs(trans-ask.Trans) < 1e-9 {
				continue
			}
			moved = trans > ask.Trans
		}
		if moved != (i >= 0) {
			w.fail("acquisition %d of %s at %d in revision %d, since %d: told as moved: %v; the naive store says %v %v and %v %v", id, sensor, a.t, a.rev, from, i >= 0, was.p, was.guilty, now.p, now.guilty)
		}
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
			v := s.Now()
			if rev := s.Revision(); rev > 0 && r.IntN(2) == 0 {
				if v, err = s.View(AsOf(r.Int64N(int64(rev)))); err != nil {
					panic(err)
				}
			}
			if path, err = v.Path(target, source); err != nil {
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
		case 6:
			p, _, fail = path.Latest(time.Hour)
		}
		if fail.Code == OK {
			if _, err := p.Checked(); err != nil {
				panic(err)
			}
		}
	}
}
