package source

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/seed-301d4374/engram"
)

// gone lists the losses from before the pull that are not told yet. Their order is the
// same in every pull, so that a broken pull resumes in the list and counts nothing twice.
type gone struct {
	list []lostBefore
	told uint64 // the key of the last one that was told, 0 if none was
}

type lostBefore struct {
	engram.Missing
	key uint64
}

// open has what is behind a key told.
func (g *gone) open(list []engram.Missing, behind uint64) {
	g.told = behind
	for _, m := range list {
		h := fnv.New64a()
		h.Write([]byte(m.Reason + m.ID.String()))
		if key := h.Sum64(); key > behind {
			g.list = append(g.list, lostBefore{m, key})
		}
	}
	slices.SortFunc(g.list, func(a, b lostBefore) int { return cmp.Compare(a.key, b.key) })
}

// tell appends the next n to a list.
func (g *gone) tell(to []engram.Missing, n int) []engram.Missing {
	n = min(n, len(g.list))
	for i := range g.list[:n] {
		to = append(to, g.list[i].Missing)
	}
	g.told = g.list[n-1].key
	g.list = g.list[n:]
	return to
}
