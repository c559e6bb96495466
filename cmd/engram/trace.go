package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/link"
)

func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "Follow links from a result to all that led to it, or from a cause to what came of it",
		Long: `Follows links from an entity (its newest snapshot), a snapshot or an instance: with --up to
what it was made from, and what that was made from; with --down to what links to it, and
what links to that. Each is shown once, below what it was found from; LINK names the member
that holds the link. An activity, such as a skill's execution, is one line with its span of
time. A link to an entity is to what was in force there at the time of what has the link.

What is not there follows a "!". Of what you may not read you are told nothing: a link to it
is one to what is not there.`,
		Example: `  engram trace Object/Instance/Simulation/cup
  engram trace Speech/Command/Simulation/user --down
  engram trace Object/Instance/Simulation/cup --depth 3 --memories Vision,RobotState
  engram trace Skill/Execution/Arm/Grasp-9bkkzr8qo0vu -o mermaid`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.Bool("up", false, "to causes: what it links to (the default)")
	f.Bool("down", false, "to effects: what links to it")
	f.Int("depth", 20, "at most so many links away")
	f.Int("nodes", 1000, "at most so many lines")
	f.StringSlice("memories", nil, "follow links into these memories only, such as Vision,robot1:Object")
	f.String("as-of", "", "what the memory knew at this time of arrival")
	addOutputFormats(cmd, []string{"table", "json", "yaml", "csv", "dot", "mermaid"})
	printing(cmd, trace)
	return cmd
}

func trace(cmd *cobra.Command, args []string, format string) error {
	o, err := traceOptions(cmd)
	if err != nil {
		return err
	}
	return aboutOne(cmd, args[0], func(m *client.Client, id engram.ID) error {
		t, err := link.New(m, m.Robot()).Trace(cmd.Context(), id, o)
		if err != nil {
			return err
		}
		switch format {
		case "dot":
			cmd.Print(drawDOT(t))
		case "mermaid":
			cmd.Print(drawMermaid(t))
		case "json", "yaml":
			err = printObject(cmd.OutOrStdout(), format, traceObject(t))
		default:
			err = print[any](cmd.OutOrStdout(), format, traceTable(cmd.Context(), m, t), nil)
		}
		noteTrace(cmd, t)
		return err
	})
}

// aboutOne connects, and calls f with the one entity, snapshot or instance that an argument names.
func aboutOne(cmd *cobra.Command, arg string, f func(m *client.Client, id engram.ID) error) error {
	of, err := parseTarget(arg)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	id, err := oneOf(cmd.Context(), m, of)
	if err != nil {
		return err
	}
	return f(m, id)
}

// oneOf returns the one entity, snapshot or instance that a target names.
func oneOf(ctx context.Context, m engram.Reader, t target) (engram.ID, error) {
	id := t.pattern.Enclosing()
	if int(id.Level()) != len(t.pattern.Levels) {
		return id, usagef("%s may stand for several; name one entity, snapshot or instance", t.text)
	}
	switch {
	case t.time == nil:
		return id, nil
	case t.time.base == baseAbsolute:
		id = id.At(t.time.resolve(0, 0))
	default:
		r, err := selection{}.query(ctx, m, t, engram.SnapshotSelector{})
		if err != nil {
			return id, err
		}
		items := r.Items()
		if len(items) == 0 {
			return id, engram.Errorf(engram.NotFound, t.text, "there was nothing then; 'engram history %s' shows when there was", id)
		}
		id = items[0].ID
	}
	if t.index >= 0 {
		id = id.Instance(t.index)
	}
	return id, nil
}

func traceOptions(cmd *cobra.Command) (o link.Options, err error) {
	if err := exclusive(cmd, "up", "down"); err != nil {
		return o, err
	}
	f := cmd.Flags()
	if down, _ := f.GetBool("down"); down {
		o.Direction = link.Down
	}
	if o.Depth, _ = f.GetInt("depth"); o.Depth < 1 {
		return o, usagef("--depth %d: at least 1", o.Depth)
	}
	if o.Nodes, _ = f.GetInt("nodes"); o.Nodes < 1 {
		return o, usagef("--nodes %d: at least 1", o.Nodes)
	}
	o.Memories, _ = f.GetStringSlice("memories")
	o.AsOf, err = belief(cmd)
	return o, err
}

