package ltm

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/ltm/catalogue"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/wal"
	"github.com/seed-301d4374/engram/wm"
)

// Options configure a store. Zero fields mean the defaults.
type Options struct {
	Dir   string             // made if it is not there
	FS    vfs.FS             // nil means vfs.OS
	Robot string             // its name, noted in every episode
	Types *idf.Registry      // the working memory's; nil means a new one
	Now   func() engram.Time // nil means the wall clock
	Log   *slog.Logger       // nil means slog.Default()
	// Policies are the defaults of core segments; others record everything. What was
	// set at run-time goes over them.
	Policies map[engram.ID]policy.Policy

	SealBytes    int64         // an episode is sealed at this size; default 256 MiB
	SealAge      time.Duration // … and at this age; default 10 min
	CacheBytes   int64         // of chunks, indices and frames read; default 64 MiB
	LogFileBytes int64         // the log's files are begun anew at this size, and cut off whole; default 64 MiB
	// SyncEvery bounds how long a logged commit may wait for its fsync; default 0.5 s.
	SyncEvery time.Duration
	// DiskLimit is the share of the disk in use from which on something is forgotten
	// so that it does not fill, lowest priority first; default 0.85.
	DiskLimit   float64
	ForgetEvery time.Duration // how often what the policies want to be gone goes; default 1 min
}

// WithDefaults returns the options with the defaults for fields that are zero.
func (o Options) WithDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Types == nil {
		o.Types = idf.NewRegistry()
	}
	if o.Now == nil {
		o.Now = engram.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.SealBytes <= 0 {
		o.SealBytes = 256 << 20
	}
	if o.SealAge <= 0 {
		o.SealAge = 10 * time.Minute
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 64 << 20
	}
	if o.DiskLimit <= 0 {
		o.DiskLimit = 0.85
	}
	if o.ForgetEvery <= 0 {
		o.ForgetEvery = time.Minute
	}
	return o
}

// Store is a long-term memory. It implements engram.Reader, PartReader and
// LatestReader over what lies on disk and in the working memory, and [Service]. Safe
// for concurrent use.
type Store struct {
	options   Options
	lock      *folderLock
	cache     *episode.Cache
	episodes  *episodeSet
	catalogue *catalogue.Catalogue
	journal   *wal.Journal
	policies  *policy.Table
	health    health
	state     state
	marking   sync.Mutex // held while marks are set or removed; taken before state.mu
	marked    markedSpans
	before    beforeCache
	earlier   bool            // there were episodes when Begin was called
	recent    nameTree        // of what was recorded in this life
	foreign   map[string]bool // memories that have a log and are not here: it stays
	sequence  atomic.Uint64   // of the episode begun last
	opened    Opened

	wm       *wm.WM // set by Begin
	recorder *recorder
	rules    *ruleSet

	account    account
	forgetting forgetLock // taken before any other lock
	forgetter  *forgetter // nil before Begin

	begun    atomic.Bool
	close    sync.Once
	closeErr error
}

// Opened tells what opening a folder found.
type Opened struct {
	Episodes int
	Salvaged []episode.Info // episodes that a crash had left open
	Problems []string       // what cannot be read, and why
}

// The folders and files of a store.
const (
	episodesDir   = "episodes"
	logDir        = "log"
	catalogueFile = "catalogue.db"
	policiesFile  = "policies.yaml"
	sealedExt     = ".mcap"
	openExt       = ".mcap.open"
)

