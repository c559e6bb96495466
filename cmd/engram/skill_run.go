package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

func newSkillRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run SKILL",
		Short: "Run a skill and wait for its end",
		Long: `Asks for a skill, shows its progress, and prints its result. Its parameters are flags of their
names, or one JSON object with --params. An interrupt (Ctrl-C) aborts it and waits until it is confirmed that
all stands still; a second one does not wait.`,
		Example: `  engram skill run Grasp --object cup
  engram skill run MoveTo --params '{"location": "table"}' --check
  engram skill run Patrol --detach`,
		DisableFlagParsing: true, // parameters are flags that nobody knows before
	}
	addOutputFlag(cmd)
	f := cmd.Flags()
	f.String("params", "", "the parameters as a JSON object; - reads it from standard input")
	runFlags(f)
	cmd.ValidArgsFunction = completeRun
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, given, err := runArguments(cmd, args)
		if err != nil || name == "" {
			return err
		}
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
		return withSkills(cmd, func(m *client.Client, memory string) error { return runSkill(cmd, m, memory, name, given, format) })
	}
	return cmd
}

// runFlags adds the flags of how a skill is run.
func runFlags(f *pflag.FlagSet) {
	f.Bool("check", false, "tell what keeps it from being run now, and ask for nothing")
	f.Bool("dry-run", false, "go as far as the call of the provider, and end there")
	f.Bool("detach", false, "do not wait for the end; print the execution's ID")
	f.Duration("timeout", 0, "how long it may take, waiting included (default: as the skill says)")
	f.Int32("priority", 0, "greater goes first (default: as the skill says)")
}

// runArguments reads the command line of run: flags of the command, and others that are parameters. The name is
// "" if help was asked for.
func runArguments(cmd *cobra.Command, args []string) (name string, given map[string]any, err error) {
	var own, rest []string
	given = map[string]any{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		long, isFlag := strings.CutPrefix(arg, "--")
		word, value, whole := strings.Cut(long, "=")
		switch flag := cmd.Flags().Lookup(word); {
		case arg == "-h" || arg == "--help":
			return "", nil, cmd.Help()
		case isFlag && flag != nil, !isFlag && strings.HasPrefix(arg, "-") && len(arg) > 1:
			own = append(own, arg)
			if !isFlag {
				flag, whole = cmd.Flags().ShorthandLookup(arg[1:2]), len(arg) > 2
			}
			if flag != nil && flag.NoOptDefVal == "" && !whole && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		case isFlag && word != "":
			if !whole && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
				i++
				value, whole = args[i], true
			}
			if given[word] = condition.Literal(value); !whole {
				given[word] = true
			}
		default:
			rest = append(rest, arg)
		}
	}
	cmd.DisableFlagParsing = false
	if err := cmd.ParseFlags(own); err != nil {
		return "", nil, flagError(cmd, err)
	}
	if err := positional(cobra.ExactArgs(1))(cmd, rest); err != nil {
		return "", nil, err
	}
	params, _ := cmd.Flags().GetString("params")
	if params == "" {
		return rest[0], given, nil
	}
	text := []byte(params)
	if params == "-" {
		if text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20)); err != nil {
			return "", nil, err
		}
	}
	object, ok := condition.Literal(string(text)).(map[string]any)
	if !ok {
		return "", nil, usagef("--params: a JSON object of parameters, such as '{\"object\": \"cup\"}'")
	}
	for name, v := range given {
		object[name] = v
	}
	return rest[0], object, nil
}

