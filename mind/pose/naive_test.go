package pose

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// naive is what docs/pose.md says, slowly and obviously: the whole structure again for
// each revision, and of each edge all that was ever written to it, with the revisions
// in which it counts. It forgets nothing, but knows what the store may forget.
type naive struct {
	states  []naiveStructure // by revision
	samples map[naiveEdge]map[engram.Time][]naiveSample
	joints  map[string]JointSpec // by name
	// mayForget is the time before which retention may have dropped an edge's samples
	// in views of earlier revisions, or a joint's values, and pins when it may not: for each acquisition,
	// what the clock showed then.
	mayForget map[naiveEdge]engram.Time
	pins      map[naiveEdge]map[engram.Time][]int
	clock     int // counts changes

	sorted map[naiveSorted][]naiveSample // of samples, until the next write
}

// naiveEdge names an edge. The values of a joint have the parent "".
type naiveEdge struct{ parent, child string }

type naiveSorted struct {
	naiveEdge
	rev int
}

// naiveSample counts in the revisions from from up to until.
type naiveSample struct {
	t           engram.Time
	p           Pose
	cov         Cov
	from, until int
}

type naiveOptions struct {
	maxGap, hold engram.Time // 0: any, none
	noise        Noise
	sigma        float64
}

type naiveStructure struct {
	above   map[string][]naivePeriod // by child, sorted by time
	keys    map[naiveEdge][]naiveKey
	options map[naiveEdge]naiveOptions
	stated  map[string][]naiveStatement // by child, sorted by time
}

// naiveStatement is that a frame was said to rest.
type naiveStatement struct {
	t      engram.Time
	parent string
	value  *naiveFixed
}

// naivePeriod is a time under one parent, "" for none.
type naivePeriod struct {
	from   engram.Time
	parent string
	kind   Kind
	joint  string // its name
	fixed  *naiveFixed
	said   *naiveFixed // the statement that it is of; nil of what nobody observed
	kept   *naiveKept
}

// naiveFixed is one calibration, with the one error that it has wherever it holds.
type naiveFixed struct {
	pose Pose
	cov  Cov
}

// naiveKept is what a period's history must not forget in the present: what is at or
// after from, and around the times pinned since it was made.
type naiveKept struct {
	from engram.Time
	made int
}

type naiveKey struct {
	t   engram.Time
	c   Pose
	cov Cov
}

func newNaive() *naive {
	return &naive{
		states:    []naiveStructure{{map[string][]naivePeriod{}, map[naiveEdge][]naiveKey{}, map[naiveEdge]naiveOptions{}, map[string][]naiveStatement{}}},
		samples:   map[naiveEdge]map[engram.Time][]naiveSample{},
		joints:    map[string]JointSpec{},
		mayForget: map[naiveEdge]engram.Time{},
		pins:      map[naiveEdge]map[engram.Time][]int{},
		sorted:    map[naiveSorted][]naiveSample{},
	}
}

func (n *naive) rev() int             { return len(n.states) - 1 }
func (n *naive) now() *naiveStructure { return &n.states[n.rev()] }
func (n *naive) revise() {
	was := n.now()
	next := naiveStructure{map[string][]naivePeriod{}, map[naiveEdge][]naiveKey{}, maps.Clone(was.options), maps.Clone(was.stated)}
	for k, v := range was.above {
		next.above[k] = slices.Clone(v)
	}
	for k, v := range was.keys {
		next.keys[k] = slices.Clone(v)
	}
	n.states = append(n.states, next)
}

// add puts an edge above a frame at all times.
func (n *naive) add(child string, p naivePeriod, o naiveOptions) {
	p.from, p.kept = engram.MinTime, n.newKept()
	n.now().above[child] = []naivePeriod{p}
	if p.kind == KindFree {
		n.now().options[naiveEdge{p.parent, child}] = o
	}
}

func (n *naive) newKept() *naiveKept { return &naiveKept{engram.MinTime, n.clock} }

// at returns the period of a frame at t, and when it ends.
func (st *naiveStructure) at(child string, t engram.Time) (p naivePeriod, end engram.Time) {
	end = engram.MaxTime
	for i, q := range st.above[child] {
		if q.from <= t {
			p, end = q, engram.MaxTime
			if i+1 < len(st.above[child]) {
				end = st.above[child][i+1].from
			}
		}
	}
	return p, end
}

