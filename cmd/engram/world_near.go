package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

func newWorldNear() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "near ITEM|x,y,z[@FRAME]",
		Short: "What lies around an item or a point, the nearest first",
		Example: `  engram world near table --radius 2
  engram world near 1,2,0.8@kitchen --kind object --all`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	cmd.Flags().Float64("radius", 1, "metres")
	addWorldFilterFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		radius, _ := cmd.Flags().GetFloat64("radius")
		if !(radius >= 0) {
			return usagef("--radius %v: metres, 0 or more", radius)
		}
		return listItems(cmd, func(s answer.Service, q answer.Question, f answer.Filter, part func([]answer.Row) error) (answer.LeftOut, error) {
			left, err := s.Near(cmd.Context(), q, answer.Near{Around: args[0], Radius: radius, Filter: f}, part)
			return left, pointError(err, args[0])
		})
	}
	return cmd
}

func newWorldIn() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "in PLACE",
		Short: "What is in a place, or in or on another item, the nearest to its origin first",
		Long: `Prints what is in a place, or in or on another item: all that lies below it in the tree,
and all that its bounding box has within, unless that belongs to another place. A place
is named by its item, by what it is called, or by an address from the greater to the lesser.`,
		Example: `  engram world in kitchen
  engram world in Munich/Karlstrasse/3006 --kind object --remembered`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	addWorldFilterFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return listItems(cmd, func(s answer.Service, q answer.Question, f answer.Filter, part func([]answer.Row) error) (answer.LeftOut, error) {
			return s.In(cmd.Context(), q, answer.In{Place: args[0], Filter: f}, part)
		})
	}
	return cmd
}

// addWorldFilterFlags gives a command the flags that say which items it lists.
func addWorldFilterFlags(cmd *cobra.Command) {
	addWorldReadFlags(cmd)
	f := cmd.Flags()
	f.Bool("present", false, "what is believed with 0.5 or more to be there still, and not provisional (default)")
	f.Bool("remembered", false, "what is not present, and was not removed")
	f.Bool("all", false, "what is present, and what is remembered")
	f.String("kind", "", "only of this kind")
	f.String("class", "", "only of this class, an entity of Object/Class")
}

// listItems prints the items that ask tells of.
func listItems(cmd *cobra.Command, ask func(s answer.Service, q answer.Question, f answer.Filter, part func([]answer.Row) error) (answer.LeftOut, error)) error {
	if err := exclusive(cmd, "present", "remembered", "all"); err != nil {
		return err
	}
	f := cmd.Flags()
	var filter answer.Filter
	filter.Kind, _ = f.GetString("kind")
	filter.Class, _ = f.GetString("class")
	if remembered, _ := f.GetBool("remembered"); remembered {
		filter.Presence = answer.Remembered
	}
	if all, _ := f.GetBool("all"); all {
		filter.Presence = answer.All
	}
	return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
		filter.Whole = !tabular(format)
		out := itemTable()
		out.header = slices.Insert(out.header, 1, "DISTANCE")
		out.right = slices.Insert(out.right, 1, true)
		var objects []itemJSON
		left, err := ask(s, q, filter, func(rows []answer.Row) error {
			for i := range rows {
				r := &rows[i]
				distance := cellOf("-", "")
				if r.Distance >= 0 {
					distance = cellOf(formatRounded(r.Distance, 3)+" m", strconv.FormatFloat(r.Distance, 'g', 6, 64))
				}
				out.rows = append(out.rows, appendRow([]cell{text(r.Name), distance}, r, format == "csv"))
				if r.Item == nil {
					continue
				}
				o := itemObject(r.Item)
				if r.Distance >= 0 {
					o.Distance = new(r.Distance)
				}
				objects = append(objects, o)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if text := leftOutItems(left); text != "" && !f.Changed("present") && !f.Changed("remembered") {
			cmd.PrintErrf("engram: %s; --all shows them\n", text)
		} else if len(out.rows) == 0 {
			cmd.PrintErrln("engram: there is nothing")
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
}

// leftOutItems says how many items were left out, and why; "" if none was.
func leftOutItems(left answer.LeftOut) string {
	var parts []string
	if left.Gone > 0 {
		parts = append(parts, countOf(uint64(left.Gone), "item")+" left out, which may not be there any more")
	}
	if left.Provisional > 0 {
		parts = append(parts, countOf(uint64(left.Provisional), "item")+" left out, not admitted yet (provisional)")
	}
	return strings.Join(parts, "; ")
}

// pointError returns how a point is written that is not, where the server says that it is none.
func pointError(err error, text string) error {
	if engram.CodeOf(err) != engram.Invalid {
		return err
	}
	numbers, _, _ := strings.Cut(text, "@")
	if _, wrong := parseNumbers("point", numbers, "x,y,z or x,y,z@FRAME", 3); wrong != nil {
		return wrong
	}
	return err
}
