package pose

import (
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// How far a difference can grow between two times at which it is known.
//
// Let A and B be the ways in the two revisions and w the difference of their
// translations. Rotating both alike does not change |w|, so what both have in front
// counts for nothing. Edges that differ move smoothly within a cell; were the others
// at rest, w would stay within an eighth of its greatest acceleration of the chord
// between its ends (time in units of the cell), and |w| below that of the ends.
// Edges that do not differ move A and B alike, and so w only by what the rotations
// of A and B differ, times what they move. They are taken to rest somewhere within
// their spread, and that distance counts twice: at an end, and between.
//
// Rotations are bounded in the same way by their quaternions, which an edge that
// does not differ turns alike.

// inside says what is within a cell.
type inside uint8

const (
	nothing inside = iota // no time at which either revision answers
	failing               // one of the revisions answers and the other does not
	bounded
)

// bound makes the cell between two points: the part of it in which both revisions
// answer, with the bounds there.
func (d *differ) bound(c *cell, a, b *point, rough bool) inside {
	c.a, c.b, c.rough = *a, *b, rough
	if uint64(b.t-a.t) <= 1 {
		return nothing
	}
	if d.lopsided {
		at, ok := d.answered(a.t+1, false)
		if !ok || at >= b.t {
			return nothing
		}
		switch one, two := d.answers(0, at), d.answers(1, at); {
		case one != two:
			return failing
		case !one:
			return nothing
		}
	}
	if d.pins || !a.ok[0] || !a.ok[1] || !b.ok[0] || !b.ok[1] {
		from, ok1 := d.answered(a.t, false)
		to, ok2 := d.answered(b.t, true)
		if !ok1 || !ok2 || from > to {
			return nothing
		}
		if from != a.t {
			c.a = d.at(from)
		}
		if to != b.t {
			c.b = d.at(to)
		}
	}
	if d.boundWithin(c) == nothing {
		if c.a.t == a.t && c.b.t == b.t {
			return nothing
		}
		for i := range c.bound { // its ends are known only now
			c.bound[i] = max(c.a.by[i], c.b.by[i])
		}
	}
	return bounded
}

// answers reports whether the edges of one side that differ all answer at t.
func (w *way) answers(side int, t engram.Time) bool {
	for i := range w.stages {
		if g := &w.stages[i]; g.edge[side] != nil && (g.mode == apart || g.mode == rekeyed) {
			if u, ok := g.edge[side].answered(t, false); !ok || u != t {
				return false
			}
		}
	}
	return w.connected[side]
}

// cover finds the rough spreads for the cells in a span.
func (w *way) cover(from, to engram.Time) {
	for i := w.first; i < len(w.stages); i++ {
		g := &w.stages[i]
		if st := g.edge[0]; st != nil && (st.kind != KindAnchor || len(st.edge.keys.keys) > 0) {
			g.rough, _ = st.spread(from, to, w.q[0].rev, g.up)
		}
	}
}

// tighten replaces the rough bounds of a cell.
func (d *differ) tighten(c *cell) {
	if c.rough = false; d.boundWithin(c) == nothing {
		c.bound = [2]float64{}
	}
}

// boundWithin sets the bounds of a cell.
func (d *differ) boundWithin(c *cell) inside {
	var ways [2]motion
	var more slack
	from, to := c.a.t, c.b.t
	for i := d.first; i < len(d.stages); i++ {
		g := &d.stages[i]
		switch {
		case !g.samePre:
			ways[0].lever(g.pre[0].T.Norm())
			ways[1].lever(g.pre[1].T.Norm())
			more.differs(g.pre[0].T.Sub(g.pre[1].T).Norm(), chord(&g.pre[0].R, &g.pre[1].R), g.pre[0].T.Norm())
		case g.reach > 0:
			s := spread{reach: g.reach}
			ways[0].lever(s.reach)
			ways[1].lever(s.reach)
			more.moves(&s)
		}
		switch {
		case g.edge[0] == nil && g.edge[1] == nil:
		case c.rough && !g.now || !c.rough && !g.differs(from, to):
			s := g.rough
			if !c.rough {
				var ok bool
				if s, ok = g.edge[0].spread(from, to, d.q[0].rev, g.up); !ok {
					return nothing
				}
			}
			ways[0].lever(s.reach)
			ways[1].lever(s.reach)
			more.moves(&s)
		default:
			var own [2]motion
			for side, st := range g.edge {
				if st != nil {
					own[side] = g.motion(side, from, to, &d.q[side])
					ways[side].then(&own[side])
				}
			}
			if i < d.last || more.rot > 0 {
				more.differs(g.difference(from, to, &own, &d.q))
			} else {
				more.begun = true
			}
		}
		if i == d.last {
			ends := max(c.a.by[1], c.b.by[1])
			c.bound[1] = ends + (ways[0].bend()+ways[1].bend())/8 + more.diff
			if ends+(ways[0].turn+ways[1].turn)/2+more.diff >= math.Sqrt2 {
				c.bound[1] = math.Sqrt2 // which sign of a quaternion is nearer may change
			}
			more.turned = min(2*c.bound[1], 2) // all of it, better than edge by edge
		}
	}
	c.bound[0] = max(c.a.by[0], c.b.by[0]) + (ways[0].accel+ways[1].accel)/8 + 2*more.trans
	return bounded
}

// slack is how far edges that do not differ can move the difference from where it
// would be if they rested in the middle of their spread. Rotations are compared by
// the norm of the difference of their matrices, at most twice their chord.
type slack struct {
	begun  bool    // something in front differs
	turned float64 // how far the rotations of the ways differ at most
	diff   float64 // how far that difference moves
	rot    float64 // how far the edges that do not differ turn each way
	trans  float64 // how far the difference of the translations moves
}

// moves passes an edge that does not differ.
func (m *slack) moves(s *spread) {
	if !m.begun {
		return
	}
	turns := min(2*s.e, 2)
	m.trans += m.turned*s.r + m.diff*s.reach
	m.diff += m.turned * turns
	m.rot += turns
}

// differs passes something that differs, by trans and a chord at most.
func (m *slack) differs(trans, chord, reach float64) {
	m.begun = true
	m.trans += m.diff*reach + m.rot*trans
	m.diff += m.rot * min(2*chord, 2)
	m.turned = min(m.turned+2*chord, 2)
}

// motion bounds how a frame moves in a cell, in units of the cell's length: its
// origin, and the angle it turns by.
type motion struct {
	reach              float64 // of the origin, from that of the edge's parent
	speed, accel       float64
	turn, turningAccel float64
}

// lever goes on to a frame that rests in this one, reach away.
func (m *motion) lever(reach float64) { m.accel += (m.turn*m.turn + m.turningAccel) * reach }

// then goes on to a frame that moves evenly in this one.
func (m *motion) then(o *motion) {
	m.lever(o.reach)
	m.accel += 2*m.turn*o.speed + o.accel
	m.turningAccel += m.turn * o.turn
	m.turn += o.turn
}

// bend bounds the acceleration of the quaternion.
func (m *motion) bend() float64 { return m.turningAccel/2 + m.turn*m.turn/4 }

// inverse returns the motion of the parent in the child.
func (m *motion) inverse() motion {
	return motion{
		reach: m.reach, turn: m.turn,
		speed: m.speed + m.turn*m.reach,
		accel: m.accel + 2*m.turn*m.speed + m.turn*m.turn*m.reach,
	}
}

// motion returns that of an edge in a cell in which it differs, and so moves smoothly.
func (g *stage) motion(side int, from, to engram.Time, q *query) (m motion) {
	st := g.edge[side]
	switch st.kind {
	case KindAnchor:
		m = st.edge.keys.motion(from, to, &g.at[side])
	case KindFree:
		m = st.freeMotion(from, to, q)
	case KindJoint:
		m = st.jointMotion(from, to, q.rev)
	}
	if g.up {
		m = m.inverse()
	}
	return m
}

func (a *anchorKeys) motion(from, to engram.Time, at *int) motion {
	*at = a.before(from, *at)
	i := max(*at, 0)
	reach := a.keys[i].v.c.T.Norm()
	if *at < 0 || i+1 == len(a.keys) {
		return motion{reach: reach}
	}
	next := &a.keys[i+1]
	part := span(from, to) / span(a.keys[i].t, next.t)
	speed, turn := part*next.v.way, part*next.v.turn
	return motion{reach: reach + next.v.way, speed: speed, turn: turn, accel: speed * turn}
}

// slerpTurn is the most that an angle can be of the chord between the quaternions:
// that of a half turn.
const slerpTurn = math.Pi / math.Sqrt2

func (st *step) freeMotion(from, to engram.Time, q *query) motion {
	a, b := Identity(), Identity()
	ask := *q
	ask.t = from
	ok1 := st.free(&a, &ask)
	ask.t = to
	ok2 := st.free(&b, &ask)
	if !ok1 || !ok2 {
		return motion{accel: math.Inf(1), turn: math.Inf(1)} // halve on
	}
	reach := max(a.T.Norm(), b.T.Norm())
	if one, two, u, flags, _ := st.posesNow().near(to, &st.edge.rules, q.rev); u > 1 && flags&Extrapolated != 0 {
		x := Log(one.v.Inverse().Mul(two.v)).Scale(span(from, to) / span(one.t, two.t))
		speed, turn := x.Rho.Norm(), x.Phi.Norm()
		return motion{reach: reach + speed, speed: speed, turn: turn, accel: speed * turn}
	}
	return motion{reach: reach, speed: b.T.Sub(a.T).Norm(), turn: slerpTurn * chord(&a.R, &b.R)}
}

func (st *step) jointMotion(from, to engram.Time, rev Revision) (m motion) {
	j, s := st.edge.joint, st.valuesNow()
	scale, offset := j.scaleOffset()
	if s.n == 0 {
		m.reach = math.Abs(scale*st.edge.value.unset.Q + offset)
		return m
	}
	at := func(t engram.Time) float64 {
		a, b, u, _, _ := s.near(t, &st.edge.rules, rev)
		if b == nil {
			return a.v
		}
		return st.edge.value.of.between(a.v, b.v, u)
	}
	a, b := scale*at(from), scale*at(to)
	if j.Type == urdf.Prismatic {
		return motion{reach: max(math.Abs(a+offset), math.Abs(b+offset)), speed: math.Abs(b - a)}
	}
	return motion{turn: math.Abs(b - a)}
}

// difference bounds how far the two sides of a stage are apart in a cell, and how far
// the first reaches.
func (g *stage) difference(from, to engram.Time, own *[2]motion, q *[2]query) (trans, rot, reach float64) {
	for _, t := range [2]engram.Time{from, to} {
		at := [2]Pose{Identity(), Identity()}
		for side, st := range g.edge {
			if st != nil {
				ask := q[side]
				ask.t = t
				g.pass(side, &at[side], &ask)
			}
		}
		trans = max(trans, at[0].T.Sub(at[1].T).Norm())
		rot = max(rot, chord(&at[0].R, &at[1].R))
	}
	trans += (own[0].accel + own[1].accel) / 8
	rot += (own[0].bend() + own[1].bend()) / 8
	if own[0].turn+own[1].turn > 1 {
		rot = 2
	}
	return trans, rot, own[0].reach
}
