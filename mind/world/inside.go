package world

import (
	"slices"
	"strings"
)

// In returns what is in a place or in another item, by name: what lies below it, and what
// its box has within. Of the latter are left out other places, and what belongs to one that
// the place is not in itself, such as what stands behind a thin wall.
func (f *Forest) In(place string) ([]*Merged, error) {
	n := f.item(place)
	if n == nil {
		return nil, notFound(place)
	}
	found := map[string]*Merged{}
	f.subtree(n, func(m *Merged) bool { found[m.Name] = m; return true })
	if d := n.merged.Description; d != nil && d.Box != nil {
		within, err := f.Within(Region{place, *d.Box})
		if err != nil {
			return nil, err
		}
		above, err := f.PathToRoot(place)
		if err != nil {
			return nil, err
		}
		for _, m := range within {
			if m.Is(KindMap) {
				continue
			}
			other, err := f.NearestParent(m.Name, KindMap)
			if err != nil || slices.ContainsFunc(above, func(a *Merged) bool { return a.Name == other.Name }) {
				found[m.Name] = m
			}
		}
		for _, m := range above[1:] {
			delete(found, m.Name) // their origin may lie in it
		}
	}
	delete(found, place)
	all := make([]*Merged, 0, len(found))
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *Merged) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
