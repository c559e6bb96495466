// Package catalogue knows which episode of a folder holds what: for every entity
// the episodes with its versions, their times, counts and bytes. It is an index
// that can be lost: what it says comes from the episodes, and it is rebuilt from
// them when it is missing, stale or damaged.
//
// It knows episodes; it knows no policies and no working memory.
package catalogue

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Options configure a catalogue.
type Options struct {
	Dir     string // of the episodes
	File    string // of the catalogue, an SQLite database
	Episode episode.Options
	// Left are the names of files that a crash left open and that cannot be sealed yet:
	// they are read as they stand, and known by the names that they are to have.
	Left       []string
	CacheBytes int64        // of what is looked up often; default 32 MiB
	Log        *slog.Logger // nil means slog.Default()
}

// Problem is an episode that could not be taken into the catalogue, or only in part;
// NotFound says that the file of one that was in it is missing.
type Problem struct {
	Name string // of the file
	Err  error
	// Served says that what is left of it is in the catalogue.
	Served bool
	// Replaced says that its file is whole, but another one than was in the catalogue.
	Replaced bool
	// Held is what it held when it could be read, if that is known: of each entity ID,
	// Span, Arrived, Snapshots and InForce.
	Held []episode.Entity
}

// maxHeld bounds the entities of a Problem.
const maxHeld = 10_000

// Catalogue is an open catalogue. Safe for concurrent use.
type Catalogue struct {
	opts  Options
	cache holdingsCache

	// life is held for reading by every call, for writing by who replaces db.
	life struct {
		sync.RWMutex
		db       *database // nil after a rebuilding that failed; the next call tries again
		inMemory bool      // and not in the file, which could not be written
		opened   bool
		closed   bool
	}
	// write lets one change at a time into the database; it is locked before life.
	write sync.Mutex
}

