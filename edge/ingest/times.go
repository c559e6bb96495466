package ingest

import (
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
)

// takenTimes are the times that an import has given to snapshots of one entity. A
// message whose stamp is taken gets the next free nanosecond, so that none takes the
// place of another. The same recording always gets the same times.
type takenTimes struct {
	runs []engram.Interval // sorted, apart from each other
}

// maxTimeRuns bounds the runs of one entity, 16 bytes each: the earliest are given up.
const maxTimeRuns = 1 << 20

// take returns the first free time from at on, which is taken then.
func (t *takenTimes) take(at engram.Time) engram.Time {
	n := len(t.runs)
	i := n
	if n > 0 && at <= t.runs[n-1].End {
		i = sort.Search(n, func(i int) bool { return at <= t.runs[i].End })
	}
	switch {
	case i < n && t.runs[i].Start <= at: // within a run, or at its end
		at = t.runs[i].End
		t.runs[i].End = at.Add(1)
		if i+1 < n && t.runs[i+1].Start == t.runs[i].End {
			t.runs[i].End = t.runs[i+1].End
			t.runs = slices.Delete(t.runs, i+1, i+2)
		}
	case i < n && t.runs[i].Start == at.Add(1):
		t.runs[i].Start = at
	default:
		t.runs = slices.Insert(t.runs, i, engram.Interval{Start: at, End: at.Add(1)})
	}
	if len(t.runs) > maxTimeRuns {
		t.runs = slices.Clone(t.runs[maxTimeRuns/2:])
	}
	return at
}
