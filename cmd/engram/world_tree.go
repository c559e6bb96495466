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
	"github.com/seed-301d4374/engram/mind/world/answer"
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
		err := askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
			return printTree(cmd, format, s, q, args)
		})
		if err == nil {
			noteRecovered(cmd)
		}
		return err
	}
	return cmd
}

func printTree(cmd *cobra.Command, format string, s answer.Service, q answer.Question, args []string) error {
	tree := worldTree{out: itemTable(), csv: format == "csv"}
	of := answer.Tree{Whole: !tabular(format)}
	of.Place, _ = cmd.Flags().GetString("place")
	if len(args) > 0 {
		of.Item = args[0]
	}
	if of.Place != "" && of.Item != "" {
		return usagef("give ITEM or --place, not both")
	}
	if err := s.Tree(cmd.Context(), q, of, tree.add); err != nil {
		return err
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

// worldTree adds items to a table and, where all of them is told, to objects, children below their
// parents.
type worldTree struct {
	csv     bool // the table is printed as CSV
	out     *table
	objects []itemJSON
	before  []string // by level, what stands before the branches of that level
}

// indented is to which level children are indented, so that lines end, however deep a tree is.
const indented = 24

func (t *worldTree) add(rows []answer.Row) error {
	cells := make([]cell, 0, len(t.out.header)*len(rows)) // of all rows, which come in parts
	for i := range rows {
		r := &rows[i]
		before, mark := t.branch(r)
		if r.Absent != "" {
			t.out.add(r.Name, "", "", "", "", "! "+r.Absent)
			continue
		}
		name := r.Name
		if r.Level > indented {
			name = strconv.Itoa(r.Level) + ": " + name
		}
		first := len(cells)
		cells = appendRow(append(cells, cellOf(before+mark+name, r.Name)), r, t.csv)
		t.out.rows = append(t.out.rows, cells[first:len(cells):len(cells)])
		if r.Item != nil {
			t.objects = append(t.objects, itemObject(r.Item))
		}
	}
	return nil
}

// branch returns what stands before a name: before its branch, and the mark of that.
func (t *worldTree) branch(r *answer.Row) (before, mark string) {
	for len(t.before) <= r.Level+1 {
		t.before = append(t.before, "")
	}
	if r.Level <= 1 {
		t.before[2] = ""
		return "", ""
	}
	before, mark = t.before[r.Level], "├─ "
	goesOn := "│  " // what the branches below have before them, too
	if r.Last {
		mark, goesOn = "└─ ", "   "
	}
	if r.Level > indented {
		goesOn = ""
	}
	if below := t.before[r.Level+1]; len(below) != len(before)+len(goesOn) || !strings.HasPrefix(below, before) || !strings.HasSuffix(below, goesOn) {
		t.before[r.Level+1] = before + goesOn // else it is as for the last one, as mostly
	}
	return before, mark
}

// appendRow appends what tables show of each item to its first cells: kinds, age, belief, who says so,
// the joint that moves it, and remarks. What only CSV has is there if that is wanted.
func appendRow(cells []cell, r *answer.Row, csv bool) []cell {
	age, belief := cellOf("-", ""), cellOf("-", "")
	if r.Known {
		age.shown = strings.TrimSuffix(world.Ago(r.Age), " ago")
		belief.shown = strconv.FormatFloat(r.Belief, 'f', 2, 64)
	}
	if r.Known && csv {
		age.raw = strconv.FormatFloat(r.Age.Seconds(), 'f', 3, 64) // in seconds
		belief.raw = strconv.FormatFloat(r.Belief, 'g', 6, 64)
	}
	var notes []string
	if r.Joint != nil {
		notes = append(notes, jointObject(r.Joint).short())
	}
	if remarks := append(prefixed("provisional: ", r.Provisional), r.Notes...); len(remarks) > 0 {
		notes = append(notes, "! "+strings.Join(remarks, "; "))
	}
	return append(cells, text(strings.Join(r.Kinds, ", ")), age, belief, text(strings.Join(r.SaidBy, ", ")), text(strings.Join(notes, " ")))
}
