package ltm

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

const (
	// markGap is how far apart the spans of two marks of one label are at least that
	// standing rules set: of what comes nearer, one mark becomes longer.
	markGap = time.Second
	// saveEvery is how often what standing rules marked is saved at most.
	saveEvery = time.Second
	// lastPatience bounds how long the marks of a store that is closed wait for its recorder.
	lastPatience = time.Second
)

// growth is what standing rules marked and is not saved yet, and where they go on.
type growth struct {
	changed chan struct{}
	mu      struct { // taken before state.mu
		sync.Mutex
		dirty    []*growing // to be saved
		removals int        // of marks
	}
}

// growing is a mark of a standing rule. growth.mu protects it.
type growing struct {
	mark     episode.Mark
	saved    engram.Interval // what of it is saved
	dirty    bool
	removals int // of marks, when it was found
}

// touches reports whether two spans are so near to each other that they are of one mark.
func touches(a, b engram.Interval) bool {
	return a.Start <= b.End.Add(markGap) && b.Start <= a.End.Add(markGap)
}

// grow has a rule keep what lies around a time: by its last mark or another that is near,
// which grows, or by a new one. It returns that; Exhausted says that there are too many.
func (k *keeper) grow(last *growing, r *Rule, t engram.Time) (*growing, error) {
	m := episode.Mark{Time: t, Label: labelOf(*r), Before: time.Duration(r.Before), After: time.Duration(r.After)}
	span := spanOf(m)
	k.growth.mu.Lock()
	defer k.growth.mu.Unlock()
	w := k.growth.nearLocked(last, m.Label, span)
	if w == nil {
		old, n := k.markNear(m.Label, span)
		switch {
		case old != nil:
			w = &growing{mark: *old, saved: spanOf(*old)}
		case n+k.growth.newLocked() >= maxAllMarks:
			err := errMarks(m.Label)
			k.health.set(allMarks, err)
			return last, err
		default:
			w = &growing{mark: m}
		}
	}
	w.removals = k.growth.mu.removals
	had := spanOf(w.mark)
	w.mark.Before = max(w.mark.Before, w.mark.Time.Sub(span.Start))
	w.mark.After = max(w.mark.After, (span.End - 1).Sub(w.mark.Time))
	if spanOf(w.mark) == had && w.isSaved() {
		return w, nil // it was kept before
	}
	k.marked.add(spanOf(w.mark))
	if !w.dirty {
		w.dirty = true
		k.growth.mu.dirty = append(k.growth.mu.dirty, w)
	}
	select {
	case k.growth.changed <- struct{}{}:
	default:
	}
	return w, nil
}

func (d *growing) isSaved() bool { return d.saved != engram.Interval{} }

// nearLocked returns the mark of a label that a span is near to, if it is last, found
// after marks were removed last, or not saved yet.
func (w *growth) nearLocked(last *growing, label string, span engram.Interval) *growing {
	near := func(d *growing) bool { return d.mark.Label == label && touches(spanOf(d.mark), span) }
	if last != nil && last.removals == w.mu.removals && near(last) {
		return last
	}
	if i := slices.IndexFunc(w.mu.dirty, near); i >= 0 {
		return w.mu.dirty[i]
	}
	return nil
}

// newLocked returns how many marks there are beside those that are saved.
func (w *growth) newLocked() (n int) {
	for _, d := range w.mu.dirty {
		if !d.isSaved() {
			n++
		}
	}
	return n
}

// markNear returns a mark of a label that a span is near to, or nil, and how many marks
// there are.
func (k *keeper) markNear(label string, span engram.Interval) (*episode.Mark, int) {
	marks := k.state.content().Marks
	for _, m := range slices.Backward(marks) {
		if m.Label == label && touches(spanOf(m), span) {
			return &m, len(marks)
		}
	}
	return nil, len(marks)
}

// ruleMarks names the marks of standing rules in the store's health.
const ruleMarks = "the marks of standing rules"

// save saves what standing rules marked, and has recorded what the policies left out of
// it before. It returns why not all of that could be recorded.
func (k *keeper) save(ctx context.Context) error {
	k.marking.Lock()
	marks, fresh := k.growth.take()
	if len(marks) == 0 {
		k.marking.Unlock()
		return nil
	}
	err := k.state.change(func(c *stateContent) {
		for _, m := range marks {
			c.Marks = episode.AddMark(c.Marks, m)
		}
	})
	k.growth.settle(marks, err == nil)
	k.marking.Unlock()
	k.health.set(ruleMarks, err)
	if err != nil {
		return nil // it is tried again
	}
	return k.recorder.do(ctx, func() error { return k.recorder.mark(marks, fresh) })
}

// take returns the marks that are to be saved, and what of their spans is not yet.
func (w *growth) take() (marks []episode.Mark, fresh spans) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.mu.dirty {
		marks = append(marks, d.mark)
		span := spanOf(d.mark)
		if !d.isSaved() {
			fresh = fresh.with(span)
			continue
		}
		if span.Start < d.saved.Start {
			fresh = fresh.with(engram.Interval{Start: span.Start, End: d.saved.Start})
		}
		if span.End > d.saved.End {
			fresh = fresh.with(engram.Interval{Start: d.saved.End, End: span.End})
		}
	}
	return marks, fresh
}

// settle notes whether marks were saved that take returned, from which on no other was
// taken.
func (w *growth) settle(marks []episode.Mark, saved bool) {
	if !saved {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i, d := range w.mu.dirty {
		if i < len(marks) {
			d.saved = spanOf(marks[i])
			d.dirty = d.mark != marks[i] // it grew meanwhile
		}
		if d.dirty {
			w.mu.dirty[n] = d
			n++
		}
	}
	clear(w.mu.dirty[n:])
	w.mu.dirty = w.mu.dirty[:n]
}

// drop lets go of marks that were removed, and returns how many of them were not saved.
// set is called with those that stay and are not saved yet.
func (w *growth) drop(gone func(episode.Mark) bool, set func(grown []episode.Mark)) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.removals++
	n = w.newLocked()
	w.mu.dirty = slices.DeleteFunc(w.mu.dirty, func(d *growing) bool { return gone(d.mark) })
	var stay []episode.Mark
	for _, d := range w.mu.dirty {
		stay = append(stay, d.mark)
	}
	set(stay)
	return n - w.newLocked()
}
