package pose

import (
	"cmp"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// way is the way from the target to the source in two revisions, during a span in
// which neither changes its structure.
type way struct {
	stages    []stage
	connected [2]bool
	first     int  // the first stage that may differ; what is before moves both alike
	last      int  // the last one
	lopsided  bool // one side may fail where the other answers
	pins      bool // some edge answers at single times only, for a while
	covered   int  // the first cell without rough spreads
	q         [2]query
	fail      Failure
}

// stage is one factor of both ways: a constant pose and an edge behind it.
type stage struct {
	pre     [2]Pose
	samePre bool
	rests   bool     // both are the identity
	reach   float64  // of the first
	edge    [2]*step // nil where there is none
	up      bool     // the edge is passed from the child to the parent
	mode    stageMode
	revs    [2]Revision
	spans   []engram.Interval // closed; where replaced samples count
	now     bool              // whether it differs between the times at hand
	rough   spread            // if not; see cover
	at      [2]int            // of keys: where the last question was answered
}

// stageMode says when a stage's edges differ.
type stageMode uint8

const (
	alike    stageMode = iota // never
	rekeyed                   // between keys that differ
	replaced                  // beside samples that were replaced
	apart                     // always: another edge or other rules
)

// factor is one factor of a compiled path.
type factor struct {
	pre  Pose
	step *step
	up   bool
}

// factors returns the path as a product; the last has no step.
func (seg *segment) factors() []factor {
	var out []factor
	pre := seg.up.post.Inverse()
	for i := len(seg.up.steps) - 1; i >= 0; i-- {
		st := &seg.up.steps[i]
		out = append(out, factor{pre, st, true})
		pre = st.pre.Inverse()
	}
	for i := range seg.down.steps {
		st := &seg.down.steps[i]
		out = append(out, factor{pre.Mul(st.pre), st, false})
		pre = Identity()
	}
	return append(out, factor{pre: pre.Mul(seg.down.post)})
}

// pairs reports whether two factors are of the same edge.
func (f *factor) pairs(o *factor) bool {
	if f.step == nil || o.step == nil || f.up != o.up || f.step.kind != o.step.kind {
		return false
	}
	a, b := f.step.edge, o.step.edge
	if a.kind == KindJoint && (a.value.history != b.value.history || a.joint.Name != b.joint.Name) {
		return false
	}
	return a.parent == b.parent && a.child == b.child
}

// init takes the ways of two segments and returns the times in iv, sorted, between
// which all that differs moves smoothly; none if nothing can differ or answer.
func (w *way) init(sides [2]*state, a, b *segment, iv engram.Interval) []engram.Time {
	*w = way{connected: [2]bool{a.connected, b.connected}, stages: w.stages[:0]}
	var fs [2][]factor
	for i, seg := range [2]*segment{a, b} {
		if seg.connected {
			fs[i] = seg.factors()
		}
		w.q[i].init(0, sides[i].rev)
		w.q[i].fail = &w.fail
	}
	if !a.connected && !b.connected {
		return nil
	}
	w.pair(fs[0], fs[1])
	p := prober{lo: engram.MaxTime, hi: engram.MinTime}
	w.first, w.last = len(w.stages), -1
	for i := range w.stages {
		g := &w.stages[i]
		g.revs = [2]Revision{sides[0].rev, sides[1].rev}
		g.classify()
		if !g.samePre || g.mode != alike {
			w.first, w.last = min(w.first, i), i
		}
	}
	if w.last < 0 && a.connected == b.connected {
		return nil
	}
	for side := range 2 {
		if w.connected[side] {
			lo, hi := w.extent(side)
			if lo, hi = max(lo, iv.Start), min(hi, iv.End-1); lo <= hi {
				p.lo, p.hi = min(p.lo, lo), max(p.hi, hi)
			}
		}
	}
	if p.lo > p.hi {
		return nil
	}
	w.lopsided = a.connected != b.connected
	for i := range w.stages {
		g := &w.stages[i]
		g.times(&p)
		w.lopsided = w.lopsided || g.mode == apart || g.mode == rekeyed && min(len(g.edge[0].edge.keys.keys), len(g.edge[1].edge.keys.keys)) == 0
		w.pins = w.pins || g.pinned()
	}
	p.add(p.lo)
	p.add(p.hi)
	return p.sorted()
}

// pair makes the stages of two ways: those of the same edges at their beginnings and
// ends are paired, the others stand alone.
func (w *way) pair(a, b []factor) {
	add := func(x, y *factor) {
		g := stage{pre: [2]Pose{Identity(), Identity()}}
		for i, f := range [2]*factor{x, y} {
			if f != nil {
				g.pre[i], g.edge[i], g.up = f.pre, f.step, f.up
			}
		}
		g.samePre = g.pre[0] == g.pre[1]
		g.rests = g.samePre && g.pre[0] == Identity()
		g.reach = g.pre[0].T.Norm()
		w.stages = append(w.stages, g)
	}
	n := 0
	for n < min(len(a), len(b)) && a[n].pairs(&b[n]) {
		add(&a[n], &b[n])
		n++
	}
	a, b = a[n:], b[n:]
	if len(a) == 0 || len(b) == 0 { // one is not connected
		for i := range a {
			add(&a[i], nil)
		}
		for i := range b {
			add(nil, &b[i])
		}
		return
	}
	// The last factors are constants and belong together.
	n = 1
	for n < min(len(a), len(b)) && a[len(a)-1-n].pairs(&b[len(b)-1-n]) {
		n++
	}
	for i := range a[:len(a)-n] {
		add(&a[i], nil)
	}
	for i := range b[:len(b)-n] {
		add(nil, &b[i])
	}
	a, b = a[len(a)-n:], b[len(b)-n:]
	for i := range a {
		add(&a[i], &b[i])
	}
}

// pinned reports whether one of the edges has samples that only pins keep.
func (g *stage) pinned() bool {
	for _, st := range g.edge {
		if st != nil && (st.kind == KindFree && len(st.posesNow().b.pinned) > 0 || st.kind == KindJoint && len(st.valuesNow().b.pinned) > 0) {
			return true
		}
	}
	return false
}

// classify finds out when the stage differs.
func (g *stage) classify() {
	a, b := g.edge[0], g.edge[1]
	switch {
	case a == nil && b == nil:
	case a == nil || b == nil:
		g.mode = apart
	case a.kind == KindAnchor:
		if a.edge.keys != b.edge.keys {
			g.mode = rekeyed
		}
	case a.kind == KindJoint && a.edge.rules.until != b.edge.rules.until:
		g.mode = apart
	case a.kind == KindFree && a.posesNow().b != b.posesNow().b || !a.edge.rules.sameWithin(b.edge.rules) || a.edge.value.unset != b.edge.value.unset:
		g.mode = apart
	default:
		if a.kind == KindFree {
			g.spans = a.posesNow().replacedSpans(g.revs, &a.edge.rules)
		} else {
			g.spans = a.valuesNow().replacedSpans(g.revs, &a.edge.rules)
		}
		if len(g.spans) > 0 {
			g.mode = replaced
		}
	}
}

// times adds the times between which the stage moves smoothly where it differs.
func (g *stage) times(p *prober) {
	for side, st := range g.edge {
		switch {
		case st == nil || side == 1 && (g.mode == alike || g.mode == replaced):
		case st.kind == KindFree:
			addTimes(st.posesNow(), g, &st.edge.rules, p)
		case st.kind == KindJoint:
			s := st.valuesNow()
			addTimes(s, g, &st.edge.rules, p)
			if st.edge.jumps() && g.mode != alike { // at a sample, and is smooth up to there
				for k := range len(s.b.sealed) + 1 {
					for _, smp := range s.chunk(k).s {
						p.add(smp.t - 1)
					}
				}
			}
		case g.mode == rekeyed:
			p.keys(st.edge.keys, g.edge[1-side].edge.keys)
		case g.mode == apart:
			p.keys(st.edge.keys, &anchorKeys{})
		}
	}
}

func addTimes[V, X comparable](s snapshot[V, X], g *stage, r *rules, p *prober) {
	for i := range s.b.pinned { // which answer one by one, up to the first sample
		p.add(s.b.pinned[i].at)
	}
	if s.n == 0 {
		return
	}
	if len(s.b.pinned) > 0 || g.mode == apart {
		p.add(s.first())
	}
	if g.mode == apart {
		end := r.end(s.last())
		p.add(end)
		p.add(end + 1)
	}
	switch g.mode {
	case replaced:
		for _, iv := range g.spans {
			p.add(iv.Start)
			p.add(iv.End)
		}
	case apart:
		for k := range len(s.b.sealed) + 1 {
			for _, smp := range s.chunk(k).s {
				p.add(smp.t)
			}
		}
	}
}

// end returns the last time that is answered after the last sample.
func (r *rules) end(last engram.Time) engram.Time {
	if r.beyond == beyondError {
		return last
	}
	if uint64(engram.MaxTime-1-last) < uint64(r.maxAge) {
		return engram.MaxTime - 1
	}
	return last + engram.Time(r.maxAge)
}

// replacedSpans returns the closed spans, sorted, in which a sample counts that
// differs between two revisions. No sample lies within one.
func (s snapshot[V, X]) replacedSpans(revs [2]Revision, r *rules) (spans []engram.Interval) {
	if s.b.replacedAt <= min(revs[0], revs[1]) {
		return nil
	}
	add := func(from, to engram.Time) { spans = append(spans, engram.Interval{Start: from, End: to}) }
	differs := func(smp *sample[V]) bool {
		a, b := s.supersededAt(smp.t, revs[0]), s.supersededAt(smp.t, revs[1])
		value := func(o *superseded[V, X]) V {
			if o != nil {
				return o.v
			}
			return smp.v
		}
		return a != b && value(a) != value(b)
	}
	for i := range s.b.pinned { // each answers at its own time only
		if p := &s.b.pinned[i]; differs(&p.a) || !p.single && differs(&p.b) {
			add(p.at, p.at+1)
		}
	}
	for i := range s.b.old {
		t := s.b.old[i].t
		if i > 0 && s.b.old[i-1].t == t {
			continue
		}
		at, after := s.beside(t)
		if at == nil || at.t != t || !differs(at) {
			continue
		}
		from := t
		if k, j := s.locateAny(t); s.previous(k, j) != nil {
			from = s.previous(k, j).t
		}
		add(from, t)
		if after != nil {
			add(t, after.t)
		}
		if after == nil || after.t == s.last() && r.beyond == beyondExtrapolate {
			add(s.last(), r.end(s.last()))
		}
	}
	slices.SortFunc(spans, func(a, b engram.Interval) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
	})
	return slices.Compact(spans)
}

