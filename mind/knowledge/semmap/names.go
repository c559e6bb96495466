package semmap

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram/mind/world"
)

// NSWorld is what the IRIs of a world's own items begin with: "#" and the name, or "/", a
// robot, "#" and the name.
const NSWorld = "https://engram.dev/world"

// PropertyIRI is the property of descriptions and of maps that has the IRI of what was imported.
const PropertyIRI = "iri"

// Names maps the IRIs of individuals to the names of items, and back. It is safe for
// concurrent use.
type Names struct {
	own string // what the IRIs of own individuals begin with

	mu    sync.RWMutex
	items table
	maps  table
}

// table has the IRIs of what was imported.
type table struct {
	iris, names map[string]string
	more        map[string][]string // by name: what was joined with it
}

// NewNames returns the names of a robot's world; "" is a world of no certain robot.
func NewNames(robot string) *Names {
	n := &Names{own: NSWorld + "#"}
	if robot != "" {
		n.own = NSWorld + "/" + escape(robot) + "#"
	}
	n.items, n.maps = newTable(), newTable()
	return n
}

func newTable() table { return table{map[string]string{}, map[string]string{}, map[string][]string{}} }

// Learn takes the IRIs that items and maps of a forest have kept, of all or of those that are
// named; of these, what is not there any more loses its own. Of two with one IRI the first to be
// learnt has it: by name, if all are learnt at once.
func (n *Names) Learn(f *world.Forest, names ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if names == nil {
		items := slices.Collect(f.All())
		slices.SortFunc(items, func(a, b *world.Merged) int { return strings.Compare(a.Name, b.Name) })
		for _, m := range items {
			n.learnItem(m)
		}
		for m := range f.Maps().All() {
			n.learnMap(m)
		}
		return
	}
	for _, name := range names {
		n.items.forget(name)
		n.maps.forget(name)
	}
	for _, name := range names {
		if m, err := f.Get(name); err == nil {
			n.learnItem(m)
		}
		if m, err := f.Maps().Get(name); err == nil {
			n.learnMap(m)
		}
	}
}

// MayRename reports whether an item or a map has other IRIs in one forest than in the other, if only those of
// some names differ.
func MayRename(a, b *world.Forest, names []string) bool {
	iris := func(f *world.Forest, name string) (kept [6][]string) {
		if m, err := f.Get(name); err == nil && m.Description != nil {
			copy(kept[:], importedAs(m.Description.Properties))
		}
		if m, err := f.Maps().Get(name); err == nil {
			copy(kept[3:], importedAs(m.Map.Properties))
		}
		return kept
	}
	return slices.ContainsFunc(names, func(name string) bool {
		before, now := iris(a, name), iris(b, name)
		return !slices.EqualFunc(before[:], now[:], slices.Equal)
	})
}

// importedAs returns the IRIs that something was imported with, and those of what was joined with it.
func importedAs(properties map[string]any) [][]string {
	iri, _ := properties[PropertyIRI].(string)
	return [][]string{{iri}, list(properties[propertySame]), list(properties[propertyJoined])}
}

func (n *Names) learnItem(m *world.Merged) {
	if m.Description != nil {
		n.items.learn(m.Name, n.plain("", m.Name), m.Description.Properties)
	}
}

func (n *Names) learnMap(m *world.MapStatement) {
	n.maps.learn(m.Name, n.plain("map@", m.Name), m.Map.Properties)
}

// learn takes the IRI that something was imported with, unless it is the plain one that it has
// anyway, and those of what was joined with it.
func (t *table) learn(name, plain string, properties map[string]any) {
	iri, _ := properties[PropertyIRI].(string)
	if _, taken := t.names[iri]; iri != "" && iri != plain && !taken {
		if old, had := t.iris[name]; had {
			delete(t.names, old)
		}
		t.iris[name], t.names[iri] = iri, name
	}
	for _, property := range []string{propertySame, propertyJoined} {
		for _, iri := range list(properties[property]) {
			t.join(name, iri)
		}
	}
}

func (t *table) forget(name string) {
	delete(t.names, t.iris[name])
	delete(t.iris, name)
	for _, iri := range t.more[name] {
		delete(t.names, iri)
	}
	delete(t.more, name)
}

// join makes an IRI one more of a name, if no other has it.
func (t *table) join(name, iri string) {
	if _, taken := t.names[iri]; !taken {
		t.names[iri] = name
		t.more[name] = append(t.more[name], iri)
	}
}

