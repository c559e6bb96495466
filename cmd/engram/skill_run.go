package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

func newSkillRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run SKILL [NAME=VALUE…]",
		Short: "Have a skill executed, and wait until it has ended",
		Long: `Asks for a skill, shows how far it has come, and prints what it returned. Values of parameters
are JSON or plain text. ^C has the execution stop, and waits until it has; a second ^C does
not wait. The exit code is 1 where it failed or was aborted. With --check or --dry-run nothing
moves: what would come of it is told.`,
		Example: `  engram skill run Arm/Wave times=3
  engram skill run Arm/MoveTo --parameters '{"location": "table"}' --time-limit 30s
  engram skill run Arm/Wave --detach`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeSkillRun,
	}
	f := cmd.Flags()
	f.String("parameters", "", "all parameters as a JSON object, @FILE or - for standard input")
	f.Int("priority", 0, "of those that wait for a resource the highest is next (default: the skill's)")
	f.Duration("patience", skill.DefaultPatience, "how long it may wait to be called; 0s is for ever")
	f.Duration("time-limit", 0, "how long it may take; 0s is for ever (default: the skill's)")
	f.String("caller", "", "who asks (default: the user)")
	f.String("cause", "", "ID of what it is asked for because of, such as a speech command")
	f.Bool("check", false, "only tell whether it could be called now, and what stands against it")
	f.Bool("dry-run", false, "go as far as the call: wait for its turn and its resources, and do not call its provider")
	f.String("on-caller-gone", "continue", "continue, or abort: what becomes of it if this command is killed")
	f.Bool("detach", false, "do not wait: print the execution")
	addOutputFormats(cmd, []string{"text", "json", "ndjson", "yaml"})
	printing(cmd, skillRun)
	return cmd
}

func skillRun(cmd *cobra.Command, args []string, format string) error {
	of, err := parseSkill(args[0])
	if err != nil {
		return err
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ask, err := askFlags(cmd, m, skills, of, args[1:])
	if err != nil {
		return err
	}
	if ask.Rehearsal, err = rehearsalFlags(cmd); err != nil {
		return err
	}
	detach, _ := cmd.Flags().GetBool("detach")
	switch gone, _ := cmd.Flags().GetString("on-caller-gone"); {
	case gone == "abort" && detach:
		return usagef("--on-caller-gone abort and --detach: one of them")
	case gone == "abort":
		ask.CallerLease = skill.DefaultCallerLease
	case gone != "continue":
		return usagef("--on-caller-gone %s: continue or abort", gone)
	}
	h, err := skills.Start(cmd.Context(), ask)
	if err != nil {
		return withNear(cmd.Context(), m, err, of)
	}
	if detach {
		if format == "text" {
			return printLine(cmd.OutOrStdout(), span{text: visible(h.ID.String())})
		}
		return printObject(cmd.OutOrStdout(), format, map[string]string{"execution": h.ID.String()})
	}
	e, err := follow(cmd, h)
	if err != nil {
		return err
	}
	if format != "text" {
		if err := printObject(cmd.OutOrStdout(), format, executionObject(e)); err != nil {
			return err
		}
	} else if e.Rehearsal != skill.Real && e.Status == schedule.Succeeded {
		if err := printLine(cmd.OutOrStdout(), span{text: visible(shortSkill(of) + ": " + e.Message)}); err != nil {
			return err
		}
	} else if e.Result != nil {
		if err := printFolded(cmd.OutOrStdout(), nil, span{text: visible(string(valueJSON(e.Result)))}); err != nil {
			return err
		}
	}
	return endOf(e)
}

// completeSkillRun completes a skill, and then the names of its parameters.
func completeSkillRun(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeSkills(cmd, args, typed)
	}
	return completeParameters(cmd, args[0], args[1:], typed)
}

