package ltm

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// Episodes are taken together if each is smaller than this share of the size at which
// one is sealed, up to that share of it.
const (
	compactSmall = 8
	compactFull  = 2
)

// Compact implements [Service]. Episodes of one life that follow each other are taken
// together, but for kept ones.
func (s *Store) Compact(ctx context.Context, dryRun bool, progress Progress) (Compacted, error) {
	var done Compacted
	if err := s.forgetting.lock(ctx); err != nil {
		return done, err
	}
	defer s.forgetting.unlock()
	groups := s.smallEpisodes()
	for i, g := range groups {
		progress.Tell(i, len(groups))
		var before, after int64
		for _, h := range g {
			before += h.info.Bytes
		}
		if !dryRun {
			info, err := s.merge(ctx, g)
			switch code := engram.CodeOf(err); {
			case code == engram.Corrupt || code == engram.NotFound:
				s.options.Log.Warn("episodes cannot be taken together", "first", g[0].name, "error", err)
				continue
			case err != nil:
				return done, err
			}
			after = info.Bytes
		}
		done.Before += len(g)
		done.After++
		done.BytesBefore += before
		done.BytesAfter += after
	}
	progress.Tell(len(groups), len(groups))
	return done, s.saveAccount()
}

// smallEpisodes returns groups of episodes that may be taken together.
func (s *Store) smallEpisodes() [][]*handle {
	var all []*handle
	for _, h := range s.episodes.all() {
		if _, sealed := s.episodes.get(h.name); sealed {
			all = append(all, h)
		}
	}
	// By their names, which begin with the times at which they were begun.
	slices.SortFunc(all, func(a, b *handle) int { return cmp.Compare(a.name, b.name) })
	var groups [][]*handle
	var group []*handle
	var bytes int64
	end := func() {
		if len(group) > 1 {
			groups = append(groups, group)
		}
		group, bytes = nil, 0
	}
	for _, h := range all {
		info := &h.info
		if info.Bytes >= s.options.SealBytes/compactSmall || s.kept(h.name) {
			end()
			continue
		}
		if len(group) > 0 && (group[0].info.Epoch != info.Epoch || bytes+info.Bytes > s.options.SealBytes/compactFull) {
			end()
		}
		group = append(group, h)
		bytes += info.Bytes
	}
	end()
	return groups
}

// merge puts one episode in the place of several.
func (s *Store) merge(ctx context.Context, group []*handle) (episode.Info, error) {
	labels := map[string]string{}
	var paths, names []string
	for _, h := range group {
		h.edit.Lock()
		defer h.edit.Unlock()
		if current, ok := s.episodes.get(h.name); !ok || current != h {
			return episode.Info{}, engram.Errorf(engram.NotFound, h.name, "the episode was dropped or replaced meanwhile")
		}
		paths = append(paths, filepath.Join(s.episodes.dir, h.name))
		names = append(names, h.name)
		for _, label := range []string{labelThinned, labelReduced} {
			if ids := parseIDs(h.info.Labels[label]); len(ids) > 0 {
				labels[label] = printIDs(ids, slices.Collect(maps.Keys(parseIDs(labels[label]))))
			}
		}
	}
	name := s.nameLike(group[0].name)
	info, err := episode.Merge(ctx, paths, filepath.Join(s.episodes.dir, name), labels, s.episodeOptions())
	if err != nil {
		return info, err
	}
	r, err := episode.Open(filepath.Join(s.episodes.dir, name), s.episodeOptions())
	if err != nil {
		return info, err
	}
	defer r.Close()
	// A crash before this leaves both, which the next start finds by what is superseded.
	s.episodes.add(info)
	if err := s.catalogue.Put(ctx, info, r.Entities(), names...); err != nil {
		s.episodes.remove(name)
		return info, errors.Join(err, s.options.FS.Remove(filepath.Join(s.episodes.dir, name)))
	}
	for _, old := range names {
		s.episodes.remove(old)
		s.account.episodeGone(old)
	}
	s.before.clear()
	return info, s.removeFiles(names)
}

func (s *Store) removeFiles(names []string) error {
	for _, name := range names {
		if err := s.options.FS.Remove(filepath.Join(s.episodes.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return engram.Errorf(engram.Unavailable, name, "the file cannot be deleted: %w", err)
		}
	}
	if err := s.options.FS.SyncDir(s.episodes.dir); err != nil {
		return engram.Errorf(engram.Unavailable, s.episodes.dir, "deleted files may come back: %w", err)
	}
	return nil
}

// nameLike returns the name of an episode that begins when the one of that name does.
func (s *Store) nameLike(name string) string {
	began := name[:max(0, strings.LastIndexByte(name, '-'))]
	return sequenced(began, s.sequence.Add(1))
}

// dropSuperseded deletes episodes whose content a crash left in another one, too: it
// came between their being taken together and their end.
func (s *Store) dropSuperseded(ctx context.Context, infos []episode.Info) ([]episode.Info, error) {
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
		if err := s.catalogue.Remove(ctx, info.Name); err != nil {
			return nil, err
		}
		names = append(names, info.Name)
	}
	if len(names) == 0 {
		return infos, nil
	}
	return left, s.removeFiles(names)
}
