package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/digests"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// episodeFolder is the folder of the episodes, for who changes it: sealed episodes are rewritten,
// merged and deleted here, one at a time each, while readers go on reading what they
// pinned. Safe for concurrent use.
type episodeFolder struct {
	*env
	account  *account
	disk     *disk
	sequence atomic.Uint64    // of the episode begun last
	left     map[string]error // files that could not be sealed at the start, and why
}

// files returns the names of the files in the folder.
func (a *episodeFolder) files() ([]string, error) { return filesIn(a.options.FS, a.disk.episodes.dir) }

func filesIn(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, dir, "the folder of the episodes cannot be read: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// nextName returns the name of an episode that begins at t.
func (a *episodeFolder) nextName(t engram.Time) string {
	return sequenced(t.Std().Format(beganLayout), a.sequence.Add(1))
}

func sequenced(began string, n uint64) string { return fmt.Sprintf("%s-%06d%s", began, n, sealedExt) }

// sequenceOf returns the number at the end of an episode's name.
func sequenceOf(name string) uint64 {
	name, _, _ = strings.Cut(name, ".")
	n, _ := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	return n
}

// nameLike returns the name of an episode that begins when the one of that name does.
func (a *episodeFolder) nameLike(name string) string {
	began := name[:max(0, strings.LastIndexByte(name, '-'))]
	return sequenced(began, a.sequence.Add(1))
}

// dropSuperseded deletes episodes whose content a crash left in another one, too: it
// came between their being taken together and their end.
func (a *episodeFolder) dropSuperseded(ctx context.Context, infos []episode.Info) ([]episode.Info, error) {
	gone := map[string]bool{}
	for i := range infos {
		for line := range strings.Lines(infos[i].Supersedes) {
			if name := strings.TrimSuffix(line, "\n"); name != infos[i].Name {
				gone[name] = true
			}
		}
	}
	var left []episode.Info
	var names []string
	for _, info := range infos {
		if !gone[info.Name] {
			left = append(left, info)
			continue
		}
		if err := a.disk.catalogue.Remove(ctx, info.Name); err != nil {
			return nil, err
		}
		names = append(names, info.Name)
	}
	if len(names) == 0 {
		return infos, nil
	}
	return left, a.removeFiles(names)
}

// dropLeftovers deletes what a crash left of files that were being written in the place
// of episodes.
func (a *episodeFolder) dropLeftovers() error {
	files, err := a.files()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(files, func(name string) bool {
		return !slices.ContainsFunc([]string{".rewrite", ".repair", ".merge"}, func(suffix string) bool { return strings.HasSuffix(name, sealedExt+suffix) })
	})
	if len(left) == 0 {
		return nil
	}
	return a.removeFiles(left)
}

// removeFiles removes files of episodes, first what could not be removed of them when they
// were sealed, and what is kept beside them.
func (a *episodeFolder) removeFiles(names []string) error {
	all := make([]string, 0, 4*len(names))
	for _, name := range names {
		if strings.HasSuffix(name, sealedExt) {
			all = append(all, openName(name), name+digests.Unfinished, name+digests.Ext)
		}
		all = append(all, name)
	}
	for _, name := range all {
		if err := a.options.FS.Remove(filepath.Join(a.disk.episodes.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return engram.Errorf(engram.Unavailable, name, "the file cannot be deleted: %w", err)
		}
	}
	if err := a.options.FS.SyncDir(a.disk.episodes.dir); err != nil {
		return engram.Errorf(engram.Unavailable, a.disk.episodes.dir, "deleted files may come back: %w", err)
	}
	return nil
}

// edit has change rewrite a sealed episode and takes what it returns in its place: the
// way to forget and to repair. No one else edits it meanwhile; who reads it goes on
// reading what was. change gets the file's path and returns what the file says now. With
// the episode comes what noting makes of the version that has it, given what it holds then.
// One that a crash left open is sealed first.
func (a *episodeFolder) edit(ctx context.Context, name string, change func(path string, o episode.Options) (episode.Info, error), noting func(*version, []episode.Entity)) error {
	h, ok := a.disk.episodes.get(name)
	if ok && h.left {
		if _, _, err := a.finishLeft(ctx, h, false); err != nil {
			return err
		}
		h, ok = a.disk.episodes.get(name)
	}
	if !ok {
		return engram.Errorf(engram.NotFound, name, "there is no such sealed episode")
	}
	return a.replace(ctx, h, change, noting)
}

// replace is edit for an episode as it stands.
func (a *episodeFolder) replace(ctx context.Context, h *handle, change func(path string, o episode.Options) (episode.Info, error), noting func(*version, []episode.Entity)) error {
	name := h.name
	h.lockEdit()
	defer h.unlockEdit()
	if err := a.isCurrent(h); err != nil {
		return err
	}
	if err := a.disk.episodes.hold(h); err != nil {
		return err
	}
	// Before the episode is another one; the same sync of the folder makes both durable.
	h.digests.Store(nil)
	err := a.dropDigests(name)
	var info episode.Info
	if err == nil {
		info, err = change(h.path(), a.disk.episodes.options)
	}
	if err != nil {
		a.disk.episodes.letGo(h)
		return err
	}
	// The file is another one now, whoever gives up.
	ctx = context.WithoutCancel(ctx)
	var entities []episode.Entity
	r, err := episode.Open(filepath.Join(a.disk.episodes.dir, info.Name), a.disk.episodes.options)
	if err == nil {
		entities = r.Entities()
		err = errors.Join(r.Close(), a.disk.catalogue.Put(ctx, info, entities, name))
	}
	a.disk.episodes.publish(func(next *version) {
		next.remove(name)
		next.add(info, math.MaxUint64)
		noting(next, entities)
	})
	return err
}

// isCurrent says if an episode was dropped or replaced; its edit lock is held.
func (a *episodeFolder) isCurrent(h *handle) error {
	if now, ok := a.disk.episodes.get(h.name); !ok || now != h {
		return engram.Errorf(engram.NotFound, h.name, "the episode was dropped or replaced meanwhile")
	}
	return nil
}

// dropFile deletes a sealed episode's file, of which everything that is known is forgotten.
func (a *episodeFolder) dropFile(ctx context.Context, h *handle, known *cut) error {
	name := h.name
	h.lockEdit()
	defer h.unlockEdit()
	if err := a.isCurrent(h); err != nil {
		return err
	}
	if err := a.disk.episodes.hold(h); err != nil {
		return err
	}
	h.digests.Store(nil)
	err := a.dropDigests(name)
	// First nobody finds it, then it is gone: a crash between the two leaves an episode
	// that is found again.
	if err == nil {
		err = a.disk.catalogue.Remove(ctx, name)
	}
	if err != nil {
		a.disk.episodes.letGo(h)
		return err
	}
	a.disk.episodes.publish(func(next *version) {
		next.remove(name)
		a.account.forgot(next, known.entities)
	})
	a.account.episodeGone(name)
	a.health.set(forgettingFrom+name, nil)
	return a.removeFiles([]string{name})
}

// entitiesOf returns what a sealed episode's file says that it holds.
func (a *episodeFolder) entitiesOf(name string) ([]episode.Entity, error) {
	r, err := episode.Open(filepath.Join(a.disk.episodes.dir, name), a.disk.episodes.options)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Entities(), nil
}
