package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/script"
)

func newSkillScript() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "script FILE",
		Short: "Offer skills that do as a file says, in the place of real ones",
		Long: `Offers skills, until interrupted, that do as a YAML or JSON file says: how long each takes, what comes of
it, which executions fail, and how it answers when it is to stop.`,
		Example: `  engram skill script arm.yaml
  printf 'provider: Arm\nskills: {Grasp: {duration: 2s, result: {force: 9}}}' > arm.yaml`,
		Args: positional(cobra.ExactArgs(1)),
	}
	cmd.Flags().String("provider", "", "the provider's name (default: as the file says)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		s, err := script.Parse(b)
		if err != nil {
			return err
		}
		if name, _ := cmd.Flags().GetString("provider"); name != "" {
			s.Provider = name
		}
		return withSkills(cmd, func(m *client.Client, memory string) error {
			cmd.PrintErrf("engram: %s offers %s until it is interrupted\n", visible(s.Provider), countOf(uint64(len(s.Skills)), "skill"))
			err := s.Run(cmd.Context(), m, skill.InMemory(memory))
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		})
	}
	return cmd
}
