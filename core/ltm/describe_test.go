package ltm_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
)

// Provider segments that only earlier epochs have written to are described like others.
func TestDescribeKnowsTheDisk(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/cup", 1, "x")
	l.commit(t, "Test/Volatile/q/bowl", 1, "x")
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	l.commit(t, "Test/Volatile/p/cup", 2, "x")
	for _, tt := range []struct {
		pattern string
		want    []string
	}{
		{"Test/Volatile", []string{"Test/Volatile", "Test/Volatile/p", "Test/Volatile/q"}},
		{"Test/Volatile/q", []string{"Test/Volatile", "Test/Volatile/q"}},
		{"*/*/*/bowl", []string{"Test/Volatile", "Test/Volatile/q"}},
		{"Test/Volatile/r", nil},
	} {
		p := engram.MustPattern(tt.pattern)
		known, err := l.wm.Describe(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.Describe(t.Context(), p, known)
		var got []string
		for _, d := range all {
			got = append(got, d.ID.String())
			if d.Type != engram.ValueType || d.History.MaxCount != 3 {
				t.Errorf("%s: described as %+v", tt.pattern, d)
			}
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.pattern, got, err, tt.want)
		}
	}
}

// An episode of a clock that begins at 0, as a simulation's, begins there; what holds at all
// times does not count beside times of today.
func TestEpisodeFromZero(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []engram.Time
		want  engram.Interval
	}{
		{"a simulation", []engram.Time{0, 1e9, 2e9}, engram.Interval{Start: 0, End: 2e9 + 1}},
		{"prior knowledge", []engram.Time{0, 1_700_000_000e9}, engram.Interval{Start: 1_700_000_000e9, End: 1_700_000_000e9 + 1}},
		{"before 1970", []engram.Time{-1, 0, 1e9}, engram.Interval{Start: 1e9, End: 1e9 + 1}},
	} {
		l := begin(t, ltm.Options{Dir: fastDir(t)})
		for _, at := range c.times {
			l.commit(t, "Test/Volatile/p/e", at, "x")
		}
		l.caughtUp(t)
		check := func(when string) {
			t.Helper()
			e := mustEpisodes(t, l)[0]
			info, entities, err := l.Episode(t.Context(), e.Name)
			if err != nil || e.Recorded != c.want || info.Recorded != c.want || entities[0].Recorded != c.want {
				t.Errorf("%s, %s: recorded %v, %v, and of the entity %v, %v; want %v", c.name, when, e.Recorded, info.Recorded, entities[0].Recorded, err, c.want)
			}
		}
		check("open")
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		check("sealed")
		l.end(t)
	}
}