// cut puts a period above a frame from from up to end.
func (st *naiveStructure) cut(child string, from, end engram.Time, p naivePeriod) {
	rest, _ := st.at(child, end)
	var out []naivePeriod
	for _, q := range st.above[child] {
		if q.from < from {
			out = append(out, q)
		}
	}
	p.from = from
	out = append(out, p)
	if end != engram.MaxTime {
		rest.from = end
		out = append(out, rest)
		for _, q := range st.above[child] {
			if q.from > end {
				out = append(out, q)
			}
		}
	}
	st.above[child] = out
}

// loops reports whether child would hang below itself, on parent, at some time of a
// span.
func (st *naiveStructure) loops(parent, child string, from, end engram.Time) bool {
	times := []engram.Time{from}
	for _, periods := range st.above {
		for _, p := range periods {
			if from < p.from && p.from < end {
				times = append(times, p.from)
			}
		}
	}
	for _, t := range times {
		for f := parent; f != ""; {
			if f == child {
				return true
			}
			p, _ := st.at(f, t)
			f = p.parent
		}
	}
	return false
}

// fix calibrates: of the span, what has the fixed edge.
func (st *naiveStructure) fix(e naiveEdge, iv engram.Interval, value *naiveFixed) {
	var out []naivePeriod
	periods := st.above[e.child]
	for i, p := range periods {
		end := engram.MaxTime
		if i+1 < len(periods) {
			end = periods[i+1].from
		}
		from, to := max(p.from, iv.Start), min(end, iv.End)
		if p.parent != e.parent || p.kind != KindFixed || from >= to {
			out = append(out, p)
			continue
		}
		if p.from < from {
			out = append(out, p)
		}
		calibrated := p
		calibrated.from, calibrated.fixed = from, value
		if out = append(out, calibrated); to < end {
			p.from = to
			out = append(out, p)
		}
	}
	st.above[e.child] = out
}

// reparent says that child hangs on parent from t until the next re-parenting. It
// reports whether that changes anything, or cannot be.
func (n *naive) reparent(t engram.Time, parent, child string) (changes, refused bool) {
	st := n.now()
	was, end := st.at(child, t)
	for end != engram.MaxTime && was.kind == KindFixed && was.parent != "" {
		next, until := st.at(child, end)
		if next.kind != KindFixed || next.parent != was.parent {
			break
		}
		end = until
	}
	switch {
	case was.parent == parent:
		return false, parent != "" && was.kind != KindFree
	case parent != "" && st.loops(parent, child, t, end):
		return false, true
	}
	n.revise()
	st = n.now()
	if parent != "" {
		n.option(naiveEdge{parent, child})
	}
	fresh := naivePeriod{parent: parent, kind: KindFree, kept: n.newKept()}
	st.cut(child, t, end, fresh)
	n.part(child, was)
	if e := (naiveEdge{was.parent, child}); was.kind == KindFree && was.parent != "" {
		n.forget(e, t, end)
	}
	n.settle(child)
	return true, false
}

// part gives each part of what is left of a period a memory of its own.
func (n *naive) part(child string, was naivePeriod) {
	periods := n.now().above[child]
	for i := range periods {
		if p := &periods[i]; p.kept == was.kept {
			own := *was.kept
			p.kept = &own
		}
	}
}

// option gives an edge the default options, unless there is one between the frames at
// another time.
func (n *naive) option(e naiveEdge) {
	if !slices.ContainsFunc(n.now().above[e.child], func(p naivePeriod) bool { return p.parent == e.parent && p.kind == KindFree }) {
		n.now().options[e] = naiveOptions{maxGap: modelGap, sigma: math.NaN()}
	}
}

// forget lets samples in a span count no more from the present revision on.
func (n *naive) forget(e naiveEdge, from, end engram.Time) {
	for t, list := range n.samples[e] {
		if from <= t && t < end {
			for i := range list {
				list[i].until = min(list[i].until, n.rev())
			}
		}
	}
	clear(n.sorted)
}

