package ingest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// Eviction tells that a core segment dropped, to stay within its bounds, snapshots
// that the import had just stored.
type Eviction struct {
	Segment engram.ID
	Evicted uint64
	History engram.Bounds // of each entity; zero if only the memory as a whole has bounds
}

// tally counts what one topic stored in one entity.
type tally struct {
	topic       *TopicReport
	entity      engram.ID
	stored      uint64
	first, last engram.Time
}

type tallyKey struct {
	topic  *TopicReport
	entity engram.ID
}

// maxTallies bounds the entities that are watched for evictions; what goes to
// others counts as kept.
const maxTallies = 1 << 17

// keeping finds out how much of what was stored the memory still holds.
type keeping struct {
	ctx     context.Context
	stats   engram.Statistician // nil: it cannot be told
	tallies map[tallyKey]*tally
	before  map[engram.ID]map[engram.ID]engram.Stats // entities by provider segment
}

func newKeeping(ctx context.Context, dst any) *keeping {
	k := &keeping{ctx: ctx, tallies: map[tallyKey]*tally{}, before: map[engram.ID]map[engram.ID]engram.Stats{}}
	k.stats, _ = dst.(engram.Statistician)
	return k
}

// of returns the tally of a topic's entity; it must be asked for before the first
// update goes there.
func (k *keeping) of(t *TopicReport, entity engram.ID) *tally {
	key := tallyKey{t, entity}
	if a, ok := k.tallies[key]; ok {
		return a
	}
	a := &tally{topic: t, entity: entity, first: engram.MaxTime, last: engram.MinTime}
	if k.stats == nil || len(k.tallies) >= maxTallies {
		return a
	}
	provider := entity.Parent()
	if _, ok := k.before[provider]; !ok {
		k.before[provider], _ = k.entities(k.ctx, provider) // nil: nothing is told of it
	}
	k.tallies[key] = a
	return a
}

// entities returns what the entities of a provider segment hold.
func (k *keeping) entities(ctx context.Context, provider engram.ID) (map[engram.ID]engram.Stats, error) {
	stats, err := k.stats.Stats(ctx, engram.PatternOf(provider), engram.LevelEntity)
	if err != nil {
		return nil, err
	}
	entities := map[engram.ID]engram.Stats{}
	for _, s := range stats {
		if s.ID.Level() == engram.LevelEntity {
			entities[s.ID] = s
		}
	}
	return entities, nil
}

// finishTime is how long the figures may take after an interrupt.
const finishTime = 2 * time.Second

// finish counts in the topics' reports what is gone already, and returns it by
// segment. It works after an interrupt too.
func (k *keeping) finish(dst engram.Segments) (evictions []Eviction, displaced uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), finishTime)
	defer cancel()
	byEntity := map[engram.ID][]*tally{}
	for key, a := range k.tallies {
		if a.stored > 0 && k.before[key.entity.Parent()] != nil {
			byEntity[key.entity] = append(byEntity[key.entity], a)
		}
	}
	after := map[engram.ID]map[engram.ID]engram.Stats{}
	gone := map[engram.ID]uint64{}
	for entity, tallies := range byEntity {
		provider := entity.Parent()
		now, ok := after[provider]
		if !ok {
			now, _ = k.entities(ctx, provider)
			after[provider] = now
		}
		if now == nil {
			continue
		}
		slices.SortFunc(tallies, func(a, b *tally) int {
			return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.topic.Topic, b.topic.Topic), strings.Compare(a.topic.Type, b.topic.Type))
		})
		ours := tally{first: engram.MaxTime, last: engram.MinTime}
		for _, a := range tallies {
			ours.stored += a.stored
			ours.first, ours.last = min(ours.first, a.first), max(ours.last, a.last)
		}
		was, is := k.before[provider][entity], now[entity]
		evicted, others := evictedOf(&ours, was, is)
		displaced += others
		gone[provider.Parent()] += evicted
		superseded := is.Superseded - min(is.Superseded, was.Superseded)
		for _, a := range tallies {
			n := min(evicted, a.stored)
			a.topic.Evicted += n
			evicted -= n
			n = min(superseded, a.stored)
			a.topic.Superseded += n
			superseded -= n
		}
	}
	for segment, n := range gone {
		if n == 0 {
			continue
		}
		e := Eviction{Segment: segment, Evicted: n}
		if ds, err := dst.Describe(ctx, engram.PatternOf(segment)); err == nil {
			for _, d := range ds {
				if d.ID == segment {
					e.History = d.History
				}
			}
		}
		evictions = append(evictions, e)
	}
	slices.SortFunc(evictions, func(a, b Eviction) int { return a.Segment.Compare(b.Segment) })
	return evictions, displaced
}

// evictedOf divides what an entity dropped during an import into the import's own
// snapshots and those that it held before. The oldest go first; where both were of
// the same time span, they are taken to have gone in proportion.
func evictedOf(ours *tally, was, is engram.Stats) (own, others uint64) {
	before, after := was.Snapshots+was.Superseded, is.Snapshots+is.Superseded
	total := before + ours.stored
	total -= min(total, after)
	least := total - min(total, before) // more cannot have been of the others
	switch {
	case total == 0 || before == 0:
		own = total
	case after == 0 || ours.last < was.First:
		own = min(total, ours.stored)
	case ours.first > was.Last || ours.first >= is.First:
		own = least
	default:
		own = max(1, least, total*ours.stored/(before+ours.stored))
	}
	own = min(own, ours.stored)
	return own, total - own
}
