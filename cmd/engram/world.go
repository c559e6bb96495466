package main

import (
	"cmp"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/world"
)

func newWorld() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "world",
		Short: "Ask what is around the robot, and say so: places, things, parts and robots",
		Long: `Answers from the memory World, in which every provider says what it knows of the
places, things, parts and robots around: these items make a forest, in which a cup is on
a table and the table in a kitchen. What is typed here is an operator's statement, which
outranks perception until it is withdrawn. docs/world.md explains the ideas.`,
	}
	cmd.PersistentFlags().String("provider", "", "who says it, of what is written\n(default: the user's name, else operator)")
	cmd.AddCommand()
	return cmd
}

// withWorld calls f with the world that the command's flags lead to.
func withWorld(cmd *cobra.Command, f func(format string, m *client.Client, w *world.Memory) error) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	w, err := world.Over(cmd.Context(), m, providerFlag(cmd), world.DefaultRules())
	if err != nil {
		return err
	}
	defer w.Close()
	return f(format, m, w)
}

// providerFlag returns who says what is written.
func providerFlag(cmd *cobra.Command) string {
	provider, _ := cmd.Flags().GetString("provider")
	if provider == "" {
		if u, err := user.Current(); err == nil {
			provider = u.Username
		}
	}
	return cmp.Or(provider, "operator")
}
