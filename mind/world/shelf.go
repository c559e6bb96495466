package world

import (
	"iter"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// shelf has what is said of things that are no items and few, maps or components, by
// name. It is copied when a later edit changes it.
type shelf[S any] struct {
	edit uint32
	said map[string][]*S
}

// hear takes a statement on a name.
func (h *shelf[S]) hear(name string, s *S, said func(*S) *Said, edit uint32) {
	all, counts := hear(h.said[name], s, said, func(_, _ *S) int { return 0 })
	if !counts {
		return
	}
	h.set(name, all, edit)
}

func (h *shelf[S]) set(name string, all []*S, edit uint32) {
	if h.edit != edit {
		h.said, h.edit = maps.Clone(h.said), edit
	}
	if h.said == nil {
		h.said = map[string][]*S{}
	}
	h.said[name] = all
}

// unsay takes back statements, and adds the names that they were on.
func (h *shelf[S]) unsay(gone func(*S) bool, edit uint32, names map[string]engram.Time) {
	for name, all := range h.said {
		if rest := without(all, gone); len(rest) < len(all) {
			h.set(name, rest, edit)
			hearFrom(names, name, engram.MinTime)
		}
	}
}

// newest returns what counts of a name, or nil: the newest that says something, of equal
// times that of the provider whose name comes first.
func (h *shelf[S]) newest(name string, stamp func(*S) (stamp, bool)) (best *S) {
	for _, s := range h.said[name] {
		at, says := stamp(s)
		if !says {
			continue
		}
		if best == nil {
			best = s
			continue
		}
		if b, _ := stamp(best); at.over(b) {
			best = s
		}
	}
	return best
}

// each yields what counts of each name, by name.
func (h *shelf[S]) each(stamp func(*S) (stamp, bool)) iter.Seq[*S] {
	return func(yield func(*S) bool) {
		for _, name := range slices.Sorted(maps.Keys(h.said)) {
			if s := h.newest(name, stamp); s != nil && !yield(s) {
				return
			}
		}
	}
}
