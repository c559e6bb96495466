package pose

import (
	"cmp"
	"math"
	"slices"

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
	// The largest difference, and when: the pose differs by this then, and nowhere in
	// the span by more than this and 1 % (of it, or of the threshold if that is larger)
	// and 1 µm or 1 µrad.
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
// Every time at which the difference exceeds the threshold is in a span. A span goes
// from one key, replaced sample or change of the structure to another, so it may
// begin a little early and end a little late, and there may be one whose difference
// falls short of the threshold by up to 1 % + 1 µm or 1 µrad. Where nothing was
// revised there is none, whatever the threshold.
//
// Between the keys of anchors that were revised, bounds on how the edges move decide,
// and the span is halved until they do. (After 65,536 halvings, which only poses that
// rush through a change take, the rest counts as moved and the largest difference
// found as the largest.) So the cost grows with what was revised and
// not with the length of the history; only where a path goes by other edges than
// before does it look at every sample of those. The errors are those of
// [Store.View] and [View.Path].
func (s *Store) Diff(target, source string, a, b Revision, th Threshold) ([]Change, error) {
	sa, err := s.states.of(a)
	if err != nil {
		return nil, err
	}
	sb, err := s.states.of(b)
	if err != nil {
		return nil, err
	}
	return s.diff(sa, sb, s.Revision(), newFrozen(nil), target, source, th)
}

// diff compares two states with the samples in ice, which takes what it lacks of those
// known in the revision top.
func (s *Store) diff(sa, sb *state, top Revision, ice *frozen, target, source string, th Threshold) ([]Change, error) {
	d := differ{sides: [2]*state{sa, sb}, limit: [2]float64{th.Trans, 2 * math.Sin(min(max(th.Rot, 0), math.Pi)/4)}}
	if th.Rot >= math.Pi {
		d.limit[1] += 1e-9 // no rotation is beyond rounding
	}
	var paths [2]*Path
	for i, st := range d.sides {
		var err error
		if paths[i], err = s.newPath(s.viewOf(st, top, ice), st.content, target, source); err != nil {
			return nil, err
		}
	}
	for t := engram.MinTime; ; {
		a, b := paths[0].segmentAt(sa, t), paths[1].segmentAt(sb, t)
		iv := engram.Interval{Start: t, End: min(a.End, b.End)}
		d.segment(a, b, iv)
		if iv.End == engram.MaxTime {
			break
		}
		t = iv.End
	}
	d.close()
	return d.out, nil
}

// differ compares two paths along time, one span without a change of the structure
// after the other. Rotations are compared by their chord.
type differ struct {
	sides    [2]*state  // the revisions
	limit    [2]float64 // the threshold: metres and the angle's chord
	way                 // in the span at hand
	out      []Change
	halvings int
	cell     cell // at hand

	// The change that may go on, the last of out.
	open  bool
	most  [2]float64 // its largest differences so far
	cells []cell     // of it and the way at hand, those that may hold larger ones
	roomy int        // how many cells until they are thinned out
}

// Bounds are rough first, for which the spread of the edges that do not differ is taken
// over roughCells cells at a time, and are tightened where that does not decide.
const roughCells = 8

// maxHalvings bounds the effort of one comparison to some tenths of a second. What is
// undecided then counts as moved, and the largest differences are those found.
const maxHalvings = 1 << 16

// point is the difference at one time.
type point struct {
	t  engram.Time
	ok [2]bool
	by [2]float64 // metres and a chord
}

// cell is a closed span between two points, with bounds for all times in it.
type cell struct {
	a, b  point
	bound [2]float64
	rough bool // the bounds could be tighter
}

func (c *cell) middle() engram.Time { return c.a.t + engram.Time(uint64(c.b.t-c.a.t)/2) }

// tolerance returns how much more than x, metres or a chord, a difference may be
// without notice. Angles are up to 2.9 times their chords, and grow by up to 1.3 times
// as many per cent.
func (d *differ) tolerance(x float64, i int) float64 { return 0.0075*max(x, d.limit[i]) + 3e-7 }

// judge says what the bounds of a cell and what is known at its ends mean for the
// threshold: whether they are below it, and if not, whether they are too close for
// the tolerance to tell.
func (d *differ) judge(c *cell) (below, close bool) {
	below, close = true, true
	for i, limit := range d.limit {
		if c.bound[i] > limit*(1+1e-9)+1e-12 { // by more than rounding
			below = false
			close = close && c.bound[i]-max(c.a.by[i], c.b.by[i]) <= d.tolerance(limit, i)
		}
	}
	return below, close
}

func (d *differ) moved(p *point) bool {
	return p.ok[0] != p.ok[1] || p.ok[0] && (p.by[0] > d.limit[0] || p.by[1] > d.limit[1])
}

// segment compares the paths in a span in which neither's structure changes.
func (d *differ) segment(a, b *segment, iv engram.Interval) {
	d.settle() // the cells are those of the way before
	times := d.way.init(d.sides, a, b, iv)
	if len(times) == 0 {
		d.close()
		return
	}
	var ends [2]point // the last two looked at
	looked := false
	for i, t := range times[1:] {
		if !d.differs(times[i], t) {
			// At the time itself a sample may be, behind which neither has an answer.
			if d.differs(times[i], times[i]) {
				if p := d.at(times[i]); d.moved(&p) {
					d.extend(times[i], t)
					d.note(&p)
				}
			}
			d.close()
			continue
		}
		if ends[0] = ends[1]; !looked || ends[0].t != times[i] {
			ends[0] = d.at(times[i])
		}
		ends[1], looked = d.at(t), true
		if i >= d.covered {
			d.covered = i + roughCells
			d.cover(times[i], times[min(d.covered, len(times)-1)])
		}
		d.between(&ends[0], &ends[1])
	}
	// What holds at the end is taken to go on.
	if end := times[len(times)-1]; d.differs(end, end) {
		if p := d.at(end); d.moved(&p) {
			d.extend(end, iv.End)
			d.note(&p)
			return
		}
	}
	d.close()
}

// between compares in a cell of which nothing is known but its ends.
func (d *differ) between(a, b *point) {
	c := &d.cell
	inside := d.bound(c, a, b, true)
	var found *point
	moved := d.moved(a)
	switch {
	case inside == failing:
		moved = true
	case inside == bounded && !moved:
		if moved = d.moved(b) || d.moved(&c.a) || d.moved(&c.b); !moved {
			found, moved = d.search(c)
		}
	}
	if !moved {
		d.close()
		return
	}
	d.extend(a.t, b.t)
	d.note(a)
	if inside == nothing {
		return
	}
	d.note(b)
	if inside == failing {
		d.out[len(d.out)-1].Failed = true
		return
	}
	d.note(&c.a)
	d.note(&c.b)
	if found != nil {
		d.note(found)
	}
	d.keep(c)
}

// search looks for a time in a cell at which the difference exceeds the threshold.
// It reports one, and true too if that could not be ruled out.
func (d *differ) search(whole *cell) (found *point, moved bool) {
	if below, _ := d.judge(whole); !below && whole.rough {
		d.tighten(whole)
	}
	todo := append(make([]cell, 0, 8), *whole)
	for len(todo) > 0 {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch below, close := d.judge(&c); {
		case below:
			continue
		case close || d.halvings == maxHalvings:
			return nil, true
		}
		d.halvings++
		m := d.at(c.middle())
		if d.moved(&m) {
			return &m, true
		}
		for _, ends := range [2][2]*point{{&c.a, &m}, {&m, &c.b}} {
			var half cell
			switch inside := d.bound(&half, ends[0], ends[1], false); {
			case inside == failing:
				return nil, true
			case inside == bounded && d.moved(&half.a):
				return &half.a, true
			case inside == bounded && d.moved(&half.b):
				return &half.b, true
			case inside == bounded:
				todo = append(todo, half)
			}
		}
	}
	return nil, false
}

// extend makes [from, to) part of the open change, or of a new one.
func (d *differ) extend(from, to engram.Time) {
	if !d.open {
		d.out = append(d.out, Change{Interval: engram.Interval{Start: from}, TransAt: from, RotAt: from})
		d.open, d.most, d.cells, d.roomy = true, [2]float64{}, d.cells[:0], 256
	}
	d.out[len(d.out)-1].End = to
}

// note takes a point into the open change.
func (d *differ) note(p *point) {
	c := &d.out[len(d.out)-1]
	c.Failed = c.Failed || p.ok[0] != p.ok[1]
	if p.by[0] > d.most[0] {
		d.most[0], c.TransAt = p.by[0], p.t
	}
	if p.by[1] > d.most[1] {
		d.most[1], c.RotAt = p.by[1], p.t
	}
}

// keep remembers a cell of the open change if it may hold a larger difference.
func (d *differ) keep(c *cell) {
	if d.promises(c, 0) || d.promises(c, 1) {
		if d.cells = append(d.cells, *c); len(d.cells) >= d.roomy {
			d.cells = slices.DeleteFunc(d.cells, func(c cell) bool { return !d.promises(&c, 0) && !d.promises(&c, 1) })
			d.roomy = 2*len(d.cells) + 256
		}
	}
}

// promises reports whether a cell may hold a notably larger translation (0) or
// rotation (1).
func (d *differ) promises(c *cell, i int) bool {
	return c.bound[i] > d.most[i]+d.tolerance(d.most[i], i)
}

// close ends the open change.
func (d *differ) close() {
	d.settle()
	d.open = false
}

// settle finds the largest differences of the open change: the cell with the largest
// bound is halved until no bound promises more.
func (d *differ) settle() {
	if !d.open {
		return
	}
	d.settleBy(0)
	d.settleBy(1)
	d.cells = d.cells[:0]
	c := &d.out[len(d.out)-1]
	c.Trans, c.Rot = d.most[0], chordAngle(d.most[1])
}

func (d *differ) settleBy(i int) {
	todo := make([]cell, 0, 16)
	for j := range d.cells {
		c := &d.cells[j]
		if c.rough && d.promises(c, i) {
			d.tighten(c)
		}
		if d.promises(c, i) {
			todo = append(todo, *c)
		}
	}
	slices.SortFunc(todo, func(a, b cell) int { return cmp.Compare(a.bound[i], b.bound[i]) })
	for len(todo) > 0 { // from the end, where the bounds are larger
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !d.promises(&c, i) {
			continue
		}
		if d.halvings == maxHalvings {
			return
		}
		d.halvings++
		m := d.at(c.middle())
		d.note(&m)
		halves := [2][2]*point{{&c.a, &m}, {&m, &c.b}}
		if c.a.by[i] > c.b.by[i] {
			halves[0], halves[1] = halves[1], halves[0]
		}
		for _, ends := range halves {
			var half cell
			switch in := d.bound(&half, ends[0], ends[1], false); {
			case in == failing:
				d.out[len(d.out)-1].Failed = true
			case in == bounded:
				d.note(&half.a)
				d.note(&half.b)
				todo = append(todo, half)
			}
		}
	}
}
