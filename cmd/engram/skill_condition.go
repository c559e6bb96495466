package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

func newSkillCondition() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "condition",
		Short: "Have a skill run when something is fulfilled",
		Long: `A condition is a standing query that runs a skill: when something is written that it waits for, and
all else that it asks for holds at present.`,
	}
	cmd.AddCommand(newConditionSet(), newConditionLs(), newConditionShow(), newConditionRm(), newConditionSwitch("enable", true), newConditionSwitch("disable", false))
	return cmd
}

func newConditionSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME TEXT…",
		Short: "Set a condition, or change it",
		Long: `Sets a condition by its text:

  on PATTERN [where CEL] [while CLAUSE {and CLAUSE}] run SKILL [with NAME=VALUE …]
      [edge|level|update] [debounce DURATION] [once per entity|MEMBER] [priority N]

A clause says some, none or all (some if it is not said), and one of
  PATTERN [fresh DURATION] [where CEL]           the newest state of entities
  PATTERN within N m of ITEM [where CEL]         by their poses
  ITEMS within N m of ITEM, ITEMS on|in ITEM     of the world; kind:K, class:C, ~regex, a name
  ask QUESTION                                   as in engram ask
In parameters and clauses $entity is the entity that was written; parameters take $update.MEMBER,
$id, $provider, $time and $confidence, too.`,
		Example: `  engram skill condition set grasp-cup 'on Object/Instance/*/~cup.* where confidence > 0.8
      while $entity on table and none kind:person within 1 m of robot
      run Grasp with object=$entity once per entity'`,
		Args: positional(cobra.MinimumNArgs(2)),
	}
	cmd.Flags().String("description", "", "what it is for")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := condition.Parse(strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		c.Description, _ = cmd.Flags().GetString("description")
		return withSkills(cmd, func(m *client.Client, memory string) error {
			all, err := readConditions(cmd, m, memory, true)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(all, func(s setCondition) bool { return s.name() == args[0] }); i >= 0 {
				c.Since = all[i].Since
				if all[i].Removed { // what a condition of the name did before it was removed does not count
					c.Since = engram.Now()
				}
			}
			if err := condition.Set(cmd.Context(), m, memory, skillCaller(cmd), args[0], c); err != nil {
				return err
			}
			if offers, err := skill.Offers(cmd.Context(), m, memory); err == nil && c.Enabled {
				if _, err := findOffer(offers, c.Skill); err != nil { // whoever offers it may come yet
					cmd.PrintErrf("engram: it is set, and runs nothing until somebody offers the skill: %s\n", visible(err.Error()))
				}
			}
			return nil
		})
	}
	return cmd
}

// setCondition is a condition with its snapshot.
type setCondition struct {
	*condition.Condition
	ID engram.ID
}

func (s setCondition) name() string { return s.ID.Entity() }

func (s setCondition) state() string {
	switch {
	case s.Stopped != "":
		return "stopped"
	case !s.Enabled:
		return "disabled"
	case s.Problem != "":
		return "problem"
	}
	return "enabled"
}