// extent returns the first and the last time at which one side can have an answer.
func (w *way) extent(side int) (lo, hi engram.Time) {
	lo, hi = engram.MinTime, engram.MaxTime-1
	for i := range w.stages {
		st := w.stages[i].edge[side]
		if st == nil {
			continue
		}
		first, last := engram.MinTime, engram.MaxTime-1
		switch st.kind {
		case KindFree:
			first, last = extent(st.posesNow(), &st.edge.rules)
		case KindJoint:
			if s := st.valuesNow(); s.n > 0 || !st.edge.value.unset.Use {
				first, last = extent(s, &st.edge.rules)
			}
		case KindAnchor:
			if len(st.edge.keys.keys) == 0 {
				return engram.MaxTime, engram.MinTime
			}
		}
		lo, hi = max(lo, first), min(hi, last)
	}
	return lo, hi
}

func extent[V, X comparable](s snapshot[V, X], r *rules) (lo, hi engram.Time) {
	lo, hi = engram.MaxTime, engram.MinTime
	if n := len(s.b.pinned); n > 0 {
		lo, hi = s.b.pinned[0].at, s.b.pinned[n-1].at
	}
	if s.n > 0 {
		lo, hi = min(lo, s.first()), r.end(s.last())
	}
	return lo, hi
}

