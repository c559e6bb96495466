package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/wm"
)

// archive is what secondary indexes read of the disk.
type archive struct {
	recorder *recorder
	disk     *disk
}

var _ wm.Archive = archive{}

// Generation implements [wm.Archive]. What is on disk and was not committed since comes
// from the log, where the recorder had fallen behind, and from repaired episodes.
func (a archive) Generation() (g uint64, ok bool) {
	gaps := &a.recorder.gaps
	return a.disk.repaired.Load()<<40 + gaps.read.Load(), gaps.first.Load() == 0
}

// EachVersion implements [wm.Archive].
func (a archive) EachVersion(ctx context.Context, upTo uint64, payloads bool, visit func(engram.ID, *engram.Snapshot), unread func(engram.ID)) error {
	if !a.recorder.progress.await(ctx, upTo) {
		return engram.Errorf(engram.Unavailable, "", "the recorder has not recorded all yet")
	}
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	damaged := map[*handle]bool{}
	for _, h := range pinned.all() {
		if err := h.eachVersion(ctx, payloads, visit, unread); isDamage(err) {
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

// eachVersion visits every version of an episode. An error that is damage says that it
// cannot be read at all.
func (h *handle) eachVersion(ctx context.Context, payloads bool, visit func(engram.ID, *engram.Snapshot), unread func(engram.ID)) error {
	src, err := h.open()
	if err != nil {
		return err
	}
	defer h.close()
	for _, e := range src.Entities() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := eachVersionOf(ctx, src, e.ID, payloads, func(s *engram.Snapshot) { visit(e.ID, s) })
		if isDamage(err) || engram.CodeOf(err) == engram.NotFound {
			unread(e.ID)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func eachVersionOf(ctx context.Context, src episode.Source, id engram.ID, payloads bool, visit func(*engram.Snapshot)) error {
	tl, err := src.Timeline(id)
	if err != nil {
		return err
	}
	for i := range tl.Blocks() {
		index, err := tl.Index(ctx, i)
		if err != nil {
			return err
		}
		for first := 0; payloads && first < len(index); first += loadedAtOnce {
			last := min(first+loadedAtOnce, len(index))
			loaded, err := tl.Load(ctx, i, first, last)
			if err != nil {
				return err
			}
			copy(index[first:last], loaded)
		}
		for _, s := range index {
			visit(s)
		}
	}
	return nil
}

// loadedAtOnce is how many payloads an index has read at once.
const loadedAtOnce = 64
