package ltm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/digests"
	"github.com/seed-301d4374/engram/core/query"
)

// digester keeps digests beside sealed episodes: what indexes take of their versions, so that
// an index is filled without reading payloads ([query.Digester]). In the background it writes
// those that are lacking, of the newest episode first, while nothing else is to be done.
//
// A file is written under the episode's edit lock, and who rewrites or drops the episode has it
// give way and then deletes the file ([episodeFolder.dropDigests]): what is forgotten of an
// episode is in no file beside it either, finished or not.
type digester struct {
	*env
	disk   *disk
	folder *episodeFolder
	prints typeCache

	passing sync.Mutex // held by who looks through the episodes, for the next three
	swept   bool       // what is beside no episode was deleted
	refused retry      // by the disk
	began   time.Time  // when it began to work without a rest

	ctx    context.Context // of the background
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// kept is what the digester knows of the file beside an episode.
type kept struct {
	formats []string // that it has, of types as they are known
	never   error    // why there can be none as long as the episode is as it is
}

// has reports whether the file has the digests of an index.
func (k *kept) has(of query.Digester) bool {
	return k != nil && slices.Contains(k.formats, of.Format())
}

// The digester works for a while, and then rests for so many times as long.
const (
	digestWork     = 20 * time.Millisecond
	restOfDigester = 9
)

// keepingDigests is what the store's health calls it.
const keepingDigests = "what indexes keep beside episodes"

// start begins the background.
func (d *digester) start() {
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.done.Go(d.run)
}

// close ends the background, if it was started, with what it is writing.
func (d *digester) close() {
	if d.cancel != nil {
		d.cancel()
		d.done.Wait()
	}
}

func (d *digester) run() {
	ticker := time.NewTicker(min(lookAtDisk, d.options.ForgetEvery))
	defer ticker.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-ticker.C:
		}
		d.work(d.ctx)
	}
}

// work writes what is lacking, and tells whether the disk takes it. What it refuses is tried
// again ever more rarely.
func (d *digester) work(ctx context.Context) {
	d.passing.Lock()
	defer d.passing.Unlock()
	now := time.Now()
	if now.Before(d.refused.at) {
		return
	}
	err := d.pass(ctx)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		d.refused = retry{}
		d.health.set(keepingDigests, nil)
		return
	}
	d.refused.pause = min(max(2*d.refused.pause, lookAtDisk), maxRetry)
	d.refused.at = now.Add(d.refused.pause)
	d.health.set(keepingDigests, engram.Errorf(engram.CodeOf(err), "", "nothing is lost, and it is tried again; indexes read the episodes themselves: %w", err))
}

// pass looks what is lacking, and writes it as long as nothing else is to be done. An error is
// the first that says that the disk refuses.
func (d *digester) pass(ctx context.Context) error {
	of := d.wm.Indexes().Digesters()
	if len(of) == 0 {
		return nil
	}
	lacking, err := d.survey(ctx, of)
	if err == nil && !d.swept {
		err = d.sweep()
		d.swept = err == nil
	}
	d.began = time.Now()
	for _, h := range lacking {
		if errors.Is(err, digests.ErrUnwritten) || ctx.Err() != nil || !d.isIdle() {
			break
		}
		err = cmp.Or(err, d.write(ctx, h, of))
	}
	return err
}

// survey returns the sealed episodes beside which something is lacking and can be, the newest
// first.
func (d *digester) survey(ctx context.Context, of []query.Digester) ([]*handle, error) {
	var refused error
	for _, h := range d.disk.episodes.current().sealed {
		if ctx.Err() != nil {
			break
		}
		if h.digests.Load() == nil {
			refused = cmp.Or(refused, d.look(h))
		}
	}
	lacking := slices.DeleteFunc(undigested(d.disk.episodes.current(), of), func(h *handle) bool {
		k := h.digests.Load()
		return h.left || k != nil && k.never != nil
	})
	slices.SortFunc(lacking, func(a, b *handle) int { return strings.Compare(b.name, a.name) })
	return lacking, refused
}

// undigested returns the sealed episodes of a version whose payloads are read to fill an index.
func undigested(v *version, of []query.Digester) []*handle {
	return slices.DeleteFunc(slices.Collect(maps.Values(v.sealed)), func(h *handle) bool {
		k := h.digests.Load()
		return !slices.ContainsFunc(of, func(of query.Digester) bool { return !k.has(of) })
	})
}

// isIdle reports whether the recorder has little to do, and the disk room for what is not
// needed.
func (d *digester) isIdle() bool {
	p := &d.recorder.progress
	p.mu.Lock()
	stalled := p.stalled || d.recorder.sealer.stalled.Load()
	p.mu.Unlock()
	if stalled || p.done.Load()+nearlyAll < p.told(d.wm.Number()) {
		return false
	}
	total, free, err := d.options.FS.Space(d.options.Dir)
	return err != nil || float64(total-min(free, total)) <= d.options.DiskLimit*float64(total)
}

