package ltm

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
	"github.com/seed-301d4374/engram/core/wm"
)

// aheads finds what lies on the disk that is stamped beyond the present of its core segment,
// as the directories of the episodes tell it: of all that was recorded and is not forgotten,
// also if it is hidden because its segment was removed. Values in force, and what holds at
// all times, do not count. Of a core segment that the working memory has not, nobody knows
// the present; and what was noted of forgetting nobody can have forgotten, so that is not told.
type aheads struct {
	*env
	disk *disk
	mu   struct {
		sync.Mutex
		found looked
	}
}

// looked is what was found.
type looked struct {
	at      engram.Time
	version uint64
	reaches map[engram.ID]time.Duration // of the core segments then
	late    map[engram.ID]catalogue.Late
}

// aheadHolds is how long the same episodes are not looked into again, although the present
// may have come to what they have, and more may have been written.
const aheadHolds = time.Minute

// LookAhead looks for what is stamped beyond the present, for [Store.Ahead]. It costs next to
// nothing where no episode reaches so far. Where some do, it looks once a minute, and when
// others are there, at what they hold: some microseconds for each entity in each of them.
// That it cannot look is told as its health.
func (a *aheads) LookAhead(ctx context.Context) {
	now, reaches := a.reaches(ctx)
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	a.mu.Lock()
	was := &a.mu.found
	known := was.version == pinned.number && was.at <= now && now < was.at.Add(aheadHolds) && maps.Equal(was.reaches, reaches)
	a.mu.Unlock()
	if known {
		return
	}
	late, err := pinned.late(ctx, a.disk.catalogue, presents(reaches, now))
	if ctx.Err() != nil {
		return
	}
	a.health.set("what is stamped ahead of the clock", err)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if pinned.number >= a.mu.found.version { // else somebody has looked at newer ones
		a.mu.found = looked{now, pinned.number, reaches, late}
	}
}

// reaches returns how far the presents reach beyond the clock of what is told of.
func (a *aheads) reaches(ctx context.Context) (engram.Time, map[engram.ID]time.Duration) {
	now, reaches := a.wm.View(ctx, nil).Reaches()
	delete(reaches, ledgerSegment)
	return now, reaches
}

// presents returns the presents of core segments.
func presents(reaches map[engram.ID]time.Duration, now engram.Time) map[engram.ID]engram.Time {
	all := make(map[engram.ID]engram.Time, len(reaches))
	for segment, reach := range reaches {
		all[segment] = now.Add(reach)
	}
	return all
}

// beyond returns the episodes that recorded something after the first of the presents.
func (v *version) beyond(presents map[engram.ID]engram.Time) (sealed []string, writing []*handle) {
	lowest := engram.MaxTime
	for _, present := range presents {
		lowest = min(lowest, present)
	}
	for name, h := range v.sealed {
		if r := h.info.Recorded; !r.Empty() && r.End-1 > lowest {
			sealed = append(sealed, name)
		}
	}
	for _, h := range v.writing {
		if r := h.current().Recorded; !r.Empty() && r.End-1 > lowest {
			writing = append(writing, h)
		}
	}
	return sealed, writing
}

// late returns what the episodes of a pinned version have beyond the presents. What is being
// rewritten just now counts as it is, or as it will be: then the next version is looked at.
func (v *version) late(ctx context.Context, c *catalogue.Catalogue, presents map[engram.ID]engram.Time) (map[engram.ID]catalogue.Late, error) {
	sealed, writing := v.beyond(presents)
	last := map[engram.ID]engram.Time{} // of entities that are being written
	for _, h := range writing {
		for _, e := range h.entities() {
			present, ok := presents[e.ID.Truncate(engram.LevelCoreSegment)]
			if t := e.Recorded.End - 1; ok && !e.Recorded.Empty() && t > present {
				last[e.ID] = max(last[e.ID], t)
			}
		}
	}
	all := map[engram.ID]catalogue.Late{}
	if len(sealed) > 0 {
		var err error
		all, err = c.Late(ctx, sealed, presents, func(id engram.ID) bool { _, too := last[id]; return too })
		if err != nil {
			return nil, err
		}
	}
	for id, t := range last {
		segment := id.Truncate(engram.LevelCoreSegment)
		l := all[segment]
		l.Add(id, t)
		all[segment] = l
	}
	return all, nil
}

// Ahead adds to what the working memory has beyond the present, which is sorted, what
// [Store.LookAhead] found on the disk last, as far as episodes still reach so far. Most of
// what the working memory has was recorded, too: of a segment the greater number counts.
func (a *aheads) Ahead(ctx context.Context, known []wm.Ahead) []wm.Ahead {
	known = slices.DeleteFunc(known, func(k wm.Ahead) bool { return k.Segment == ledgerSegment })
	now, reaches := a.reaches(ctx)
	presents := presents(reaches, now)
	if sealed, writing := a.disk.episodes.current().beyond(presents); len(sealed)+len(writing) == 0 {
		return known
	}
	a.mu.Lock()
	late := a.mu.found.late
	a.mu.Unlock()
	for segment, l := range late {
		present, ok := presents[segment]
		if !ok || l.Last <= present {
			continue
		}
		i, there := slices.BinarySearchFunc(known, segment, func(k wm.Ahead, id engram.ID) int { return k.Segment.Compare(id) })
		if !there {
			known = slices.Insert(known, i, wm.Ahead{Segment: segment, Present: present, Last: l.Last})
		}
		k := &known[i]
		if k.Last = max(k.Last, l.Last); l.Entities > k.Entities {
			k.Entities, k.Example = l.Entities, l.Example
		}
	}
	return known
}
