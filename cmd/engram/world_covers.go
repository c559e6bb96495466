package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/world/answer"
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
		return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
			return printCovers(cmd, format, s, q, args[0])
		})
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

func printCovers(cmd *cobra.Command, format string, s answer.Service, q answer.Question, what string) error {
	covers, err := s.Covers(cmd.Context(), q, what)
	if err != nil {
		return pointError(err, what)
	}
	out := &table{header: []string{"COMPONENT", "KIND", "RUNS", "DISTANCE", "SHARE", "STARTED BY"}, right: []bool{3: true, 4: true}}
	var objects []coverJSON
	for i := range covers {
		c := &covers[i]
		o := coverJSON{Component: c.Name, Kind: c.Kind, Running: c.Running, Share: c.Share, StartedBy: c.StartedBy, Unknown: c.Unknown}
		if c.Unknown == "" {
			o.Distance = &c.Distance
			out.add(c.Name, c.Kind, yesNo(c.Running), formatRounded(c.Distance, 3)+" m", fmt.Sprintf("%.0f %%", 100*c.Share), c.StartedBy)
		}
		objects = append(objects, o)
	}
	if len(out.rows) == 0 && format == "table" {
		cmd.PrintErrf("engram: no component reaches %s; 'engram world components' lists them\n", visible(what))
	}
	for _, c := range covers {
		if c.Unknown != "" {
			cmd.PrintErrf("engram: of %s it is not known: %s\n", visible(c.Name), visible(c.Unknown))
		}
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
		return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
			all, passed, err := s.Components(cmd.Context(), q)
			if err != nil {
				return err
			}
			if pipes {
				return printPipes(cmd, format, passed)
			}
			return printComponents(cmd, format, all)
		})
	}
	return cmd
}

type pipeJSON struct {
	From    string `json:"from"`
	Through string `json:"through"`
	To      string `json:"to"`
}

func printPipes(cmd *cobra.Command, format string, pipes []answer.Pipe) error {
	out := &table{header: []string{"FROM", "THROUGH", "TO"}}
	var objects []pipeJSON
	for _, p := range pipes {
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

func printComponents(cmd *cobra.Command, format string, components []answer.Component) error {
	out := &table{header: []string{"COMPONENT", "KIND", "RUNS", "ITEM", "INPUTS", "OUTPUTS", "STARTED BY"}}
	var objects []componentJSON
	for i := range components {
		c := &components[i]
		objects = append(objects, *componentObject(c))
		out.add(c.Name, c.Kind, yesNo(c.Running), yesNo(c.Item), strings.Join(c.Inputs, ", "), strings.Join(c.Outputs, ", "), c.StartedBy)
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

func componentObject(c *answer.Component) *componentJSON {
	return &componentJSON{c.Name, c.Kind, c.Robot, c.Running, c.Item, c.Frame, c.Inputs, c.Outputs, c.StartedBy, c.SaidBy}
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
