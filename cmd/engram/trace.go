package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/link/why"
)

func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "All that led to something, or all that came of it",
		Long: `Follows the links in payloads: up, to all that led to what an ID names, as is usual, or
down, to all that came of it; over all memory servers, those of other robots too. A link to an
entity means its newest snapshot at or before the snapshot that has the link. Circles end where
they come back to what was met before, which is marked "(above)".

The tree has for each line the member that holds the link, when it was so, its type, and
what is known of it in a few words. What a link leads to and is not there has the reason after
"!": evicted, forgotten, never there, no right, unreachable and others (docs/traces.md). So has
what was withdrawn, and what rests on that ('engram withdraw').`,
		Example: `  engram trace Object/Instance/Localizer/cup
  engram trace 'Speech/Command/asr/microphone/2026-03-04 14:03:01' --down --depth 4
  engram trace Skill/Execution/Executor/move-1 --memories Skill,Speech -o mermaid`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.Bool("up", false, "to what led to it; this is what is done without --down")
	f.Bool("down", false, "to what came of it; with --up both")
	f.Int("depth", service.DefaultDepth, "how many links away")
	f.Int("nodes", service.DefaultNodes, "how many snapshots at most")
	f.StringSlice("memories", nil, "enter these only: memories or other patterns, separated by commas")
	f.String("at", "", "of an entity: its newest snapshot at this time: absolute, -10s or now-10s (default: now)")
	f.String("as-of", "", "what was known at this time, when what came later had not arrived")
	addOutputFormats(cmd, []string{"table", "json", "ndjson", "dot", "mermaid"})
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		q, err := traceQuery(cmd, args[0])
		if err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		g := traceGraph{Start: q.Start.String(), Nodes: []traceNode{}, Edges: []traceEdge{}}
		trace := doubt.Trace(cmd.Context(), sourceOf(m), m.Links().Trace(cmd.Context(), q), q.AsOf)
		for p, err := range trace {
			if err != nil {
				return err
			}
			if format == "ndjson" {
				if err := writeJSONLine(cmd.OutOrStdout(), tracePartOf(&p)); err != nil {
					return err
				}
			}
			g.add(&p)
		}
		g.tellMore(cmd, &q)
		switch format {
		case "json":
			return printObject(cmd.OutOrStdout(), format, g)
		case "dot":
			return g.dot(cmd.OutOrStdout())
		case "mermaid":
			return g.mermaid(cmd.OutOrStdout())
		case "table":
			return g.tree(cmd.OutOrStdout(), q.Direction)
		}
		return nil
	})
	return cmd
}

func traceQuery(cmd *cobra.Command, text string) (q service.TraceQuery, err error) {
	f := cmd.Flags()
	if q.Start, err = parseDatum(text); err != nil {
		return q, err
	}
	up, _ := f.GetBool("up")
	down, _ := f.GetBool("down")
	q.Direction = service.Up
	if down {
		q.Direction = service.Down
	}
	if up && down {
		q.Direction = service.Both
	}
	q.Depth, _ = f.GetInt("depth")
	q.Nodes, _ = f.GetInt("nodes")
	if q.Depth < 1 || q.Depth > service.MaxDepth || q.Nodes < 1 || q.Nodes > service.MaxNodes {
		return q, usagef("--depth is from 1 to %d, --nodes from 1 to %d", service.MaxDepth, service.MaxNodes)
	}
	memories, _ := f.GetStringSlice("memories")
	for _, text := range memories {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return q, usagef("--memories: %w", err)
		}
		q.Within = append(q.Within, p)
	}
	q.Members = true
	q.At, q.AsOf, err = linkTimes(cmd)
	return q, err
}

// linkTimes returns the times of --at and --as-of, nil for those that are not given.
func linkTimes(cmd *cobra.Command) (at, asOf *engram.Time, err error) {
	for name, to := range map[string]**engram.Time{"at": &at, "as-of": &asOf} {
		t, given, err := worldTimeFlag(cmd, name)
		if err != nil {
			return nil, nil, err
		}
		if given {
			*to = &t
		}
	}
	return at, asOf, nil
}

// traceGraph is a trace as JSON.
type traceGraph struct {
	Start string      `json:"start"`
	Nodes []traceNode `json:"nodes"`
	Edges []traceEdge `json:"edges"`
	More  []traceMore `json:"more,omitempty"`
}

