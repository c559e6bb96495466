package main

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// An episode is named by its name, its number or the end of its name; nothing else
// names one, for what is named may be dropped.
func TestEpisodesAreNamed(t *testing.T) {
	one, two, eleven := "2026-11-20T12-51-46Z-000001.mcap", "2026-11-21T12-51-46Z-000002.mcap", "2026-11-22T12-51-46Z-000011.mcap"
	damaged := "2026-11-22T12-51-46Z-000017.mcap.open.damaged"
	names := []string{one, two, eleven, damaged}
	for text, want := range map[string]string{
		"2": two, "1": one, "11": eleven, "000001": one, "000002.mcap": two, "17": damaged, "46Z-000001": one,
		one: one, damaged: damaged, "2026-11-21T12-51-46Z-000002": two,
	} {
		if got, err := oneNamed(text, names); err != nil || got != want {
			t.Errorf("%q names %q, error %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "20", "2026", "2026-11-20", "00", "mcap", ".mcap", "6Z", "damaged"} {
		if got, err := oneNamed(text, names); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("%q names %q, error %v; want that there is no such episode", text, got, err)
		}
	}
	twice := "2026-11-23T12-51-46Z-000002.mcap"
	if got, err := oneNamed("2", append(names, twice)); err == nil {
		t.Errorf("a number of two episodes names %q", got)
	}
}
