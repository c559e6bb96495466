package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/sense"
)

func newAttention() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attention",
		Short: "See what producers pass on of what their sensors give",
		Long: `Rules of attention say which snapshots producers pass on to the memory, from a ring of the last
seconds that they hold. A rule is an entity of SystemState/Attention: 'engram put' sets it, 'engram attention rm' ends it.`,
		Example: `  engram put SystemState/Attention/me/idle '{"entities": "Vision/ImageRGB", "filter": {"max_rate": "2 Hz"}}'
  engram put SystemState/Attention/me/grasp '{"entities": "Vision/ImageRGB", "before": "2s", "after": "1s",
      "while": ["Skill/Execution/*/~Grasp.* where status == \"Running\""]}'`,
	}
	rules := &cobra.Command{Use: "ls", Short: "List the rules", Args: positional(cobra.NoArgs)}
	sensors := &cobra.Command{Use: "sensors", Short: "List what sensors gave, and how much of that was passed on", Args: positional(cobra.NoArgs)}
	incidents := &cobra.Command{Use: "incidents", Short: "List the triggers of rules, and what came of them", Args: positional(cobra.NoArgs)}
	listing(rules, sense.Segment, []string{"RULE", "BY", "ENTITIES", "FILTER", "WHEN", "BEFORE", "AFTER", "STATE"}, []bool{5: true, 6: true}, ruleRow)
	listing(sensors, sense.SensorSegment, []string{"SENSOR", "PRODUCER", "GIVEN", "PASSED", "RECALLED", "LEFT OUT", "LACKED"}, []bool{2: true, 3: true, 4: true, 5: true, 6: true}, sensorRow)
	listing(incidents, sense.IncidentSegment, []string{"TIME", "RULE", "PRODUCER", "LASTS", "SEEN", "KEPT", "LACKED", "SUPPRESSED", "CAUSE", "NOTE"}, []bool{3: true, 4: true, 5: true, 6: true, 7: true}, incidentRow)
	cmd.AddCommand(rules, newAttentionRm(), sensors, incidents)
	return cmd
}

