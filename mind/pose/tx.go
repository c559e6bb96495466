package pose

import (
	"github.com/seed-301d4374/engram"
)

// Tx is a transaction: corrections and calibrations that become valid together,
// under one revision, or not at all. It collects; nothing is checked or seen before
// Commit. A Tx is for one goroutine.
//
// The order of the calls does not matter, but for two that say the same thing twice:
// of two keys of one anchor at one time, however they are given, and of two
// calibrations of one edge where their intervals overlap, the later call counts.
type Tx struct {
	s      *Store
	author string
	ops    []txOp
	keys   int
	done   bool
}

// txOp is one change; exactly one of its forms.
type txOp struct {
	parent, child string
	anchor        bool             // an anchor edge, if there is none; or
	keys          []keyChange      // of an anchor; or
	replace       *engram.Interval // of an anchor; or
	fix           *fixChange       // of a fixed edge
	localize      bool             // child is a frame below an anchor, and keys are its poses
}

type fixChange struct {
	valid engram.Interval
	pose  Pose
	cov   Cov
}

// Begin starts a transaction. The author is kept with the revision.
func (s *Store) Begin(author string) *Tx { return &Tx{s: s, author: author} }

// Anchor adds a KindAnchor edge, if there is none, as [Store.Anchor] does.
func (tx *Tx) Anchor(parent, child string) {
	tx.ops = append(tx.ops, txOp{parent: parent, child: child, anchor: true})
}

// Key sets an anchor's correction at the time t: child, the odometry frame, has the
// pose c in parent, the world frame, with the covariance cov.
func (tx *Tx) Key(parent, child string, t engram.Time, c Pose, cov Cov) {
	tx.key(parent, child, false, keyChange{t, c, known(&cov)})
}

// Localize sets the same by its consequence: at t the frame body, which hangs below
// the anchor's child, has the pose p in the world frame parent, with the covariance
// cov in the axes of body. The anchor is the one below parent on the way to body at
// t. The correction is p·O⁻¹, O the pose of body in the anchor's child at t as the
// whole transaction leaves it: with its calibrations, and with its corrections of
// other anchors on that way. O must be known at the commit, also where a later Key
// overrules this one.
func (tx *Tx) Localize(parent, body string, t engram.Time, p Pose, cov Cov) {
	tx.key(parent, body, true, keyChange{t, p, known(&cov)})
}

// known returns a copy of a covariance, or nil for an unknown one, which most are.
func known(c *Cov) *Cov {
	if c.Mask == 0 {
		return nil
	}
	own := *c
	return &own
}

func (tx *Tx) key(parent, child string, localize bool, k keyChange) {
	tx.keys++
	if n := len(tx.ops); n > 0 {
		if op := &tx.ops[n-1]; op.keys != nil && op.localize == localize && op.parent == parent && op.child == child {
			op.keys = append(op.keys, k)
			return
		}
	}
	tx.ops = append(tx.ops, txOp{parent: parent, child: child, localize: localize, keys: []keyChange{k}})
}

// Replace removes the anchor's present keys in the span iv; those that the
// transaction sets, before or after this call, stay.
func (tx *Tx) Replace(parent, child string, iv engram.Interval) {
	tx.ops = append(tx.ops, txOp{parent: parent, child: child, replace: &iv})
}

// Fix sets the calibration of a fixed edge during valid: child has the pose p in
// parent, with the covariance cov. Before and after, it is what it was.
func (tx *Tx) Fix(parent, child string, valid engram.Interval, p Pose, cov Cov) {
	tx.keys++
	tx.ops = append(tx.ops, txOp{parent: parent, child: child, fix: &fixChange{valid, p, cov}})
}

// Commit makes the changes current under the next revision, which it returns.
// Readers see all of them or none. If one is refused nothing changes: NotFound for
// an edge that does not exist or an O that is not known, Conflict for an edge of
// another kind, an anchor that cannot be, or anchors each localized through the other, Invalid for a pose, covariance or time
// that cannot be, Exhausted beyond Config.MaxChanges. A transaction commits once.
func (tx *Tx) Commit() (rev Revision, err error) {
	err = tx.draft(func(d *draft, _ []Correction) {
		tx.done = true
		rev = d.publishLocked(true, tx.author)
	})
	return rev, err
}

// Correction is a key of an anchor: at Time, Child has the pose Pose in Parent.
type Correction struct {
	Parent, Child string
	Time          engram.Time
	Pose          Pose
	Cov           Cov
}

// Check returns the error that Commit would return now, and the corrections that
// each [Tx.Localize] comes to, in the order of the calls. Nothing changes.
func (tx *Tx) Check() (localized []Correction, err error) {
	err = tx.draft(func(_ *draft, found []Correction) { localized = found })
	return localized, err
}

// draft makes the changes in a draft, which use may publish.
func (tx *Tx) draft(use func(d *draft, localized []Correction)) error {
	if tx.done {
		return engram.Errorf(engram.Conflict, "transaction", "it was committed already; begin another")
	}
	if tx.keys > tx.s.cfg.MaxChanges {
		return engram.Errorf(engram.Exhausted, "transaction", "%d changes; Config.MaxChanges allows %d", tx.keys, tx.s.cfg.MaxChanges)
	}
	if err := tx.checkOps(); err != nil {
		return err
	}
	s := tx.s
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.draftLocked()
	localized, err := tx.apply(d)
	if err != nil {
		d.drop()
		return err
	}
	use(d, localized)
	return nil
}

// checkOps checks the values, which needs no lock.
func (tx *Tx) checkOps() error {
	for i := range tx.ops {
		op := &tx.ops[i]
		thing := edgeName(op.parent, op.child)
		for j := range op.keys {
			k := &op.keys[j]
			if err := k.check(thing); err != nil {
				return err
			}
		}
		if op.replace != nil && op.replace.Empty() || op.fix != nil && op.fix.valid.Empty() {
			return engram.Errorf(engram.Invalid, thing, "the interval of a change is empty")
		}
		if op.fix != nil {
			v, err := checkedValue(thing, op.fix.pose, op.fix.cov)
			if err != nil {
				return err
			}
			op.fix.pose, op.fix.cov = v.pose, v.cov
		}
	}
	return nil
}

// check checks and normalises a key.
func (k *keyChange) check(thing string) error {
	if !k.c.check() {
		err := k.c.refusal()
		err.Thing = thing
		return err
	}
	if k.t == engram.MaxTime {
		return endOfTime(engram.Invalid, thing)
	}
	if k.cov == nil {
		return nil
	}
	cov, err := k.cov.Checked()
	if err != nil {
		return engram.Errorf(engram.Invalid, thing, "the key at %v: %w", k.t, err)
	}
	*k.cov = cov
	return nil
}
