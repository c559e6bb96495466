package catalogue

import (
	"cmp"
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

// Links calls visit with the lists of links of episodes (see [episode.ParseLinks]), of those
// that have one, which is not too long. visit keeps none.
func (c *Catalogue) Links(ctx context.Context, visit func(name string, list []byte)) error {
	var found []struct {
		name string
		list []byte
	}
	err := c.read(ctx, func(db *database) error {
		found = found[:0]
		rows, err := db.QueryContext(ctx, "SELECT name, list FROM links")
		return each(rows, err, func() error {
			found = append(found, struct {
				name string
				list []byte
			}{})
			f := &found[len(found)-1]
			return rows.Scan(&f.name, &f.list)
		})
	})
	for _, f := range found {
		visit(f.name, f.list)
	}
	return err
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

// Counting selects the episodes that count. It is called after the moment of an answer is
// fixed, and again where another moment takes its place: the last call holds.
type Counting func() (counts func(episode string) bool)

// All counts all episodes.
func All() (counts func(episode string) bool) { return func(string) bool { return true } }

// Held returns what the episodes that count hold of the entities of a provider segment, by
// name. The slice is shared: not to be changed.
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
		rows, err := tx.QueryContext(ctx, `SELECT e.name, min(words.word), sum(snapshots), sum(in_force), sum(bytes), min(time_start), max(time_end)
			FROM entities e JOIN segments s ON e.segment = s.id JOIN holdings ON holdings.entity = e.id JOIN words ON words.id = holdings.type
			WHERE s.memory = ? AND s.core = ? AND s.provider = ? AND snapshots > 0`+apart+` GROUP BY e.id`, provider.Memory(), provider.CoreSegment(), provider.ProviderSegment())
		return each(rows, err, func() error {
			var h Held
			if err := rows.Scan(&h.Name, &h.Type, &h.Snapshots, &h.InForce, &h.Bytes, &h.Span.Start, &h.Span.End); err != nil {
				return err
			}
			if _, err := provider.Child(h.Name); err != nil {
				return badName(err)
			}
			list = append(list, h)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Held) int { return cmp.Compare(a.Name, b.Name) })
	if all {
		c.cache.putHeld(provider, list, names, age)
	}
	return list, nil
}

// countedEpisodes returns the names of all episodes, and a condition that excludes the
// holdings of those that do not count.
func countedEpisodes(ctx context.Context, tx *sql.Tx, counting Counting) (names []string, condition string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, name FROM episodes")
	var ids, apart []string
	err = each(rows, err, func() error {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		names, ids = append(names, name), append(ids, strconv.FormatInt(id, 10))
		return nil
	})
	counts := counting()
	for i, name := range names {
		if !counts(name) {
			apart = append(apart, ids[i])
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
// LevelProviderSegment), sorted by ID. counting selects the episodes, as in [Catalogue.Held].
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
