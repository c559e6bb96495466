package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/wm"
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
	s.wm, s.disk.earlier, s.disk.epoch = w, s.opened.Episodes > 0, w.Epoch()
	w.KeptBy(s.policies.some)
	s.past.noteLife(w.Epoch())
	s.orderBook.restoreRemovals()
	s.keeper.marked.set(spansOf(s.state.content().Marks))
	s.orderBook.buryOrdered()
	r := newRecorder(s, w)
	r.beginning = true
	if err := s.unsynced; err != nil {
		r.withheld = true
		s.health.set(withholding, engram.Errorf(engram.CodeOf(err), "", "what a crash left open may be on no disk yet; the log keeps all that comes, until the server is begun anew: %w", err))
	}
	target := &recovering{WM: w, recorder: r, episodes: s.disk.episodes, account: &s.account, held: newHeld(&s.disk)}
	defer target.held.close()
	// What is recorded again may be more than one episode holds.
	r.ended.Go(r.sealer.run)
	started := false
	defer func() {
		if !started {
			close(r.sealer.jobs)
			r.ended.Wait()
		}
	}()
	var b Begun
	var err error
	if target.unwritten, err = s.unwrittenBefore(ctx); err != nil {
		return b, err
	}
	if b.Log, err = s.logs.Journal.Restore(ctx, target); err != nil {
		return b, engram.Errorf(engram.CodeOf(err), s.options.Dir, "the log cannot be read back: %w", err)
	}
	s.account.noteLogLosses(b.Log.Losses)
	s.noteRefused(target.refused)
	r.beginning = false
	b.Rerecord = target.again - r.endPostponing()
	if s.logs.foreign, err = foreignMemories(ctx, w, s.logs.Journal); err != nil {
		return b, err
	}
	s.loseUnwritten(target.unwritten)
	if b.Recalled, err = s.recaller.recallLast(ctx); err != nil {
		return b, err
	}
	if err := s.nameLeftOut(ctx); err != nil {
		return b, err
	}
	if err := r.start(ctx); err != nil {
		return b, err
	}
	started = true
	s.recorder = r
	s.account.counts.Store(&r.counts)
	w.Indexes().Keep(archive{r, &s.disk, &s.digester})
	s.begun.Store(true)
	s.ruleSet.start()
	s.forgetting.reserve.take()
	s.forgetter.start()
	s.digester.start()
	return b, nil
}

// nameLeftOut has queries find the entities of which the policies left out all there was
// in earlier epochs, and tell that they did.
func (s *Store) nameLeftOut(ctx context.Context) error {
	v := s.disk.episodes.pin()
	defer v.release()
	for id := range s.account.earlier {
		if p := s.policies.Of(id); p.Record != policy.Never && p.Record != policy.Linked || len(v.hiddenOf(id)) > 0 {
			continue // the first version is recorded, or it was removed
		}
		there, err := s.disk.holds(ctx, v, id)
		if err != nil {
			return err
		}
		if !there {
			s.disk.recent.add(id)
		}
	}
	return nil
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
	recorder  *recorder
	episodes  *episodeSet
	account   *account
	held      *held
	again     uint64
	refused   map[engram.ID]refusedOf // what no episode holds
	unwritten unwritten
}

var _ wal.Target = (*recovering)(nil)

// Restore implements wal.Target.
func (t *recovering) Restore(ctx context.Context, versions []wm.Restored) ([]engram.UpdateResult, error) {
	versions, err := t.withoutForgotten(ctx, versions)
	if err != nil {
		return nil, err
	}
	results, err := t.WM.Restore(ctx, versions)
	if err != nil {
		return nil, err
	}
	for i, v := range versions {
		held, err := t.held.has(ctx, v.Entity, v.Snapshot)
		if err != nil {
			return nil, err
		}
		if !held {
			t.unwritten.found(v.Entity, v.Snapshot)
		}
		if why := results[i].Err; why != nil && engram.CodeOf(why) != engram.AlreadyExists {
			if !held {
				t.refuse(v, why)
			}
			continue
		}
		if held {
			t.recorder.filters.Of(v.Entity).Recorded(v.Snapshot)
			continue
		}
		again := *v.Snapshot
		again.Number = results[i].Number
		t.again++
		if !t.recorder.gaps.none() {
			t.recorder.gaps.postpone(&again)
			continue
		}
		t.recorder.offer(v.Entity, &again)
	}
	return results, nil
}

