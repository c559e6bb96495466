package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// damagedExt ends the names of files that were left open and could not be salvaged.
const damagedExt = openExt + putAside

// repairer finds and repairs damaged episodes, and knows what is lost of them.
type repairer struct {
	*env
	folder     *episodeFolder
	account    *account
	state      *state
	forgetting *forgetLock
	refused    map[string]*retry // files that the system refused at the start; by forgetting
	unsynced   error             // why what is served as a crash left it may be on no disk; of the start
}

// Damaged implements [Service].
func (rep *repairer) Damaged(context.Context) ([]Damaged, error) {
	names, err := rep.folder.unreadable()
	if err != nil {
		return nil, err
	}
	var list []Damaged
	for _, name := range names {
		why := "the episode could not be salvaged after a crash"
		r, err := episode.Open(filepath.Join(rep.folder.disk.episodes.dir, name), rep.folder.disk.episodes.options)
		if err == nil {
			r.Close()
		} else if !strings.HasSuffix(name, damagedExt) || isRefused(err) {
			why = err.Error()
		}
		list = append(list, Damaged{Name: name, Why: why})
	}
	return list, nil
}

// unreadable returns the names of the episodes' files that the store does not read.
func (a *episodeFolder) unreadable() ([]string, error) {
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range files {
		known := false
		if of := repairedName(name); of == name || a.left[name] != nil || strings.HasSuffix(name, damagedExt) {
			_, known = a.disk.episodes.get(of) // perhaps it was repaired since
		} else {
			continue // it is being written, or stays beside what was saved of it
		}
		if !known && !a.isWritten(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// putAside ends the names of damaged files that stand beside what was saved of them.
const putAside = ".damaged"

// unread returns the names of the files that may hold anything, for all the store knows:
// also of those that are damaged and were not written anew since.
func (a *episodeFolder) unread() ([]string, error) {
	names, err := a.unreadable()
	if err != nil {
		return nil, err
	}
	files, err := a.files()
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, putAside) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name, h := range a.disk.episodes.current().sealed {
		if h.damage.Load() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// dropOriginals deletes the damaged files of which a repair has saved what it could:
// they may hold what is to be forgotten.
func (a *episodeFolder) dropOriginals() error {
	files, err := a.files()
	if err != nil {
		return err
	}
	for _, file := range files {
		name, aside := strings.CutSuffix(file, putAside)
		if !aside {
			continue
		}
		if sealed, open := strings.CutSuffix(name, filepath.Ext(openExt)); open {
			// Nothing is saved of it unless there is an episode.
			if _, saved := a.disk.episodes.get(sealed); !saved {
				continue
			}
		}
		if err := a.options.FS.Remove(filepath.Join(a.disk.episodes.dir, file)); err != nil {
			return engram.Errorf(engram.Unavailable, file, "it may hold what is to be forgotten and cannot be deleted: %w", err)
		}
	}
	return a.options.FS.SyncDir(a.disk.episodes.dir)
}

// isWritten reports whether a file is that of an episode that is being sealed.
func (a *episodeFolder) isWritten(name string) bool {
	return slices.ContainsFunc(a.disk.episodes.writing(), func(h *handle) bool { return h.name == name })
}

// Repair implements [Service]. A file that could not be read stays beside the repaired
// one, under a name that ends in ".damaged".
func (rep *repairer) Repair(ctx context.Context, name string) (EpisodeInfo, []episode.Problem, error) {
	if err := rep.forgetting.lock(ctx); err != nil {
		return EpisodeInfo{}, nil, err
	}
	defer rep.forgetting.unlock()
	h, ok := rep.folder.disk.episodes.get(name)
	if !ok && strings.HasSuffix(name, openExt) { // perhaps it was sealed meanwhile
		h, ok = rep.folder.disk.episodes.get(repairedName(name))
	}
	if ok {
		return rep.repairKnown(ctx, h)
	}
	names, err := rep.folder.unreadable()
	if err != nil {
		return EpisodeInfo{}, nil, err
	}
	if !slices.Contains(names, name) {
		return EpisodeInfo{}, nil, engram.Errorf(engram.NotFound, name, "there is no such sealed episode")
	}
	var stays map[engram.ID]forgottenOf
	aside := strings.TrimSuffix(name, putAside) + putAside
	info, lost, err := repairFile(ctx, rep.folder.disk.episodes.dir, name, rep.folder.disk.episodes.options, func(info episode.Info) (err error) {
		stays, err = rep.takeIn(ctx, info, rep.folder.heldIn(aside))
		return err
	})
	if err != nil {
		return EpisodeInfo{}, lost, err
	}
	return EpisodeInfo{Info: info, Kept: rep.state.keeps(info.Name)}, append(lost, rep.noteLost(stays)...), nil
}

// repairedName returns the name of the episode that a repair makes of a file.
func repairedName(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, putAside), openExt), sealedExt) + sealedExt
}

// repairFile makes an episode of what can be saved of a damaged file, and has it adopted.
// The file stays beside it, under a name that ends in putAside; if it fails, as it was.
func repairFile(ctx context.Context, dir, name string, o episode.Options, adopt func(episode.Info) error) (info episode.Info, lost []episode.Problem, err error) {
	err = puttingAside(o.FS, filepath.Join(dir, name), func(aside string) (err error) {
		info, lost, err = episode.Repair(ctx, aside, filepath.Join(dir, repairedName(name)), o)
		if err == nil {
			err = adopt(info)
		}
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), name, "the episode cannot be repaired: %w", err)
		}
		return nil
	})
	return info, lost, err
}

