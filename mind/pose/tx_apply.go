package pose

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
)

// anchorChange is what a transaction does to one anchor.
type anchorChange struct {
	anchor   *edge
	replaced []engram.Interval
	add      []keyChange
	bodies   []bodyKey
}

// bodyKey is a key of which the pose of a body is known, and not yet the correction.
type bodyKey struct {
	op    *txOp
	body  int32
	add   int // its place in anchorChange.add, which has the pose of the body until then
	place int // among all of the transaction
}

// apply makes the changes in a draft: anchors and calibrations first, then the keys
// of each anchor when those of the anchors below it are there.
func (tx *Tx) apply(d *draft) (localized []Correction, err error) {
	for i := range tx.ops {
		if op := &tx.ops[i]; op.anchor {
			if err := d.anchor(op.parent, op.child, nil); err != nil {
				return nil, err
			}
		}
	}
	for i := range tx.ops {
		if op := &tx.ops[i]; op.fix != nil {
			if err := d.fix(op); err != nil {
				return nil, err
			}
		}
	}
	changes, bodies, err := tx.anchorChanges(d)
	if err != nil {
		return nil, err
	}
	localized = make([]Correction, bodies)
	for len(changes) > 0 {
		i := slices.IndexFunc(changes, func(c *anchorChange) bool { return !d.waits(c, changes) })
		if i < 0 {
			op := changes[0].bodies[0].op
			return nil, engram.Errorf(engram.Conflict, edgeName(op.parent, op.child), "its correction depends on that of another anchor of the transaction, and that one on this; use two transactions")
		}
		if err := d.correct(changes[i], localized); err != nil {
			return nil, err
		}
		changes = slices.Delete(changes, i, i+1)
	}
	return localized, nil
}

// anchorChanges sorts what the transaction says by anchors, and counts the bodies.
func (tx *Tx) anchorChanges(d *draft) (changes []*anchorChange, bodies int, err error) {
	change := func(anchor *edge) *anchorChange {
		i := slices.IndexFunc(changes, func(c *anchorChange) bool { return c.anchor == anchor })
		if i < 0 {
			i = len(changes)
			changes = append(changes, &anchorChange{anchor: anchor})
		}
		return changes[i]
	}
	for i := range tx.ops {
		op := &tx.ops[i]
		if op.keys == nil && op.replace == nil {
			continue
		}
		parent, child, err := d.framesOf(op)
		if err != nil {
			return nil, 0, err
		}
		if op.localize {
			var c *anchorChange
			var valid engram.Interval
			for _, k := range op.keys {
				if !valid.Contains(k.t) {
					anchor, holds, err := d.anchorAbove(op, parent, child, k.t)
					if err != nil {
						return nil, 0, err
					}
					c, valid = change(anchor), holds
				}
				c.bodies = append(c.bodies, bodyKey{op, child, len(c.add), bodies})
				c.add = append(c.add, k)
				bodies++
			}
			continue
		}
		anchor, err := d.anchorBetween(op, parent, child)
		if err != nil {
			return nil, 0, err
		}
		c := change(anchor)
		if op.replace != nil {
			c.replaced = append(c.replaced, *op.replace)
		}
		c.add = append(c.add, op.keys...)
	}
	return changes, bodies, nil
}

func (d *draft) framesOf(op *txOp) (parent, child int32, err error) {
	var ok1, ok2 bool
	parent, ok1 = d.frameID(op.parent)
	child, ok2 = d.frameID(op.child)
	if !ok1 || !ok2 {
		return 0, 0, engram.Errorf(engram.NotFound, edgeName(op.parent, op.child), "there is no such edge")
	}
	return parent, child, nil
}

// anchorBetween finds the anchor that an op names.
func (d *draft) anchorBetween(op *txOp, parent, child int32) (*edge, error) {
	return d.edgeOf(op, parent, child, KindAnchor, "keys belong to an anchor")
}

// edgeOf finds the edge of a kind between two frames.
func (d *draft) edgeOf(op *txOp, parent, child int32, kind Kind, why string) (*edge, error) {
	edges := d.c.edgesBetween(parent, child)
	if len(edges) == 0 {
		return nil, engram.Errorf(engram.NotFound, edgeName(op.parent, op.child), "there is no such edge")
	}
	i := slices.IndexFunc(edges, func(e *edge) bool { return e.kind == kind })
	if i < 0 {
		return nil, engram.Errorf(engram.Conflict, edgeName(op.parent, op.child), "it is %s; %s", edges[0].kind, why)
	}
	return edges[i], nil
}

