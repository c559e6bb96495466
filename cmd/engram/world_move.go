package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/view"
)

func newWorldMv() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mv ITEM PARENT",
		Short: "Give an item another parent, where it is or at a pose",
		Long: `Gives an item another parent, with all that hangs on it. Without --pose it stays where
it is: only what it hangs on changes. Parent and pose change at once, so that nobody
sees one without the other.`,
		Example: `  engram world mv cup robot/hand
  engram world mv cup shelf --pose 0.1,0,1.2 --sigma 0.01,0.05`,
		Args:              positional(cobra.ExactArgs(2)),
		ValidArgsFunction: completeItems,
	}
	addPoseFlags(cmd)
	printing(cmd, func(cmd *cobra.Command, args []string, _ string) error {
		at, err := readPlacement(cmd)
		if err != nil {
			return err
		}
		if args[1] == "" {
			return usagef("the parent is empty; 'engram world put %s --parent \"\"' has it by itself", args[0])
		}
		return writeItem(cmd, args, func(w *world.Memory) (world.Mark, error) {
			if at != nil {
				at.Frame = args[1]
				refused, mark, err := w.Update(cmd.Context(), world.NamedItem{Name: args[0], Item: world.Item{Structure: &world.Structure{Parent: args[1]}, Placement: at}})
				if len(refused) > 0 {
					err = refused[0].Err
				}
				return mark, err
			}
			mark, err := w.Attach(cmd.Context(), args[0], args[1], nil)
			if _, apart := errors.AsType[world.NotAligned](err); apart {
				err = engram.Errorf(engram.CodeOf(err), "", "%w; or say with --pose where it is in %s", err, args[1])
			}
			return mark, err
		})
	})
	return cmd
}

func newWorldRm() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rm ITEM",
		Short: "Say that an item is no more",
		Long: `Says that an item is no more. What was known of it stays in the past. If other items
have it as their parent, say what becomes of them: --with-children removes all below it,
--orphan leaves them where they are, without a parent.`,
		Example: `  engram world rm cup --reason broken
  engram world rm cupboard --with-children`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	f := cmd.Flags()
	f.String("reason", "", "why")
	f.Bool("with-children", false, "remove all below it, too")
	f.Bool("orphan", false, "leave its children without a parent, where they are")
	printing(cmd, func(cmd *cobra.Command, args []string, _ string) error {
		if err := exclusive(cmd, "with-children", "orphan"); err != nil {
			return err
		}
		children := world.RefuseChildren
		if all, _ := f.GetBool("with-children"); all {
			children = world.WithChildren
		}
		if orphan, _ := f.GetBool("orphan"); orphan {
			children = world.OrphanChildren
		}
		reason, _ := f.GetString("reason")
		return writeItem(cmd, args, func(w *world.Memory) (world.Mark, error) {
			mark, err := w.Remove(cmd.Context(), args[0], reason, children)
			if children == world.RefuseChildren && engram.CodeOf(err) == engram.Conflict {
				err = engram.Errorf(engram.Conflict, "", "%w: --with-children or --orphan", err)
			}
			return mark, err
		})
	})
	return cmd
}

func newWorldWithdraw() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw NAME",
		Short: "Take back what was said of an item, a joint, a map or a component; others may still say it",
		Long: `Takes back all that --provider says under a name: of the item with its states and the
joints that move it, of the joint, the map and the component. What others say counts again. Without
anybody else who says something, there is no such item any more. A removal is taken back, too.`,
		Example: `  engram world withdraw cup
  engram world withdraw hinge
  engram world withdraw cup --provider anna`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	printing(cmd, func(cmd *cobra.Command, args []string, _ string) error {
		provider := worldProvider(cmd)
		return withWorld(cmd, func(format string, m *client.Client, w *world.Memory) error {
			f, err := w.View(cmd.Context())
			if err != nil {
				return err
			}
			if err := saysSomething(f, args[0], world.Said{Provider: provider, Robot: m.Robot()}); err != nil {
				return err
			}
			mark, err := w.Withdraw(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printMark(cmd, format, args[0], mark)
		})
	})
	return cmd
}

// writeItem writes with write and prints the mark. Items that are not there are told with
// what may have been meant.
func writeItem(cmd *cobra.Command, items []string, write func(*world.Memory) (world.Mark, error)) error {
	return withWorld(cmd, func(format string, _ *client.Client, w *world.Memory) error {
		f, err := w.View(cmd.Context())
		if err != nil {
			return err
		}
		for _, name := range items {
			if !f.Has(name) {
				return view.Unknown(f, name)
			}
		}
		mark, err := write(w)
		if err != nil {
			return err
		}
		return printMark(cmd, format, items[0], mark)
	})
}
