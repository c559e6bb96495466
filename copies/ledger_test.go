package copies

import (
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
