package catalogue

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// Holding is what one episode holds of one entity.
type Holding struct {
	Episode string // the file's name
	episode.Entity
}

// Holdings are what the episodes hold of one entity. They do not change; a later
// call of [Catalogue.Holdings] may return others.
type Holdings struct {
	byStart []Holding
	byEnd   []int32 // of byStart, those that end last first
}

func newHoldings(list []Holding) *Holdings {
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Episode, b.Episode))
	})
	h := &Holdings{byStart: list, byEnd: make([]int32, len(list))}
	for i := range h.byEnd {
		h.byEnd[i] = int32(i)
	}
	slices.SortStableFunc(h.byEnd, func(a, b int32) int { return cmp.Compare(list[b].Span.End, list[a].Span.End) })
	return h
}

// All returns them by Span.Start. The slice is shared: not to be changed.
func (h *Holdings) All() []Holding { return h.byStart }

// In yields those whose times overlap iv, by Span.Start.
func (h *Holdings) In(iv engram.Interval) iter.Seq[*Holding] {
	return func(yield func(*Holding) bool) {
		end := sort.Search(len(h.byStart), func(i int) bool { return h.byStart[i].Span.Start >= iv.End })
		for i := range h.byStart[:end] {
			if e := &h.byStart[i]; e.Span.Overlaps(iv) && !yield(e) {
				return
			}
		}
	}
}

// Back yields those that may hold a time at or before t, the most promising first:
// those that reach t, then the others by the last time that they hold. Whoever has
// found a version of time u may stop at the first one with Span.End <= u.
func (h *Holdings) Back(t engram.Time) iter.Seq[*Holding] {
	return func(yield func(*Holding) bool) {
		for _, i := range h.byEnd {
			if e := &h.byStart[i]; e.Span.Start <= t && !yield(e) {
				return
			}
		}
	}
}

// size is about how many bytes they take.
func (h *Holdings) size() int64 { return 200 + 200*int64(len(h.byStart)) }
