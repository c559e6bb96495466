package ingest

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The time 0 is one like others, in recordings, in memory, in an export and in what comes back from it.
func TestLogTimeZero(t *testing.T) {
	s := newServer(t)
	report := mustImport(t, s, testkit.Shared(t, "reports", "log_time_zero.mcap"), Options{Source: "x"})
	if want := (engram.Interval{Start: 0, End: 2e9 + 1}); report.Span != want || report.Lossy() {
		t.Errorf("%+v", report)
	}
	path := filepath.Join(t.TempDir(), "export.mcap")
	if _, err := Export(t.Context(), s, path, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	e, err := episode.Open(path, episode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if span := e.Info().Span; span.Start != 0 || span.End != 2e9+1 {
		t.Errorf("the export spans %v", span)
	}
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	var times []engram.Time
	for {
		m, err := rec.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := episode.IdentityOf(m.Channel.Topic, m.Channel.Metadata); ok {
			times = append(times, m.LogTime)
		}
	}
	if len(times) != 3 || times[0] != 0 || times[1] != 1e9 || times[2] != 2e9 {
		t.Errorf("the export's messages are at %v", times)
	}
	other := newServer(t)
	if _, err := ImportEpisode(t.Context(), other, path, Options{}); err != nil {
		t.Fatal(err)
	}
	for i, snap := range snapshots(t, other, "Speech", "Text", "x", "/talk") {
		if want := engram.Time(i) * 1e9; snap.Time != want || snap.Instances[0].Sent != want || !snap.Instances[0].HasSent {
			t.Errorf("came back at %v, sent %v, want %v", snap.Time, snap.Instances[0].Sent, want)
		}
	}
}
