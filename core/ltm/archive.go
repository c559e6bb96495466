package ltm

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// archive is what secondary indexes read of the disk.
type archive struct {
	recorder *recorder
	disk     *disk
	digester *digester
}

var _ wm.Archive = archive{}

// Generation implements [wm.Archive]. What is on disk and was not committed since comes
// from the log, where the recorder had fallen behind, and from repaired episodes.
func (a archive) Generation() (g uint64, ok bool) {
	gaps := &a.recorder.gaps
	return a.disk.repaired.Load()<<40 + gaps.read.Load(), gaps.first.Load() == 0
}

// EachVersion implements [wm.Archive].
func (a archive) EachVersion(ctx context.Context, upTo uint64, visit func(engram.ID, *engram.Snapshot), unread func(engram.ID)) error {
	return a.each(ctx, upTo, unread, func(h *handle) error {
		return h.eachBlock(ctx, unread, func(b *entityBlock, versions []*engram.Snapshot) error {
			for _, s := range versions {
				visit(b.entity, s)
			}
			return nil
		})
	})
}

// EachDigest implements [wm.Archive]: from what is kept beside episodes, and from the payloads
// of the others.
func (a archive) EachDigest(ctx context.Context, upTo uint64, of query.Digester, visit func(engram.ID, engram.Time, []byte) error, unread func(engram.ID)) error {
	return a.each(ctx, upTo, unread, func(h *handle) error {
		kept, err := a.digester.eachKept(ctx, h, of, visit)
		if kept || err != nil {
			return err
		}
		d := digesting{of: []query.Digester{of}, visit: func(_ int, id engram.ID, t engram.Time, digest []byte) error { return visit(id, t, digest) }}
		return d.episode(ctx, h, unread)
	})
}

// each has all episodes read that have this epoch's updates up to a number.
func (a archive) each(ctx context.Context, upTo uint64, unread func(engram.ID), read func(*handle) error) error {
	if !a.recorder.progress.await(ctx, upTo) {
		return engram.Errorf(engram.Unavailable, "", "the recorder has not recorded all yet")
	}
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	damaged := map[*handle]bool{}
	for _, h := range pinned.all() {
		if err := read(h); isDamage(err) {
			damaged[h] = true
		} else if err != nil {
			return err
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	return a.disk.each(ctx, engram.ID{}, func(id engram.ID) error {
		return a.disk.eachHolding(ctx, pinned, id, func(h *handle, _ *episode.Entity) {
			if damaged[h] {
				unread(id)
			}
		})
	})
}

// entityBlock is a block of an entity's timeline in an episode.
type entityBlock struct {
	entity   engram.ID
	timeline episode.Timeline
	block    int
	arrived  engram.Time // the first version in it
}

// eachBlock visits the versions of an episode, without their payloads' bytes: the blocks of all
// entities in the order in which they were written, so that what lies together in the file is
// read together. unread is called with the entities of which something cannot be read. An error
// that is damage says that nothing of the episode can be.
func (h *handle) eachBlock(ctx context.Context, unread func(engram.ID), visit func(*entityBlock, []*engram.Snapshot) error) error {
	src, err := h.open()
	if err != nil {
		return err
	}
	defer h.close()
	lost := map[engram.ID]bool{}
	lose := func(id engram.ID, err error) error {
		if !isDamage(err) && engram.CodeOf(err) != engram.NotFound {
			return err
		}
		lost[id] = true
		unread(id)
		return nil
	}
	var blocks []entityBlock
	for _, e := range src.Entities() {
		tl, err := src.Timeline(e.ID)
		if err != nil {
			if err := lose(e.ID, err); err != nil {
				return err
			}
			continue
		}
		for i, b := range tl.Blocks() {
			blocks = append(blocks, entityBlock{e.ID, tl, i, b.Arrived.Start})
		}
	}
	slices.SortStableFunc(blocks, func(a, b entityBlock) int { return cmp.Compare(a.arrived, b.arrived) })
	for i := range blocks {
		b := &blocks[i]
		if lost[b.entity] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		versions, err := b.timeline.Index(ctx, b.block)
		if err == nil {
			err = visit(b, versions)
		}
		if err != nil {
			if err := lose(b.entity, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// digesting makes the digests of an episode's versions.
type digesting struct {
	of    []query.Digester
	visit func(of int, id engram.ID, t engram.Time, digest []byte) error
	// pause, if there is one, is called now and then.
	pause func() error
	// types, if there is one, gets the types of payloads as they are known before the first
	// is looked at.
	types *typePrints

	digest []byte // to be used again
	takes  map[string]bool
}

// episode visits the digests of an episode. unread is as of [handle.eachBlock].
func (d *digesting) episode(ctx context.Context, h *handle, unread func(engram.ID)) error {
	d.takes = map[string]bool{}
	return h.eachBlock(ctx, unread, func(b *entityBlock, versions []*engram.Snapshot) error { return d.block(ctx, b, versions) })
}

// block visits the digests of a block's versions. It loads payloads only where they are needed,
// in runs of a bounded size.
func (d *digesting) block(ctx context.Context, b *entityBlock, versions []*engram.Snapshot) error {
	size := aheadBytes
	for first := 0; first < len(versions); {
		run, last, most := versions[first:], first+1, len(versions)
		needs := d.needs(run[0])
		if needs {
			most = min(most, first+window(loadedAtOnce/2, size))
		}
		for last < most && d.needs(versions[last]) == needs {
			last++
		}
		if needs {
			loaded, err := b.timeline.Load(ctx, b.block, first, last)
			if err != nil {
				return err
			}
			copy(run, loaded)
			size = loaded[len(loaded)-1].Size()
		}
		for _, s := range versions[first:last] {
			if err := d.version(b.entity, s); err != nil {
				return err
			}
		}
		if first = last; d.pause != nil {
			if err := d.pause(); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadedAtOnce is how many payloads an index has read at once, at most.
const loadedAtOnce = 64

// needs reports whether some of a version's payloads must be read.
func (d *digesting) needs(s *engram.Snapshot) (needs bool) {
	for i := range s.Instances {
		name := s.Instances[i].Payload.Type
		takes, known := d.takes[name]
		if !known {
			if d.types != nil {
				d.types.note(name)
			}
			for _, of := range d.of {
				takes = takes || of.Takes(name)
			}
			d.takes[name] = takes
		}
		needs = needs || takes
	}
	return needs
}

func (d *digesting) version(id engram.ID, s *engram.Snapshot) error {
	for k, of := range d.of {
		if d.digest = of.Digest(d.digest[:0], s); len(d.digest) == 0 {
			continue
		}
		if err := d.visit(k, id, s.Time, d.digest); err != nil {
			return err
		}
	}
	return nil
}
