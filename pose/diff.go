package pose

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// Threshold says from when on a pose counts as moved: by more than Trans metres or
// more than Rot radians.
type Threshold struct{ Trans, Rot float64 }

// DefaultThreshold is 1 cm and 0.1°.
func DefaultThreshold() Threshold { return Threshold{Trans: 0.01, Rot: 0.1 * degree} }

const degree = 3.14159265358979323846 / 180

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
	d := differ{a: pa, b: pb, th: th}
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
	a, b *Path
	th   Threshold
	out  []Change
	open bool // the last change goes on to the next time looked at
}

// segment compares the paths in a span in which neither's structure changes.
func (d *differ) segment(sa, sb *segment, iv engram.Interval) {
	times, differ := probes(sa, sb, iv)
	if !differ {
		d.open = false
		return
	}
	slices.Sort(times)
	times = slices.Compact(times)
	var walkA, walkB walker
	for i, t := range times {
		end := iv.End
		if i+1 < len(times) {
			end = times[i+1]
		}
		d.at(t, end, sa, sb, &walkA, &walkB)
	}
}

// at compares at t; the difference is taken to last until end.
func (d *differ) at(t, end engram.Time, sa, sb *segment, wa, wb *walker) {
	var ta, tb Pose
	okA := wa.eval(sa, &ta, t, d.a.now().rev)
	okB := wb.eval(sb, &tb, t, d.b.now().rev)
	if !okA && !okB {
		d.open = false
		return
	}
	var trans, rot float64
	if okA && okB {
		trans, rot = ta.Distance(tb)
		if !d.th.exceeded(trans, rot) {
			d.open = false
			return
		}
	}
	if !d.open {
		d.out = append(d.out, Change{Interval: engram.Interval{Start: t}, TransAt: t, RotAt: t})
		d.open = true
	}
	c := &d.out[len(d.out)-1]
	c.End = end
	c.Failed = c.Failed || okA != okB
	if trans > c.Trans {
		c.Trans, c.TransAt = trans, t
	}
	if rot > c.Rot {
		c.Rot, c.RotAt = rot, t
	}
}

// walker evaluates a segment at one time after the other.
type walker struct{ q query }

func (w *walker) eval(seg *segment, p *Pose, t engram.Time, rev Revision) bool {
	w.q = newQuery(t, rev)
	return seg.eval(p, &w.q)
}

// probes returns the times at which two compiled paths may differ most in a span,
// and whether they may differ at all.
func probes(sa, sb *segment, iv engram.Interval) (times []engram.Time, differ bool) {
	if !sa.connected && !sb.connected {
		return nil, false
	}
	add := func(t engram.Time) {
		if iv.Contains(t) {
			times = append(times, t)
		}
	}
	structure := sa.connected != sb.connected
	ea, eb := sa.moving(), sb.moving()
	structure = structure || len(ea) != len(eb) || !sa.sameConstants(sb)
	for i := range ea {
		if structure {
			break
		}
		a, b := ea[i], eb[i]
		switch {
		case a.edge.kind != b.edge.kind || a.edge.poses != b.edge.poses || a.edge.values != b.edge.values:
			structure = true
		case a.edge.kind == KindAnchor && a.edge.keys != b.edge.keys:
			for _, e := range [2]*edge{a.edge, b.edge} {
				keys := e.keys.keyTimes(iv)
				for j, t := range keys {
					add(t)
					if j+1 < len(keys) {
						add(t + engram.Time(keys[j+1].Sub(t)/2))
					}
				}
			}
			differ = true
		case a.edge.kind == KindFree:
			differ = a.posesNow().replacedTimes(add) || differ
		case a.edge.kind == KindJoint:
			differ = a.valuesNow().replacedTimes(add) || differ
		}
	}
	if structure {
		differ = true
		for _, st := range append(ea, eb...) {
			switch st.edge.kind {
			case KindFree:
				st.posesNow().allTimes(add)
			case KindJoint:
				st.valuesNow().allTimes(add)
			case KindAnchor:
				for _, t := range st.edge.keys.keyTimes(iv) {
					add(t)
				}
			}
		}
	}
	if differ {
		first, last := extent(ea, eb)
		add(max(first, iv.Start))
		add(min(last, iv.End-1))
		if last < first { // nothing but constants
			add(iv.Start)
		}
	}
	return times, differ
}

// extent returns the first and the last time of any sample on two paths.
func extent(lists ...[]*step) (first, last engram.Time) {
	first, last = engram.MaxTime, engram.MinTime
	note := func(f, l engram.Time) { first, last = min(first, f), max(last, l) }
	for _, steps := range lists {
		for _, st := range steps {
			switch st.edge.kind {
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