// completeRun completes names of skills, and of the parameters of one.
func completeRun(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.HasPrefix(typed, "-") {
		return completeSkills(cmd, nil, typed)
	}
	if !strings.HasPrefix(typed, "-") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = withSkills(cmd, func(m *client.Client, memory string) error { // without a server there is nothing to complete
		offers, err := skill.Offers(cmd.Context(), m, memory)
		if err != nil {
			return err
		}
		for _, arg := range args {
			o, err := findOffer(offers, arg)
			if err != nil {
				continue
			}
			parameters, err := skill.ParametersOf(cmd.Context(), m, o.Description)
			for _, p := range parameters {
				if flag := "--" + p.Name; strings.HasPrefix(flag, typed) {
					found = append(found, flag)
				}
			}
			return err
		}
		return nil
	})
	for _, own := range []string{"--params", "--check", "--dry-run", "--detach", "--timeout", "--priority", "--output"} {
		if strings.HasPrefix(own, typed) {
			found = append(found, own)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func runSkill(cmd *cobra.Command, m *client.Client, memory, name string, given map[string]any, format string) error {
	f := cmd.Flags()
	r := skill.Request{Memory: memory, Skill: name, Caller: skillCaller(cmd)}
	if len(given) > 0 {
		r.Parameters = given
	}
	r.DryRun, _ = f.GetBool("dry-run")
	r.Timeout, _ = f.GetDuration("timeout")
	if priority, _ := f.GetInt32("priority"); f.Changed("priority") {
		r.Priority = &priority
	}
	if check, _ := f.GetBool("check"); check {
		return checkSkill(cmd, m, r, format)
	}
	ctx := cmd.Context()
	x, err := skill.Start(ctx, m, r)
	if err != nil {
		return err
	}
	if detach, _ := f.GetBool("detach"); detach {
		if tabular(format) {
			cmd.Println(x.ID())
			return nil
		}
		return printObject(cmd.OutOrStdout(), format, map[string]any{"id": x.ID()})
	}
	last, err := followExecution(cmd, x, name)
	if err != nil && ctx.Err() != nil {
		return abortInterrupted(cmd, x, name)
	}
	if err != nil {
		return err
	}
	return printEnd(cmd, last, format)
}

// followExecution shows progress until the end.
func followExecution(cmd *cobra.Command, x *skill.Ongoing, name string) (last *skill.Execution, err error) {
	const whole = 1000
	bar := newProgress(cmd, name, true)
	defer bar.finish()
	told := ""
	for e, err := range x.Watch(cmd.Context()) {
		if err != nil {
			return last, err
		}
		last = e
		bar.set(int64(e.Progress*whole), whole)
		text := e.Status.String()
		if e.Message != "" {
			text += ": " + e.Message
		}
		if text != told && terminalWidth(cmd.ErrOrStderr()) > 0 {
			cmd.PrintErrf("\r\033[K%s %s\n", engram.Now().Std().Format("15:04:05"), visible(text))
		}
		told = text
		if e.Status.Ended() {
			break
		}
	}
	return last, nil
}

// abortInterrupted aborts what an interrupt leaves, and waits for what comes of it; a second interrupt ends the
// process.
func abortInterrupted(cmd *cobra.Command, x *skill.Ongoing, name string) error {
	cmd.PrintErrf("engram: %s is being aborted; a second interrupt does not wait\n", name)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), 30*time.Second)
	defer cancel()
	answer, err := x.AbortAs(ctx, skillCaller(cmd), skill.ReasonOperator, "interrupted at the terminal")
	if err != nil {
		return fmt.Errorf("whether it was aborted is not known: %w", err)
	}
	return fmt.Errorf("%s was interrupted: %s", name, answerText(answer))
}

// answerText says what came of an abort.
func answerText(a skill.StopAnswer) string {
	switch a {
	case skill.Confirmed:
		return "confirmed, it stands still"
	case skill.Unconfirmed:
		return "unconfirmed, it may still move"
	case skill.Refused:
		return "refused, it goes on"
	}
	return "no answer yet"
}

func checkSkill(cmd *cobra.Command, m *client.Client, r skill.Request, format string) error {
	var resolvers []skill.Resolver
	if r.Memory == skill.Memory { // another robot resolves names in its own world
		resolve, done := memories.ResolveNames(m)
		defer done()
		resolvers = append(resolvers, resolve)
	}
	c, err := skill.Check(cmd.Context(), m, r, resolvers...)
	if err != nil {
		return err
	}
	t := &table{header: []string{"WHAT", "NAME", "AT PRESENT", "WHY"}}
	for _, f := range c.Findings {
		t.add(f.What, f.Name, f.Value, f.Message)
	}
	type finding struct {
		What      string      `json:"what"`
		Name      string      `json:"name"`
		Value     string      `json:"value"`
		Message   string      `json:"message"`
		BlockedBy []engram.ID `json:"blocked_by,omitempty"`
	}
	object := struct {
		Skill      string    `json:"skill"`
		Ready      bool      `json:"ready"`
		Parameters any       `json:"parameters,omitempty"`
		Findings   []finding `json:"findings"`
	}{r.Skill, len(c.Findings) == 0, c.Parameters, []finding{}}
	for _, f := range c.Findings {
		object.Findings = append(object.Findings, finding(f))
	}
	switch {
	case !tabular(format):
		err = printObject(cmd.OutOrStdout(), format, object)
	case len(c.Findings) == 0:
		cmd.Printf("%s could be run now\n", visible(r.Skill))
	default:
		err = print(cmd.OutOrStdout(), format, t, []finding(nil))
	}
	if err == nil && len(c.Findings) > 0 {
		err = fmt.Errorf("%s cannot be run now: %s", r.Skill, c.Findings[0].Message)
	}
	return err
}

// executionJSON is an execution as it is printed.
type executionJSON struct {
	ID         engram.ID    `json:"id"`
	Skill      string       `json:"skill"`
	Provider   string       `json:"provider,omitempty"`
	Status     string       `json:"status"`
	Caller     string       `json:"caller"`
	Cause      *engram.ID   `json:"cause,omitempty"`
	Parent     *engram.ID   `json:"parent,omitempty"`
	Started    engram.Time  `json:"started"`
	Timestamp  engram.Time  `json:"timestamp"`
	Duration   string       `json:"duration"`
	Progress   float64      `json:"progress,omitempty"`
	Message    string       `json:"message,omitempty"`
	Parameters any          `json:"parameters,omitempty"`
	Result     any          `json:"result,omitempty"`
	Failure    *failureJSON `json:"failure,omitempty"`
	Stop       *stopJSON    `json:"stop,omitempty"`
	DryRun     bool         `json:"dry_run,omitempty"`
}

type failureJSON struct {
	Code      string      `json:"code"`
	Stage     []string    `json:"stage,omitempty"`
	Message   string      `json:"message"`
	Retry     string      `json:"retry,omitempty"`
	BlockedBy []engram.ID `json:"blocked_by,omitempty"`
}

type stopJSON struct {
	Reason  string `json:"reason"`
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  string `json:"answer"`
}

func executionObject(e *skill.Execution) executionJSON {
	j := executionJSON{
		ID: e.ID.Truncate(engram.LevelEntity), Skill: e.Skill.Entity(), Provider: e.SkillProvider, Status: e.Status.String(), Caller: e.Caller,
		Started: e.Started, Timestamp: e.Timestamp, Duration: durationOf(e), Progress: e.Progress, Message: e.Message,
		Parameters: e.Parameters, Result: e.Result, DryRun: e.DryRun,
	}
	if !e.Cause.IsRoot() {
		j.Cause = &e.Cause
	}
	if !e.Parent.IsRoot() {
		j.Parent = &e.Parent
	}
	if f := e.Failure; f != nil {
		j.Failure = &failureJSON{f.Code, f.Stage, f.Message, f.Retry, f.BlockedBy}
	}
	if s := e.Stop; s != nil {
		j.Stop = &stopJSON{s.Reason, s.By, s.Message, s.Answer.String()}
	}
	return j
}

// durationOf returns how long an execution took, or takes so far.
func durationOf(e *skill.Execution) string {
	if e.Started == 0 {
		return ""
	}
	return formatDuration(e.Timestamp.Sub(e.Started))
}

// printEnd prints how an execution has ended; its error is why it came to no good end.
func printEnd(cmd *cobra.Command, e *skill.Execution, format string) error {
	if tabular(format) {
		if e.Err() == nil {
			if e.DryRun {
				cmd.Printf("%s would be called with %s\n", visible(e.Skill.Entity()), jsonText(e.Parameters))
			} else if e.Result != nil {
				var text strings.Builder
				enc := json.NewEncoder(&text)
				enc.SetIndent("", "  ")
				if err := enc.Encode(e.Result); err != nil {
					return err
				}
				cmd.Print(text.String())
			}
		}
		if terminalWidth(cmd.ErrOrStderr()) > 0 {
			cmd.PrintErrf("%s after %s\n", e.Status, durationOf(e))
		}
	} else if err := printObject(cmd.OutOrStdout(), format, executionObject(e)); err != nil {
		return err
	}
	return e.Err()
}