type traceNode struct {
	ID         string          `json:"id"`
	Depth      int             `json:"depth"`
	Time       *engram.Time    `json:"-"`
	When       string          `json:"time,omitempty"`
	First      string          `json:"first,omitempty"` // of the snapshots that it stands for, if it is another
	Provider   string          `json:"provider,omitempty"`
	Type       string          `json:"type,omitempty"`
	Confidence float32         `json:"confidence,omitempty"`
	Says       string          `json:"says,omitempty"`
	Missing    string          `json:"missing,omitempty"`
	Doubt      string          `json:"doubt,omitempty"` // why it is withdrawn, or rests on what is
	Members    json.RawMessage `json:"members,omitempty"`
}

type traceEdge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Path     string `json:"path"`
	Link     string `json:"link"`
	Instance int    `json:"instance"`
}

type traceMore struct {
	More   string `json:"more"`
	Detail string `json:"detail,omitempty"`
}

func rfc3339(t engram.Time) string { return string(t.AppendRFC3339(nil)) }

func traceNodeOf(n *service.Node) traceNode {
	out := traceNode{ID: n.ID.String(), Depth: n.Depth, Missing: n.Missing, Provider: n.ID.ProviderSegment()}
	if n.Missing != "" {
		return out
	}
	out.Type, out.Confidence, out.Members, out.Says = n.Type, n.Confidence, n.Members, why.Short(n)
	if at, ok := n.ID.Time(); ok {
		out.Time, out.When = &at, rfc3339(at)
		if n.First != at {
			out.First = rfc3339(n.First)
		}
	}
	return out
}

func traceEdgeOf(e *service.Edge) traceEdge {
	return traceEdge{From: e.From.String(), To: e.To.String(), Path: e.Path, Link: e.Link.String(), Instance: e.Instance}
}

// tracePartOf is a line of NDJSON.
func tracePartOf(p *service.Part) any {
	switch {
	case p.Node != nil:
		return map[string]any{"node": traceNodeOf(p.Node)}
	case p.Edge != nil:
		return map[string]any{"edge": traceEdgeOf(p.Edge)}
	case p.Doubt != nil:
		return map[string]any{"doubt": map[string]string{"id": p.Doubt.Node.String(), "why": p.Doubt.Why}}
	}
	return traceMore{p.More, p.Detail}
}

func (g *traceGraph) add(p *service.Part) {
	switch {
	case p.Node != nil:
		g.Nodes = append(g.Nodes, traceNodeOf(p.Node))
	case p.Edge != nil:
		g.Edges = append(g.Edges, traceEdgeOf(p.Edge))
	case p.Doubt != nil:
		text := p.Doubt.Node.String()
		if i := slices.IndexFunc(g.Nodes, func(n traceNode) bool { return n.ID == text }); i >= 0 {
			g.Nodes[i].Doubt = p.Doubt.Why
		}
	default:
		g.More = append(g.More, traceMore{p.More, p.Detail})
	}
}

// tellMore says what the trace does not have.
func (g *traceGraph) tellMore(cmd *cobra.Command, q *service.TraceQuery) {
	for _, m := range g.More {
		switch m.More {
		case "depth":
			cmd.PrintErrf("engram: it goes on beyond --depth %d\n", q.Depth)
		case "nodes":
			cmd.PrintErrf("engram: there is more than --nodes %d\n", q.Nodes)
		case "links":
			cmd.PrintErrf("engram: more links to %s than are followed\n", visible(m.Detail))
		case "server":
			cmd.PrintErrf("engram: %s is not reached; what is there alone is not in the trace\n", visible(m.Detail))
		case "doubts":
			cmd.PrintErrf("engram: what of it is doubtful is not known: %s\n", visible(oneLine(m.Detail)))
		}
	}
}

// branches are the edges of a direction: by node, what is printed below it.
func (g *traceGraph) branches(up bool) map[string][]traceBranch {
	below := map[string][]traceBranch{}
	for _, e := range g.Edges {
		b := traceBranch{path: e.Path, to: e.To}
		at := e.From
		if !up {
			b.to, at = e.From, e.To
		}
		if !slices.Contains(below[at], b) {
			below[at] = append(below[at], b)
		}
	}
	return below
}

type traceBranch struct{ path, to string }

