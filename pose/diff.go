package pose

import (
	"math"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// Threshold says from when on a pose counts as moved: by more than Trans metres or
// more than Rot radians.
type Threshold struct{ Trans, Rot float64 }

// DefaultThreshold is 1 cm and 0.1°.
func DefaultThreshold() Threshold { return Threshold{Trans: 0.01, Rot: 0.1 * degree} }

const degree = math.Pi / 180

func (th Threshold) exceeded(trans, rot float64) bool { return trans > th.Trans || rot > th.Rot }

// Change is a span of time in which two revisions put the source at different
// places.
type Change struct {
	engram.Interval
	// The largest difference, and when.
	Trans   float64 // metres
	TransAt engram.Time
	Rot     float64 // radians
	RotAt   engram.Time
	// Failed is set where one of the revisions has an answer and the other has none;
	// the numbers then speak of the rest of the span.
	Failed bool
}

// Diff lists when the pose of source in target differs between two revisions by
// more than the threshold, in the order of time, with the largest difference of
// each span. Both revisions are taken with the samples that are there now.
//
// It looks where a difference can begin, end or be largest: at the keys of anchors
// that were revised and midway between them, at the samples beside one that was
// replaced, and, where the structure or a calibration was revised, at every sample
// of the path. So its cost grows with what was revised, not with the length of the
// history. The errors are those of [Store.View] and [View.Path].
func (s *Store) Diff(target, source string, a, b Revision, th Threshold) ([]Change, error) {
	va, err := s.View(AsOf(a))
	if err != nil {
		return nil, err
	}
	vb, err := s.View(AsOf(b))
	if err != nil {
		return nil, err
	}
	return diffViews(va, vb, target, source, th)
}

func diffViews(va, vb *View, target, source string, th Threshold) ([]Change, error) {
	pa, err := va.Path(target, source)
	if err != nil {
		return nil, err
	}
	pb, err := vb.Path(target, source)
	if err != nil {
		return nil, err
	}
	d := differ{a: pa, b: pb, th: th, sine: math.Sin(min(th.Rot, math.Pi) / 2)}
	for t := engram.MinTime; ; {
		sa, sb := pa.segmentAt(pa.now(), t), pb.segmentAt(pb.now(), t)
		iv := engram.Interval{Start: t, End: min(sa.End, sb.End)}
		d.segment(sa, sb, iv)
		if iv.End == engram.MaxTime {
			break
		}
		t = iv.End
	}
	return d.out, nil
}

// differ compares two paths along time.
type differ struct {
	a, b    *Path
	th      Threshold
	out     []Change
	open    bool    // the last change goes on to the next time looked at
	sine    float64 // of half the threshold's angle
	largest float64 // half sine of the open change
}

// segment compares the paths in a span in which neither's structure changes.
func (d *differ) segment(sa, sb *segment, iv engram.Interval) {
	times, differ, alike := probes(sa, sb, iv)
	if !differ {
		d.open = false
		return
	}
	p := pair{a: sa, b: sb, alike: alike}
	p.qa.init(0, d.a.now().rev)
	p.qb.init(0, d.b.now().rev)
	p.qa.fail, p.qb.fail = &p.fail, &p.fail
	for i, t := range times {
		end := iv.End
		if i+1 < len(times) {
			end = times[i+1]
		}
		d.at(t, end, &p)
	}
}

// at compares at t; the difference is taken to last until end.
func (d *differ) at(t, end engram.Time, p *pair) {
	okA, okB := p.eval(t)
	if !okA && !okB {
		d.open = false
		return
	}
	var trans, sine float64
	if okA && okB {
		trans, sine = p.ta.T.Sub(p.tb.T).Norm(), halfSine(&p.ta.R, &p.tb.R)
		if trans <= d.th.Trans && sine <= d.sine {
			d.open = false
			return
		}
	}
	if !d.open {
		d.out = append(d.out, Change{Interval: engram.Interval{Start: t}, TransAt: t, RotAt: t})
		d.open, d.largest = true, 0
	}
	c := &d.out[len(d.out)-1]
	c.End = end
	c.Failed = c.Failed || okA != okB
	if trans > c.Trans {
		c.Trans, c.TransAt = trans, t
	}
	if sine > d.largest {
		d.largest = sine
		c.Rot, c.RotAt = 2*math.Asin(min(sine, 1)), t
	}
}

// halfSine returns the sine of half the angle between two rotations. It grows with
// the angle, and takes no arctangent.
func halfSine(a, b *Quat) float64 {
	x := a.W*b.X - a.X*b.W - a.Y*b.Z + a.Z*b.Y
	y := a.W*b.Y + a.X*b.Z - a.Y*b.W - a.Z*b.X
	z := a.W*b.Z - a.X*b.Y + a.Y*b.X - a.Z*b.W
	return math.Sqrt(x*x + y*y + z*z)
}

// pair evaluates two segments at the same times. What is the same in both is asked
// once.
type pair struct {
	a, b   *segment
	qa, qb query
	ta, tb Pose // the answers
	fail   Failure
	alike  bool // the segments have the same steps and constants
}

// eval sets ta and tb to the answers at t.
func (p *pair) eval(t engram.Time) (okA, okB bool) {
	p.qa.t, p.qb.t = t, t
	if !p.alike {
		return p.a.eval(&p.ta, &p.qa), p.b.eval(&p.tb, &p.qb)
	}
	okA, okB = p.chains(&p.a.down, &p.b.down, &p.ta, &p.tb)
	if okA && okB && (len(p.a.up.steps) > 0 || p.a.up.hasPost) {
		var ua, ub Pose
		okA, okB = p.chains(&p.a.up, &p.b.up, &ua, &ub)
		p.ta, p.tb = ua.Inverse().Mul(p.ta), ub.Inverse().Mul(p.tb)
	}
	return okA, okB
}

// chains evaluates two chains with the same steps and constants.
func (p *pair) chains(a, b *chain, ta, tb *Pose) (okA, okB bool) {
	*ta, *tb = Identity(), Identity()
	for i := range a.steps {
		sa, sb := &a.steps[i], &b.steps[i]
		if sa.hasPre {
			ta.mul(&sa.pre)
			tb.mul(&sa.pre)
		}
		if sa.same(sb, min(p.qa.rev, p.qb.rev)) {
			own := Identity()
			if !sa.move(&own, &p.qa) {
				return false, false
			}
			ta.mul(&own)
			tb.mul(&own)
			continue
		}
		if okA, okB = sa.move(ta, &p.qa), sb.move(tb, &p.qb); !okA || !okB {
			return okA, okB
		}
	}
	if a.hasPost {
		ta.mul(&a.post)
		tb.mul(&a.post)
	}
	return true, true
}

// same reports whether two steps with the same kind and history give the same
// answers in the revision rev and later.
func (st *step) same(o *step, rev Revision) bool {
	switch st.kind {
	case KindFree:
		return st.posesNow().b.replacedAt <= rev && st.edge.rules == o.edge.rules
	case KindJoint:
		return st.valuesNow().b.replacedAt <= rev && st.edge.rules == o.edge.rules && st.edge.unset == o.edge.unset
	}
	return st.edge == o.edge
}

// probes returns the times, sorted, at which two compiled paths may differ most in
// a span, whether they may differ at all, and whether they have the same steps and
// constants.
func probes(sa, sb *segment, iv engram.Interval) (times []engram.Time, differ, alike bool) {
	if !sa.connected && !sb.connected {
		return nil, false, true
	}
	ea, eb := sa.moving(), sb.moving()
	p := prober{iv: iv}
	structure := sa.connected != sb.connected || len(ea) != len(eb) || !sa.sameConstants(sb)
	for i := 0; i < len(ea) && !structure; i++ {
		a, b := ea[i], eb[i]
		switch {
		case a.kind != b.kind || a.poses != b.poses || a.edge.values != b.edge.values:
			structure = true
		case a.kind == KindAnchor && a.edge.keys != b.edge.keys:
			differ = true
			p.keys(a.edge.keys)
			p.keys(b.edge.keys)
		case a.kind == KindFree:
			differ = a.posesNow().replacedTimes(p.add) || differ
		case a.kind == KindJoint:
			differ = a.valuesNow().replacedTimes(p.add) || differ
		}
	}
	if structure {
		differ = true
		for _, st := range append(ea, eb...) {
			switch st.kind {
			case KindFree:
				st.posesNow().allTimes(p.add)
			case KindJoint:
				st.valuesNow().allTimes(p.add)
			case KindAnchor:
				p.keys(st.edge.keys)
			}
		}
	}
	if !differ {
		return nil, false, true
	}
	first, last := extent(ea, eb)
	p.add(max(first, iv.Start))
	p.add(min(last, iv.End-1))
	if last < first { // nothing but constants
		p.add(iv.Start)
	}
	return p.sorted(), true, !structure
}

// prober collects times in a span. Keys come sorted and by the thousand, so they
// are merged and not sorted with the rest.
type prober struct {
	iv    engram.Interval
	runs  [][]engram.Time // each sorted
	other []engram.Time
}

func (p *prober) add(t engram.Time) {
	if p.iv.Contains(t) {
		p.other = append(p.other, t)
	}
}

// keys adds the times of keys and those midway between them.
func (p *prober) keys(a *anchorKeys) {
	lo := sort.Search(len(a.keys), func(i int) bool { return a.keys[i].t >= p.iv.Start })
	run := make([]engram.Time, 0, 2*(len(a.keys)-lo))
	for i := lo; i < len(a.keys) && a.keys[i].t < p.iv.End; i++ {
		t := a.keys[i].t
		run = append(run, t)
		if i+1 < len(a.keys) {
			if mid := t + engram.Time(a.keys[i+1].t.Sub(t)/2); mid < p.iv.End {
				run = append(run, mid)
			}
		}
	}
	p.runs = append(p.runs, run)
}

func (p *prober) sorted() []engram.Time {
	slices.Sort(p.other)
	out := slices.Compact(p.other)
	for _, run := range p.runs {
		out = merged(out, run)
	}
	return out
}

// merged merges two sorted lists, equal times once.
func merged(a, b []engram.Time) []engram.Time {
	out := make([]engram.Time, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
			from = &b
		}
		if t := (*from)[0]; len(out) == 0 || out[len(out)-1] != t {
			out = append(out, t)
		}
		*from = (*from)[1:]
	}
	return out
}

