// Package source is the owner's side of copies: it reads a memory server's versions from
// a holder's position on, and follows new updates.
//
// It keeps no queue per holder. A share is a position. The next batch is read when the
// holder is ready for it: from the working memory's change feed, from its timelines if the
// feed does not reach back far enough, and from disk for evicted versions and earlier
// epochs. So a slow holder costs nothing, and loses nothing that the owner still keeps.
package source

import (
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Source offers what a working memory and the long-term memory beside it hold. Safe
// for concurrent use.
type Source struct {
	wm  *wm.WM
	ltm *ltm.Store // nil if there is none
}

var _ contract.Source = (*Source)(nil)

// New returns the source of what a server has; ltm may be nil.
func New(w *wm.WM, l *ltm.Store) *Source { return &Source{w, l} }
