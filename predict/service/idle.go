package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// lesson is the span that a model learns from at once.
	lesson = 10 * time.Minute
	// rarer makes lessons rarer: one that came 80 minutes after the first is followed by none for 10. So a model has
	// some hundred lessons after a year.
	rarer = 8
	// looked is how often the trainer looks whether there is something to learn.
	looked = time.Minute
	// wantedCPU is the share of time in which a task waits for the CPU, from which on it is wanted.
	wantedCPU = 0.2
	// maxLearned is the most bytes of a payload that lessons are read from: what is larger is no list of numbers.
	maxLearned = 64 << 10
)

// trainer trains models of entities that are followed for it ([Following].Train), while the CPU is free; one
// goroutine uses it.
type trainer struct {
	svc   engram.Service
	types TypeSource
	wait  func(time.Time) float64   // the share of time in which a task waited for the CPU
	after map[engram.ID]engram.Time // of entities: what came before is no lesson
}

// run looks for lessons until ctx ends.
func (t *trainer) run(ctx context.Context) {
	tick := time.NewTicker(looked)
	defer tick.Stop()
	t.wait(time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			t.look(ctx, now)
		}
	}
}

// look gives each model at most one lesson, and none while the CPU is wanted.
func (t *trainer) look(ctx context.Context, now time.Time) {
	q := engram.SelectID(engram.MustID(Memory+"/"+FollowSegment), engram.Latest(1))
	r, err := t.svc.Query(ctx, q)
	if err != nil {
		if ctx.Err() == nil {
			slog.Warn("what models are to be trained of is not known", "error", err)
		}
		return
	}
	for it := range r.All() {
		f, err := decodeFollowing(t.types, &it.Instances[0].Payload)
		if err != nil || !f.Enabled || !f.Train {
			continue
		}
		if ctx.Err() != nil || t.wait(now) > wantedCPU {
			return
		}
		v, err := t.teach(ctx, f.Entity)
		switch {
		case err != nil && ctx.Err() == nil:
			slog.Warn("a model is not trained", "entity", f.Entity.String(), "error", err)
		case v != nil:
			slog.Info("a model was trained", "entity", f.Entity.String(), "version", v.Number, "kept", v.Kept, "reason", v.Reason)
		}
	}
}

// teach trains a model of the next lesson, and writes it; nil if there is none yet.
func (t *trainer) teach(ctx context.Context, of engram.ID) (*Version, error) {
	q := engram.SelectID(of, engram.Indices(0, 0), engram.Latest(1))
	r, err := t.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	ends := r.Items()
	if len(ends) == 0 || ends[len(ends)-1].Size() > maxLearned {
		return nil, nil
	}
	first, newest := ends[0].Time, ends[len(ends)-1].Time
	before, at, err := NewestVersion(ctx, t.svc, t.types, of)
	if err != nil {
		return nil, err
	}
	start := max(first, t.after[of])
	if before != nil {
		first, last := engram.MaxTime, engram.MinTime
		for _, e := range before.Episodes {
			first, last = min(first, e.Span.Start), max(last, e.Span.End)
		}
		if len(before.Episodes) > 1 { // the second one judges the first
			last = last.Add(last.Sub(first) / rarer)
		}
		start = max(start, last)
	}
	// What a robot did lately says most; the day before is not read again.
	start = max(start, newest.Add(-24*time.Hour))
	span := engram.Interval{Start: start, End: start.Add(lesson)}
	if span.End > newest {
		return nil, nil
	}
	t.after[of] = span.End
	v, err := Train(ctx, t.svc, t.types, before, Training{Entity: of, Add: []Episode{{Name: span.String(), Span: span}}})
	if code := engram.CodeOf(err); code == engram.NotFound || code == engram.Conflict {
		return nil, nil // it holds too little
	}
	if err != nil {
		return nil, err
	}
	return v, v.Write(ctx, t.svc, t.types, at)
}

// NewestVersion returns the newest version of an entity's model, nil if there is none, and the time that the next one may have.
func NewestVersion(ctx context.Context, from engram.Reader, types TypeSource, of engram.ID) (v *Version, next engram.Time, err error) {
	next = engram.Now()
	id, err := ModelOf(of)
	if err != nil {
		return nil, next, err
	}
	r, err := from.Query(ctx, engram.SelectID(id, engram.Latest(1)))
	if err != nil {
		return nil, next, err
	}
	for it := range r.All() {
		next = max(next, it.Time+1)
		v, err = DecodeVersion(types, &it.Instances[0].Payload)
	}
	return v, next, err
}

// Write commits a version.
func (v *Version) Write(ctx context.Context, to engram.Writer, types TypeSource, at engram.Time) error {
	u, err := v.Update(types, at)
	if err != nil {
		return err
	}
	results, err := to.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}
