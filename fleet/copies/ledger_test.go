package copies

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

func allPresent(engram.ID) engram.Time { return engram.MaxTime }

// However many parts of what is missing are fetched, the spans of the rest are bounded.
func TestSpansOfTheRestAreBounded(t *testing.T) {
	l, id := newLedger(allPresent), engram.MustID("Object/Instance/P/cup")
	l.add(id, contract.LeftOutRate, 1000, 0, engram.Interval{Start: 0, End: 1000})
	for i := range engram.Time(100) {
		a, err := newAnswer(engram.PatternOf(id), engram.Interval{Start: 10 * i, End: 10*i + 5})
		if err != nil {
			t.Fatal(err)
		}
		l.fetched(a, l.added)
	}
	rest := l.find(id, contract.LeftOutRate)
	if rest == nil || len(rest.Spans) > maxSpans || rest.Spans[0].Start != 5 || rest.Spans[len(rest.Spans)-1].End != 1000 {
		t.Errorf("what was not fetched is %+v", rest)
	}
}

// Whatever an owner tells, and however long its names are, what is known to be missing
// fits into the copy's file, and nothing of it is uncounted.
func TestLedgerFitsIntoItsFile(t *testing.T) {
	long := strings.Repeat("<", engram.MaxNameLen-10)
	for name, next := range map[string]func(i int) (id engram.ID, reason string){
		"entities":         func(i int) (engram.ID, string) { return engram.MustID(fmt.Sprint("M/C/P/", i)), "evicted" },
		"long entities":    func(i int) (engram.ID, string) { return engram.MustID(fmt.Sprint("M/C/P/", long, i)), "evicted" },
		"long segments":    func(i int) (engram.ID, string) { return engram.MustID(fmt.Sprint("M/C/", long, i)), "evicted" },
		"reasons":          func(i int) (engram.ID, string) { return engram.MustID("M/C/P/e"), fmt.Sprint(i) },
		"reasons, of much": func(i int) (engram.ID, string) { return engram.MustID("M"), fmt.Sprint(i) },
	} {
		l := newLedger(allPresent)
		const n = maxTallied + maxSegments + 10_000
		for i := range n {
			id, reason := next(i)
			l.add(id, reason, 1, 0, engram.Interval{})
		}
		if _, lost := l.leftOut(); lost != n {
			t.Errorf("%s: %d are lost of %d", name, lost, n)
		}
		slack := (maxReasons + 4) * (tallySize + 6*(engram.MaxNameLen+maxReason))
		if l.n > maxTallied+maxSegments+maxReasons || l.size > maxLedgerSize+slack || l.size > maxState-(16<<20) {
			t.Errorf("%s: there are %d tallies of %d bytes", name, l.n, l.size)
		}
		for id := range l.tallies {
			for _, t := range l.tallies[id] {
				t.Spans = nil
			}
			l.prune(id)
		}
		if l.n != 0 || l.size != 0 {
			t.Errorf("%s: of nothing there are %d tallies of %d bytes", name, l.n, l.size)
		}
	}

	// A tally is as large as it is said to be at most.
	id, late := engram.MustID("M/C/P/"+long), engram.MaxTime
	x := newTally(id, strings.Repeat("<", maxReason))
	x.Count, x.Bytes, x.Noticed = math.MaxUint64, math.MaxInt64, late
	for range maxSpans {
		x.Spans = append(x.Spans, engram.Interval{Start: late - 1, End: late})
	}
	text, err := json.Marshal(missingJSON{ID: id.String(), Reason: x.reason, tally: *x, Newest: &late})
	if err != nil || len(text) >= x.size {
		t.Errorf("a tally has %d bytes, %v; said to have %d", len(text), err, x.size)
	}
}

// The newest versions are known of entities of which something is missing, however many
// others there are, and not of what was removed.
func TestNewestIsKnownOfWhatIsMissing(t *testing.T) {
	l, cup := newLedger(allPresent), engram.MustID("M/C/P/cup")
	for i := range maxTallied + 10 {
		l.stored(engram.MustID(fmt.Sprint("M/C/P/", i)), 1)
	}
	l.add(cup, contract.LeftOutRate, 1, 0, engram.Interval{Start: 3, End: 4})
	l.stored(cup, 5)
	if n, ok := l.newest[cup]; !ok || n.at != 5 || len(l.newest) != maxTallied+1 {
		t.Errorf("the newest of an entity of which something is missing is %v, %v; known are %d", n, ok, len(l.newest))
	}
	for _, c := range []struct {
		r    contract.Removal
		want int
	}{
		{contract.Removal{Pattern: engram.PatternOf(cup), Span: engram.Interval{Start: 0, End: 5}}, maxTallied + 1},
		{contract.Removal{Pattern: engram.PatternOf(cup), Span: engram.Always(), Except: []engram.Interval{{Start: 5, End: 6}}}, maxTallied + 1},
		{contract.Removal{Pattern: engram.PatternOf(cup), Span: engram.Always()}, maxTallied},
		{contract.Removal{Pattern: engram.MustPattern("M/C"), Span: engram.Always(), Besides: []engram.ID{cup.Parent()}}, maxTallied},
		{contract.Removal{Pattern: engram.MustPattern("M/C/P"), Span: engram.Always()}, 0},
	} {
		if l.removed(&c.r); len(l.newest) != c.want {
			t.Errorf("after the removal of %+v %d are known; want %d", c.r, len(l.newest), c.want)
		}
	}
}

// What was forgotten at the owner stays known when its removal is told, which may be told
// more than once; a segment that is removed leaves nothing.
func TestForgottenStaysKnown(t *testing.T) {
	l, cup := newLedger(allPresent), engram.MustID("Object/Instance/P/cup")
	span := engram.Interval{Start: 1, End: 5}
	for _, reason := range []string{engram.MissingForgotten, contract.LeftOutRate} {
		l.add(cup, reason, 4, 0, span)
	}
	removal := contract.Removal{Pattern: engram.PatternOf(cup), Span: engram.Always(), Until: 10}
	l.removed(&removal)
	if of := l.tallies[cup]; len(of) != 1 || of[0].reason != engram.MissingForgotten {
		t.Errorf("after a removal is missing %+v", of)
	}
	removal.Pattern, removal.Segment = engram.PatternOf(cup.Truncate(engram.LevelCoreSegment)), true
	l.removed(&removal)
	if of := l.tallies[cup]; len(of) != 0 {
		t.Errorf("after the segment was removed is missing %+v", of)
	}
}