// differs reports whether anything can differ in a closed span between two of the
// times, and notes what.
func (w *way) differs(from, to engram.Time) (any bool) {
	any = w.connected[0] != w.connected[1]
	for i := w.first; i <= w.last; i++ {
		g := &w.stages[i]
		g.now = g.differs(from, to)
		any = any || g.now || !g.samePre
	}
	return any
}

func (g *stage) differs(from, to engram.Time) bool {
	switch g.mode {
	case rekeyed:
		a, b := g.edge[0].edge.keys, g.edge[1].edge.keys
		if len(a.keys) == 0 || len(b.keys) == 0 {
			return len(a.keys) != len(b.keys)
		}
		g.at[0], g.at[1] = a.before(from, g.at[0]), b.before(from, g.at[1])
		return !a.sameFrom(g.at[0], b, g.at[1])
	case replaced:
		i := sort.Search(len(g.spans), func(i int) bool { return g.spans[i].End >= to })
		return i < len(g.spans) && g.spans[i].Start <= from
	}
	a, b := g.edge[0], g.edge[1]
	if g.mode != apart || a == nil || b == nil {
		return g.mode == apart
	}
	if a.kind == KindFree {
		return !sameIn(a.posesNow(), &a.edge.rules, b.posesNow(), &b.edge.rules, g.revs, from, to)
	}
	return a.edge.value.unset != b.edge.value.unset || !sameIn(a.valuesNow(), &a.edge.rules, b.valuesNow(), &b.edge.rules, g.revs, from, to)
}

