package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
)

const (
	markType    = "engram.system_state.Mark"
	markPattern = "SystemState/Mark"
)

func newMark() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mark ID…",
		Short: "Say that entities matter, so that they are kept longer",
		Long: `Marks entities that matter: their history stays longer in main memory and on disk, until 'engram mark rm'. A
mark does not fade. ID is an entity, a segment or a pattern; entities to come are marked, too. Bounds in bytes stay as
they are: if all is marked, nothing is kept longer.

'engram stats --why ID' shows what a mark does. A mark is an entity of SystemState/Mark, which programs can commit as
well. A span of time is marked by 'engram episode mark'.`,
		Example: `  engram mark Object/Instance/localiser/cup --note 'the cup of the demo'
  engram mark 'Human/Pose/*/~ann.*' --name visitors
  engram mark ls
  engram mark rm visitors`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
		RunE:              markEntities,
	}
	f := cmd.Flags()
	f.String("note", "", "why they matter, for people")
	f.String("name", "", "of the mark, for 'ls' and 'rm'; an existing one is replaced (default: the ID)")
	f.String("provider", "", "who marks them: the provider segment of the mark (default: your user name)")
	list := &cobra.Command{Use: "ls", Short: "List the marks", Args: positional(cobra.NoArgs)}
	listing(list, markPattern, []string{"NAME", "BY", "ENTITIES", "SINCE", "NOTE", "STATE"}, nil, markRow)
	rm := &cobra.Command{
		Use: "rm NAME…", Short: "Take marks back", Args: positional(cobra.MinimumNArgs(1)),
		Long: `Takes marks back. NAME is what 'engram mark ls' has as such, BY/NAME where several have it, or the ID of the mark.
That it stood stays in the history.`,
		Example: `  engram mark rm Object/Instance/localiser/cup`,
		RunE:    endMarks,
	}
	cmd.AddCommand(list, rm)
	return cmd
}

func markEntities(cmd *cobra.Command, args []string) error {
	name, _ := cmd.Flags().GetString("name")
	note, _ := cmd.Flags().GetString("note")
	if name != "" && len(args) > 1 {
		return usagef("--name: each of several IDs is a mark of its own; name one ID, or a pattern")
	}
	var patterns []engram.Pattern
	for _, a := range args {
		t, err := parseTarget(a)
		switch {
		case err != nil:
			return err
		case t.time != nil:
			return usagef("%s names a time; a mark is of entities. 'engram episode mark' keeps a span of time", a)
		}
		patterns = append(patterns, t.pattern)
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	marks, err := newTypeCache(m).get(cmd.Context(), markType)
	if err != nil {
		return err
	}
	for _, p := range patterns {
		id, err := engram.NewID("SystemState", "Mark", worldProvider(cmd), cmp.Or(name, p.String()))
		if err != nil {
			return &usageError{err}
		}
		if err := sayMark(cmd.Context(), m, marks, id, p.String(), note, false, engram.Now()); err != nil {
			return err
		}
		entities := uint64(0)
		if nodes, err := m.Stats(cmd.Context(), p, engram.LevelEntity); err == nil { // it stands all the same
			for _, s := range nodes {
				if s.ID.Level() == engram.LevelEntity {
					entities++
				}
			}
		}
		if entities == 0 {
			cmd.Printf("%s: nothing is there yet that it marks\n", visible(id.String()))
		} else {
			cmd.Printf("%s: %s marked\n", visible(id.String()), are(entities, "entity"))
		}
	}
	return nil
}

// sayMark commits a mark, of the type of marks.
func sayMark(ctx context.Context, m *client.Client, t *idf.Type, id engram.ID, entities, note string, ended bool, at engram.Time) error {
	return commitValue(ctx, m, id, at, t, map[string]any{"timestamp": at, "entities": entities, "note": note, "ended": ended})
}

func markRow(it engram.Item, v map[string]any, _ []engram.Item) []any {
	state := "stands"
	if ended, _ := v["ended"].(bool); ended {
		state = "ended"
	}
	return []any{it.ID.Entity(), it.ID.ProviderSegment(), v["entities"], it.Time, v["note"], state}
}

func endMarks(cmd *cobra.Command, names []string) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	r, err := m.Query(cmd.Context(), engram.MustPattern(markPattern).Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := endMark(cmd, m, r, name); err != nil {
			return err
		}
	}
	return nil
}

// endMark ends the mark of a name among the newest states of all.
func endMark(cmd *cobra.Command, m *client.Client, all *engram.Result, name string) error {
	var found []engram.Item
	for it := range all.All() {
		id := it.ID.Truncate(engram.LevelEntity)
		if slices.Contains([]string{id.Entity(), id.ProviderSegment() + "/" + id.Entity(), id.String()}, name) {
			found = append(found, it)
		}
	}
	switch len(found) {
	case 0:
		return engram.Errorf(engram.NotFound, name, "there is no mark of this name; 'engram mark ls' lists them")
	case 1:
	default:
		var names []string
		for _, it := range found {
			names = append(names, it.ID.ProviderSegment()+"/"+it.ID.Entity())
		}
		return engram.Errorf(engram.Invalid, name, "several have that name: say %s", strings.Join(names, " or "))
	}
	id, p := found[0].ID.Truncate(engram.LevelEntity), &found[0].Snapshot.Instances[0].Payload
	t, err := newTypeCache(m).get(cmd.Context(), p.Type)
	if err != nil {
		return err
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return err
	}
	members, _ := v.(map[string]any)
	entities, _ := members["entities"].(string)
	note, _ := members["note"].(string)
	if ended, _ := members["ended"].(bool); ended {
		cmd.Printf("%s is ended already\n", visible(id.String()))
		return nil
	}
	if err = sayMark(cmd.Context(), m, t, id, entities, note, true, max(engram.Now(), found[0].Time+1)); err == nil {
		cmd.Printf("%s is ended\n", visible(id.String()))
	}
	return err
}
