package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/mind/world"
)

func newWorldTree() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree [ITEM]",
		Short: "All items, each below its parent, or one with all below it",
		Long: `Prints all items, each below its parent, or one with all below it. AGE is the time since
the item was last seen or stated, BELIEF how sure it is that it is still there. What must
not be overlooked follows a "!": an item that waits for a parent which is not there,
that is provisional, not aligned with its parent, of a loop, or said to be of the future. What the
server lost and has back from copies is told on standard error. Below the 24th level the
indentation ends; the level stands before the name.`,
		Example: `  engram world tree
  engram world tree kitchen --at -10s
  engram world tree --place Munich/Karlstrasse/3006`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeItems,
	}
	addWorldReadFlags(cmd)
	cmd.Flags().String("place", "", "what is in the place that is called so, or numbered; an address is\nwritten from the greater to the lesser")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := readWorld(cmd, func(format string, v *worldView) error { return printTree(cmd, format, v, args) })
		if err == nil {
			noteRecovered(cmd)
		}
		return err
	}
	return cmd
}

func printTree(cmd *cobra.Command, format string, v *worldView, args []string) error {
	tree := worldTree{v: v, whole: !tabular(format), out: itemTable()}
	called, _ := cmd.Flags().GetString("place")
	switch {
	case called != "" && len(args) > 0:
		return usagef("give ITEM or --place, not both")
	case called != "":
		m, err := v.place(called)
		if err != nil {
			return err
		}
		tree.add(m, 1, "", "")
	case len(args) > 0:
		m, err := v.must(args[0])
		if err != nil {
			return err
		}
		tree.add(m, 1, "", "")
	default:
		tree.all()
	}
	if len(tree.out.rows) == 0 && cmd.Flags().Changed("at") {
		cmd.PrintErrln("engram: the world was empty then")
	} else if len(tree.out.rows) == 0 && !recovering(cmd) { // else that is told
		cmd.PrintErrln("engram: the world is empty; 'engram world put ITEM' states something")
	}
	return print(cmd.OutOrStdout(), format, tree.out, tree.objects)
}

// recovering reports whether the server may have lost what it said, and has not got it back.
func recovering(cmd *cobra.Command) bool {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	report, err := askHealth(ctx, cmd, "recovery")
	return err == nil && slices.ContainsFunc(report.Checks, func(c health.Finding) bool { return c.Check == "recovery" && c.Status != health.OK })
}

// worldTree adds items to a table and, if they are wanted, to objects, children below their
// parents.
type worldTree struct {
	v       *worldView
	whole   bool
	out     *table
	objects []itemJSON
}

// all adds the trees of the roots, then, below the names of parents that are not there, the
// items that wait for them.
func (t *worldTree) all() {
	for m := range t.v.Roots() {
		t.add(m, 1, "", "")
	}
	waiting := slices.Collect(t.v.Waiting())
	for i, w := range waiting {
		if i == 0 || waiting[i-1].Parent != w.Parent {
			t.out.add(w.Parent, "", "", "", "", "! "+world.Absence(t.v.Forest, w.Parent))
		}
		branch, next := "├─ ", "│  "
		if i == len(waiting)-1 || waiting[i+1].Parent != w.Parent {
			branch, next = "└─ ", "   "
		}
		t.add(w.Item, 2, branch, next)
	}
}

// indented is to which level children are indented, so that lines end, however deep a tree is.
const indented = 24

// add adds an item of a level, and those below it: branch stands before its name, next before
// what stands before theirs.
func (t *worldTree) add(m *world.Merged, level int, branch, next string) {
	a := t.v.account(m.Name)
	name := m.Name
	if level > indented {
		name = strconv.Itoa(level) + ": " + name
	}
	t.out.add(append([]any{cellOf(branch+name, m.Name)}, t.v.cells(m, &a)...)...)
	if t.whole {
		t.objects = append(t.objects, t.v.object(m))
	}
	children := slices.Collect(t.v.Children(m.Name))
	for i, c := range children {
		mark, below := "├─ ", next+"│  "
		if i == len(children)-1 {
			mark, below = "└─ ", next+"   "
		}
		if level >= indented {
			below = next
		}
		t.add(c, level+1, next+mark, below)
	}
}

// cells are what tables show of each item after its name: kinds, age, belief, who says so,
// the joint that moves it, and remarks.
func (v *worldView) cells(m *world.Merged, a *world.Account) []any {
	age, belief := cellOf("-", ""), cellOf("-", "")
	if a.Known {
		age = ageCell(a.Age())
		belief = cellOf(strconv.FormatFloat(a.P, 'f', 2, 64), strconv.FormatFloat(a.P, 'g', 6, 64))
	}
	var notes []string
	if j, err := v.Joint(m.Name); err == nil {
		notes = append(notes, jointObject(j).short())
	}
	if remarks := v.remarks(m, a); len(remarks) > 0 {
		notes = append(notes, "! "+strings.Join(remarks, "; "))
	}
	return []any{strings.Join(kindsOf(m), ", "), age, belief, strings.Join(speakers(m), ", "), strings.Join(notes, " ")}
}

// ageCell shows a time that has passed in words, and to programs in seconds.
func ageCell(d time.Duration) cell {
	return cellOf(strings.TrimSuffix(world.Ago(d), " ago"), strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
}

func kindsOf(m *world.Merged) []string {
	if m.Description == nil {
		return nil
	}
	return m.Description.Kinds
}

// speakers are the providers whose statements count for an item.
func speakers(m *world.Merged) (names []string) {
	for _, s := range []*world.Statement{m.Placed, m.Structured, m.Described} {
		if s == nil {
			continue
		}
		if name := s.Who(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
