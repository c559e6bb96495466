package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/query"
	"github.com/seed-301d4374/engram/ltm/wal"
	"github.com/seed-301d4374/engram/wm"
)

// Begun tells what beginning brought back.
type Begun struct {
	Log      *wal.Recovery
	Rerecord uint64 // versions of the log that no episode held, recorded again
	Recalled uint64 // last states put back into the working memory
}

// Begin puts back into w what the log holds and what policies want recalled, and
// records w from then on. w must have been made with the store's journal and types,
// have its memories and their segments, and hold no snapshot yet. It is called once.
func (s *Store) Begin(ctx context.Context, w *wm.WM) (Begun, error) {
	s.wm, s.earlier = w, s.opened.Episodes > 0
	s.noteLife(w.Epoch())
	s.restoreRemovals()
	s.marked.set(spansOf(s.state.mu.Marks))
	r := newRecorder(s, w)
	r.beginning = true
	target := &recovering{WM: w, recorder: r, held: newHeld(s)}
	defer target.held.close()
	var b Begun
	var err error
	if b.Log, err = s.journal.Restore(ctx, target); err != nil {
		return b, engram.Errorf(engram.CodeOf(err), s.options.Dir, "the log cannot be read back: %w", err)
	}
	r.beginning = false
	b.Rerecord = target.again - r.endPostponing()
	if s.foreign, err = foreignMemories(ctx, w, s.journal); err != nil {
		return b, err
	}
	if b.Recalled, err = s.recallLast(ctx); err != nil {
		return b, err
	}
	if err := r.start(ctx); err != nil {
		return b, err
	}
	s.recorder = r
	s.begun.Store(true)
	s.startRules()
	s.forgetting.reserve.take()
	s.startForgetter()
	return b, nil
}

// foreignMemories returns the memories that have a log and that w does not have: what
// nobody took back stays there.
func foreignMemories(ctx context.Context, w *wm.WM, j *wal.Journal) (map[string]bool, error) {
	segments, err := w.Describe(ctx, engram.Pattern{})
	if err != nil {
		return nil, err
	}
	foreign := map[string]bool{}
	for _, memory := range j.Memories() {
		foreign[memory] = true
	}
	for _, d := range segments {
		delete(foreign, d.ID.Memory())
	}
	return foreign, nil
}

// recovering is the working memory while the log is read back: what no episode holds
// is recorded again.
type recovering struct {
	*wm.WM
	recorder *recorder
	held     *held
	again    uint64
}

var _ wal.Target = (*recovering)(nil)

// Restore implements wal.Target.
func (t *recovering) Restore(ctx context.Context, versions []wm.Restored) ([]engram.UpdateResult, error) {
	results, err := t.WM.Restore(ctx, versions)
	if err != nil {
		return nil, err
	}
	for i, v := range versions {
		if results[i].Err != nil && engram.CodeOf(results[i].Err) != engram.AlreadyExists {
			continue
		}
		held, err := t.held.has(ctx, v.Entity, v.Snapshot)
		if err != nil {
			return nil, err
		}
		if held {
			t.recorder.filters.Of(v.Entity).Recorded(v.Snapshot)
			continue
		}
		again := *v.Snapshot
		again.Number = results[i].Number
		t.again++
		if len(t.recorder.gaps) > 0 {
			t.recorder.postpone(&again)
			continue
		}
		t.recorder.offer(v.Entity, &again)
	}
	return results, nil
}

// postpone notes a version of the log that cannot be recorded as the store begins: it
// belongs to the gap that was left then, and is recorded from the log as others are.
func (r *recorder) postpone(s *engram.Snapshot) {
	g := &r.gaps[0]
	g.from, g.to, g.lost = min(g.from, s.Arrived), max(g.to, s.Arrived), g.lost+1
}

// endPostponing ends the gap that was left as the log was read back, if one was, and
// returns how many versions are in it.
func (r *recorder) endPostponing() uint64 {
	if len(r.gaps) == 0 {
		return 0
	}
	g := &r.gaps[0]
	if g.lost == 0 {
		r.gaps = nil
		return 0
	}
	g.before = r.wm.Number() + 1
	r.unfilled.Store(g.after + 1)
	r.counts.lost.Add(g.lost)
	r.s.health.set(fromLog, engram.Errorf(engram.Unavailable, "", "the disk refused %d versions as the server started: the log keeps them, and they are recorded when it works again", g.lost))
	return g.lost
}

// recallLast puts the last states of the segments whose policy says so, and of those
// whose commits are logged, back into the working memory where that has none as new.
func (s *Store) recallLast(ctx context.Context) (n uint64, err error) {
	segments, err := s.wm.Describe(ctx, engram.Pattern{})
	if err != nil {
		return 0, err
	}
	for _, d := range segments {
		if d.ID.Level() != engram.LevelCoreSegment || d.Durability == engram.Volatile && !s.policies.Of(d.ID).Recall {
			continue
		}
		got, err := s.recall(ctx, engram.PatternOf(d.ID).Select(engram.Latest(1)), nil)
		if err != nil {
			return n, engram.Errorf(engram.CodeOf(err), d.ID.String(), "its last states cannot be recalled: %w", err)
		}
		n += got
	}
	return n, nil
}

// Recall puts what a query finds on disk back into the working memory, marked as
// recalled, where that does not hold it or something newer at the same time. It
// returns how many versions were put back. The working memory holds them to its
// bounds: what is older than everything it keeps goes at once.
func (s *Store) Recall(ctx context.Context, q engram.Query) (n uint64, err error) {
	if s.wm == nil {
		return 0, errNotBegun
	}
	// What is being forgotten is not to come back.
	if err := s.forgetting.lock(ctx); err != nil {
		return 0, err
	}
	defer s.forgetting.unlock()
	found := map[engram.ID]engram.Interval{}
	n, err = s.recall(ctx, q, found)
	for id, iv := range found {
		holdings, err := s.catalogue.Holdings(ctx, id)
		if err != nil {
			return n, err
		}
		for h := range holdings.In(iv) {
			s.account.recalled(h.Episode, id, s.options.Now())
		}
	}
	return n, err
}

// recall is Recall, but tells in found, which may be nil, what was recalled.
func (s *Store) recall(ctx context.Context, q engram.Query, found map[engram.ID]engram.Interval) (n uint64, err error) {
	q.Target, q.Fields, q.WithoutPayload, q.Where = engram.TargetLTM, nil, false, ""
	err = s.QueryParts(ctx, q, func(part *engram.Result) error {
		var versions []wm.Restored
		for item := range part.All() {
			back := *item.Snapshot
			back.Recalled = true
			entity := item.ID.Truncate(engram.LevelEntity)
			versions = append(versions, wm.Restored{Entity: entity, Snapshot: &back})
			if iv, ok := found[entity]; ok {
				found[entity] = engram.Interval{Start: min(iv.Start, back.Time), End: max(iv.End, back.Time+1)}
			} else if found != nil {
				found[entity] = engram.Interval{Start: back.Time, End: back.Time + 1}
			}
		}
		if len(versions) == 0 {
			return nil
		}
		results, err := s.wm.Restore(ctx, versions)
		if err != nil {
			return err
		}
		var first, last uint64
		for _, r := range results {
			if r.Err != nil {
				continue
			}
			n++
			if first == 0 {
				first = r.Number
			}
			last = r.Number
		}
		if first > 0 && s.recorder != nil {
			s.recorder.progress.skip(first, last)
		}
		return nil
	})
	return n, err
}

// compiler returns what compiles queries: the working memory's, so that both keep the
// same texts.
func (s *Store) compiler() *query.Compiler { return s.wm.Compiler() }
