package ltm

import (
	"context"
	"maps"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// What was acknowledged as logged just before the disk refused is in RAM alone until the disk
// works again. If the server is killed meanwhile nobody would know of it, so it is noted in the
// account, which has room reserved.

// setUnwritten notes what of a memory is so, and has health tell it; nil when it is on the
// disk.
func (a *account) setUnwritten(memory string, u wal.Unwritten) {
	a.mu.Lock()
	all := maps.Clone(a.mu.Unwritten)
	maps.DeleteFunc(all, func(id engram.ID, _ forgottenOf) bool { return id.Memory() == memory })
	for id, of := range u {
		if all == nil {
			all = map[engram.ID]forgottenOf{}
		}
		all[id] = forgottenOf{of.Snapshots, of.First, of.Last, of.Arrived, 0}
	}
	changed := !maps.Equal(all, a.mu.Unwritten)
	a.mu.Unwritten, a.mu.changed = all, a.mu.changed || changed
	a.mu.Unlock()
	if !changed {
		return
	}
	var err error
	if n := u.Versions(); n > 0 {
		err = engram.Errorf(engram.Unavailable, memory, "%d commits that were acknowledged as logged are in RAM only, since the disk refuses them: free some space, or check the disk, and they are written; do not kill the server meanwhile", n)
	}
	a.files.health.set("logged commits of "+memory, err)
	a.saveSoon()
}

// unwritten is what was in RAM alone when the server before this one ended without a word, by
// provider segment; what is found of it again is taken off.
type unwritten map[engram.ID]forgottenOf

// found takes off a version that is there.
func (u unwritten) found(entity engram.ID, s *engram.Snapshot) {
	provider := entity.Truncate(engram.LevelProviderSegment)
	of := u[provider]
	if of.Versions > 0 && s.Arrived >= of.Arrived && of.First <= s.Time && s.Time <= of.Last {
		of.Versions--
		u[provider] = of
	}
}

// unwrittenBefore returns what no episode has of what was in RAM alone, as a store begins and
// before the log is read back.
func (s *Store) unwrittenBefore(ctx context.Context) (unwritten, error) {
	u := unwritten(maps.Clone(s.account.before))
	for id, of := range u {
		q := engram.PatternOf(id).Select(engram.In(engram.Interval{Start: of.First, End: of.Last + 1}))
		q.Target, q.WithoutPayload = engram.TargetLTM, true
		err := s.reader.QueryParts(ctx, q, func(part *engram.Result) error {
			for item := range part.All() {
				u.found(item.ID, item.Snapshot)
			}
			return nil
		})
		if err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), id.String(), "what the server before this one had in RAM alone cannot be looked for: %w", err)
		}
	}
	return u, nil
}

// loseUnwritten notes that what is left of it is lost: neither episodes nor the log have it.
func (s *Store) loseUnwritten(u unwritten) {
	a := &s.account
	if len(a.before) == 0 {
		return
	}
	maps.DeleteFunc(u, func(_ engram.ID, of forgottenOf) bool { return of.Versions == 0 })
	a.saving.Lock()
	a.unrecorded, a.before = sumOf(a.unrecorded, u), nil
	a.saving.Unlock()
	a.change()
	count := map[string]uint64{}
	for id, of := range u {
		count[id.Memory()] += of.Versions
	}
	for memory, n := range count {
		s.health.set("logged commits of "+memory+" before this start", engram.Errorf(engram.Unavailable, memory, "up to %d that were acknowledged were in RAM only, since the disk refused them, when the server was killed: they are lost, and queries say that they are missing; commit them again if you have them", n))
	}
}

// endUnwritten notes that the end has told what it could not write.
func (a *account) endUnwritten() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.Unwritten = nil
}