// Item returns the name of the item of an IRI, whether there is such an item or not; "" for an
// IRI that is of none.
func (n *Names) Item(iri string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.name(&n.items, iri, "")
}

// IRI returns the IRI of an item or of a frame.
func (n *Names) IRI(item string) string { return n.iri(&n.items, item, "") }

// ItemOf returns the item that a perception, a matrix or a state is of whose IRI comes from [Triples]; "" for
// any other IRI.
func ItemOf(n *Names, iri string) string {
	local, own := strings.CutPrefix(iri, n.own)
	_, local, of := strings.Cut(local, "@")
	local, _, _ = strings.Cut(local, "@")
	name, err := url.PathUnescape(local)
	if !own || !of || err != nil {
		return ""
	}
	return name
}

// Map returns the name of the map of an IRI; "" for an IRI that is of none.
func (n *Names) Map(iri string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.name(&n.maps, iri, "map@")
}

// MapIRI returns the IRI of a map.
func (n *Names) MapIRI(name string) string { return n.iri(&n.maps, name, "map@") }

// JointIRI returns the IRI of an articulation: that of an item of its name which is a
// joint, as imported joints are.
func (n *Names) JointIRI(f *world.Forest, name string) string {
	if m, err := f.Get(name); err == nil && m.Is(KindJoint) {
		return n.IRI(name)
	}
	return n.own + "joint@" + escape(name)
}

func (n *Names) iri(t *table, name, kind string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if iri, ok := t.iris[name]; ok {
		return iri
	}
	return n.ownIRI(t, name, kind)
}

func (n *Names) plain(kind, name string) string { return n.own + kind + escape(name) }

// ownIRI returns the IRI of what was not imported. If something else was imported under it, there
// is one more.
func (n *Names) ownIRI(t *table, name, kind string) string {
	iri := n.plain(kind, name)
	if other, ok := t.names[iri]; ok && other != name {
		return n.own + kind + "other@" + escape(name)
	}
	return iri
}

// name returns what iri maps to that, and nothing else does.
func (n *Names) name(t *table, iri, kind string) string {
	if name, ok := t.names[iri]; ok {
		return name
	}
	local, own := strings.CutPrefix(iri, n.own+kind)
	name, err := url.PathUnescape(strings.TrimPrefix(local, "other@"))
	if _, imported := t.iris[name]; !own || err != nil || imported || n.ownIRI(t, name, kind) != iri {
		return ""
	}
	return name
}

// take returns the name for an IRI, a new one if need be: the local name, with the document's
// before it and a number after it as long as another one has it.
func (n *Names) take(t *table, iri, kind string, taken func(name string) bool) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name := n.name(t, iri, kind); name != "" {
		return name
	}
	document, local := split(iri)
	name := local
	for i := 1; taken(name) || t.iris[name] != ""; i++ {
		if name = document + "." + local; i > 1 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
	}
	t.iris[name], t.names[iri] = iri, name
	return name
}

// split returns the name of an IRI's document, without its extension, and the IRI's local name.
func split(iri string) (document, local string) {
	iri = strings.TrimRight(iri, "#/")
	i := strings.LastIndexAny(iri, "#/")
	local, iri = iri[i+1:], strings.TrimRight(iri[:max(i, 0)], "#/")
	document = iri[strings.LastIndexByte(iri, '/')+1:]
	if unescaped, err := url.PathUnescape(local); err == nil {
		local = unescaped
	}
	return strings.TrimSuffix(document, path.Ext(document)), local
}

// escape returns a name as it stands in an IRI: what RFC 3986 calls reserved is encoded, so that
// programs that normalise IRIs leave it as it is.
func escape(name string) string { return encode(name, "-._~", '%') }

func encode(name, plain string, mark byte) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%c%02X", mark, c)
		}
	}
	return b.String()
}

// escapeProperty returns the name of a property or a state as the end of a predicate's IRI, which RDF/XML
// has as the name of an element: it begins with a letter or "_", and "." stands before
// the two digits of an encoded byte.
func escapeProperty(name string) string {
	local := encode(name, "-_", '.')
	switch c := local[:min(1, len(local))]; {
	case c == "_":
		return "_.5F" + local[1:]
	case c == "" || c[0] < 'A':
		return "_" + local
	}
	return local
}

// unescapeProperty returns the name that was escaped so.
func unescapeProperty(local string) string {
	local = strings.TrimPrefix(local, "_")
	name, err := url.PathUnescape(strings.ReplaceAll(local, ".", "%"))
	if err != nil {
		return local
	}
	return name
}
