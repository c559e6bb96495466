package service

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// Apply makes a transaction current in a store and returns its revision. Anchors
// that it writes the first key of are added. The errors are those of
// [pose.Tx.Commit], and Conflict where an anchor cannot be.
func Apply(s *pose.Store, tx Transaction) (pose.Revision, error) {
	if len(tx.Keys)+len(tx.Replaced)+len(tx.Calibrations) == 0 {
		return 0, engram.Errorf(engram.Invalid, "transaction", "it changes nothing; give keys, replaced spans or calibrations")
	}
	// Values before structure, so that what cannot be leaves no anchor behind.
	for i := range tx.Keys {
		k := &tx.Keys[i]
		if _, err := k.Pose.Checked(); err != nil {
			return 0, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the key at %v: %w", k.Time, err)
		}
		if _, err := k.Cov.Checked(); err != nil {
			return 0, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the key at %v: %w", k.Time, err)
		}
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
			if err := s.Anchor(k.Parent, k.Child); err != nil {
				return 0, err
			}
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
	return t.Commit()
}
