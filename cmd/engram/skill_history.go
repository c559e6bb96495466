package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill"
)

func newSkillHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "history [SKILL]",
		Short:             "List executions, how long they took, and why they failed",
		Args:              positional(cobra.MaximumNArgs(1)),
		Example:           "  engram skill history Grasp --failed --last 20",
		ValidArgsFunction: completeSkills,
	}
	f := cmd.Flags()
	f.Int("last", 50, "the newest N only; 0 is all")
	f.Bool("failed", false, "only those that failed or were aborted")
	f.Bool("running", false, "only those that have not ended")
	printing(cmd, skillHistory)
	return cmd
}

func skillHistory(cmd *cobra.Command, args []string, format string) error {
	f := cmd.Flags()
	last, _ := f.GetInt("last")
	failed, _ := f.GetBool("failed")
	running, _ := f.GetBool("running")
	return withSkills(cmd, func(m *client.Client, memory string) error {
		all, err := skill.Executions(cmd.Context(), m, memory, func(e *skill.Execution) bool {
			return (len(args) == 0 || isSkill(e, args[0])) && (!failed || e.Err() != nil) && (!running || !e.Status.Ended())
		})
		if err != nil {
			return err
		}
		if last > 0 {
			all = all[max(0, len(all)-last):]
		}
		if len(all) == 0 && format == "table" {
			cmd.PrintErrln("there is no such execution")
			return nil
		}
		t := &table{header: []string{"STARTED", "SKILL", "CALLER", "STATUS", "DURATION", "EXECUTION", "MESSAGE"}, right: []bool{false, false, false, false, true}}
		objects := []executionJSON{}
		for _, e := range all {
			t.add(e.Started, e.Skill.Entity(), e.Caller, e.Status, durationOf(e), e.ID.ProviderSegment()+"/"+e.ID.Entity(), endMessage(e))
			objects = append(objects, executionObject(e))
		}
		return print(cmd.OutOrStdout(), format, t, objects)
	})
}

// endMessage says why an execution failed or was stopped, or what it does.
func endMessage(e *skill.Execution) string {
	switch {
	case e.Failure != nil:
		return e.Failure.Code + ": " + e.Failure.Error()
	case e.Stop != nil:
		return strings.TrimSuffix(fmt.Sprintf("%s, %s: %s", e.Stop.Reason, strings.ToLower(e.Stop.Answer.String()), e.Stop.Message), ": ")
	}
	return e.Message
}

func isSkill(e *skill.Execution, name string) bool {
	return name == e.Skill.Entity() || name == e.Skill.ProviderSegment()+"/"+e.Skill.Entity()
}

// executionID reads what names an execution: an ID, caller/name, or the skill whose only execution it is that
// has not ended.
func executionID(ctx context.Context, m engram.Service, memory, text string) (engram.ID, error) {
	if id, err := engram.Parse(text); err == nil && id.Level() >= engram.LevelEntity {
		return id, nil
	}
	found, err := skill.Executions(ctx, m, memory, func(e *skill.Execution) bool {
		return text == e.ID.ProviderSegment()+"/"+e.ID.Entity() || text == e.ID.Entity() || isSkill(e, text) && !e.Status.Ended()
	})
	switch {
	case err != nil:
		return engram.ID{}, err
	case len(found) == 0:
		return engram.ID{}, engram.Errorf(engram.NotFound, text, "there is no execution of this name, nor one of such a skill that has not ended")
	case len(found) > 1:
		return engram.ID{}, engram.Errorf(engram.Conflict, text, "there are %d such executions; name one, such as %s", len(found), found[0].ID.Truncate(engram.LevelEntity))
	}
	return found[0].ID.Truncate(engram.LevelEntity), nil
}

