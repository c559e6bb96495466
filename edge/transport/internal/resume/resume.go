// Package resume keeps what a client must remember of a subscription to continue
// it after its connection broke: without gap or duplicate, and across the epochs of
// a memory server. It knows no transport.
package resume

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// State is a subscription as its client sees it. It belongs to one goroutine.
type State struct {
	sub       engram.Subscription
	epoch     uint64
	last      uint64 // number of the last update delivered, or from which to resume
	resumable bool   // last is known
	backfill  uint64 // updates up to this number are backfill
	restarted bool   // to be told with the next update
	dropped   uint64 // to be told with the next update
}

// New returns the state of a subscription that has not begun.
func New(sub engram.Subscription) *State { return &State{sub: sub} }

// Begun takes note that a server began the subscription that Request returned:
// epoch is its epoch, number its newest update then, if hasNumber.
func (s *State) Begun(epoch, number uint64, hasNumber bool) {
	if s.epoch != 0 && s.epoch != epoch {
		s.NewEpoch()
	}
	s.epoch = epoch
	if s.resumable {
		return
	}
	s.backfill = number
	switch {
	case s.sub.Start.Kind == engram.StartNumber:
		s.last, s.resumable = s.sub.Start.Number, true
	case s.sub.Start.Kind == engram.StartNow && hasNumber:
		s.last, s.resumable = number, true
	}
}

// NewEpoch forgets the numbers of the server's former epoch; so does a resumption
// that was refused with Conflict.
func (s *State) NewEpoch() {
	s.epoch, s.last, s.resumable, s.backfill, s.restarted = 0, 0, true, 0, true
}

// Request returns the subscription that continues after the last update seen.
func (s *State) Request() engram.Subscription {
	sub := s.sub
	if s.resumable {
		sub.Start = engram.Start{Kind: engram.StartNumber, Number: s.last, Epoch: s.epoch}
	}
	return sub
}

// Epoch returns the epoch of the server that answered last.
func (s *State) Epoch() uint64 { return s.epoch }

// Deliver returns what of a batch is to be delivered, in the same array: what was
// delivered before is left out, and drops and a new epoch are told.
func (s *State) Deliver(batch []engram.Update) []engram.Update {
	kept := batch[:0]
	for i := range batch {
		u := &batch[i]
		s.dropped += u.Dropped
		if s.resumable && u.Number <= s.last && (u.Failed == nil && !u.Removed || u.Number < s.last) || s.beforeStart(u) {
			continue
		}
		s.last, s.resumable = u.Number, true
		u.Dropped, s.dropped = s.dropped, 0
		u.Restarted, s.restarted = u.Restarted || s.restarted, false
		kept = append(kept, *u)
	}
	return kept
}

// beforeStart reports whether an update is not part of the backfill that was asked
// for: a resumption by number brings what lies before a starting time too.
func (s *State) beforeStart(u *engram.Update) bool {
	if s.sub.Start.Kind != engram.StartTime || u.Number > s.backfill {
		return false
	}
	t, ok := u.ID.Time() // what tells of an entity has none
	return ok && t < s.sub.Start.Time
}

// MayReturn reports whether a subscription can be opened again after err: the server or
// the link was away, the server was at a limit, or a server with another certificate
// answered at its address.
func MayReturn(err error) bool {
	code := engram.CodeOf(err)
	return code == engram.Unavailable || code == engram.Exhausted || credentials.MayPass(err)
}
