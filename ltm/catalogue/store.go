package catalogue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// layout is the version of the tables; a file of another version is made anew.
const layout = 1

const tables = `
CREATE TABLE episodes (
	id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
	size INTEGER NOT NULL, modified INTEGER NOT NULL, -- of the file, when it was read
	info TEXT NOT NULL
);
CREATE TABLE segments (
	id INTEGER PRIMARY KEY, memory TEXT NOT NULL, core TEXT NOT NULL, provider TEXT NOT NULL,
	UNIQUE (memory, core, provider)
);
CREATE TABLE entities (
	id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, name TEXT NOT NULL,
	UNIQUE (segment, name)
);
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE); -- types, codecs
CREATE TABLE holdings (
	entity INTEGER NOT NULL, episode INTEGER NOT NULL,
	type INTEGER NOT NULL, codec INTEGER NOT NULL,
	time_start INTEGER NOT NULL, time_end INTEGER NOT NULL,
	arrived_start INTEGER NOT NULL, arrived_end INTEGER NOT NULL,
	snapshots INTEGER NOT NULL, in_force INTEGER NOT NULL, bytes INTEGER NOT NULL, chunks INTEGER NOT NULL,
	PRIMARY KEY (entity, episode)
) WITHOUT ROWID;
CREATE INDEX holdings_episode ON holdings (episode);
`

// openFile opens the catalogue's file, or makes it.
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	// What a power cut takes of the last moments is read from the episodes again.
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)", "cache_size(-8000)"}}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		db.Close()
		return nil, err
	}
	switch version {
	case layout:
		return db, nil
	case 0:
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			defer tx.Rollback()
			if _, err = tx.ExecContext(ctx, tables+"PRAGMA user_version = 1;"); err == nil {
				err = tx.Commit()
			}
		}
		if err != nil {
			db.Close()
			return nil, err
		}
		return db, nil
	}
	db.Close()
	return nil, errLayout
}

var (
	errLayout     = errors.New("the catalogue was made by another version")
	errNotRebuilt = errors.New("the catalogue was damaged, and could not be rebuilt yet")
)

// isCorrupt reports whether an error says that the catalogue has to be rebuilt.
func isCorrupt(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH:
			return true
		}
	}
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, errLayout) || errors.Is(err, errNotRebuilt) || errors.Is(err, engram.Corrupt)
}

// change is one transaction.
type change struct {
	ctx context.Context
	tx  *sql.Tx
	// What was looked up in this transaction.
	segments map[engram.ID]int64
	entities map[engram.ID]int64
	words    map[string]int64
	left     map[int64]bool // entities of which an episode was removed
	insert   *sql.Stmt      // of a holding
}

func newChange(ctx context.Context, tx *sql.Tx) (*change, error) {
	insert, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO holdings VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")
	return &change{
		ctx: ctx, tx: tx, insert: insert,
		segments: map[engram.ID]int64{}, entities: map[engram.ID]int64{}, words: map[string]int64{}, left: map[int64]bool{},
	}, err
}

// id returns the number of a row, which it inserts if it is not there.
func (c *change) id(table, columns, where string, args ...any) (id int64, err error) {
	err = c.tx.QueryRowContext(c.ctx, "SELECT id FROM "+table+" WHERE "+where, args...).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	marks := "?"
	for range len(args) - 1 {
		marks += ",?"
	}
	r, err := c.tx.ExecContext(c.ctx, "INSERT INTO "+table+" ("+columns+") VALUES ("+marks+")", args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *change) word(w string) (int64, error) {
	if id, ok := c.words[w]; ok {
		return id, nil
	}
	id, err := c.id("words", "word", "word = ?", w)
	c.words[w] = id
	return id, err
}

func (c *change) entity(e engram.ID) (int64, error) {
	if id, ok := c.entities[e]; ok {
		return id, nil
	}
	s := e.Parent()
	segment, ok := c.segments[s]
	if !ok {
		var err error
		segment, err = c.id("segments", "memory, core, provider", "memory = ? AND core = ? AND provider = ?", s.Memory(), s.CoreSegment(), s.ProviderSegment())
		if err != nil {
			return 0, err
		}
		c.segments[s] = segment
	}
	id, err := c.id("entities", "segment, name", "segment = ? AND name = ?", segment, e.Entity())
	c.entities[e] = id
	return id, err
}

// put adds an episode, or replaces what is known of it.
func (c *change) put(info episode.Info, size, modified int64, list []episode.Entity) error {
	if err := c.remove(info.Name); err != nil {
		return err
	}
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	r, err := c.tx.ExecContext(c.ctx, "INSERT INTO episodes (name, size, modified, info) VALUES (?,?,?,?)", info.Name, size, modified, string(text))
	if err != nil {
		return err
	}
	id, err := r.LastInsertId()
	if err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		entity, err := c.entity(e.ID)
		if err != nil {
			return err
		}
		typ, err := c.word(e.Type)
		if err != nil {
			return err
		}
		codec, err := c.word(e.Codec)
		if err != nil {
			return err
		}
		_, err = c.insert.ExecContext(c.ctx, entity, id, typ, codec, int64(e.Span.Start), int64(e.Span.End),
			int64(e.Arrived.Start), int64(e.Arrived.End), int64(e.Snapshots), int64(e.InForce), e.Bytes, e.Chunks)
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes an episode.
func (c *change) remove(name string) error {
	var id int64
	err := c.tx.QueryRowContext(c.ctx, "SELECT id FROM episodes WHERE name = ?", name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := c.tx.QueryContext(c.ctx, "SELECT entity FROM holdings WHERE episode = ?", id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var entity int64
		if err := rows.Scan(&entity); err != nil {
			return err
		}
		c.left[entity] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if _, err = c.tx.ExecContext(c.ctx, "DELETE FROM holdings WHERE episode = ?", id); err == nil {
		_, err = c.tx.ExecContext(c.ctx, "DELETE FROM episodes WHERE id = ?", id)
	}
	return err
}

// sweep removes the names of which no episode holds anything any more.
func (c *change) sweep() error {
	if len(c.left) == 0 {
		return nil
	}
	for id := range c.left {
		if _, err := c.tx.ExecContext(c.ctx, "DELETE FROM entities WHERE id = ? AND NOT EXISTS (SELECT 1 FROM holdings WHERE entity = entities.id)", id); err != nil {
			return err
		}
	}
	_, err := c.tx.ExecContext(c.ctx, "DELETE FROM segments WHERE NOT EXISTS (SELECT 1 FROM entities WHERE segment = segments.id)")
	return err
}