// tree prints the trace as a tree: each snapshot in full where it is nearest to the start.
func (g *traceGraph) tree(w io.Writer, d service.Direction) error {
	t := &table{header: []string{"ID", "LINK", "TIME", "TYPE", "SAYS"}}
	nodes := map[string]*traceNode{}
	for i := range g.Nodes {
		nodes[g.Nodes[i].ID] = &g.Nodes[i]
	}
	for _, dir := range []service.Direction{service.Up, service.Down} {
		if d&dir == 0 {
			continue
		}
		below := g.branches(dir == service.Up)
		// The first edge that led to a node is where it is printed with what is below it.
		parent := map[string]string{g.first(): ""}
		for queue := []string{g.first()}; len(queue) > 0; queue = queue[1:] {
			for _, b := range below[queue[0]] {
				if _, had := parent[b.to]; !had {
					parent[b.to] = queue[0]
					queue = append(queue, b.to)
				}
			}
		}
		printed := map[string]bool{}
		var add func(id, path, branch, next string, in string, level int)
		add = func(id, path, branch, next, in string, level int) {
			n := nodes[id]
			if n == nil {
				return
			}
			full := parent[id] == in && !printed[id]
			t.add(g.row(n, branch, path, full, dir, d)...)
			if !full {
				return
			}
			printed[id] = true
			list := below[id]
			for i, b := range list {
				mark, deeper := "├─ ", next+"│  "
				if i == len(list)-1 {
					mark, deeper = "└─ ", next+"   "
				}
				if level >= indented {
					deeper = next
				}
				add(b.to, b.path, next+mark, deeper, id, level+1)
			}
		}
		add(g.first(), "", "", "", "", 1)
	}
	return t.write(w)
}

func (g *traceGraph) first() string {
	if len(g.Nodes) == 0 {
		return ""
	}
	return g.Nodes[0].ID
}

func (g *traceGraph) row(n *traceNode, branch, path string, full bool, dir, d service.Direction) []any {
	name := n.ID
	if id, err := engram.Parse(n.ID); err == nil && n.Missing == "" {
		name = id.Truncate(engram.LevelEntity).String()
		if i, ok := id.Index(); ok {
			name += fmt.Sprintf(" [%d]", i)
		}
	}
	if !full {
		name += " (above)"
	}
	if path == "" && d == service.Both {
		path = map[service.Direction]string{service.Up: "led to by", service.Down: "led to"}[dir]
	}
	says := n.Says
	if n.Missing != "" {
		says = "! " + n.Missing
	}
	if n.Doubt != "" {
		says = strings.TrimSpace(says + " ! " + n.Doubt)
	}
	when := any("")
	if n.Time != nil {
		when = *n.Time
	}
	return []any{branch + name, path, when, strings.TrimPrefix(n.Type, "engram."), says}
}

// label is what pictures show of a node.
func (n *traceNode) label() (lines []string) {
	id, err := engram.Parse(n.ID)
	if err != nil {
		return []string{n.ID}
	}
	lines = []string{id.Truncate(engram.LevelEntity).String()}
	if n.Time != nil {
		lines = append(lines, n.Time.String()[:len("2006-01-02 15:04:05.000")])
	}
	if n.Says != "" {
		lines = append(lines, n.Says)
	}
	if n.Missing != "" {
		lines = append(lines, "("+n.Missing+")")
	}
	if n.Doubt != "" {
		lines = append(lines, "("+n.Doubt+")")
	}
	return lines
}

// dot writes the trace for Graphviz: arrows go from causes to what came of them.
func (g *traceGraph) dot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph trace {\n  rankdir=LR;\n  node [shape=box];\n")
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(visible(s)) + `"`
	}
	for _, n := range g.Nodes {
		style := ""
		if n.Missing != "" {
			style = ", style=dashed"
		}
		var lines []string
		for _, l := range n.label() {
			lines = append(lines, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(visible(l)))
		}
		fmt.Fprintf(&b, "  %s [label=\"%s\"%s];\n", quote(n.ID), strings.Join(lines, `\n`), style)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s [label=%s];\n", quote(e.To), quote(e.From), quote(e.Path))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaid writes the trace as a flow chart: arrows go from causes to what came of them.
func (g *traceGraph) mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	number := map[string]int{}
	escape := strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "|", "#124;", "[", "#91;", "]", "#93;").Replace
	for i, n := range g.Nodes {
		number[n.ID] = i
		var lines []string
		for _, l := range n.label() {
			lines = append(lines, escape(visible(l)))
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, strings.Join(lines, "<br/>"))
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -->|\"%s\"| n%d\n", number[e.To], escape(visible(e.Path)), number[e.From])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
