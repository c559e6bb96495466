package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
)

// What is wrong with copies is told once below their table: a rule's own problem is, also
// where something is wrong with what it made, which is told of that.
func TestProblemsOfCopiesAreToldOnce(t *testing.T) {
	made := func(rule, pattern string, state service.State, problem string) service.Status {
		return service.Status{Copy: service.Copy{Pattern: engram.MustPattern(pattern)}, Rule: rule, State: state, Error: problem}
	}
	rule := func(problem string) service.Status { return made("", "*:Object", service.StateFailed, problem) }
	for name, c := range map[string]struct {
		list []service.Status
		says string
	}{
		"its own":             {[]service.Status{rule("no room"), made("*:Object", "robot1:Object", service.StateLive, "")}, "*:Object: no room\n"},
		"what it made":        {[]service.Status{rule("refused"), made("*:Object", "robot1:Object", service.StateFailed, "refused")}, "robot1:Object: refused\n"},
		"both":                {[]service.Status{rule("no room"), made("*:Object", "robot1:Object", service.StateFailed, "refused")}, "*:Object: no room\nrobot1:Object: refused\n"},
		"of another the same": {[]service.Status{rule("refused"), made("", "robot1:Object", service.StateFailed, "refused")}, "*:Object: refused\nrobot1:Object: refused\n"},
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
