package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
)

func newKnowledgeWithdraw() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw PROVIDER",
		Short: "Take back what a document or a component says",
		Long: `Takes back all that a provider says in the memory Knowledge, and the items of the world that it has
stated from a semantic map. What it said before stays asked for by time. 'engram knowledge ls' lists
providers.`,
		Example:           `  engram knowledge withdraw ias_hospital_room`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeKnowledgeProviders,
	}
	f := cmd.Flags()
	f.String("at", "", "since when it is not so: absolute, -10s or now-10s (default: now)")
	f.Bool("no-world", false, "leave the items in the world")
	f.Bool("dry-run", false, "only say what would be taken back")
	printing(cmd, withdrawKnowledge)
	return cmd
}

func withdrawKnowledge(cmd *cobra.Command, args []string, format string) error {
	at, _, err := worldTimeFlag(cmd, "at")
	if err != nil {
		return err
	}
	dry, _ := cmd.Flags().GetBool("dry-run")
	provider := args[0]
	return withKnowledge(cmd, func(m *client.Client, c *record.Codec) error {
		sum, err := c.Withdraw(cmd.Context(), m, provider, record.Options{At: at, DryRun: dry})
		if err != nil {
			return err
		}
		w, err := importIntoWorld(cmd, m, knowledge.NewGraph(), &rdfFile{}, base.WorldOptions{Provider: provider, At: at, DryRun: dry})
		if err != nil {
			return err
		}
		if sum.Gone == 0 && w == nil {
			return engram.Errorf(engram.NotFound, provider, "it says nothing; 'engram knowledge ls' lists who does")
		}
		gone := knowledgeImported{Provider: provider, Gone: sum.Gone, Since: sum.At, DryRun: dry, World: w}
		t := &table{header: []string{"PROVIDER", "GONE"}, right: []bool{false, true}}
		t.add(provider, sum.Gone)
		if err := print(cmd.OutOrStdout(), format, t, []knowledgeImported{gone}); err != nil {
			return err
		}
		if w != nil && format == "table" {
			w.tell(cmd, provider)
		}
		if dry {
			cmd.PrintErrln("nothing was taken back, for --dry-run")
		}
		return nil
	})
}
