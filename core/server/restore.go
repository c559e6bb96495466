package server

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
)

// journal returns the log for the working memory, nil if there is none.
func (c *Config) journal() wm.Journal {
	if c.Journal == nil {
		return nil
	}
	return c.Journal
}

// durability returns the durability of a segment under a policy: without a log there is none
// but Volatile.
func durability(log *wal.Journal, p policy.Policy, own engram.Durability) engram.Durability {
	if log == nil {
		return engram.Volatile
	}
	return p.DurabilityOr(own)
}

// restore puts back what the log holds, and has the long-term memory record from then
// on. The memories and their segments are there; no hook has run.
func (s *Server) restore(j *wal.Journal) (err error) {
	switch {
	case s.ltm != nil:
		begun, err := s.ltm.Begin(s.ctx, s.wm)
		if err != nil {
			return err
		}
		s.recovery = begun.Log
		if begun.Recalled > 0 {
			s.log.Info("the working memory has last states back from the long-term memory", "snapshots", begun.Recalled)
		}
	case j != nil:
		if s.recovery, err = j.Restore(s.ctx, s.wm); err != nil {
			return engram.Errorf(engram.CodeOf(err), "", "the log cannot be read back: %w", err)
		}
	default:
		return nil
	}
	if n := s.recovery.Snapshots; n > 0 {
		s.log.Info("the working memory has its state back from the log", "snapshots", n)
	}
	for segment, n := range s.recovery.Refused {
		s.log.Warn("versions in the log fit their segment no more", "segment", segment, "versions", n)
	}
	for _, l := range s.recovery.Losses {
		s.log.Warn("the log lost something", "file", l.File, "offset", l.Offset, "bytes", l.Bytes, "why", l.Reason)
	}
	return nil
}

// closeMemory closes the working memory, then what was recorded of it.
func (s *Server) closeMemory() error {
	err := s.wm.Close()
	switch {
	case s.ltm != nil:
		return errors.Join(err, s.ltm.Close())
	case s.journal != nil:
		ctx, cancel := context.WithTimeout(context.Background(), s.settle)
		s.journal.Settle(ctx)
		cancel()
		err = errors.Join(err, s.journal.Close())
		lost := s.journal.Unwritten()
		for _, memory := range slices.Sorted(maps.Keys(lost)) {
			err = errors.Join(err, engram.Errorf(engram.Unavailable, memory, "%d updates that were logged are lost: the disk refused them for %v until the end", lost[memory], s.settle))
		}
	}
	return err
}
