package query

import (
	"iter"

	"github.com/seed-301d4374/engram"
)

// Exists reports whether a node that is there exists in a scope: it lies in it, or
// something below it does. names yields the names right below a node.
func Exists(s engram.Scope, id engram.ID, names func(parent engram.ID) iter.Seq[string]) bool {
	switch engram.VisibilityIn(s, id) {
	case engram.Visible:
		return true
	case engram.Hidden:
		return false
	}
	if id.Level() >= engram.LevelEntity {
		return false
	}
	for name := range names(id) {
		if below, err := id.Child(name); err == nil && Exists(s, below, names) {
			return true
		}
	}
	return false
}
