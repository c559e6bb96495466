package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
)

func newSegment() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "segment",
		Short: "List, add and remove core and provider segments",
	}
	cmd.AddCommand(newSegmentLs(), newSegmentAdd(), newSegmentSet(), newSegmentRm())
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
		patterns, m, err := connectFor(cmd, args)
		if err != nil {
			return err
		}
		defer m.Close()
		t := &table{header: []string{"ID", "TYPE", "COUNT", "AGE", "BYTES", "AHEAD", "DURABILITY"}, right: []bool{false, false, true, true, true, true}}
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
				count := cell{shown: "", raw: strconv.Itoa(o.KeepCount)}
				if o.KeepCount > 0 {
					count.shown = formatCount(o.KeepCount)
				}
				age, size := cell{shown: "", raw: o.KeepAge}, cell{shown: "", raw: strconv.FormatInt(o.KeepBytes, 10)}
				if d.History.MaxAge > 0 {
					age.shown = formatDuration(d.History.MaxAge)
				}
				if o.KeepBytes > 0 {
					size.shown = byteSize(o.KeepBytes).String()
				}
				ahead := cell{shown: o.MaxAhead, raw: o.MaxAhead}
				if d.MaxAhead >= 0 {
					ahead.shown = formatDuration(cmp.Or(d.MaxAhead, engram.DefaultMaxAhead))
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
	addHistoryFlags(cmd)
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
	if err := readHistoryFlags(cmd, &keep); err != nil {
		return err
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

func addHistoryFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int("keep-count", 0, "of each entity keep at most so many snapshots; 0 is no bound")
	f.String("keep-age", "0s", "of each entity keep snapshots up to this much older than its newest, such as 10m or 2d; 0s is no bound")
	f.Int64("keep-bytes", 0, "of each entity keep at most so many bytes of payload; 0 is no bound")
}

// readHistoryFlags sets what the flags of addHistoryFlags that were given say.
func readHistoryFlags(cmd *cobra.Command, keep *engram.Bounds) (err error) {
	f := cmd.Flags()
	if f.Changed("keep-count") {
		keep.MaxCount, _ = f.GetInt("keep-count")
	}
	if f.Changed("keep-bytes") {
		keep.MaxBytes, _ = f.GetInt64("keep-bytes")
	}
	if f.Changed("keep-age") {
		age, _ := f.GetString("keep-age")
		if keep.MaxAge, err = parseSpan(age); err != nil {
			return usagef("--keep-age: %w", err)
		}
	}
	if keep.MaxCount < 0 || keep.MaxBytes < 0 || keep.MaxAge < 0 {
		return usagef("--keep-count, --keep-age and --keep-bytes: 0 or more")
	}
	return nil
}

func newSegmentSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set ID…",
		Short: "Change how much core segments keep in RAM of each entity, or how much is kept of one",
		Long: `Changes how much core segments keep in RAM of each entity, or how much is kept of single
entities, while the server runs; what is not said stays as it is. What is beyond the new bounds is
evicted at once; a long-term memory keeps what it has recorded ('engram ltm policy set' changes that).

Where the server has a folder (--data), what is set here lasts until it is set again, also over
what 'engram serve --keep' says. Without one it lasts until the server ends. --reset gives entities
the bounds of their segment again, and segments that every server has those they have without
--keep. 'engram segment ls' shows the bounds, 'engram stats --why' which entities have their own.`,
		Example: `  engram segment set Vision/ImageRGB --keep-age 10m
  engram segment set Vision/ImageRGB/Demo/head --keep-age 30m --keep-bytes 0
  engram segment set Vision --keep-count 50      # all of its core segments`,
		Args: positional(cobra.MinimumNArgs(1)), ValidArgsFunction: completeIDs,
	}
	addHistoryFlags(cmd)
	cmd.Flags().Bool("reset", false, "give entities the bounds of their segment again, and segments those that every server has for them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f := cmd.Flags()
		reset, _ := f.GetBool("reset")
		var said engram.Bounds
		if err := readHistoryFlags(cmd, &said); err != nil {
			return err
		}
		switch bounds := f.Changed("keep-count") || f.Changed("keep-age") || f.Changed("keep-bytes"); {
		case reset && bounds:
			return usagef("--reset gives bounds as they were; say no others")
		case !reset && !bounds:
			return usagef("say what to keep: --keep-count, --keep-age or --keep-bytes")
		}
		patterns, m, err := connectFor(cmd, args)
		if err != nil {
			return err
		}
		defer m.Close()
		for i, p := range patterns {
			switch {
			case len(p.Levels) == int(engram.LevelEntity):
				if err := setEntities(cmd, m, p, args[i], reset); err != nil {
					return err
				}
				continue
			case len(p.Levels) > int(engram.LevelCoreSegment):
				return usagef("%s: name core segments, such as Vision/ImageRGB or Vision, or entities", args[i])
			}
			found, err := m.Describe(cmd.Context(), p)
			if err != nil {
				return err
			}
			set := 0
			for _, d := range found {
				if d.ID.Level() != engram.LevelCoreSegment {
					continue
				}
				set++
				if err := readHistoryFlags(cmd, &d.History); err != nil {
					return err
				}
				if reset {
					if d.History, err = usualBounds(d.ID); err != nil {
						return err
					}
				}
				if err := m.SetHistory(cmd.Context(), d.ID, d.History); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s keeps %s\n", visible(d.ID.String()), historyText(d.History)); err != nil {
					return err
				}
			}
			if set == 0 {
				return engram.Errorf(engram.NotFound, args[i], "there is no such core segment; 'engram segment ls' shows what there is")
			}
		}
		return nil
	}
	return cmd
}

