package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
)

func addKeepFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("keep", nil, "keep in RAM of each entity of some segments SEGMENT=BOUNDS, such as Vision=count=50 or\n'Object/Instance=count=0 age=1h bytes=10000000', or of one entity ID=BOUNDS; 0 is no bound, what is not said stays; may be repeated\n('engram segment ls' shows the bounds)")
}

// setKeep sets how much the memories' own segments keep of each entity in RAM, as the flag says;
// what is said last counts.
func setKeep(cmd *cobra.Command, memories []server.Memory) error {
	list, _ := cmd.Flags().GetStringArray("keep")
	for _, text := range list {
		on, bounds, ok := strings.Cut(text, "=")
		if !ok || bounds == "" {
			return usagef("--keep %s: write SEGMENT=BOUNDS, such as Vision=count=50", text)
		}
		p, err := engram.ParsePattern(on)
		if err != nil {
			return usagef("--keep %s: %w", text, err)
		}
		match, err := p.Matcher()
		if err != nil {
			return usagef("--keep %s: %w", text, err)
		}
		if len(p.Levels) > int(engram.LevelCoreSegment) {
			if err := keepEntity(memories, match, text, bounds); err != nil {
				return err
			}
			continue
		}
		found := false
		for i := range memories {
			for k := range memories[i].Segments {
				if seg := &memories[i].Segments[k]; match.Match(seg.ID) {
					found = true
					if err := readBounds(bounds, &seg.History); err != nil {
						return usagef("--keep %s: %w", text, err)
					}
				}
			}
		}
		if !found {
			return usagef("--keep %s: no memory here has such a segment; those that are added later say it themselves ('engram segment add --keep-count')", text)
		}
	}
	return nil
}

// keepEntity sets how much is kept of one entity: as of its segment, but for what is said.
func keepEntity(memories []server.Memory, match *engram.PatternMatcher, text, bounds string) error {
	id, one := match.Exact()
	if !one || id.Level() != engram.LevelEntity {
		return usagef("--keep %s: name core segments, such as Vision/ImageRGB or Vision, or one entity", text)
	}
	for i := range memories {
		for _, seg := range memories[i].Segments {
			if seg.ID != id.Truncate(engram.LevelCoreSegment) {
				continue
			}
			keep, ok := memories[i].Keep[id]
			if !ok {
				keep = seg.History
			}
			if err := readBounds(bounds, &keep); err != nil {
				return usagef("--keep %s: %w", text, err)
			}
			if memories[i].Keep == nil {
				memories[i].Keep = map[engram.ID]engram.Bounds{}
			}
			memories[i].Keep[id] = keep
			return nil
		}
	}
	return usagef("--keep %s: no memory here has such a segment", text)
}

// readBounds sets what a text such as "count=100 age=10m bytes=0" says of bounds.
func readBounds(text string, into *engram.Bounds) (err error) {
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "count":
			into.MaxCount, err = strconv.Atoi(value)
		case "age":
			into.MaxAge, err = parseSpan(value)
		case "bytes":
			into.MaxBytes, err = strconv.ParseInt(value, 10, 64)
		default:
			return fmt.Errorf("there is no bound %q; there are count, age and bytes", name)
		}
		if err != nil {
			return fmt.Errorf("%s: %q is no such bound, as count=100, age=10m, bytes=1000000", name, value)
		}
		if into.MaxCount < 0 || into.MaxAge < 0 || into.MaxBytes < 0 {
			return fmt.Errorf("%s: 0 or more", name)
		}
	}
	return nil
}