// extent returns the first and the last time of any sample on two paths.
func extent(lists ...[]*step) (first, last engram.Time) {
	first, last = engram.MaxTime, engram.MinTime
	note := func(f, l engram.Time) { first, last = min(first, f), max(last, l) }
	for _, steps := range lists {
		for _, st := range steps {
			switch st.kind {
			case KindFree:
				if s := st.posesNow(); s.n > 0 {
					note(s.first(), s.last())
				}
			case KindJoint:
				if s := st.valuesNow(); s.n > 0 {
					note(s.first(), s.last())
				}
			}
		}
	}
	return first, last
}

func (seg *segment) moving() (out []*step) {
	for _, c := range [2]*chain{&seg.down, &seg.up} {
		for i := range c.steps {
			out = append(out, &c.steps[i])
		}
	}
	return out
}

// sameConstants reports whether the constant poses of two segments with the same
// number of steps are the same.
func (seg *segment) sameConstants(o *segment) bool {
	sides := [2][2]*chain{{&seg.down, &o.down}, {&seg.up, &o.up}}
	for _, side := range sides {
		a, b := side[0], side[1]
		if len(a.steps) != len(b.steps) || a.post != b.post {
			return false
		}
		for i := range a.steps {
			if a.steps[i].pre != b.steps[i].pre {
				return false
			}
		}
	}
	return true
}

// replacedTimes calls add with the times of replaced samples and of their
// neighbours, and reports whether there are any.
func (s snapshot[V, X]) replacedTimes(add func(engram.Time)) bool {
	for _, o := range s.b.old {
		add(o.t)
		k, i := s.locateAny(o.t)
		if k < 0 {
			continue
		}
		if before := s.previous(k, i); before != nil {
			add(before.t)
		}
		any := rules{}
		if res := s.at(o.t+1, &any, revisionNow); res.b != nil {
			add(res.b.t)
		}
	}
	return len(s.b.old) > 0
}

// allTimes calls add with the time of every sample.
func (s snapshot[V, X]) allTimes(add func(engram.Time)) {
	for k := range len(s.b.sealed) + 1 {
		for _, smp := range s.chunk(k).s {
			add(smp.t)
		}
	}
}