// look finds out what is kept beside an episode. What is there and is of no use is deleted; an
// error says that it cannot be.
func (d *digester) look(h *handle) error {
	if h.left {
		return nil
	}
	f, err := d.open(h)
	if err == nil {
		defer f.Close()
		h.digests.Store(&kept{formats: f.Head().Formats})
		return nil
	}
	h.digests.Store(&kept{})
	if engram.CodeOf(err) == engram.NotFound || isRefused(err) || !h.edit.TryLock() { // who has it deletes it, or changes nothing
		return nil
	}
	defer h.edit.Unlock()
	if d.folder.isCurrent(h) != nil {
		return nil
	}
	d.options.Log.Info("what indexes keep beside an episode is made anew", "episode", h.name, "why", err)
	return d.folder.dropDigests(h.name)
}

// open opens what is kept beside an episode. NotFound says that there is nothing, Corrupt that
// it is of another file, or damaged.
func (d *digester) open(h *handle) (*digests.File, error) {
	f, err := digests.Open(d.options.FS, h.path())
	if err != nil {
		return nil, err
	}
	if err := d.isOf(h, f.Head()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isOf returns nil if digests are of the file that an episode has now, and of types as they are
// known now.
func (d *digester) isOf(h *handle, head *digests.Head) error {
	of, err := episode.FingerprintOf(h.path(), d.disk.episodes.options)
	if err != nil {
		return err
	}
	if head.Episode != h.name || head.Of != of {
		return engram.Errorf(engram.Corrupt, h.name, "what is kept beside it is of another file, %s", head.Episode)
	}
	for name, want := range head.Types {
		is := d.prints.of(d.options.Types, name)
		if is == "" && want != "" {
			if err := h.learn(); err != nil {
				return err
			}
			is = d.prints.of(d.options.Types, name)
		}
		if is != want {
			return engram.Errorf(engram.Corrupt, h.name, "the type %s was another one when it was looked through", name)
		}
	}
	return nil
}

// learn makes the types of an episode known.
func (h *handle) learn() error {
	src, err := h.open()
	if err != nil {
		return err
	}
	defer h.close()
	for _, e := range src.Entities() {
		_, err := src.Timeline(e.ID)
		return err
	}
	return nil
}

// eachKept visits the digests that are kept beside an episode. ok is false if all of its
// versions are to be looked at.
func (d *digester) eachKept(ctx context.Context, h *handle, of query.Digester, visit func(engram.ID, engram.Time, []byte) error) (ok bool, err error) {
	if k := h.digests.Load(); h.left || h.damage.Load() != nil || k != nil && !k.has(of) {
		return false, nil
	}
	var unwanted error // what is visited
	f, err := d.open(h)
	if err == nil {
		defer f.Close()
		err = f.Each(ctx, of.Format(), func(id engram.ID, t engram.Time, digest []byte) error {
			err := visit(id, t, digest)
			if err != nil && engram.CodeOf(err) != engram.Corrupt {
				unwanted = err
			}
			return err
		})
	}
	switch code := engram.CodeOf(err); {
	case err == nil:
		h.digests.CompareAndSwap(nil, &kept{formats: f.Head().Formats})
		return true, nil
	case unwanted != nil || ctx.Err() != nil || code != engram.NotFound && code != engram.Corrupt && !isRefused(err):
		return false, err
	}
	h.digests.Store(&kept{}) // it is made anew
	return false, nil
}

// errGivesWay says that somebody else wants to do something with an episode.
var errGivesWay = errors.New("it gives way")

// write writes what is lacking beside an episode, unless somebody else has to do with it. An
// error says that the disk refuses.
func (d *digester) write(ctx context.Context, h *handle, of []query.Digester) error {
	if !h.edit.TryLock() {
		return nil
	}
	defer h.edit.Unlock()
	if d.folder.isCurrent(h) != nil {
		return nil
	}
	k, err := d.make(ctx, h, of)
	switch {
	case err == nil:
		h.digests.Store(k)
	case ctx.Err() != nil || errors.Is(err, errGivesWay):
	case errors.Is(err, digests.ErrTooLarge) || !isRefused(err) && (isDamage(err) || engram.CodeOf(err) == engram.NotFound):
		d.options.Log.Info("indexes keep nothing beside an episode", "episode", h.name, "why", err)
		h.digests.Store(&kept{never: err})
	default:
		return err
	}
	return nil
}

// make writes the file beside an episode; its edit lock is held.
func (d *digester) make(ctx context.Context, h *handle, of []query.Digester) (k *kept, err error) {
	if h.damage.Load() != nil {
		return nil, *h.damage.Load()
	}
	head := digests.Head{Episode: h.name}
	if head.Of, err = episode.FingerprintOf(h.path(), d.disk.episodes.options); err != nil {
		return nil, err
	}
	for _, of := range of {
		head.Formats = append(head.Formats, of.Format())
	}
	w, err := digests.Create(d.options.FS, h.path(), head)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	types := typePrints{cache: &d.prints, types: d.options.Types, prints: map[string]string{}}
	var unread error
	work := digesting{
		of: of, types: &types, pause: func() error { return d.pause(ctx, h) },
		visit: w.Add,
	}
	err = work.episode(ctx, h, func(id engram.ID) {
		unread = engram.Errorf(engram.Corrupt, h.name, "something of %v cannot be read", id)
	})
	if err = cmp.Or(err, unread); err != nil {
		return nil, err
	}
	if err := w.Finish(types.prints); err != nil {
		return nil, err
	}
	return &kept{formats: head.Formats}, nil
}

// pause has the digester rest when it has worked for a while, until nothing else is to be done.
// An error says that it is to end.
func (d *digester) pause(ctx context.Context, h *handle) error {
	if err := d.mayGoOn(ctx, h); err != nil {
		return err
	}
	worked := time.Since(d.began)
	if worked < digestWork {
		return nil
	}
	for rest := restOfDigester * worked; ; rest = restOfDigester * digestWork {
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-d.disk.episodes.givesWay:
		case <-ctx.Done():
		}
		timer.Stop()
		if err := d.mayGoOn(ctx, h); err != nil {
			return err
		}
		if d.isIdle() {
			d.began = time.Now()
			return nil
		}
	}
}

func (d *digester) mayGoOn(ctx context.Context, h *handle) error {
	if h.wanted.Load() > 0 {
		return errGivesWay
	}
	if ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, h.name, "the store is closing")
	}
	return nil
}

