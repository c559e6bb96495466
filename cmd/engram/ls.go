package main

import (
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
	Entities   *uint64      `json:"entities,omitempty"`
	Snapshots  uint64       `json:"snapshots"`
	Superseded uint64       `json:"superseded,omitempty"`
	Instances  uint64       `json:"instances"`
	Bytes      int64        `json:"bytes"`
	First      *engram.Time `json:"first,omitempty"`
	Last       *engram.Time `json:"last,omitempty"`
	Committed  *uint64      `json:"committed,omitempty"`
	Evicted    *uint64      `json:"evicted,omitempty"`
	Refused    *uint64      `json:"refused,omitempty"`
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
	return n
}

var depths = map[string]engram.Level{
	"memory": engram.LevelMemory, "core": engram.LevelCoreSegment,
	"provider": engram.LevelProviderSegment, "entity": engram.LevelEntity,
}

func newLs() *cobra.Command {
	cmd := newLister("ls [ID…]", "List what a memory holds, down to its entities", "entity", false)
	cmd.Example = `  engram ls
  engram ls Vision
  engram ls 'Object/Instance/*/~cup.*'
  engram ls --depth core --all`
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
	addOutputFlag(cmd)
	cmd.Flags().String("depth", depth, "how far down: memory, core, provider, entity")
	cmd.Flags().Bool("all", false, "show empty segments and memories too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
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
		nodes, total := []engram.Stats{}, 0
		seen := map[engram.ID]bool{}
		for _, p := range patterns {
			stats, err := m.Stats(cmd.Context(), p, max(level, engram.Level(len(p.Levels))))
			if err != nil {
				return err
			}
			total += len(stats)
			for _, s := range stats {
				if !seen[s.ID] && (all || s.Snapshots > 0 || s.Refused > 0) {
					seen[s.ID] = true
					nodes = append(nodes, s)
				}
			}
		}
		if len(nodes) == 0 && len(args) > 0 && total == 0 {
			return engram.Errorf(engram.NotFound, strings.Join(args, " "), "there is nothing like that; 'engram ls --all --depth core' shows what there is")
		}
		return printNodes(cmd, format, nodes, counters)
	}
	return cmd
}

// parsePatterns reads ID arguments; none means everything.
func parsePatterns(args []string) ([]engram.Pattern, error) {
	if len(args) == 0 {
		return []engram.Pattern{{}}, nil
	}
	patterns := make([]engram.Pattern, len(args))
	for i, a := range args {
		var err error
		if patterns[i], err = engram.ParsePattern(a); err != nil {
			return nil, &usageError{err}
		}
	}
	return patterns, nil
}

func printNodes(cmd *cobra.Command, format string, nodes []engram.Stats, counters bool) error {
	t := &table{
		header: []string{"ID", "ENTITIES", "SNAPSHOTS", "BYTES", "FIRST", "LAST", "TYPE"},
		right:  []bool{false, true, true, true},
	}
	if counters {
		t.header = []string{"ID", "ENTITIES", "SNAPSHOTS", "SUPERSEDED", "BYTES", "COMMITTED", "EVICTED", "REFUSED"}
		t.right = []bool{false, true, true, true, true, true, true, true}
	}
	objects := make([]nodeJSON, len(nodes))
	for i, s := range nodes {
		objects[i] = toNodeJSON(s, counters)
		id := s.ID.String()
		if format == "table" {
			id = treeName(nodes[:i], s.ID)
		}
		entities := ""
		if objects[i].Entities != nil {
			entities = formatCount(s.Entities)
		}
		if counters {
			t.add(id, entities, formatCount(s.Snapshots), formatCount(s.Superseded), formatBytes(s.Bytes),
				formatCount(s.Committed), formatCount(s.Evicted), formatCount(s.Refused))
			continue
		}
		var first, last string
		if s.Snapshots > 0 {
			first, last = s.First.String(), s.Last.String()
			if format == "table" {
				first, last = first[:len("2006-01-02 15:04:05.000")], last[:len("2006-01-02 15:04:05.000")]
			}
		}
		t.add(id, entities, formatCount(s.Snapshots), formatBytes(s.Bytes), first, last, s.Type)
	}
	if len(nodes) == 0 && format == "table" {
		cmd.PrintErrln("The memory is empty. Fill it with 'engram import FILE' or 'engram put', or see 'engram ls --all --depth core'.")
		return nil
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}

// treeName returns a node's name, indented by its depth, if its parent stands above
// it; and the whole ID if it does not.
func treeName(above []engram.Stats, id engram.ID) string {
	for i := len(above) - 1; i >= 0; i-- {
		if above[i].ID == id.Parent() {
			return strings.Repeat("  ", int(id.Level())-1) + engram.EscapeName(id.Name())
		}
		if above[i].ID.Level() < id.Level()-1 {
			break
		}
	}
	return strings.Repeat("  ", int(id.Level())-1) + id.String()
}
