package world

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/pose"
)

// none is the index of no node.
const none = -1

// node is what a forest has of a name: an item, or one that somebody speaks of and nobody
// has stated. Nodes refer to each other by index, so that a change copies one node and
// not those that refer to it. What every walk over the forest reads comes first, so that it lies close together.
type node struct {
	edit    uint32 // the edit that may change it in place
	cut     [2]bool
	inSpace bool // it stands in the index of space
	*named
	said   []*Statement
	merged *Merged // nil if it does not exist
	*rare

	up       int32       // the stated parent, or none
	frame    int32       // the frame that the pose names, or none
	children set[*named] // who state it as their parent

	root         int32 // of the tree of frames
	rootFromItem pose.Pose
}

// rare is what few nodes have of their own; the others share nothing.
type rare struct {
	edit   uint32
	joints []*JointStatement // of which it is the moved item
	states []*StateStatement
	framed set[*named] // who name it as their frame
}

var nothing = &rare{}

// The two graphs over items: cut tells of which the node's edge upwards closes a loop.
const (
	parents = iota
	frames
)

// pageSize is how many nodes are copied together when one of them changes.
const pageSize = 256

type page struct {
	edit  uint32
	nodes [pageSize]*node
}

// named is a node in sets that are sorted by name.
type named struct {
	name string
	id   int32
}

func byName(a, b *named) int { return strings.Compare(a.name, b.name) }

// tag is a node in the index of what items are.
type tag struct {
	*group
	*named
}

// group is what items have in common that the index has together.
type group struct {
	field byte
	value string
}

// The fields of groups.
const (
	tagKind   = 'k'
	tagClass  = 'c' // name of the class
	tagCalled = 'n' // what a place is called, or its number
	tagBox    = 'b' // it has a box; the value is empty
)

func byTag(a, b tag) int {
	if a.group != b.group {
		if c := cmp.Or(cmp.Compare(a.field, b.field), strings.Compare(a.value, b.value)); c != 0 {
			return c
		}
	}
	return strings.Compare(a.name, b.name)
}

// groups returns what the index has of an item.
func (m *Merged) groups() (groups []group) {
	if m == nil || m.Description == nil {
		return nil
	}
	d := m.Description
	in := func(field byte, value string) {
		if g := (group{field, value}); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, k := range d.Kinds {
		in(tagKind, k)
	}
	if c := d.ClassName(); c != "" {
		in(tagClass, c)
	}
	if d.Box != nil {
		in(tagBox, "")
	}
	if m.Is(KindMap) {
		names := append([]string{m.Name, d.Label}, d.SpokenNames...)
		if d.Place != nil {
			names = append(names, d.Place.Number)
		}
		for _, called := range names {
			if called != "" {
				in(tagCalled, called)
			}
		}
	}
	return groups
}
