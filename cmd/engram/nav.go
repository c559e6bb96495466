package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill/navigation"
)

func newNav() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nav",
		Short: "Plan ways over maps, see where the robot can be, and send it somewhere",
	}
	cmd.AddCommand(newNavPlan(), newNavGo(), newNavShow())
	return cmd
}

func newNavGo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "go GOAL",
		Short: "Send the robot to a place, an item or a pose, and wait until it is there",
		Long: `Runs the skill MoveTo with the goal, as 'engram skill run MoveTo --goal GOAL' does: a name such as
"the table", an ID, or X,Y or X,Y,YAW in metres and radians in the frame of the map. An interrupt (Ctrl-C) stops the
robot and waits until it is confirmed that it stands. A goal that begins with a minus comes after --.`,
		Example: `  engram nav go "the cup"
  engram nav go --check table
  engram nav go -- -1.5,2`,
		Args: positional(cobra.ExactArgs(1)),
	}
	skillFlags(cmd.Flags())
	runFlags(cmd.Flags())
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			return runSkill(cmd, m, memory, navigation.MoveTo, map[string]any{"goal": args[0]}, format)
		})
	})
	return cmd
}
