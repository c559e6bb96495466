// Package source is the owner's side of copies: it reads what a memory server has, from
// where a holder stopped, and goes on with what comes.
//
// It keeps no queue for anybody. A share is a position; what lies behind it is read
// when the holder is ready for more: from what the working memory remembers of its
// last updates, from its timelines where that does not reach back, and from disk where
// it has evicted something and for earlier lives. So a slow holder costs nothing and
// loses nothing that is still kept.
package source

import (
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/wm"
)

// Source offers what a working memory and the long-term memory beside it hold. Safe
// for concurrent use.
type Source struct {
	wm  *wm.WM
	ltm *ltm.Store // nil if there is none
}

var _ service.Source = (*Source)(nil)

// New returns the source of what a server has; ltm may be nil.
func New(w *wm.WM, l *ltm.Store) *Source { return &Source{w, l} }
