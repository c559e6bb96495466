package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/skill"
)

func newSkillShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show SKILL|EXECUTION",
		Short: "All that is known of a skill or of an execution",
		Long: `Of a skill: what it does, who provides it, what it takes and returns, what it needs, and its last
executions. Of an execution: caller, cause, parameters, result or failure, the time of each phase,
the executions that it called, and all its changes.

A name that a skill and an execution have is the skill's; write Skill/Execution/PROVIDER/NAME for
the other one.`,
		Example: `  engram skill show Arm/Wave
  engram skill show Arm/Wave-9bkkzr8qo0vu
  engram skill show Arm/Wave -o json`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeSkillsAndExecutions,
	}
	cmd.Flags().Int("latest", 10, "of a skill, the latest N executions; 0 is all")
	addOutputFormats(cmd, []string{"text", "json", "ndjson", "yaml"})
	printing(cmd, skillShow)
	return cmd
}

func skillShow(cmd *cobra.Command, args []string, format string) error {
	latest, _ := cmd.Flags().GetInt("latest")
	if latest < 0 {
		return usagef("--latest %d: 0 or more", latest)
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	offer, timeline, err := skillOrExecution(cmd.Context(), m, skills, args[0])
	if err != nil {
		return err
	}
	if offer == nil {
		return showExecution(cmd, skills, timeline, format)
	}
	s, err := readSkill(cmd.Context(), m, skills, offer, latest)
	if err != nil {
		return err
	}
	if format != "text" {
		return printObject(cmd.OutOrStdout(), format, s.object())
	}
	return s.print(cmd.OutOrStdout())
}

// The segments that names of skills and of executions are short for.
const (
	descriptions = "Skill/Description/"
	executions   = "Skill/Execution/"
)

// skillOrExecution returns the skill that an argument names, or else the timeline of the execution.
func skillOrExecution(ctx context.Context, m *client.Client, skills *skill.Skills, arg string) (*skill.Offer, []*skill.Execution, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, descriptions), executions)
	id, err := engram.Parse(descriptions + name)
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	id = id.Truncate(min(id.Level(), engram.LevelEntity)) // one that was copied may have a time
	whole := id.Level() == engram.LevelEntity
	if whole && !strings.HasPrefix(arg, executions) {
		offers, err := skills.Offers(ctx, engram.PatternOf(id))
		if err != nil {
			return nil, nil, err
		}
		if len(offers) == 1 {
			return offers[0], nil, nil
		}
	}
	if whole && !strings.HasPrefix(arg, descriptions) {
		timeline, err := skills.Timeline(ctx, executionOf(id))
		if engram.CodeOf(err) != engram.NotFound {
			return nil, timeline, err
		}
	}
	hint := "'engram skill ls' lists skills, 'engram skill history' executions"
	if near := nearSkill(ctx, m, name, descriptions, executions); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, nil, engram.Errorf(engram.NotFound, name, "there is no such skill or execution; %s", hint)
}

// nearSkill returns the name in some segments that is most like one that is not there, as people type it: of the same provider,
// if there is that. Empty if none is like it, or the names cannot be had.
func nearSkill(ctx context.Context, m engram.Statistician, name string, segments ...string) string {
	provider, entity, _ := strings.Cut(name, "/")
	own, all := spelling.NewSearch(entity), spelling.NewSearch(name)
	nearOwn, nearAll := "", ""
	for _, segment := range segments {
		nodes, _ := m.Stats(ctx, engram.MustPattern(strings.TrimSuffix(segment, "/")), engram.LevelEntity) // for a hint only
		for _, n := range nodes {
			switch {
			case n.ID.Level() != engram.LevelEntity:
			case entity != "" && n.ID.ProviderSegment() == provider:
				if own.Offer(n.ID.Entity()) {
					nearOwn = shortSkill(n.ID)
				}
			case all.Offer(shortSkill(n.ID)):
				nearAll = shortSkill(n.ID)
			}
		}
	}
	return cmp.Or(nearOwn, nearAll)
}

// withNear adds to an error of a name that is not there the one that is most like it.
func withNear(ctx context.Context, m engram.Statistician, err error, id engram.ID) error {
	if engram.CodeOf(err) != engram.NotFound {
		return err
	}
	name := shortSkill(id)
	if near := nearSkill(ctx, m, name, id.Memory()+"/"+id.CoreSegment()); near != "" && near != name {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// executionOf returns the execution that has a skill's provider and name.
func executionOf(id engram.ID) engram.ID {
	return engram.MustID(executions + shortSkill(id))
}

// parseExecution reads an execution as PROVIDER/NAME, or as its ID.
func parseExecution(arg string) (engram.ID, error) {
	return parseIn(executions, arg, "name an execution as PROVIDER/NAME; 'engram skill history' lists them")
}

// parseIn reads an entity of a core segment by its names below that, or by its ID; how says how it is named.
func parseIn(segment, arg, how string) (engram.ID, error) {
	id, err := engram.Parse(segment + strings.TrimPrefix(arg, segment))
	if err != nil || id.Level() != engram.LevelEntity {
		return id, usagef("%s: %s", arg, how)
	}
	return id, nil
}

// completeSkillsAndExecutions completes the names of skills and executions, of the newest ones.
func completeSkillsAndExecutions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	m, skills, err := openSkills(cmd)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	names := skillNames(cmd.Context(), skills)
	all, _ := skills.Executions(cmd.Context(), engram.MustPattern("Skill/Execution"), engram.Latest(1))
	for _, e := range all[max(0, len(all)-mostCompleted):] {
		names = append(names, shortSkill(e.ID)+"\t"+e.Status.String())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// mostCompleted bounds the executions that a shell completes.
const mostCompleted = 100

// block prints lines with a name and a value for people, until an error.
type block struct {
	w    io.Writer
	last string // name
	err  error
}

// head prints what the lines are of.
func (b *block) head(name, what string) {
	b.err = cmp.Or(b.err, printWhole(b.w, span{bright, name}))
	if what != "" && b.err == nil {
		b.err = printFolded(b.w, []span{{text: "  "}}, span{text: what})
	}
}

// line prints a value that is not empty. The name stands once where several have the same.
func (b *block) line(name, value string, s style) {
	if value == "" || b.err != nil {
		return
	}
	shown := name
	if name == b.last {
		shown = ""
	}
	b.last = name
	b.err = printFolded(b.w, []span{{faint, fmt.Sprintf("  %-12s ", shown)}}, span{s, value})
}

// table prints a table behind an empty line, if it has rows. JSON has all of it.
func (b *block) table(t *table) {
	if len(t.rows) == 0 || b.err != nil {
		return
	}
	t.whole = "json"
	if _, b.err = io.WriteString(b.w, "\n"); b.err == nil {
		b.err = t.write(b.w)
	}
}
