package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world/answer"
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
		return writeMark(cmd, args[0], func(w *worldWriter) (answer.Mark, error) {
			var where *answer.Pose
			if at != nil {
				where = &answer.Pose{Pose: at.Pose, Cov: at.Cov}
			}
			return w.Move(cmd.Context(), w.by, args[0], args[1], where)
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
		children := answer.RefuseChildren
		if all, _ := f.GetBool("with-children"); all {
			children = answer.RemoveChildren
		}
		if orphan, _ := f.GetBool("orphan"); orphan {
			children = answer.OrphanChildren
		}
		reason, _ := f.GetString("reason")
		return writeMark(cmd, args[0], func(w *worldWriter) (answer.Mark, error) {
			mark, err := w.Remove(cmd.Context(), w.by, args[0], reason, children)
			if children == answer.RefuseChildren && engram.CodeOf(err) == engram.Conflict {
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
		return writeMark(cmd, args[0], func(w *worldWriter) (answer.Mark, error) {
			return w.Withdraw(cmd.Context(), w.by, args[0])
		})
	})
	return cmd
}
