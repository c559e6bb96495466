package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/mind/world"
)

// addCopyFlags adds the flags of the copies that a server holds.
func addCopyFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("copy", nil, "hold a copy of what another server owns: a pattern and rules, such as\n'robot1:Object/Instance rate=2 max-payload=64KB', or '*:Object' of every other robot;\nmay be repeated; see 'engram copy --help'")
	cmd.Flags().String("recover", "take", "what becomes of what World, Object and Navigation said before this server began and have\nlost, where copies at other servers have it: 'take' says it again, 'withdraw' has World\nwithdraw its statements everywhere, 'off' leaves it as it is")
}

// recoveries are the values of --recover.
var recoveries = map[string]world.Recovery{"take": world.RecoverTake, "withdraw": world.RecoverWithdraw, "off": world.RecoverNothing}

// readRecovery reads and checks the flag.
func readRecovery(cmd *cobra.Command) (world.Recovery, error) {
	text, _ := cmd.Flags().GetString("recover")
	how, known := recoveries[text]
	data, _ := cmd.Flags().GetString("data")
	switch {
	case !known:
		return how, usagef("--recover %s: write take, withdraw or off", text)
	case how == world.RecoverWithdraw && data != "":
		return how, usagef("--recover withdraw: it is for servers without --data; this one knows what it said")
	}
	return how, nil
}

// readCopySettings reads and checks the flags.
func readCopySettings(cmd *cobra.Command) ([]contract.Copy, error) {
	texts, _ := cmd.Flags().GetStringArray("copy")
	var out []contract.Copy
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
