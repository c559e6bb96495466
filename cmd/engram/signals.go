package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// signals are members of payloads that were asked for by --field, shown as columns: position[3], pose.position.x, and by
// their names elements of a list beside a list "name" of as many texts: position.kLeftElbow.
type signals struct {
	asked    []string
	request  []string // the members that have them
	elements bool     // some are elements of lists
}

// signalsOf finds out what members some signals are of, by the types of the segments there are.
func signalsOf(ctx context.Context, m engram.Service, types *typeCache, patterns []engram.Pattern, asked []string) (signals, error) {
	s := signals{asked: asked}
	var known []*idf.Type
	for _, p := range patterns {
		p.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelProviderSegment))]
		segments, err := m.Describe(ctx, p)
		if err != nil {
			return s, err
		}
		for _, d := range segments {
			if t, err := types.get(ctx, cmp.Or(d.Type, engram.ValueType)); err == nil && !slices.Contains(known, t) {
				known = append(known, t)
			}
		}
	}
	has := func(path string) bool {
		return slices.ContainsFunc(known, func(t *idf.Type) bool { _, err := t.Project([]string{path}); return err == nil })
	}
	need := func(path string) {
		if !slices.Contains(s.request, path) {
			s.request = append(s.request, path)
		}
	}
	for _, path := range asked {
		list := path
		_, _, element := idf.CutIndex(path)
		s.elements = s.elements || element
		if !has(path) {
			if at := strings.LastIndexByte(path, '.'); at > 0 && has(path[:at]) && has(namesBeside(path[:at])) {
				list, s.elements = path[:at], true
			}
		}
		need(list)
		if names := namesBeside(list); has(names) && !strings.Contains(list, "[") {
			need(names)
		}
	}
	return s, nil
}

// namesBeside returns the list of names beside a list.
func namesBeside(list string) string {
	return list[:strings.LastIndexByte(list, '.')+1] + "name"
}

// leaf is a value inside a payload.
type leaf struct {
	path string // of its member, such as position[3]
	name string // with the name of the element, such as position.kLeftElbow; "" if it has none
	cell cell
	json json.RawMessage
}

// leavesOf returns the values inside a payload, in order. The payload is JSON.
func leavesOf(j []byte) ([]leaf, error) {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var all []leaf
	if err := addLeaves(d, "", &all); err != nil {
		return nil, err
	}
	paths := make([]string, len(all))
	for i, l := range all {
		paths[i] = l.path
	}
	for i, label := range idf.ElementLabels(paths, func(i int) string { return all[i].cell.raw }) {
		if label != "" {
			list, _, _ := idf.CutIndex(paths[i])
			all[i].name = list + "." + label
		}
	}
	return all, nil
}

func addLeaves(d *json.Decoder, path string, all *[]leaf) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name := key.(string)
			switch {
			case !plainName.MatchString(name):
				name = path + "[" + strconv.Quote(name) + "]"
			case path != "":
				name = path + "." + name
			}
			if err := addLeaves(d, name, all); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := addLeaves(d, path+"["+strconv.Itoa(i)+"]", all); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	l := leaf{path: path}
	if l.json, err = json.Marshal(token); err != nil {
		return err
	}
	switch v := token.(type) {
	case nil:
	case json.Number:
		l.cell = cell{shown: v.String(), raw: v.String()}
		f, err := v.Float64()
		if err == nil {
			l.cell.value = f // of members that are whole numbers too, so that a column has one kind
		}
		if err == nil && strings.ContainsAny(v.String(), ".eE") {
			l.cell.shown = strconv.FormatFloat(f, 'g', 6, 64)
		}
	case bool:
		l.cell = cell{fmt.Sprint(v), fmt.Sprint(v), v}
	default:
		l.cell = cell{shown: fmt.Sprint(v), raw: fmt.Sprint(v)}
	}
	*all = append(*all, l)
	return nil
}

var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// signalMatcher compiles what matches the values of a signal by their paths or names.
func signalMatcher(asked string) *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(asked), `\.\*`, `(\.[^.\[]+|\["[^"]*"\])`)
	return regexp.MustCompile(`^` + text + `([.\[].*)?$`)
}

// signalRow is what one instance has of the signals.
type signalRow struct {
	item     shown
	instance int
	cells    map[string]leaf // by column
}

// rows returns what snapshots have of the signals, and the columns in order.
func (s signals) rows(ctx context.Context, types *typeCache, items []shown) (columns []string, rows []signalRow, err error) {
	var matches []*regexp.Regexp
	for _, a := range s.asked {
		matches = append(matches, signalMatcher(a))
	}
	byAsked := make([][]string, len(s.asked))
	known := map[string]bool{}
	for _, it := range items {
		for i, inst := range it.Instances {
			if it.index >= 0 && i != it.index {
				continue
			}
			data, err := types.json(ctx, inst.Payload, shape{fields: s.request})
			if err != nil {
				return nil, nil, err
			}
			leaves, err := leavesOf(data)
			if err != nil {
				return nil, nil, err
			}
			row := signalRow{it, i, map[string]leaf{}}
			for k, match := range matches {
				for _, l := range leaves {
					if !match.MatchString(l.path) && (l.name == "" || !match.MatchString(l.name)) {
						continue
					}
					column := cmp.Or(l.name, l.path)
					if l.path == s.asked[k] { // which is how people know it
						column = l.path
					}
					row.cells[column] = l
					if !known[column] {
						known[column] = true
						byAsked[k] = append(byAsked[k], column)
					}
				}
			}
			rows = append(rows, row)
		}
	}
	return slices.Concat(byAsked...), rows, nil
}

// printSignals prints a column for each signal.
func printSignals(ctx context.Context, cmd *cobra.Command, types *typeCache, format string, items []shown, s signals) error {
	columns, rows, err := s.rows(ctx, types, items)
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		return engram.Errorf(engram.NotFound, strings.Join(s.asked, ", "), "no snapshot has such a member or an element of that name; 'engram get ID' shows what there is")
	}
	entities, several := map[engram.ID]bool{}, false
	for _, r := range rows {
		entities[r.item.ID.Parent()] = true
		several = several || r.instance > 0
	}
	flat := isFlat(format)
	t := &table{verbatim: true}
	head := func(name string) string {
		if flat {
			return name
		}
		return strings.ToUpper(name)
	}
	if flat || len(entities) > 1 {
		t.header = append(t.header, head("entity"))
	}
	t.header = append(t.header, head("time"))
	if flat || several {
		t.header = append(t.header, head("instance"))
	}
	t.right = make([]bool, len(t.header), len(t.header)+len(columns))
	for _, c := range columns {
		t.header, t.right = append(t.header, c), append(t.right, true)
	}
	var objects []map[string]any
	for _, r := range rows {
		var row []any
		if flat || len(entities) > 1 {
			row = append(row, r.item.ID.Parent().String())
		}
		row = append(row, fullTime(r.item.Time))
		if flat || several {
			row = append(row, r.instance)
		}
		data := map[string]json.RawMessage{}
		for _, c := range columns {
			l, ok := r.cells[c]
			row = append(row, l.cell)
			if ok {
				data[c] = l.json
			}
		}
		t.add(row...)
		objects = append(objects, map[string]any{"entity": r.item.ID.Parent().String(), "time": r.item.Time, "instance": r.instance, "data": data})
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}
