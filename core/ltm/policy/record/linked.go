package record

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// maxHeld bounds the snapshots of one entity that wait for a link, and maxHeldBytes the
// payloads of those of all entities.
const (
	maxHeld      = 4096
	maxHeldBytes = 64 << 20
)

// orDefaults returns bounds with the defaults for those that are zero.
func orDefaults(l policy.Linking) policy.Linking {
	if l.Within == 0 {
		l.Within = 30 * time.Second
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 16 << 20
	}
	return l
}

// waiting are the snapshots of one entity that wait for a link, in the order of
// their arrival, bounded in time, bytes and number.
type waiting struct {
	bounds    policy.Linking
	snapshots []*engram.Snapshot
	bytes     int64
	all       *int64 // the bytes of all entities; nil if they are not counted
}

// count counts bytes that wait, or with less than 0 that wait no more.
func (w *waiting) count(n int64) {
	w.bytes += n
	if w.all != nil {
		*w.all += n
	}
}

// giveUp holds nothing any more.
func (w *waiting) giveUp() {
	w.count(-w.bytes)
	w.snapshots = nil
}

// add holds s and returns how many others had to be given up for it.
func (w *waiting) add(s *engram.Snapshot) (gaveUp uint64) {
	gaveUp = w.expire(s.Arrived)
	w.snapshots = append(w.snapshots, s)
	w.count(int64(s.Size()))
	// The newest is held however large it is.
	for len(w.snapshots) > 1 && (w.bytes > w.bounds.MaxBytes || len(w.snapshots) > maxHeld || w.all != nil && *w.all > maxHeldBytes) {
		w.drop(0)
		gaveUp++
	}
	return gaveUp
}

func (w *waiting) expire(now engram.Time) (gaveUp uint64) {
	for len(w.snapshots) > 0 && w.snapshots[0].Arrived < now.Add(-w.bounds.Within) {
		w.drop(0)
		gaveUp++
	}
	return gaveUp
}

func (w *waiting) drop(i int) {
	w.count(-int64(w.snapshots[i].Size()))
	if i == 0 { // the usual case, without moving the rest
		w.snapshots[0] = nil
		w.snapshots = w.snapshots[1:]
		return
	}
	w.snapshots = append(w.snapshots[:i], w.snapshots[i+1:]...)
}

// take removes and returns the version that a link means, the newest one of its
// time.
func (w *waiting) take(at engram.Time, exact bool) *engram.Snapshot {
	best := -1
	for i, s := range w.snapshots {
		if s.Time == at || !exact && s.Time < at {
			if best < 0 || s.Time >= w.snapshots[best].Time {
				best = i
			}
		}
	}
	if best < 0 {
		return nil
	}
	s := w.snapshots[best]
	w.drop(best)
	return s
}
