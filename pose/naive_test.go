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
}

// naivePeriod is a time under one parent, "" for none.
type naivePeriod struct {
	from   engram.Time
	parent string
	kind   Kind
	joint  string // its name
	fixed  *naiveFixed
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
		states:    []naiveStructure{{map[string][]naivePeriod{}, map[naiveEdge][]naiveKey{}, map[naiveEdge]naiveOptions{}}},
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
	next := naiveStructure{map[string][]naivePeriod{}, map[naiveEdge][]naiveKey{}, maps.Clone(was.options)}
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

// observe says that child is seen on parent at t. It reports whether that is refused.
func (n *naive) observe(t engram.Time, parent, child string) (refused bool) {
	st := n.now()
	was, end := st.at(child, t)
	from := was.from
	switch {
	case was.parent == "":
	case was.parent == parent:
		return was.kind != KindFree
	case was.kind != KindFree:
		return true
	default:
		var before, after bool
		for _, s := range n.list(n.rev(), naiveEdge{was.parent, child}, was.from, end) {
			switch {
			case s.t == t:
				return true
			case s.t < t:
				before = true
			case !after:
				after, end = true, s.t
			}
		}
		if before {
			from = t
		}
	}
	if st.loops(parent, child, from, end) {
		return true
	}
	if was.parent != "" {
		n.revise()
		st = n.now()
	}
	n.option(naiveEdge{parent, child})
	p := naivePeriod{parent: parent, kind: KindFree, kept: n.newKept()}
	next, _ := st.at(child, end)
	_, wasEnd := st.at(child, t)
	joins := end == wasEnd && end != engram.MaxTime && next.parent == parent && next.kind == KindFree
	if joins {
		p = next
	}
	st.cut(child, from, end, p)
	if joins { // they are one time under the parent
		periods := st.above[child]
		i := slices.IndexFunc(periods, func(q naivePeriod) bool { return q.from == end })
		st.above[child] = slices.Delete(periods, i, i+1)
	}
	if was.parent != "" {
		n.part(child, was)
	}
	return false
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
