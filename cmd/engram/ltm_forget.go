package main

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/internal/words"
)

func newLTMForget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget [PATTERN…]",
		Short: "Forget for good: what patterns select, single snapshots, or what is due",
		Long: `Forgets what is of the entities that a pattern matches, in a --range of time or all of
it; single snapshots that were found wrong, by --id; or, with --due, what the policies
want to be gone by now, which the server does by itself every now and then.

When the command returns, the bytes are in no file of the memory any more: not in the
log, not in an episode; and not in the working memory. Who forgot what and why is noted
in SystemState/Forgetting and in the episodes. What is marked, or lies in an episode
that is kept, stays, and the exit code is 3; --even-kept forgets that, too.`,
		Example: `  engram ltm forget 'Vision/*/*/kitchen' --range now-1h..now --reason 'a guest asked' --yes
  engram ltm forget --id 'Object/Instance/me/cup/2026-02-18 13:06:56.492182' --reason 'wrong calibration' --yes
  engram ltm forget Vision Object/Instance --range now+1m.. --reason 'the clock was a year ahead' --yes
  engram ltm forget --due --dry-run`,
		ValidArgsFunction: completeIDs,
	}
	addOutputFlag(cmd)
	addSpanFlag(cmd, "only what is of A..B; either may be left out")
	addYesFlag(cmd)
	f := cmd.Flags()
	f.StringArray("id", nil, "forget the snapshot of this ID; may be repeated")
	f.Bool("due", false, "forget what the policies want to be gone by now")
	f.String("reason", "", "why, which is noted")
	f.Bool("even-kept", false, "forget what is marked or kept, too")
	f.Bool("dry-run", false, "only say what would be forgotten")
	cmd.RunE = forget
	return cmd
}

func readForgetting(cmd *cobra.Command, args []string) (f admin.Forgetting, err error) {
	flags := cmd.Flags()
	f.Due, _ = flags.GetBool("due")
	f.DryRun, _ = flags.GetBool("dry-run")
	f.EvenKept, _ = flags.GetBool("even-kept")
	f.Why, _ = flags.GetString("reason")
	ids, _ := flags.GetStringArray("id")
	switch {
	case f.Due && (len(args) > 0 || len(ids) > 0 || f.EvenKept || flags.Changed("range")):
		return f, usagef("--due forgets what the policies say; it goes with no pattern, --range, --id and --even-kept")
	case len(args) == 0 && len(ids) == 0 && !f.Due:
		return f, usagef("say what to forget: a pattern, --id, or --due; '*' is everything")
	case len(args) == 0 && flags.Changed("range"):
		return f, usagef("--range goes with a pattern; '*' stands for every memory")
	case strings.TrimSpace(f.Why) == "" && !f.Due && !f.DryRun:
		return f, usagef("--reason: say why; it is noted in SystemState/Forgetting")
	}
	if len(args) > 0 {
		if f.Patterns, err = parsePatterns(args); err != nil {
			return f, err
		}
		if f.Span, err = spanFlag(cmd); err != nil {
			return f, err
		}
	}
	for _, text := range ids {
		id, err := engram.Parse(text)
		if err != nil {
			return f, &usageError{err}
		}
		if id.Level() < engram.LevelSnapshot {
			return f, usagef("--id %s: the ID of a snapshot ends with its time; what a shorter one names is forgotten by its pattern", text)
		}
		f.IDs = append(f.IDs, id.Truncate(engram.LevelSnapshot))
	}
	f.By = whoAsks()
	return f, nil
}

// whoAsks names the user of this program and its computer, for who looks later at who
// had something forgotten.
func whoAsks() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name = cmp.Or(name, "somebody") + "@" + host
	}
	return name
}

