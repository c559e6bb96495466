package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// keptThings are what marks and links keep.
type keptThings struct {
	spans spans // of marks
	// linked are the times of snapshots that something kept links to.
	linked map[engram.ID]map[engram.Time]bool
	links  int   // how many these are
	cut    error // says that there are more
}

// keptThings returns what marks keep.
func (k *keeper) keptThings() *keptThings {
	marks, _ := k.Marks(context.Background(), engram.Always())
	return &keptThings{spans: spansOf(marks)}
}

// marked reports whether a mark keeps what is of a time.
func (k *keptThings) marked(t engram.Time) bool { return k.spans.contain(t) }

// keeps reports whether a version stays whatever the policies say.
func (k *keptThings) keeps(id engram.ID, t engram.Time) bool { return k.marked(t) || k.linked[id][t] }

// linkPayload bounds the bytes of a snapshot; what is larger is no place for links.
const linkPayload = 64 << 10

// maxLinked bounds the snapshots that are found to be linked. Tests change it.
var maxLinked = 100_000

// withLinks adds to what marks keep what is linked from there and from kept episodes.
// What is damaged keeps nothing; if something cannot be read for another reason, it is not
// known what is to stay.
func (k *keeper) withLinks(ctx context.Context, kept *keptThings) error {
	kept.linked = map[engram.ID]map[engram.Time]bool{}
	pinned := k.disk.episodes.pin()
	defer pinned.release()
	for _, h := range pinned.all() {
		whole := k.state.keeps(h.name)
		if !whole && !slices.ContainsFunc(kept.spans, h.info.Span.Overlaps) {
			continue
		}
		src, err := h.open()
		if isDamage(err) {
			k.disk.episodes.damaged(h, err)
			continue
		}
		if err != nil {
			return err
		}
		err = k.linksIn(ctx, src, whole, kept)
		h.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// linksIn adds what is linked from what is kept of an episode.
func (k *keeper) linksIn(ctx context.Context, src episode.Source, whole bool, kept *keptThings) error {
	for _, e := range src.Entities() {
		if e.Snapshots == 0 || e.Bytes/int64(e.Snapshots) > linkPayload {
			continue
		}
		tl, err := src.Timeline(e.ID)
		switch {
		case isDamage(err), engram.CodeOf(err) == engram.NotFound:
			continue
		case err != nil:
			return err
		}
		for b, block := range tl.Blocks() {
			if !whole && !slices.ContainsFunc(kept.spans, block.Span.Overlaps) {
				continue
			}
			if err := k.linksInBlock(ctx, tl, b, block, whole, kept); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *keeper) linksInBlock(ctx context.Context, tl episode.Timeline, b int, block episode.Block, whole bool, kept *keptThings) error {
	for first := 0; first < block.Count; first += loadAtOnce {
		versions, err := tl.Load(ctx, b, first, min(first+loadAtOnce, block.Count))
		switch {
		case isDamage(err):
			return nil
		case err != nil:
			return err
		}
		for _, v := range versions {
			if !whole && !kept.marked(v.Time) {
				continue
			}
			if err := k.follow(ctx, v, kept); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadAtOnce is how many versions are loaded at once to be looked into.
const loadAtOnce = 256

// follow adds what a kept version links to.
func (k *keeper) follow(ctx context.Context, v *engram.Snapshot, kept *keptThings) error {
	for i := range v.Instances {
		p := &v.Instances[i].Payload
		t, ok := k.options.Types.Get(p.Type)
		if !ok {
			continue
		}
		links, err := t.Links(p.Bytes)
		if err != nil {
			continue
		}
		for _, l := range links {
			if l.ID.Level() < engram.LevelEntity {
				continue
			}
			entity := l.ID.Truncate(engram.LevelEntity)
			at, exact := l.ID.Time()
			if !exact {
				found, err := k.disk.at(ctx, entity, v.Time)
				if err != nil {
					return err
				}
				if found == nil {
					continue
				}
				at = found.Time
			}
			kept.link(entity, at)
		}
	}
	return nil
}

// link notes that something kept links to a snapshot.
func (k *keptThings) link(entity engram.ID, at engram.Time) {
	switch {
	case k.linked[entity][at]:
		return
	case k.links == maxLinked:
		k.cut = engram.Errorf(engram.Exhausted, "", "what is kept links to more than %d snapshots; others that it links to are not protected: keep them, or less that links", maxLinked)
		return
	case k.linked[entity] == nil:
		k.linked[entity] = map[engram.Time]bool{}
	}
	k.linked[entity][at] = true
	k.links++
}
