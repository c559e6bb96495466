package wal

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// Target is what a journal is read back into; *wm.WM is one.
type Target interface {
	AddType(ctx context.Context, t engram.TypeDef) error
	AddCoreSegment(ctx context.Context, s engram.CoreSegment) error
	AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error
	Restore(ctx context.Context, versions []wm.Restored) ([]engram.UpdateResult, error)
}

// Recovery tells what a journal brought back.
type Recovery struct {
	Types, Segments int
	Snapshots       uint64 // versions put back
	Bytes           int64  // of the logs
	// Refused counts what the target did not take, by segment or type, because it is
	// no more what it was.
	Refused map[string]Refusals
	Losses  []Loss
}

// Refusals are what was refused of one segment or type.
type Refusals struct {
	Count uint64
	First error
}

func (r *Recovery) refuse(what string, err error) {
	if r.Refused == nil {
		r.Refused = map[string]Refusals{}
	}
	f := r.Refused[what]
	if f.Count++; f.First == nil {
		f.First = err
	}
	r.Refused[what] = f
}

// Restore puts what the logs hold into t, definitions first, then each memory's
// versions in the order in which they were committed, and begins to take records.
// What is damaged is told in the result; the error is not nil only if the target
// failed as a whole or ctx ended. It is called once, before anything is committed.
func (j *Journal) Restore(ctx context.Context, t Target) (*Recovery, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rec := &Recovery{Losses: j.losses}
	if err := j.restoreDefinitions(ctx, t, rec); err != nil {
		return rec, err
	}
	for _, memory := range j.Memories() {
		if err := j.restoreMemory(ctx, memory, t, rec); err != nil {
			return rec, err
		}
	}
	if j.opts.Manifest != "" {
		if len(j.gone) > 0 {
			j.forgetGone()
		}
		j.keeping.Go(j.keepManifest)
		j.change(false)
	}
	j.taking.Store(true)
	// If that fails the log of definitions is as it was, only longer.
	_ = j.compactLocked()
	return rec, nil
}

func (j *Journal) restoreDefinitions(ctx context.Context, t Target, rec *Recovery) error {
	d, err := j.readDefinitions(ctx, rec)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(*j.known.Load())+len(d.types))
	for name := range *j.known.Load() {
		known[name] = true
	}
	for _, r := range d.list() {
		switch r.Kind {
		case KindType:
			if err = t.AddType(ctx, r.Type); err == nil {
				rec.Types++
			}
			if now, ok := j.opts.Types.Get(r.Type.Name); ok && err != nil {
				// The program has another one: from now on that is what is logged.
				delete(d.types, now.Name())
			} else {
				known[r.Type.Name] = true
			}
		case KindCoreSegment:
			err = t.AddCoreSegment(ctx, r.Core)
		case KindProviderSegment:
			err = t.AddProviderSegment(ctx, r.Provider)
		}
		switch {
		case err != nil && engram.CodeOf(err) == engram.Canceled:
			return err
		case err != nil:
			rec.refuse(r.what(), err)
		case r.Kind == KindCoreSegment || r.Kind == KindProviderSegment:
			rec.Segments++
		}
		err = nil
	}
	j.known.Store(&known)
	j.mu.inForce = d
	return nil
}

// what names what a definition defines.
func (r *Record) what() string {
	switch r.Kind {
	case KindType:
		return r.Type.Name
	case KindCoreSegment:
		return r.Core.ID.String()
	case KindProviderSegment:
		return r.Provider.ID.String()
	}
	return r.Entity.String()
}

func (rec *Recovery) addLosses(memory, folder string, losses []Loss) {
	for _, l := range losses {
		l.File, l.Memory = filepath.Join(folder, l.File), memory
		rec.Losses = append(rec.Losses, l)
	}
}

// forgetGone has the logs not expect what is gone any more.
func (j *Journal) forgetGone() {
	for _, l := range *j.logs.Load() {
		_ = l.note(true) // else it is accepted once more
	}
	for _, l := range j.definitions {
		_ = l.note(true)
	}
}

// restoreBatch is how many versions are put back with one call.
const restoreBatch = 256

// restoreMemory reads a memory's log, and puts back what it holds beside it.
func (j *Journal) restoreMemory(ctx context.Context, memory string, t Target, rec *Recovery) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := j.Log(memory)
	rec.Bytes += l.Size()
	batches := make(chan []wm.Restored, 8)
	var reading sync.WaitGroup
	var losses []Loss
	var readErr error
	reading.Go(func() {
		defer close(batches)
		batch := make([]wm.Restored, 0, restoreBatch)
		send := func() error {
			select {
			case batches <- batch:
				batch = make([]wm.Restored, 0, restoreBatch)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		losses, readErr = l.Replay(ctx, 0, func(r Record) error {
			if r.Kind != KindSnapshot || j.mu.inForce.isRemoved(r.Entity, r.Position) {
				return nil
			}
			if batch = append(batch, wm.Restored{Entity: r.Entity, Snapshot: r.Snapshot}); len(batch) < restoreBatch {
				return nil
			}
			return send()
		})
		if readErr == nil && len(batch) > 0 {
			readErr = send()
		}
	})
	var failed error
	for batch := range batches {
		if failed != nil {
			continue
		}
		results, err := t.Restore(ctx, batch)
		if err != nil {
			failed = err
			cancel()
			continue
		}
		for i := range results {
			switch err := results[i].Err; {
			case err == nil:
				rec.Snapshots++
			case engram.CodeOf(err) != engram.AlreadyExists: // it is there
				rec.refuse(batch[i].Entity.Parent().String(), err)
			}
		}
	}
	reading.Wait()
	rec.addLosses(memory, folderOf(memory), losses)
	if failed != nil {
		return failed
	}
	return readErr
}

// errBeyond ends a replay at the position up to which it goes.
var errBeyond = errors.New("beyond what is asked for")

// Replay waits until a memory's log is on disk up to a position, and calls fn with the
// versions in it from one position up to the other, but for those of segments that
// were removed since, in the order in which they were committed; they are fn's to keep.
// It is otherwise like [Log.Replay].
func (j *Journal) Replay(ctx context.Context, memory string, from, to Position, fn func(Record) error) ([]Loss, error) {
	l := j.Log(memory)
	if l == nil {
		return nil, nil
	}
	if err := l.Sync(ctx, to); err != nil {
		return nil, err
	}
	j.mu.Lock()
	gone := definitions{removed: maps.Clone(j.mu.inForce.removed)}
	j.mu.Unlock()
	losses, err := l.Replay(ctx, from, func(r Record) error {
		switch {
		case r.Position >= to:
			return errBeyond
		case r.Kind != KindSnapshot || gone.isRemoved(r.Entity, r.Position):
			return nil
		}
		return fn(r)
	})
	if errors.Is(err, errBeyond) {
		err = nil
	}
	return losses, err
}
