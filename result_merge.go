package engram

import (
	"cmp"
	"slices"
	"strings"
)

// Merge adds what o holds to r: the way to put the parts of an answer together,
// and the answers of several servers. The nodes of o become r's; o must not be
// used afterwards.
func (r *Result) Merge(o *Result) {
	r.Memories = mergeNodes(r.Memories, o.Memories)
	r.Missing = append(r.Missing, o.Missing...)
	r.Copies = append(r.Copies, o.Copies...)
}

func mergeNodes(into, from []*ResultNode) []*ResultNode {
	if len(into) == 0 {
		return from
	}
	for _, n := range from {
		i, found := slices.BinarySearchFunc(into, n.Name, func(have *ResultNode, name string) int { return strings.Compare(have.Name, name) })
		if !found {
			into = slices.Insert(into, i, n)
			continue
		}
		have := into[i]
		have.Children = mergeNodes(have.Children, n.Children)
		have.Snapshots = mergeSnapshots(have.Snapshots, n.Snapshots)
	}
	return into
}

func mergeSnapshots(into, from []*Snapshot) []*Snapshot {
	if len(into) == 0 {
		return from
	}
	ordered := len(from) == 0 || into[len(into)-1].Time < from[0].Time
	into = append(into, from...)
	if !ordered {
		slices.SortStableFunc(into, func(a, b *Snapshot) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Number, b.Number))
		})
	}
	return into
}