// completeParameters completes the names of a skill's parameters that are not given yet, as far as its type or its defaults tell.
func completeParameters(cmd *cobra.Command, skillArg string, given []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	of, err := parseSkill(skillArg)
	if err != nil || strings.Contains(typed, "=") {
		return nil, directive
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return nil, directive
	}
	defer m.Close()
	offers, err := skills.Offers(cmd.Context(), engram.PatternOf(of))
	if err != nil || len(offers) != 1 {
		return nil, directive
	}
	about := map[string]string{}
	for name := range offers[0].Defaults {
		about[name] = ""
	}
	if t, err := readType(cmd.Context(), newTypeCache(m), offers[0].ParameterType); err == nil {
		for _, member := range t.members {
			about[member.Name] = strings.Join(strings.Fields(member.Doc), " ")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(about)) {
		if !slices.ContainsFunc(given, func(arg string) bool { return strings.HasPrefix(arg, name+"=") }) {
			names = append(names, name+"=\t"+about[name])
		}
	}
	return names, directive
}

// rehearsalFlags reads whether something is to move.
func rehearsalFlags(cmd *cobra.Command) (skill.Rehearsal, error) {
	check, _ := cmd.Flags().GetBool("check")
	dry, _ := cmd.Flags().GetBool("dry-run")
	switch {
	case check && dry:
		return 0, usagef("--check and --dry-run: one of them")
	case check:
		return skill.Check, nil
	case dry:
		return skill.DryRun, nil
	}
	return skill.Real, nil
}

// endOf returns why an execution did not succeed.
func endOf(e *skill.Execution) error {
	err := e.Err()
	var f *skill.Failure
	if !errors.As(err, &f) {
		return err
	}
	how := map[bool]string{true: " was aborted: ", false: " failed: "}[e.Status == schedule.Aborted]
	text := shortSkill(e.ID) + how + f.Error()
	if e.Rehearsal != skill.Real {
		text = shortSkill(e.Skill) + " could not be called: " + f.Message
	}
	if f.Retry && e.Status == schedule.Failed {
		text += "; trying again may help"
	}
	return errors.New(text)
}

// follow tells how far an execution has come, until it has ended. When the command is to end, so is the execution.
func follow(cmd *cobra.Command, h *skill.Handle) (*skill.Execution, error) {
	said := ""
	tell := func(e *skill.Execution) {
		text := statusWord(e)
		if e.Progress > 0 && !e.Status.Ended() {
			text += fmt.Sprintf(" %.0f %%", 100*e.Progress)
		}
		if e.Message != "" {
			text += ": " + e.Message
		}
		if text != said && e.Rehearsal != skill.Check && e.Status != schedule.Failed && e.Status != schedule.Aborted { // which is told at the end
			cmd.PrintErrf("engram: %s %s\n", visible(shortSkill(h.ID)), visible(text))
		}
		said = text
	}
	e, err := h.Wait(cmd.Context(), tell)
	if cmd.Context().Err() == nil {
		return e, err
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), 30*time.Second)
	defer cancel()
	if err := h.Abort(late, "the command was interrupted"); err != nil {
		return nil, err
	}
	return h.Wait(late, tell)
}

// askFlags reads what is asked for.
func askFlags(cmd *cobra.Command, m *client.Client, skills *skill.Skills, of engram.ID, values []string) (a skill.Ask, err error) {
	f := cmd.Flags()
	a.Skill = of.ProviderSegment() + "/" + of.Entity()
	a.Caller, _ = f.GetString("caller")
	if a.Caller == "" {
		a.Caller = "shell"
		if u, err := user.Current(); err == nil && u.Username != "" {
			a.Caller = u.Username
		}
	}
	if n, _ := f.GetInt("priority"); f.Changed("priority") {
		a.Priority = &n
	}
	patience, _ := f.GetDuration("patience")
	limit, _ := f.GetDuration("time-limit")
	if patience < 0 || limit < 0 {
		return a, usagef("--patience %v --time-limit %v: 0 or more", patience, limit)
	}
	a.Patience = &patience
	if f.Changed("time-limit") {
		a.TimeLimit = &limit
	}
	if text, _ := f.GetString("cause"); text != "" {
		if a.Cause, err = engram.Parse(text); err != nil {
			return a, usagef("--cause: %w", err)
		}
	}
	a.Parameters, err = parameterArgs(cmd, m, skills, of, values)
	return a, err
}

