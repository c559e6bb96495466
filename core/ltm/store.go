package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
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
	// CloseWithin bounds how long Close records what the working memory still holds for
	// it, and tries to write what the disk refuses; default 2 min.
	CloseWithin time.Duration
	// AcceptLoss has the store open although something that was on the disk of its log is
	// gone; what that was is told from then on.
	AcceptLoss bool
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
	if o.CloseWithin <= 0 {
		o.CloseWithin = 2 * time.Minute
	}
	return o
}

// Store is a long-term memory. It implements engram.Reader, PartReader and
// LatestReader over what lies on disk and in the working memory, and [Service]. Safe
// for concurrent use.
//
// It opens and closes a folder and puts together the parts that do the work. Each has what
// it needs of the others.
type Store struct {
	env
	lock     *folderLock
	state    state
	policies policies
	account  account
	disk     disk
	logs     logs
	opened   Opened
	close    sync.Once
	closeErr error

	forgetting forgetLock // taken before any other lock
	episodeFolder
	repairer
	compactor
	keeper
	ruleSet
	orderBook
	forgetter
	reader
	recaller
	past
	administration
	aheads
	digester
}

// env is what every part of a store works with.
type env struct {
	options Options
	health  health
	// From Begin on; nil before, the recorder also while the log is read back.
	wm       *wm.WM
	recorder *recorder

	begun   atomic.Bool
	closing atomic.Bool
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
	manifestFile  = "manifest.json"
	sealedExt     = ".mcap"
	openExt       = ".mcap.open"
)

// Open opens a folder, or makes it. AlreadyExists if another server has it open; the
// message names its process. Episodes that a crash left open are salvaged first.
// Nothing is recorded before [Store.Begin].
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.WithDefaults()
	s := &Store{env: env{options: o, health: health{log: o.Log}}}
	s.compose()
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(engram.Errorf(engram.CodeOf(err), o.Dir, "the long-term memory cannot be opened: %w", err), s.release())
	}
	return s, nil
}

