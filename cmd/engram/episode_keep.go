package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/words"
)

func newEpisodeMark() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mark LABEL",
		Short: "Note that something happened, and keep what lies around it",
		Long: `Notes a label at a time in the episode of that time. What lies around it, from
--before it to --after it, is neither thinned nor forgotten; what the working memory
still has of it is recorded whatever the policies say, and so is what comes of it
later. A label and a time are one mark; 'engram episode unmark' removes it.`,
		Example: "  engram episode mark 'it stumbled'\n  engram episode mark grasp-3 --at now-20s --before 10s --after 5s",
		Args:    positional(cobra.ExactArgs(1)),
	}
	addAroundFlags(cmd, 0, 0)
	cmd.Flags().String("at", "now", "when it happened: absolute, or now-10s")
	cmd.Flags().Bool("seal", false, "end the open episode there, so that another begins")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := setMark(cmd, args[0]); err != nil {
			return err
		}
		if end, _ := cmd.Flags().GetBool("seal"); !end {
			return nil
		}
		return withLongTerm(cmd, func(_ string, store admin.Service) error { return seal(cmd, store, args[0]) })
	}
	return cmd
}

// addAroundFlags gives a command the flags that say how much is kept around something.
func addAroundFlags(cmd *cobra.Command, before, after time.Duration) {
	cmd.Flags().Duration("before", before, "keep what lies so long before")
	cmd.Flags().Duration("after", after, "keep what lies so long after")
}

func aroundFlags(cmd *cobra.Command) (before, after time.Duration, err error) {
	before, _ = cmd.Flags().GetDuration("before")
	after, _ = cmd.Flags().GetDuration("after")
	if before < 0 || after < 0 {
		err = usagef("--before %v --after %v: 0 or more", before, after)
	}
	return before, after, err
}

// setMark sets a mark at the time of --at.
func setMark(cmd *cobra.Command, label string) error {
	m := episode.Mark{Label: label}
	if strings.TrimSpace(label) == "" {
		return usagef("the label is empty; say what happened")
	}
	var err error
	if m.Before, m.After, err = aroundFlags(cmd); err != nil {
		return err
	}
	at, err := fixedTimeFlag(cmd, "at")
	if err != nil {
		return err
	}
	m.Time = at
	return withLongTerm(cmd, func(_ string, store admin.Service) error {
		if err := store.Mark(cmd.Context(), m); err != nil {
			return err
		}
		if m.Before+m.After == 0 {
			cmd.Printf("%s is marked; --before and --after keep what lies around it, too\n", m.Time)
			return nil
		}
		cmd.Printf("%s is kept\n", engram.Interval{Start: m.Time.Add(-m.Before), End: m.Time.Add(m.After)})
		return nil
	})
}

func newEpisodeUnmark() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unmark LABEL",
		Short: "Remove marks; what they kept is up to the policies then",
		Example: "  engram episode unmark 'it stumbled'\n" +
			"  engram episode unmark errors --range ..now-30d --yes",
		Args: positional(cobra.ExactArgs(1)),
	}
	addSpanFlag(cmd, "only the marks set at a time of A..B; either may be left out")
	addYesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		span, err := spanFlag(cmd)
		if err != nil {
			return err
		}
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			marks, err := store.Marks(cmd.Context(), engram.Always())
			if err != nil {
				return err
			}
			marks = slices.DeleteFunc(marks, func(m episode.Mark) bool { return m.Label != args[0] || !span.Contains(m.Time) })
			if n := len(marks); n > 1 {
				what := fmt.Sprintf("This removes %s, from %s to %s.", countOf(uint64(n), "mark"), marks[0].Time, marks[n-1].Time)
				if err := confirm(cmd, what); err != nil {
					return err
				}
			}
			n, err := store.Unmark(cmd.Context(), args[0], span)
			if err != nil {
				return err
			}
			cmd.Printf("%s removed\n", countOf(uint64(n), "mark"))
			return nil
		})
	}
	return cmd
}

func newEpisodeMarks() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "marks",
		Short:   "List the marks",
		Example: "  engram episode marks --range now-1d..",
		Args:    positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	addSpanFlag(cmd, "only the marks that keep something of A..B; either may be left out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		span, err := spanFlag(cmd)
		if err != nil {
			return err
		}
		return withLongTerm(cmd, func(format string, store admin.Service) error {
			marks, err := store.Marks(cmd.Context(), span)
			if err != nil {
				return err
			}
			out := &table{header: []string{"TIME", "BEFORE", "AFTER", "LABEL"}, right: []bool{1: true, 2: true}}
			for _, m := range marks {
				out.add(m.Time, cellOf(words.Duration(m.Before), m.Before.String()), cellOf(words.Duration(m.After), m.After.String()), m.Label)
			}
			return print(cmd.OutOrStdout(), format, out, toMarksJSON(marks))
		})
	}
	return cmd
}

