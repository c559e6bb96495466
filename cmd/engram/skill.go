package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

func newSkill() *cobra.Command {
	cmd := &cobra.Command{Use: "skill", Short: "See what the robot can do, have it done, and see what came of it"}
	cmd.AddCommand(newSkillLs(), newSkillRun(), newSkillAbort(), newSkillShow(), newSkillWatch(), newSkillHistory(), newSkillProvide(), newSkillCondition(), newSkillSwitch(true), newSkillSwitch(false))
	return cmd
}

// openSkills connects.
func openSkills(cmd *cobra.Command) (*client.Client, *skill.Skills, error) {
	m, err := connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	skills, err := skill.Open(cmd.Context(), m)
	if err != nil {
		m.Close()
	}
	if engram.CodeOf(err) == engram.NotFound {
		err = engram.Errorf(engram.NotFound, "Skill", "no server has the memory; 'engram serve --memory Skill' does")
	}
	return m, skills, err
}

func newSkillLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls [PROVIDER]",
		Short: "List skills, and whether they can be executed now",
		Long: `Lists skills. STATE is ready; active, with what is executed or waits; away, if the provider is
not there: a request waits for it then; or disabled.`,
		Example:           "  engram skill ls\n  engram skill ls Arm -o json",
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	printing(cmd, skillLs)
	return cmd
}

// offerJSON is a skill as programs read it.
type offerJSON struct {
	Skill         string      `json:"skill"`
	State         string      `json:"state"`
	Active        []string    `json:"active,omitempty"`
	Text          string      `json:"description,omitempty"`
	ParameterType string      `json:"parameter_type,omitempty"`
	ResultType    string      `json:"result_type,omitempty"`
	Resources     []string    `json:"resources,omitempty"`
	Priority      int         `json:"priority,omitempty"`
	TimeLimit     string      `json:"time_limit,omitempty"`
	LeaseUntil    engram.Time `json:"lease_until,omitempty"`
}

func offerObject(o *skill.Offer) offerJSON {
	j := offerJSON{
		Skill: shortSkill(o.ID), State: o.State(), Text: o.Text, ParameterType: o.ParameterType, ResultType: o.ResultType,
		Resources: o.Resources, Priority: o.Priority, LeaseUntil: o.Until,
	}
	if o.TimeLimit > 0 {
		j.TimeLimit = o.TimeLimit.String()
	}
	for _, e := range o.Active {
		j.Active = append(j.Active, e.ID.String())
	}
	return j
}

// shortSkill returns a skill's name as people type it.
func shortSkill(id engram.ID) string {
	return engram.EscapeName(id.ProviderSegment()) + "/" + engram.EscapeName(id.Entity())
}

func skillLs(cmd *cobra.Command, args []string, format string) error {
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	p := engram.MustPattern("Skill/Description")
	if len(args) > 0 {
		if p, err = engram.ParsePattern("Skill/Description/" + args[0]); err != nil {
			return usagef("%w", err)
		}
	}
	offers, err := skills.Offers(cmd.Context(), p)
	if err != nil {
		return err
	}
	t := &table{header: []string{"SKILL", "STATE", "ACTIVE", "RESOURCES", "WHAT"}, right: []bool{2: true}, spare: []string{"RESOURCES", "WHAT"}, folded: true}
	all := []offerJSON{}
	for _, o := range offers {
		t.add(shortSkill(o.ID), state(o.State()), len(o.Active), strings.Join(o.Resources, ", "), o.Text)
		all = append(all, offerObject(o))
	}
	if len(all) == 0 {
		cmd.PrintErrln("engram: no provider has offered a skill")
	}
	return print(cmd.OutOrStdout(), format, t, all)
}

func newSkillHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "history [SKILL]",
		Short:             "List executions, and how they ended",
		Example:           "  engram skill history\n  engram skill history Arm/Wave --since now-1h",
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeSkills,
	}
	cmd.Flags().String("since", "", "of this time on: absolute or now-10s (default: all)")
	cmd.Flags().Int("latest", 20, "the latest N; 0 is all")
	printing(cmd, skillHistory)
	return cmd
}

