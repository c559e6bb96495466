package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

func newSkillWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [PATTERN]",
		Short: "Print what is executed as it comes, and providers that come and go",
		Long: `Prints a line for each change of an execution, and for each provider that comes or goes, until
interrupted: first of those that are there. What another execution called stands indented below
that. PATTERN is of skills or executions, such as Arm, '*/Grasp' or 'Arm/~Grasp-.*': what they call
is printed, too. While the server is not reached, this is said; what is there is printed when it is
back.`,
		Example: `  engram skill watch
  engram skill watch Arm/Bring
  engram skill watch '*/Grasp' --for 1m -o ndjson`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeSkills,
	}
	cmd.Flags().Int("count", 0, "end after N lines")
	cmd.Flags().Duration("for", 0, "end after this time")
	addOutputFormats(cmd, streamFormats)
	printing(cmd, skillWatch)
	return cmd
}

// errEnough ends a watch after what was asked for.
var errEnough = errors.New("that was enough")

func skillWatch(cmd *cobra.Command, args []string, format string) error {
	count, _ := cmd.Flags().GetInt("count")
	limit, _ := cmd.Flags().GetDuration("for")
	if count < 0 || limit < 0 {
		return usagef("--count %d --for %v: 0 or more", count, limit)
	}
	wanted, err := skillFilterOf(args)
	if err != nil {
		return err
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if err := noteNoSkill(cmd, m, args); err != nil {
		return err
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	lines := &skillLines{cmd: cmd, format: format, wanted: wanted, said: map[engram.ID]string{}}
	err = skills.Watch(ctx, func(n skill.News) error {
		err := lines.tell(n)
		if err == nil && count > 0 && lines.told >= count {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) || ctx.Err() != nil {
		return nil
	}
	return err
}

// noteNoSkill tells of what a pattern is to match and is not there.
func noteNoSkill(cmd *cobra.Command, m engram.Statistician, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(args[0], descriptions), executions)
	for _, segment := range []string{descriptions, executions} {
		p, err := engram.ParsePattern(segment + name)
		if err != nil {
			return usagef("%w", err)
		}
		nodes, err := m.Stats(cmd.Context(), p, engram.LevelEntity)
		if err != nil || slices.ContainsFunc(nodes, func(s engram.Stats) bool { return int(s.ID.Level()) >= len(p.Levels) }) {
			return err
		}
	}
	hint := ""
	if near := nearSkill(cmd.Context(), m, name, descriptions, executions); near != "" {
		hint = " (did you mean " + visible(near) + "?)"
	}
	cmd.PrintErrf("engram: no skill or execution matches %s yet%s; waiting\n", visible(name), hint)
	return nil
}

// skillFilter says what of skills and executions is wanted.
type skillFilter struct{ skills, executions *engram.PatternMatcher }

// skillFilterOf reads a pattern of skills or executions; without one all are wanted.
func skillFilterOf(args []string) (f skillFilter, err error) {
	name := "*"
	if len(args) > 0 {
		name = strings.TrimPrefix(strings.TrimPrefix(args[0], descriptions), executions)
	}
	for segment, m := range map[string]**engram.PatternMatcher{descriptions: &f.skills, executions: &f.executions} {
		p, err := engram.ParsePattern(segment + name)
		if err != nil {
			return f, usagef("%w", err)
		}
		if *m, err = p.Matcher(); err != nil {
			return f, usagef("%w", err)
		}
	}
	return f, nil
}

func (f *skillFilter) wants(e *skill.Execution) bool {
	return f.skills.Match(e.Skill) || f.executions.Match(e.ID)
}

// wantsProvider reports whether there may be something of a provider that is wanted.
func (f *skillFilter) wantsProvider(name string) bool {
	return f.skills.Level(engram.LevelProviderSegment).Match(name)
}

// skillLines prints what a watch tells, a line each:
//
//	14:03:07.375  Arm/Bring-9bk…    Running
//	      .380      Arm/Grasp-9bm…  Running     40 %  closing the hand
type skillLines struct {
	cmd    *cobra.Command
	format string
	wanted skillFilter
	told   int // lines

	clock clock
	width int                  // of names
	said  map[engram.ID]string // by execution that has not ended, what was said last
}

// mostSaid bounds what is kept of what was said.
const mostSaid = 10_000

func (l *skillLines) tell(n skill.News) error {
	switch {
	case n.Absence != nil:
		return printAbsence(l.cmd, l.format, *n.Absence)
	case n.Provider != nil:
		return l.provider(n.Provider)
	case n.Restarted:
		l.cmd.PrintErrln("engram: the memory server has restarted, or another one has taken over")
		return nil
	}
	depth, wanted := 0, l.wanted.wants(n.Execution)
	for _, above := range n.Above {
		if depth > 0 || l.wanted.wants(above) {
			depth, wanted = depth+1, true
		}
	}
	if !wanted {
		return nil
	}
	return l.execution(&n, depth)
}

// watchedJSON is a change of an execution as programs read it.
type watchedJSON struct {
	executionJSON
	Stage string `json:"stage"`
	Lost  bool   `json:"lost,omitempty"`
}

// execution tells of an execution that stands below so many others.
func (l *skillLines) execution(n *skill.News, depth int) error {
	e, word := n.Execution, span{statusStyles[n.Execution.Status], statusWord(n.Execution)}
	message, at := watchText(e), e.Time
	if n.Lost {
		word, message, at = span{bad, "Lost"}, "the memory began anew without it", engram.Now()
	}
	text := word.text + "\n" + progressText(e) + "\n" + message
	if l.said[e.ID] == text {
		return nil
	}
	if _, known := l.said[e.ID]; !known && message == "" && !e.Status.Ended() {
		message = strings.TrimSpace("for " + e.Caller + " " + valuesText(e.Parameters))
	}
	if len(l.said) >= mostSaid {
		clear(l.said)
	}
	if l.said[e.ID] = text; e.Status.Ended() || n.Lost {
		delete(l.said, e.ID)
	}
	l.told++
	if l.format != "table" {
		return writeJSONLine(l.cmd.OutOrStdout(), watchedJSON{executionObject(e), n.Stage(), n.Lost})
	}
	return l.line(at, strings.Repeat("  ", depth), shortSkill(e.ID), word, progressText(e), message)
}

// watchText says what an execution does just now, or how it ended.
func watchText(e *skill.Execution) string {
	if e.Status != schedule.Stopping || e.Stop == nil {
		return e.Message
	}
	text := "told to stop (" + e.Stop.Reason.String() + ")"
	if e.Stop.Message != "" {
		text += ": " + e.Stop.Message
	}
	return text
}

// presenceJSON is that a provider came or went, as programs read it.
type presenceJSON struct {
	Time engram.Time `json:"time"`
	providerJSON
}

func (l *skillLines) provider(p *skill.Presence) error {
	if !l.wanted.wantsProvider(p.Provider) {
		return nil
	}
	l.told++
	if l.format != "table" {
		j := presenceJSON{p.Time, providerJSON{p.Provider, p.There, p.Lease.Epoch, "", p.Ended}}
		if p.There {
			j.Lease = p.Lease.Lease.String()
		}
		return writeJSONLine(l.cmd.OutOrStdout(), j)
	}
	word, message := span{good, "There"}, "a provider, with a lease of "+words.Duration(p.Lease.Lease)
	switch {
	case p.Ended:
		word, message = span{warning, "Ended"}, "the provider has ended"
	case !p.There:
		word, message = span{warning, "Away"}, "the provider's lease is over"
	}
	return l.line(p.Time, "", engram.EscapeName(p.Provider), word, "", message)
}

// line prints a line for people.
func (l *skillLines) line(at engram.Time, indent, name string, status span, progress, message string) error {
	w := l.cmd.OutOrStdout()
	when := at.String()
	name = visible(name)
	if width := layoutOf(w).width; width > 0 {
		var err error
		if when, err = l.clock.print(w, at); err != nil {
			return err
		}
		name = cutMiddle(name, max(12, width*2/5-len(indent)))
	}
	l.width = max(l.width, len(indent)+uniseg.StringWidth(name))
	pad := strings.Repeat(" ", l.width-len(indent)-uniseg.StringWidth(name)+2)
	status.text += strings.Repeat(" ", max(0, len("Succeeded")-len(status.text)))
	head := []span{{faint, when + "  "}, {text: indent + name + pad}, status, {faint, strings.Repeat(" ", max(0, len("  100 %  ")-len(progress)-2)) + progress + "  "}}
	return printFolded(w, head, span{text: message})
}