func newEpisodeKeep() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keep [EPISODE | PATTERN…]",
		Short: "Keep an episode, a span of time, or what lies around what happens",
		Long: `Keeps from being thinned and forgotten:

  keep EPISODE           the whole episode; --end ends that
  keep --at TIME         what lies from --before to --after a time
  keep --when CEL [PATTERN…]
                         from now on, what lies around each update of the entities that
                         a pattern matches (all, without one) whose instances satisfy the
                         expression: a standing rule. Give it a --name to replace it;
                         'engram episode rule' lists and removes rules.`,
		Example: `  engram episode keep 000017
  engram episode keep --at now-2m --before 30s --after 30s
  engram episode keep --before 60s --after 30s --when 'confidence < 0.2' Object/Instance
  engram episode keep --when 'level == "error"' --name errors --before 1m --after 10s
  engram episode keep --when 'status == "Running"' --name runs --seal Skill/Execution  # an episode for each run of a skill`,
		ValidArgsFunction: completeEpisodes,
	}
	addAroundFlags(cmd, 60*time.Second, 30*time.Second)
	f := cmd.Flags()
	f.String("at", "", "keep what lies around this time: absolute, or now-10s")
	f.String("when", "", "keep what lies around updates that satisfy this CEL expression")
	f.String("name", "", "with --when, the rule's name (default: the next free one of rule-1, rule-2 …)")
	f.String("label", "", "what marks of it are labelled with")
	f.Bool("seal", false, "with --when, end the open episode there, too, so that another begins")
	f.Bool("end", false, "do not keep the episode any longer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := exclusive(cmd, "at", "when", "end"); err != nil {
			return err
		}
		switch {
		case f.Changed("when"):
			return setRule(cmd, args)
		case f.Changed("at") && len(args) == 0:
			label, _ := f.GetString("label")
			if label == "" {
				label = "kept by hand"
			}
			return setMark(cmd, label)
		case f.Changed("at"):
			return usagef("with --at all memories are kept; leave out %q", args[0])
		case len(args) != 1:
			return usagef("say what to keep: an episode, --at TIME, or --when CEL")
		}
		for _, name := range []string{"before", "after", "name", "label", "seal"} {
			if f.Changed(name) {
				return usagef("--%s goes with --at or --when; an episode is kept as a whole", name)
			}
		}
		end, _ := f.GetBool("end")
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			name, err := episodeFileNamed(cmd, store, args[0])
			if err == nil {
				err = store.KeepEpisode(cmd.Context(), name, !end)
			}
			if err != nil {
				return err
			}
			what := "kept"
			if end {
				what = "no longer kept as a whole"
			}
			cmd.Printf("%s is %s\n", name, what)
			return nil
		})
	}
	return cmd
}

// setRule adds the standing rule that the flags describe.
func setRule(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	var r admin.Rule
	before, after, err := aroundFlags(cmd)
	if err != nil {
		return err
	}
	r.Before, r.After = admin.Duration(before), admin.Duration(after)
	if r.When, _ = f.GetString("when"); strings.TrimSpace(r.When) == "" {
		return usagef("--when: give a CEL expression, such as 'confidence < 0.2'")
	}
	if _, err := idf.CompileFilter(r.When); err != nil {
		return usagef("--when %s: %s", r.When, oneLine(err.Error()))
	}
	r.Name, _ = f.GetString("name")
	r.Label, _ = f.GetString("label")
	r.Seal, _ = f.GetBool("seal")
	for _, arg := range args {
		p, err := engram.ParsePattern(arg)
		if err != nil {
			return &usageError{err}
		}
		r.Patterns = append(r.Patterns, p.String())
	}
	return useMemories(cmd, func(m engram.Service, store admin.Service) error {
		if r.Name == "" {
			rules, err := store.Rules(cmd.Context())
			if err != nil {
				return err
			}
			for n := 1; r.Name == "" || slices.ContainsFunc(rules, func(o admin.Rule) bool { return o.Name == r.Name }); n++ {
				r.Name = fmt.Sprintf("rule-%d", n)
			}
		}
		if err := store.SetRule(cmd.Context(), r); err != nil {
			return err
		}
		cmd.Printf("%s is a standing rule from now on\n", visible(r.Name))
		sayWhyNothing(cmd, m, args)
		return nil
	})
}

func newEpisodeRule() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rule",
		Short: "List and remove the standing rules that 'episode keep --when' sets",
	}
	ls := &cobra.Command{Use: "ls", Short: "List the standing rules", Args: positional(cobra.NoArgs)}
	addOutputFlag(ls)
	ls.RunE = func(cmd *cobra.Command, _ []string) error {
		return withLongTerm(cmd, func(format string, store admin.Service) error {
			rules, err := store.Rules(cmd.Context())
			if err != nil {
				return err
			}
			out := &table{header: []string{"NAME", "BEFORE", "AFTER", "WHEN", "OF", "LABEL", "SEALS", "MISSED", "FAILED"}, right: []bool{1: true, 2: true, 7: true, 8: true}}
			for _, r := range rules {
				before, after := time.Duration(r.Before), time.Duration(r.After)
				out.add(r.Name, cellOf(words.Duration(before), before.String()), cellOf(words.Duration(after), after.String()),
					r.When, strings.Join(r.Patterns, " "), r.Label, r.Seal, r.Missed, r.Failed)
				if r.Failed > 0 {
					cmd.PrintErrf("engram: evaluating %s failed on %s, such as %s\n", visible(r.Name), countOf(r.Failed, "update"), visible(r.Failure))
				}
			}
			return print(cmd.OutOrStdout(), format, out, rules)
		})
	}
	rm := &cobra.Command{
		Use: "rm NAME…", Short: "Remove standing rules; what they marked stays kept",
		Example: "  engram episode rule rm errors", Args: positional(cobra.MinimumNArgs(1)),
	}
	rm.RunE = func(cmd *cobra.Command, args []string) error {
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			for _, name := range args {
				if err := store.RemoveRule(cmd.Context(), name); err != nil {
					return err
				}
				cmd.Printf("%s removed\n", visible(name))
			}
			return nil
		})
	}
	cmd.AddCommand(ls, rm)
	return cmd
}
