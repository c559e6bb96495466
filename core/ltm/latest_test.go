package ltm_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// What the disk has of an entity that has left the working memory as a whole, and came
// back with something older, is found the short way, too.
func TestLatestOfAnEntityThatCameBack(t *testing.T) {
	const cup = "Test/Logged/p/cup"
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	defer l.end(t)
	for at := range engram.Time(6) {
		l.commit(t, cup, 10+at, marker(cup, 10+at, 0))
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	forget(t, l, ltm.Forgetting{Patterns: patterns(cup), Span: engram.Interval{Start: 12, End: 20}, Why: "test"}) // all that is in RAM
	l.commit(t, cup, 5, marker(cup, 5, 0))
	for asked, want := range map[engram.Time]engram.Time{9: 5, 10: 10, 11: 11, 30: 11} {
		if got, err := l.AtOrBefore(t.Context(), engram.MustID(cup), asked); err != nil || got.Time != want {
			t.Errorf("at or before %d: %v, %v; want that of %d", asked, got, err, want)
		}
	}
	if got, err := l.Latest(t.Context(), engram.MustID(cup)); err != nil || got.Time != 11 {
		t.Errorf("the latest: %v, %v; want that of 11", got, err)
	}
}

// An entity of which only the disk has something is there at times before it, too.
func TestBeforeWhatTheDiskHas(t *testing.T) {
	const cup = "Test/Volatile/p/cup"
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, cup, 10, marker(cup, 10, 0))
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	defer l.end(t)
	_, err := l.AtOrBefore(t.Context(), engram.MustID(cup), 9)
	if engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), "no snapshot at or before") {
		t.Errorf("before all that there is: %v", err)
	}
}
