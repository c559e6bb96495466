package ltm

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/wm"
)

// What an entity is worth in the working memory, by its uses, surprises and marks, slows how
// what is on disk of it goes. It is kept in the account and fades by the clock, so that it is the
// same after a restart.
const (
	maxWorths  = 10_000              // entities; of more, those worth least are let go of
	leastWorth = 1.05                // what is worth less is not noted
	worthHalf  = 30 * 24 * time.Hour // in which what an entity is worth above 1 fades to half
)

// worth is by how much the bounds of an entity were stretched at a time.
type worth struct {
	Stretch float64     `json:"stretch"`
	At      engram.Time `json:"at"`
}

// now returns what is left of it, at least 1.
func (w worth) now(now engram.Time) float64 {
	if !(w.Stretch > 1) {
		return 1
	}
	return 1 + (min(w.Stretch, wm.MaxStretch)-1)*math.Exp2(-float64(max(now.Sub(w.At), 0))/float64(worthHalf))
}

// worth returns by how much the ages of an entity count less for the policies, 1 to 4. A mark by
// hand counts as long as it stands.
func (a *account) worth(id engram.ID, now engram.Time) float64 {
	least := 1.0
	if a.values.Mark(id) != nil {
		least = wm.MarkStretch()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.mu.Worth[id].now(now), least)
}

// noteWorths notes what entities are worth in the working memory, where that is more than what
// is left of before.
func (a *account) noteWorths(now engram.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := map[engram.ID]worth{}
	for id, w := range a.mu.Worth {
		if w.now(now) >= leastWorth {
			next[id] = w
		}
	}
	changed := len(next) != len(a.mu.Worth)
	a.values.Stretched(leastWorth, func(id engram.ID, stretch float64) bool {
		if stretch > next[id].now(now) {
			next[id], changed = worth{stretch, now}, true
			if len(next) > 2*maxWorths {
				letGo(next, now)
			}
		}
		return true
	})
	if letGo(next, now); changed {
		a.mu.Worth, a.mu.changed = next, true
	}
}

// letGo lets go of what is worth least if there is too much.
func letGo(of map[engram.ID]worth, now engram.Time) {
	if len(of) <= maxWorths {
		return
	}
	ids := slices.SortedFunc(maps.Keys(of), func(x, y engram.ID) int {
		return cmp.Or(cmp.Compare(of[x].now(now), of[y].now(now)), x.Compare(y))
	})
	for _, id := range ids[:len(ids)-maxWorths] {
		delete(of, id)
	}
}
