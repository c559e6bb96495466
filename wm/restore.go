package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Restore puts versions back that the memory held in an earlier life (Recalled is
// false) or before it evicted them (Recalled is true), with their times of arrival,
// and answers each at the same index. They get new numbers and are held to the
// bounds like any others, but they are not journaled, and no news: live
// subscriptions are not told of them. A subscription that begins later finds them in
// its backfill; one that resumes by number does not find those that were recalled.
//
// A version is refused with AlreadyExists where the memory has one of the same time
// that arrived later or is the same, and otherwise like an entity update. The order
// of the versions of one time is that of their arrival.
func (w *WM) Restore(ctx context.Context, versions []Restored) ([]engram.UpdateResult, error) {
	panic("to be built")
}

// Settle calls mark at a moment at which nothing is being appended to the journal,
// waits until everything that was appended before is in the memory or was refused,
// and returns the number of the newest update. mark must be quick and must not use
// the memory.
func (w *WM) Settle(ctx context.Context, mark func()) (number uint64, err error) {
	panic("to be built")
}
