package copies

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// ledger counts the owner's versions that a copy does not hold: left out by rules, or lost
// on the way. The replica's lock protects it. Its size is bounded: beyond maxTallied
// entities (fewer if their names are very long) it counts by provider segment, beyond
// maxSegments of these by memory, and each count has at most maxSpans spans of time.
type ledger struct {
	tallies map[engram.ID][]*tally // by entity, or what lies above some, by the holder's names
	n       int                    // how many tallies there are
	size    int                    // their sizes together
	// newest is the copy's newest version by entity: of the entities with a tally, and of up
	// to maxTallied others.
	newest map[engram.ID]newest
	added  uint64 // counts what was added
	// present is that of the copy's entities ([contract.Memory].Present).
	present func(entity engram.ID) engram.Time
}

// newest is the newest version of an entity in a copy, by the clock when it came
// ([query.Newer]).
type newest struct {
	at engram.Time
	// corrected: a version of the same time was left out later, or in the same batch. The
	// owner's content may differ.
	corrected bool
}

const (
	maxTallied  = 50_000
	maxSegments = 10_000
	maxSpans    = 8
	maxReasons  = 16 // of one ID

	// Bounds of the bytes of all tallies in the copy's file: of the entities', and of all
	// but the memory's.
	maxTalliedSize = 80 << 20
	maxLedgerSize  = 96 << 20
	tallySize      = 900 // bytes of one tally at most, without its ID and reason
)

// otherReasons stands for all reasons beyond maxReasons.
const otherReasons = "for other reasons"

// tally counts the missing versions of an ID for one reason, of contract.LeftOut or
// contract.Loss.
type tally struct {
	reason string
	size   int               // in the file, at most
	Count  uint64            `json:"count"`
	Bytes  int64             `json:"bytes,omitempty"`
	Spans  []engram.Interval `json:"spans"` // apart from each other, by time
	// Noticed is when it was last counted, by the holder's clock.
	Noticed engram.Time `json:"noticed,omitempty"`
	added   uint64      // the ledger's counter at that time
}

func newLedger(present func(engram.ID) engram.Time) ledger {
	return ledger{tallies: map[engram.ID][]*tally{}, newest: map[engram.ID]newest{}, present: present}
}

func (l *ledger) add(id engram.ID, reason string, count uint64, bytes int64, span engram.Interval) {
	if span.Empty() {
		span = engram.Always()
	}
	t := l.find(id, reason)
	if t == nil {
		t = newTally(id, reason)
		switch level := id.Level(); {
		case len(l.tallies[id]) >= maxReasons && reason != otherReasons && !t.leftOut():
			l.add(id, otherReasons, count, bytes, span)
			return
		case level == engram.LevelEntity && (l.n >= maxTallied || l.size+t.size > maxTalliedSize):
			l.add(id.Truncate(engram.LevelProviderSegment), reason, count, bytes, span)
			return
		case level > engram.LevelMemory && (l.n >= maxTallied+maxSegments || l.size+t.size > maxLedgerSize):
			l.add(id.Truncate(engram.LevelMemory), reason, count, bytes, span)
			return
		}
		l.put(id, t)
	}
	t.Count += count
	t.Bytes += bytes
	t.Noticed = engram.Now()
	l.added++
	t.added = l.added
	t.widen(span)
	if n, ok := l.newest[id]; ok && t.leftOut() && span.Contains(n.at) {
		l.newest[id] = newest{n.at, true}
	}
}

func newTally(id engram.ID, reason string) *tally {
	text, _ := json.Marshal([...]string{id.String(), reason}) // of strings that never fails
	return &tally{reason: reason, size: tallySize + len(text)}
}

func (l *ledger) find(id engram.ID, reason string) *tally {
	for _, t := range l.tallies[id] {
		if t.reason == reason {
			return t
		}
	}
	return nil
}

func (l *ledger) put(id engram.ID, t *tally) {
	l.tallies[id] = append(l.tallies[id], t)
	l.n++
	l.size += t.size
}

// prune drops the tallies of an ID that have no spans left.
func (l *ledger) prune(id engram.ID) {
	left := l.tallies[id][:0]
	for _, t := range l.tallies[id] {
		if len(t.Spans) > 0 {
			left = append(left, t)
		} else {
			l.n--
			l.size -= t.size
		}
	}
	if l.tallies[id] = left; len(left) == 0 {
		delete(l.tallies, id)
	}
}

// widen adds a span.
func (t *tally) widen(span engram.Interval) {
	t.Spans = append(t.Spans, span)
	slices.SortFunc(t.Spans, func(a, b engram.Interval) int { return cmp.Compare(a.Start, b.Start) })
	merged := t.Spans[:1]
	for _, s := range t.Spans[1:] {
		if last := &merged[len(merged)-1]; s.Start <= last.End {
			last.End = max(last.End, s.End)
		} else {
			merged = append(merged, s)
		}
	}
	t.Spans = merged
	t.bound()
}

// bound merges the closest spans until there are at most maxSpans.
func (t *tally) bound() {
	for len(t.Spans) > maxSpans {
		closest := 1
		for i := 2; i < len(t.Spans); i++ {
			if t.Spans[i].Start.Sub(t.Spans[i-1].End) < t.Spans[closest].Start.Sub(t.Spans[closest-1].End) {
				closest = i
			}
		}
		t.Spans[closest-1].End = t.Spans[closest].End
		t.Spans = slices.Delete(t.Spans, closest, closest+1)
	}
}

