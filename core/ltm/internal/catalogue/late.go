package catalogue

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/seed-301d4374/engram"
)

// Late is what episodes hold of a core segment that was recorded after a time.
type Late struct {
	Entities int         // of which there is some
	Example  engram.ID   // the first of them by its name
	Last     engram.Time // the time of the last of it
}

// Add adds what there is of one more entity.
func (l *Late) Add(entity engram.ID, last engram.Time) {
	if l.Entities == 0 {
		l.Example, l.Last = entity, last
	}
	if entity.Compare(l.Example) < 0 {
		l.Example = entity
	}
	l.Entities++
	l.Last = max(l.Last, last)
}

// Late returns, for each core segment of after, what the episodes have recorded of it later than
// the time there. Entities for which besides is true are not counted. The cost is some
// microseconds for each entity in each episode.
func (c *Catalogue) Late(ctx context.Context, episodes []string, after map[engram.ID]engram.Time, besides func(engram.ID) bool) (found map[engram.ID]Late, err error) {
	lowest := engram.MaxTime
	for _, t := range after {
		lowest = min(lowest, t)
	}
	names, err := json.Marshal(episodes)
	if err != nil {
		return nil, err
	}
	err = c.readMoment(ctx, func(tx *sql.Tx) error {
		found = map[engram.ID]Late{}
		providers := map[int64]engram.ID{} // of these core segments
		rows, err := tx.QueryContext(ctx, "SELECT id, memory, core, provider FROM segments")
		err = each(rows, err, func() error {
			var id int64
			var memory, core, provider string
			if err := rows.Scan(&id, &memory, &core, &provider); err != nil {
				return err
			}
			segment, err := engram.NewID(memory, core, provider)
			if err != nil {
				return badName(err)
			}
			if _, ok := after[segment.Parent()]; ok {
				providers[id] = segment
			}
			return nil
		})
		if err != nil {
			return err
		}
		// The few episodes come first: their index leads to what they hold.
		rows, err = tx.QueryContext(ctx, `SELECT e.segment, e.name, max(recorded_end)
			FROM json_each(?) n CROSS JOIN episodes ON episodes.name = n.value
			CROSS JOIN holdings INDEXED BY holdings_episode ON holdings.episode = episodes.id CROSS JOIN entities e ON e.id = holdings.entity
			WHERE recorded_end > recorded_start AND recorded_end - 1 > ? GROUP BY e.id`, string(names), lowest)
		return each(rows, err, func() error {
			var id int64
			var name sql.RawBytes
			var end engram.Time
			if err := rows.Scan(&id, &name, &end); err != nil {
				return err
			}
			provider, ok := providers[id]
			if !ok || end-1 <= after[provider.Parent()] {
				return nil
			}
			entity, err := provider.Child(string(name))
			if err != nil {
				return badName(err)
			}
			if !besides(entity) {
				l := found[provider.Parent()]
				l.Add(entity, end-1)
				found[provider.Parent()] = l
			}
			return nil
		})
	})
	return found, err
}