// anchorAbove finds the anchor below parent on the way to a body at t, and when the
// way is the same.
func (d *draft) anchorAbove(op *txOp, parent, body int32, t engram.Time) (anchor *edge, valid engram.Interval, err error) {
	valid = engram.Always()
	for at := body; ; {
		per, end := d.c.frames.at(at).periodAt(t)
		valid.Start, valid.End = max(valid.Start, per.from), min(valid.End, end)
		if per.edge == nil {
			return nil, valid, engram.Errorf(engram.NotFound, edgeName(op.parent, op.child), "there is no anchor below %s on the way to %s at %v", op.parent, op.child, t)
		}
		if per.edge.kind == KindAnchor && per.edge.parent == parent {
			return per.edge, valid, nil
		}
		at = per.edge.parent
	}
}

// waits reports whether some body of a change is seen through another anchor that is
// yet to be changed.
func (d *draft) waits(c *anchorChange, changes []*anchorChange) bool {
	if len(changes) == 1 {
		return false
	}
	return slices.ContainsFunc(c.bodies, func(b bodyKey) bool {
		for at := b.body; at != c.anchor.child; {
			per, _ := d.c.frames.at(at).periodAt(c.add[b.add].t)
			if per.edge.kind == KindAnchor && slices.ContainsFunc(changes, func(o *anchorChange) bool { return o.anchor == per.edge }) {
				return true
			}
			at = per.edge.parent
		}
		return false
	})
}

// correct makes a change of an anchor part of the draft, and notes what its bodies
// come to.
func (d *draft) correct(c *anchorChange, localized []Correction) error {
	st := &state{rev: d.s.states.now().rev, content: d.c}
	var p *Path
	for _, b := range c.bodies {
		if p == nil || p.source != b.body {
			p = d.s.pathOf(nil, c.anchor.childName, b.op.child, c.anchor.child, b.body)
		}
		k := &c.add[b.add]
		if err := k.correct(p, st); err != nil {
			return engram.Errorf(err.Code.Code(), edgeName(b.op.parent, b.op.child), "the key at %v cannot become a correction: %w", k.t, *err)
		}
		found := &localized[b.place]
		*found = Correction{Parent: c.anchor.parentName, Child: c.anchor.childName, Time: k.t, Pose: k.c}
		if k.cov != nil {
			found.Cov = *k.cov
		}
	}
	if !slices.IsSortedFunc(c.add, byTime) {
		slices.SortStableFunc(c.add, byTime)
	}
	next := c.anchor.clone()
	next.keys = c.anchor.keys.with(c.replaced, c.add)
	d.swap(c.anchor.child, func(e *edge) *edge {
		if e == c.anchor {
			return next
		}
		return e
	})
	return nil
}

// correct turns the pose of a body into the correction of the anchor above the path
// to it. The body's own uncertainty below the anchor counts from the key on, so the
// whole covariance goes to the correction.
func (k *keyChange) correct(anchorFromBody *Path, st *state) *Failure {
	o, _, fail := anchorFromBody.at(st, k.t)
	if fail.Code != OK {
		return &fail
	}
	inv := o.Inverse()
	k.c.mul(&inv)
	k.c.check() // rounding
	if k.cov != nil {
		cov := k.cov.Transported(o)
		k.cov = &cov
	}
	return nil
}

func byTime(a, b keyChange) int { return cmp.Compare(a.t, b.t) }

// fix gives a fixed edge another value during a span. At times in it the child may
// hang on another frame, or on this one by an edge of another kind; that stays.
func (d *draft) fix(op *txOp) error {
	parent, child, err := d.framesOf(op)
	if err != nil {
		return err
	}
	e, err := d.edgeOf(op, parent, child, KindFixed, "only a fixed edge has a calibration")
	if err != nil {
		return err
	}
	next := e.clone()
	next.fixed = fixedValue{op.fix.pose, op.fix.cov}
	f := d.c.frames.at(child)
	for i, per := range f.periods {
		part, held := op.fix.valid, f.span(i)
		part.Start, part.End = max(part.Start, held.Start), min(part.End, held.End)
		if per.calibrated() && per.edge.parent == parent && !part.Empty() {
			d.set(child, d.c.frames.at(child).with(part, next))
		}
	}
	return nil
}