// stored notes that a version is there.
func (l *ledger) stored(id engram.ID, at engram.Time) {
	if n, ok := l.newest[id]; !ok || !query.Newer(n.at, at, l.present(id)) {
		if ok || len(l.newest) < maxTallied || l.tallies[id] != nil {
			l.newest[id] = newest{at: at}
		}
	}
}

// fetched subtracts the times that an answer of the owner covers from what rules left out.
// since is the ledger's counter when the owner was asked.
func (l *ledger) fetched(a *answer, since uint64) {
	for id, of := range l.tallies {
		if !a.pattern.Match(id) {
			continue
		}
		for _, t := range of {
			if t.leftOut() {
				// A version left out during the query may be missing from the answer.
				t.takeOff(a.covers(id, a.whole && t.added <= since))
			}
		}
		l.prune(id)
	}
}

// takeOff subtracts spans.
func (t *tally) takeOff(spans []engram.Interval) {
	before := t.length()
	for _, span := range spans {
		t.Spans = without(t.Spans, span)
	}
	// The number of versions in a span is not known; it is estimated by its length.
	if share := t.length() / before; share < 1 {
		t.Count, t.Bytes = max(uint64(float64(t.Count)*share), 1), int64(float64(t.Bytes)*share)
	}
	t.bound()
}

// without returns what of spans does not lie in another.
func without(spans []engram.Interval, other engram.Interval) []engram.Interval {
	var left []engram.Interval
	for _, s := range spans {
		if !s.Overlaps(other) {
			left = append(left, s)
			continue
		}
		if s.Start < other.Start {
			left = append(left, engram.Interval{Start: s.Start, End: other.Start})
		}
		if other.End < s.End {
			left = append(left, engram.Interval{Start: other.End, End: s.End})
		}
	}
	return left
}

func (t *tally) length() float64 {
	sum := 0.0
	for _, s := range t.Spans {
		sum += float64(s.End) - float64(s.Start)
	}
	return sum
}

// removed drops what a removal at the owner covers.
func (l *ledger) removed(r *contract.Removal) {
	m, err := r.Pattern.Matcher()
	if err != nil {
		return
	}
	of := func(id engram.ID) {
		if !m.Match(id) || slices.Contains(r.Besides, id.Truncate(engram.LevelProviderSegment)) {
			return
		}
		kept := func(iv engram.Interval) bool {
			return iv.Start < r.Span.Start || r.Span.End < iv.End || slices.ContainsFunc(r.Except, iv.Overlaps)
		}
		if n, ok := l.newest[id]; ok && !kept(engram.Interval{Start: n.at, End: n.at + 1}) {
			delete(l.newest, id)
		}
		for _, t := range l.tallies[id] {
			if t.reason == engram.MissingForgotten && !r.Segment {
				continue // a forgotten version may be reported before its removal, or again
			}
			t.Spans = slices.DeleteFunc(t.Spans, func(iv engram.Interval) bool { return !kept(iv) })
		}
		l.prune(id)
	}
	if id := r.Pattern.Enclosing(); id.Level() == engram.LevelEntity { // of which there may be very many
		of(id)
		return
	}
	for id := range l.newest {
		of(id)
	}
	for id := range l.tallies {
		of(id)
	}
}

// leftOut sums up what rules left out, and how much was lost.
func (l *ledger) leftOut() (out []contract.LeftOutCount, lost uint64) {
	sums := map[string]*contract.LeftOutCount{}
	for _, of := range l.tallies {
		for _, t := range of {
			if !t.leftOut() {
				lost += max(t.Count, 1)
				continue
			}
			s := sums[t.reason]
			if s == nil {
				s = &contract.LeftOutCount{Reason: t.reason}
				sums[t.reason] = s
			}
			s.Count += t.Count
			s.Bytes += t.Bytes
		}
	}
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b contract.LeftOutCount) int { return cmp.Compare(a.Reason, b.Reason) })
	return out, lost
}

// losses tells what was lost, the most recent first.
func (l *ledger) losses() []contract.Loss {
	var out []contract.Loss
	for id, of := range l.tallies {
		for _, t := range of {
			if !t.leftOut() {
				span := engram.Interval{Start: t.Spans[0].Start, End: t.Spans[len(t.Spans)-1].End}
				out = append(out, contract.Loss{ID: id, Reason: t.reason, Count: t.Count, Interval: span, Noticed: t.Noticed})
			}
		}
	}
	slices.SortFunc(out, func(a, b contract.Loss) int {
		return cmp.Or(cmp.Compare(b.Noticed, a.Noticed), a.ID.Compare(b.ID), cmp.Compare(a.Reason, b.Reason))
	})
	return out[:min(len(out), contract.MaxLosses)]
}

// leftOut reports whether a rule of the copy is why.
func (t *tally) leftOut() bool {
	switch t.reason {
	case contract.LeftOutRate, contract.LeftOutFilter, contract.LeftOutSize, contract.LeftOutFailed:
		return true
	}
	return false
}
