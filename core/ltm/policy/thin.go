package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Version is what thinning needs to know of one version of an entity's snapshot.
type Version struct {
	Time engram.Time
	// Numbers are those whose extremes are kept, the same one at the same index in
	// all versions; nil keeps no extremes. [Numbers] reads them from a payload.
	Numbers []float64
}

// Keep tells for each version of one entity whether it stays when they are
// thinned together: every Every-th time, counted from the first, the first and the
// last, where a number is largest and smallest, and all that lie within Around of
// one of marks. Versions of one time stay or go together. The order of versions
// does not matter. With Every below 2 all stay.
func (t Thinning) Keep(versions []Version, marks []engram.Interval) []bool {
	keep := make([]bool, len(versions))
	order := make([]int, len(versions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(versions[a].Time, versions[b].Time) })
	kept := map[engram.Time]bool{}
	nth := -1
	for i, v := range order {
		at := versions[v].Time
		if i == 0 || at != versions[order[i-1]].Time {
			nth++
		}
		if t.Every < 2 || nth%t.Every == 0 || i == len(order)-1 || near(at, t, marks) {
			kept[at] = true
		}
	}
	for _, v := range extremes(versions) {
		kept[versions[v].Time] = true
	}
	for i := range versions {
		keep[i] = kept[versions[i].Time]
	}
	return keep
}

func near(at engram.Time, t Thinning, marks []engram.Interval) bool {
	return slices.ContainsFunc(marks, func(m engram.Interval) bool {
		return at >= m.Start.Add(-t.Around) && (at < m.End.Add(t.Around) || at == m.End.Add(t.Around))
	})
}

// extremes returns the indices of the versions with the largest and smallest of
// each number that changes.
func extremes(versions []Version) []int {
	var found []int
	for n := 0; ; n++ {
		low, high := -1, -1
		any := false
		for i, v := range versions {
			if n >= len(v.Numbers) {
				continue
			}
			any = true
			x := v.Numbers[n]
			if math.IsNaN(x) {
				continue
			}
			if low < 0 || x < versions[low].Numbers[n] {
				low = i
			}
			if high < 0 || x > versions[high].Numbers[n] {
				high = i
			}
		}
		if !any {
			return found
		}
		if low != high {
			found = append(found, low, high)
		}
	}
}
