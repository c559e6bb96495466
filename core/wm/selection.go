package wm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// An entity is read again when something of what stood at the reader's high-water mark was
// evicted under it, and so it may have found something else. This bounds how often:
// an attempt costs one, and one more for each so many snapshots it found.
const (
	maxAttempts         = 64
	maxFilteredAttempts = 2 // with a filter each takes long
	foundPerAttempt     = 64
)

// read selects from e what selectors say, at most limit snapshots and one more of
// each, into sel; r is for its use. missing is nil if nothing of it was lost.
func (w *WM) read(l lens, e *entity, selectors []engram.SnapshotSelector, limit int, sel *query.Selection, r *reading) (missing *engram.Missing, err error) {
	attempts := maxAttempts
	if l.filter != nil || sel.Filter != nil {
		attempts = maxFilteredAttempts
	}
	lost := e.lost.load()
	for first := true; ; first = false {
		*r = l.read(e)
		sel.Reset()
		for i := range selectors {
			query.Select[place](sel, r, selectors[i], limit)
		}
		if r.stop == nil {
			r.stop = sel.Filter.Err()
		}
		if r.stop != nil {
			return nil, r.stop
		}
		evictions := e.lost.evictions.Load()
		evicted := evictions != lost.evictions
		missed := evicted && (r.newer || r.torn)
		if first { // the high-water mark is older than lost, so that tells less
			missed = missed || r.newer && evictions > 0
		}
		shifted := r.skipped && (e.lastNumber.Load() > r.highWater || evicted)
		attempts -= 1 + len(sel.Snapshots)/foundPerAttempt
		if attempts <= 0 || !missed && !shifted {
			break
		}
		lost = e.lost.load()
		l.highWater = w.number.Load() // after lost: what was evicted since then is noticed
	}
	if len(selectors) > 1 {
		sel.Unite()
	}
	if r.torn { // also by what was evicted while it read
		lost = e.lost.load()
	}
	return e.missing(lost, r, sel), nil
}