// executionJSON is an execution as programs read it.
type executionJSON struct {
	Execution string          `json:"execution"`
	Skill     string          `json:"skill"`
	Status    string          `json:"status"`
	Started   engram.Time     `json:"started"`
	Called    *engram.Time    `json:"called,omitempty"`
	Changed   engram.Time     `json:"changed"`
	Progress  *float64        `json:"progress,omitempty"`
	Message   string          `json:"message,omitempty"`
	Caller    string          `json:"caller,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Failure   *failureJSON    `json:"failure,omitempty"`
	Stop      *stopJSON       `json:"stop,omitempty"`
	Condition string          `json:"condition,omitempty"`
	Rehearsal string          `json:"rehearsal,omitempty"`
}

type failureJSON struct {
	Code      string   `json:"code"`
	Stage     string   `json:"stage,omitempty"`
	Message   string   `json:"message"`
	Retry     bool     `json:"retry"`
	BlockedBy []string `json:"blocked_by,omitempty"`
}

type stopJSON struct {
	Reason  string `json:"reason"`
	Answer  string `json:"answer"`
	Message string `json:"message,omitempty"`
	By      string `json:"by,omitempty"`
}

func executionObject(e *skill.Execution) executionJSON {
	j := executionJSON{
		Execution: e.ID.String(), Skill: shortSkill(e.Skill), Status: e.Status.String(), Started: e.Started, Changed: e.Time, Message: e.Message, Caller: e.Caller,
	}
	if e.Called != 0 {
		j.Called = &e.Called
	}
	if e.Progress >= 0 {
		j.Progress = &e.Progress
	}
	if !e.Parent.IsRoot() {
		j.Parent = e.Parent.String()
	}
	if !e.Cause.IsRoot() {
		j.Cause = e.Cause.String()
	}
	if !e.Condition.IsRoot() {
		j.Condition = e.Condition.String()
	}
	if e.Rehearsal != skill.Real {
		j.Rehearsal = e.Rehearsal.String()
	}
	if e.Result != nil {
		j.Result = valueJSON(e.Result)
	}
	if f := e.Failure; f != nil {
		j.Failure = &failureJSON{Code: f.Code, Stage: f.Stage, Message: f.Message, Retry: f.Retry}
		for _, id := range f.BlockedBy {
			j.Failure.BlockedBy = append(j.Failure.BlockedBy, id.String())
		}
	}
	if s := e.Stop; s != nil {
		j.Stop = &stopJSON{Reason: s.Reason.String(), Answer: s.Answer.String(), Message: s.Message}
		if !s.By.IsRoot() {
			j.Stop.By = s.By.String()
		}
	}
	return j
}

// took says how long an execution has taken, or took.
func took(e *skill.Execution) string {
	until := e.Time
	if !e.Status.Ended() {
		until = engram.Now()
	}
	return until.Sub(cmp.Or(e.Started, e.Time)).Round(10 * time.Millisecond).String()
}

// statusCell is the cell of a status.
func statusCell(s schedule.Status) cell {
	c := text(s.String())
	c.look = &look{style: statusStyles[s]}
	return c
}

var statusStyles = map[schedule.Status]style{schedule.Succeeded: good, schedule.Failed: bad, schedule.Aborted: warning, schedule.Stopping: warning}

func skillHistory(cmd *cobra.Command, args []string, format string) error {
	start, err := sinceFlag(cmd)
	if err != nil {
		return err
	}
	latest, _ := cmd.Flags().GetInt("latest")
	if latest < 0 {
		return usagef("--latest %d: 0 or more", latest)
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	p, of := engram.MustPattern("Skill/Execution"), engram.ID{}
	if len(args) > 0 {
		if of, err = parseSkill(args[0]); err != nil {
			return err
		}
		segment, err := engram.NewID("Skill", "Execution", of.ProviderSegment())
		if err != nil {
			return err
		}
		p = engram.PatternOf(segment)
	}
	all, err := skills.Executions(cmd.Context(), p, engram.Latest(1))
	if err != nil {
		return err
	}
	kept := all[:0]
	for _, e := range all {
		if (of.IsRoot() || e.Skill == of) && e.Time >= start.Time {
			kept = append(kept, e)
		}
	}
	if all = kept; latest > 0 && len(all) > latest {
		cmd.PrintErrf("engram: %s before these; --latest 0 shows all\n", countOf(uint64(len(all)-latest), "execution"))
		all = all[len(all)-latest:]
	}
	objects := []executionJSON{}
	for _, e := range all {
		objects = append(objects, executionObject(e))
	}
	if len(objects) == 0 {
		cmd.PrintErrln("engram: nothing was executed")
	}
	return print(cmd.OutOrStdout(), format, executionsTable(all), objects)
}

// executionsTable is a table of executions, a line each.
func executionsTable(all []*skill.Execution) *table {
	t := &table{header: []string{"STARTED", "EXECUTION", "STATUS", "TOOK", "CALLER", "MESSAGE"}, right: []bool{3: true}, spare: []string{"CALLER", "TOOK"}, folded: true}
	for _, e := range all {
		t.add(e.Started, shortSkill(e.ID), statusCell(e.Status), took(e), e.Caller, e.Message)
	}
	return t
}

func newSkillSwitch(on bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "disable SKILL", Short: "Have a skill not be called until it is enabled; what is executed goes on",
		Example:           "  engram skill disable Arm/Wave --message 'the hand is being mended'",
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeSkills,
	}
	if on {
		cmd.Use, cmd.Short, cmd.Example = "enable SKILL", "Let a skill be called again", "  engram skill enable Arm/Wave"
	}
	cmd.Flags().String("message", "", "why, for people")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		of, err := parseSkill(args[0])
		if err != nil {
			return err
		}
		m, skills, err := openSkills(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		message, _ := cmd.Flags().GetString("message")
		return withNear(cmd.Context(), m, skills.Enable(cmd.Context(), of, on, "operator", message), of)
	}
	return cmd
}

// parseSkill reads a skill as PROVIDER/NAME, or as its ID.
func parseSkill(arg string) (engram.ID, error) {
	if !strings.HasPrefix(arg, "Skill/Description/") {
		arg = "Skill/Description/" + arg
	}
	id, err := engram.Parse(arg)
	if err != nil {
		return id, usagef("%w", err)
	}
	if id.Level() != engram.LevelEntity {
		return id, usagef("%s: name a skill as PROVIDER/NAME, such as Arm/Wave; 'engram skill ls' lists them", strings.TrimPrefix(arg, "Skill/Description/"))
	}
	return id, nil
}

// completeSkills completes the names of skills.
func completeSkills(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	m, skills, err := openSkills(cmd)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	return skillNames(cmd.Context(), skills), cobra.ShellCompDirectiveNoFileComp
}

// skillNames returns the names of skills, as shells complete them.
func skillNames(ctx context.Context, skills *skill.Skills) (names []string) {
	offers, _ := skills.Offers(ctx, engram.MustPattern("Skill/Description")) // nothing is completed otherwise
	for _, o := range offers {
		names = append(names, shortSkill(o.ID)+"\t"+o.Text)
	}
	return names
}