// Open opens the catalogue of a folder, or makes it, and brings it up to date with
// the sealed episodes (".mcap") that are there. Episodes that cannot be read are
// left out and told. A file that cannot be opened or used, for whatever reason, is made
// anew, and those of SQLite beside it with it; where it cannot be written, such as on a full
// disk, then or later, it is deleted and the catalogue lies in memory until it is closed.
func Open(ctx context.Context, o Options) (*Catalogue, []Problem, error) {
	if o.Episode.FS == nil {
		o.Episode.FS = vfs.OS
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 32 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Catalogue{opts: o, cache: holdingsCache{max: o.CacheBytes}}
	defer func() { c.life.opened = true }()
	var known []Problem // what the file said of what cannot be read
	db, err := openFile(ctx, o.File)
	if err == nil {
		c.life.db = db
		if known, err = c.update(ctx); err == nil {
			return c, known, nil
		}
	}
	if !isOfCatalogue(ctx, err) {
		if db != nil {
			db.close()
		}
		return nil, nil, c.fail(err)
	}
	problems, err := c.rebuild(ctx, err)
	if err != nil {
		return nil, nil, c.fail(err)
	}
	for _, p := range known {
		if i := slices.IndexFunc(problems, func(q Problem) bool { return q.Name == p.Name }); i >= 0 {
			problems[i].Held = p.Held
		} else if engram.CodeOf(p.Err) == engram.NotFound {
			problems = append(problems, p)
		}
	}
	return c, problems, nil
}

// rebuild makes the catalogue anew from the episodes, because of an error of the old one,
// which is closed: in memory if the file cannot be written.
func (c *Catalogue) rebuild(ctx context.Context, why error) ([]Problem, error) {
	if isUnwritable(why) {
		c.leaveFile(why)
	} else {
		c.opts.Log.Warn("the catalogue of the episodes cannot be used; it is made anew", "file", c.opts.File, "error", why)
	}
	problems, err := c.rebuildOnce(ctx)
	if err != nil && isOfCatalogue(ctx, err) && !c.life.inMemory {
		c.leaveFile(err)
		problems, err = c.rebuildOnce(ctx)
	}
	return problems, err
}

// leaveFile has the catalogue made in memory the next time.
func (c *Catalogue) leaveFile(why error) {
	c.life.inMemory = true
	c.opts.Log.Warn("the catalogue of the episodes cannot be written; it is kept in memory, and made anew at the next start", "file", c.opts.File, "error", why)
}

func (c *Catalogue) rebuildOnce(ctx context.Context) ([]Problem, error) {
	if c.life.db != nil {
		c.life.db.Close()
		c.life.db = nil
	}
	// Also if it goes on in memory: the file would not know what is forgotten meanwhile,
	// and take it for lost.
	err := removeFiles(c.opts.File)
	var db *database
	switch {
	case c.life.inMemory:
		if err != nil {
			c.opts.Log.Warn("the catalogue of the episodes cannot be removed; delete it", "file", c.opts.File, "error", err)
		}
		db, err = openMemory(ctx)
	case err == nil:
		db, err = openFile(ctx, c.opts.File)
	}
	if err != nil {
		return nil, err
	}
	c.life.db = db
	problems, err := c.update(ctx)
	if err != nil {
		db.close()
		c.life.db = nil
	}
	return problems, err
}

// update reads the episodes that are new or other than they were, and removes
// those that are gone.
func (c *Catalogue) update(ctx context.Context) ([]Problem, error) {
	type stamp struct{ size, modified int64 }
	known := map[string]stamp{}
	rows, err := c.life.db.QueryContext(ctx, "SELECT name, size, modified FROM episodes")
	err = each(rows, err, func() error {
		var name string
		var s stamp
		if err := rows.Scan(&name, &s.size, &s.modified); err != nil {
			return err
		}
		known[name] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	files, err := c.opts.Episode.FS.ReadDir(c.opts.Dir)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, c.opts.Dir, "the folder of the episodes cannot be read: %w", err)
	}
	var problems []Problem
	err = c.change(ctx, func(ch *change) error {
		problems = nil
		seen := map[string]bool{}
		for _, f := range files {
			name, left := f.Name(), slices.Contains(c.opts.Left, f.Name())
			if left {
				name = strings.TrimSuffix(name, ".open")
			}
			if f.IsDir() || !strings.HasSuffix(name, ".mcap") || seen[name] { // the sealed form comes first
				continue
			}
			seen[name] = true
			st, err := f.Info()
			if err != nil {
				continue // it went away
			}
			now := stamp{st.Size(), st.ModTime().UnixNano()}
			old, ok := known[name]
			delete(known, name)
			if ok && old == now {
				continue
			}
			r, err := episode.OpenContext(ctx, filepath.Join(c.opts.Dir, f.Name()), c.opts.Episode)
			if ctx.Err() != nil {
				if err == nil {
					r.Close()
				}
				return engram.Errorf(engram.Canceled, f.Name(), "the start was given up: %w", context.Cause(ctx))
			}
			if err != nil && c.life.opened && engram.CodeOf(err) == engram.Unavailable {
				return err // nobody would be told that it is not there now
			}
			if err != nil {
				problems = append(problems, Problem{Name: name, Err: err})
				if ok {
					known[name] = old
				}
				continue
			}
			info, entities := r.Info(), r.Entities()
			r.Close()
			if left { // that it has no end is no damage
				info.Name, info.Sealed, info.Damage = name, false, nil
			}
			p, err := ch.compare(&info, ok)
			if err != nil {
				return err
			}
			if p.Err != nil {
				problems = append(problems, p)
			}
			if err := ch.put(info, now.size, now.modified, entities); err != nil {
				return err
			}
		}
		for name, was := range known {
			held, err := ch.held(name)
			if err != nil {
				return err
			}
			nothing, err := ch.leftWithNothing(name)
			if err != nil {
				return err
			}
			if err := ch.remove(name); err != nil {
				return err
			}
			if nothing {
				continue
			}
			i := slices.IndexFunc(problems, func(p Problem) bool { return p.Name == name })
			if i < 0 {
				i = len(problems)
				problems = append(problems, Problem{Name: name, Err: engram.Errorf(engram.NotFound, name, "its file, of %d bytes, is missing: what it held is gone", was.size)})
			}
			problems[i].Held = held
		}
		slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
		return ch.sweep()
	})
	return problems, err
}

// change carries out a change as one transaction. The caller holds write, or is
// the only one who knows the catalogue.
func (c *Catalogue) change(ctx context.Context, do func(*change) error) error {
	tx, err := c.life.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(newChange(ctx, tx)); err != nil {
		return err
	}
	// Whoever reads from here on may see the new state, and must not find or keep
	// what was true before.
	c.cache.begin()
	defer c.cache.end()
	if err := tx.Commit(); err != nil {
		return err
	}
	if db := c.life.db; db.path != "" {
		if log, err := os.Stat(db.path + "-wal"); err == nil && log.Size() > maxLog {
			return db.checkpoint(ctx)
		}
	}
	return nil
}

// fail is an error of the database as one of the module.
func (c *Catalogue) fail(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*engram.Error](err); ok {
		return err
	}
	code := engram.Unavailable
	if engram.CodeOf(err) == engram.Canceled {
		code = engram.Canceled
	}
	return engram.Errorf(code, c.opts.File, "the catalogue: %w", err)
}

// read runs a call that reads; when it finds the database damaged or not to be written,
// the catalogue is rebuilt and the call tried again.
func (c *Catalogue) read(ctx context.Context, do func(*database) error) error {
	err := c.readOnce(do)
	if err == nil || !isUseless(ctx, err) {
		return c.fail(err)
	}
	c.write.Lock()
	err = c.rebuildLocked(ctx, err)
	c.write.Unlock()
	if err != nil {
		return c.fail(err)
	}
	return c.fail(c.readOnce(do))
}

