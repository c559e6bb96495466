package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// shownExecution is all that is shown of an execution.
type shownExecution struct {
	*skill.Execution
	timeline []*skill.Execution
	phases   skill.Phases
	family   *skill.Relative
	cut      int // executions that it called and that are left out
}

func showExecution(cmd *cobra.Command, skills *skill.Skills, timeline []*skill.Execution, format string) error {
	e := timeline[len(timeline)-1]
	family, cut, err := skills.Family(cmd.Context(), e)
	if err != nil {
		return err
	}
	s := &shownExecution{e, timeline, skill.PhasesOf(timeline, engram.Now()), family, cut}
	if cut > 0 {
		cmd.PrintErrf("engram: %s that it called are left out, and what they called\n", countOf(uint64(cut), "execution"))
	}
	if format != "text" {
		return printObject(cmd.OutOrStdout(), format, s.object())
	}
	return s.print(cmd.OutOrStdout())
}

// print prints an execution for people.
func (s *shownExecution) print(w io.Writer) error {
	b := &block{w: w}
	b.head(shortSkill(s.ID), "")
	b.line("skill", shortSkill(s.Skill), plain)
	b.line("status", s.statusText(), statusStyles[s.Status])
	if s.Rehearsal != skill.Real {
		b.line("rehearsal", s.Rehearsal.String()+": nothing has moved", plain)
	}
	if s.Failure == nil || s.Failure.Message != s.Message {
		b.line("message", s.Message, plain)
	}
	b.line("caller", s.Caller, plain)
	b.line("cause", idText(s.Cause), plain)
	b.line("condition", idText(s.Condition), plain)
	b.line("request", cmp.Or(idText(s.Request), "none: it was only noted"), plain)
	b.line("parameters", valuesText(s.Parameters), plain)
	b.line("result", valuesText(s.Result), plain)
	s.printFailure(b)
	s.printStop(b)
	b.line("took", s.tookText(), plain)
	if !s.Request.IsRoot() {
		b.line("resources", strings.Join(s.Resources, ", "), plain)
		b.line("limits", s.limitsText(), plain)
	}
	if s.family.ID != s.ID || len(s.family.Calls) > 0 {
		b.table(s.familyTable())
	}
	b.table(s.timelineTable())
	return b.err
}

// statusText says how far the execution has come.
func (s *shownExecution) statusText() string {
	text := statusWord(s.Execution)
	if s.Progress >= 0 && !s.Status.Ended() {
		text += ", " + percent(s.Progress)
	}
	return text
}

// printFailure prints why the execution failed.
func (s *shownExecution) printFailure(b *block) {
	f := s.Failure
	if f == nil {
		return
	}
	text := f.Message
	if f.Retry {
		text += "; trying again may help"
	}
	b.line("failure", text, bad)
	b.line("code", f.Code, plain)
	b.line("stage", f.Stage, plain)
	for _, id := range f.BlockedBy {
		b.line("blocked by", id.String(), plain)
	}
}

// printStop prints why the execution was to stop, and what its provider answered.
func (s *shownExecution) printStop(b *block) {
	stop := s.Stop
	if stop == nil {
		return
	}
	text := stop.Reason.String()
	if stop.Message != "" {
		text += ": " + stop.Message
	}
	b.line("stop", text, warning)
	answer := stop.Answer.String()
	if stop.Answer == schedule.Pending && stop.Deadline != 0 && !s.Status.Ended() {
		answer += fmt.Sprintf(", until %s", stop.Deadline)
	}
	if s.Called != 0 {
		b.line("answer", answer, plain)
	}
	b.line("stopped by", idText(stop.By), plain)
}

// tookText says how long each phase took.
func (s *shownExecution) tookText() string {
	var parts []string
	for _, p := range []struct {
		name string
		took time.Duration
	}{{"waited", s.phases.Waited}, {"ran", s.phases.Ran}, {"took to stop", s.phases.Stopped}} {
		if p.took >= 50*time.Microsecond { // which can be seen
			parts = append(parts, p.name+" "+shortDuration(p.took))
		}
	}
	if s.Expected > 0 {
		parts = append(parts, "expected "+shortDuration(s.Expected)+" in all")
	}
	return strings.Join(parts, ", ")
}

// limitsText says how long the execution may wait, run and take to stop, and how important it is.
func (s *shownExecution) limitsText() string {
	span := func(d time.Duration) string {
		if d == 0 {
			return "for ever"
		}
		return words.Duration(d)
	}
	return fmt.Sprintf("waits %s, runs %s, stops within %s; priority %d", span(s.Patience), span(s.TimeLimit), words.Duration(s.StopWithin), s.Priority)
}

