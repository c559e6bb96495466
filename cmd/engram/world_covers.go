package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/world"
)

func newWorldCovers() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "covers ITEM|PLACE|x,y,z[@FRAME]",
		Short: "Which sensors reach an item, a place or a point, and what starts them",
		Long: `Prints the components whose field of view reaches what is asked for: those that run first,
then the nearest. A box of an item in between hides what is behind it, places excepted. Of
an item with a box, and of a place, some part is enough; SHARE says how much of it. A place
without a box is 2 m high above its outline.`,
		Example: `  engram world covers cup
  engram world covers kitchen
  engram world covers 1,2,0.8@kitchen`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	addWorldReadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return readWorld(cmd, func(format string, v *worldView) error { return printCovers(cmd, format, v, args[0]) })
	}
	return cmd
}

type coverJSON struct {
	Component string   `json:"component"`
	Kind      string   `json:"kind"`
	Running   bool     `json:"running"`
	Distance  *float64 `json:"distance,omitempty"` // metres
	Share     float64  `json:"share"`
	StartedBy string   `json:"started_by,omitempty"`
	Unknown   string   `json:"unknown,omitempty"` // why nobody can say
}

func printCovers(cmd *cobra.Command, format string, v *worldView, what string) error {
	var covers []world.Cover
	var unknown []world.Uncovered
	place, err := v.place(what)
	if err == nil {
		covers, unknown, err = v.Components().CoverItem(place.Name)
	} else if strings.Contains(what, ",") {
		frame, at, problem := v.point(what)
		if problem != nil {
			return problem
		}
		covers, unknown, err = v.Components().CoverPoint(frame, at)
	} else if !strings.Contains(what, "/") {
		err = unknownItem(v.Forest, what)
	}
	if err != nil {
		return err
	}
	out := &table{header: []string{"COMPONENT", "KIND", "RUNS", "DISTANCE", "SHARE", "STARTED BY"}, right: []bool{3: true, 4: true}}
	var objects []coverJSON
	for i := range covers {
		c := &covers[i]
		objects = append(objects, coverJSON{c.Name, c.Component.Kind, c.Component.Running, &c.Distance, c.Share, c.Component.StartedBy, ""})
		out.add(c.Name, c.Component.Kind, yesNo(c.Component.Running), formatRounded(c.Distance, 3)+" m", fmt.Sprintf("%.0f %%", 100*c.Share), c.Component.StartedBy)
	}
	if len(covers) == 0 && format == "table" {
		cmd.PrintErrf("engram: no component reaches %s; 'engram world components' lists them\n", visible(what))
	}
	for _, u := range unknown {
		objects = append(objects, coverJSON{Component: u.Name, Kind: u.Component.Kind, Running: u.Component.Running, StartedBy: u.Component.StartedBy, Unknown: u.Why})
		cmd.PrintErrf("engram: of %s it is not known: %s\n", visible(u.Name), visible(u.Why))
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func newWorldComponents() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "components",
		Short: "The components, the items that they are linked to, and what they pass on",
		Long: `Prints pieces of hardware and drivers. A component is linked to the item of its name as long as
both are there. --pipes prints what one writes and another one reads.`,
		Args: positional(cobra.NoArgs),
	}
	cmd.Flags().Bool("pipes", false, "what one writes and another one reads")
	addWorldReadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		pipes, _ := cmd.Flags().GetBool("pipes")
		return readWorld(cmd, func(format string, v *worldView) error {
			if pipes {
				return printPipes(cmd, format, v)
			}
			return printComponents(cmd, format, v)
		})
	}
	return cmd
}

type pipeJSON struct {
	From    string `json:"from"`
	Through string `json:"through"`
	To      string `json:"to"`
}

func printPipes(cmd *cobra.Command, format string, v *worldView) error {
	out := &table{header: []string{"FROM", "THROUGH", "TO"}}
	var objects []pipeJSON
	for _, p := range v.Components().Pipes() {
		objects = append(objects, pipeJSON(p))
		out.add(p.From, p.Through, p.To)
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

type componentJSON struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Robot     string   `json:"robot,omitempty"`
	Running   bool     `json:"running"`
	Item      bool     `json:"item"` // whether there is an item of its name
	Frame     string   `json:"frame,omitempty"`
	Inputs    []string `json:"inputs,omitempty"`
	Outputs   []string `json:"outputs,omitempty"`
	StartedBy string   `json:"started_by,omitempty"`
	Provider  string   `json:"provider"`
}

func printComponents(cmd *cobra.Command, format string, v *worldView) error {
	out := &table{header: []string{"COMPONENT", "KIND", "RUNS", "ITEM", "INPUTS", "OUTPUTS", "STARTED BY"}}
	var objects []componentJSON
	for s := range v.Components().All() {
		c := s.Component
		objects = append(objects, *v.componentObject(s))
		out.add(s.Name, c.Kind, yesNo(c.Running), yesNo(v.Has(s.Name)), strings.Join(c.Inputs, ", "), strings.Join(c.Outputs, ", "), c.StartedBy)
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

func (v *worldView) componentObject(s *world.ComponentStatement) *componentJSON {
	c := s.Component
	return &componentJSON{s.Name, c.Kind, c.Robot, c.Running, v.Has(s.Name), c.Frame, c.Inputs, c.Outputs, c.StartedBy, s.Who()}
}

// text puts a component into words.
func (c *componentJSON) text() string {
	parts := []string{c.Kind, "does not run"}
	if c.Running {
		parts[1] = "runs"
	}
	if c.StartedBy != "" {
		parts = append(parts, "started by "+c.StartedBy)
	}
	if len(c.Inputs) > 0 {
		parts = append(parts, "reads "+strings.Join(c.Inputs, " and "))
	}
	if len(c.Outputs) > 0 {
		parts = append(parts, "writes "+strings.Join(c.Outputs, " and "))
	}
	return strings.Join(parts, ", ")
}
