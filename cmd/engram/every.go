package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// aggregateJSON is what there is of a signal in a bucket of --every.
type aggregateJSON struct {
	Entity string      `json:"entity"`
	Time   engram.Time `json:"time"` // when the bucket begins
	Field  string      `json:"field"`
	Count  int64       `json:"count"`
	Min    float64     `json:"min"`
	Max    float64     `json:"max"`
	Mean   float64     `json:"mean"`
	First  float64     `json:"first"`
	Last   float64     `json:"last"`
}

// showAggregates prints what the memory makes of signals in each bucket. Which elements of lists
// the signals are is known by the newest snapshot of each entity.
func showAggregates(ctx context.Context, cmd *cobra.Command, m engram.Service, types *typeCache, targets []target, sel selection, s signals, format string) error {
	all := []aggregateJSON{}
	entities := map[string]bool{}
	for _, t := range targets {
		newest := t.pattern.Select(engram.Latest(1))
		newest.Source, newest.Type = sel.source, sel.ofType
		heads, err := m.Query(ctx, newest)
		if err != nil {
			return err
		}
		if len(heads.Items()) == 0 {
			e := explainer{m: m, types: types, sel: sel, target: t, fallback: engram.All(), missing: heads.Missing}
			reason, err := e.explain(ctx)
			if err != nil {
				return err
			}
			return engram.Errorf(engram.NotFound, "", "%s", reason)
		}
		for head := range heads.All() {
			of, err := aggregatesOf(ctx, cmd, m, types, head, sel, s)
			if err != nil {
				return err
			}
			for _, a := range of {
				entities[a.Entity] = true
			}
			all = append(all, of...)
		}
	}
	t := &table{verbatim: true}
	if isFlat(format) || len(entities) > 1 {
		t.header, t.right = append(t.header, "ENTITY"), append(t.right, false)
	}
	t.header = append(t.header, "TIME", "FIELD", "COUNT", "MIN", "MAX", "MEAN", "FIRST", "LAST")
	t.right = append(t.right, false, false, true, true, true, true, true, true)
	if isFlat(format) {
		for i, h := range t.header {
			t.header[i] = strings.ToLower(h)
		}
	}
	for _, a := range all {
		var row []any
		if isFlat(format) || len(entities) > 1 {
			row = append(row, a.Entity)
		}
		t.add(append(row, fullTime(a.Time), a.Field, a.Count, a.Min, a.Max, a.Mean, a.First, a.Last)...)
	}
	if len(all) == 0 && format == "table" {
		return engram.Errorf(engram.NotFound, strings.Join(s.asked, ", "), "nothing that is asked for has such a number; 'engram history' without --every shows what there is")
	}
	return print(cmd.OutOrStdout(), format, t, all)
}

// aggregatesOf returns the aggregates of one entity, of which head is the newest snapshot.
func aggregatesOf(ctx context.Context, cmd *cobra.Command, m engram.Reader, types *typeCache, head engram.Item, sel selection, s signals) (all []aggregateJSON, err error) {
	columns, rows, err := s.rows(ctx, types, []shown{{head, 0}})
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, engram.Errorf(engram.NotFound, strings.Join(s.asked, ", "), "the newest snapshot of %s has no such member or element", head.ID.Parent())
	}
	sel.fields = nil
	paths := make([]string, len(columns))
	for i, c := range columns {
		paths[i] = rows[0].cells[c].path
		if !slices.Contains(sel.fields, paths[i]) {
			sel.fields = append(sel.fields, paths[i])
		}
	}
	entity := head.ID.Parent()
	r, err := sel.query(ctx, m, target{text: entity.String(), pattern: engram.PatternOf(entity), index: -1}, engram.All())
	if err != nil {
		return nil, err
	}
	warnAbout(cmd, r)
	for it := range r.All() {
		v, err := idf.DecodeValue(it.Instances[0].Payload.Bytes)
		if err != nil {
			return nil, err
		}
		fields, _ := v.(map[string]any)
		for i, c := range columns {
			f, ok := fields[paths[i]].(map[string]any)
			if !ok {
				continue // no value in this bucket
			}
			a := aggregateJSON{Entity: entity.String(), Time: it.Snapshot.Time, Field: c}
			a.Count, _ = f["count"].(int64)
			for name, to := range map[string]*float64{"min": &a.Min, "max": &a.Max, "mean": &a.Mean, "first": &a.First, "last": &a.Last} {
				*to, _ = f[name].(float64)
			}
			all = append(all, a)
		}
	}
	return all, nil
}