// readConditions returns the conditions of a memory by name; of two of one name the one set later.
func readConditions(cmd *cobra.Command, m engram.Service, memory string, removed bool) ([]setCondition, error) {
	def, err := m.Type(cmd.Context(), condition.TypeName)
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	p, err := engram.ParsePattern(memory + "/Condition")
	if err != nil {
		return nil, err
	}
	r, err := m.Query(cmd.Context(), p.Select(engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	newest := map[string]engram.Item{}
	for it := range r.All() {
		if was, ok := newest[it.ID.Entity()]; !ok || was.Snapshot.Time < it.Snapshot.Time {
			newest[it.ID.Entity()] = it
		}
	}
	var all []setCondition
	for _, it := range newest {
		v, err := t.Decode(it.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			return nil, err
		}
		c, err := condition.Decode(v)
		if err != nil {
			return nil, err
		}
		if !c.Removed || removed {
			all = append(all, setCondition{c, it.ID})
		}
	}
	slices.SortFunc(all, func(a, b setCondition) int { return cmp.Compare(a.name(), b.name()) })
	return all, nil
}

// findCondition returns a condition by its name.
func findCondition(cmd *cobra.Command, m engram.Service, memory, name string) (setCondition, error) {
	all, err := readConditions(cmd, m, memory, false)
	if err != nil {
		return setCondition{}, err
	}
	var names []string
	for _, s := range all {
		if s.name() == name {
			return s, nil
		}
		names = append(names, s.name())
	}
	if near := spelling.Nearest(name, names); near != "" {
		return setCondition{}, engram.Errorf(engram.NotFound, name, "there is no such condition; did you mean %s?", near)
	}
	return setCondition{}, engram.Errorf(engram.NotFound, name, "there is no such condition; 'engram skill condition ls' lists them")
}

func completeConditions(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = withSkills(cmd, func(m *client.Client, memory string) error { // without a server there is nothing to complete
			all, err := readConditions(cmd, m, memory, false)
			for _, s := range all {
				if strings.HasPrefix(s.name(), typed) {
					found = append(found, s.name())
				}
			}
			return err
		})
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// conditionJSON is a condition as it is printed.
type conditionJSON struct {
	Name        string      `json:"name"`
	State       string      `json:"state"`
	Skill       string      `json:"skill"`
	Text        string      `json:"text"`
	Description string      `json:"description,omitempty"`
	By          string      `json:"by"`
	Set         engram.Time `json:"set"`
	Stopped     string      `json:"stopped,omitempty"`
	Problem     string      `json:"problem,omitempty"`
}

func (s setCondition) object() conditionJSON {
	at, _ := s.ID.Time()
	return conditionJSON{s.name(), s.state(), s.Skill, s.String(), s.Description, s.By, at, s.Stopped, s.Problem}
}

func newConditionLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List conditions, whether they are watched for, and why not",
		Args:    positional(cobra.NoArgs),
		Example: "  engram skill condition ls -o json",
	}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			all, err := readConditions(cmd, m, memory, false)
			if err != nil {
				return err
			}
			if len(all) == 0 && format == "table" {
				cmd.PrintErrln("there are no conditions; 'engram skill condition set' sets one")
				return nil
			}
			t := &table{header: []string{"CONDITION", "STATE", "SKILL", "ON", "SET BY", "WHY"}}
			objects := []conditionJSON{}
			for _, s := range all {
				t.add(s.name(), s.state(), s.Skill, s.On, s.By, cmp.Or(s.Stopped, s.Problem))
				objects = append(objects, s.object())
			}
			return print(cmd.OutOrStdout(), format, t, objects)
		})
	})
	return cmd
}

func newConditionShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Print a condition's text and state",
		Args:              positional(cobra.ExactArgs(1)),
		Example:           "  engram skill condition show grasp-cup",
		ValidArgsFunction: completeConditions,
	}
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			s, err := findCondition(cmd, m, memory, args[0])
			if err != nil {
				return err
			}
			if !tabular(format) {
				return printObject(cmd.OutOrStdout(), format, s.object())
			}
			cmd.Println(visible(s.String()))
			at, _ := s.ID.Time()
			cmd.Printf("%s, set by %s at %s\n", s.state(), visible(s.By), formatSeconds(at))
			for _, why := range []string{s.Description, s.Stopped, s.Problem} {
				if why != "" {
					cmd.Println(visible(why))
				}
			}
			return nil
		})
	})
	return cmd
}

func newConditionRm() *cobra.Command {
	return changeCondition(&cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a condition; what it runs goes on",
		Example: "  engram skill condition rm grasp-cup",
	}, func(c *condition.Condition) { c.Removed, c.Enabled = true, false })
}

func newConditionSwitch(word string, enabled bool) *cobra.Command {
	return changeCondition(&cobra.Command{
		Use:     word + " NAME",
		Short:   map[bool]string{true: "Watch for a condition again", false: "Do not watch for a condition any more"}[enabled],
		Example: "  engram skill condition " + word + " grasp-cup",
	}, func(c *condition.Condition) { c.Enabled, c.Stopped = enabled, "" })
}

// changeCondition has a command write a condition as change changes it.
func changeCondition(cmd *cobra.Command, change func(*condition.Condition)) *cobra.Command {
	cmd.Args = positional(cobra.ExactArgs(1))
	cmd.ValidArgsFunction = completeConditions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			s, err := findCondition(cmd, m, memory, args[0])
			if err != nil {
				return err
			}
			change(s.Condition)
			return condition.Set(cmd.Context(), m, memory, skillCaller(cmd), args[0], s.Condition)
		})
	}
	return cmd
}
