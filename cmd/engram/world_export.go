package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

func newWorldExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [ITEM]",
		Short: "Write the world, or an item and all below it, as a file that import reads",
		Long: `Writes items with their poses, joints, states, components and maps as YAML or JSON, while the
server runs: all, or an ITEM and what is below it. It is the world as it has come of what all
say; who says what is not in the file. 'engram world import' reads it.`,
		Example: `  engram world export --out kitchen.yaml --nested
  engram world export cupboard -o json`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeItems,
	}
	f := cmd.Flags()
	f.String("out", "", "write to this file instead of standard output")
	f.Bool("flat", false, "each item names its parent (default)")
	f.Bool("nested", false, "children stand inside their parents")
	f.StringP("output", "o", "yaml", "in which form: yaml or json")
	f.String("at", "", "the world at this time: absolute, -10s or now-10s (default: now)")
	addAfterFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = exportWorld
	return cmd
}

func exportWorld(cmd *cobra.Command, args []string) error {
	if err := exclusive(cmd, "flat", "nested"); err != nil {
		return err
	}
	f := cmd.Flags()
	var o answer.Export
	o.Nested, _ = f.GetBool("nested")
	format, _ := f.GetString("output")
	if o.JSON = format == "json"; !o.JSON && format != "yaml" {
		return usagef("--output %s: yaml or json; --out names a file", format)
	}
	if len(args) > 0 {
		o.Item = args[0]
	}
	at, past, err := worldTimeFlag(cmd, "at")
	if err != nil {
		return err
	}
	q, err := worldQuestion(cmd)
	if err != nil {
		return err
	}
	if past {
		q.At = &at
	}
	return withAnswers(cmd, q.Robots, func(s answer.Service) error {
		opening := &openingBar{cmd: cmd}
		defer opening.end()
		q.Opening = opening.set
		text, notes, err := s.Export(cmd.Context(), q, o)
		if err != nil {
			return err
		}
		for _, note := range notes {
			cmd.PrintErrln("note:", visible(note))
		}
		file, _ := f.GetString("out")
		if file == "" || file == "-" {
			_, err := cmd.OutOrStdout().Write(text)
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return engram.Errorf(engram.CodeOf(err), file, "%w", err)
		}
		return nil
	})
}