// puttingAside has a file that is put aside, under a name that ends in putAside, made into
// another one. If that fails the file is as it was.
func puttingAside(fsys vfs.FS, path string, repair func(aside string) error) error {
	aside := strings.TrimSuffix(path, putAside) + putAside
	if path != aside {
		if err := fsys.Rename(path, aside); err != nil {
			return engram.Errorf(engram.Unavailable, filepath.Base(path), "the file cannot be put aside: %w", err)
		}
	}
	err := repair(aside)
	if err != nil && path != aside {
		err = errors.Join(err, fsys.Rename(aside, path))
	}
	return err
}

// noteLost writes down, and says of each entity, what stays lost of a repaired episode.
func (rep *repairer) noteLost(stays map[engram.ID]forgottenOf) (lost []episode.Problem) {
	rep.account.saveSoon()
	for _, id := range slices.SortedFunc(maps.Keys(stays), engram.ID.Compare) {
		lost = append(lost, episode.Problem{What: fmt.Sprintf("%d versions of %v stay lost", stays[id].Versions, id)})
	}
	return lost
}

// repairKnown repairs an episode that can be read, with something wrong in it.
func (rep *repairer) repairKnown(ctx context.Context, h *handle) (out EpisodeInfo, lost []episode.Problem, err error) {
	if h.left {
		sealed, stays, err := rep.folder.finishLeft(ctx, h, true)
		if err != nil {
			err = engram.Errorf(engram.CodeOf(err), h.name, "it was left open by a crash and cannot be sealed yet: %w", err)
		}
		return EpisodeInfo{Info: sealed.info, Kept: rep.state.keeps(h.name)}, append(sealed.lost, rep.noteLost(stays)...), err
	}
	problems, err := rep.Verify(ctx, h.name)
	if err != nil || len(problems) == 0 {
		return EpisodeInfo{Info: h.current(), Kept: rep.state.keeps(h.name)}, nil, err
	}
	pinned := rep.folder.disk.episodes.pin()
	was := heldBy(h.entities(), rep.options.Now())
	pinned.release()
	var stays map[engram.ID]forgottenOf
	err = rep.folder.edit(ctx, h.name, func(path string, o episode.Options) (info episode.Info, err error) {
		repair := func(from string) (err error) {
			info, lost, err = episode.Repair(ctx, from, path, o)
			return err
		}
		if h.info.Damage != nil { // its end is not whole: who knows what else can be found in it
			err = puttingAside(o.FS, path, repair)
		} else {
			err = repair(path)
		}
		out = EpisodeInfo{Info: info, Kept: rep.state.keeps(info.Name)}
		return info, err
	}, func(next *version, now []episode.Entity) {
		rep.account.found(next, h.name, was, heldBy(now, rep.options.Now()))
		stays = next.damaged[h.name+putAside]
	})
	if err != nil {
		return out, lost, err
	}
	return out, append(lost, rep.noteLost(stays)...), nil
}