// parameterArgs reads parameters by the type that the skill takes.
func parameterArgs(cmd *cobra.Command, m *client.Client, skills *skill.Skills, of engram.ID, values []string) (map[string]any, error) {
	all := map[string]json.RawMessage{}
	if text, _ := cmd.Flags().GetString("parameters"); text != "" {
		j, err := readArg(cmd, text)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(j, &all); err != nil {
			return nil, usagef("--parameters is no JSON object: %w", err)
		}
	}
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, usagef("%q: write a parameter as NAME=VALUE", v)
		}
		if all[name] = json.RawMessage(value); !json.Valid(all[name]) {
			j, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			all[name] = j
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	j, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	offers, err := skills.Offers(cmd.Context(), engram.PatternOf(of))
	if err != nil {
		return nil, err
	}
	name := engram.ValueType
	if len(offers) == 1 {
		name = cmp.Or(offers[0].ParameterType, name)
	}
	t, err := newTypeCache(m).get(cmd.Context(), name)
	if err != nil {
		return nil, err
	}
	b, err := t.FromJSON(j)
	if err != nil {
		return nil, fmt.Errorf("parameters of %s: %w", shortSkill(of), err)
	}
	v, err := t.Decode(b)
	parameters, _ := v.(map[string]any)
	if name != engram.ValueType { // members that were not given are not
		for key := range parameters {
			if _, given := all[key]; !given {
				delete(parameters, key)
			}
		}
	}
	return parameters, err
}

// valueJSON returns values as JSON.
func valueJSON(v map[string]any) json.RawMessage {
	b, err := idf.EncodeValue(v)
	if err != nil {
		return nil
	}
	of, _ := idf.NewRegistry().Get(engram.ValueType)
	j, err := of.JSON(b, idf.JSONOptions{})
	if err != nil {
		return nil
	}
	return j
}

func newSkillAbort() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "abort EXECUTION",
		Short: "Have an execution stop, and all that it called",
		Long: `Asks an execution to stop, and waits until it has: until its provider has confirmed that it
stands still, or cannot move anything any more. One that waits has ended at once.`,
		Example:           "  engram skill abort Arm/Wave-9bkkzr8qo0vu --message 'mind the cup'",
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeActive,
	}
	cmd.Flags().String("message", "", "why, for people")
	cmd.Flags().Bool("detach", false, "do not wait")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseExecution(args[0])
		if err != nil {
			return err
		}
		m, skills, err := openSkills(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		h := skills.Follow(id)
		message, _ := cmd.Flags().GetString("message")
		if err := h.Abort(cmd.Context(), message); err != nil {
			return withNear(cmd.Context(), m, err, id)
		}
		if detach, _ := cmd.Flags().GetBool("detach"); detach {
			return nil
		}
		e, err := h.Wait(cmd.Context(), nil)
		if err != nil {
			return err
		}
		line := shortSkill(e.ID) + " " + strings.ToLower(e.Status.String())
		if e.Message != "" {
			line += ": " + e.Message
		}
		return printLine(cmd.OutOrStdout(), span{text: visible(line)})
	}
	return cmd
}

// completeActive completes executions that have not ended.
func completeActive(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	m, skills, err := openSkills(cmd)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	all, _ := skills.Executions(cmd.Context(), engram.MustPattern("Skill/Execution"), engram.Latest(1))
	for _, e := range all {
		if !e.Status.Ended() && !e.Request.IsRoot() {
			names = append(names, shortSkill(e.ID)+"\t"+e.Status.String())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
