package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
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
func (s *Store) keptThings() *keptThings {
	marks, _ := s.Marks(context.Background(), engram.Always())
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
func (s *Store) withLinks(ctx context.Context, k *keptThings) error {
	k.linked = map[engram.ID]map[engram.Time]bool{}
	for _, h := range s.episodes.all() {
		whole := s.kept(h.name)
		if !whole && !slices.ContainsFunc(k.spans, h.info.Span.Overlaps) {
			continue
		}
		h, err := s.claim(h.name)
		switch {
		case isDamage(err), engram.CodeOf(err) == engram.NotFound: // it was dropped meanwhile
			continue
		case err != nil:
			return err
		}
		err = s.linksIn(ctx, h, whole, k)
		h.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// linksIn adds what is linked from what is kept of an episode.
func (s *Store) linksIn(ctx context.Context, h *handle, whole bool, k *keptThings) error {
	src := h.source()
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
			if !whole && !slices.ContainsFunc(k.spans, block.Span.Overlaps) {
				continue
			}
			if err := s.linksInBlock(ctx, tl, b, block, whole, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) linksInBlock(ctx context.Context, tl episode.Timeline, b int, block episode.Block, whole bool, k *keptThings) error {
	for first := 0; first < block.Count; first += loadAtOnce {
		versions, err := tl.Load(ctx, b, first, min(first+loadAtOnce, block.Count))
		switch {
		case isDamage(err):
			return nil
		case err != nil:
			return err
		}
		for _, v := range versions {
			if !whole && !k.marked(v.Time) {
				continue
			}
			if err := s.follow(ctx, v, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadAtOnce is how many versions are loaded at once to be looked into.
const loadAtOnce = 256

// follow adds what a kept version links to.
func (s *Store) follow(ctx context.Context, v *engram.Snapshot, k *keptThings) error {
	for i := range v.Instances {
		p := &v.Instances[i].Payload
		t, ok := s.options.Types.Get(p.Type)
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
				found, err := s.onDiskAt(ctx, entity, v.Time)
				if err != nil {
					return err
				}
				if found == nil {
					continue
				}
				at = found.Time
			}
			k.link(entity, at)
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

// onDiskAt returns the newest version on disk of an entity up to a time, without its
// payload, or nil.
func (s *Store) onDiskAt(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	v, err := s.diskView(ctx, entity)
	if err != nil {
		return nil, err
	}
	defer v.close()
	v.payload = false
	found, _ := v.Prev(v.After(t), engram.MinTime)
	return found, v.err
}
