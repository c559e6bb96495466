package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/copies"
	"github.com/seed-301d4374/engram/copies/service"
)

// addCopyFlags adds the flags of the copies that a server holds.
func addCopyFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("copy", nil, "hold a copy of what another server owns: a pattern and rules, such as\n'robot1:Object/Instance rate=2 max-payload=64KB', or '*:Object' of every other robot;\nmay be repeated; see 'engram copy --help'")
}

// readCopySettings reads and checks the flags.
func readCopySettings(cmd *cobra.Command) ([]service.Copy, error) {
	texts, _ := cmd.Flags().GetStringArray("copy")
	var out []service.Copy
	var wrong []error
	for _, text := range texts {
		c, err := copies.Parse(text)
		if err != nil {
			wrong = append(wrong, usagef("--copy: %w", err))
		}
		out = append(out, c)
	}
	if mode, _ := cmd.Flags().GetString("backbone"); mode == "" {
		wrong = append(wrong, needs(cmd, "a --backbone, by which owners are found", "copy"))
	}
	return out, errors.Join(wrong...)
}
