package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
)

func newSegment() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "segment",
		Short: "List, add and remove core and provider segments",
	}
	cmd.AddCommand(newSegmentLs(), newSegmentAdd(), newSegmentRm())
	return cmd
}

// segmentJSON is a segment as 'segment ls' prints it. What is 0 has no bound.
type segmentJSON struct {
	ID             string `json:"id"`
	Level          string `json:"level"`
	Type           string `json:"type"`
	KeepCount      int    `json:"keep_count,string"`
	KeepAge        string `json:"keep_age"`
	KeepBytes      int64  `json:"keep_bytes,string"`
	Durability     string `json:"durability"`
	MaxAhead       string `json:"max_ahead"` // a duration, or "any"
	FixedProviders bool   `json:"fixed_providers"`
}

func newSegmentLs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls [ID…]", Short: "List segments with their types and how much they keep of each entity",
		Example: "  engram segment ls\n  engram segment ls Vision -o json", ValidArgsFunction: completeIDs,
	}
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		patterns, err := parsePatterns(args)
		if err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		t := &table{header: []string{"ID", "TYPE", "COUNT", "AGE", "BYTES", "AHEAD", "DURABILITY"}, right: []bool{false, false, true, true, true, true}, spare: []string{"AHEAD", "DURABILITY"}}
		objects := []segmentJSON{}
		seen := map[engram.ID]bool{}
		for _, p := range patterns {
			found, err := m.Describe(cmd.Context(), p)
			if err != nil {
				return err
			}
			for _, d := range found {
				if seen[d.ID] {
					continue
				}
				seen[d.ID] = true
				o := segmentJSON{
					ID: d.ID.String(), Level: d.ID.Level().String(), Type: d.Type, KeepCount: d.History.MaxCount,
					KeepAge: d.History.MaxAge.String(), KeepBytes: d.History.MaxBytes, Durability: d.Durability.String(),
					FixedProviders: d.FixedProviders, MaxAhead: formatAhead(d.MaxAhead),
				}
				objects = append(objects, o)
				count := cellOf("", strconv.Itoa(o.KeepCount))
				if o.KeepCount > 0 {
					count.shown = words.Count(o.KeepCount)
				}
				age, size := cellOf("", o.KeepAge), cellOf("", strconv.FormatInt(o.KeepBytes, 10))
				if d.History.MaxAge > 0 {
					age.shown = words.Duration(d.History.MaxAge)
				}
				if o.KeepBytes > 0 {
					size.shown = byteSize(o.KeepBytes).String()
				}
				ahead := cellOf(o.MaxAhead, o.MaxAhead)
				if d.MaxAhead >= 0 {
					ahead.shown = words.Duration(cmp.Or(d.MaxAhead, engram.DefaultMaxAhead))
				}
				t.add(o.ID, o.Type, count, age, size, ahead, o.Durability)
			}
		}
		return print(cmd.OutOrStdout(), format, t, objects)
	})
	return cmd
}

func newSegmentAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add ID",
		Short: "Add a core segment, or a provider segment of one",
		Long: `Adds the core segment memory/name, or the provider segment memory/core/name. The
payloads of a core segment are of --type, or any data without it; --type of a provider
segment extends that of its core segment. 'engram type add' makes a type known.`,
		Example: `  engram type add cup.xml
  engram segment add Object/Cup --type lab.Cup --keep-age 10m
  engram put Object/Cup/me/red '{"fill": 0.5}'`,
		Args: positional(cobra.ExactArgs(1)), ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("type", "", "the payloads' type, by its full name")
	f.Int("keep-count", 0, "of each entity keep at most so many snapshots; 0 is no bound")
	f.String("keep-age", "0s", "of each entity keep snapshots up to this much older than its newest, such as 10m or 2d; 0s is no bound")
	f.Int64("keep-bytes", 0, "of each entity keep at most so many bytes of payload; 0 is no bound")
	f.String("max-ahead", formatAhead(0), "refuse commits whose time lies farther ahead of the server's clock than this, or take 'any'")
	f.String("durability", "volatile", "what a commit promises: volatile, logged (on disk within a second) or synced (before the answer);\nfor the server's --data")
	_ = cmd.RegisterFlagCompletionFunc("durability", cobra.FixedCompletions(durabilities(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = addSegment
	return cmd
}

func addSegment(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	id, err := segmentID(args[0])
	if err != nil {
		return err
	}
	typeName, _ := f.GetString("type")
	var keep engram.Bounds
	keep.MaxCount, _ = f.GetInt("keep-count")
	keep.MaxBytes, _ = f.GetInt64("keep-bytes")
	age, _ := f.GetString("keep-age")
	if keep.MaxAge, err = parseSpan(age); err != nil {
		return usagef("--keep-age: %w", err)
	}
	if keep.MaxCount < 0 || keep.MaxBytes < 0 || keep.MaxAge < 0 {
		return usagef("--keep-count, --keep-age and --keep-bytes: 0 or more")
	}
	durability, err := durabilityFlag(cmd)
	if err != nil {
		return err
	}
	text, _ := f.GetString("max-ahead")
	ahead, err := parseAhead(text)
	if err != nil {
		return usagef("--max-ahead: %w", err)
	}
	provider := id.Level() == engram.LevelProviderSegment
	if provider && f.Changed("durability") {
		return usagef("%s is a provider segment; --durability is said of its core segment", id)
	}
	if provider && f.Changed("max-ahead") {
		return usagef("%s is a provider segment; --max-ahead is said of its core segment", id)
	}
	if provider && keep != (engram.Bounds{}) {
		return usagef("%s is a provider segment; how much is kept is said of its core segment", id)
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	if provider {
		err = m.AddProviderSegment(cmd.Context(), engram.ProviderSegment{ID: id, Type: typeName})
	} else {
		err = m.AddCoreSegment(cmd.Context(), engram.CoreSegment{ID: id, Type: typeName, History: keep, Durability: durability, MaxAhead: ahead})
	}
	if err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s added\n", visible(id.String()))
	}
	if engram.CodeOf(err) == engram.NotFound && strings.Contains(err.Error(), "no memory of this name") {
		err = fmt.Errorf("%w; 'engram serve --plain-memory %s' hosts one for your own segments", err, id.Memory())
	}
	return err
}

// formatAhead returns a core segment's MaxAhead as [parseAhead] reads it.
func formatAhead(d time.Duration) string {
	switch {
	case d < 0:
		return "any"
	case d == 0:
		d = engram.DefaultMaxAhead
	}
	return d.String()
}

// parseAhead reads how far times may lie ahead of the server's clock.
func parseAhead(text string) (time.Duration, error) {
	if text == "any" {
		return engram.AnyAhead, nil
	}
	d, err := parseSpan(text)
	switch {
	case err != nil:
		return 0, err
	case d <= 0:
		return 0, fmt.Errorf("%s: more than 0, such as 1m, or any", text)
	case d == engram.DefaultMaxAhead:
		d = 0
	}
	return d, nil
}

func durabilities() []string {
	return []string{engram.Volatile.String(), engram.Logged.String(), engram.Synced.String()}
}

func durabilityFlag(cmd *cobra.Command) (engram.Durability, error) {
	text, _ := cmd.Flags().GetString("durability")
	for i, name := range durabilities() {
		if name == text {
			return engram.Durability(i), nil
		}
	}
	return 0, usagef("--durability %s: %s", text, listed(durabilities(), "or"))
}

func newSegmentRm() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ID", Short: "Remove a core or provider segment with all it holds",
		Example: "  engram segment rm Object/Cup", Args: positional(cobra.ExactArgs(1)), ValidArgsFunction: completeIDs,
	}
	addYesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := segmentID(args[0])
		if err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		held, err := m.Stats(cmd.Context(), engram.PatternOf(id), engram.LevelEntity)
		if err != nil {
			return err
		}
		entities, snapshots := 0, 0
		for _, s := range held {
			if s.ID.Level() == engram.LevelEntity {
				entities++
				snapshots += int(s.Snapshots)
			}
		}
		what := fmt.Sprintf("This removes %s with all it holds in RAM, %s of %s, for good.", visible(id.String()),
			countOf(uint64(snapshots), "snapshot"), map[bool]string{true: "1 entity", false: words.Count(entities) + " entities"}[entities == 1])
		if err := confirm(cmd, what); err != nil {
			return err
		}
		if err := m.RemoveSegment(cmd.Context(), id); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s removed\n", visible(id.String()))
		return err
	}
	return cmd
}

func segmentID(text string) (engram.ID, error) {
	id, err := parseOneID(text)
	switch {
	case err != nil:
		return id, err
	case id.Level() != engram.LevelCoreSegment && id.Level() != engram.LevelProviderSegment:
		return id, usagef("%q is a %s; write memory/core segment or memory/core segment/provider segment", text, id.Level())
	}
	return id, nil
}
