package source

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// leftOut counts what rules leave out of a share until it is told: with what travels,
// and on its own no more often than every leftOutPause, since a fast stream of which
// little travels would otherwise fill the link with counts.
type leftOut struct {
	list  []contract.LeftOut
	index map[leftOutKey]int // into list
	since time.Time          // of the first
}

type leftOutKey struct {
	entity engram.ID
	reason string
}

const leftOutPause = 250 * time.Millisecond

func (l *leftOut) add(id engram.ID, reason string, s *engram.Snapshot) {
	if len(l.list) == 0 {
		l.since = time.Now()
	}
	key := leftOutKey{id, reason}
	i, ok := l.index[key]
	if !ok {
		if l.index == nil {
			l.index = map[leftOutKey]int{}
		}
		i = len(l.list)
		l.index[key] = i
		l.list = append(l.list, contract.LeftOut{Entity: id, Reason: reason, Interval: moment(s.Time)})
	}
	x := &l.list[i]
	x.Count++
	x.Bytes += int64(s.Size())
	x.Interval.Start, x.Interval.End = min(x.Interval.Start, s.Time), max(x.Interval.End, s.Time+1)
}

// due reports whether it is to be told now, even if nothing else is.
func (l *leftOut) due(now time.Time) bool {
	return len(l.list) >= contract.BatchItems || len(l.list) > 0 && now.Sub(l.since) >= leftOutPause
}

// take appends all of it to a list, and begins anew.
func (l *leftOut) take(to []contract.LeftOut) []contract.LeftOut {
	to = append(to, l.list...)
	l.list = l.list[:0]
	clear(l.index)
	return to
}
