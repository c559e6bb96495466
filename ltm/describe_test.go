package ltm_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
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
