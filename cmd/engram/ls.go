package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// nodeJSON is a node of the hierarchy as ls and stats print it. What does not
// apply at its level is left out.
type nodeJSON struct {
	ID         string       `json:"id"`
	Level      string       `json:"level"`
	Type       string       `json:"type,omitempty"`
	Entities   *uint64      `json:"entities,omitempty,string"`
	Snapshots  uint64       `json:"snapshots,string"`
	Superseded uint64       `json:"superseded,omitempty,string"`
	Instances  uint64       `json:"instances,string"`
	Bytes      int64        `json:"bytes,string"`
	First      *engram.Time `json:"first,omitempty"`
	Last       *engram.Time `json:"last,omitempty"`
	Committed  *uint64      `json:"committed,omitempty,string"`
	Evicted    *uint64      `json:"evicted,omitempty,string"`
	Refused    *uint64      `json:"refused,omitempty,string"`
	Disk       *diskJSON    `json:"disk,omitempty"`
}

// diskJSON is what the long-term memory holds of a node.
type diskJSON struct {
	Entities  uint64      `json:"entities,string"`
	Snapshots uint64      `json:"snapshots,string"`
	Bytes     int64       `json:"bytes,string"`
	First     engram.Time `json:"first"`
	Last      engram.Time `json:"last"`
}

func toNodeJSON(s engram.Stats, counters bool) nodeJSON {
	n := nodeJSON{
		ID: s.ID.String(), Level: s.ID.Level().String(), Type: s.Type, Snapshots: s.Snapshots,
		Superseded: s.Superseded, Instances: s.Instances, Bytes: s.Bytes,
	}
	if s.ID.Level() < engram.LevelEntity {
		n.Entities = &s.Entities
	}
	if s.Snapshots > 0 {
		n.First, n.Last = &s.First, &s.Last
	}
	if counters {
		n.Committed, n.Evicted, n.Refused = &s.Committed, &s.Evicted, &s.Refused
	}
	if d := s.Disk; d.Snapshots > 0 {
		n.Disk = &diskJSON{d.Entities, d.Snapshots, d.Bytes, d.First, d.Last}
	}
	return n
}

var depths = map[string]engram.Level{
	"memory": engram.LevelMemory, "core": engram.LevelCoreSegment,
	"provider": engram.LevelProviderSegment, "entity": engram.LevelEntity,
}

func newLs() *cobra.Command {
	cmd := newLister("ls [ID…]", "List what a memory holds, down to its entities", "entity", false)
	cmd.Long = `Lists the memories, segments and entities, with how much each holds and from when
to when. Of a server that records, ON DISK counts what its folder holds, with superseded
versions, and what is known only from there is listed, too; what still waits to be
compressed counts no DISK BYTES yet.

Of other robots it lists what is asked for: 'robot1:*' is everything of robot1,
'*:Object' the memory Object of every robot.

IDs may be patterns: * stands for any name of a level and ~regex for the names it
matches as a whole. In a name write \/ for a slash and \\ for a backslash, and at its
begin \* for a star and \~ for a tilde; quote it all for the shell.`
	cmd.Example = `  engram ls
  engram ls Vision
  engram ls 'Object/Instance/*/~cup.*'
  engram ls --depth core --all
  engram ls --type engram.object.Instance`
	cmd.Flags().String("type", "", "only what has payloads of this type, or of one that extends it")
	return cmd
}

func newStats() *cobra.Command {
	cmd := newLister("stats [ID…]", "Count what was stored, evicted and refused, per segment", "provider", true)
	cmd.Example = `  engram stats
  engram stats Vision -o json`
	return cmd
}

func newLister(use, short, depth string, counters bool) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, ValidArgsFunction: completeIDs}
	cmd.Flags().String("depth", depth, "how far down: memory, core, provider, entity")
	cmd.Flags().Bool("all", false, "show empty segments and memories too")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		name, _ := cmd.Flags().GetString("depth")
		level, ok := depths[name]
		if !ok {
			return usagef("--depth %s: there is memory, core, provider, entity", name)
		}
		patterns, err := parsePatterns(args)
		if err != nil {
			return err
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		all, _ := cmd.Flags().GetBool("all")
		ofType, _ := cmd.Flags().GetString("type")
		if err := checkType(cmd.Context(), m, ofType); err != nil {
			return err
		}
		nodes, total := []engram.Stats{}, 0
		seen := map[engram.ID]bool{}
		for _, p := range patterns {
			has, err := hasType(cmd.Context(), m, p, ofType)
			if err != nil {
				return err
			}
			stats, err := m.Stats(cmd.Context(), p, max(level, engram.Level(len(p.Levels))))
			if engram.CodeOf(err) == engram.Unavailable && len(stats) > 0 {
				cmd.PrintErrf("engram: not all is listed: %s\n", oneLine(err.Error()))
			} else if err != nil {
				return err
			}
			total += len(stats)
			for _, s := range stats {
				if !seen[s.ID] && (has == nil || has[s.ID]) && (all || s.Snapshots > 0 || s.Refused > 0 || s.Disk.Snapshots > 0) {
					seen[s.ID] = true
					nodes = append(nodes, s)
				}
			}
		}
		if len(nodes) == 0 && len(args) > 0 && total == 0 {
			return engram.Errorf(engram.NotFound, strings.Join(args, " "), "there is nothing like that; 'engram ls --all --depth core' shows what there is")
		}
		if len(nodes) == 0 && len(args) > 0 && format == "table" {
			cmd.PrintErrln("There is nothing in it; --all lists it all the same.")
			return nil
		}
		return printNodes(cmd, format, nodes, counters)
	})
	return cmd
}