// compose gives each part what it needs of the others.
func (s *Store) compose() {
	e, o := &s.env, &s.options
	s.forgetting.reserve = newReserve(o.FS, o.Dir)
	files := &smallFiles{fs: o.FS, dir: o.Dir, health: &s.health, reserve: s.forgetting.reserve}
	s.disk.episodes = newEpisodeSet(filepath.Join(o.Dir, episodesDir), episode.Options{FS: o.FS, Types: o.Types, Cache: episode.NewCache(o.CacheBytes)}, o.Log)
	s.disk.episodes.rewriting = s.disk.before.clear
	s.disk.lost = &s.account.names
	s.policies.files, s.state.files, s.account.files = files, files, files
	s.account.now, s.account.episodes = o.Now, s.disk.episodes

	s.episodeFolder.env, s.episodeFolder.account, s.episodeFolder.disk = e, &s.account, &s.disk
	s.repairer = repairer{env: e, folder: &s.episodeFolder, account: &s.account, state: &s.state, forgetting: &s.forgetting}
	s.compactor = compactor{e, &s.forgetting, &s.episodeFolder, &s.account, &s.state}
	s.keeper.env, s.keeper.state, s.keeper.disk = e, &s.state, &s.disk
	s.keeper.growth.changed = make(chan struct{}, 1)
	s.ruleSet.env, s.ruleSet.state, s.ruleSet.keeper = e, &s.state, &s.keeper
	s.orderBook = orderBook{e, &s.state, &s.disk, &s.keeper}
	s.forgetter = forgetter{
		env: e, forgetting: &s.forgetting, state: &s.state, account: &s.account, logs: &s.logs, disk: &s.disk,
		folder: &s.episodeFolder, repairer: &s.repairer, compactor: &s.compactor, keeper: &s.keeper, orders: &s.orderBook, aheads: &s.aheads,
		retention: &retention{e, &s.policies, &s.state, &s.account, &s.disk, &s.keeper}, ledger: &ledger{e, &s.account},
	}
	s.reader = reader{e, &s.policies, &s.account, &s.disk, &s.logs}
	s.recaller = recaller{e, &s.policies, &s.account, &s.forgetting, &s.reader}
	s.past = past{e, &s.state, &s.policies, &s.account, &s.disk}
	s.aheads.env, s.aheads.disk = e, &s.disk
	s.digester.env, s.digester.disk, s.digester.folder = e, &s.disk, &s.episodeFolder
	s.administration = administration{e, &s.policies, &s.account, &s.state, &s.disk, &s.logs, &s.repairer}
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
	if s.policies.Table, err = policy.NewTable(o.Policies); err != nil {
		return err
	}
	if err := s.policies.load(); err != nil {
		return err
	}
	if err := s.state.load(); err != nil {
		return err
	}
	if err := s.account.load(); err != nil {
		return err
	}
	if s.opened, err = s.episodeFolder.salvage(ctx); err != nil {
		return err
	}
	var problems []catalogue.Problem
	s.disk.catalogue, problems, err = catalogue.Open(ctx, catalogue.Options{
		Dir: dir, File: filepath.Join(o.Dir, catalogueFile), Episode: s.disk.episodes.options, Log: o.Log,
		Left: slices.Sorted(maps.Keys(s.episodeFolder.left)),
	})
	if err != nil {
		return err
	}
	for _, p := range problems {
		s.repairer.tellProblem(p)
		s.opened.Problems = append(s.opened.Problems, fmt.Sprintf("%s: %v", p.Name, p.Err))
	}
	infos, err := s.disk.catalogue.Episodes(ctx, engram.Always())
	if err != nil {
		return err
	}
	if infos, err = s.episodeFolder.dropSuperseded(ctx, infos); err != nil {
		return err
	}
	if err := s.episodeFolder.dropLeftovers(); err != nil {
		return err
	}
	back := map[string]map[engram.ID]forgottenOf{} // what damaged episodes hold that were repaired
	damaged := s.disk.episodes.current().damaged
	for _, info := range infos {
		if damaged[info.Name] != nil && info.Damage == nil {
			file := info.Name
			if !info.Sealed {
				file = openName(file)
			}
			if now := s.episodeFolder.heldIn(file); now != nil {
				back[info.Name] = now
			}
		}
		s.episodeFolder.sequence.Store(max(s.episodeFolder.sequence.Load(), sequenceOf(info.Name)))
	}
	s.repairer.noteDamaged(problems, infos)
	s.disk.episodes.publish(func(next *version) {
		for _, info := range infos {
			next.add(info, math.MaxUint64)
		}
		noted := s.state.content()
		next.removed, next.lives = noted.Removed, noted.Lives
		for name, now := range back {
			s.account.found(next, name, next.damaged[name], now)
		}
	})
	s.repairer.noteRefused(problems)
	if err := s.repairer.noteUnread(ctx, infos); err != nil {
		return err
	}
	s.keeper.findMarks(infos)
	s.opened.Episodes = len(infos)
	if err := s.openJournal(); err != nil {
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

// openJournal opens the log. What is gone of it, and was accepted as lost, is noted before
// the log does not know of it any more.
func (s *Store) openJournal() (err error) {
	o := &s.options
	s.logs.Journal, err = wal.OpenJournal(wal.JournalOptions{
		Dir: filepath.Join(o.Dir, logDir), Manifest: filepath.Join(o.Dir, manifestFile), AcceptLoss: o.AcceptLoss, Types: o.Types, FS: o.FS,
		Log: wal.Options{SyncEvery: o.SyncEvery, SegmentBytes: o.LogFileBytes},
		Health: func(memory string, err error) {
			s.health.set("the log of "+memory, err)
		},
		Unwritten:      s.account.setUnwritten,
		ManifestHealth: func(err error) { s.health.set("the log's manifest", err) },
	})
	if err != nil {
		return err
	}
	if gone := s.logs.Journal.Gone(); len(gone) > 0 {
		s.account.noteLogLosses(gone)
		return s.account.save()
	}
	return nil
}

// Opened tells what opening the folder found.
func (s *Store) Opened() Opened { return s.opened }

// Dir returns the folder.
func (s *Store) Dir() string { return s.options.Dir }

// Journal returns the log for the working memory's configuration.
func (s *Store) Journal() *wal.Journal { return s.logs.Journal }

// Types returns the registry that the working memory must share.
func (s *Store) Types() *idf.Registry { return s.options.Types }

// Close ends the recorder once it has recorded what the working memory, which must be
// closed before, still holds for it; seals the open episode and releases the folder. An
// episode that cannot be sealed stays for the next epoch to salvage. If the recorder is
// not done within Options.CloseWithin, or the disk refuses until then what a log was to
// write and no episode holds, the error wraps [ErrLeft] and names what is left;
// meanwhile Figures tells how far it is.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.closing.Store(true)
		s.closeErr = s.release()
	})
	return s.closeErr
}

func (s *Store) release() error {
	var errs []error
	s.digester.close()
	s.forgetter.close()
	s.ruleSet.close()
	if s.recorder != nil {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.CloseWithin)
		errs = append(errs, s.recorder.close(ctx))
		if !s.recorder.sealer.complete {
			s.logs.Settle(ctx)
		}
		cancel()
	}
	s.disk.episodes.close()
	if s.logs.Journal != nil {
		if err := s.logs.Journal.Close(); s.recorder == nil || !s.recorder.sealer.complete { // else nothing is lost with it
			errs = append(errs, err)
		}
	}
	if s.recorder != nil {
		var unwritten map[string]uint64
		if !s.recorder.sealer.complete { // else sealed episodes hold it
			unwritten = s.logs.Unwritten()
		}
		errs = append(errs, errorOfLeft(s.recorder, unwritten))
		s.recorder.lossCount.noteAtEnd(context.Background(), s.recorder, unwritten)
		s.account.endUnwritten()
	}
	if s.disk.catalogue != nil {
		errs = append(errs, s.disk.catalogue.Close())
	}
	if s.begun.Load() {
		s.account.change()
		errs = append(errs, s.account.save())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}
