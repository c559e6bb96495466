// Command engram runs a robot's memory and talks to one: flags and wiring, one
// file per subcommand. What it does is done by the packages it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitWithLoss = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage *usageError
	var loss *lossError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "engram: %s\nRun '%s --help' for how it is used.\n", oneLine(err.Error()), cmd.CommandPath())
		return exitUsage
	case errors.As(err, &loss):
		fmt.Fprintf(stderr, "engram: %v\n", err)
		return exitWithLoss
	case ctx.Err() != nil && engram.CodeOf(err) == engram.Canceled:
		fmt.Fprintln(stderr, "engram: interrupted")
	default:
		msg := oneLine(err.Error())
		if engram.CodeOf(err) == engram.NotFound && strings.Contains(msg, "AddType") {
			msg += " (engram type add FILE)"
		}
		fmt.Fprintf(stderr, "engram: %s\n", msg)
	}
	return exitFailed
}

// oneLine puts a message on one line, without the lines that draw what they are
// about, and so that nothing in it steers the terminal.
func oneLine(msg string) string {
	var parts []string
	for line := range strings.Lines(msg) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '|' {
			parts = append(parts, visible(line))
		}
	}
	return strings.Join(parts, "; ")
}

// usageError is a call that was typed wrongly.
type usageError struct{ err error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// lossError says that the work was done, but not for all of the data.
type lossError struct{ msg string }

func (e *lossError) Error() string { return e.msg }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "engram",
		Short: "The memory of a robot",
		Long: `Engram is the memory of a robot: components write what they sense, know and do
into one hierarchy,

  memory / core segment / provider segment / entity / snapshot / instance

and read the present and any past from it, watch it, and follow its links.

To see it live:      engram demo
To run one:          engram serve
To fill it:          engram import recording.mcap`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			msg := fmt.Sprintf("there is no command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				msg += fmt.Sprintf("; did you mean %q?", near[0])
			}
			return usagef("%s", msg)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().String("address", "", "where the memory's name system is: unix:/path or http://host:port\n(default: $ENGRAM_ADDRESS, else the local server)")
	root.AddCommand(newServe(), newDemo(), newImport(), newExport(), newLs(), newGet(), newHistory(), newQuery(),
		newWatch(), newPut(), newType(), newSegment(), newPose(), newEpisode(), newLTM(), newMNS(), newConfig(), newStats(), newVersion())
	root.Version = versionOf().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args = positional(cobra.NoArgs)
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}

// newHelp is cobra's help, but for what it says of commands that there are not.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print how a command is used",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = usagef("there is no command %q; 'engram help' lists them", strings.Join(args, " "))
			}
			if err != nil {
				return &usageError{err}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// args wraps a check of positional arguments so that failing it is a usage error.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w: %s", err, cmd.UseLine())
		}
		return nil
	}
}
