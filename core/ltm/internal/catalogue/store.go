package catalogue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// layout is the version of the tables; a file of another version is made anew.
const layout = 3

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
	times INTEGER NOT NULL, -- different ones; 0: not known
	recorded_start INTEGER NOT NULL, recorded_end INTEGER NOT NULL, -- equal: nothing
	PRIMARY KEY (entity, episode)
) WITHOUT ROWID;
CREATE INDEX holdings_episode ON holdings (episode);
`

const holdingColumns = 15

// sumSuffix ends the name of the file with the checksum of the catalogue's file, which
// SQLite has none of; its log, beside it, has its own. Only checkpoints write to the file,
// and only saveSum makes them.
const sumSuffix = ".sum"

// filesOf returns a catalogue's file and those beside it, the first three SQLite's.
func filesOf(path string) []string {
	return []string{path, path + "-wal", path + "-shm", path + "-journal", path + sumSuffix}
}

// sumOf returns the checksum of a file as text.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, f)
	return fmt.Sprintf("%08x %d\n", sum.Sum32(), n), err
}

// checkSum returns an error if a catalogue's file, which may be missing or empty, is not
// what its checksum says.
func checkSum(path string) error {
	noted, err := os.ReadFile(path + sumSuffix)
	if info, statErr := os.Stat(path); errors.Is(err, os.ErrNotExist) && (statErr != nil || info.Size() == 0) {
		return nil // there is none yet
	}
	if err != nil {
		return fmt.Errorf("its checksum is not known: %w", err)
	}
	now, err := sumOf(path)
	if err == nil && now != string(noted) {
		err = errors.New("its checksum is wrong")
	}
	return err
}

// saveSum runs what writes to a catalogue's file, and notes its checksum. A crash meanwhile,
// or a full disk, leaves none: then the catalogue is made anew.
func saveSum(path string, write func() error) error {
	if err := os.Remove(path + sumSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	if sum, err := sumOf(path); err == nil {
		_ = vfs.ReplaceFile(vfs.OS, path+sumSuffix, []byte(sum))
	}
	return nil
}

// checkpoint has SQLite's log written to the catalogue's file, as far as no reader needs it.
func (d *database) checkpoint(ctx context.Context) error {
	return saveSum(d.path, func() error {
		_, err := d.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		return err
	})
}

// maxLog is how long SQLite's log may be, in bytes, before it is written to the file.
const maxLog = 4 << 20

// close closes the database, which writes the log to the file.
func (d *database) close() error {
	if d.path == "" {
		return d.Close()
	}
	return saveSum(d.path, d.Close)
}

// removeFiles removes a catalogue's files. Folders in their place that are not empty are
// somebody's, and put aside.
func removeFiles(path string) error {
	var errs []error
	for _, file := range filesOf(path) {
		err := os.Remove(file) // of a link only the link
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			_, err = vfs.PutAside(vfs.OS, file)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openFile opens the catalogue's file, or makes it.
func openFile(ctx context.Context, path string) (*database, error) {
	// What a power cut takes of the last moments is read from the episodes again.
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "wal_autocheckpoint(0)", "busy_timeout(10000)", "cache_size(-8000)"}}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// SQLite would take a folder for one that it may only read, and wait for ever for a pipe.
	for i, file := range filesOf(abs) {
		stat := os.Lstat
		if i == 0 {
			stat = os.Stat // SQLite follows no links to the others
		}
		info, err := stat(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no file: %v", file, info.Mode())
		}
		if err != nil {
			return nil, err
		}
		// Earlier releases made it one that others may read. Where modes are not to be
		// changed, it stays as it is: some file systems have none.
		_ = os.Chmod(file, 0o600)
	}
	if err := checkSum(abs); err != nil {
		return nil, err
	}
	// SQLite gives what it makes beside the file the file's mode, and a new file one that
	// others may read.
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	d, err := withTables(ctx, db)
	if err != nil {
		return nil, err
	}
	d.path = abs
	if err := d.checkpoint(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// openMemory makes a catalogue that lies in memory.
func openMemory(ctx context.Context) (*database, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // it goes with its connection
	return withTables(ctx, db)
}

// database is an open catalogue's.
type database struct {
	*sql.DB
	path     string    // "" in memory
	holdings *sql.Stmt // of entities of a provider segment, from a name on, so many
}

const selectHoldings = `SELECT e.name, episodes.name, types.word, codecs.word, time_start, time_end, arrived_start, arrived_end, snapshots, in_force, bytes, chunks, times, recorded_start, recorded_end
	FROM (SELECT id, name FROM entities WHERE segment = (SELECT id FROM segments WHERE memory = ? AND core = ? AND provider = ?) AND name >= ? ORDER BY name LIMIT ?) e
	JOIN holdings ON entity = e.id JOIN episodes ON episodes.id = episode JOIN words types ON types.id = type JOIN words codecs ON codecs.id = codec
	ORDER BY e.name`

// withTables makes the tables if there are none, and closes the database if it is not to
// be used.
func withTables(ctx context.Context, db *sql.DB) (*database, error) {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		db.Close()
		return nil, err
	}
	switch version {
	case layout:
	case 0:
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			defer tx.Rollback()
			if _, err = tx.ExecContext(ctx, tables+fmt.Sprintf("PRAGMA user_version = %d;", layout)); err == nil {
				err = tx.Commit()
			}
		}
		if err != nil {
			db.Close()
			return nil, err
		}
	default:
		db.Close()
		return nil, errLayout
	}
	holdings, err := db.PrepareContext(ctx, selectHoldings)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &database{DB: db, holdings: holdings}, nil
}

func badName(err error) error {
	return engram.Errorf(engram.Corrupt, "", "the catalogue has a bad name: %w", err)
}

var (
	errLayout     = errors.New("the catalogue was made by another version")
	errNotRebuilt = errors.New("the catalogue was damaged, and could not be rebuilt yet")
)

// isOfCatalogue reports whether an error is one of the catalogue, and not of who waits for
// it or of the folder of the episodes.
func isOfCatalogue(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	e, ok := errors.AsType[*engram.Error](err)
	return !ok || e.Code == engram.Corrupt
}

// isUseless reports whether an error of a catalogue that was opened says that it has to be
// rebuilt: each that is of it and does not pass by itself.
func isUseless(ctx context.Context, err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CANTOPEN: // too many open files
			return false
		}
	}
	return isOfCatalogue(ctx, err)
}

// isUnwritable reports whether an error says that the catalogue's file is not to be used:
// the disk is full, or refuses.
func isUnwritable(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
			return true
		}
	}
	return vfs.IsFull(err)
}

// change is one transaction.
type change struct {
	ctx        context.Context
	tx         *sql.Tx
	statements map[string]*sql.Stmt // prepared; they end with the transaction
	// What was looked up in this transaction.
	segments map[engram.ID]int64
	entities map[engram.ID]int64
	words    map[string]int64
	left     map[int64]bool // entities of which an episode was removed
}

func newChange(ctx context.Context, tx *sql.Tx) *change {
	return &change{
		ctx: ctx, tx: tx, statements: map[string]*sql.Stmt{},
		segments: map[engram.ID]int64{}, entities: map[engram.ID]int64{}, words: map[string]int64{}, left: map[int64]bool{},
	}
}

// statement returns a statement, which is prepared once.
func (c *change) statement(query string) (*sql.Stmt, error) {
	s := c.statements[query]
	if s == nil {
		var err error
		if s, err = c.tx.PrepareContext(c.ctx, query); err != nil {
			return nil, err
		}
		c.statements[query] = s
	}
	return s, nil
}

func (c *change) exec(query string, args ...any) (sql.Result, error) {
	s, err := c.statement(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(c.ctx, args...)
}

// maxRows is how many rows a statement has at most.
const maxRows = 200

// places returns the places of n rows of so many columns.
func places(n, columns int) string {
	row := "(?" + strings.Repeat(",?", columns-1) + ")"
	return row + strings.Repeat(","+row, n-1)
}

// id returns the number of a row, which it inserts if it is not there.
func (c *change) id(table, columns, where string, args ...any) (id int64, err error) {
	s, err := c.statement("SELECT id FROM " + table + " WHERE " + where)
	if err != nil {
		return 0, err
	}
	if err = s.QueryRowContext(c.ctx, args...).Scan(&id); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	r, err := c.exec("INSERT INTO "+table+" ("+columns+") VALUES "+places(1, len(args)), args...)
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

func (c *change) segment(s engram.ID) (int64, error) {
	if id, ok := c.segments[s]; ok {
		return id, nil
	}
	id, err := c.id("segments", "memory, core, provider", "memory = ? AND core = ? AND provider = ?", s.Memory(), s.CoreSegment(), s.ProviderSegment())
	c.segments[s] = id
	return id, err
}

// number looks up the numbers of entities, and gives them to those that have none.
func (c *change) number(list []episode.Entity) error {
	unknown := map[engram.ID][]engram.ID{} // by segment
	for i := range list {
		if id := list[i].ID; c.entities[id] == 0 {
			s := id.Parent()
			unknown[s] = append(unknown[s], id)
		}
	}
	for s, ids := range unknown {
		segment, err := c.segment(s)
		if err != nil {
			return err
		}
		for batch := range slices.Chunk(ids, maxRows) {
			rows, names := make([]any, 0, 2*len(batch)), []any{segment}
			for _, id := range batch {
				rows, names = append(rows, segment, id.Entity()), append(names, id.Entity())
			}
			if _, err := c.exec("INSERT INTO entities (segment, name) VALUES "+places(len(batch), 2)+" ON CONFLICT DO NOTHING", rows...); err != nil {
				return err
			}
			if err := c.lookUp(s, len(batch), names); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUp looks up n entities; args are the number of their segment and their names.
func (c *change) lookUp(segment engram.ID, n int, args []any) error {
	find, err := c.statement("SELECT id, name FROM entities WHERE segment = ? AND name IN " + places(1, n))
	if err != nil {
		return err
	}
	rows, err := find.QueryContext(c.ctx, args...)
	return each(rows, err, func() error {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		entity, err := segment.Child(name)
		if err != nil {
			return badName(err)
		}
		c.entities[entity] = id
		return nil
	})
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
	r, err := c.exec("INSERT INTO episodes (name, size, modified, info) VALUES (?,?,?,?)", info.Name, size, modified, string(text))
	if err != nil {
		return err
	}
	id, err := r.LastInsertId()
	if err != nil {
		return err
	}
	if err := c.number(list); err != nil {
		return err
	}
	for batch := range slices.Chunk(list, maxRows) {
		args := make([]any, 0, holdingColumns*len(batch))
		for i := range batch {
			e := &batch[i]
			typ, err := c.word(e.Type)
			if err != nil {
				return err
			}
			codec, err := c.word(e.Codec)
			if err != nil {
				return err
			}
			args = append(args, c.entities[e.ID], id, typ, codec, int64(e.Span.Start), int64(e.Span.End), int64(e.Arrived.Start), int64(e.Arrived.End),
				int64(e.Snapshots), int64(e.InForce), e.Bytes, e.Chunks, int64(e.Times), int64(e.Recorded.Start), int64(e.Recorded.End))
		}
		if _, err := c.exec("INSERT OR REPLACE INTO holdings VALUES "+places(len(batch), holdingColumns), args...); err != nil {
			return err
		}
	}
	return nil
}

// remove removes an episode.
func (c *change) remove(name string) error {
	find, err := c.statement("SELECT id FROM episodes WHERE name = ?")
	if err != nil {
		return err
	}
	var id int64
	if err := find.QueryRowContext(c.ctx, name).Scan(&id); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if err := c.leave(id); err != nil {
		return err
	}
	if _, err = c.exec("DELETE FROM holdings WHERE episode = ?", id); err == nil {
		_, err = c.exec("DELETE FROM episodes WHERE id = ?", id)
	}
	return err
}

// leftWithNothing reports whether an episode was left open by a crash and held nothing of
// its own: such a one is deleted when it is sealed.
func (c *change) leftWithNothing(name string) (bool, error) {
	was, err := scanInfo(c.tx.QueryRowContext(c.ctx, "SELECT info FROM episodes WHERE name = ?", name))
	return !was.Sealed && episode.HoldsNothing(&was), err
}

// held returns what an episode holds.
func (c *change) held(name string) (list []episode.Entity, err error) {
	rows, err := c.tx.QueryContext(c.ctx, `SELECT s.memory, s.core, s.provider, e.name, h.time_start, h.time_end, h.arrived_start, h.arrived_end, h.snapshots, h.in_force
		FROM episodes p JOIN holdings h ON h.episode = p.id JOIN entities e ON e.id = h.entity JOIN segments s ON s.id = e.segment
		WHERE p.name = ? LIMIT ?`, name, maxHeld)
	err = each(rows, err, func() error {
		var names [4]string
		var e episode.Entity
		if err := rows.Scan(&names[0], &names[1], &names[2], &names[3], &e.Span.Start, &e.Span.End, &e.Arrived.Start, &e.Arrived.End, &e.Snapshots, &e.InForce); err != nil {
			return err
		}
		for _, n := range names {
			if e.ID, err = e.ID.Child(n); err != nil {
				return badName(err)
			}
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

// compare says what is wrong with an episode that can be read, if something is: it is
// damaged, or, if it was known, holds less than it did though nothing was taken out of it.
func (c *change) compare(now *episode.Info, known bool) (p Problem, err error) {
	p.Name, p.Served = now.Name, true
	if now.Damage != nil {
		p.Err = engram.Errorf(engram.Corrupt, now.Name, "%s", now.Damage.Why)
	}
	if !known {
		return p, nil
	}
	was, err := scanInfo(c.tx.QueryRowContext(c.ctx, "SELECT info FROM episodes WHERE name = ?", now.Name))
	if err != nil {
		return p, err
	}
	n := len(was.Losses)
	rewritten := (now.Recovered || len(now.Losses) > n && slices.Equal(now.Losses[:n], was.Losses)) && now.Snapshots <= was.Snapshots &&
		now.Epoch == was.Epoch && within(now.Span, was.Span) && within(now.Recorded, was.Recorded) && within(now.Arrived, was.Arrived)
	if same := was.Epoch == now.Epoch && was.Span == now.Span; p.Err == nil && !rewritten && (now.Snapshots < was.Snapshots || !same) {
		now.Damage = &episode.Damage{Why: fmt.Sprintf("its file is another one than was sealed: it holds %d versions of %v, and held %d of %v", now.Snapshots, now.Span, was.Snapshots, was.Span)}
		p.Err, p.Replaced = engram.Errorf(engram.Corrupt, now.Name, "%s", now.Damage.Why), true
	}
	if p.Err != nil {
		p.Held, err = c.held(now.Name)
	}
	return p, err
}

// within reports whether an interval is empty or lies in another.
func within(a, b engram.Interval) bool {
	return a.Empty() || b.Start <= a.Start && a.End <= b.End
}

// leave notes the entities that an episode, which will be removed, holds.
func (c *change) leave(id int64) error {
	find, err := c.statement("SELECT entity FROM holdings WHERE episode = ?")
	if err != nil {
		return err
	}
	rows, err := find.QueryContext(c.ctx, id)
	return each(rows, err, func() error {
		var entity int64
		if err := rows.Scan(&entity); err != nil {
			return err
		}
		c.left[entity] = true
		return nil
	})
}

// sweep removes the names of which no episode holds anything any more.
func (c *change) sweep() error {
	if len(c.left) == 0 {
		return nil
	}
	var left []any
	for id := range c.left {
		left = append(left, id)
	}
	for batch := range slices.Chunk(left, maxRows) {
		_, err := c.exec("DELETE FROM entities WHERE id IN "+places(1, len(batch))+" AND NOT EXISTS (SELECT 1 FROM holdings WHERE entity = entities.id)", batch...)
		if err != nil {
			return err
		}
	}
	_, err := c.exec("DELETE FROM segments WHERE NOT EXISTS (SELECT 1 FROM entities WHERE segment = segments.id)")
	return err
}