// withoutForgotten leaves out what an order is about that an earlier epoch did not finish:
// it does not come back. What no episode holds is forgotten thereby.
func (t *recovering) withoutForgotten(ctx context.Context, versions []wm.Restored) ([]wm.Restored, error) {
	tombstones := t.episodes.current().tombstones
	if len(tombstones) == 0 {
		return versions, nil
	}
	kept := make([]wm.Restored, 0, len(versions))
	gone := map[engram.ID]forgottenOf{}
	for _, v := range versions {
		if !slices.ContainsFunc(tombstones, func(b *tombstone) bool { return b.coversLogged(v.Entity, v.Snapshot) }) {
			kept = append(kept, v)
			continue
		}
		held, err := t.held.has(ctx, v.Entity, v.Snapshot)
		if err != nil {
			return nil, err
		}
		if !held {
			of := gone[v.Entity]
			of.add(v.Snapshot)
			gone[v.Entity] = of
		}
	}
	if len(gone) > 0 {
		t.episodes.publish(func(next *version) { t.account.forgot(next, gone) })
	}
	return kept, nil
}

// endPostponing ends the gap that was left as the log was read back, if one was, and
// returns how many versions are in it.
func (r *recorder) endPostponing() uint64 {
	n := r.gaps.endPostponing(r.wm.Number())
	if n > 0 {
		r.counts.lost.Add(n)
		r.health.set(fromLog, engram.Errorf(engram.Unavailable, "", "the disk refused %d versions as the server started: the log keeps them, and they are recorded when it works again", n))
	}
	return n
}

// recallLast puts the last states of the segments whose policy says so, and of those
// whose commits are logged, back into the working memory where that has none as new.
func (c *recaller) recallLast(ctx context.Context) (n uint64, err error) {
	segments, err := c.wm.Describe(ctx, engram.Pattern{})
	if err != nil {
		return 0, err
	}
	for _, d := range segments {
		if d.ID.Level() != engram.LevelCoreSegment || d.Durability == engram.Volatile && !c.policies.Of(d.ID).Recall {
			continue
		}
		got, err := c.recall(ctx, engram.PatternOf(d.ID).Select(engram.Latest(1)), nil)
		if err != nil {
			return n, engram.Errorf(engram.CodeOf(err), d.ID.String(), "its last states cannot be recalled: %w", err)
		}
		n += got
	}
	return n, nil
}

// recaller puts what is on disk back into the working memory.
type recaller struct {
	*env
	policies   *policies
	account    *account
	forgetting *forgetLock
	reader     *reader
}

// Recall puts what a query finds on disk back into the working memory, marked as
// recalled, where that does not hold it or something newer at the same time. It
// returns how many versions were put back. The working memory holds them to its
// bounds: what is older than everything it keeps goes at once.
func (c *recaller) Recall(ctx context.Context, q engram.Query) (n uint64, err error) {
	if c.wm == nil {
		return 0, errNotBegun
	}
	// What is being forgotten is not to come back.
	if err := c.forgetting.lock(ctx); err != nil {
		return 0, err
	}
	defer c.forgetting.unlock()
	found := map[engram.ID]engram.Interval{}
	n, err = c.recall(ctx, q, found)
	for id, iv := range found {
		holdings, err := c.reader.disk.catalogue.Holdings(ctx, id)
		if err != nil {
			return n, err
		}
		for h := range holdings.In(iv) {
			c.account.recalled(h.Episode, id, c.options.Now())
		}
	}
	return n, err
}

// recall is Recall, but tells in found, which may be nil, what was recalled.
func (c *recaller) recall(ctx context.Context, q engram.Query, found map[engram.ID]engram.Interval) (n uint64, err error) {
	q.Target, q.Fields, q.WithoutPayload, q.Type, q.LinksTo, q.Where = engram.TargetLTM, nil, false, "", nil, ""
	err = c.reader.QueryParts(ctx, q, func(part *engram.Result) error {
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
		restore := func() ([]engram.UpdateResult, error) { return c.wm.Restore(ctx, versions) }
		var results []engram.UpdateResult
		var err error
		if c.recorder != nil {
			results, err = c.recorder.lossCount.recalled.count(restore)
		} else {
			results, err = restore()
		}
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
		if first > 0 && c.recorder != nil {
			c.recorder.progress.skip(first, last)
		}
		return nil
	})
	return n, err
}
