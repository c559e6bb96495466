package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// systemMemory is what a server knows of itself and its computer: in the way of who looks for
// the robot's data.
const systemMemory = "SystemState"

// ofSystem reports whether an ID lies in the memory SystemState of any robot.
func ofSystem(id engram.ID) bool {
	return id.Memory() == systemMemory || strings.HasSuffix(id.Memory(), ":"+systemMemory)
}

func addSystemFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("system", false, "SystemState, too, where it is not named: what the server knows of itself and its computer")
}

// hidesSystem returns what tells of an ID that a pattern matches whether it is hidden: one of
// SystemState that is not named. A command without --system hides nothing.
func hidesSystem(cmd *cobra.Command) func(engram.Pattern, engram.ID) bool {
	system, err := cmd.Flags().GetBool("system")
	return func(p engram.Pattern, id engram.ID) bool {
		return !system && err == nil && ofSystem(id) && !namesSystem(p)
	}
}

// namesSystem reports whether a pattern names SystemState, and not just matches it.
func namesSystem(p engram.Pattern) bool {
	return len(p.Levels) > 0 && p.Levels[0].Kind == engram.NameOneOf && slices.ContainsFunc(p.Levels[0].Names, func(name string) bool {
		return name == systemMemory || strings.HasSuffix(name, ":"+systemMemory)
	})
}
