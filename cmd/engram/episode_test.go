package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
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

// dropping is a keeper whose episodes cannot be verified: those in gone are dropped
// meanwhile, the others are there.
type dropping struct{ all, gone []string }

func (d *dropping) names(context.Context) ([]string, error) { return slices.Clone(d.all), nil }

func (d *dropping) verify(_ context.Context, name string) ([]episode.Problem, error) {
	if slices.Contains(d.gone, name) {
		d.all = slices.DeleteFunc(d.all, func(n string) bool { return n == name })
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such episode")
}

func (d *dropping) repair(context.Context, string) (episode.Info, []episode.Problem, error) {
	panic("nothing is to be repaired")
}

// An episode that is dropped while episodes are verified is not damaged; one whose file
// is missing is.
func TestVerifyingWhatIsDropped(t *testing.T) {
	for _, tt := range []struct {
		gone, want string
	}{
		{"b", "in 1 of 1 episode;"},
		{"", "in 2 of 2 episodes;"},
		{"ab", ""},
	} {
		k := &dropping{[]string{"a", "b"}, strings.Split(tt.gone, "")}
		cmd := newEpisodeVerify()
		cmd.SetContext(t.Context())
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		err := verify(cmd, k, "table", nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("with %q dropped: %v; want %q", tt.gone, err, tt.want)
		}
	}
}
