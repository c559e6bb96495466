// Command engram runs a robot's memory and talks to one: flags and wiring, one
// file per subcommand. What it does is done by the packages it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/rivo/uniseg"
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
	context.AfterFunc(ctx, stop)           // a second signal ends the process at once
	slog.SetLogLoggerLevel(slog.LevelWarn) // who types commands is not told what servers log
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // most commands are over before garbage is in the way
	}
	code := run(ctx, os.Args[1:], os.Stdin, newScreen(os.Stdout), newNotes(os.Stderr))
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if len(args) > 0 && args[0] == typedCommand {
		return outcome(ctx, root, completeTyped(ctx, args[1:], stdout), stderr)
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if width := layoutOf(stdout).width; width > 0 {
		fitHelp(root, width)
	}
	cmd, err := root.ExecuteContextC(ctx)
	return outcome(ctx, cmd, err, stderr)
}

// outcome says how a command has ended, and returns its exit code.
func outcome(ctx context.Context, cmd *cobra.Command, err error, stderr io.Writer) int {
	var usage *usageError
	var loss *lossError
	told := func(err error) string { return withoutSecrets(oneLine(err.Error())) }
	stderr = failed(stderr)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		for _, one := range apart(err) {
			fmt.Fprintf(stderr, "engram: %s\n", told(one))
		}
		fmt.Fprintf(stderr, "Run '%s --help' for how it is used.\n", cmd.CommandPath())
		return exitUsage
	case errors.As(err, &loss):
		fmt.Fprintf(stderr, "engram: %s\n", appendVisible(nil, withoutSecrets(err.Error()), "\n"))
		return exitWithLoss
	case ctx.Err() != nil && engram.CodeOf(err) == engram.Canceled:
		fmt.Fprintln(stderr, "engram: interrupted")
	default:
		msg := told(err)
		if engram.CodeOf(err) == engram.NotFound && strings.Contains(msg, "AddType") {
			msg += " (engram type add FILE)"
		}
		fmt.Fprintf(stderr, "engram: %s\n", msg)
	}
	return exitFailed
}

// apart returns the errors that are joined in one, at any depth; none for nil.
func apart(err error) (out []error) {
	several, ok := err.(interface{ Unwrap() []error })
	switch {
	case ok:
		for _, one := range several.Unwrap() {
			out = append(out, apart(one)...)
		}
	case err != nil:
		out = []error{err}
	}
	return out
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
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().String("address", "", "where the memory's name system is: unix:/path, http://host:port,\nor nats://host:port of the backbone\n(default: $ENGRAM_ADDRESS, else the local server)")
	root.PersistentFlags().String("credentials", "", "who this program is, where servers want to know: a file of 'engram auth add'\n(default: $ENGRAM_CREDENTIALS)")
	root.AddCommand(newServe(), newDemo(), newImport(), newExport(), newLs(), newGet(), newHistory(), newQuery(), newTrace(), newWhy(), newLink(), newSkill(),
		newWatch(), newPut(), newType(), newGen(), newSegment(), newPose(), newWorld(), newKnowledge(), newNav(), newAsk(), newEpisode(), newLTM(), newMNS(), newCopy(), newUI(), newAuth(), newConfig(), newStats(), newHealth(), newDoctor(), newVersion())
	root.Version = versionOf().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	addCompletions(root)
	completeGroups(root)
	return root
}

// completeGroups gives the commands that have nothing but commands what they do: print
// their help, and refuse arguments.
func completeGroups(c *cobra.Command) {
	if c.HasSubCommands() && c.RunE == nil {
		c.Args = onlyCommands
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range c.Commands() {
		completeGroups(sub)
	}
}

// fitHelp has the help of all commands wrapped to so many cells when it is printed.
func fitHelp(root *cobra.Command, width int) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", width)))
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = wrapped(c.Long, min(width, 100))
		help(c, args)
	})
}

// wrapped sets paragraphs anew in lines of so many cells. Lines that are indented, and empty ones,
// stay as they are.
func wrapped(text string, width int) string {
	var out strings.Builder
	used, open := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == ' ' {
			if open {
				out.WriteByte('\n')
			}
			out.WriteString(line + "\n")
			open = false
			continue
		}
		for word := range strings.FieldsSeq(line) {
			n := uniseg.StringWidth(word)
			switch {
			case !open:
				used = n
			case used+1+n > width:
				out.WriteByte('\n')
				used = n
			default:
				out.WriteByte(' ')
				used += 1 + n
			}
			out.WriteString(word)
			open = true
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// newHelp is cobra's help with an error of its own for unknown commands.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print how a command is used",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = onlyCommands(cmd, rest)
			}
			if err != nil {
				return &usageError{err}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