// Open opens a folder, or makes it. AlreadyExists if another server has it open; the
// message names its process. Episodes that a crash left open are salvaged first.
// Nothing is recorded before [Store.Begin].
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.WithDefaults()
	s := &Store{options: o, cache: episode.NewCache(o.CacheBytes), forgetting: forgetLock{reserve: newReserve(o.FS, o.Dir)}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(engram.Errorf(engram.CodeOf(err), o.Dir, "the long-term memory cannot be opened: %w", err), s.release())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	o := &s.options
	dir := filepath.Join(o.Dir, episodesDir)
	_, err = o.FS.Stat(o.Dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := o.FS.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if s.lock, err = lockFolder(o.Dir); err != nil {
		return err
	}
	s.health.log = o.Log
	if s.policies, err = policy.NewTable(o.Policies); err != nil {
		return err
	}
	if err := s.loadPolicies(); err != nil {
		return err
	}
	if err := s.loadState(); err != nil {
		return err
	}
	if err := s.loadAccount(); err != nil {
		return err
	}
	s.episodes = newEpisodeSet(dir, s.episodeOptions())
	if err := s.salvage(ctx, dir); err != nil {
		return err
	}
	var problems []catalogue.Problem
	s.catalogue, problems, err = catalogue.Open(ctx, catalogue.Options{
		Dir: dir, File: filepath.Join(o.Dir, catalogueFile), Episode: s.episodeOptions(), Log: o.Log,
	})
	if err != nil {
		return err
	}
	for _, p := range problems {
		s.account.lost(p.Name, heldBy(p.Held, o.Now()))
		if engram.CodeOf(p.Err) == engram.NotFound {
			s.opened.Problems = append(s.opened.Problems, p.Err.Error())
			o.Log.Warn("an episode's file is missing", "episode", p.Name, "error", p.Err)
			continue
		}
		s.opened.Problems = append(s.opened.Problems, p.Name+": "+p.Err.Error())
		o.Log.Warn("an episode cannot be read; 'engram ltm repair' may save what is in it", "episode", p.Name, "error", p.Err)
	}
	infos, err := s.catalogue.Episodes(ctx, engram.Always())
	if err != nil {
		return err
	}
	if infos, err = s.dropSuperseded(ctx, infos); err != nil {
		return err
	}
	if err := s.dropLeftovers(); err != nil {
		return err
	}
	for _, info := range infos {
		s.episodes.add(info)
		if was := s.account.lostWith(info.Name); was != nil { // it was repaired, or is back
			if now, err := s.entitiesOf(info.Name); err == nil {
				s.account.found(info.Name, was, heldBy(now, o.Now()))
			}
		}
		s.sequence.Store(max(s.sequence.Load(), sequenceOf(info.Name)))
	}
	s.findMarks(infos)
	s.opened.Episodes = len(infos)
	s.journal, err = wal.OpenJournal(wal.JournalOptions{
		Dir: filepath.Join(o.Dir, logDir), Types: o.Types, FS: o.FS,
		Log: wal.Options{SyncEvery: o.SyncEvery, SegmentBytes: o.LogFileBytes},
		Health: func(memory string, err error) {
			s.health.set("the log of "+memory, err)
		},
	})
	if err != nil {
		return err
	}
	// The folders that were made must not be lost with what will be in them.
	if made {
		if err := o.FS.SyncDir(filepath.Dir(filepath.Clean(o.Dir))); err != nil {
			return err
		}
	}
	return o.FS.SyncDir(o.Dir)
}

func (s *Store) episodeOptions() episode.Options {
	return episode.Options{FS: s.options.FS, Types: s.options.Types, Cache: s.cache}
}

// salvage seals what a crash left open. What holds nothing of its own, as after a crash
// that came soon, is deleted.
func (s *Store) salvage(ctx context.Context, dir string) error {
	fsys := s.options.FS
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// Also of what cannot be read, so that no two episodes bear one number.
		s.sequence.Store(max(s.sequence.Load(), sequenceOf(e.Name())))
		name, left := strings.CutSuffix(e.Name(), openExt)
		if !left {
			continue
		}
		from, to := filepath.Join(dir, e.Name()), filepath.Join(dir, name+sealedExt)
		if _, err := fsys.Stat(to); err == nil {
			// The crash came between the sealed form and the end of the open one.
			if err := fsys.Remove(from); err != nil {
				return err
			}
			continue
		}
		if file, err := fsys.Stat(from); err == nil && file.Size() < episode.HeadBytes {
			// Not even the file's head was written, or reached the disk.
			if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		info, lost, err := episode.Repair(ctx, from, to, s.episodeOptions())
		switch {
		case engram.CodeOf(err) == engram.Canceled:
			return err
		case err != nil:
			s.opened.Problems = append(s.opened.Problems, e.Name()+": "+err.Error())
			s.options.Log.Error("an episode that was left open cannot be salvaged", "episode", e.Name(), "error", err)
			if err := fsys.Rename(from, from+".damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		for _, p := range lost {
			s.options.Log.Warn("an episode that was left open lost something", "episode", name, "offset", p.Offset, "what", p.What)
		}
		empty := info.Snapshots == info.InForce && len(info.Marks)+len(info.Losses)+len(lost) == 0
		if empty {
			// First the sealed form: a crash between the two does not leave that.
			if err := fsys.Remove(to); err != nil {
				return err
			}
		}
		if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if empty {
			continue
		}
		s.opened.Salvaged = append(s.opened.Salvaged, info)
	}
	return fsys.SyncDir(dir)
}

// Opened tells what opening the folder found.
func (s *Store) Opened() Opened { return s.opened }

// Dir returns the folder.
func (s *Store) Dir() string { return s.options.Dir }

// Journal returns the log for the working memory's configuration.
func (s *Store) Journal() *wal.Journal { return s.journal }

// Types returns the registry that the working memory must share.
func (s *Store) Types() *idf.Registry { return s.options.Types }

// Close ends the recorder once it has recorded what the working memory, which must be
// closed before, still held for it; seals the open episode and releases the folder. An
// episode that cannot be sealed stays for the next life to salvage.
func (s *Store) Close() error {
	s.close.Do(func() { s.closeErr = s.release() })
	return s.closeErr
}

func (s *Store) release() error {
	var errs []error
	if s.forgetter != nil {
		s.forgetter.close()
	}
	if s.rules != nil {
		s.rules.close()
	}
	if s.recorder != nil {
		errs = append(errs, s.recorder.close())
	}
	if s.episodes != nil {
		s.episodes.close()
	}
	if s.journal != nil {
		errs = append(errs, s.journal.Close())
	}
	if s.catalogue != nil {
		errs = append(errs, s.catalogue.Close())
	}
	if s.begun.Load() {
		s.account.change()
		errs = append(errs, s.saveAccount())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}