// familyTable is a table of what called the execution and what it called.
func (s *shownExecution) familyTable() *table {
	t := &table{header: []string{"CALLS", "STATUS", "TOOK", "MESSAGE"}, right: []bool{2: true}, spare: []string{"TOOK"}, folded: true}
	s.addFamily(t, "", "", s.family)
	return t
}

// addFamily adds an execution and what it called; the lines of the tree stand before them.
func (s *shownExecution) addFamily(t *table, before, under string, r *skill.Relative) {
	name := text(shortSkill(r.ID))
	name.shown = before + name.shown
	if e := r.Execution; e == nil {
		t.add(name, "", "", "not there any more")
	} else {
		t.add(name, statusCell(e.Status), took(e), e.Message)
	}
	for i, c := range r.Calls {
		mark, goesOn := "├─ ", "│  "
		if i == len(r.Calls)-1 {
			mark, goesOn = "└─ ", "   "
		}
		s.addFamily(t, under+mark, under+goesOn, c)
	}
}

// timelineTable is a table of the execution's snapshots.
func (s *shownExecution) timelineTable() *table {
	t := &table{header: []string{"TIME", "STATUS", "PROGRESS", "MESSAGE"}, right: []bool{2: true}, folded: true}
	for _, e := range s.timeline {
		status := statusCell(e.Status)
		status.shown = statusWord(e)
		t.add(e.Time, status, progressText(e), watchText(e))
	}
	return t
}

// statusWord is the status of an execution in a word: Waiting, while it waits to be called.
func statusWord(e *skill.Execution) string {
	if e.Status == schedule.Preparing && e.Waits() {
		return "Waiting"
	}
	return e.Status.String()
}

// progressText says how much is done; empty if nobody knows, or all is.
func progressText(e *skill.Execution) string {
	if e.Progress < 0 || e.Status == schedule.Succeeded {
		return ""
	}
	return percent(e.Progress)
}

// idText returns an ID, empty for the root.
func idText(id engram.ID) string {
	if id.IsRoot() {
		return ""
	}
	return id.String()
}

// valuesText returns parameters or a result as JSON, empty if there are none.
func valuesText(v map[string]any) string {
	if len(v) == 0 {
		return ""
	}
	return string(valueJSON(v))
}

// shownJSON is all of an execution as programs read it.
type shownJSON struct {
	executionJSON
	Request    string          `json:"request,omitempty"`
	Parameters any             `json:"parameters,omitempty"`
	Resources  []string        `json:"resources,omitempty"`
	Priority   int             `json:"priority"`
	Patience   string          `json:"patience,omitempty"`
	TimeLimit  string          `json:"time_limit,omitempty"`
	StopWithin string          `json:"stop_within,omitempty"`
	Expected   string          `json:"expected,omitempty"`
	Epoch      uint64          `json:"epoch,string,omitempty"`
	Waited     string          `json:"waited"`
	Ran        string          `json:"ran"`
	Stopped    string          `json:"stopped"`
	Family     relativeJSON    `json:"family"`
	Timeline   []executionJSON `json:"timeline"`
}

// relativeJSON is an execution among those that called it and that it called.
type relativeJSON struct {
	Execution string         `json:"execution"`
	Status    string         `json:"status,omitempty"`
	Message   string         `json:"message,omitempty"`
	Calls     []relativeJSON `json:"calls,omitempty"`
}

func relativeObject(r *skill.Relative) relativeJSON {
	j := relativeJSON{Execution: r.ID.String()}
	if r.Execution != nil {
		j.Status, j.Message = r.Execution.Status.String(), r.Execution.Message
	}
	for _, c := range r.Calls {
		j.Calls = append(j.Calls, relativeObject(c))
	}
	return j
}

func (s *shownExecution) object() shownJSON {
	j := shownJSON{
		executionJSON: executionObject(s.Execution), Request: idText(s.Request), Resources: s.Resources, Priority: s.Priority, Epoch: s.Epoch,
		Waited: s.phases.Waited.String(), Ran: s.phases.Ran.String(), Stopped: s.phases.Stopped.String(), Family: relativeObject(s.family),
	}
	if len(s.Parameters) > 0 {
		j.Parameters = valueJSON(s.Parameters)
	}
	if !s.Request.IsRoot() {
		j.Patience, j.TimeLimit, j.StopWithin = s.Patience.String(), s.TimeLimit.String(), s.StopWithin.String()
	}
	if s.Expected > 0 {
		j.Expected = s.Expected.String()
	}
	for _, e := range s.timeline {
		j.Timeline = append(j.Timeline, executionObject(e))
	}
	return j
}
