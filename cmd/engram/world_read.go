package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// addAfterFlags gives a command the flags to wait for what was written.
func addAfterFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("after", nil, "wait until the world has all that was written up to this MARK of\na write, in any process and on any robot; may be repeated")
	cmd.Flags().Duration("timeout", 5*time.Second, "how long to wait for what --after names")
}

// addWorldReadFlags gives a command the flags that say of which world it tells.
func addWorldReadFlags(cmd *cobra.Command) {
	addOutputFlag(cmd)
	cmd.Flags().String("at", "", "the world at this time: absolute, -10s or now-10s (default: now)")
	cmd.Flags().String("as-of", "", "the world as it was known at this time, when what came later had not arrived")
	addAfterFlags(cmd)
}

// askWorld calls f with who answers, and the question that the command's flags ask.
func askWorld(cmd *cobra.Command, f func(format string, s answer.Service, q answer.Question) error) error {
	at, known, err := worldTimeFlags(cmd)
	if err != nil {
		return err
	}
	q, err := worldQuestion(cmd)
	if err != nil {
		return err
	}
	if q.AsOf = known; known != nil || cmd.Flags().Changed("at") {
		q.At = &at
	}
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return withAnswers(cmd, q.Robots, func(s answer.Service) error {
		opening := &openingBar{cmd: cmd}
		defer opening.end()
		q.Opening = opening.set
		return f(format, s, q)
	})
}

// worldQuestion returns the question that the command's flags ask, but for its times.
func worldQuestion(cmd *cobra.Command) (q answer.Question, err error) {
	marks, err := marksFlag(cmd)
	for _, m := range marks {
		q.After = append(q.After, answer.Mark(m))
	}
	q.Wait, _ = cmd.Flags().GetDuration("timeout")
	q.Robots, _ = cmd.Flags().GetStringArray("robots")
	return q, err
}

// openingBar says that the server reads the world: on a terminal with a bar, elsewhere in a line, where that may take
// long.
type openingBar struct {
	cmd  *cobra.Command
	told bool
	bar  *progress
}

// longOpening is from how many statements on reading them takes so long that somebody wonders.
const longOpening = 10_000

func (b *openingBar) set(done, of int) {
	if of < longOpening {
		return
	}
	if b.bar == nil {
		b.bar = newProgress(b.cmd, "the server reads the world", true)
	}
	if b.bar.bar == nil && !b.told {
		b.cmd.PrintErrf("engram: this is the first question since the server began, or for long: it reads the world, %s, which later questions do not wait for\n", countOf(uint64(of), "statement"))
		b.told = true
	}
	b.bar.set(int64(done), int64(of))
}

func (b *openingBar) end() {
	if b.bar != nil {
		b.bar.finish()
		b.bar = nil
	}
}

// viewAfter returns the present world, with all that was written up to marks.
func viewAfter(cmd *cobra.Command, w *world.Memory, marks []world.Mark) (*world.Forest, error) {
	timeout, _ := cmd.Flags().GetDuration("timeout")
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	return w.View(ctx, marks...)
}

func marksFlag(cmd *cobra.Command) ([]world.Mark, error) {
	texts, _ := cmd.Flags().GetStringArray("after")
	if timeout, _ := cmd.Flags().GetDuration("timeout"); timeout < 0 {
		return nil, usagef("--timeout %v: 0 or more", timeout)
	}
	marks := make([]world.Mark, len(texts))
	for i, text := range texts {
		var err error
		if marks[i], err = world.ParseMark(strings.TrimPrefix(text, "mark ")); err != nil {
			return nil, usagef("--after: %w", err)
		}
	}
	return marks, nil
}

// worldTimeFlags returns the times of --at, now if it is not given, and of --as-of, nil if it is not.
func worldTimeFlags(cmd *cobra.Command) (at engram.Time, known *engram.Time, err error) {
	if at, _, err = worldTimeFlag(cmd, "at"); err != nil {
		return 0, nil, err
	}
	asOf, given, err := worldTimeFlag(cmd, "as-of")
	if err != nil || !given {
		return at, nil, err
	}
	return at, &asOf, nil
}

// worldTimeFlag returns the time of a flag, now if it is not given. The world's latest time
// is now.
func worldTimeFlag(cmd *cobra.Command, name string) (t engram.Time, given bool, err error) {
	now := engram.Now()
	text, _ := cmd.Flags().GetString(name)
	if !cmd.Flags().Changed(name) {
		return now, false, nil
	}
	at, err := parseTimeArg(text)
	if err != nil {
		return 0, true, usagef("--%s: %w", name, err)
	}
	return at.resolve(now, now), true, nil
}