// hasType returns the nodes of a pattern that have payloads of a type, or of an extension
// of it; nil without a type.
func hasType(ctx context.Context, m engram.PartReader, p engram.Pattern, name string) (map[engram.ID]bool, error) {
	if name == "" {
		return nil, nil
	}
	q := p.Select(engram.Latest(1))
	q.Type, q.WithoutPayload = name, true
	has := map[engram.ID]bool{}
	err := m.QueryParts(ctx, q, func(part *engram.Result) error {
		for it := range part.All() {
			for id := it.ID.Truncate(engram.LevelEntity); !id.IsRoot() && !has[id]; id = id.Parent() {
				has[id] = true
			}
		}
		return nil
	})
	return has, err
}

// parsePatterns reads ID arguments; none means everything.
func parsePatterns(args []string) ([]engram.Pattern, error) {
	if len(args) == 0 {
		return []engram.Pattern{{}}, nil
	}
	patterns := make([]engram.Pattern, len(args))
	for i, a := range args {
		if a == "" {
			return nil, errEmptyID
		}
		var err error
		if patterns[i], err = engram.ParsePattern(a); err != nil {
			return nil, &usageError{err}
		}
	}
	return patterns, nil
}

func printNodes(cmd *cobra.Command, format string, nodes []engram.Stats, counters bool) error {
	if len(nodes) == 0 && format == "table" {
		cmd.PrintErrln("The memory is empty. Fill it with 'engram import FILE' or 'engram put', or see 'engram ls --all --depth core'.")
		return nil
	}
	t := &table{
		header: []string{"ID", "ENTITIES", "SNAPSHOTS", "BYTES", "FIRST", "LAST", "TYPE"},
		right:  []bool{false, true, true, true},
		spare:  []string{"FIRST", "TYPE", "DISK BYTES", "BYTES", "SUPERSEDED", "ENTITIES", "ON DISK", "COMMITTED"},
	}
	if counters {
		t.header = []string{"ID", "ENTITIES", "SNAPSHOTS", "SUPERSEDED", "BYTES", "COMMITTED", "EVICTED", "REFUSED"}
		t.right = []bool{false, true, true, true, true, true, true, true}
	}
	recorded := slices.ContainsFunc(nodes, func(s engram.Stats) bool { return s.Disk.Snapshots > 0 })
	if recorded {
		at := slices.Index(t.header, "BYTES") + 1
		t.header = slices.Insert(t.header, at, "ON DISK", "DISK BYTES")
		t.right = slices.Insert(t.right, at, true, true)
	}
	objects := make([]nodeJSON, len(nodes))
	above := tree{}
	for i, s := range nodes {
		objects[i] = toNodeJSON(s, counters)
		name, typ := above.place(s)
		row := []any{name, "", s.Snapshots}
		if objects[i].Entities != nil {
			row[1] = s.Entities
		}
		if counters {
			row = append(row, s.Superseded)
		}
		row = append(row, byteSize(s.Bytes))
		if recorded {
			row = append(row, s.Disk.Snapshots, byteSize(s.Disk.Bytes))
		}
		if counters {
			row = append(row, s.Committed, s.Evicted, s.Refused)
		} else {
			first, last := spanOf(s)
			row = append(row, first, age(last), typ)
		}
		t.add(row...)
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}

// spanOf returns the times of the oldest and the newest snapshot of a node, in the
// working memory or on disk, or nothing.
func spanOf(s engram.Stats) (first, last any) {
	switch {
	case s.Snapshots == 0 && s.Disk.Snapshots == 0:
		return "", ""
	case s.Snapshots == 0:
		return s.Disk.First, s.Disk.Last
	case s.Disk.Snapshots == 0:
		return s.First, s.Last
	}
	return min(s.First, s.Disk.First), max(s.Last, s.Disk.Last)
}

// tree is what was listed so far.
type tree map[engram.ID]branch

type branch struct {
	depth int
	typ   string // its own, or that of what is above it
}

// place returns how a node's ID and type stand in the list: indented below its
// parent with its name and, if it differs, its type; or at the left with its ID if
// the parent is not listed.
func (t tree) place(s engram.Stats) (name, typ cell) {
	id := s.ID.String()
	name, typ = cellOf(id, id), cellOf(s.Type, s.Type)
	b := branch{typ: s.Type}
	if parent, ok := t[s.ID.Parent()]; ok {
		b.depth = parent.depth + 1
		name.shown = strings.Repeat("  ", b.depth) + engram.EscapeName(s.ID.Name())
		if s.Type == parent.typ {
			typ.shown = ""
		}
		if s.Type == "" {
			b.typ = parent.typ
		}
	}
	t[s.ID] = b
	return name, typ
}
