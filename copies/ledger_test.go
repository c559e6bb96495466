package copies

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
)

// However many parts of what is missing are fetched, the spans of the rest are bounded.
func TestSpansOfTheRestAreBounded(t *testing.T) {
	l, id := newLedger(), engram.MustID("Object/Instance/P/cup")
	l.add(id, service.LeftOutRate, 1000, 0, engram.Interval{Start: 0, End: 1000})
	for i := range engram.Time(100) {
		a, err := newAnswer(engram.PatternOf(id), engram.Interval{Start: 10 * i, End: 10*i + 5})
		if err != nil {
			t.Fatal(err)
		}
		l.fetched(a, l.added)
	}
	rest := l.find(id, service.LeftOutRate)
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
		l := newLedger()
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
			l.settle(id)
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
