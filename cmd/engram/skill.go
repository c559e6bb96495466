package main

import (
	"cmp"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill"
)

func newSkill() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Run what the robot can do, stop it, and have it done when something happens",
		Long: `Lists and runs skills, follows and stops their executions, and sets conditions: standing
queries that run a skill when they are fulfilled. docs/skills.md explains the ideas.`,
	}
	skillFlags(cmd.PersistentFlags())
	cmd.AddCommand(newSkillLs(), newSkillShow(), newSkillRun(), newSkillAbort(), newSkillWatch(), newSkillSwitch("enable", true),
		newSkillSwitch("disable", false), newSkillHistory(), newSkillCondition(), newSkillScript())
	return cmd
}

// skillFlags adds the flags of who asks where.
func skillFlags(f *pflag.FlagSet) {
	f.String("memory", skill.Memory, "where the skills are; robot1:Skill is another robot's")
	f.String("caller", "", "who asks (default: the user's name)")
}

// skillMemory returns where the skills are.
func skillMemory(cmd *cobra.Command) string {
	memory, _ := cmd.Flags().GetString("memory")
	return cmp.Or(memory, skill.Memory)
}

// skillCaller returns who asks.
func skillCaller(cmd *cobra.Command) string {
	caller, _ := cmd.Flags().GetString("caller")
	if u, err := user.Current(); caller == "" && err == nil {
		caller = u.Username
	}
	return cmp.Or(caller, "operator")
}

// withSkills calls f with a connection and the memory's name.
func withSkills(cmd *cobra.Command, f func(m *client.Client, memory string) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(m, skillMemory(cmd))
}

// findOffer returns the skill of a name, or of provider/name; of several providers the one in service.
func findOffer(offers []*skill.Offer, name string) (*skill.Offer, error) {
	var found *skill.Offer
	now := engram.Now()
	var names []string
	for _, o := range offers {
		names = append(names, o.ID.Entity())
		if name != o.ID.Entity() && name != o.ID.ProviderSegment()+"/"+o.ID.Entity() {
			continue
		}
		if found == nil || found.State(now) != "in service" && o.State(now) == "in service" {
			found = o
		}
	}
	if found == nil {
		return nil, skill.Unknown(name, names)
	}
	return found, nil
}

// completeSkills completes names of skills.
func completeSkills(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = withSkills(cmd, func(m *client.Client, memory string) error { // without a server there is nothing to complete
		all, err := skill.Descriptions(cmd.Context(), m, memory)
		names := map[string]bool{}
		for id := range all {
			if strings.HasPrefix(id.Entity(), typed) {
				names[id.Entity()] = true
			}
		}
		found = slices.Sorted(maps.Keys(names))
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

func newSkillSwitch(word string, enabled bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:               word + " SKILL",
		Short:             map[bool]string{true: "Allow a skill to be run again", false: "Forbid a skill; what runs is stopped"}[enabled],
		Example:           "  engram skill " + word + " Grasp --reason 'the gripper is " + map[bool]string{true: "clean again", false: "dirty"}[enabled] + "'",
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeSkills,
	}
	cmd.Flags().String("reason", "", "why, for people")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		reason, _ := cmd.Flags().GetString("reason")
		return withSkills(cmd, func(m *client.Client, memory string) error {
			return skill.Enable(cmd.Context(), m, memory, args[0], enabled, skillCaller(cmd), reason)
		})
	}
	return cmd
}

func newSkillLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List skills, who offers them, and whether they can be run",
		Args:    positional(cobra.NoArgs),
		Example: "  engram skill ls -o json",
	}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			offers, err := skill.Offers(cmd.Context(), m, memory)
			if err != nil {
				return err
			}
			if len(offers) == 0 && format == "table" {
				cmd.PrintErrln("there are no skills; programs offer them (docs/skills.md), and 'engram skill script' does")
				return nil
			}
			t := &table{header: []string{"SKILL", "PROVIDER", "STATE", "RESOURCES", "DESCRIPTION"}}
			all := []skillJSON{}
			for _, o := range offers {
				t.add(o.ID.Entity(), o.ID.ProviderSegment(), o.State(engram.Now()), strings.Join(o.Resources, " "), o.Description.Description)
				all = append(all, offerObject(o))
			}
			return print(cmd.OutOrStdout(), format, t, all)
		})
	})
	return cmd
}

// skillJSON is a skill as it is printed.
type skillJSON struct {
	Skill       string            `json:"skill"`
	Provider    string            `json:"provider"`
	State       string            `json:"state"`
	Description string            `json:"description"`
	Resources   []string          `json:"resources,omitempty"`
	Timeout     string            `json:"timeout,omitempty"`
	StopTimeout string            `json:"stop_timeout,omitempty"`
	Expected    string            `json:"expected_duration,omitempty"`
	Priority    int32             `json:"priority,omitempty"`
	Parameters  []skill.Parameter `json:"parameters,omitempty"`
	Result      string            `json:"result_type,omitempty"`
	Conditions  []string          `json:"conditions,omitempty"`
	ID          engram.ID         `json:"id"`
}

func offerObject(o *skill.Offer) skillJSON {
	j := skillJSON{
		Skill: o.ID.Entity(), Provider: o.ID.ProviderSegment(), State: o.State(engram.Now()), Description: o.Description.Description,
		Resources: o.Resources, Priority: o.Priority, Result: o.ResultType, ID: o.ID,
	}
	shown := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return formatDuration(d)
	}
	j.Timeout, j.Expected, j.StopTimeout = shown(o.Timeout), shown(o.ExpectedDuration), shown(o.StopWithin())
	for _, c := range o.Conditions {
		j.Conditions = append(j.Conditions, c.Name)
	}
	return j
}

func newSkillShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show SKILL",
		Short:             "Print what a skill does, takes and gives",
		Args:              positional(cobra.ExactArgs(1)),
		Example:           "  engram skill show Grasp",
		ValidArgsFunction: completeSkills,
	}
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return withSkills(cmd, func(m *client.Client, memory string) error {
			offers, err := skill.Offers(cmd.Context(), m, memory)
			if err != nil {
				return err
			}
			o, err := findOffer(offers, args[0])
			if err != nil {
				return err
			}
			j := offerObject(o)
			if j.Parameters, err = skill.ParametersOf(cmd.Context(), m, o.Description); err != nil {
				return err
			}
			if !tabular(format) {
				return printObject(cmd.OutOrStdout(), format, j)
			}
			t := &table{header: []string{"PARAMETER", "TYPE", "DEFAULT", "MAY NAME", "WHAT IT IS"}}
			for _, p := range j.Parameters {
				given := ""
				if p.Default != nil {
					given = jsonText(p.Default)
				}
				t.add(p.Name, p.Type, given, p.Names, p.Doc)
			}
			if format == "table" {
				cmd.Printf("%s/%s: %s\n", j.Provider, j.Skill, cmp.Or(j.Description, "no description"))
				for _, line := range [][2]string{
					{"state", j.State}, {"resources", strings.Join(j.Resources, ", ")}, {"time limit", j.Timeout}, {"takes about", j.Expected},
					{"stops within", j.StopTimeout}, {"result", j.Result}, {"conditions", strings.Join(j.Conditions, ", ")},
				} {
					if line[1] != "" {
						cmd.Printf("  %-13s %s\n", line[0], line[1])
					}
				}
				if len(j.Parameters) == 0 {
					return nil
				}
			}
			return print(cmd.OutOrStdout(), format, t, []skillJSON{j})
		})
	})
	return cmd
}

// jsonText returns a value as JSON on one line.
func jsonText(v any) string {
	j, err := marshalJSON(v)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(j))
}
