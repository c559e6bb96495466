package world

import (
	"cmp"
	"strings"

	"github.com/seed-301d4374/engram/pose"
)

// none is the index of no node.
const none = -1

// node is what a forest has of a name: an item, or one that somebody speaks of and nobody
// has stated. Nodes refer to each other by index, so that a change copies one node and
// not those that refer to it.
type node struct {
	edit   uint32 // the edit that may change it in place
	id     int32
	name   string
	said   []*Statement
	joints []*JointStatement // of which it is the moved item
	states []*StateStatement
	merged *Merged // nil if it does not exist

	up       int32 // the stated parent, or none
	frame    int32 // the frame that the pose names, or none
	cut      [2]bool
	children set[named] // who state it as their parent
	framed   set[named] // who name it as their frame

	root         int32 // of the tree of frames
	rootFromItem pose.Pose
	cell         cell // where it stands in the index of space
	inSpace      bool
}

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

func byName(a, b named) int { return strings.Compare(a.name, b.name) }

func (n *node) named() named { return named{n.name, n.id} }

// tag is a node in the index of what items are.
type tag struct {
	field byte
	value string
	named
}

// The fields of tags.
const (
	tagKind   = 'k'
	tagClass  = 'c' // name of the class
	tagCalled = 'n' // what a place is called, or its number
	tagBox    = 'b' // it has a box; the value is empty
)

func byTag(a, b tag) int {
	return cmp.Or(cmp.Compare(a.field, b.field), strings.Compare(a.value, b.value), strings.Compare(a.name, b.name))
}

// tags returns what the index has of an item.
func (m *Merged) tags(n named) map[tag]bool {
	if m == nil || m.Description == nil {
		return nil
	}
	d := m.Description
	tags := map[tag]bool{}
	for _, k := range d.Kinds {
		tags[tag{tagKind, k, n}] = true
	}
	if c := d.Class.Entity(); c != "" {
		tags[tag{tagClass, c, n}] = true
	}
	if d.Box != nil {
		tags[tag{tagBox, "", n}] = true
	}
	if m.Is(KindMap) {
		names := append([]string{m.Name, d.Label}, d.SpokenNames...)
		if d.Place != nil {
			names = append(names, d.Place.Number)
		}
		for _, called := range names {
			if called != "" {
				tags[tag{tagCalled, called, n}] = true
			}
		}
	}
	return tags
}
