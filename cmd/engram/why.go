package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/why"
)

func newWhy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Say in a sentence why something was done or is there, or why it failed",
		Long: `Says in a sentence or a few why there is what an ID names: which skill, image or sentence led
to it, what was planned, how it ended. It says what snapshots say and nothing else; what is
not there any more, or may not be read, is left out. What was withdrawn, or rests on that, is told
after "!" ('engram withdraw'). --links has each part of the answer
with the snapshots that it rests on.`,
		Example: `  engram why Skill/Execution/Executor/move-1
  engram why Object/Instance/Localizer/cup --at now-10m --links`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	cmd.Flags().Bool("links", false, "print each part of the answer with the snapshots that it rests on")
	cmd.Flags().String("at", "", "of an entity: its newest snapshot at this time: absolute, -10s or now-10s (default: now)")
	cmd.Flags().String("as-of", "", "what was known at this time, when what came later had not arrived")
	addOutputFormats(cmd, []string{"table", "json", "yaml"})
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		id, err := parseDatum(args[0])
		if err != nil {
			return err
		}
		if id.Level() < engram.LevelEntity {
			return usagef("%s is a %s; why is asked of an entity, a snapshot or an instance", args[0], id.Level())
		}
		o := why.Options{Now: engram.Now()}
		if o.At, o.AsOf, err = linkTimes(cmd); err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		a, err := why.Explain(cmd.Context(), m.Links(), id, o)
		if err != nil {
			return err
		}
		links, _ := cmd.Flags().GetBool("links")
		// Of each withdrawal the nearest thing that rests on it.
		doubtful := []string{}
		told := map[engram.ID]bool{}
		for _, v := range doubts(cmd, m, a.Links(), o.AsOf) {
			if v != nil && !told[v.Withdrawal.ID] {
				told[v.Withdrawal.ID] = true
				doubtful = append(doubtful, v.String())
			}
		}
		if format != "table" {
			return printObject(cmd.OutOrStdout(), format, map[string]any{"text": a.Text(), "parts": a.Parts, "links": a.Links(), "doubts": doubtful})
		}
		cmd.Println(visible(a.Text()))
		for _, d := range doubtful {
			cmd.Printf("! %s\n", visible(d))
		}
		if !links {
			return nil
		}
		for _, p := range a.Parts {
			if len(p.Links) == 0 {
				continue
			}
			cmd.Printf("\n  %s\n", visible(trimmedPart(p.Text)))
			for _, l := range p.Links {
				cmd.Printf("    %s\n", visible(l.String()))
			}
		}
		return nil
	})
	return cmd
}
