package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

func newSkillCondition() *cobra.Command {
	cmd := &cobra.Command{Use: "condition", Short: "Have skills executed when something is so"}
	cmd.AddCommand(newConditionLs(), newConditionSet(), newConditionSwitch(true), newConditionSwitch(false))
	return cmd
}

func newConditionSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME SKILL [PARAMETER=VALUE…]",
		Short: "Have a skill executed when a condition is fulfilled, from now on",
		Long: `Adds or replaces a condition. It is fulfilled for each entity by itself that --on matches and
whose newest snapshot satisfies --where, while all terms hold. A term is written as

  [some|no] PATTERN [where CEL] [near METRES [of FRAME]] [within DURATION]

Some entity of the pattern must satisfy it, or none. Only what arrived so recently counts with
within; with near what is so near to the entity of --on, or to the origin of a frame of the robot.
Where a distance is not known the term does not hold. The trigger edge asks for the skill when the condition becomes fulfilled, each-update at
each update, level again as long as it is fulfilled when the execution has ended.`,
		Example: `  engram skill condition set greet Arm/Wave --on Speech/Text --where 'text.startsWith("hello")'
  engram skill condition set fetch Arm/Grasp --on 'Object/Instance/*/~cup.*' --where 'confidence > 0.8' \
    --all 'some Skill/Activity/Arm/idle' --all 'no Object/Instance/*/~person.* near 1 m within 5s' --from object='$name'`,
		Args:              positional(cobra.MinimumNArgs(2)),
		ValidArgsFunction: completeConditionSet,
	}
	f := cmd.Flags()
	f.String("on", "", "pattern of entities, such as Object/Instance/*/cup")
	f.String("where", "", "CEL expression over their updates")
	f.StringArray("all", nil, "a term that must hold, too")
	f.String("trigger", "edge", "edge, each-update or level")
	f.Duration("hold", 0, "how long it must be fulfilled before")
	f.Duration("pause", 0, "the least time between two requests for one entity")
	f.String("once-per", "", "a member of the update, or $entity: once for each of its values")
	f.StringArray("from", nil, "PARAMETER=MEMBER of the update, or $entity, $snapshot, $name")
	f.String("parameters", "", "parameters as a JSON object, @FILE or - for standard input")
	f.Int("priority", 0, "of what it asks for (default: the skill's)")
	f.Duration("patience", skill.DefaultPatience, "how long what it asks for may wait to be called; 0s is for ever")
	f.Duration("time-limit", 0, "how long that may take; 0s is for ever (default: the skill's)")
	f.String("caller", "", "whose condition it is (default: the user)")
	cmd.RunE = conditionSet
	return cmd
}

func conditionSet(cmd *cobra.Command, args []string) error {
	of, err := parseSkill(args[1])
	if err != nil {
		return err
	}
	f := cmd.Flags()
	w := skill.When{}
	w.On, _ = f.GetString("on")
	w.Where, _ = f.GetString("where")
	w.Hold, _ = f.GetDuration("hold")
	w.Pause, _ = f.GetDuration("pause")
	w.OncePer, _ = f.GetString("once-per")
	trigger, _ := f.GetString("trigger")
	if w.Trigger, err = condition.ParseTrigger(trigger); err != nil {
		return usagef("--trigger %w", err)
	}
	terms, _ := f.GetStringArray("all")
	for _, text := range terms {
		t, err := condition.ParseTerm(text)
		if err != nil {
			return usagef("--all: %w", err)
		}
		w.All = append(w.All, t)
	}
	from, _ := f.GetStringArray("from")
	for _, text := range from {
		name, path, ok := strings.Cut(text, "=")
		if !ok || name == "" || path == "" {
			return usagef("--from %s: write PARAMETER=MEMBER, such as object=$name", text)
		}
		if w.FromUpdate == nil {
			w.FromUpdate = map[string]string{}
		}
		w.FromUpdate[name] = path
	}
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ask, err := askFlags(cmd, m, skills, of, args[2:])
	if err != nil {
		return err
	}
	w.Skill, w.Parameters, w.Priority, w.Patience, w.TimeLimit = ask.Skill, ask.Parameters, ask.Priority, ask.Patience, ask.TimeLimit
	return skills.SetCondition(cmd.Context(), ask.Caller, args[0], w)
}