func newAttentionRm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm RULE…",
		Short: "End rules",
		Long: `Ends rules by name: each is set once more, as disabled, and nobody follows it then. What it was stays in
the history; 'engram put' sets it again.`,
		Example: "  engram attention rm idle grasp",
		Args:    positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			m, err := connect(cmd)
			if err != nil {
				return err
			}
			defer m.Close()
			for _, name := range names {
				if err := endRule(cmd, m, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// endRule sets the rule of a name once more, as disabled.
func endRule(cmd *cobra.Command, m *client.Client, name string) error {
	ctx := cmd.Context()
	segment := engram.MustPattern(sense.Segment)
	if id, err := engram.Parse(name); err == nil && id.Level() == engram.LevelEntity && segment.Enclosing().Contains(id) {
		name = id.Entity()
	}
	r, err := m.Query(ctx, segment.Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	var newest engram.Item // of several who set a rule of one name the last one counts
	for it := range r.All() {
		if it.ID.Entity() == name && (newest.Snapshot == nil || it.Time > newest.Time) {
			newest = it
		}
	}
	if newest.Snapshot == nil {
		return engram.Errorf(engram.NotFound, name, "there is no rule of this name; 'engram attention ls' lists them")
	}
	p := newest.Instances[0].Payload
	t, err := newTypeCache(m).get(ctx, p.Type)
	if err != nil {
		return err
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return err
	}
	rule, err := sense.Decode(v)
	if err != nil {
		return err
	}
	entity := newest.ID.Truncate(engram.LevelEntity)
	if rule.Disabled {
		cmd.Printf("%s is ended already\n", entity)
		return nil
	}
	rule.Disabled, rule.Problem = true, ""
	at := max(engram.Now(), newest.Time+1)
	if err = commitValue(ctx, m, entity, at, t, rule.Value(at)); err == nil {
		cmd.Printf("%s is ended\n", entity)
	}
	return err
}

// listing has a command list the newest state of the entities of a core segment, as rows.
func listing(cmd *cobra.Command, segment string, header []string, right []bool, row func(it engram.Item, v map[string]any, among []engram.Item) []any) {
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		r, err := m.Query(cmd.Context(), engram.MustPattern(segment).Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		types := newTypeCache(m)
		out := &table{header: header, right: right}
		all := []attentionJSON{}
		items := slices.SortedFunc(r.All(), func(a, b engram.Item) int {
			return cmp.Or(strings.Compare(a.ID.Entity(), b.ID.Entity()), a.ID.Compare(b.ID))
		})
		for _, it := range items {
			p := &it.Snapshot.Instances[0].Payload
			t, err := types.get(cmd.Context(), p.Type)
			if err != nil {
				return err
			}
			v, err := t.Decode(p.Bytes)
			if err != nil {
				return err
			}
			data, err := t.JSON(p.Bytes, idf.JSONOptions{})
			if err != nil {
				return err
			}
			members, _ := v.(map[string]any)
			out.add(row(it, members, items)...)
			all = append(all, attentionJSON{it.ID.Truncate(engram.LevelEntity).String(), data})
		}
		return print(cmd.OutOrStdout(), format, out, all)
	})
}

type attentionJSON struct {
	ID   string          `json:"id"`
	Data json.RawMessage `json:"data"`
}

func ruleRow(it engram.Item, v map[string]any, among []engram.Item) []any {
	id := it.ID
	r, err := sense.Decode(v)
	if err != nil {
		return []any{id.Entity(), id.ProviderSegment(), "", "", "", "", "", err.Error()}
	}
	var filter, when []string
	for _, name := range slices.Sorted(maps.Keys(r.Filter)) {
		filter = append(filter, name+"="+r.Filter[name])
	}
	switch {
	case r.Object != (engram.ID{}):
		filter = append(filter, "where "+r.Object.String()+" is")
	case len(r.Region) > 0:
		filter = append(filter, fmt.Sprint("in ", r.Region))
	}
	if r.On != "" {
		when = append(when, "on "+r.On)
	}
	if r.Where != "" {
		when = append(when, "where "+r.Where)
	}
	if len(r.While) > 0 {
		when = append(when, "while "+strings.Join(r.While, " and "))
	}
	state := cmp.Or(r.Problem, "set")
	if r.Disabled {
		state = "disabled"
	}
	for _, o := range among {
		if o.ID.Entity() == id.Entity() && o.Time > it.Time {
			state = "replaced by that of " + o.ID.ProviderSegment()
		}
	}
	return []any{id.Entity(), id.ProviderSegment(), r.Entities, cmp.Or(strings.Join(filter, " "), "all"), cmp.Or(strings.Join(when, " "), "always"),
		durationCell(r.Before), durationCell(r.After), state}
}

func durationCell(d time.Duration) cell { return cell{shown: formatDuration(d), raw: d.String()} }

func sensorRow(it engram.Item, v map[string]any, _ []engram.Item) []any {
	return []any{v["sensor"], it.ID.ProviderSegment(), v["given"], v["passed"], v["recalled"], v["left_out"], v["lacked"]}
}

func incidentRow(it engram.Item, v map[string]any, _ []engram.Item) []any {
	var seen, kept, lacked int64
	shares, _ := v["sensors"].([]any)
	for _, s := range shares {
		m, _ := s.(map[string]any)
		n := func(key string) int64 { n, _ := m[key].(int64); return n }
		seen, kept, lacked = seen+n("seen"), kept+n("kept"), lacked+n("lacked")
	}
	lasts := any("still")
	start, _ := v["window_start"].(engram.Time)
	if end, ok := v["window_end"].(engram.Time); ok {
		lasts = durationCell(end.Sub(start).Round(time.Millisecond))
	}
	rule, _ := v["rule"].(engram.ID)
	note, _ := v["note"].(string)
	if reason, _ := v["reason"].(string); note == "" {
		note = reason
	}
	at, _ := v["timestamp"].(engram.Time)
	cause := ""
	if c, ok := v["cause"].(engram.ID); ok {
		cause = c.String()
	}
	return []any{at, rule.Entity(), it.ID.ProviderSegment(), lasts, seen, kept, lacked, v["suppressed"], cause, note}
}
