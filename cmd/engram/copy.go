package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/words"
)

func newCopy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copies of what other servers own: add, remove, look after",
		Long: `Has a memory server hold read-only copies of what another server owns: of another
computer (Vision/Image), or of another robot (robot1:Object). A copy keeps up by
itself; after a cut of any length it goes on where it was. It is added to the server
that this program connects to (--address), and with --data kept for its later lives.

A pattern of many memories makes a copy of each that another robot has, as soon as that
robot is known: '*:Object/Instance', '~robot[12]:Vision'. They stay when it leaves.

A copy is a pattern and rules:

  rate=2              at most 2 snapshots per second of each entity
  fields=pose,name    only these members of the payloads
  where='EXPR'        only what this CEL expression is true of
  max-payload=64KB    no snapshots with larger payloads
  max-bytes=200KB     at most so many payload bytes per second; the rest comes later
  priority=5          before copies of a lower priority
  spare               only while the link has nothing else to carry
  gather=20ms         let updates wait so long for others: fewer bytes; 0 has none wait
                      (default: those of fast streams, up to 10ms)
  since=1h            begin with what arrived in the last hour (default: all there is)

What rules leave out is said where it is asked for, and can be fetched.`,
		Example: `  engram copy add robot1:Object/Instance rate=2 max-payload=64KB
  engram copy add '*:Object/Instance' rate=1
  engram copy status
  engram copy fetch robot1:Object/Instance --range now-10m..now`,
	}
	cmd.AddCommand(newCopyAdd(), newCopyRemove(), newCopyLs(), newCopyStatus(), newCopyFetch())
	return cmd
}

// useCopies calls f with the copies of the server that the flags name.
func useCopies(cmd *cobra.Command, f func(contract.Admin) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(m.Copies())
}

func newCopyAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add PATTERN [RULE…]",
		Short: "Hold a copy, or change its rules",
		Long: `Has the server hold a copy of what a pattern names, by rules; see 'engram copy --help'.
A copy of the same pattern gets these rules and goes on where it is. What its old rules
left out is not made up for: 'engram copy fetch' gets it.`,
		Example: `  engram copy add Vision/Image rate=1 spare
  engram copy add robot1:Object/Instance where='confidence > 0.5' fields=pose,name
  engram copy add 'robot1:Object/Instance rate=2 spare'`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := copies.ParseArgs(args)
		if err != nil {
			return usagef("%w", err)
		}
		return useCopies(cmd, func(admin contract.Admin) error {
			if err := admin.AddCopy(cmd.Context(), c); err != nil {
				return err
			}
			held := "is copied from now on"
			if c.OfMany() {
				held = "is copied of each robot that it matches, as soon as that is known"
			}
			cmd.Printf("%s %s; 'engram copy status' shows how far it is\n", visible(c.Pattern.String()), held)
			return nil
		})
	}
	return cmd
}

func newCopyRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove PATTERN",
		Aliases: []string{"rm"},
		Short:   "End a copy",
		Long: `Ends the copy of a pattern; with a pattern of many memories, what it made. What is held
of it stays as it is, and can still be read, unless --drop is given.`,
		Example: `  engram copy remove robot1:Object/Instance
  engram copy remove robot1:Object/Instance --drop`,
		Args: positional(cobra.ExactArgs(1)),
	}
	cmd.Flags().Bool("drop", false, "forget what is held of it, also on disk")
	addYesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		drop, _ := cmd.Flags().GetBool("drop")
		if _, err := engram.ParsePattern(args[0]); err != nil {
			return usagef("%w", err)
		}
		if drop {
			if err := confirm(cmd, "What is held of "+args[0]+" will be forgotten here; its owner keeps it."); err != nil {
				return err
			}
		}
		return useCopies(cmd, func(admin contract.Admin) error { return admin.RemoveCopy(cmd.Context(), args[0], drop) })
	}
	return cmd
}

// copyJSON is a copy as ls and status print it.
type copyJSON struct {
	Pattern    string `json:"pattern"`
	Rules      string `json:"rules"`
	Configured bool   `json:"configured"`
	Rule       string `json:"rule,omitempty"` // the one that made it
	Made       *int   `json:"made,omitempty"` // of a rule: how many copies
	Owner      string `json:"owner,omitempty"`
	State      string `json:"state"`
}

func newCopyLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the copies that the server holds, with their rules",
		Args:  positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withCopyStatus(cmd, func(format string, list []contract.Status) error {
			out := &table{header: []string{"COPY", "RULES", "FROM", "OWNER", "STATE"}}
			var objects []copyJSON
			for i := range list {
				o := describeCopy(&list[i])
				from := "added"
				switch {
				case o.Configured:
					from = "configuration"
				case o.Rule != "":
					from = "rule"
				}
				out.add(o.shown(), o.Rules, from, o.from(), state(o.State))
				objects = append(objects, o)
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

func describeCopy(s *contract.Status) copyJSON {
	c := copyJSON{
		Pattern: s.Pattern.String(), Rules: copies.FormatRules(&s.Rules), Configured: s.Configured, Rule: s.Rule, Owner: s.Owner, State: string(s.State),
	}
	if s.OfMany() {
		c.Made = &s.Made
	}
	return c
}

// shown returns how a table shows what is copied: what a rule made stands below it.
func (c *copyJSON) shown() cell {
	if c.Rule != "" {
		return cellOf("  "+c.Pattern, c.Pattern)
	}
	return cellOf(c.Pattern, c.Pattern)
}

// from returns where the owner's name stands: of a rule, what it made.
func (c *copyJSON) from() string {
	if c.Made != nil {
		return countOf(uint64(*c.Made), "copy")
	}
	return c.Owner
}

func withCopyStatus(cmd *cobra.Command, f func(format string, list []contract.Status) error) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return useCopies(cmd, func(admin contract.Admin) error {
		list, err := admin.CopyStatus(cmd.Context())
		if err != nil {
			return err
		}
		return f(format, list)
	})
}

func newCopyFetch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fetch PATTERN…",
		Short: "Get what rules left out of copies",
		Long: `Asks the owners for what lies in copies, whole, and puts it into them: what rules left
out, and members that they left out. Give a span of time, lest it be everything.`,
		Example:           `  engram copy fetch robot1:Object/Instance/Vision/cup --range now-10m..now`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSpanFlag(cmd, "what is of A..B, by snapshots' times; either may be left out (default: all)")
	cmd.Flags().String("max-bytes", "", "stop after so many payload bytes, such as 100MB")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) (err error) {
		f := contract.Fetching{}
		if f.Patterns, err = parsePatterns(args); err != nil {
			return err
		}
		if f.Span, err = spanFlag(cmd); err != nil {
			return err
		}
		if text, _ := cmd.Flags().GetString("max-bytes"); text != "" {
			if f.MaxBytes, err = policy.ParseSize(text); err != nil {
				return usagef("--max-bytes: %w", err)
			}
		}
		return useCopies(cmd, func(admin contract.Admin) error {
			got, err := admin.Fetch(cmd.Context(), f)
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"table", "csv"}, format) {
				return printObject(cmd.OutOrStdout(), format, struct {
					Versions uint64 `json:"versions,string"`
					Had      uint64 `json:"had,string"`
					Bytes    int64  `json:"bytes,string"`
					More     bool   `json:"more"`
				}(got))
			}
			more := ""
			if got.More {
				more = "; there is more"
			}
			cmd.Printf("%s fetched, %s there already: %s%s\n", countOf(got.Versions, "snapshot"), words.Count(got.Had), byteSize(got.Bytes), more)
			return nil
		})
	})
	return cmd
}
