package pose

import (
	"container/heap"
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
	// the span by more than 1 % + 1 µm or 1 µrad beyond it.
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
// and the span is halved until they do. So the cost grows with what was revised and
// not with the length of the history; only where a path goes by other edges than
// before does it look at every sample of those. The errors are those of
// [Store.View] and [View.Path].
func (s *Store) Diff(target, source string, a, b Revision, th Threshold) ([]Change, error) {
	sa, err := s.stateOf(a)
	if err != nil {
		return nil, err
	}
	sb, err := s.stateOf(b)
	if err != nil {
		return nil, err
	}
	return s.diff(sa, sb, newFrozen(nil), target, source, th)
}

// diff compares two states with the samples in ice, which takes what it lacks.
func (s *Store) diff(sa, sb *state, ice *frozen, target, source string, th Threshold) ([]Change, error) {
	d := differ{th: th, sides: [2]*state{sa, sb}, chordTh: 2 * math.Sin(min(max(th.Rot, 0), math.Pi)/4)}
	if th.Rot >= math.Pi {
		d.chordTh = 2
	}
	var paths [2]*Path
	for i, st := range d.sides {
		var err error
		if paths[i], err = s.newPath(&View{store: s, state: st, frozen: ice}, st.content, target, source); err != nil {
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
	sides   [2]*state // the revisions
	th      Threshold
	chordTh float64 // the chord of the threshold's angle
	way             // in the span at hand
	out     []Change
	looks   int // points looked at

	// The change that may go on, the last of out.
	open         bool
	trans, chord float64 // its largest so far
	cells        []cell  // of it and the way at hand, those that may hold larger ones
	roomy        int     // how many cells until they are thinned out
}

// maxLooks bounds the effort of one comparison, about a second. What is undecided
// beyond it counts as moved, and bounds stand for largest differences.
const maxLooks = 1 << 21

// point is the difference at one time.
type point struct {
	t            engram.Time
	ok           [2]bool
	trans, chord float64
}

// cell is a closed span between two points, with bounds for all times in it.
type cell struct {
	a, b         point
	trans, chord float64
}

func (c *cell) middle() engram.Time { return c.a.t + engram.Time(uint64(c.b.t-c.a.t)/2) }

// tolerance returns how much more than x, metres or a chord, a difference may be
// without notice. Angles are up to 2.9 times their chords, and grow by up to 1.3 times
// as many per cent.
func tolerance(x float64) float64 { return 0.0075*x + 3e-7 }

// verdict is what a bound and what is known say about a threshold.
type verdict uint8

const (
	below   verdict = iota
	near            // too near for the tolerance to tell
	unclear         // look on
)

func judge(bound, known, th float64) verdict {
	switch {
	case bound <= th*(1+1e-9)+1e-12: // but for rounding
		return below
	case bound-known <= tolerance(th):
		return near
	}
	return unclear
}

func (d *differ) moved(p *point) bool {
	return p.ok[0] != p.ok[1] || p.ok[0] && (p.trans > d.th.Trans || p.chord > d.chordTh)
}

// segment compares the paths in a span in which neither's structure changes.
func (d *differ) segment(a, b *segment, iv engram.Interval) {
	d.settle() // the cells are those of the way before
	times := d.way.init(d.sides, a, b, iv)
	if len(times) == 0 {
		d.close()
		return
	}
	var last point
	looked := false
	look := func(t engram.Time) point {
		if !looked || last.t != t {
			last, looked = d.at(t), true
		}
		return last
	}
	for i, t := range times[1:] {
		if !d.differs(times[i], t) {
			d.close()
			continue
		}
		p := look(times[i])
		d.between(p, look(t))
	}
	// What holds at the end is taken to go on.
	if end := times[len(times)-1]; d.differs(end, end) {
		if p := look(end); d.moved(&p) {
			d.extend(end, iv.End)
			d.note(&p)
			return
		}
	}
	d.close()
}

// between compares in a cell of which nothing is known but its ends.
func (d *differ) between(a, b point) {
	c, inside := d.bound(a, b)
	var found *point
	moved := d.moved(&a)
	switch {
	case inside == failing:
		moved = true
	case inside == bounded && !moved:
		if moved = d.moved(&b) || d.moved(&c.a) || d.moved(&c.b); !moved {
			found, moved = d.search(c)
		}
	}
	if !moved {
		d.close()
		return
	}
	d.extend(a.t, b.t)
	d.note(&a)
	if inside == nothing {
		return
	}
	d.note(&b)
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
func (d *differ) search(c cell) (found *point, moved bool) {
	todo := []cell{c}
	for len(todo) > 0 {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		trans := judge(c.trans, max(c.a.trans, c.b.trans), d.th.Trans)
		rot := judge(c.chord, max(c.a.chord, c.b.chord), d.chordTh)
		switch {
		case trans == below && rot == below:
			continue
		case trans != unclear && rot != unclear || d.looks > maxLooks:
			return nil, true
		}
		m := d.at(c.middle())
		if d.moved(&m) {
			return &m, true
		}
		for _, ends := range [2][2]*point{{&c.a, &m}, {&m, &c.b}} {
			switch half, inside := d.bound(*ends[0], *ends[1]); {
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
		d.open, d.trans, d.chord, d.cells, d.roomy = true, 0, 0, d.cells[:0], 256
	}
	d.out[len(d.out)-1].End = to
}

// note takes a point into the open change.
func (d *differ) note(p *point) {
	c := &d.out[len(d.out)-1]
	c.Failed = c.Failed || p.ok[0] != p.ok[1]
	if p.trans > d.trans {
		d.trans, c.TransAt = p.trans, p.t
	}
	if p.chord > d.chord {
		d.chord, c.RotAt = p.chord, p.t
	}
}

// keep remembers a cell of the open change if it may hold a larger difference.
func (d *differ) keep(c cell) {
	if d.promising(&c) {
		if d.cells = append(d.cells, c); len(d.cells) >= d.roomy {
			d.cells = slices.DeleteFunc(d.cells, func(c cell) bool { return !d.promising(&c) })
			d.roomy = 2*len(d.cells) + 256
		}
	}
}

func (d *differ) promising(c *cell) bool {
	return c.trans > d.trans+tolerance(d.trans) || c.chord > d.chord+tolerance(d.chord)
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
	d.settleBy(func(c *cell) (bound, known float64) { return c.trans, d.trans })
	d.settleBy(func(c *cell) (bound, known float64) { return c.chord, d.chord })
	d.cells = d.cells[:0]
	c := &d.out[len(d.out)-1]
	c.Trans, c.Rot = d.trans, chordAngle(d.chord)
}

func (d *differ) settleBy(most func(c *cell) (bound, known float64)) {
	h := cellHeap{most: most}
	push := func(c cell) {
		if bound, known := most(&c); bound > known+tolerance(known) {
			heap.Push(&h, c)
		}
	}
	for _, c := range d.cells {
		push(c)
	}
	for len(h.cells) > 0 {
		c := heap.Pop(&h).(cell)
		if bound, known := most(&c); bound <= known+tolerance(known) {
			return
		}
		if d.looks > maxLooks {
			d.trans, d.chord = max(d.trans, c.trans), max(d.chord, c.chord)
			return
		}
		m := d.at(c.middle())
		d.note(&m)
		for _, ends := range [2][2]*point{{&c.a, &m}, {&m, &c.b}} {
			switch half, inside := d.bound(*ends[0], *ends[1]); {
			case inside == failing:
				d.out[len(d.out)-1].Failed = true
			case inside == bounded:
				d.note(&half.a)
				d.note(&half.b)
				push(half)
			}
		}
	}
}

// cellHeap has the cell with the largest bound first.
type cellHeap struct {
	cells []cell
	most  func(c *cell) (bound, known float64)
}

func (h *cellHeap) Len() int      { return len(h.cells) }
func (h *cellHeap) Swap(i, j int) { h.cells[i], h.cells[j] = h.cells[j], h.cells[i] }
func (h *cellHeap) Push(x any)    { h.cells = append(h.cells, x.(cell)) }
func (h *cellHeap) Less(i, j int) bool {
	a, _ := h.most(&h.cells[i])
	b, _ := h.most(&h.cells[j])
	return a > b
}

func (h *cellHeap) Pop() any {
	last := len(h.cells) - 1
	c := h.cells[last]
	h.cells = h.cells[:last]
	return c
}
