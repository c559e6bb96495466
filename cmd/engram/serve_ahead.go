package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

func addAheadFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("max-ahead", nil, "refuse commits whose time lies farther ahead of the server's clock than this, such as 10s,\nor take 'any'; for some segments SEGMENT=SPAN, such as Speech/Text=any; may be repeated (default 1m)")
}

// setAhead sets how far ahead of the clock the memories' own segments take commits, as the
// flag says; what is said last counts.
func setAhead(cmd *cobra.Command, memories []server.Memory) error {
	list, _ := cmd.Flags().GetStringArray("max-ahead")
	for _, text := range list {
		on, span, of := strings.Cut(text, "=")
		if !of {
			on, span = "*", text
		}
		ahead, err := parseAhead(span)
		if err != nil {
			return usagef("--max-ahead %s: %w", text, err)
		}
		p, err := engram.ParsePattern(on)
		if err != nil {
			return usagef("--max-ahead %s: %w", text, err)
		}
		match, err := p.Matcher()
		if err != nil || len(p.Levels) > int(engram.LevelCoreSegment) {
			return usagef("--max-ahead %s: name core segments, such as Speech/Text or Speech", text)
		}
		found := false
		for i := range memories {
			for k := range memories[i].Segments {
				if seg := &memories[i].Segments[k]; match.Match(seg.ID) {
					seg.MaxAhead, found = ahead, true
				}
			}
		}
		if of && !found {
			return usagef("--max-ahead %s: no memory here has such a segment; those that are added later say it themselves ('engram segment add --max-ahead')", text)
		}
	}
	return nil
}
