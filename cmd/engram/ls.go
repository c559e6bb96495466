package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
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
	Value      *valueJSON   `json:"value,omitempty"`
	Keeps      *keepsJSON   `json:"keeps,omitempty"`
	Mark       *setMarkJSON `json:"mark,omitempty"`
}

// setMarkJSON is an engram.Mark.
type setMarkJSON struct {
	ID   string `json:"id"`
	By   string `json:"by"`
	Note string `json:"note"`
}

// keepsJSON are the bounds of an entity that has its own.
type keepsJSON struct {
	Count int    `json:"count,string"`
	Age   string `json:"age"`
	Bytes int64  `json:"bytes,string"`
}

// valueJSON is an engram.Value.
type valueJSON struct {
	Asked      float64 `json:"asked"`
	Askers     int     `json:"askers"`
	Linked     float64 `json:"linked"`
	Surprised  float64 `json:"surprised"`
	Marked     float64 `json:"marked"`
	Confidence float64 `json:"confidence"`
	Stretch    float64 `json:"stretch"`
}

// diskJSON is what the long-term memory holds of a node.
type diskJSON struct {
	Entities  uint64      `json:"entities,string"`
	Snapshots uint64      `json:"snapshots,string"`
	Bytes     int64       `json:"bytes,string"`
	First     engram.Time `json:"first"`
	Last      engram.Time `json:"last"`
	Stretch   float64     `json:"stretch,omitempty"` // 1 is left out
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
		n.Disk = &diskJSON{d.Entities, d.Snapshots, d.Bytes, d.First, d.Last, 0}
		if d.Stretch > 1 {
			n.Disk.Stretch = d.Stretch
		}
	}
	if b := s.Keeps; b != nil {
		n.Keeps = &keepsJSON{b.MaxCount, b.MaxAge.String(), b.MaxBytes}
	}
	if v := s.Value; v != nil && counters {
		n.Value = &valueJSON{v.Asked, v.Askers, v.Linked, v.Surprised, v.Marked, v.Confidence, v.Stretch}
	}
	if m := s.Mark; m != nil && counters {
		n.Mark = &setMarkJSON{m.ID.String(), m.ID.ProviderSegment(), m.Note}
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

SystemState, what the server knows of itself and its computer, is listed by its name, or with
--system.

Of other robots it lists what is asked for: 'robot1:*' is everything of robot1,
'*:Object' the memory Object of every robot.

A recorded topic may be typed as it is: run7:/joint_states, or /joint_states of all sources.

IDs may be patterns: * stands for any name of a level and ~regex for the names it
matches as a whole. In a name write \/ for a slash and \\ for a backslash, and at its
begin \* for a star and \~ for a tilde; quote it all for the shell.`
	cmd.Example = `  engram ls
  engram ls Vision
  engram ls 'Object/Instance/*/~cup.*'
  engram ls --depth core --all
  engram ls --type engram.object.Instance`
	addSystemFlag(cmd)
	cmd.Flags().String("type", "", "only what has payloads of this type, or of one that extends it")
	return cmd
}

func newStats() *cobra.Command {
	cmd := newLister("stats [ID…]", "Count what was stored, evicted and refused, per segment", "provider", true)
	cmd.Long = `Counts what was stored, evicted and refused.

--why tells why entities stay in the working memory for longer or shorter. ASKED are an
entity's uses, reads and queries, and BY tells how many asked within the last stay, up to 4;
uses count that many times. An asker is a program of an identity; what Engram reads by itself to
follow, train, copy or export counts for nothing. LINKED are uses that came along links. What
SURPRISED counts as many uses as it had sigmas, what was MARKED by an incident, a standing rule or
by hand counts 8; MARK tells by whom and why ('engram mark'). The unit of time is a state's usual
stay in the memory: within a sixty-fourth of it uses of an asker count once, and after half of it
they count half. Uses and the CONFIDENCE of the newest snapshot multiply
the bounds of the history by STRETCH, 1 to 4. A full memory evicts the least valuable first.
Entities of memories that evict by age have none of it, nor have those that are only on disk.
AGE/ is how many times less the age of what is on disk counts for the policies, for what the
entity is and was worth; what it is above 1 halves in 30 days. KEEPS are bounds that entities
have of their own ('engram segment set').`
	cmd.Example = `  engram stats
  engram stats Vision -o json
  engram stats --why Object/Instance`
	cmd.Flags().Bool("why", false, "why entities stay in the working memory")
	return cmd
}

func newLister(use, short, depth string, counters bool) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, ValidArgsFunction: completeIDs}
	cmd.Flags().String("depth", depth, "how far down: memory, core, provider, entity")
	cmd.Flags().BoolP("all", "a", false, "show empty segments and memories too")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		name, _ := cmd.Flags().GetString("depth")
		why, _ := cmd.Flags().GetBool("why")
		if why {
			name = "entity"
		}
		level, ok := depths[name]
		if !ok {
			return usagef("--depth %s: there is memory, core, provider, entity", name)
		}
		patterns, err := parsePatterns(args)
		if err != nil {
			return err
		}
		hidden := hidesSystem(cmd)
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
				if hidden(p, s.ID) {
					continue
				}
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
		if why && format == "table" {
			return printValues(cmd, nodes)
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
	err := m.QueryParts(engram.WithAsker(ctx, engram.Nobody), q, func(part *engram.Result) error {
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
		if patterns[i], err = parsePattern(a); err != nil {
			return nil, err
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
			row = append(row, first, last, typ)
		}
		t.add(row...)
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}

// printValues prints why entities stay in the working memory.
func printValues(cmd *cobra.Command, nodes []engram.Stats) error {
	t := &table{
		header: []string{"ID", "SNAPSHOTS", "BYTES", "ASKED", "BY", "LINKED", "SURPRISED", "MARKED", "CONFIDENCE", "STRETCH"},
		right:  []bool{false, true, true, true, true, true, true, true, true, true},
	}
	recorded := slices.ContainsFunc(nodes, func(s engram.Stats) bool { return s.Disk.Stretch > 0 })
	if recorded {
		t.header, t.right = append(t.header, "AGE/"), append(t.right, true)
	}
	own := slices.ContainsFunc(nodes, func(s engram.Stats) bool { return s.Keeps != nil })
	if own {
		t.header, t.right = append(t.header, "KEEPS"), append(t.right, false)
	}
	marked := slices.ContainsFunc(nodes, func(s engram.Stats) bool { return s.Mark != nil })
	if marked {
		t.header, t.right = append(t.header, "MARK"), append(t.right, false)
	}
	one := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	for _, s := range nodes {
		row := []any{s.ID, s.Snapshots, byteSize(s.Bytes), "", "", "", "", "", ""}
		switch v := s.Value; {
		case s.ID.Level() != engram.LevelEntity:
			continue
		case s.Snapshots == 0 && s.Disk.Snapshots > 0:
			row = append(row, "on disk")
		case v == nil:
			row = append(row, "by age")
		default:
			row = append(row[:3], one(v.Asked), v.Askers, one(v.Linked), one(v.Surprised), one(v.Marked), strconv.FormatFloat(v.Confidence, 'f', 2, 64), one(v.Stretch))
		}
		switch {
		case s.Disk.Stretch > 0:
			row = append(row, one(s.Disk.Stretch))
		case recorded:
			row = append(row, "")
		}
		switch {
		case s.Keeps != nil:
			row = append(row, cmp.Or(boundsText(*s.Keeps), "all"))
		case own:
			row = append(row, "")
		}
		switch m := s.Mark; {
		case m != nil && m.Note == "":
			row = append(row, "by "+m.ID.ProviderSegment())
		case m != nil:
			row = append(row, "by "+m.ID.ProviderSegment()+": "+m.Note)
		case marked:
			row = append(row, "")
		}
		t.add(row...)
	}
	return print(cmd.OutOrStdout(), "table", t, []nodeJSON(nil))
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
	name, typ = cell{shown: id, raw: id}, cell{shown: s.Type, raw: s.Type}
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