func completeConditionSet(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0: // a name of one's own
		return nil, cobra.ShellCompDirectiveNoFileComp
	case 1:
		return completeSkills(cmd, nil, typed)
	}
	return completeParameters(cmd, args[1], args[2:], typed)
}

func newConditionLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List conditions",
		Long: `Lists conditions. STATE is on; off, if somebody disabled it; or stopped, if the memory did, with
the reason: it was in a circle, or its filter cost too much.`,
		Example:           "  engram skill condition ls\n  engram skill condition ls -o json",
		Args:              positional(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	printing(cmd, conditionLs)
	return cmd
}

// conditionJSON is a condition as programs read it.
type conditionJSON struct {
	Condition  string            `json:"condition"`
	Skill      string            `json:"skill"`
	State      string            `json:"state"`
	On         string            `json:"on,omitempty"`
	Where      string            `json:"where,omitempty"`
	All        []string          `json:"all,omitempty"`
	Trigger    string            `json:"trigger"`
	Hold       string            `json:"hold,omitempty"`
	Pause      string            `json:"pause,omitempty"`
	OncePer    string            `json:"once_per,omitempty"`
	Parameters json.RawMessage   `json:"parameters,omitempty"`
	FromUpdate map[string]string `json:"from_update,omitempty"`
	Trouble    string            `json:"trouble,omitempty"`
}

// stateOf says in a word whether a condition is looked at.
func stateOf(c *skill.Condition) string {
	switch {
	case c.Trouble != "":
		return "stopped"
	case c.Disabled:
		return "off"
	}
	return "on"
}

func conditionLs(cmd *cobra.Command, _ []string, format string) error {
	m, skills, err := openSkills(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	all, err := skills.Conditions(cmd.Context())
	if err != nil {
		return err
	}
	t := &table{header: []string{"CONDITION", "SKILL", "STATE", "TRIGGER", "WHEN", "TROUBLE"}, spare: []string{"TRIGGER", "TROUBLE"}, folded: true}
	objects := []conditionJSON{}
	for _, c := range all {
		j := conditionObject(c)
		t.add(j.Condition, j.Skill, j.State, j.Trigger, whenText(c), c.Trouble)
		objects = append(objects, j)
	}
	if len(objects) == 0 {
		cmd.PrintErrln("engram: there is no condition; 'engram skill condition set' adds one")
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}

// whenText says what fulfils a condition.
func whenText(c *skill.Condition) string {
	var when []string
	if len(c.On.Levels) > 0 {
		on := condition.Term{Of: c.On, Where: c.Where}
		when = append(when, strings.TrimPrefix(on.String(), "some "))
	}
	for i := range c.All {
		when = append(when, c.All[i].String())
	}
	return strings.Join(when, "; ")
}

func conditionObject(c *skill.Condition) conditionJSON {
	j := conditionJSON{
		Condition: shortSkill(c.ID), Skill: shortSkill(c.Skill), State: stateOf(c), Where: c.Where, Trigger: c.Trigger.String(), OncePer: c.OncePer,
		FromUpdate: c.FromUpdate, Trouble: c.Trouble,
	}
	if len(c.On.Levels) > 0 {
		j.On = c.On.String()
	}
	for i := range c.All {
		j.All = append(j.All, c.All[i].String())
	}
	if c.Hold > 0 {
		j.Hold = c.Hold.String()
	}
	if c.Pause > 0 {
		j.Pause = c.Pause.String()
	}
	if c.Parameters != nil {
		j.Parameters = valueJSON(c.Parameters)
	}
	return j
}

func newConditionSwitch(on bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "disable CONDITION", Short: "Have a condition not be looked at until it is enabled",
		Example:           "  engram skill condition disable anna/greet",
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeConditions,
	}
	if on {
		cmd.Use, cmd.Short, cmd.Example = "enable CONDITION", "Have a condition be looked at again", "  engram skill condition enable anna/greet"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseIn("Skill/Condition/", args[0], "name a condition as WHO/NAME; 'engram skill condition ls' lists them")
		if err != nil {
			return err
		}
		m, skills, err := openSkills(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		return skills.EnableCondition(cmd.Context(), id, on)
	}
	return cmd
}

// completeConditions completes the names of conditions.
func completeConditions(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	m, skills, err := openSkills(cmd)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	all, _ := skills.Conditions(cmd.Context())
	for _, c := range all {
		names = append(names, shortSkill(c.ID)+"\t"+shortSkill(c.Skill)+", "+stateOf(c))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