// noteTrace tells on standard error of what is not shown.
func noteTrace(cmd *cobra.Command, t *link.Trace) {
	warnAbout(cmd, &engram.Result{Missing: t.Missing, Copies: t.Copies})
	if t.Cut > 0 {
		cmd.PrintErrf("engram: %s more would follow; --depth and --nodes say how many are shown\n", countOf(uint64(t.Cut), "link"))
	}
	switch {
	case len(t.Nodes) > 1:
	case cmd.Flags().Changed("memories"):
		cmd.PrintErrln("engram: no link leads from or to these memories; without --memories all are followed")
	case t.Direction == link.Down:
		cmd.PrintErrln("engram: nothing links to it; --up shows what it was made from")
	default:
		cmd.PrintErrln("engram: it links to nothing; --down shows what links to it")
	}
}

// traceTree lays a trace out as a tree: each node below the first from which a walk in depth comes to it.
type traceTree struct {
	t     *link.Trace
	below [][]traceStep // by node
	shown []bool
	add   func(before string, b traceStep, again bool)
}

// traceStep is a step from a node of a trace to another.
type traceStep struct {
	node int
	path string // of the member that holds the link
}

func newTraceTree(t *link.Trace) *traceTree {
	tree := &traceTree{t: t, below: make([][]traceStep, len(t.Nodes)), shown: make([]bool, len(t.Nodes))}
	for _, l := range t.Links {
		from, b := l.From, traceStep{l.To, l.Path}
		if t.Direction == link.Down {
			from, b.node = l.To, l.From
		}
		if !slices.Contains(tree.below[from], b) {
			tree.below[from] = append(tree.below[from], b)
		}
	}
	return tree
}

// walk adds a traceStep and all below it. before stands before it, and under before what is below it.
func (t *traceTree) walk(before, under string, b traceStep) {
	again := t.shown[b.node]
	t.add(before, b, again)
	if again {
		return
	}
	t.shown[b.node] = true
	for i, next := range t.below[b.node] {
		mark, goesOn := "├─ ", "│  "
		if i == len(t.below[b.node])-1 {
			mark, goesOn = "└─ ", "   "
		}
		t.walk(under+mark, under+goesOn, next)
	}
}

func traceTable(ctx context.Context, m *client.Client, t *link.Trace) *table {
	out := &table{header: []string{"ID", "LINK", "TIME", "WHAT"}, spare: []string{"TIME"}}
	types := newTypeCache(m)
	tree := newTraceTree(t)
	tree.add = func(before string, b traceStep, again bool) {
		n := &t.Nodes[b.node]
		name := n.ID
		if n.Missing == "" && name.Level() > engram.LevelEntity {
			name = name.Truncate(engram.LevelEntity) // its time stands beside it
		}
		var when any = cellOf("", "")
		if at, ok := n.Time(); ok && n.Missing == "" {
			when = at
		}
		what := "(as above)"
		if !again || n.Missing != "" {
			what = nodeText(ctx, types, n)
		}
		out.add(cellOf(before+name.String(), n.ID.String()), b.path, when, what)
	}
	tree.walk("", "", traceStep{})
	return out
}

// until returns when the last snapshot of an activity is, with the date if that is another one than of the first.
func until(n *link.Node) string {
	last := n.Snapshots[len(n.Snapshots)-1].Time
	date, _ := splitTime(last)
	if first, _ := splitTime(n.Snapshots[0].Time); first == date {
		return clockOf(last)
	}
	return date + " " + clockOf(last)
}

// clockOf returns the time of day, to the millisecond.
func clockOf(t engram.Time) string {
	_, clock := splitTime(t)
	return clock[:len(milliLayout)]
}

// nodeText says in some words what a node of a trace is.
func nodeText(ctx context.Context, types *typeCache, n *link.Node) string {
	switch {
	case n.Missing != "":
		return "! " + n.Missing
	case len(n.Snapshots) == 0:
		return ""
	}
	last := n.Snapshots[len(n.Snapshots)-1]
	var texts []string
	for i := range last.Instances {
		p := last.Instances[i].Payload
		text := p.Type // of one without links the bytes were not asked for
		if t, err := types.get(ctx, p.Type); err != nil || t.Has(idf.KindLink) {
			text = types.text(ctx, p, idf.TextOptions{Brief: true, Time: last.Time})
		}
		texts = append(texts, text)
	}
	text := strings.Join(slices.Compact(texts), " | ")
	if n.IsActivity() && len(n.Snapshots) > 1 {
		text = "to " + until(n) + ": " + text
	}
	return text
}
