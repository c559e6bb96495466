package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Portion is what one episode holds of one entity: the least that forgetting
// drops at once.
type Portion struct {
	Episode   string
	Entity    engram.ID
	Span      engram.Interval // of its snapshots' times
	Arrived   engram.Interval
	Snapshots int   // without values in force at the episode's start
	Bytes     int64 // on disk
	Protected bool  // marked, pinned, linked from something kept, or often recalled
	Thinned   bool
}

// aheadOf is how far ahead of now something may be that is of the present: of a copy it has
// arrived by another clock, which may be hours off.
const aheadOf = 24 * time.Hour

// isAhead reports whether a portion is stamped, and arrived, in the future: the clock was
// wrong then.
func (p *Portion) isAhead(now engram.Time) bool { return p.newest() > now.Add(aheadOf) }

// newest returns the end of what a portion holds, as its age is measured: times ahead of
// the clock do not keep it longer than its arrival does.
func (p *Portion) newest() engram.Time {
	if p.Arrived.Empty() { // it is not known
		return p.Span.End
	}
	return min(p.Span.End, p.Arrived.End)
}

// Why a portion is dropped or thinned.
const (
	ForAge   = "age"   // older than keep.max_age
	ForBytes = "bytes" // the core segment has more than keep.max_bytes
	ForCount = "count" // the entity has keep.max_count in newer portions
	ForDisk  = "disk"  // the disk fills
	ForThin  = "thin"  // older than thin.after
)

// Drop says that a portion is to go, or to be thinned, and why.
type Drop struct {
	Portion int // its index
	Why     string
}

// Outlived reports whether what is of a time is older than MaxAge.
func (r Retention) Outlived(t, now engram.Time) bool { return r.MaxAge > 0 && t <= now.Add(-r.MaxAge) }

// Expired returns the portions that their segments' policies want dropped at a
// time, the oldest first. Protected portions stay, but count. Portions are dropped
// whole: by age when their newest snapshot is too old, by count when the newer
// portions have enough, by bytes until the bound is kept.
func Expired(now engram.Time, portions []Portion, of func(core engram.ID) Policy) []Drop {
	newest := newestFirst(now, portions)
	var drops []Drop
	counts := map[engram.ID]int{}
	bytes := map[engram.ID]int64{} // of this and all newer portions, by core segment
	for _, i := range newest {
		p := &portions[i]
		core := p.Entity.Truncate(engram.LevelCoreSegment)
		keep := of(core).Keep
		tooOld := keep.Outlived(p.newest(), now)
		if !tooOld {
			bytes[core] += p.Bytes
		}
		why := ""
		switch {
		case tooOld:
			why = ForAge
		case keep.MaxCount > 0 && counts[p.Entity] >= keep.MaxCount:
			why = ForCount
		case keep.MaxBytes > 0 && bytes[core] > keep.MaxBytes:
			why = ForBytes
		}
		if why != "" && !p.Protected {
			drops = append(drops, Drop{i, why})
			continue
		}
		counts[p.Entity] += p.Snapshots
	}
	slices.Reverse(drops)
	return drops
}

// Due returns the portions that are to be thinned at a time, the oldest first.
func Due(now engram.Time, portions []Portion, of func(core engram.ID) Policy) []Drop {
	var drops []Drop
	for _, i := range newestFirst(now, portions) {
		p := &portions[i]
		thin := of(p.Entity.Truncate(engram.LevelCoreSegment)).Thin
		if thin.After > 0 && !p.Thinned && !p.Protected && p.newest() <= now.Add(-thin.After) {
			drops = append(drops, Drop{i, ForThin})
		}
	}
	slices.Reverse(drops)
	return drops
}

// Victims returns what to drop so that at least need bytes become free: portions of
// the lowest priority first, of these the oldest. It returns fewer bytes if all
// that is left is protected.
func Victims(now engram.Time, need int64, portions []Portion, of func(core engram.ID) Policy) []Drop {
	order := newestFirst(now, portions)
	slices.Reverse(order)
	priority := make([]int, len(portions))
	for i := range portions {
		priority[i] = of(portions[i].Entity.Truncate(engram.LevelCoreSegment)).Priority
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priority[a], priority[b]) })
	var drops []Drop
	for _, i := range order {
		if need <= 0 {
			break
		}
		if portions[i].Protected {
			continue
		}
		drops = append(drops, Drop{i, ForDisk})
		need -= portions[i].Bytes
	}
	return drops
}

// newestFirst returns the portions' indices, those that end last first, but behind all
// others those of a clock that was ahead: they keep nothing of the present from its place.
func newestFirst(now engram.Time, portions []Portion) []int {
	order := make([]int, len(portions))
	for i := range order {
		order[i] = i
	}
	ahead := func(p *Portion) int {
		if p.isAhead(now) {
			return 1
		}
		return 0
	}
	slices.SortFunc(order, func(a, b int) int {
		p, q := &portions[a], &portions[b]
		return cmp.Or(cmp.Compare(ahead(p), ahead(q)), cmp.Compare(q.newest(), p.newest()), cmp.Compare(q.Span.Start, p.Span.Start),
			cmp.Compare(p.Episode, q.Episode), p.Entity.Compare(q.Entity), cmp.Compare(a, b))
	})
	return order
}
