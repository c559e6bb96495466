package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// What is stamped ahead of the clock is told in a line, of however many entities it is.
func TestAheadIsTold(t *testing.T) {
	now := engram.Now()
	cup, plate := engram.MustID("Object/Instance/me/cup"), engram.MustID("Object/Instance/me/plate")
	item := func(id engram.ID, ahead time.Duration) engram.Item {
		return engram.Item{ID: id.At(now.Add(ahead)), Snapshot: &engram.Snapshot{Time: now.Add(ahead)}}
	}
	missing := func(id engram.ID) engram.Missing {
		return engram.Missing{ID: id, Reason: engram.MissingAhead, Interval: engram.Interval{Start: now, End: now.Add(time.Hour)}}
	}
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		warn func(*cobra.Command)
		want []string // nil if nothing is told
	}{
		"of the present": {func(cmd *cobra.Command) { warnAhead(cmd, []engram.Item{item(cup, -year), item(plate, 30*time.Second)}) }, nil},
		"one":            {func(cmd *cobra.Command) { warnAhead(cmd, []engram.Item{item(cup, 0), item(plate, year)}) }, []string{"me/plate/", "365d ahead"}},
		"several":        {func(cmd *cobra.Command) { warnAhead(cmd, []engram.Item{item(cup, year), item(plate, year)}) }, []string{"me/cup/", "1 snapshot more"}},
		"passed over":    {func(cmd *cobra.Command) { warnMissing(cmd, []engram.Missing{missing(cup)}) }, []string{"of Object/Instance/me/cup,", "--range"}},
		"of several":     {func(cmd *cobra.Command) { warnMissing(cmd, []engram.Missing{missing(cup), missing(plate)}) }, []string{"of 2 entities, such as Object/Instance/me/cup,"}},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetErr(&told)
			c.warn(cmd)
			if lines := strings.Count(told.String(), "\n"); lines != min(1, len(c.want)) {
				t.Errorf("%d lines: %s", lines, &told)
			}
			for _, part := range c.want {
				if !strings.Contains(told.String(), part) {
					t.Errorf("%q is not in %s", part, &told)
				}
			}
		})
	}
}
