package ltm

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
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
		dirty []*growing // to be saved
	}
}

// growing is a mark of a standing rule. growth.mu protects it.
type growing struct {
	mark  episode.Mark
	saved engram.Interval // what of it is saved
	dirty bool
}

// touches reports whether two spans are so near to each other that they are of one mark.
func touches(a, b engram.Interval) bool {
	return a.Start <= b.End.Add(markGap) && b.Start <= a.End.Add(markGap)
}

// mark has what lies around an update's time kept, by a mark that is there or another.
func (g *ruleSet) mark(run *runningRule, t engram.Time) {
	r := &run.Rule
	m := episode.Mark{Time: t, Label: labelOf(*r), Before: time.Duration(r.Before), After: time.Duration(r.After)}
	span := spanOf(m)
	g.growth.mu.Lock()
	defer g.growth.mu.Unlock()
	w := g.growth.nearLocked(run.grows, m.Label, span)
	if w == nil {
		old, n := g.s.markNear(m.Label, span)
		switch {
		case old != nil:
			w = &growing{mark: *old, saved: spanOf(*old)}
		case n+g.growth.newLocked() >= maxAllMarks:
			g.s.health.set(allMarks, errMarks(m.Label))
			run.miss(1, "there are too many marks")
			return
		default:
			w = &growing{mark: m}
		}
	}
	run.grows = w
	had := spanOf(w.mark)
	w.mark.Before = max(w.mark.Before, w.mark.Time.Sub(span.Start))
	w.mark.After = max(w.mark.After, (span.End - 1).Sub(w.mark.Time))
	if spanOf(w.mark) == had && w.isSaved() {
		return // it was kept before
	}
	g.s.marked.add(spanOf(w.mark))
	if !w.dirty {
		w.dirty = true
		g.growth.mu.dirty = append(g.growth.mu.dirty, w)
	}
	select {
	case g.growth.changed <- struct{}{}:
	default:
	}
}

func (d *growing) isSaved() bool { return d.saved != engram.Interval{} }

// nearLocked returns the mark of a label that a span is near to, if it is last or not
// saved yet.
func (w *growth) nearLocked(last *growing, label string, span engram.Interval) *growing {
	near := func(d *growing) bool { return d.mark.Label == label && touches(spanOf(d.mark), span) }
	if last != nil && near(last) {
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
func (s *Store) markNear(label string, span engram.Interval) (*episode.Mark, int) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	for _, m := range slices.Backward(s.state.mu.Marks) {
		if m.Label == label && touches(spanOf(m), span) {
			return &m, len(s.state.mu.Marks)
		}
	}
	return nil, len(s.state.mu.Marks)
}

// ruleMarks names the marks of standing rules in the store's health.
const ruleMarks = "the marks of standing rules"

// saveMarks saves what standing rules marked, now and then.
func (g *ruleSet) saveMarks() {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.growth.changed:
		case <-ticker.C: // what could not be saved is tried again
		case <-g.ctx.Done():
			ctx, cancel := context.WithTimeout(context.Background(), lastPatience)
			defer cancel()
			g.save(ctx)
			return
		}
		g.save(g.ctx)
		g.ease()
		select {
		case <-time.After(saveEvery):
		case <-g.ctx.Done():
		}
	}
}

// save saves what standing rules marked, and has recorded what the policies left out of
// it before.
func (g *ruleSet) save(ctx context.Context) {
	g.s.marking.Lock()
	marks, fresh := g.growth.take()
	if len(marks) == 0 {
		g.s.marking.Unlock()
		return
	}
	err := g.s.changeState(func(c *stateContent) {
		for _, m := range marks {
			c.Marks = episode.AddMark(c.Marks, m)
		}
	})
	g.growth.settle(marks, err == nil)
	g.s.marking.Unlock()
	g.s.health.set(ruleMarks, err)
	if err != nil {
		return
	}
	r := g.s.recorder
	err = r.do(ctx, func() error { return r.mark(marks, fresh) })
	if err != nil && g.ctx.Err() == nil {
		g.s.options.Log.Error("not all that a standing rule marked could be recorded", "error", err)
	}
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
// set is called with the spans of those that stay.
func (g *ruleSet) drop(gone func(episode.Mark) bool, set func(grown []episode.Mark)) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.growth.mu.Lock()
	defer g.growth.mu.Unlock()
	for _, run := range g.mu.running {
		if run.grows != nil && gone(run.grows.mark) {
			run.grows = nil
		}
	}
	n = g.growth.newLocked()
	g.growth.mu.dirty = slices.DeleteFunc(g.growth.mu.dirty, func(d *growing) bool { return gone(d.mark) })
	var stay []episode.Mark
	for _, d := range g.growth.mu.dirty {
		stay = append(stay, d.mark)
	}
	set(stay)
	return n - g.growth.newLocked()
}
