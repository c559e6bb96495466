package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

func newLink() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link",
		Short: "What links to what, and what should and does not",
	}
	cmd.AddCommand(newLinkBack(), newLinkCheck())
	return cmd
}

// trimmedPart is a part of a sentence without what joins it to the one before.
func trimmedPart(s string) string { return strings.Trim(s, " ,;:.") }

func newLinkBack() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "back ID",
		Short: "What links to an entity, a snapshot or an instance",
		Long: `Prints what links to what an ID names, in RAM and on disk, on all memory servers. Of an
entity links to any of its snapshots are printed, too; of a snapshot also links to the entity
from what is of the time in which the snapshot was in force.`,
		Example: `  engram link back Object/Instance/Localizer/cup
  engram link back Speech/Command/asr/microphone --from Skill --at now-10m`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("from", "", "sources that match this pattern only, such as a memory")
	f.String("at", "", "what was in force at this time: absolute, -10s or now-10s (default: all times)")
	f.String("as-of", "", "what was known at this time, when what came later had not arrived")
	f.Int("limit", 1_000, "print so many links at most; 0 is all")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		var q service.BackQuery
		var err error
		if q.Target, err = parseDatum(args[0]); err != nil {
			return err
		}
		from, _ := f.GetString("from")
		if q.From, err = engram.ParsePattern(from); err != nil {
			return usagef("--from: %w", err)
		}
		if q.Limit, _ = f.GetInt("limit"); q.Limit < 0 {
			return usagef("--limit is not negative")
		}
		if q.At, q.AsOf, err = linkTimes(cmd); err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		t := &table{header: []string{"SOURCE", "TIME", "MEMBER", "LINK"}}
		var objects []backLinkJSON
		for b, err := range m.Links().BackLinks(cmd.Context(), q) {
			if errors.Is(err, service.ErrMore) {
				cmd.PrintErrf("engram: there are more links than --limit %d\n", q.Limit)
				break
			}
			if engram.CodeOf(err) == engram.Unavailable && len(objects) > 0 {
				cmd.PrintErrf("engram: %s\n", visible(oneLine(err.Error())))
				break
			}
			if err != nil {
				return err
			}
			source := b.Source.Truncate(engram.LevelEntity).String()
			at, _ := b.Source.Time()
			if i, _ := b.Source.Index(); i > 0 {
				source += fmt.Sprintf(" [%d]", i)
			}
			t.add(cell{shown: source, raw: b.Source.String()}, at, b.Path, b.Target)
			objects = append(objects, backLinkJSON{b.Source.String(), rfc3339(b.Arrived), b.Path, b.Target.String()})
		}
		if len(objects) == 0 {
			cmd.PrintErrf("engram: nothing links to %s\n", visible(q.Target.String()))
		}
		return print(cmd.OutOrStdout(), format, t, objects)
	})
	return cmd
}

type backLinkJSON struct {
	Source  string `json:"source"`
	Arrived string `json:"arrived"`
	Path    string `json:"path"`
	Target  string `json:"target"`
}

func newLinkCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [PATTERN]",
		Short: "Which components write results that link to no input",
		Long: `Counts, by provider, results of a type that can say what they were made of, and how many of
them link to no input: what led to these cannot be traced. What is known before the robot
starts is no result and no input. A sentence or a request may come from a person: it counts only
if most of what its provider writes links to an input, and so do data without a type; --all
prints these, too. With --dangling what links lead to is looked for: DANGLING counts links to
what is not there, by reason: evicted, forgotten, never there, no right and others
(docs/traces.md).`,
		Example: `  engram link check
  engram link check Object --since -1h --dangling`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("since", "", "results from this time on: absolute, -1h or now-1h (default: all)")
	f.Bool("dangling", false, "look whether what links lead to is there")
	f.Bool("all", false, "print also what need not link, such as commands that were typed")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		var q service.CheckQuery
		var err error
		if len(args) > 0 {
			if q.Of, err = engram.ParsePattern(args[0]); err != nil {
				return &usageError{err}
			}
		}
		since, given, err := worldTimeFlag(cmd, "since")
		if err != nil {
			return err
		}
		if given {
			q.Span = engram.Interval{Start: since, End: engram.MaxTime}
		}
		q.Dangling, _ = f.GetBool("dangling")
		all, _ := f.GetBool("all")
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		found, err := m.Links().Check(cmd.Context(), q)
		if err != nil && len(found) == 0 {
			return err
		}
		if err != nil {
			cmd.PrintErrf("engram: %s\n", visible(oneLine(err.Error())))
		}
		if !all {
			found = slices.DeleteFunc(found, func(c service.Checked) bool { return !c.CanLink && len(c.Dangling) == 0 })
		}
		return printChecked(cmd, format, found, q.Dangling)
	})
	return cmd
}

type checkedJSON struct {
	Provider string            `json:"provider"`
	Type     string            `json:"type"`
	CanLink  bool              `json:"can_link"`
	Results  uint64            `json:"results"`
	Unlinked uint64            `json:"unlinked"`
	Example  string            `json:"example,omitempty"`
	Links    uint64            `json:"links"`
	Dangling map[string]uint64 `json:"dangling,omitempty"`
	Leads    []string          `json:"dangling_example,omitempty"` // the source and the link
}

func printChecked(cmd *cobra.Command, format string, found []service.Checked, dangling bool) error {
	t := &table{header: []string{"PROVIDER", "TYPE", "RESULTS", "UNLINKED", "LINKS", "NOTE"}, right: []bool{2: true, 3: true, 4: true}}
	if dangling {
		t.header[5] = "DANGLING"
	}
	var objects []checkedJSON
	unlinked := 0
	for _, c := range found {
		o := checkedJSON{Provider: c.Provider.String(), Type: c.Type, CanLink: c.CanLink, Results: c.Results, Unlinked: c.Unlinked, Links: c.Links, Dangling: c.Dangling}
		note := ""
		if c.Unlinked > 0 && c.CanLink {
			unlinked++
			o.Example = c.Example.String()
			if !dangling {
				note = "! such as " + o.Example
			}
		}
		if len(c.Dangling) > 0 {
			var counts []string
			for _, reason := range slices.Sorted(maps.Keys(c.Dangling)) {
				counts = append(counts, fmt.Sprintf("%d %s", c.Dangling[reason], reason))
			}
			o.Leads = []string{c.DanglingExample[0].String(), c.DanglingExample[1].String()}
			note = strings.Join(counts, ", ") + ", such as " + o.Leads[1]
		}
		t.add(o.Provider, strings.TrimPrefix(c.Type, "engram."), c.Results, c.Unlinked, c.Links, note)
		objects = append(objects, o)
	}
	switch {
	case len(found) == 0:
		cmd.PrintErrln("engram: there are no results that could link to anything")
	case unlinked > 0:
		cmd.PrintErrf("engram: %s with results that link to no input\n", countOf(uint64(unlinked), "provider"))
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}
