package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
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
		return listItems(cmd, func(v *worldView) ([]world.Neighbour, error) {
			frame, point, err := v.point(args[0])
			if err != nil {
				return nil, err
			}
			found, err := v.Near(frame, point, radius)
			return slices.DeleteFunc(found, func(n world.Neighbour) bool { return n.Name == args[0] }), err
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
		return listItems(cmd, func(v *worldView) ([]world.Neighbour, error) {
			place, err := v.place(args[0])
			if err != nil {
				return nil, err
			}
			items, err := v.In(place.Name)
			var found []world.Neighbour
			for _, m := range items {
				n := world.Neighbour{Merged: m, Distance: -1}
				if at, err := v.Pose(place.Name, m.Name); err == nil {
					n.Distance = at.Pose.T.Norm()
				}
				found = append(found, n)
			}
			slices.SortStableFunc(found, func(a, b world.Neighbour) int {
				if (a.Distance < 0) != (b.Distance < 0) {
					return cmp.Compare(b.Distance, a.Distance) // those of unknown distance are last
				}
				return cmp.Compare(a.Distance, b.Distance)
			})
			return found, err
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

// listItems prints the items that find returns, as far as the command's flags want them.
// A distance less than 0 is unknown.
func listItems(cmd *cobra.Command, find func(*worldView) ([]world.Neighbour, error)) error {
	if err := exclusive(cmd, "present", "remembered", "all"); err != nil {
		return err
	}
	f := cmd.Flags()
	kind, _ := f.GetString("kind")
	class, _ := f.GetString("class")
	return readWorld(cmd, func(format string, v *worldView) error {
		found, err := find(v)
		if err != nil {
			return err
		}
		out := itemTable()
		out.header = slices.Insert(out.header, 1, "DISTANCE")
		out.right = slices.Insert(out.right, 1, true)
		var objects []itemJSON
		gone, provisional := 0, 0
		for _, n := range found {
			if kind != "" && !n.Is(kind) || class != "" && (n.Description == nil || n.Description.ClassName() != class) {
				continue
			}
			a := v.account(n.Name)
			if !wanted(cmd, a.Present()) {
				if a.Provisional != "" {
					provisional++
				} else {
					gone++
				}
				continue
			}
			distance := cellOf("-", "")
			if n.Distance >= 0 {
				distance = cellOf(formatRounded(n.Distance, 3)+" m", strconv.FormatFloat(n.Distance, 'g', 6, 64))
			}
			if !tabular(format) {
				o := v.object(n.Merged)
				if n.Distance >= 0 {
					o.Distance = &n.Distance
				}
				objects = append(objects, o)
			}
			out.add(append([]any{n.Name, distance}, v.cells(n.Merged, &a)...)...)
		}
		if left := leftOutItems(gone, provisional); left != "" && !f.Changed("present") && !f.Changed("remembered") {
			cmd.PrintErrf("engram: %s; --all shows them\n", left)
		} else if len(out.rows) == 0 {
			cmd.PrintErrln("engram: there is nothing")
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
}

// leftOutItems says how many items were left out, and why; "" if none was.
func leftOutItems(gone, provisional int) string {
	var parts []string
	if gone > 0 {
		parts = append(parts, countOf(uint64(gone), "item")+" left out, which may not be there any more")
	}
	if provisional > 0 {
		parts = append(parts, countOf(uint64(provisional), "item")+" left out, not admitted yet (provisional)")
	}
	return strings.Join(parts, "; ")
}

// wanted reports whether the command's flags want what is present, or is not.
func wanted(cmd *cobra.Command, present bool) bool {
	all, _ := cmd.Flags().GetBool("all")
	remembered, _ := cmd.Flags().GetBool("remembered")
	return all || present != remembered
}

// point returns an item's origin, or a point that is written x,y,z@FRAME; without a frame in
// that of the only root.
func (v *worldView) point(text string) (frame string, at pose.Vec3, err error) {
	if v.Has(text) {
		return text, at, nil
	}
	numbers, frame, framed := strings.Cut(text, "@")
	if !strings.Contains(numbers, ",") {
		return "", at, unknownItem(v.Forest, text)
	}
	n, err := parseNumbers("point", numbers, "x,y,z or x,y,z@FRAME", 3)
	if err != nil {
		return "", at, err
	}
	at = pose.Vec3{X: n[0], Y: n[1], Z: n[2]}
	if framed {
		if _, err := v.Near(frame, at, 0); err != nil {
			return "", at, unknownItem(v.Forest, frame)
		}
		return frame, at, nil
	}
	var roots []string
	for m := range v.Roots() {
		roots = append(roots, m.Name)
	}
	if len(roots) != 1 {
		return "", at, engram.Errorf(engram.Invalid, text, "in which frame? There are %d roots; write x,y,z@FRAME", len(roots))
	}
	return roots[0], at, nil
}
