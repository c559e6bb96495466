package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

func newAuthRule() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rule",
		Short: "What identities may do",
		Long: `Changes the file of rules. As long as there is no rule, every identity may do
everything; from the first one on, what no rule allows is denied. A rule that denies
counts more than all that allow. Servers read the file again as soon as it changes.`,
	}
	cmd.AddCommand(newAuthRuleAdd(), newAuthRuleLs(), newAuthRuleRemove())
	return cmd
}

// readRules reads the file of rules.
func readRules(cmd *cobra.Command) (file string, t *access.Table, err error) {
	if file, err = rulesFile(cmd); err != nil {
		return "", nil, err
	}
	text, err := access.ReadFile(file, true)
	if err != nil {
		return file, nil, err
	}
	p, err := access.Parse(text)
	if err == nil {
		t, err = access.Compile(p)
	}
	if err != nil {
		err = inFile(file, err)
	}
	return file, t, err
}

func inFile(file string, err error) error { return engram.Errorf(engram.CodeOf(err), file, "%w", err) }

// parseActions reads actions that are separated by commas.
func parseActions(text string) (access.Actions, error) {
	var all access.Actions
	for name := range strings.SplitSeq(text, ",") {
		a, err := access.ParseAction(strings.TrimSpace(name))
		if err != nil {
			return 0, usagef("%w", err)
		}
		all |= a
	}
	return all, nil
}

func newAuthRuleAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add allow|deny ACTIONS",
		Short: "Allow identities something, or deny it",
		Long: `Adds a rule. ACTIONS are read, write, subscribe and admin, separated by commas, or all;
or forward alone, for servers that hand on the calls of others. Patterns are those of
queries; '*' in an identity stands for any characters. Users of the server's computer
are uid:N, who comes without a certificate is anonymous.`,
		Example: `  engram auth rule add allow read,subscribe --to planner --on Object
  engram auth rule add allow all --to 'robot1*' --on '*'
  engram auth rule add deny read --to 'guest*' --on 'Vision/*/Bedroom'
  engram auth rule add allow forward --to base`,
		Args: positional(cobra.ExactArgs(2)),
	}
	cmd.Flags().StringArray("to", nil, "identity; may be repeated")
	cmd.Flags().StringArray("on", nil, "pattern of what it is about, with all below it; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := access.Rule{}
		switch args[0] {
		case "allow":
		case "deny":
			r.Deny = true
		default:
			return usagef("%s: a rule says allow or deny", args[0])
		}
		var err error
		if r.Actions, err = parseActions(args[1]); err != nil {
			return err
		}
		r.To, _ = cmd.Flags().GetStringArray("to")
		patterns, _ := cmd.Flags().GetStringArray("on")
		for _, text := range patterns {
			p, err := engram.ParsePattern(text)
			if err != nil {
				return usagef("--on: %w", err)
			}
			r.On = append(r.On, p)
		}
		switch {
		case len(r.To) == 0:
			return usagef("--to: say whom the rule is about; --to '*' is everyone")
		case len(r.On) == 0 && r.Actions != access.Forward:
			return usagef("--on: say what the rule is about; --on '*' is everything")
		}
		if err := r.Check(); err != nil {
			return usagef("%w", err)
		}
		if err := editRules(cmd, func(text []byte) ([]byte, error) { return access.AddRule(text, r) }); err != nil {
			return err
		}
		cmd.Printf("added: %s\n", visible(r.String()))
		return nil
	}
	return cmd
}

// accessRuleJSON is a rule as auth rule ls prints it.
type accessRuleJSON struct {
	Line    int      `json:"line"`
	Effect  string   `json:"effect"`
	Actions string   `json:"actions"`
	To      []string `json:"to"`
	On      []string `json:"on,omitempty"`
}

func newAuthRuleLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the rules",
		Args:  positional(cobra.NoArgs),
	}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		_, t, err := readRules(cmd)
		if err != nil {
			return err
		}
		if t.Open() && format == "table" {
			cmd.PrintErrln("There are no rules: every identity may do everything.")
		}
		out := &table{header: []string{"LINE", "EFFECT", "ACTIONS", "TO", "ON"}}
		var objects []accessRuleJSON
		for _, r := range t.Policy().Rules {
			on := r.Patterns()
			out.add(strconv.Itoa(r.Line), r.Effect(), r.Actions.String(), strings.Join(r.To, ", "), visible(strings.Join(on, ", ")))
			objects = append(objects, accessRuleJSON{r.Line, r.Effect(), r.Actions.String(), r.To, on})
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
	return cmd
}

func newAuthRuleRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove LINE",
		Short: "Remove a rule, by the line that 'engram auth rule ls' shows",
		Args:  positional(cobra.ExactArgs(1)),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		line, err := strconv.Atoi(args[0])
		if err != nil || line < 1 {
			return usagef("%s: the line of a rule, as 'engram auth rule ls' shows it", args[0])
		}
		last := false
		err = editRules(cmd, func(text []byte) ([]byte, error) {
			p, err := access.Parse(text)
			if err != nil {
				return nil, err
			}
			last = len(p.Rules) == 1
			return access.RemoveRule(text, line)
		})
		// The last rule that allows somebody something must not go unnoticed: without any
		// rule everyone may do everything.
		if err == nil && last {
			cmd.PrintErrln("That was the last rule: every identity may do everything now.")
		}
		return err
	}
	return cmd
}

// decisionJSON is what auth check prints.
type decisionJSON struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
}

func newAuthCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check IDENTITY ACTIONS [ID]",
		Short: "Say whether an identity may do something, and by which rule",
		Long: `Answers by the file of rules, without asking a server. Without an ID it is about
everything. It ends with exit code 1 if the answer is no.`,
		Example: `  engram auth check planner read Object/Instance/Vision/cup
  engram auth check base forward`,
		Args: positional(cobra.RangeArgs(2, 3)),
	}
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		actions, err := parseActions(args[1])
		if err != nil {
			return err
		}
		var id engram.ID
		if len(args) == 3 {
			if id, err = engram.Parse(args[2]); err != nil {
				return usagef("%w", err)
			}
		}
		file, t, err := readRules(cmd)
		if err != nil {
			return err
		}
		d := t.Decide(access.Identity(args[0]), actions, id)
		answer := decisionJSON{Allowed: d.Allowed, Why: d.Why}
		if d.Rule != nil {
			answer.Rule, answer.Line = d.Rule.String(), d.Rule.Line
		}
		if format == "table" {
			verdict := "no"
			if d.Allowed {
				verdict = "yes"
			}
			cmd.Printf("%s: %s\n", verdict, d.Why)
			if d.Rule != nil {
				cmd.Printf("%s:%d: %s\n", file, d.Rule.Line, visible(answer.Rule))
			}
		} else if err := printObject(cmd.OutOrStdout(), format, answer); err != nil {
			return err
		}
		if !d.Allowed {
			return engram.Errorf(engram.Forbidden, args[0], "may not do this")
		}
		return nil
	})
	return cmd
}
