package server

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
)

// What the advice forgets lies in the segments that have something beyond their own present:
// what is of a simulation, or within a wider bound, is not of it.
func TestAdviceForgetsNothingElse(t *testing.T) {
	now, err := engram.ParseTime("2026-02-18 13:00:00.5")
	if err != nil {
		t.Fatal(err)
	}
	w := wm.New(wm.Config{Now: func() engram.Time { return now }})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	p, err := idf.ValuePayload("x")
	if err != nil {
		t.Fatal(err)
	}
	for name, max := range map[string]time.Duration{"A": 0, "B": 0, "Wide": time.Hour, "Wider": 3 * time.Hour, "Simulated": engram.AnyAhead} {
		id := engram.MustID("Test/" + name)
		if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id, MaxAhead: max}); err != nil {
			t.Fatal(err)
		}
		r, err := w.Commit(t.Context(), engram.Commit{Recorded: true, Updates: []engram.EntityUpdate{{
			Entity: engram.MustID(id.String() + "/me/a"), Time: now.Add(2 * time.Hour), Instances: []engram.Instance{engram.NewInstance(p)},
		}}})
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	text := aheadText(&Server{wm: w, ltm: new(ltm.Store)}, w.Ahead())
	for _, part := range []string{
		"of 3 entities",
		`'engram ltm forget "Test/A" "Test/B" --range "2026-02-18 13:01:01.." --reason clock' and 'engram ltm forget "Test/Wide" --range "2026-02-18 14:00:01.." --reason clock' forgets`,
		"ahead of the clock, the last at 2026-02-18 15:00:00.5",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	if strings.Contains(text, "Simulated") || strings.Contains(text, "Wider") {
		t.Errorf("what is right is named: %q", text)
	}
}
