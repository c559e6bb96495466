package pose

import (
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// content is everything that paths are compiled from: which edge stands above each
// frame when, with the fixed values and the anchors' keys. It is immutable; a
// change makes a new one that shares what stays.
type content struct {
	frames frameList
	joints map[string]*edge
}

// frame is a frame with the edges to its parents over time.
type frame struct {
	name string
	// periods are sorted and cover all times: each holds from its start to the next
	// one's. A nil edge means that the frame is a root then.
	periods []period
	stated  []statement // in the order of time; see [Statements.Observe]
}

type period struct {
	from engram.Time
	edge *edge
}

func newFrame(name string) *frame {
	return &frame{name: name, periods: []period{{from: engram.MinTime}}}
}

// clone copies a content so that its frames can be replaced.
func (c *content) clone() *content {
	return &content{frames: c.frames.clone(), joints: c.joints}
}

// periodAt returns the period at t and when it ends (MaxTime if never).
func (f *frame) periodAt(t engram.Time) (p period, end engram.Time) {
	i := len(f.periods) - 1
	if t < f.periods[i].from {
		i = sort.Search(len(f.periods), func(i int) bool { return f.periods[i].from > t }) - 1
		return f.periods[i], f.periods[i+1].from
	}
	return f.periods[i], engram.MaxTime
}

// span returns when period i holds.
func (f *frame) span(i int) engram.Interval {
	iv := engram.Interval{Start: f.periods[i].from, End: engram.MaxTime}
	if i+1 < len(f.periods) {
		iv.End = f.periods[i+1].from
	}
	return iv
}

// hold returns when the period at t holds, with those behind it that are of the same
// parent and have another calibration.
func (f *frame) hold(t engram.Time) (was period, iv engram.Interval) {
	was, end := f.periodAt(t)
	for end != engram.MaxTime {
		next, until := f.periodAt(end)
		if !was.calibrated() || !next.calibrated() || next.edge.parent != was.edge.parent {
			break
		}
		end = until
	}
	return was, engram.Interval{Start: t, End: end}
}

// calibrated reports whether the period has a fixed edge. Two of them of the same
// parent, one behind the other, are one time under that parent.
func (p *period) calibrated() bool { return p.edge != nil && p.edge.kind == KindFixed }

// with returns the frame with the edge e during iv, and what was there before and
// after it.
func (f *frame) with(iv engram.Interval, e *edge) *frame {
	out := &frame{name: f.name, stated: f.stated}
	for i, p := range f.periods {
		if p.from < iv.Start {
			out.periods = append(out.periods, p)
		}
		end := f.span(i).End
		if p.from <= iv.Start && iv.Start < end {
			out.periods = append(out.periods, period{iv.Start, e})
		}
		if iv.End != engram.MaxTime && p.from <= iv.End && iv.End < end {
			out.periods = append(out.periods, period{iv.End, p.edge})
		}
		if p.from > iv.End {
			out.periods = append(out.periods, p)
		}
	}
	return out
}

// replaced returns the frame with each edge e replaced by swap(e): one that stands in
// several periods, before and after a calibration, stays one.
func (f *frame) replaced(swap func(*edge) *edge) *frame {
	out := &frame{name: f.name, periods: slices.Clone(f.periods), stated: f.stated}
	swapped := map[*edge]*edge{}
	for i := range out.periods {
		e := out.periods[i].edge
		if e == nil {
			continue
		}
		if swapped[e] == nil {
			swapped[e] = swap(e)
		}
		out.periods[i].edge = swapped[e]
	}
	return out
}

// above reports whether frame top stands above frame below at some time in iv, or
// is below itself.
func (c *content) above(top, below int32, iv engram.Interval) bool {
	if top == below {
		return true
	}
	f := c.frames.at(below)
	for i, p := range f.periods {
		part := f.span(i)
		part.Start, part.End = max(part.Start, iv.Start), min(part.End, iv.End)
		if p.edge != nil && !part.Empty() && c.above(top, p.edge.parent, part) {
			return true
		}
	}
	return false
}

// edgesBetween returns the edges that join parent and child, in the order of time.
func (c *content) edgesBetween(parent, child int32) []*edge {
	var out []*edge
	for _, p := range c.frames.at(child).periods {
		if p.edge != nil && p.edge.parent == parent && !slices.Contains(out, p.edge) {
			out = append(out, p.edge)
		}
	}
	return out
}