// sameIn reports whether two histories answer the same in a span without a sample of
// theirs inside.
func sameIn[V, X comparable](s snapshot[V, X], r *rules, o snapshot[V, X], q *rules, revs [2]Revision, from, to engram.Time) bool {
	if s.b.pinnedIndex(from) >= 0 || o.b.pinnedIndex(from) >= 0 {
		return false // what the one has pinned the other may not have
	}
	t := from + engram.Time(uint64(to-from)/2)
	a, b, _, flags, code := s.near(t, r, revs[0])
	c, d, _, flags2, code2 := o.near(t, q, revs[1])
	same := func(x, y *sample[V]) bool { return x == y || x != nil && y != nil && *x == *y }
	return (code == OK) == (code2 == OK) && flags == flags2 && same(a, c) && same(b, d)
}

// sameWithin reports whether two rules say the same of times up to the end of the
// edge.
func (r rules) sameWithin(o rules) bool {
	o.until = r.until
	return r == o
}

// before returns the index of the last key at or before t, -1 if there is none. It
// looks at the guess and behind it first.
func (a *anchorKeys) before(t engram.Time, guess int) int {
	n := len(a.keys)
	if t < a.keys[0].t {
		return -1
	}
	for i := max(guess, 0); i < min(guess+2, n); i++ {
		if a.keys[i].t <= t && (i+1 == n || t < a.keys[i+1].t) {
			return i
		}
	}
	return search(a.keys, t, guess)
}

// sameFrom reports whether the corrections behind key i of a and key j of b are the
// same up to the next key; index -1 is before the first.
func (a *anchorKeys) sameFrom(i int, b *anchorKeys, j int) bool {
	if a.keys[max(i, 0)].v.c != b.keys[max(j, 0)].v.c {
		return false
	}
	movesA, movesB := i >= 0 && i+1 < len(a.keys), j >= 0 && j+1 < len(b.keys)
	if !movesA || !movesB {
		return movesA == movesB
	}
	return a.keys[i].t == b.keys[j].t && a.keys[i+1].t == b.keys[j+1].t && a.keys[i+1].v == b.keys[j+1].v
}

