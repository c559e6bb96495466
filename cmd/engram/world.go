package main

import (
	"cmp"
	"errors"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
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
	f := cmd.PersistentFlags()
	f.String("provider", "", "who says what is written (default: the user's name)")
	f.StringArray("robots", nil, "the worlds of these robots, too: a name, ~regex, or '*' for all; may be repeated")
	cmd.AddCommand(newWorldTree(), newWorldGet(), newWorldPut(), newWorldMv(), newWorldRm(), newWorldWithdraw(),
		newWorldNear(), newWorldIn(), newWorldDiff(), newWorldWatch(), newWorldImport(), newWorldExport(), newWorldMaps(), newWorldComponents(), newWorldCovers(),
		newWorldArticulate(), newWorldJoints())
	return cmd
}

// withWorld calls f with the world that the command's flags lead to, which this program has: it is followed, or more is read of it
// than a server answers.
func withWorld(cmd *cobra.Command, f func(w *world.Memory) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	robots, _ := cmd.Flags().GetStringArray("robots")
	return overWorld(cmd, m, robots, f)
}

// overWorld is withWorld for a client that there is.
func overWorld(cmd *cobra.Command, m *client.Client, robots []string, f func(w *world.Memory) error) error {
	w, err := world.Over(cmd.Context(), m, worldProvider(cmd), world.DefaultRules(), world.Robots(robots...))
	if err != nil {
		return err
	}
	if err := noteAway(cmd, m, robots); err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(f(w), w.Close())
}

// withAnswers calls f with who answers questions about the world, and about those of robots: see answering.
func withAnswers(cmd *cobra.Command, robots []string, f func(answer.Service) error) error {
	return answering(cmd, robots, func(_ *client.Client, s answer.Service) error { return f(s) })
}

// answering calls f with who answers questions about the world, and about those of robots, and states something in it: the server
// that has the memory World, or this program where that server has not all that the question is about.
func answering(cmd *cobra.Command, robots []string, f func(*client.Client, answer.Service) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	patterns, err := world.PatternsOf(robots...)
	if err != nil {
		return err
	}
	if m.Hosts(client.WorldMemory, patterns...) {
		if err := noteAway(cmd, m, robots); err != nil {
			return err
		}
		return f(m, m.World())
	}
	return overWorld(cmd, m, robots, func(w *world.Memory) error { return f(m, view.Of(w)) })
}

// lateCopy is from which age on a copy is told of: its owner is silent.
const lateCopy = 3 * time.Second

// noteAway says which worlds of other robots are not reached, and which copies stand for them.
func noteAway(cmd *cobra.Command, m *client.Client, robots []string) error {
	for _, robot := range robots {
		if expr, ok := strings.CutPrefix(robot, "~"); ok {
			robot = "~(?:" + expr + ")"
		}
		p, err := engram.ParsePattern(robot + ":World/Item/-/-")
		if err != nil {
			return &usageError{err}
		}
		q := p.Select(engram.Latest(1))
		q.Source = engram.SourceNear
		r, err := m.Query(cmd.Context(), q)
		if engram.CodeOf(err) == engram.Unavailable {
			cmd.PrintErrf("engram: %s\n", oneLine(err.Error()))
			continue
		}
		if err != nil {
			return err
		}
		r.Copies = slices.DeleteFunc(r.Copies, func(c engram.CopyUsed) bool { return !c.Away && c.Lag < lateCopy })
		warnAbout(cmd, r)
	}
	return nil
}

// worldProvider returns who says what is written.
func worldProvider(cmd *cobra.Command) string {
	provider, _ := cmd.Flags().GetString("provider")
	if u, err := user.Current(); provider == "" && err == nil {
		provider = u.Username
	}
	return cmp.Or(provider, "operator")
}

// formatSeconds writes a time without what is less than a second.
func formatSeconds(t engram.Time) string { return t.String()[:len("2006-01-02 15:04:05")] }

// completeItems completes the names of items.
func completeItems(cmd *cobra.Command, _ []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	_ = withAnswers(cmd, nil, func(s answer.Service) (err error) {
		found, err = s.Names(cmd.Context(), answer.Question{}, typed)
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
