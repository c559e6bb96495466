package pose

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// modelOp is one call on a transaction: a key, or with a body the key that puts that
// where the pose says, or the removal of the keys in a span, or a calibration.
type modelOp struct {
	edge    naiveEdge
	body    string
	key     naiveKey
	removes bool
	fixes   bool
	iv      engram.Interval
}

// transaction does several things at once.
func (w *world) transaction() {
	tx := w.s.Begin("slam")
	var ops []modelOp
	for range w.r.IntN(5) {
		op := modelOp{edge: modelAnchors[w.r.IntN(len(modelAnchors))], iv: w.span()}
		op.key = naiveKey{w.time(), randomPose(w.r), w.cov()}
		k := op.key
		switch w.r.IntN(5) {
		case 0:
			op.removes = true
			w.did("remove keys of %v in %v", op.edge, op.iv)
			tx.Replace(op.edge.parent, op.edge.child, op.iv)
		case 1:
			op.fixes, op.edge = true, [3]naiveEdge{{"base", "cam"}, {"cup", "handle"}, {"cam", "lens"}}[w.r.IntN(3)]
			if !slices.ContainsFunc(w.n.now().above[op.edge.child], func(p naivePeriod) bool { return p.parent == op.edge.parent && p.kind == KindFixed }) {
				continue
			}
			w.did("calibrate %v in [%d %d): x = %.3g", op.edge, op.iv.Start, op.iv.End, k.c.T.X)
			tx.Fix(op.edge.parent, op.edge.child, op.iv, k.c, k.cov)
		case 2:
			w.did("key of %v at %d: x = %.3g", op.edge, k.t, k.c.T.X)
			tx.Key(op.edge.parent, op.edge.child, k.t, k.c, k.cov)
		default:
			op.body = w.oneOf("base", "base", "cam", "lens", "claw", "cup", "odom", "wheels")
			for range 1 + w.r.IntN(4) { // a trajectory
				k = naiveKey{w.bodyTime(op.edge.parent, op.body), randomPose(w.r), w.cov()}
				w.did("localize %s in %s at %d: x = %.3g", op.body, op.edge.parent, k.t, k.c.T.X)
				tx.Localize(op.edge.parent, op.body, k.t, k.c, k.cov)
				op.key = k
				ops = append(ops, op)
			}
			continue
		}
		ops = append(ops, op)
	}
	_, err := tx.Commit()
	guilty := w.n.commit(ops)
	switch {
	case err == nil && !guilty[OK]:
		w.fail("committed; the naive store says %v", guilty)
	case err != nil && slices.ContainsFunc([]FailureCode{TooOld, TooNew, Gap, Unset, Pruned, NotConnected}, func(c FailureCode) bool {
		return guilty[c] && c.Code() == engram.CodeOf(err)
	}):
		if guilty[OK] {
			w.n.states = w.n.states[:w.n.rev()] // it may be, and is not
			clear(w.n.sorted)
		}
	case err != nil:
		w.fail("%v; the naive store says %v", err, guilty)
	}
}

// bodyTime returns a time, mostly one at which a body can be localized.
func (w *world) bodyTime(parent, body string) (t engram.Time) {
	for range 8 {
		t = w.time()
		if anchor, ok := w.n.anchorAbove(parent, body, t); ok && len(w.n.lookup(w.n.rev(), anchor, body, t).guilty) == 0 {
			break
		}
	}
	return t
}

// anchorAbove returns the child of the anchor below parent on the way to a body at t.
func (n *naive) anchorAbove(parent, body string, t engram.Time) (anchor string, ok bool) {
	for at := body; ; {
		p, _ := n.now().at(at, t)
		if p.parent == "" || p.kind == KindAnchor && p.parent == parent {
			return at, p.parent != ""
		}
		at = p.parent
	}
}

// commit makes a transaction current, and says OK, or why not; beside OK it may say
// Pruned.
func (n *naive) commit(ops []modelOp) map[FailureCode]bool {
	n.revise()
	st, guilty := n.now(), map[FailureCode]bool{}
	before := n.states[n.rev()-1].keys
	for i := range ops {
		if op := &ops[i]; op.fixes {
			st.fix(op.edge, op.iv, &naiveFixed{op.key.c, op.key.cov})
		}
	}
	// The corrections depend on each other; after as many rounds as there are anchors
	// one above the other they stand.
	for range 4 {
		keys := map[naiveEdge][]naiveKey{}
		for e, list := range before {
			for _, k := range list {
				if !slices.ContainsFunc(ops, func(op modelOp) bool { return op.removes && op.edge == e && op.iv.Contains(k.t) }) {
					keys[e] = append(keys[e], k)
				}
			}
		}
		clear(guilty)
		for i := range ops {
			op := &ops[i]
			if op.fixes || op.removes {
				continue
			}
			e, k := op.edge, op.key
			if op.body != "" {
				anchor, ok := n.anchorAbove(op.edge.parent, op.body, k.t)
				if !ok {
					guilty[Unset] = true // NotFound
				}
				o := n.lookup(n.rev(), anchor, op.body, k.t)
				for code := range o.guilty {
					guilty[code] = true
				}
				e.child, k.c, k.cov = anchor, k.c.Mul(o.p.Inverse()), k.cov.Transported(o.p)
			}
			list := slices.DeleteFunc(slices.Clone(keys[e]), func(old naiveKey) bool { return old.t == k.t })
			list = append(list, k)
			slices.SortFunc(list, func(a, b naiveKey) int { return int(a.t - b.t) })
			keys[e] = list
		}
		st.keys = keys
	}
	for code := range guilty {
		if code != Pruned {
			n.states = n.states[:n.rev()]
			clear(n.sorted)
			return guilty
		}
	}
	guilty[OK] = true
	return guilty
}
