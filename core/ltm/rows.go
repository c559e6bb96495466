package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// rowsAtOnce is how many rows are read before they are given on.
const rowsAtOnce = 4096

// timedRow is the row of numbers of a slot.
type timedRow struct {
	time engram.Time
	row  []float64
}

// rows calls take with the numbers of each slot with a time from first to last, in order.
func (v *view) rows(first, last engram.Time, of *idf.NumberRows, take func(t engram.Time, row []float64) error) error {
	var some []timedRow
	var own []float64 // for rows of the working memory
	for place := first; place <= last; {
		begin, damage, forgotten := place, v.damage, v.forgotten
		some, own = some[:0], own[:0]
		v.forward.seek(v, ascending, place)
		for len(some) < rowsAtOnce {
			found, ok := v.forward.step(v, last)
			if !ok {
				place = last + 1
				break
			}
			place = found.time + 1
			v.forward.at = place
			var row []float64
			var err error
			switch {
			case found.cur != nil:
				row, err = found.cur.row(v, found.pos, last, of)
			case found.snap != nil:
				if own == nil {
					own = make([]float64, 0, rowsAtOnce*of.Len())
				}
				at := len(own)
				own = own[:at+of.Len()]
				row = own[at:]
				err = of.Read(found.snap, row)
			}
			if err != nil {
				return err
			}
			if row != nil {
				some = append(some, timedRow{found.time, row})
			}
		}
		if v.err != nil {
			return v.err
		}
		if v.torn() {
			place, v.damage, v.forgotten = begin, damage, forgotten
			continue
		}
		for _, r := range some {
			if err := take(r.time, r.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// torn reports whether something may have been evicted under the reader. If so it is on disk, and the view begins anew with
// that.
func (v *view) torn() bool {
	if v.wm == nil || v.floor == engram.MaxTime || !v.wm.Torn() {
		return false
	}
	v.floor = engram.MaxTime
	v.forward.live, v.backward.live = false, false
	return true
}
