package semmap

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/world"
)

// place is a place with what it is called in an address.
type place struct {
	id     string // of a place of the graph its first IRI, of one of the world "" and its name
	parent string // the same of the place that it is in; "" is none
	level  string
	called []string
	depth  int
}

const worldPlace = "\x00"

// placeOf returns what the graph says of a place; nil of what is none.
func (r *reader) placeOf(item string) *world.Place {
	p := &world.Place{}
	for _, iri := range r.groups[item] {
		if r.is(iri, own("Item")) { // it says so itself
			if p.Level = r.object(iri, own("level")); p.Level != "" {
				p.Number = r.object(iri, numberOf(p.Level))
				return p
			}
			continue
		}
		for _, l := range levels {
			if number := r.object(iri, r.k(l.number)); l.number != "" && number != "" {
				p.Level, p.Number = l.level, number
			} else if p.Level == "" && r.isA(iri, l.class) {
				p.Level = l.level
			}
		}
	}
	if p.Level == "" {
		return nil
	}
	return p
}

// join finds places that have the same address, and joins them if that is wanted: of the same
// level, with the same number, or label, in the same place; without one a city. Those of the world count, too.
func (r *reader) join() {
	var places []place
	for _, item := range r.items() {
		p := r.placeOf(item)
		if p == nil {
			continue
		}
		pl := place{id: item, parent: r.parent[item], level: p.Level, depth: r.depth(item)}
		if pl.called = []string{p.Number}; p.Number == "" {
			pl.called = nil
			for _, l := range r.values(item, rdfsLabel) {
				pl.called = append(pl.called, l.Value)
			}
		}
		places = append(places, pl)
	}
	if r.o.World != nil {
		places = append(places, worldPlaces(r.o.World)...)
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.depth - b.depth })
	same, first := union{}, map[string]string{}
	for _, p := range places {
		if p.parent == "" && p.level != "city" && p.level != "country" {
			continue
		}
		for _, called := range p.called {
			if called = strings.TrimSpace(called); called == "" {
				continue
			}
			key := same.find(p.parent) + "\n" + p.level + "\n" + strings.ToLower(called)
			if other, ok := first[key]; ok {
				same.join(other, p.id)
			} else {
				first[key] = p.id
			}
		}
	}
	r.sameAddress(same, places)
}

// sameAddress joins places, or tells of them.
func (r *reader) sameAddress(same union, places []place) {
	groups := map[string][]string{}
	for _, p := range places {
		first := same.find(p.id)
		groups[first] = append(groups[first], p.id)
	}
	for _, first := range slices.Sorted(maps.Keys(groups)) {
		all := groups[first]
		slices.Sort(all)
		known, fromWorld := "", strings.HasPrefix(all[0], worldPlace)
		if fromWorld {
			known, all = strings.TrimPrefix(all[0], worldPlace), slices.DeleteFunc(all, func(id string) bool { return strings.HasPrefix(id, worldPlace) })
		}
		switch {
		case len(all) == 0 || len(all) == 1 && !fromWorld || fromWorld && len(all) == 1 && r.names.Item(all[0]) == known:
		case r.o.Join:
			for _, iri := range all {
				r.same.join(all[0], iri)
				r.joined[iri] = true
				if fromWorld {
					r.names.join(known, iri)
				}
			}
		case fromWorld:
			r.note(all[0], "%s: the same address as the item %s; join them if they are the same place", strings.Join(all, " and "), known)
		default:
			r.note(all[0], "%s have the same address; join them if they are the same place", strings.Join(all, " and "))
		}
	}
	if r.o.Join {
		var iris []string
		for _, group := range r.groups {
			iris = append(iris, group...)
		}
		slices.Sort(iris)
		r.regroup(iris)
	}
}

func (n *Names) join(name, iri string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.items.join(name, iri)
}

// depth returns how many wholes an item is in.
func (r *reader) depth(item string) (depth int) {
	for item = r.parent[item]; item != ""; item = r.parent[item] {
		depth++
	}
	return depth
}

// worldPlaces returns the places of a world that are in places only.
func worldPlaces(f *world.Forest) (places []place) {
	for m := range f.ByKind(world.KindMap) {
		path, _ := f.PathToRoot(m.Name)
		if m.Description.Place == nil || slices.ContainsFunc(path, func(m *world.Merged) bool { return !m.Is(world.KindMap) }) {
			continue
		}
		p := place{id: worldPlace + m.Name, level: m.Description.Place.Level, depth: len(path) - 1}
		if p.called = []string{m.Description.Place.Number}; p.called[0] == "" {
			p.called = append(slices.Clone(m.Description.SpokenNames), m.Label())
		}
		if len(path) > 1 {
			p.parent = worldPlace + path[1].Name
		}
		places = append(places, p)
	}
	return places
}
