package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// damagedExt ends the names of files that were left open and could not be salvaged.
const damagedExt = openExt + putAside

// Damaged implements [Service].
func (s *Store) Damaged(context.Context) ([]Damaged, error) {
	names, err := s.unreadable()
	if err != nil {
		return nil, err
	}
	var list []Damaged
	for _, name := range names {
		why := "the episode could not be salvaged after a crash"
		r, err := episode.Open(filepath.Join(s.episodes.dir, name), s.episodeOptions())
		if err == nil {
			r.Close()
		} else if !strings.HasSuffix(name, damagedExt) {
			why = err.Error()
		}
		list = append(list, Damaged{Name: name, Why: why})
	}
	return list, nil
}

// unreadable returns the names of the episodes' files that the store does not read.
func (s *Store) unreadable() ([]string, error) {
	entries, err := s.options.FS.ReadDir(s.episodes.dir)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, s.episodes.dir, "the folder of the episodes cannot be read: %w", err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		base, open := strings.CutSuffix(name, damagedExt)
		_, known := s.episodes.get(name)
		if open { // it was repaired since
			_, known = s.episodes.get(base + sealedExt)
		}
		if !known && (strings.HasSuffix(name, sealedExt) || strings.HasSuffix(name, damagedExt)) && !s.isWritten(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// putAside ends the names of damaged files that stand beside what was saved of them.
const putAside = ".damaged"

// unread returns the names of the files that may hold anything, for all the store knows.
func (s *Store) unread() ([]string, error) {
	names, err := s.unreadable()
	if err != nil {
		return nil, err
	}
	entries, err := s.options.FS.ReadDir(s.episodes.dir)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, s.episodes.dir, "the folder of the episodes cannot be read: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), putAside) && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// dropOriginals deletes the damaged files of which a repair has saved what it could:
// they may hold what is to be forgotten.
func (s *Store) dropOriginals() error {
	entries, err := s.options.FS.ReadDir(s.episodes.dir)
	if err != nil {
		return engram.Errorf(engram.Unavailable, s.episodes.dir, "the folder of the episodes cannot be read: %w", err)
	}
	for _, e := range entries {
		name, aside := strings.CutSuffix(e.Name(), putAside)
		if !aside {
			continue
		}
		if sealed, open := strings.CutSuffix(name, filepath.Ext(openExt)); open {
			// Nothing is saved of it unless there is an episode.
			if _, saved := s.episodes.get(sealed); !saved {
				continue
			}
		}
		if err := s.options.FS.Remove(filepath.Join(s.episodes.dir, e.Name())); err != nil {
			return engram.Errorf(engram.Unavailable, e.Name(), "it may hold what is to be forgotten and cannot be deleted: %w", err)
		}
	}
	return s.options.FS.SyncDir(s.episodes.dir)
}

// dropLeftovers deletes what a crash left of files that were being written in the place
// of episodes.
func (s *Store) dropLeftovers() error {
	entries, err := s.options.FS.ReadDir(s.episodes.dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		for _, suffix := range []string{".rewrite", ".repair", ".merge"} {
			if strings.HasSuffix(e.Name(), sealedExt+suffix) {
				names = append(names, e.Name())
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return s.removeFiles(names)
}

// isWritten reports whether a file is that of an episode that is being sealed.
func (s *Store) isWritten(name string) bool {
	return slices.ContainsFunc(s.episodes.writing(), func(h *handle) bool { return h.name == name })
}

// Repair implements [Service]. A file that could not be read stays beside the repaired
// one, under a name that ends in ".damaged".
func (s *Store) Repair(ctx context.Context, name string) (EpisodeInfo, []episode.Problem, error) {
	if h, ok := s.episodes.get(name); ok {
		return s.repairKnown(ctx, h)
	}
	names, err := s.unreadable()
	if err != nil {
		return EpisodeInfo{}, nil, err
	}
	if !slices.Contains(names, name) {
		return EpisodeInfo{}, nil, engram.Errorf(engram.NotFound, name, "there is no such sealed episode")
	}
	from := filepath.Join(s.episodes.dir, name)
	to := strings.TrimSuffix(name, damagedExt)
	to = filepath.Join(s.episodes.dir, strings.TrimSuffix(to, sealedExt)+sealedExt)
	if from == to {
		aside := from + putAside
		if err := s.options.FS.Rename(from, aside); err != nil {
			return EpisodeInfo{}, nil, engram.Errorf(engram.Unavailable, name, "the file cannot be put aside: %w", err)
		}
		from = aside
	}
	info, lost, err := episode.Repair(ctx, from, to, s.episodeOptions())
	var stays map[engram.ID]forgottenOf
	if err == nil {
		stays, err = s.takeIn(ctx, info)
	}
	if err != nil {
		if strings.HasSuffix(name, sealedExt) { // as it was
			err = errors.Join(err, s.options.FS.Rename(from, to))
		}
		return EpisodeInfo{}, lost, engram.Errorf(engram.CodeOf(err), name, "the episode cannot be repaired: %w", err)
	}
	return EpisodeInfo{Info: info, Kept: s.kept(info.Name)}, append(lost, s.noteLost(stays)...), nil
}

// noteLost writes down, and says of each entity, what stays lost of a repaired episode.
func (s *Store) noteLost(stays map[engram.ID]forgottenOf) (lost []episode.Problem) {
	s.health.set("the account", s.saveAccount())
	for _, id := range slices.SortedFunc(maps.Keys(stays), engram.ID.Compare) {
		lost = append(lost, episode.Problem{What: fmt.Sprintf("%d versions of %v stay lost", stays[id].Versions, id)})
	}
	return lost
}

// repairKnown repairs an episode that can be read, with something wrong in it.
func (s *Store) repairKnown(ctx context.Context, h *handle) (out EpisodeInfo, lost []episode.Problem, err error) {
	problems, err := s.Verify(ctx, h.name)
	if err != nil || len(problems) == 0 {
		return EpisodeInfo{Info: h.current(), Kept: s.kept(h.name)}, nil, err
	}
	was := heldBy(h.entities(), s.options.Now())
	var now []episode.Entity
	err = s.Edit(ctx, h.name, func(path string, o episode.Options) (info episode.Info, err error) {
		info, lost, err = episode.Repair(ctx, path, path, o)
		out = EpisodeInfo{Info: info, Kept: s.kept(info.Name)}
		if err == nil {
			now, err = s.entitiesOf(info.Name)
		}
		return info, err
	})
	if err != nil {
		return out, lost, err
	}
	return out, append(lost, s.noteLost(s.account.found(h.name, was, heldBy(now, s.options.Now())))...), nil
}

// entitiesOf returns what a sealed episode's file says that it holds.
func (s *Store) entitiesOf(name string) ([]episode.Entity, error) {
	r, err := episode.Open(filepath.Join(s.episodes.dir, name), s.episodeOptions())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Entities(), nil
}

// takeIn takes a sealed episode's file that the store did not know, and returns what stays
// lost of what it held.
func (s *Store) takeIn(ctx context.Context, info episode.Info) (stays map[engram.ID]forgottenOf, err error) {
	entities, err := s.entitiesOf(info.Name)
	if err != nil {
		return nil, err
	}
	if err := s.catalogue.Put(ctx, info, entities); err != nil {
		return nil, err
	}
	s.episodes.add(info)
	s.before.clear()
	return s.account.found(info.Name, s.account.lostWith(info.Name), heldBy(entities, s.options.Now())), nil
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
	entries, err := f.options.FS.ReadDir(filepath.Join(f.dir, episodesDir))
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, f.dir, "the folder of the episodes cannot be read: %w", err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		base, left := strings.CutSuffix(strings.TrimSuffix(name, putAside), openExt)
		if left {
			_, err := f.options.FS.Stat(filepath.Join(f.dir, episodesDir, base+sealedExt))
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
	dir := filepath.Join(f.dir, episodesDir)
	from := filepath.Join(dir, name)
	base, _ := strings.CutSuffix(name, damagedExt)
	base, _ = strings.CutSuffix(base, openExt)
	base, _ = strings.CutSuffix(base, sealedExt)
	to := filepath.Join(dir, base+sealedExt)
	if _, err := f.options.FS.Stat(to); err == nil && from != to {
		return episode.Info{}, nil, engram.Errorf(engram.AlreadyExists, name, "it was repaired already: %s is there", filepath.Base(to))
	}
	aside := strings.TrimSuffix(from, putAside) + putAside
	if from != aside {
		if err := f.options.FS.Rename(from, aside); err != nil {
			return episode.Info{}, nil, engram.Errorf(engram.Unavailable, name, "the file cannot be put aside: %w", err)
		}
	}
	info, lost, err := episode.Repair(ctx, aside, to, f.options)
	if err != nil {
		if from != aside {
			err = errors.Join(err, f.options.FS.Rename(aside, from))
		}
		return info, lost, engram.Errorf(engram.CodeOf(err), name, "the episode cannot be repaired: %w", err)
	}
	return info, lost, nil
}
