package world

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Edge is where an item hangs from a time on.
type Edge struct {
	Time  engram.Time // by the clock that rules compare with
	Frame string      // an item or a bare frame; "" if it hangs on nothing
	Pose  pose.Pose   // frameFromItem with the value of the joint between both, metres
	Cov   pose.Cov
	// Provider and Home tell who says so, and where.
	Provider string
	Home     Home
}

// same reports whether two edges differ in their times at most.
func (e Edge) same(o Edge) bool { e.Time = o.Time; return e == o }

// Edge returns where an item hangs at present, and since when that is said; false for
// what is no item. One that the forest has in no frame has an empty one.
func (f *Forest) Edge(name string) (Edge, bool) {
	n := f.item(name)
	if n == nil {
		return Edge{}, false
	}
	if f.frameOf(n) == none {
		return Edge{}, true
	}
	return f.rules.edge(n.merged, f.in(n).name, n.said, n.joints), true
}

// edge returns the edge of an item in a frame, from what is said of it and of the joints that move it.
func (r *Rules) edge(m *Merged, frame string, said []*Statement, joints []*JointStatement) Edge {
	p, s := m.Placement, m.Placed
	e := Edge{Frame: frame, Pose: p.Pose, Cov: p.Cov, Provider: s.Provider, Home: s.Home}
	e.Time = s.at(p.Time).Add(r.Offsets[s.Robot])
	if j := r.joint(said, joints); j != nil && j.moves(s, frame) {
		e.Pose, e.Cov = j.move(p.Pose, p.Cov)
	}
	return e
}

// told is something that was said at a time.
type told struct {
	at engram.Time
	s  *Statement
	j  *JointStatement
}

// Track returns where an item was over time, from all that was ever said of it and of the joints that
// move it, in any order: at each time what the statements up to then come to. Whether a frame
// exists, and loops, are not looked at.
func (r *Rules) Track(name string, statements []Statement, joints []JointStatement) []Edge {
	events := make([]told, 0, len(statements)+len(joints))
	for i := range statements {
		s := statements[i].vetted()
		events = append(events, told{at: s.Time.Add(r.Offsets[s.Robot]), s: &s})
	}
	for i := range joints {
		s := &joints[i]
		events = append(events, told{at: s.Time.Add(r.Offsets[s.Robot]), j: s})
	}
	slices.SortStableFunc(events, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	var track []Edge
	var said []*Statement
	var moved []*JointStatement
	for i, e := range events {
		if e.s != nil {
			said, _ = hear(said, e.s, func(s *Statement) *Said { return &s.Said }, func(_, _ *Statement) int { return 0 })
		} else {
			moved, _ = hear(moved, e.j, func(s *JointStatement) *Said { return &s.Said },
				func(x, y *JointStatement) int { return strings.Compare(x.Name, y.Name) })
		}
		if i+1 < len(events) && events[i+1].at == e.at {
			continue
		}
		next := r.edgeAt(name, said, moved)
		last := Edge{Time: engram.MinTime}
		if len(track) > 0 {
			last = track[len(track)-1]
		}
		// What was seen again at the same place of a frame that moves was elsewhere.
		if next.same(last) && (next.Home != InInstance || next.Time <= last.Time) {
			continue
		}
		// What was there since before it was said, was there after what was said before.
		if next.Frame == "" || next.Time > e.at || next.Time <= last.Time {
			next.Time = e.at
		}
		track = append(track, next)
	}
	return track
}

// edgeAt returns the edge that statements come to.
func (r *Rules) edgeAt(name string, said []*Statement, joints []*JointStatement) Edge {
	m := r.merge(name, said)
	if m == nil || m.Placement == nil {
		return Edge{}
	}
	frame := cmp.Or(ownFrame(m.Placed.Robot, m.Placement.Frame), m.parent())
	if frame == "" || frame == name {
		return Edge{}
	}
	return r.edge(m, frame, said, joints)
}

// Track returns where an item was from a time on, and at that time, as [Rules.Track] does of what the
// memory has.
func (m *Memory) Track(ctx context.Context, f *Forest, name string, from engram.Time) ([]Edge, error) {
	n := f.any(name)
	if n == nil {
		return nil, nil
	}
	q := engram.Query{Target: engram.TargetWM}
	asked := map[engram.ID]bool{}
	ask := func(s *Said, home Home, name string) {
		id, err := m.id(homeName{s.Provider, s.Robot, home, name})
		if err != nil || asked[id] {
			return
		}
		asked[id] = true
		since := from
		if from != engram.MinTime {
			since = from.Add(-f.rules.Offsets[s.Robot])
		}
		p := engram.PatternOf(id)
		if ofSeveral(id.CoreSegment()) {
			since = engram.MinTime
		}
		q.Memories = append(q.Memories, p.Select(engram.In(engram.Interval{Start: since, End: engram.MaxTime}), engram.AtOrBefore(since)).Memories...)
	}
	for _, s := range n.said {
		switch s.Home {
		case InWorld, InInstance:
			ask(&s.Said, s.Home, name)
		case InAttachment:
			ask(&s.Said, s.Home, "")
		}
	}
	joints := map[string]bool{}
	for _, s := range n.joints {
		joints[s.Name] = true
		if s.Home == InWorld {
			ask(&s.Said, inJoint, s.Name)
		} else if i := strings.LastIndexByte(s.Name, '/'); i > 0 {
			switch s.Home {
			case InInstance:
				ask(&s.Said, s.Home, s.Name[:i])
			case InAttachment, inHeldPart:
				ask(&s.Said, s.Home, "")
			}
		}
	}
	if len(q.Memories) == 0 {
		return nil, nil
	}
	r, err := m.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	var statements []Statement
	var values []JointStatement
	for it := range r.All() {
		switch {
		case !isOf(it.ID, "World"):
			s, err := m.codec.Seen(it.ID, it.Snapshot)
			if err != nil {
				continue // it is left out, as it is at present
			}
			if s.Name == name {
				statements = append(statements, s.Statement)
			}
			for joint := range joints {
				if i := strings.LastIndexByte(joint, '/'); i > 0 && joint[:i] == s.Name {
					values = append(values, s.value(joint))
				}
			}
		case it.ID.CoreSegment() == itemSegment:
			if s, err := m.codec.Statement(it.ID, it.Snapshot); err == nil {
				statements = append(statements, s)
			}
		default:
			if s, err := m.codec.Joint(it.ID, it.Snapshot); err == nil && s.Joint.Moved == name {
				values = append(values, s)
			}
		}
	}
	track := f.rules.Track(name, statements, values)
	for i := range track {
		track[i].Frame = f.itemOf(track[i].Frame)
	}
	for len(track) > 1 && track[1].Time <= from {
		track = track[1:]
	}
	return track, nil
}

// isOf reports whether an ID is in a memory of the name, of this robot or another.
func isOf(id engram.ID, memory string) bool {
	_, name := engram.SplitName(id.Memory())
	return name == memory
}
