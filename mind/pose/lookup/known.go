package lookup

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// WithoutForeign returns the context for a call that [Local] answers as if the store had no foreign edges
// ([pose.Foreign]), and no frames that only those name.
func WithoutForeign(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutForeign{}, true)
}

type withoutForeign struct{}

// SetForeignSources says what parts of memories foreign edges come from, before it is asked.
func (l *Local) SetForeignSources(ids []engram.ID) { l.sources = ids }

// ForeignSources returns what those may read to whom foreign edges are told.
func (l *Local) ForeignSources() []engram.ID { return l.sources }

// known are the frames that edges of the store's own name; nil are all there are.
type known struct {
	structure pose.Structure    // of which it is
	trees     map[string]string // by frame: one frame for all that hang together, at whatever time
}

// known returns what the caller may know of the present frames.
func (l *Local) known(ctx context.Context) *known {
	if ctx.Value(withoutForeign{}) == nil {
		return nil
	}
	now := l.store.Structure()
	k := l.own.Load()
	if k == nil || k.structure != now {
		k = knownOf(now.Edges())
		k.structure = now
		l.own.Store(k)
	}
	return k
}

func knownOf(edges iter.Seq[pose.EdgeInfo]) *known {
	k := &known{trees: map[string]string{}}
	for e := range edges {
		if !e.Foreign {
			k.trees[k.tree(e.Child)] = k.tree(e.Parent)
		}
	}
	for frame := range k.trees {
		k.trees[frame] = k.tree(frame)
	}
	return k
}

// tree returns the frame that stands for a frame's tree while they are joined.
func (k *known) tree(frame string) string {
	above, ok := k.trees[frame]
	if !ok {
		k.trees[frame] = frame
		return frame
	}
	for above != frame {
		next := k.trees[above]
		k.trees[frame] = next
		frame, above = above, next
	}
	return frame
}

func (k *known) has(frame string) bool { return k == nil || k.trees[frame] != "" }

// way returns the error for a question about frames that are not both known, or hang together by foreign edges at most.
func (k *known) way(target, source string, t engram.Time) error {
	switch {
	case !k.has(target):
		return pose.NoFrame(target)
	case !k.has(source):
		return pose.NoFrame(source)
	case k != nil && k.trees[target] != k.trees[source]:
		return pose.NoWay(target, source, t)
	}
	return nil
}

// part returns the edges that are known.
func (k *known) part(edges []pose.EdgeInfo) []pose.EdgeInfo {
	if k == nil {
		return edges
	}
	return slices.DeleteFunc(edges, isForeign)
}

func isForeign(e pose.EdgeInfo) bool { return e.Foreign }

// crosses reports whether an answer rests on foreign edges.
func crosses(p *pose.Path, info *pose.Info) bool {
	for _, t := range [...]engram.Time{info.TargetTime, info.SourceTime} {
		if edges, _ := p.Edges(t); slices.ContainsFunc(edges, isForeign) {
			return true
		}
	}
	return false
}
