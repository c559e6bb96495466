package wm_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// model is the slow and obvious working memory that the real one is compared with.
// It keeps everything ever stored in one list and marks what is evicted.
type model struct {
	history engram.Bounds // of each entity
	bounds  engram.Bounds // of the memory
	stored  []*modelVersion
	clock   int // orders the moments at which versions ceased to be newest
	newest  engram.Time
	second  engram.Time     // the second highest ever
	gone    map[string]bool // entities that were evicted as a whole at some time
}

type modelVersion struct {
	entity  string
	snap    engram.Snapshot
	size    int64
	evicted bool
	ceased  int // when it was no longer its entity's newest state; 0 if it still is
}

// commit stores updates that are written as one batch; number and arrival are those
// that the memory gave.
func (m *model) commit(batch []*modelVersion) {
	for _, v := range batch {
		switch {
		case len(m.stored) == 0:
			m.newest, m.second = v.snap.Time, engram.MinTime
		case v.snap.Time >= m.newest:
			m.newest, m.second = v.snap.Time, m.newest
		default:
			m.second = max(m.second, v.snap.Time)
		}
		old := m.current(v.entity)
		m.stored = append(m.stored, v)
		m.clock++
		if old != nil && old.snap.Time > v.snap.Time {
			v.ceased = m.clock
		} else if old != nil {
			old.ceased = m.clock
		}
	}
	for _, v := range batch {
		m.boundEntity(v.entity)
		m.boundMemory()
	}
}

func (m *model) retained(entity string) []*modelVersion {
	var out []*modelVersion
	for _, v := range m.stored {
		if !v.evicted && (entity == "" || v.entity == entity) {
			out = append(out, v)
		}
	}
	return out
}

// current returns the entity's newest state.
func (m *model) current(entity string) *modelVersion {
	var best *modelVersion
	for _, v := range m.retained(entity) {
		if best == nil || v.snap.Time >= best.snap.Time {
			best = v
		}
	}
	return best
}

func beyond(b engram.Bounds, held []*modelVersion) bool {
	bytes := int64(0)
	for _, v := range held {
		bytes += v.size
	}
	return b.MaxCount > 0 && len(held) > b.MaxCount || b.MaxBytes > 0 && bytes > b.MaxBytes
}

// reference is from where ages are measured back: one time alone ends no other's.
func reference(newest, second engram.Time, age time.Duration) engram.Time {
	if newest.Sub(second) > age {
		return second
	}
	return newest
}

// beyondAll is beyond for a memory, whose bytes are what all that it holds costs.
func beyondAll(b engram.Bounds, held []*modelVersion) bool {
	cost := wm.ProviderCost(modelID("a"))
	entities := map[string]bool{}
	for _, v := range held {
		if cost += wm.VersionCost(int(v.size), 1); !entities[v.entity] {
			entities[v.entity] = true
			cost += wm.EntityCost(modelID(v.entity))
		}
	}
	return b.MaxCount > 0 && len(held) > b.MaxCount || b.MaxBytes > 0 && cost > b.MaxBytes
}

func (m *model) boundEntity(entity string) {
	for {
		held := m.retained(entity)
		newest := m.current(entity)
		if newest == nil {
			return
		}
		slices.SortFunc(held, func(a, b *modelVersion) int {
			return cmp.Or(cmp.Compare(a.snap.Time, b.snap.Time), cmp.Compare(a.snap.Number, b.snap.Number))
		})
		oldest := held[0]
		second := engram.MinTime
		for _, v := range held {
			if v.snap.Time < newest.snap.Time {
				second = max(second, v.snap.Time)
			}
		}
		aged := m.history.MaxAge > 0 && reference(newest.snap.Time, second, m.history.MaxAge).Sub(oldest.snap.Time) > m.history.MaxAge
		if oldest == newest || !beyond(m.history, held) && !aged {
			return
		}
		oldest.evicted = true
	}
}

func (m *model) boundMemory() {
	for _, v := range m.retained("") {
		if m.bounds.MaxAge > 0 && v.ceased > 0 && reference(m.newest, m.second, m.bounds.MaxAge).Sub(v.snap.Time) > m.bounds.MaxAge {
			v.evicted = true
		}
	}
	for {
		held := m.retained("")
		if !beyondAll(m.bounds, held) || len(held) == 1 {
			return
		}
		victim := slices.MinFunc(held, func(a, b *modelVersion) int {
			if (a.ceased == 0) != (b.ceased == 0) {
				return cmp.Compare(b.ceased, a.ceased) // what ceased comes first
			}
			return cmp.Or(cmp.Compare(a.ceased, b.ceased), cmp.Compare(a.snap.Number, b.snap.Number))
		})
		victim.evicted = true
		if m.current(victim.entity) == nil {
			m.gone[victim.entity] = true
		}
	}
}

// view returns the snapshots of an entity in order of time as they were known at
// asOf; everything ever stored if all is set.
func (m *model) view(entity string, asOf engram.Time, all bool, keep func(*engram.Snapshot) bool) []*engram.Snapshot {
	best := map[engram.Time]*engram.Snapshot{}
	for _, v := range m.stored {
		if v.entity == entity && (all || !v.evicted) && v.snap.Arrived <= asOf {
			if b := best[v.snap.Time]; b == nil || b.Number < v.snap.Number {
				best[v.snap.Time] = &v.snap
			}
		}
	}
	var out []*engram.Snapshot
	for _, s := range best {
		if keep(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *engram.Snapshot) int { return cmp.Compare(a.Time, b.Time) })
	return out
}

// selectFrom returns the numbers of what the selectors select from a timeline.
func selectFrom(line []*engram.Snapshot, selectors []engram.SnapshotSelector) []uint64 {
	chosen := map[int]bool{}
	for _, s := range selectors {
		best := -1
		for i, snap := range line {
			d := max(snap.Time.Sub(s.Time), s.Time.Sub(snap.Time))
			in := false
			switch s.Kind {
			case engram.KindAll:
				in = true
			case engram.KindLatest:
				in = i >= len(line)-s.N
			case engram.KindAt:
				in = snap.Time == s.Time
			case engram.KindAtOrBefore:
				if snap.Time <= s.Time {
					best = i
				}
			case engram.KindNearest:
				if d <= s.Within && (best < 0 || d < max(line[best].Time.Sub(s.Time), s.Time.Sub(line[best].Time))) {
					best = i
				}
			case engram.KindRange:
				in = s.Interval.Contains(snap.Time)
			case engram.KindIndexRange:
				first, last := s.First, s.Last
				if first < 0 {
					first += len(line)
				}
				if last < 0 {
					last += len(line)
				}
				in = first <= i && i <= last
			}
			if in {
				chosen[i] = true
			}
		}
		if best >= 0 {
			chosen[best] = true
		}
	}
	var out []uint64
	for i, snap := range line {
		if chosen[i] {
			out = append(out, snap.Number)
		}
	}
	return out
}

// updatesBetween counts the updates of matching entities with numbers in (after, before).
func (m *model) updatesBetween(after, before uint64, match func(entity string) bool) uint64 {
	n := uint64(0)
	for _, v := range m.stored {
		if v.snap.Number > after && v.snap.Number < before && match(v.entity) {
			n++
		}
	}
	return n
}

// within is a shorthand for small spans of test time.
func within(n int) time.Duration { return time.Duration(n) }