// observed says when it is known, and where that would be refused, that child is seen on
// parent at t, moving or (KindFixed) at rest: from the pose or statement before or at t,
// without which it is all the time before, until the next.
func (n *naive) observed(t engram.Time, parent, child string, kind Kind) (from, end engram.Time, replaces, refused bool) {
	st := n.now()
	was, end := st.at(child, t)
	from = was.from
	var times []engram.Time
	switch {
	case was.parent == "":
	case was.kind == KindFree:
		for _, s := range n.list(n.rev(), naiveEdge{was.parent, child}, from, end) {
			times = append(times, s.t)
		}
	case was.said != nil:
		from, end = st.rest(child, t)
		for _, s := range st.stated[child] {
			if s.parent == was.parent && from <= s.t && s.t < end {
				times = append(times, s.t)
			}
		}
	default:
		return 0, 0, false, true
	}
	for _, at := range slices.Backward(times) {
		switch {
		case at == t:
			if was.parent != parent {
				return 0, 0, false, true
			}
			replaces = true
		case at < t:
			from = t
		default:
			end = at
		}
	}
	return from, end, replaces, st.loops(parent, child, from, end)
}

// rest returns when a frame that rests at t does so on the same parent.
func (st *naiveStructure) rest(child string, t engram.Time) (from, end engram.Time) {
	per, end := st.at(child, t)
	from = per.from
	rests := func(p naivePeriod) bool { return p.said != nil && p.parent == per.parent }
	for p := per; from > engram.MinTime; from = p.from {
		if p, _ = st.at(child, from-1); !rests(p) {
			break
		}
	}
	for end != engram.MaxTime {
		p, until := st.at(child, end)
		if !rests(p) {
			break
		}
		end = until
	}
	return from, end
}

// observe says that child is seen on parent at t. It reports whether that is refused.
func (n *naive) observe(t engram.Time, parent, child string) (refused bool) {
	if was, _ := n.now().at(child, t); was.parent == parent && was.kind == KindFree {
		return false
	}
	from, end, replaces, refused := n.observed(t, parent, child, KindFree)
	if refused {
		return true
	}
	n.option(naiveEdge{parent, child})
	n.see(t, from, end, replaces, child, naivePeriod{parent: parent, kind: KindFree, kept: n.newKept()})
	if replaces {
		st := n.now()
		st.stated[child] = slices.DeleteFunc(slices.Clone(st.stated[child]), func(s naiveStatement) bool { return s.t == t && s.parent == parent })
	}
	n.settle(child)
	return false
}

// observeFixed says that child was stated to rest on parent at t.
func (n *naive) observeFixed(t engram.Time, parent, child string, value naiveFixed) (refused bool) {
	say := naiveStatement{t, parent, &value}
	for _, s := range n.now().stated[child] {
		if s.parent == parent && *s.value == value {
			say.value = s.value
		}
	}
	if was, _ := n.now().at(child, t); was.said != nil && was.parent == parent {
		from, end := n.now().rest(child, t)
		said := n.now().statedIn(child, parent, from, end)
		if len(said) >= maxStated && said[len(said)-1].value == say.value || slices.Contains(said, say) {
			return false
		}
		// It is a revision if it changes the value, which is known when it has.
		before := n.now().above[child]
		n.revise()
		n.state(child, say)
		n.settle(child)
		if slices.Equal(before, n.now().above[child]) {
			last := n.states[len(n.states)-1]
			n.states = n.states[:len(n.states)-1]
			n.states[len(n.states)-1] = last
			clear(n.sorted)
		}
		return false
	}
	was, _ := n.now().at(child, t)
	from, end, replaces, refused := n.observed(t, parent, child, KindFixed)
	if refused {
		return true
	}
	n.see(t, from, end, replaces, child, naivePeriod{parent: parent, kind: KindFixed, fixed: &value, said: say.value, kept: n.newKept()})
	if was.kind == KindFree && was.parent != "" {
		n.forget(naiveEdge{was.parent, child}, from, end)
	}
	n.state(child, say)
	n.settle(child)
	return false
}