// lockEdit locks an episode for who rewrites, drops or verifies it. The digester gives way.
func (h *handle) lockEdit() {
	h.wanted.Add(1)
	select {
	case h.set.givesWay <- struct{}{}:
	default:
	}
	h.edit.Lock()
}

func (h *handle) unlockEdit() {
	h.wanted.Add(-1)
	h.edit.Unlock()
}

// dropDigests deletes what is kept beside an episode, or was to be. The caller holds the
// episode's edit lock. Who changes the folder then has to make that durable, too.
func (a *episodeFolder) dropDigests(name string) error {
	for _, ext := range []string{digests.Unfinished, digests.Ext} {
		if err := a.options.FS.Remove(filepath.Join(a.disk.episodes.dir, name+ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return engram.Errorf(engram.Unavailable, name+ext, "the file, which has something of the episode, cannot be deleted: %w", err)
		}
	}
	return nil
}

// sweep deletes what is kept beside episodes that are not there, and what a crash left of files
// that were being written.
func (d *digester) sweep() error {
	files, err := d.folder.files()
	if err != nil {
		return err
	}
	dropped := false
	for _, file := range files {
		name, unfinished := strings.CutSuffix(file, digests.Unfinished)
		finished := false
		if !unfinished {
			name, finished = strings.CutSuffix(file, digests.Ext)
		}
		h, there := d.disk.episodes.get(name)
		if !unfinished && !finished || finished && there && !h.left {
			continue
		}
		if err := d.options.FS.Remove(filepath.Join(d.disk.episodes.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return engram.Errorf(engram.Unavailable, file, "it is of no use, and cannot be deleted: %w", err)
		}
		dropped = true
	}
	if !dropped {
		return nil
	}
	return d.options.FS.SyncDir(d.disk.episodes.dir)
}

// typePrints are the types of some payloads, each with what tells its definition from others.
type typePrints struct {
	cache  *typeCache
	types  *idf.Registry
	prints map[string]string
}

// note notes a type as it is known when it is met first.
func (p *typePrints) note(name string) {
	if _, noted := p.prints[name]; !noted {
		p.prints[name] = p.cache.of(p.types, name)
	}
}

// typeCache has what tells definitions of types apart. Safe for concurrent use.
type typeCache struct {
	mu     sync.Mutex
	prints map[*idf.Type]string
}

// of returns what tells the type of that name from others; "" if it is not known.
func (c *typeCache) of(types *idf.Registry, name string) string {
	t, ok := types.Get(name)
	if !ok {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	print, ok := c.prints[t]
	if !ok {
		sum := sha256.Sum256(t.Def().Descriptors)
		print = hex.EncodeToString(sum[:8])
		if c.prints == nil {
			c.prints = map[*idf.Type]string{}
		}
		c.prints[t] = print
	}
	return print
}
