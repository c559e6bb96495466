package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
)

// refusedOf is what the working memory did not take back of an entity.
type refusedOf struct {
	forgottenOf
	first error // why
}

// refuse notes a version that the log has alone and that the working memory does not take.
func (t *recovering) refuse(v wm.Restored, why error) {
	if t.refused == nil {
		t.refused = map[engram.ID]refusedOf{}
	}
	of := t.refused[v.Entity]
	of.add(v.Snapshot)
	if of.first == nil {
		of.first = why
	}
	t.refused[v.Entity] = of
}

// noteRefused has queries and health tell of versions that the working memory did not take
// back from the log: their segment or its type is not known, or it takes them no more. They
// stay in the log, which is not cut off, and come back at the first start that takes them.
func (s *Store) noteRefused(refused map[engram.ID]refusedOf) {
	count, first := map[string]uint64{}, map[string]error{}
	s.logs.refused = make(map[engram.ID]forgottenOf, len(refused))
	for id, of := range refused {
		s.logs.refused[id] = of.forgottenOf
		s.disk.recent.add(id) // queries find it
		count[id.Memory()] += of.Versions
		first[id.Memory()] = of.first
	}
	for memory, n := range count {
		s.health.set("versions in the log of "+memory, engram.Errorf(engram.Unavailable, memory, "%d are in no episode and do not fit: %w; they stay in the log, queries say that they are damaged, and they come back at the next start when their segment and its type are as they were; removing the segment lets go of them", n, first[memory]))
	}
}

// logs are the logs of all memories, and what must stay in them. Their fields do not
// change after Begin.
type logs struct {
	*wal.Journal
	foreign map[string]bool // memories that have a log and are not here
	// refused are versions that the log has alone and that the working memory did not take
	// back, by entity.
	refused map[engram.ID]forgottenOf
}

// refusedOf reports whether the log of a memory has something that nothing else has.
func (l *logs) refusedOf(memory string) bool {
	for id := range l.refused {
		if id.Memory() == memory {
			return true
		}
	}
	return false
}
