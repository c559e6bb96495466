package source

import (
	"time"

	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// lookout estimates how far a share is behind.
type lookout struct {
	at      time.Time
	updates uint64
	bytes   int64
	buffer  []wm.Change
}

// lookEvery bounds how often it is counted what is still to come, as long as that is
// known to be something.
const lookEvery = 200 * time.Millisecond

// behind tells what is still to come, and that something is where it cannot be counted.
func (sh *share) behind() contract.Behind {
	b := contract.Behind{Now: sh.p.wm.Now()}
	l := &sh.lookout
	switch {
	case sh.past != nil || len(sh.epochs) > 0:
		if sh.past != nil {
			b.Updates, b.Bytes = sh.past.remaining()
		}
		b.Updates = max(b.Updates, 1) // there is what follows
	case len(sh.changes) == 0 && sh.at.Number == sh.p.wm.Number():
		l.clear()
	default:
		if now := time.Now(); l.updates == 0 || now.Sub(l.at) >= lookEvery {
			l.at = now
			l.look(sh)
		}
		b.Updates, b.Bytes = l.updates, l.bytes
		if sh.await.number > sh.at.Number { // what it waits for cannot be counted yet
			b.Updates = max(b.Updates, 1)
		}
	}
	if len(sh.gone.list) > 0 {
		b.Updates = max(b.Updates, 1)
	}
	return b
}

// look counts what matches of the last updates behind the position.
func (l *lookout) look(sh *share) {
	l.clear()
	if l.buffer == nil {
		l.buffer = make([]wm.Change, 0, chunkOfChanges)
	}
	for after := sh.at.Number; ; {
		list, upTo, _, ok := sh.p.wm.Feed().Changes(after, l.buffer[:0])
		if !ok {
			l.updates = max(l.updates, 1) // there are more than the memory remembers
		}
		if !ok || upTo == after {
			return
		}
		for i := range list {
			if c := &list[i]; sh.entityOf(c).matches {
				l.updates++
				if s, _ := c.Find(); s != nil {
					l.bytes += int64(s.Size())
				}
			}
		}
		after = upTo
	}
}

func (l *lookout) clear() { l.updates, l.bytes = 0, 0 }

// told takes off what was told since.
func (l *lookout) told(updates uint64, bytes int64) {
	l.updates -= min(l.updates, updates)
	l.bytes -= min(l.bytes, bytes)
}
