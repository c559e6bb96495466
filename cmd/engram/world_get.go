package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

func newWorldGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ITEM…",
		Short: "All that is known of items, and how sure it is that they are still there",
		Example: `  engram world get cup
  engram world get cup --at -1h -o json`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeItems,
	}
	addWorldReadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
			out := itemTable()
			var items []*answer.Item
			err := s.Items(cmd.Context(), q, args, !tabular(format) || format == "table", func(rows []answer.Row) error {
				for i := range rows {
					r := &rows[i]
					out.rows = append(out.rows, appendRow([]cell{text(r.Name)}, r, format == "csv"))
					if r.Item != nil {
						items = append(items, r.Item)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if format == "table" {
				return printBlocks(cmd, items)
			}
			var objects []itemJSON
			for _, it := range items {
				objects = append(objects, itemObject(it))
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

// itemTable is a table of items, a line each.
func itemTable() *table {
	return &table{header: []string{"ITEM", "KINDS", "AGE", "BELIEF", "SAID BY", "NOTE"}, right: []bool{2: true, 3: true}, spare: []string{"SAID BY"}}
}

// printBlocks prints items for people.
func printBlocks(cmd *cobra.Command, items []*answer.Item) error {
	for i, it := range items {
		if i > 0 {
			cmd.Println()
		}
		if err := printBlock(cmd.OutOrStdout(), it); err != nil {
			return err
		}
	}
	return nil
}

// printBlock prints an item for people.
func printBlock(w io.Writer, it *answer.Item) error {
	o := itemObject(it)
	err := printWhole(w, span{bright, o.Name})
	if err == nil {
		err = printFolded(w, []span{{text: "  "}}, span{text: it.Account})
	}
	line := func(name, value string) {
		if value != "" && err == nil {
			err = printFolded(w, []span{{faint, fmt.Sprintf("  %-12s ", name)}}, span{text: value})
		}
	}
	for i, note := range append(prefixed("provisional: ", o.Provisional), o.Notes...) {
		line(first(i, "!"), note)
	}
	line("kinds", strings.Join(o.Kinds, ", "))
	if o.Label != o.Name {
		line("label", o.Label)
	}
	line("spoken names", strings.Join(o.SpokenNames, ", "))
	line("class", o.Class)
	if o.Place != nil {
		line("place", strings.TrimSpace(o.Place.Level+" "+o.Place.Number))
	}
	if len(o.Path) > 1 {
		line("path", strings.Join(shortPath(o.Path), " > "))
	}
	for i, p := range []*itemPoseJSON{o.Pose, o.InRoot} {
		if p != nil {
			line([]string{"pose", ""}[i], "in "+p.Frame+": "+p.text())
		}
	}
	if o.Shape != nil {
		line("shape", o.Shape.text())
	}
	if b := o.Box; b != nil {
		at := itemPoseJSON{Translation: b.Pose.Translation, Rotation: b.Pose.Rotation}
		line("box", sizeText(b.Size)+" about "+strings.TrimSuffix(at.text(), "; "))
	}
	if o.Robot != nil {
		line("frames", strings.TrimSpace("odom "+o.Robot.Odom+", base "+o.Robot.Base))
	}
	if d := o.Detection; d != nil {
		line("detection", strings.Join(slices.Concat(d.Methods, prefixed("tag ", d.Tags...)), ", "))
	}
	line("maintainer", o.Maintainer)
	for i, key := range slices.Sorted(maps.Keys(o.Properties)) {
		line(first(i, "properties"), key+" = "+valueText(o.Properties[key]))
	}
	for i, s := range it.States {
		line(first(i, "states"), fmt.Sprintf("%s = %s (%s, said %s by %s)", s.Name, valueText(s.Value), percent(s.Confidence), world.Ago(it.Time.Sub(s.Since)), s.SaidBy))
	}
	if o.Joint != nil {
		line("joint", o.Joint.text())
	}
	if o.Component != nil {
		line("component", o.Component.text())
	}
	line("maps", strings.Join(o.Maps, ", "))
	line("seen in", o.SeenIn)
	for i := range it.Statements {
		line(first(i, "said by"), saidText(&it.Statements[i], it.Time))
	}
	return err
}

// shortPath returns a path with what is in the middle of a long one counted.
func shortPath(path []string) []string {
	const ends = 10
	if len(path) <= 2*ends+1 {
		return path
	}
	return slices.Concat(path[:ends], []string{fmt.Sprintf("… %s more …", words.Count(len(path)-2*ends))}, path[len(path)-ends:])
}

// first returns the name of a line for the first of several.
func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

// prefixed puts a prefix before each text that is not empty.
func prefixed(prefix string, texts ...string) (out []string) {
	for _, text := range texts {
		if text != "" {
			out = append(out, prefix+text)
		}
	}
	return out
}

func sizeText(size [3]float64) string {
	return fmt.Sprintf("%s x %s x %s m", formatNumber(size[0]), formatNumber(size[1]), formatNumber(size[2]))
}

func (s *itemShapeJSON) text() string {
	switch s.Kind {
	case "mesh":
		return "mesh " + s.Mesh
	case "polygon":
		return "polygon of " + countOf(uint64(len(s.Outline)), "corner")
	}
	return s.Kind + " " + sizeText(s.Size)
}

// number writes a value of the joint.
func (j *itemJointJSON) number(v float64) string {
	if j.Kind == "revolute" {
		return formatNumber(v) + " rad (" + shortDegrees(v) + ")"
	}
	return formatNumber(v) + " m"
}

// short says of which kind the joint is, and its value.
func (j *itemJointJSON) short() string {
	if j.Value == nil {
		return j.Kind
	}
	return j.Kind + ", at " + j.number(*j.Value)
}

func (j *itemJointJSON) text() string {
	number := j.number
	text := j.Kind + " on " + j.Base
	if j.Kind == "fixed" {
		return text
	}
	if j.Value != nil {
		text += ", at " + number(*j.Value)
		if j.Sigma > 0 {
			text += " ± " + formatNumber(j.Sigma)
		}
	}
	if j.Lower != nil {
		text += fmt.Sprintf(", from %s to %s", number(*j.Lower), number(*j.Upper))
	}
	if j.Radius > 0 {
		text += ", radius " + formatNumber(j.Radius) + " m"
	}
	if len(j.Serves) > 0 {
		text += ", serves " + strings.Join(j.Serves, ", ")
	}
	return text
}

// saidText says who says what of an item since when, and what of it does not count.
func saidText(s *answer.Statement, now engram.Time) string {
	who := s.Provider
	if s.Robot != "" {
		who = s.Robot + ":" + s.Provider
	}
	in := ""
	if s.Home != "" {
		in = ", " + s.Home
	}
	if len(s.Says) == 0 {
		return fmt.Sprintf("%s%s %s, %s: nothing any more", who, in, world.Ago(now.Sub(s.Since)), formatSeconds(s.Since))
	}
	text := fmt.Sprintf("%s (%s%s) %s, %s", who, s.Source, in, world.Ago(now.Sub(s.Since)), formatSeconds(s.Since))
	gone := slices.Contains(s.Says, "removed")
	says := slices.DeleteFunc(slices.Clone(s.Says), func(what string) bool { return what == "removed" && len(s.Says) > 1 })
	text += ": " + strings.Join(says, ", ")
	idle := slices.DeleteFunc(says, func(what string) bool { return what == "removed" || slices.Contains(s.Counts, what) })
	if len(idle) > 0 {
		text += "; does not count: " + strings.Join(idle, ", ")
	}
	if gone && len(s.Says) > 1 {
		text += "; said before that it was removed"
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

func percent(p float64) string { return formatRounded(100*p, 0) + " %" }

// valueText writes a value as JSON, without the tags that tell kinds of numbers and times apart.
func valueText(v any) string {
	j, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return string(j)
	}
	if j, err = json.Marshal(untagged(tree)); err != nil {
		return fmt.Sprint(v)
	}
	return string(j)
}

// untagged returns a value of JSON without the tags of package idf.
func untagged(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = untagged(v[i])
		}
	case map[string]any:
		for key, content := range v {
			text, isText := content.(string)
			dict, isDict := content.(map[string]any)
			switch {
			case len(v) > 1 || !strings.HasPrefix(key, "$"):
				v[key] = untagged(content)
			case isText && (key == "$int64" || key == "$uint64"):
				return json.Number(text)
			case isDict && key == "$dict":
				for name := range dict {
					dict[name] = untagged(dict[name])
				}
				return dict
			default:
				return content
			}
		}
	}
	return v
}
