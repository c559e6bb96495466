package catalogue

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Names returns the names right below a parent of any level above an entity,
// sorted: the memories below the root, the entities below a provider segment. The slice
// is shared: not to be changed.
func (c *Catalogue) Names(ctx context.Context, parent engram.ID) ([]string, error) {
	var query string
	var args []any
	switch parent.Level() {
	case engram.LevelRoot:
		query = "SELECT DISTINCT memory FROM segments"
	case engram.LevelMemory:
		query = "SELECT DISTINCT core FROM segments WHERE memory = ?"
		args = []any{parent.Memory()}
	case engram.LevelCoreSegment:
		query = "SELECT provider FROM segments WHERE memory = ? AND core = ?"
		args = []any{parent.Memory(), parent.CoreSegment()}
	case engram.LevelProviderSegment:
		query = "SELECT name FROM entities WHERE segment = (SELECT id FROM segments WHERE memory = ? AND core = ? AND provider = ?)"
		args = []any{parent.Memory(), parent.CoreSegment(), parent.ProviderSegment()}
	default:
		return nil, engram.Errorf(engram.Invalid, parent.String(), "a %s has no named children", parent.Level())
	}
	if list, ok := c.cache.getNames(parent); ok {
		return list, nil
	}
	var list []string
	age := c.cache.age()
	err := c.read(ctx, func(db *database) error {
		list = nil
		rows, err := db.QueryContext(ctx, query, args...)
		return each(rows, err, func() error {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if _, err := parent.Child(name); err != nil {
				return badName(err)
			}
			list = append(list, name)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	c.cache.putNames(parent, list, age)
	return list, nil
}

// Holdings returns what the episodes hold of an entity; it is empty if no episode
// holds any. Where entities are asked about in the order of their names, those that follow
// are read with it, ever more of them.
func (c *Catalogue) Holdings(ctx context.Context, entity engram.ID) (*Holdings, error) {
	if entity.Level() != engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, entity.String(), "is a %s; episodes hold entities", entity.Level())
	}
	if h := c.cache.get(entity); h != nil {
		return h, nil
	}
	provider := entity.Parent()
	wanted, age := c.cache.next(entity)
	found, lists, rows := []string{entity.Entity()}, [][]Holding{nil}, 0
	err := c.read(ctx, func(db *database) error {
		found, lists, rows = found[:1], [][]Holding{nil}, 0
		// One more than is wanted: its name tells who comes next.
		read, err := db.holdings.QueryContext(ctx, provider.Memory(), provider.CoreSegment(), provider.ProviderSegment(), entity.Entity(), wanted+1)
		return each(read, err, func() error {
			rows++
			var name string
			var h Holding
			err := read.Scan(&name, &h.Episode, &h.Type, &h.Codec, &h.Span.Start, &h.Span.End, &h.Arrived.Start, &h.Arrived.End,
				&h.Snapshots, &h.InForce, &h.Bytes, &h.Chunks, &h.Times, &h.Recorded.Start, &h.Recorded.End)
			if err != nil {
				return err
			}
			if name != found[len(found)-1] {
				found, lists = append(found, name), append(lists, nil)
			}
			if h.ID, err = provider.Child(name); err != nil {
				return badName(err)
			}
			lists[len(lists)-1] = append(lists[len(lists)-1], h)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	first, last := newHoldings(lists[0]), len(found)-1
	c.cache.put(entity, first, age)
	for i := 1; i < last; i++ {
		c.cache.put(lists[i][0].ID, newHoldings(lists[i]), age)
	}
	c.cache.read(readAhead{provider: provider, after: found[max(0, last-1)], next: found[last], entities: wanted, rows: rows})
	return first, nil
}

// each calls row with rows at each of the rows that a query has found.
func each(rows *sql.Rows, err error, row func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Held is what all episodes together hold of an entity.
type Held struct {
	Name      string // of the entity
	Type      string // of its segment's payloads, in one of them
	Snapshots uint64 // versions; values in force count once in each episode
	InForce   uint64
	Bytes     int64
	Span      engram.Interval
}

// With returns it with more of the entity.
func (h Held) With(snapshots, inForce uint64, bytes int64, span engram.Interval) Held {
	h.Snapshots, h.InForce, h.Bytes = h.Snapshots+snapshots, h.InForce+inForce, h.Bytes+bytes
	h.Span = engram.Interval{Start: min(h.Span.Start, span.Start), End: max(h.Span.End, span.End)}
	return h
}

// Counting returns what selects the episodes that count in an answer. It is called once the moment
// of the answer is fixed, and again where that is another one: then the last one holds.
type Counting func() (counts func(episode string) bool)

// All has all episodes count.
func All() (counts func(episode string) bool) { return func(string) bool { return true } }

// Held returns what the episodes hold of the entities of a provider segment, by name. The slice is
// shared: not to be changed.
func (c *Catalogue) Held(ctx context.Context, provider engram.ID, counting Counting) ([]Held, error) {
	if provider.Level() != engram.LevelProviderSegment {
		return nil, engram.Errorf(engram.Invalid, provider.String(), "is a %s; name a provider segment", provider.Level())
	}
	if list, ok := c.cache.getHeld(provider, counting); ok {
		return list, nil
	}
	var list []Held
	var names []string
	age, all := c.cache.age(), false
	err := c.readMoment(ctx, func(tx *sql.Tx) (err error) {
		list = nil
		var apart string
		if names, apart, err = countedEpisodes(ctx, tx, counting); err != nil {
			return err
		}
		all = apart == ""
		words := map[int64]string{}
		word, err := tx.QueryContext(ctx, "SELECT id, word FROM words")
		err = each(word, err, func() error {
			var id int64
			var text string
			err := word.Scan(&id, &text)
			words[id] = text
			return err
		})
		if err != nil {
			return err
		}
		// In the order of the index of names there is nothing to sort.
		rows, err := tx.QueryContext(ctx, `SELECT e.name, min(type), sum(snapshots), sum(in_force), sum(bytes), min(time_start), max(time_end)
			FROM segments s CROSS JOIN entities e ON e.segment = s.id CROSS JOIN holdings ON holdings.entity = e.id
			WHERE s.memory = ? AND s.core = ? AND s.provider = ? AND snapshots > 0`+apart+` GROUP BY e.segment, e.name ORDER BY e.segment, e.name`, provider.Memory(), provider.CoreSegment(), provider.ProviderSegment())
		return each(rows, err, func() error {
			var h Held
			var typ int64
			if err := rows.Scan(&h.Name, &typ, &h.Snapshots, &h.InForce, &h.Bytes, &h.Span.Start, &h.Span.End); err != nil {
				return err
			}
			if err := engram.CheckName(h.Name); err != nil {
				return badName(err)
			}
			h.Type = words[typ]
			list = append(list, h)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if all {
		c.cache.putHeld(provider, list, names, age)
	}
	return list, nil
}

// countedEpisodes returns the names of all episodes, and a condition that excludes the
// holdings of those that do not count.
func countedEpisodes(ctx context.Context, tx *sql.Tx, counting Counting) (names []string, condition string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, name FROM episodes") // the first of them fixes the moment
	ids := map[string]int64{}
	err = each(rows, err, func() error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		names = append(names, name)
		ids[name] = id
		return err
	})
	counts := counting()
	var apart []string
	for _, name := range names {
		if !counts(name) {
			apart = append(apart, strconv.FormatInt(ids[name], 10))
		}
	}
	if len(apart) > 0 {
		condition = " AND holdings.episode NOT IN (" + strings.Join(apart, ",") + ")"
	}
	return names, condition, err
}

// Total is what all episodes hold of a segment.
type Total struct {
	Segment   engram.ID // core or provider segment
	Entities  uint64
	Snapshots uint64 // versions; values in force count once in each episode
	InForce   uint64
	Bytes     int64
	Span      engram.Interval
	Recorded  engram.Interval // as of an entity in an episode; empty if there is nothing else
}

// Totals returns the sums for each segment of a level (LevelCoreSegment or
// LevelProviderSegment), sorted by ID.
func (c *Catalogue) Totals(ctx context.Context, level engram.Level, counting Counting) ([]Total, error) {
	columns := "memory, core, provider"
	switch level {
	case engram.LevelProviderSegment:
	case engram.LevelCoreSegment:
		columns = "memory, core"
	default:
		return nil, engram.Errorf(engram.Invalid, "", "totals are of core and provider segments, not of a %s", level)
	}
	var list []Total
	err := c.readMoment(ctx, func(tx *sql.Tx) error {
		list = nil
		_, apart, err := countedEpisodes(ctx, tx, counting)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT memory, core, provider, count(DISTINCT entity), sum(snapshots), sum(in_force), sum(bytes), min(time_start), max(time_end),
				coalesce(min(CASE WHEN recorded_end > recorded_start THEN recorded_start END), 0), coalesce(max(CASE WHEN recorded_end > recorded_start THEN recorded_end END), 0)
			FROM holdings JOIN entities ON entities.id = entity JOIN segments ON segments.id = segment WHERE snapshots > 0`+apart+` GROUP BY `+columns)
		return each(rows, err, func() error {
			var t Total
			var memory, core, provider string
			if err := rows.Scan(&memory, &core, &provider, &t.Entities, &t.Snapshots, &t.InForce, &t.Bytes, &t.Span.Start, &t.Span.End, &t.Recorded.Start, &t.Recorded.End); err != nil {
				return err
			}
			id, err := engram.NewID(memory, core, provider)
			if err != nil {
				return badName(err)
			}
			t.Segment = id.Truncate(level)
			list = append(list, t)
			return nil
		})
	})
	slices.SortFunc(list, func(a, b Total) int { return a.Segment.Compare(b.Segment) })
	return list, err
}
