package main

import (
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/link"
)

// traceJSON is a trace as programs read it.
type traceJSON struct {
	Direction string          `json:"direction"`
	Nodes     []traceNodeJSON `json:"nodes"`
	Links     []traceLinkJSON `json:"links"`
	Cut       int             `json:"cut,omitempty"`
}

type traceNodeJSON struct {
	ID      string       `json:"id"`
	Depth   int          `json:"depth"`
	Type    string       `json:"type,omitempty"`
	Time    *engram.Time `json:"time,omitempty"`
	Until   *engram.Time `json:"until,omitempty"` // of an activity: its last snapshot
	Missing string       `json:"missing,omitempty"`
}

type traceLinkJSON struct {
	From   string `json:"from"`   // ID of the node that has the link
	To     string `json:"to"`     // ID of the node that it is to
	Member string `json:"member"` // that holds it
	Link   string `json:"link"`   // as the member has it
}

func traceObject(t *link.Trace) traceJSON {
	o := traceJSON{Direction: "up", Nodes: []traceNodeJSON{}, Links: []traceLinkJSON{}, Cut: t.Cut}
	if t.Direction == link.Down {
		o.Direction = "down"
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		j := traceNodeJSON{ID: n.ID.String(), Depth: n.Depth, Type: n.Type(), Missing: n.Missing}
		if at, ok := n.Time(); ok {
			j.Time = &at
		}
		if n.IsActivity() {
			j.Until = &n.Snapshots[len(n.Snapshots)-1].Time
		}
		o.Nodes = append(o.Nodes, j)
	}
	for _, l := range t.Links {
		o.Links = append(o.Links, traceLinkJSON{t.Nodes[l.From].ID.String(), t.Nodes[l.To].ID.String(), l.Path, l.ID.String()})
	}
	return o
}

// nodeLines returns what stands in the box of a node: its segment, its name, and when.
func nodeLines(n *link.Node) (lines []string) {
	names := n.ID.Names()
	if len(names) == int(engram.LevelEntity) {
		lines = append(lines, strings.Join(names[:len(names)-1], "/"), names[len(names)-1])
	} else {
		lines = append(lines, strings.Join(names, "/"))
	}
	if at, ok := n.Time(); ok {
		clock := clockOf(at)
		if n.IsActivity() {
			clock += " to " + until(n)
		}
		lines = append(lines, clock)
	}
	if n.Missing != "" {
		lines = append(lines, n.Missing)
	}
	return lines
}

// drawDOT draws a trace for Graphviz, causes above what came of them.
func drawDOT(t *link.Trace) string {
	quote := func(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(visible(s)) }
	var b strings.Builder
	b.WriteString("digraph trace {\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for i := range t.Nodes {
		n, style := &t.Nodes[i], ""
		lines := nodeLines(n)
		for k := range lines {
			lines[k] = quote(lines[k])
		}
		switch {
		case n.Missing != "":
			style = ", style=dashed"
		case i == 0:
			style = ", style=bold"
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\"%s];\n", i, strings.Join(lines, `\n`), style)
	}
	for _, l := range t.Links {
		fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\"];\n", l.To, l.From, quote(l.Path))
	}
	b.WriteString("}\n")
	return b.String()
}

// drawMermaid draws a trace for Mermaid, which pages of GitHub and GitLab show.
func drawMermaid(t *link.Trace) string {
	quote := func(s string) string {
		return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "#", "&num;", "\n", " ").Replace(visible(s))
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i := range t.Nodes {
		lines := nodeLines(&t.Nodes[i])
		for k := range lines {
			lines[k] = quote(lines[k])
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, strings.Join(lines, "<br>"))
		if t.Nodes[i].Missing != "" {
			fmt.Fprintf(&b, "  style n%d stroke-dasharray: 4\n", i)
		}
	}
	for _, l := range t.Links {
		fmt.Fprintf(&b, "  n%d -->|\"%s\"| n%d\n", l.To, quote(l.Path), l.From)
	}
	return b.String()
}