// prober collects times in a closed span. Keys come sorted and by the thousand, so
// they are merged and not sorted with the rest.
type prober struct {
	lo, hi engram.Time
	runs   [][]engram.Time // each sorted
	other  []engram.Time
}

func (p *prober) add(t engram.Time) {
	if p.lo <= t && t <= p.hi {
		p.other = append(p.other, t)
	}
}

// keys adds the times of the keys of a from the last before the first in which a and
// b differ to the first behind the last.
func (p *prober) keys(a, b *anchorKeys) {
	n, m := 0, 0
	for n < min(len(a.keys), len(b.keys)) && a.keys[n] == b.keys[n] {
		n++
	}
	for m < min(len(a.keys), len(b.keys))-n && a.keys[len(a.keys)-1-m] == b.keys[len(b.keys)-1-m] {
		m++
	}
	var run []engram.Time
	for _, k := range a.keys[max(n-1, 0):min(len(a.keys)-m+1, len(a.keys))] {
		if p.lo <= k.t && k.t <= p.hi {
			run = append(run, k.t)
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

// at compares at one time.
func (d *differ) at(t engram.Time) (p point) {
	p.t, p.ok = t, d.connected
	d.q[0].t, d.q[1].t = t, t
	at := [2]Pose{Identity(), Identity()}
	for i := range d.stages {
		g := &d.stages[i]
		if i >= d.first && !g.rests {
			at[0].mul(&g.pre[0])
			at[1].mul(&g.pre[1])
		}
		if g.mode == alike && g.edge[0] != nil {
			own := Identity()
			if !g.pass(0, &own, &d.q[0]) {
				p.ok = [2]bool{}
				return p
			}
			if i >= d.first {
				at[0].mul(&own)
				at[1].mul(&own)
			}
			continue
		}
		for side, st := range g.edge {
			if st != nil && p.ok[side] {
				p.ok[side] = g.pass(side, &at[side], &d.q[side])
			}
		}
	}
	if p.ok[0] && p.ok[1] {
		p.by = [2]float64{at[0].T.Sub(at[1].T).Norm(), chord(&at[0].R, &at[1].R)}
	}
	return p
}

// pass takes acc past one side's edge.
func (g *stage) pass(side int, acc *Pose, q *query) (ok bool) {
	st := g.edge[side]
	if !g.up {
		return st.move(acc, q)
	}
	own := Identity()
	if ok = st.move(&own, q); ok {
		own = own.Inverse()
		acc.mul(&own)
	}
	return ok
}

// answered returns the first time from t on at which a history answers, or with
// back the last up to t, the pinned ones left aside.
func (s snapshot[V, X]) answered(t engram.Time, r *rules, back bool) (engram.Time, bool) {
	if s.n == 0 {
		return 0, false
	}
	first, end := s.first(), r.end(s.last())
	switch {
	case t < first:
		return first, !back
	case t > end:
		return end, back
	case t >= s.last():
		return t, true
	}
	a, b := s.beside(t)
	switch {
	case a.t == t || !r.tooFar(a.t, b.t):
		return t, true
	case back:
		return a.t, true
	}
	return b.t, true
}

// answered is that of all edges that do not differ.
func (w *way) answered(t engram.Time, back bool) (engram.Time, bool) {
	for again := true; again; {
		again = false
		for i := range w.stages {
			g := &w.stages[i]
			if g.mode == rekeyed || g.mode == apart || g.edge[0] == nil {
				continue
			}
			u, ok := g.edge[0].answered(t, back)
			if !ok {
				return 0, false
			}
			if u != t {
				t, again = u, true
			}
		}
	}
	return t, true
}

func (st *step) answered(t engram.Time, back bool) (engram.Time, bool) {
	switch st.kind {
	case KindFree:
		return st.posesNow().answered(t, &st.edge.rules, back)
	case KindJoint:
		s := st.valuesNow()
		if s.n == 0 && st.edge.value.unset.Use {
			return t, true
		}
		return s.answered(t, &st.edge.rules, back)
	}
	return t, len(st.edge.keys.keys) > 0
}
