package lookup

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Apply makes a transaction current in a store and returns its revision. Anchors
// that it writes the first key of are added. The errors are those of
// [pose.Tx.Commit]; nothing changes then.
func Apply(s *pose.Store, tx Transaction) (pose.Revision, error) {
	t, err := begin(s, &tx)
	if err != nil {
		return 0, err
	}
	return t.Commit()
}

// Check returns the error that [Apply] would return now, and a transaction that
// says the same without bodies: where odometry is forgotten later, it can still be
// applied. It has the keys of tx at the same indices. Nothing changes.
func Check(s *pose.Store, tx Transaction) (Transaction, error) {
	t, err := begin(s, &tx)
	if err != nil {
		return Transaction{}, err
	}
	found, err := t.Check()
	if err != nil {
		return Transaction{}, err
	}
	keys := make([]Key, len(tx.Keys))
	for i, k := range tx.Keys {
		if k.Body {
			c := found[0]
			found = found[1:]
			k = Key{Parent: c.Parent, Child: c.Child, Time: c.Time, Pose: c.Pose, Cov: c.Cov}
		}
		keys[i] = k
	}
	tx.Keys = keys
	return tx, nil
}

// begin begins a transaction of the store that says what tx says.
func begin(s *pose.Store, tx *Transaction) (*pose.Tx, error) {
	if len(tx.Keys)+len(tx.Replaced)+len(tx.Calibrations) == 0 {
		return nil, engram.Errorf(engram.Invalid, "transaction", "it changes nothing; give keys, replaced spans or calibrations")
	}
	t := s.Begin(tx.Author)
	last := [2]string{}
	for i := range tx.Keys {
		k := &tx.Keys[i]
		if k.Body {
			t.Localize(k.Parent, k.Child, k.Time, k.Pose, k.Cov)
			continue
		}
		if edge := [2]string{k.Parent, k.Child}; edge != last {
			t.Anchor(k.Parent, k.Child)
			last = edge
		}
		t.Key(k.Parent, k.Child, k.Time, k.Pose, k.Cov)
	}
	for _, r := range tx.Replaced {
		t.Replace(r.Parent, r.Child, r.Interval)
	}
	for i := range tx.Calibrations {
		c := &tx.Calibrations[i]
		t.Fix(c.Parent, c.Child, c.Valid, c.Pose, c.Cov)
	}
	return t, nil
}