// takeIn takes a sealed episode's file that the store did not know, and returns what stays
// lost of what it held: of what was known of it, and of what was found in its file.
func (rep *repairer) takeIn(ctx context.Context, info episode.Info, was map[engram.ID]forgottenOf) (stays map[engram.ID]forgottenOf, err error) {
	entities, err := rep.folder.entitiesOf(info.Name)
	if err != nil {
		return nil, err
	}
	if err := rep.folder.disk.catalogue.Put(ctx, info, entities); err != nil {
		return nil, err
	}
	rep.folder.disk.repaired.Add(1)
	rep.folder.disk.episodes.publish(func(next *version) {
		next.add(info, math.MaxUint64)
		next.readAgain(info.Name)
		stays = rep.account.found(next, info.Name, more(next.damaged[info.Name], was), heldBy(entities, rep.options.Now()))
	})
	return stays, nil
}

// Folder is a store's folder without a server: its episodes can be checked and
// repaired. It keeps servers away until it is closed.
type Folder struct {
	dir     string
	lock    *folderLock
	options episode.Options
}

// OpenFolder opens the folder of a store that no server has open; AlreadyExists names
// the server otherwise, and NotFound says that it is no such folder.
func OpenFolder(dir string) (*Folder, error) {
	o := Options{Dir: dir}.WithDefaults()
	if _, err := o.FS.Stat(filepath.Join(dir, episodesDir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, engram.Errorf(engram.NotFound, dir, "is no folder of a long-term memory: it holds no folder %s", episodesDir)
		}
		return nil, engram.Errorf(engram.Unavailable, dir, "cannot be read: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, lock: lock, options: episode.Options{FS: o.FS, Types: o.Types}}, nil
}

// Close lets servers use the folder again.
func (f *Folder) Close() error { return f.lock.release() }

// Episodes returns the names of the episodes' files, also of those that a crash left
// open.
func (f *Folder) Episodes() ([]string, error) {
	files, err := filesIn(f.options.FS, filepath.Join(f.dir, episodesDir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range files {
		left := wasLeftOpen(name)
		if left {
			_, err := f.options.FS.Stat(filepath.Join(f.dir, episodesDir, repairedName(name)))
			left = err != nil // it was sealed, or repaired, since
		}
		if left || strings.HasSuffix(name, sealedExt) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Verify checks every CRC, count and reference of an episode. That a crash left it open
// is a problem, too.
func (f *Folder) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	if !strings.HasSuffix(name, sealedExt) {
		return []episode.Problem{{What: "the episode was left open by a crash; the next server, or a repair, seals it"}}, nil
	}
	return episode.Verify(ctx, filepath.Join(f.dir, episodesDir, name), f.options)
}

// Repair saves what can be saved of an episode and returns it with what is lost. The
// file that was damaged stays beside the repaired one, under a name that ends in
// ".damaged".
func (f *Folder) Repair(ctx context.Context, name string) (episode.Info, []episode.Problem, error) {
	dir, to := filepath.Join(f.dir, episodesDir), repairedName(name)
	if _, err := f.options.FS.Stat(filepath.Join(dir, to)); err == nil && name != to {
		return episode.Info{}, nil, engram.Errorf(engram.AlreadyExists, name, "it was repaired already: %s is there", to)
	}
	return repairFile(ctx, dir, name, f.options, func(episode.Info) error { return nil })
}
