package query

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// askNumbers has the answer take numbers out of snapshots, if these are asked for.
func (a *Answer) askNumbers(n *engram.Numbers, types *idf.Registry) (err error) {
	switch {
	case n == nil:
		return nil
	case a.part == nil || n.Take == nil || n.Instance < 0 || !a.shape.Whole():
		return engram.Errorf(engram.Invalid, "", "numbers are taken out of whole payloads, without fields, in parts, of an instance from 0 on, by a function")
	}
	a.numbers, a.row = n, make([]float64, len(n.Paths))
	a.rows, err = idf.NewNumberRows(types, n.Paths, n.Instance, n.Met)
	return err
}

// Rows returns what reads the numbers that are asked for; nil where snapshots are. Who answers may give the rows of an entity
// to [Answer.Take] by the order of times, instead of adding snapshots.
func (a *Answer) Rows() *idf.NumberRows { return a.rows }

// Take gives a row of numbers on.
func (a *Answer) Take(t engram.Time, row []float64) error { return a.numbers.Take(t, row) }

// addNumbers gives the numbers of snapshots on.
func (a *Answer) addNumbers(snapshots []*engram.Snapshot) error {
	for i, s := range snapshots {
		if i%partNodes == 0 {
			if err := checkContext(a.ctx); err != nil {
				return err
			}
		}
		if err := a.rows.Read(s, a.row); err != nil {
			return err
		}
		if err := a.numbers.Take(s.Time, a.row); err != nil {
			return err
		}
	}
	return nil
}
