package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// What is wrong with copies is told once below their table: a rule's own problem is, also
// where something is wrong with what it made, which is told of that.
func TestProblemsOfCopiesAreToldOnce(t *testing.T) {
	made := func(rule, pattern string, state contract.State, problem string) contract.Status {
		return contract.Status{Copy: contract.Copy{Pattern: engram.MustPattern(pattern)}, Rule: rule, State: state, Error: problem}
	}
	rule := func(problem string) contract.Status { return made("", "*:Object", contract.StateFailed, problem) }
	for name, c := range map[string]struct {
		list []contract.Status
		says string
	}{
		"its own":             {[]contract.Status{rule("no room"), made("*:Object", "robot1:Object", contract.StateLive, "")}, "*:Object: no room\n"},
		"what it made":        {[]contract.Status{rule("refused"), made("*:Object", "robot1:Object", contract.StateFailed, "refused")}, "robot1:Object: refused\n"},
		"both":                {[]contract.Status{rule("no room"), made("*:Object", "robot1:Object", contract.StateFailed, "refused")}, "*:Object: no room\nrobot1:Object: refused\n"},
		"of another the same": {[]contract.Status{rule("refused"), made("", "robot1:Object", contract.StateFailed, "refused")}, "*:Object: refused\nrobot1:Object: refused\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []copyStatusJSON
			for i := range c.list {
				objects = append(objects, copyStatusObject(&c.list[i]))
			}
			cmd, says := &cobra.Command{}, &strings.Builder{}
			cmd.SetErr(says)
			if err := explainCopies(cmd, objects, false); err != nil || says.String() != c.says {
				t.Errorf("below the table stands %q, %v; want %q", says, err, c.says)
			}
		})
	}
}