func forget(cmd *cobra.Command, args []string) error {
	f, err := readForgetting(cmd, args)
	if err != nil {
		return err
	}
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return useMemories(cmd, func(m engram.Service, store admin.Service) error {
		if err := refuseNowhere(cmd, m, store, f); err != nil {
			return err
		}
		if !f.DryRun {
			if yes, _ := cmd.Flags().GetBool("yes"); !yes && !f.Due {
				trial := f
				trial.DryRun = true
				would, err := store.Forget(cmd.Context(), trial, nil)
				if err != nil {
					return err
				}
				if would.Versions+would.Volatile+would.Protected == 0 {
					sayWhyNothing(cmd, m, args)
				}
				stay := ""
				if would.Protected > 0 {
					stay = "; " + countOf(would.Protected, "version") + " on disk, marked or kept, would stay"
				}
				if err := confirm(cmd, "This forgets "+sumOf(&would)+" for good"+stay+"."); err != nil {
					return err
				}
			}
		}
		bar := newProgress(cmd, "forget", true)
		done, err := store.Forget(cmd.Context(), f, func(done, total int) { bar.set(int64(done), int64(total)) })
		bar.finish()
		if err != nil {
			return err
		}
		if done.Versions+done.Volatile+done.Protected == 0 {
			sayWhyNothing(cmd, m, args)
		}
		return printForgotten(cmd, format, f, &done)
	})
}

// refuseNowhere refuses to have something forgotten that is nowhere, and of segments that
// are not there: it is mistyped. What is not there any more may be in episodes, and what
// no episode has in files that cannot be read, or in copies of segments that are there.
func refuseNowhere(cmd *cobra.Command, m engram.Service, store admin.Service, f admin.Forgetting) error {
	if len(f.Patterns) == 0 || len(f.IDs) > 0 {
		return nil
	}
	segments := make([]string, len(f.Patterns))
	for i, p := range f.Patterns {
		p.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelCoreSegment))]
		segments[i] = p.String()
	}
	why := whyNothing(cmd, m, segments)
	if len(why) < len(segments) {
		return nil
	}
	if damaged, err := store.Damaged(cmd.Context()); err != nil || len(damaged) > 0 {
		return err
	}
	f.DryRun = true
	would, err := store.Forget(cmd.Context(), f, nil)
	if err != nil || would.Versions+would.Volatile+would.Protected > 0 {
		return err
	}
	return engram.Errorf(engram.NotFound, "", "%s", strings.Join(why, "; "))
}

// sumOf says how much was forgotten.
func sumOf(f *admin.Forgotten) string {
	return fmt.Sprintf("%s on disk and %s in the working memory", countOf(f.Versions, "version"), words.Count(f.Volatile))
}

type forgottenJSON struct {
	DryRun    bool      `json:"dry_run"`
	Versions  uint64    `json:"versions,string"`
	Volatile  uint64    `json:"volatile,string"`
	Protected uint64    `json:"protected,string"`
	Episodes  int       `json:"episodes"`
	Bytes     int64     `json:"bytes,string"`
	Unread    []string  `json:"unread,omitempty"`
	Acts      []actJSON `json:"acts"`
}

type actJSON struct {
	Segment  string      `json:"segment"`
	Cause    string      `json:"cause"`
	Entities uint64      `json:"entities,string"`
	Versions uint64      `json:"versions,string"`
	Start    engram.Time `json:"start"`
	End      engram.Time `json:"end"`
}

