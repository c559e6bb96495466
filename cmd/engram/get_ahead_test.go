package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// aheads is a service that knows how far ahead core segments take times.
type aheads struct {
	engram.Service
	of map[string]time.Duration
}

func (a aheads) Describe(_ context.Context, p engram.Pattern) ([]engram.Description, error) {
	core := p.Enclosing()
	return []engram.Description{{ID: core, MaxAhead: a.of[core.String()]}}, nil
}

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
	m := aheads{of: map[string]time.Duration{"Sim/World": engram.AnyAhead, "Plan/Step": 2 * time.Hour}}
	world, step := engram.MustID("Sim/World/me/cup"), engram.MustID("Plan/Step/me/1")
	latest := func(items ...engram.Item) func(*cobra.Command) {
		r := &engram.Result{Copies: []engram.CopyUsed{{Memory: "rover:Object"}}}
		for _, it := range items {
			node := &engram.ResultNode{Name: it.ID.Entity(), Snapshots: []*engram.Snapshot{it.Snapshot}}
			for _, name := range []string{it.ID.ProviderSegment(), it.ID.CoreSegment(), it.ID.Memory()} {
				node = &engram.ResultNode{Name: name, Children: []*engram.ResultNode{node}}
			}
			r.Memories = append(r.Memories, node)
		}
		return func(cmd *cobra.Command) { warnAhead(cmd, m, r) }
	}
	for name, c := range map[string]struct {
		warn func(*cobra.Command)
		want []string // nil if nothing is told
	}{
		"of the present":          {latest(item(cup, -year), item(plate, 30*time.Second)), nil},
		"one":                     {latest(item(cup, 0), item(plate, year)), []string{"me/plate/", "365d ahead"}},
		"several":                 {latest(item(cup, year), item(plate, year)), []string{"me/cup/", "1 snapshot more"}},
		"of a simulation":         {latest(item(world, year), item(step, time.Hour)), nil},
		"beyond a wider bound":    {latest(item(world, year), item(step, 3*time.Hour)), []string{"Plan/Step/me/1/"}},
		"of another robot's copy": {latest(item(engram.MustID("rover:Object/Instance/me/cup"), 2*time.Hour)), nil},
		"passed over":             {func(cmd *cobra.Command) { warnMissing(cmd, []engram.Missing{missing(cup)}) }, []string{"of Object/Instance/me/cup,", "--range"}},
		"of several":              {func(cmd *cobra.Command) { warnMissing(cmd, []engram.Missing{missing(cup), missing(plate)}) }, []string{"of 2 entities, such as Object/Instance/me/cup,"}},
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