func (c *Catalogue) readOnce(do func(*database) error) error {
	c.life.RLock()
	defer c.life.RUnlock()
	switch {
	case c.life.closed:
		return c.closedError()
	case c.life.db == nil:
		return errNotRebuilt
	}
	return do(c.life.db)
}

// readMoment is read for more than one question about the same moment.
func (c *Catalogue) readMoment(ctx context.Context, do func(*sql.Tx) error) error {
	return c.read(ctx, func(db *database) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return do(tx)
	})
}

// rebuildLocked rebuilds a catalogue that others use; write is held.
func (c *Catalogue) rebuildLocked(ctx context.Context, why error) error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.life.closed {
		return c.closedError()
	}
	_, err := c.rebuild(ctx, why)
	return err
}

func (c *Catalogue) closedError() error {
	return engram.Errorf(engram.Unavailable, c.opts.File, "the catalogue is closed")
}

// modify carries out a change; when it finds the database damaged or not to be written,
// the catalogue is rebuilt and the change made again.
func (c *Catalogue) modify(ctx context.Context, do func(*change) error) error {
	c.write.Lock()
	defer c.write.Unlock()
	once := func() error {
		return c.readOnce(func(*database) error { return c.change(ctx, do) })
	}
	err := once()
	if err != nil && isUseless(ctx, err) {
		if err = c.rebuildLocked(ctx, err); err == nil {
			err = once()
		}
	}
	return c.fail(err)
}

// Put adds a sealed episode, or replaces what was known of it, and removes those
// that it replaces, all at once.
func (c *Catalogue) Put(ctx context.Context, info episode.Info, entities []episode.Entity, replaces ...string) error {
	st, err := c.opts.Episode.FS.Stat(filepath.Join(c.opts.Dir, info.Name))
	if err != nil {
		return engram.Errorf(engram.NotFound, info.Name, "the episode is not in the catalogue's folder: %w", err)
	}
	return c.modify(ctx, func(ch *change) error {
		for _, name := range replaces {
			if err := ch.remove(name); err != nil {
				return err
			}
		}
		if err := ch.put(info, st.Size(), st.ModTime().UnixNano(), entities); err != nil {
			return err
		}
		return ch.sweep()
	})
}

// Remove removes an episode. It is no error if it is not there.
func (c *Catalogue) Remove(ctx context.Context, name string) error {
	return c.modify(ctx, func(ch *change) error {
		if err := ch.remove(name); err != nil {
			return err
		}
		return ch.sweep()
	})
}

// Episodes returns all episodes whose snapshots' times overlap iv, by Span.Start.
func (c *Catalogue) Episodes(ctx context.Context, iv engram.Interval) ([]episode.Info, error) {
	var list []episode.Info
	err := c.read(ctx, func(db *database) error {
		list = nil
		rows, err := db.QueryContext(ctx, "SELECT info FROM episodes")
		return each(rows, err, func() error {
			info, err := scanInfo(rows)
			if err != nil {
				return err
			}
			if info.Span.Overlaps(iv) || iv == engram.Always() {
				list = append(list, info)
			}
			return nil
		})
	})
	slices.SortFunc(list, func(a, b episode.Info) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), strings.Compare(a.Name, b.Name))
	})
	return list, err
}

func scanInfo(row interface{ Scan(...any) error }) (info episode.Info, err error) {
	var text string
	if err = row.Scan(&text); err != nil {
		return info, err
	}
	if err = json.Unmarshal([]byte(text), &info); err != nil {
		err = engram.Errorf(engram.Corrupt, "", "the catalogue says something of an episode that cannot be read: %w", err)
	}
	return info, err
}

// Episode returns what an episode says of itself, or NotFound.
func (c *Catalogue) Episode(ctx context.Context, name string) (info episode.Info, err error) {
	err = c.read(ctx, func(db *database) error {
		info, err = scanInfo(db.QueryRowContext(ctx, "SELECT info FROM episodes WHERE name = ?", name))
		if errors.Is(err, sql.ErrNoRows) {
			return engram.Errorf(engram.NotFound, name, "there is no episode of this name")
		}
		return err
	})
	return info, err
}

// Close closes the catalogue.
func (c *Catalogue) Close() error {
	c.write.Lock()
	defer c.write.Unlock()
	c.life.Lock()
	defer c.life.Unlock()
	if c.life.closed {
		return nil
	}
	c.life.closed = true
	c.cache.begin() // for good
	if c.life.db == nil {
		return nil
	}
	return c.fail(c.life.db.close())
}