func newSkillAbort() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "abort EXECUTION|SKILL",
		Short: "Stop an execution, and wait until it is confirmed that all stands still",
		Long: `Stops an execution, or that of a skill which has not ended; several of one skill must be named.
The exit code is 0 if it is confirmed that all stands still, and not if the provider refused or
did not answer: then it may still move. What that holds stays locked until it begins anew or, if
nothing more is heard of it, must have stopped by itself: its lease and its time to stop have passed.`,
		Example: `  engram skill abort Grasp
  engram skill abort Skill/Execution/anna/f3k2 --reason 'somebody is in the way'`,
		Args: positional(cobra.ExactArgs(1)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			_ = withSkills(cmd, func(m *client.Client, memory string) error { // without a server there is nothing to complete
				all, err := skill.Executions(cmd.Context(), m, memory, func(e *skill.Execution) bool { return !e.Status.Ended() })
				for _, e := range all {
					if id := e.ID.Truncate(engram.LevelEntity).String(); strings.HasPrefix(id, typed) {
						found = append(found, id)
					}
				}
				return err
			})
			return found, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().String("reason", "", "why, for people")
	cmd.Flags().Duration("wait", 30*time.Second, "how long to wait for the answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		reason, _ := cmd.Flags().GetString("reason")
		wait, _ := cmd.Flags().GetDuration("wait")
		return withSkills(cmd, func(m *client.Client, memory string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), wait)
			defer cancel()
			id, err := executionID(ctx, m, memory, args[0])
			if err != nil {
				return err
			}
			x, err := skill.Follow(m, id)
			if err != nil {
				return err
			}
			answer, err := x.AbortAs(ctx, skillCaller(cmd), skill.ReasonOperator, reason)
			if err != nil {
				return err
			}
			cmd.Println(answerText(answer))
			if answer != skill.Confirmed {
				return fmt.Errorf("the abort of %s is %s", id, strings.ToLower(answer.String()))
			}
			return nil
		})
	}
	return cmd
}

func newSkillWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [SKILL|EXECUTION]",
		Short: "Print what executions do as it happens",
		Args:  positional(cobra.MaximumNArgs(1)),
		Example: `  engram skill watch
  engram skill watch Grasp -o ndjson`,
		ValidArgsFunction: completeSkills,
	}
	addOutputFormats(cmd, streamFormats)
	cmd.Flags().Int("count", 0, "end after so many lines")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		count, _ := cmd.Flags().GetInt("count")
		return withSkills(cmd, func(m *client.Client, memory string) error {
			p, err := engram.ParsePattern(memory + "/Execution")
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
				if id, err := engram.Parse(name); err == nil && id.Level() >= engram.LevelEntity {
					p, name = engram.PatternOf(id.Truncate(engram.LevelEntity)), ""
				}
			}
			return watchExecutions(cmd, m, p, name, count, format)
		})
	})
	return cmd
}

func watchExecutions(cmd *cobra.Command, m *client.Client, p engram.Pattern, name string, count int, format string) error {
	ctx := cmd.Context()
	types, err := skill.LoadTypes(ctx, m)
	if err != nil {
		return err
	}
	stream, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{p}, WithData: true})
	if err != nil {
		return err
	}
	seen := 0
	for u, err := range engram.Updates(ctx, stream) {
		if err != nil {
			if engram.CodeOf(err) == engram.Canceled {
				return nil // the user ended it
			}
			return err
		}
		if u.Snapshot == nil {
			continue
		}
		e := &skill.Execution{}
		if err := types.Decode(u.Snapshot.Instances[0].Payload, e); err != nil {
			return err
		}
		if e.ID = u.ID; name != "" && !isSkill(e, name) {
			continue
		}
		if format != "table" {
			if err := printObject(cmd.OutOrStdout(), format, executionObject(e)); err != nil {
				return err
			}
		} else {
			done := ""
			if e.Progress > 0 {
				done = fmt.Sprintf(" %3.0f %%", 100*e.Progress)
			}
			line := fmt.Sprintf("%s  %-12s%s  %s  %s/%s  %s", e.Timestamp.Std().Format("15:04:05.000"), e.Status, done, e.Skill.Entity(), e.ID.ProviderSegment(), e.ID.Entity(), endMessage(e))
			cmd.Println(visible(strings.TrimRight(line, " ")))
		}
		if seen++; seen == count {
			return nil
		}
	}
	return nil
}
