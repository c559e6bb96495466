package ltm

import (
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// Episodes are taken together if each is smaller than this share of the size at which
// one is sealed, up to that share of it.
const (
	compactSmall = 8
	compactFull  = 2
)

// compactor takes small episodes together.
type compactor struct {
	*env
	forgetting *forgetLock
	folder     *episodeFolder
	account    *account
	state      *state
}

// Compact implements [Service]. Episodes of one epoch that follow each other are taken
// together, but for kept ones.
func (c *compactor) Compact(ctx context.Context, dryRun bool, progress Progress) (Compacted, error) {
	var done Compacted
	if err := c.forgetting.lock(ctx); err != nil {
		return done, err
	}
	defer c.forgetting.unlock()
	groups := c.smallEpisodes(c.options.SealBytes / compactFull)
	for i, g := range groups {
		progress.Tell(i, len(groups))
		var before, after int64
		for _, h := range g {
			before += h.info.Bytes
		}
		if !dryRun {
			info, err := c.folder.merge(ctx, g)
			switch code := engram.CodeOf(err); {
			case code == engram.Corrupt || code == engram.NotFound:
				c.options.Log.Warn("episodes cannot be taken together", "first", g[0].name, "error", err)
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
	return done, c.account.save()
}

// smallEpisodes returns groups of episodes that may be taken together, up to so many bytes.
func (c *compactor) smallEpisodes(full int64) [][]*handle {
	v := c.folder.disk.episodes.current()
	epochs := map[uint64]bool{}
	for _, h := range v.sealed {
		epochs[h.info.Epoch] = true
	}
	var groups [][]*handle
	var group []*handle
	var bytes int64
	end := func() {
		if len(group) > 1 {
			groups = append(groups, group)
		}
		group, bytes = nil, 0
	}
	for _, epoch := range slices.Sorted(maps.Keys(epochs)) {
		for _, h := range v.ofEpoch(epoch) {
			size := h.info.Bytes
			if v.sealed[h.name] == nil || size >= c.options.SealBytes/compactSmall || h.left || c.state.keeps(h.name) {
				end()
				continue
			}
			if bytes+size > full {
				end()
			}
			group = append(group, h)
			bytes += size
		}
		end()
	}
	return groups
}

// merge puts one episode in the place of several.
func (a *episodeFolder) merge(ctx context.Context, group []*handle) (episode.Info, error) {
	labels := map[string]string{}
	var paths, names []string
	for _, h := range group {
		h.lockEdit()
		defer h.unlockEdit()
		if err := a.isCurrent(h); err != nil {
			return episode.Info{}, err
		}
		paths = append(paths, filepath.Join(a.disk.episodes.dir, h.name))
		names = append(names, h.name)
		for _, label := range []string{labelThinned, labelReduced} {
			if ids := parseIDs(h.info.Labels[label]); len(ids) > 0 {
				labels[label] = printIDs(ids, slices.Collect(maps.Keys(parseIDs(labels[label]))))
			}
		}
	}
	name := a.nameLike(group[0].name)
	info, err := episode.Merge(ctx, paths, filepath.Join(a.disk.episodes.dir, name), labels, a.disk.episodes.options)
	if err != nil {
		return info, err
	}
	r, err := episode.Open(filepath.Join(a.disk.episodes.dir, name), a.disk.episodes.options)
	if err != nil {
		return info, err
	}
	defer r.Close()
	for _, h := range group {
		if err == nil {
			err = a.disk.episodes.hold(h)
		}
	}
	// A crash before this leaves both, which the next start finds by what is superseded.
	if err == nil {
		err = a.disk.catalogue.Put(ctx, info, r.Entities(), names...)
	}
	if err != nil {
		for _, h := range group {
			a.disk.episodes.letGo(h)
		}
		return info, errors.Join(err, a.options.FS.Remove(filepath.Join(a.disk.episodes.dir, name)))
	}
	a.disk.episodes.publish(func(next *version) {
		next.add(info, math.MaxUint64)
		for _, old := range names {
			next.remove(old)
		}
	})
	for _, old := range names {
		a.account.episodeGone(old)
	}
	return info, a.removeFiles(names)
}
