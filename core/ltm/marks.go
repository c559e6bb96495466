package ltm

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/query"
)

// spanOf returns what a mark has kept.
func spanOf(m episode.Mark) engram.Interval {
	return engram.Interval{Start: m.Time.Add(-m.Before), End: m.Time.Add(m.After).Add(1)}
}

// spans is a union of spans of time, sorted and apart from each other.
type spans []engram.Interval

// with returns the union of both, which may share memory with s.
func (s spans) with(iv engram.Interval) spans {
	i := sort.Search(len(s), func(i int) bool { return s[i].End >= iv.Start })
	j := i
	for ; j < len(s) && s[j].Start <= iv.End; j++ {
		iv.Start, iv.End = min(iv.Start, s[j].Start), max(iv.End, s[j].End)
	}
	return slices.Replace(s, i, j, iv)
}

func (s spans) contain(t engram.Time) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].End > t })
	return i < len(s) && s[i].Start <= t
}

// spansOf returns what marks have kept.
func spansOf(marks []episode.Mark) spans {
	marks = slices.Clone(marks)
	slices.SortFunc(marks, func(a, b episode.Mark) int { return cmp.Compare(spanOf(a).Start, spanOf(b).Start) })
	var s spans
	for _, m := range marks {
		s = s.with(spanOf(m))
	}
	return s
}

// markedSpans are the spans in which everything is recorded.
type markedSpans struct {
	mu sync.RWMutex
	of spans
}

func (m *markedSpans) contain(t engram.Time) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.of.contain(t)
}

func (m *markedSpans) add(iv engram.Interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = m.of.with(iv)
}

func (m *markedSpans) set(s spans) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = s
}

// keeper knows what is to stay whatever the policies say: what lies in the spans of marks,
// kept episodes, and what links in these lead to. Safe for concurrent use.
type keeper struct {
	*env
	state *state
	disk  *disk

	marking sync.Mutex // held while marks are set or removed; taken before state.mu
	marked  markedSpans
	growth  growth // marks of standing rules that are not saved yet
}

// maxLabel bounds what a mark is labelled with.
const maxLabel = 256

// maxAllMarks bounds the marks. Tests change it.
var maxAllMarks = 10_000

// allMarks names all marks in the store's health.
const allMarks = "marks"

func errMarks(label string) error {
	return engram.Errorf(engram.Exhausted, label, "there are %d marks already, so none can be set; remove some with 'engram episode unmark'", maxAllMarks)
}

func checkLabel(label string) error {
	if len(label) > maxLabel || !utf8.ValidString(label) {
		return engram.Errorf(engram.Invalid, "", "the label %.32q… of a mark is no text of at most %d bytes", label, maxLabel)
	}
	return nil
}

// Mark implements [Service].
func (k *keeper) Mark(ctx context.Context, m episode.Mark) error {
	if m.Before < 0 || m.After < 0 {
		return engram.Errorf(engram.Invalid, m.Label, "a mark keeps %v before and %v after: neither may be negative", m.Before, m.After)
	}
	if err := checkLabel(m.Label); err != nil {
		return err
	}
	if err := k.addMark(m); err != nil || k.recorder == nil {
		return err
	}
	return k.recorder.do(ctx, func() error { return k.recorder.mark([]episode.Mark{m}, spans{spanOf(m)}) })
}

func (k *keeper) addMark(m episode.Mark) error {
	k.marking.Lock()
	defer k.marking.Unlock()
	marks := k.state.content().Marks
	n := len(marks)
	known := slices.ContainsFunc(marks, func(o episode.Mark) bool { return o.Time == m.Time && o.Label == m.Label })
	if n >= maxAllMarks && !known {
		return errMarks(m.Label)
	}
	if err := k.state.change(func(c *stateContent) { c.Marks = episode.AddMark(c.Marks, m) }); err != nil {
		return err
	}
	k.marked.add(spanOf(m))
	return nil
}