// usualBounds returns the bounds of a segment that every server has.
func usualBounds(id engram.ID) (engram.Bounds, error) {
	for _, m := range memories.All() {
		for _, s := range m.Segments {
			if s.ID == id {
				return s.History, nil
			}
		}
	}
	return engram.Bounds{}, usagef("%s: not every server has this segment, so there are no bounds to reset it to; say its bounds", visible(id.String()))
}

// setEntities sets how much is kept of the entities that a pattern matches.
func setEntities(cmd *cobra.Command, m engram.Service, p engram.Pattern, arg string, reset bool) error {
	stats, err := m.Stats(cmd.Context(), p, engram.LevelEntity)
	if err != nil {
		return err
	}
	above := p
	if match, err := p.Matcher(); reset && len(stats) == 0 && err == nil {
		if id, one := match.Exact(); one { // it has bounds of its own until it comes again
			above = engram.PatternOf(id.Truncate(engram.LevelCoreSegment))
			stats = []engram.Stats{{ID: id, Snapshots: 1}}
		}
	}
	segments, err := m.Describe(cmd.Context(), above)
	if err != nil {
		return err
	}
	of := map[engram.ID]engram.Bounds{}
	for _, d := range segments {
		of[d.ID] = d.History
	}
	set := 0
	for _, s := range stats {
		if s.ID.Level() != engram.LevelEntity || s.Snapshots == 0 {
			continue
		}
		keep, ok := of[s.ID.Truncate(engram.LevelCoreSegment)]
		if !ok {
			continue
		}
		set++
		if s.Keeps != nil && !reset {
			keep = *s.Keeps
		}
		if err := readHistoryFlags(cmd, &keep); err != nil {
			return err
		}
		if err := m.SetHistory(cmd.Context(), s.ID, keep); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s keeps %s\n", visible(s.ID.String()), cmp.Or(boundsText(keep), "all, within the bounds of its memory")); err != nil {
			return err
		}
	}
	if set == 0 {
		return engram.Errorf(engram.NotFound, arg, "there is no such entity in RAM; 'engram ls' shows what there is")
	}
	return nil
}

// historyText says what bounds keep of each entity.
func historyText(b engram.Bounds) string {
	if text := boundsText(b); text != "" {
		return text + " of each entity"
	}
	return "all of each entity, within the bounds of its memory"
}

// boundsText says what bounds keep of an entity; "" if all.
func boundsText(b engram.Bounds) string {
	var parts []string
	if b.MaxCount > 0 {
		parts = append(parts, countOf(uint64(b.MaxCount), "snapshot"))
	}
	if b.MaxAge > 0 {
		parts = append(parts, formatDuration(b.MaxAge))
	}
	if b.MaxBytes > 0 {
		parts = append(parts, byteSize(b.MaxBytes).String())
	}
	return strings.Join(parts, ", ")
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
		what := fmt.Sprintf("This removes %s with all it holds, for good: %s.", visible(id.String()), heldText(held))
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

// heldText counts what entities hold, in RAM and on disk.
func heldText(nodes []engram.Stats) string {
	var all engram.Stats
	for _, s := range nodes {
		if s.ID.Level() == engram.LevelEntity {
			all.Entities++
			all.Snapshots += s.Snapshots
			all.Bytes += s.Bytes
			all.Disk.Add(s.Disk)
		}
	}
	text := fmt.Sprintf("%s of %s, %s", countOf(all.Snapshots, "snapshot"), countOf(all.Entities, "entity"), byteSize(all.Bytes))
	if all.Disk.Snapshots > 0 {
		text += fmt.Sprintf(" in RAM, and %s on disk, %s, which are not found any more", countOf(all.Disk.Snapshots, "snapshot"), byteSize(all.Disk.Bytes))
	}
	return text
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