func printForgotten(cmd *cobra.Command, format string, f admin.Forgetting, done *admin.Forgotten) error {
	out := &table{header: []string{"SEGMENT", "CAUSE", "ENTITIES", "VERSIONS", "START", "LENGTH"}, right: []bool{2: true, 3: true, 5: true}}
	object := forgottenJSON{
		DryRun: f.DryRun, Versions: done.Versions, Volatile: done.Volatile, Protected: done.Protected,
		Episodes: done.Episodes, Bytes: done.Bytes, Unread: done.Unread, Acts: []actJSON{},
	}
	for _, a := range done.Acts {
		object.Acts = append(object.Acts, actJSON{a.Segment.String(), a.Cause, a.Entities, a.Versions, a.Span.Start, a.Span.End})
		out.add(a.Segment.String(), a.Cause, a.Entities, a.Versions, a.Span.Start, lengthOf(a.Span))
	}
	var err error
	switch {
	case format == "csv" || format == "table" && len(out.rows) > 0:
		err = print[actJSON](cmd.OutOrStdout(), format, out, nil)
	case format != "table":
		err = printObject(cmd.OutOrStdout(), format, object)
	}
	if err != nil {
		return err
	}
	verb, freed := "forgot", ""
	if f.DryRun {
		verb = "would forget"
	} else if done.Bytes > 0 {
		freed = fmt.Sprintf("; %s of disk became free", byteSize(done.Bytes))
	}
	cmd.PrintErrf("%s %s%s\n", verb, sumOf(done), freed)
	if len(done.Unread) > 0 {
		return &lossError{"these files cannot be read and may hold some of it: " + strings.Join(done.Unread, ", ") +
			"; repair them with 'engram ltm repair' and forget again, or delete them"}
	}
	if done.Protected > 0 && !f.Due {
		stay := &lossError{"what is marked or kept stays: " + countOf(done.Protected, "version") + "; --even-kept forgets that, too"}
		if f.DryRun {
			cmd.PrintErrln("engram: " + stay.msg)
			return nil
		}
		return stay
	}
	return nil
}

func newLTMCompact() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Take small episodes together, where that pays",
		Long: `Takes episodes that follow each other and are small, such as those that forgetting has
left little of, together into one. What they hold stays the same.`,
		Args: positional(cobra.NoArgs),
	}
	cmd.Flags().Bool("dry-run", false, "only say what would be done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dry, _ := cmd.Flags().GetBool("dry-run")
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			bar := newProgress(cmd, "compact", true)
			done, err := store.Compact(cmd.Context(), dry, func(done, total int) { bar.set(int64(done), int64(total)) })
			bar.finish()
			if err != nil {
				return err
			}
			if done.Before == 0 {
				cmd.PrintErrln("there is nothing to take together")
				return nil
			}
			if dry {
				cmd.Printf("would take %s of %s together into %d\n", countOf(uint64(done.Before), "episode"), byteSize(done.BytesBefore), done.After)
				return nil
			}
			cmd.Printf("took %s of %s together into %d of %s\n",
				countOf(uint64(done.Before), "episode"), byteSize(done.BytesBefore), done.After, byteSize(done.BytesAfter))
			return nil
		})
	}
	return cmd
}

func newLTMRepair() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [EPISODE…]",
		Short: "Save what can be saved of damaged episodes",
		Long: `Checks episodes, all without an argument, and writes those that are damaged anew with
all of them that is whole. What is lost is listed, and the exit code is 3 then. With
--data the folder needs no server, and must not have one.`,
		Example:           "  engram ltm repair\n  engram ltm repair --data ~/engram",
		ValidArgsFunction: completeEpisodes,
	}
	addFolderFlag(cmd)
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return withKeeper(cmd, func(k keeper) error { return repair(cmd, k, format, args) })
	})
	return cmd
}

func repair(cmd *cobra.Command, k keeper, format string, args []string) error {
	ctx := cmd.Context()
	names, err := chosen(ctx, k, args)
	if err != nil {
		return err
	}
	var lost []problemJSON
	var failed []string
	repaired := 0
	bar := newProgress(cmd, "repair", true)
	for i, name := range names {
		bar.set(int64(i), int64(len(names)))
		problems, err := k.verify(ctx, name)
		if err == nil && len(problems) > 0 {
			_, problems, err = k.repair(ctx, name)
			if err == nil {
				repaired++
				lost = append(lost, toProblemsJSON(name, problems)...)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				bar.finish()
				return err
			}
			failed = append(failed, oneLine(err.Error()))
		}
	}
	bar.finish()
	if err := printProblems(cmd, format, lost); err != nil {
		return err
	}
	if repaired == 0 && len(failed) == 0 {
		cmd.PrintErrf("%s, nothing is wrong\n", countOf(uint64(len(names)), "episode"))
		return nil
	}
	cmd.PrintErrf("%s of %s repaired\n", words.Count(repaired), countOf(uint64(len(names)), "episode"))
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	case len(lost) > 0:
		return &lossError{"something was lost, see the table; the damaged files stay beside the repaired ones"}
	}
	return nil
}