// Unmark implements [Service]. Episodes that note a mark go on noting it, as something
// that happened.
func (k *keeper) Unmark(_ context.Context, label string, iv engram.Interval) (n int, err error) {
	gone := func(m episode.Mark) bool { return m.Label == label && iv.Contains(m.Time) }
	k.marking.Lock()
	defer k.marking.Unlock()
	left, _ := k.Marks(context.Background(), engram.Always())
	n = len(left)
	left = slices.DeleteFunc(left, gone)
	if n -= len(left); n > 0 {
		if err := k.state.change(func(c *stateContent) { c.Marks = slices.DeleteFunc(c.Marks, gone) }); err != nil {
			return 0, err
		}
	}
	n += k.growth.drop(gone, func(grown []episode.Mark) { k.marked.set(spansOf(append(left, grown...))) })
	if n == 0 {
		return 0, engram.Errorf(engram.NotFound, label, "there is no such mark")
	}
	k.health.set(allMarks, nil)
	return n, nil
}

// Marks implements [Service].
func (k *keeper) Marks(_ context.Context, iv engram.Interval) ([]episode.Mark, error) {
	all := slices.Clone(k.state.content().Marks)
	all = slices.DeleteFunc(all, func(m episode.Mark) bool { return !spanOf(m).Overlaps(iv) })
	slices.SortStableFunc(all, func(a, b episode.Mark) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

// findMarks takes the marks that the episodes note, if the file that holds them is not
// there.
func (k *keeper) findMarks(infos []episode.Info) {
	if k.state.mu.Version != 0 {
		return
	}
	for _, info := range infos {
		for _, m := range info.Marks {
			k.state.mu.Marks = episode.AddMark(k.state.mu.Marks, m)
		}
	}
}

// markedBytes bounds the payloads that a mark has recorded from the working memory's
// history.
const markedBytes = 256 << 20

// mark notes marks in the open episode, and records what the policies left out of spans
// of theirs as far as the working memory has it. What comes later passes them by itself.
func (r *recorder) mark(marks []episode.Mark, of spans) error {
	view := r.wm.View(r.ctx, nil)
	left := int64(markedBytes)
	for entity := range view.Entities() {
		e := r.entities[entity]
		if e == nil || r.policies.Of(entity).Record == policy.Never {
			continue
		}
		for _, span := range of {
			if loss, _ := e.tally.loss(); loss.Evictions == 0 || loss.Last < span.Start || loss.First >= span.End {
				continue // everything in the span was recorded
			}
			if err := r.recordSpan(entity, e, span, &left); err != nil {
				return err
			}
		}
	}
	if err := r.open(); err != nil {
		return engram.Errorf(engram.Unavailable, "", "the mark is kept, but no episode can be begun to note it in: %w", err)
	}
	for _, m := range marks {
		r.writer.Mark(m)
	}
	return nil
}

// recordSpan records the versions of an entity in a span that the working memory has
// and no episode.
func (r *recorder) recordSpan(entity engram.ID, e *recorded, span engram.Interval, left *int64) error {
	held, err := r.disk.heldIn(r.ctx, entity, span)
	if err != nil {
		return err
	}
	view := r.wm.View(r.ctx, nil)
	w := view.Entity(entity)
	if w == nil {
		return nil
	}
	var found query.Selection
	if _, err := w.Read(view, []engram.SnapshotSelector{engram.In(span)}, nil, 1<<20, &found); err != nil {
		return err
	}
	for _, s := range found.Snapshots {
		if held[heldVersion{s.Arrived, s.Time}] || s.Number > r.last {
			continue
		}
		if *left -= int64(s.Size()); *left < 0 {
			r.lose(1, "a mark's span has more than can be recorded of it at once; what policies left out of it remains so")
			return nil
		}
		r.keep(entity, s)
		e.tally.unfilter(s)
	}
	return nil
}