// see puts a period above a frame, or goes on with that of the same kind behind it, or
// before it where it takes the place of what was known of t.
func (n *naive) see(t, from, end engram.Time, replaces bool, child string, p naivePeriod) {
	was, wasEnd := n.now().at(child, t)
	wasFrom := was.from
	if was.said != nil {
		wasFrom, wasEnd = n.now().rest(child, t)
	}
	if was.parent != "" {
		n.revise()
	}
	st := n.now()
	same := func(q naivePeriod) bool {
		return q.parent == p.parent && q.kind == p.kind && (q.said != nil) == (p.said != nil)
	}
	joinsNext, joinsBefore := false, false
	if next, _ := st.at(child, end); end == wasEnd && end != engram.MaxTime && same(next) {
		p, joinsNext = next, true
	}
	if before, _ := st.at(child, from-1); replaces && from == wasFrom && from != engram.MinTime && same(before) {
		p, joinsNext, joinsBefore = before, false, true
	}
	st.cut(child, from, end, p)
	drop := func(from engram.Time) { // it is one time with what is before
		st.above[child] = slices.DeleteFunc(st.above[child], func(q naivePeriod) bool { return q.from == from })
	}
	if joinsNext {
		drop(end)
	}
	if joinsBefore {
		drop(from)
	}
	if was.parent != "" {
		n.part(child, was)
	}
}

func (st *naiveStructure) statedIn(child, parent string, from, end engram.Time) (out []naiveStatement) {
	for _, s := range st.stated[child] {
		if s.parent == parent && from <= s.t && s.t < end {
			out = append(out, s)
		}
	}
	return out
}

func (n *naive) state(child string, say naiveStatement) {
	st := n.now()
	list := slices.DeleteFunc(slices.Clone(st.stated[child]), func(s naiveStatement) bool { return s.t == say.t && s.parent == say.parent })
	list = append(list, say)
	slices.SortStableFunc(list, func(a, b naiveStatement) int { return int(a.t - b.t) })
	st.stated[child] = list
}

// settle gives each rest the value of its newest statement.
func (n *naive) settle(child string) {
	st := n.now()
	var stated []naiveStatement
	var fresh *naiveFixed
	until := engram.MinTime // of the rest at hand
	periods := slices.Clone(st.above[child])
	for i := range periods {
		p := &periods[i]
		if p.said == nil {
			continue
		}
		from, end := st.rest(child, p.from)
		said := st.statedIn(child, p.parent, from, end)
		if len(said) > maxStated {
			said = slices.Delete(said, 1, 1+len(said)-maxStated)
		}
		if from == p.from {
			stated = append(stated, said...)
		}
		if len(said) == 0 {
			continue
		}
		newest := said[len(said)-1].value
		if p.said == newest {
			continue
		}
		if p.from >= until || fresh == nil {
			fresh, until = &naiveFixed{newest.pose, newest.cov}, end
		}
		p.fixed, p.said = fresh, newest
	}
	st.above[child], st.stated[child] = periods, stated
}

// list returns the samples of an edge that count in a revision, in a span.
func (n *naive) list(rev int, e naiveEdge, from, end engram.Time) []naiveSample {
	key := naiveSorted{e, rev}
	all, ok := n.sorted[key]
	if !ok {
		for _, list := range n.samples[e] {
			for _, s := range list {
				if s.from <= rev && rev < s.until {
					all = append(all, s)
				}
			}
		}
		slices.SortFunc(all, func(a, b naiveSample) int { return int(a.t - b.t) })
		n.sorted[key] = all
	}
	lo := sort.Search(len(all), func(i int) bool { return all[i].t >= from })
	hi := sort.Search(len(all), func(i int) bool { return all[i].t >= end })
	return all[lo:hi]
}

// write puts a sample where the edge is. A sample of a new time is new knowledge, and
// counts in all revisions that do not know of that time; another one of the same time
// is a revision.
func (n *naive) write(e naiveEdge, t engram.Time, p Pose, cov Cov) {
	if n.samples[e] == nil {
		n.samples[e] = map[engram.Time][]naiveSample{}
	}
	list := n.samples[e][t]
	s := naiveSample{t, p, cov, 0, math.MaxInt}
	if len(list) > 0 {
		last := &list[len(list)-1]
		if last.until == math.MaxInt {
			if last.p == p && (cov.Mask == 0 || last.cov == cov) {
				return
			}
			n.revise()
			last.until = n.rev()
		}
		s.from = last.until
	}
	n.samples[e][t] = append(list, s)
	clear(n.sorted)
}
