package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

func newWorldDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff T1..T2",
		Short: "What came, went, moved or changed between two times",
		Long: `Prints what differs in the world at two times: what came and went, what moved further
than --trans or --rot, has another parent or label, what else is said of it, and states.
An item moved if it is elsewhere in its parent; what it carries along is not told of.
Either time may be left out: the beginning, and now.`,
		Example: `  engram world diff now-10m..
  engram world diff '2026-11-26 08:00..2026-11-26 17:00' --trans 0.2`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addOutputFlag(cmd)
	addThresholdFlags(cmd)
	addAfterFlags(cmd)
	cmd.RunE = diffWorlds
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		unknown, ok := errors.AsType[*pflag.NotExistError](err)
		if ok && strings.ContainsAny(unknown.GetSpecifiedName(), "0123456789") {
			return usagef("-%s would be a flag; write now-%[1]s", unknown.GetSpecifiedShortnames())
		}
		return flagError(cmd, err)
	})
	return cmd
}

func diffWorlds(cmd *cobra.Command, args []string) error {
	th, err := threshold(cmd)
	if err != nil {
		return err
	}
	span, err := parseRangeArg(args[0])
	if err != nil {
		return err
	}
	now := engram.Now()
	times := span.resolve(now, now)
	if span.end == nil {
		times.End = now
	}
	if times.End < times.Start {
		return usagef("the range %s ends before it starts", args[0])
	}
	q, err := worldQuestion(cmd)
	if err != nil {
		return err
	}
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	d := answer.Diff{From: times.Start, Threshold: th}
	if span.end != nil {
		d.To = &times.End
	}
	return withAnswers(cmd, q.Robots, func(s answer.Service) error {
		opening := &openingBar{cmd: cmd}
		defer opening.end()
		q.Opening = opening.set
		differences, err := s.Diff(cmd.Context(), q, d)
		if err != nil {
			return err
		}
		out := &table{header: []string{"ITEM", "CHANGE", "HOW"}}
		var objects []diffJSON
		for i := range differences {
			o := diffObject(&differences[i])
			objects = append(objects, o)
			for _, c := range o.changes() {
				out.add(o.Name, c[0], c[1])
			}
		}
		if len(objects) == 0 && format == "table" {
			cmd.PrintErrln("engram: nothing differs")
			return nil
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
}

func newWorldWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Tell of each change in the world as it comes, until interrupted",
		Example: `  engram world watch
  engram world watch --robots '*' -o json`,
		Args: positional(cobra.NoArgs),
	}
	addOutputFormats(cmd, streamFormats)
	cmd.Flags().Int("count", 0, "end after N changes")
	cmd.Flags().Duration("for", 0, "end after this time")
	addAfterFlags(cmd)
	cmd.RunE = watchWorld
	return cmd
}

func watchWorld(cmd *cobra.Command, _ []string) error {
	count, _ := cmd.Flags().GetInt("count")
	limit, _ := cmd.Flags().GetDuration("for")
	if count < 0 || limit < 0 {
		return usagef("--count %d --for %v: 0 or more", count, limit)
	}
	marks, err := marksFlag(cmd)
	if err != nil {
		return err
	}
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return withWorld(cmd, func(w *world.Memory) error {
		before, err := viewAfter(cmd, w, marks)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		watcher, err := w.Watch(ctx)
		if err != nil {
			return err
		}
		defer watcher.Close()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		lines := &changeLines{w: cmd.OutOrStdout()}
		for n := 0; ; {
			c, err := watcher.Next(ctx)
			if engram.CodeOf(err) == engram.Canceled {
				return nil // the user, or --for, ended it
			}
			if err != nil {
				return err
			}
			for _, d := range world.Diff(before, c.Forest, pose.Threshold{}, c.Names...) {
				o := diffObject(new(view.Difference(c.Forest, &d)))
				o.Time = new(min(c.Since(d.Name), engram.Now()))
				if err := lines.print(format, &o); err != nil {
					return err
				}
				if n++; n == count {
					return nil
				}
			}
			before = c.Forest
		}
	})
}

// changeLines prints changes as they come, a line each.
type changeLines struct {
	w     io.Writer
	clock clock
	width int // of the widest name
}

func (l *changeLines) print(format string, o *diffJSON) error {
	if format != "table" {
		return writeJSONLine(l.w, o)
	}
	when := o.Time.String()[:len(dateLayout+" "+milliLayout)]
	name := visible(o.Name)
	if layoutOf(l.w).width > 0 {
		var err error
		if when, err = l.clock.print(l.w, *o.Time); err != nil {
			return err
		}
		name = cutMiddle(name, maxNarrow/2)
		l.width = max(l.width, uniseg.StringWidth(name))
		name += strings.Repeat(" ", l.width-uniseg.StringWidth(name))
	}
	var words []string
	for _, c := range o.changes() {
		words = append(words, strings.TrimSpace(c[0]+" "+c[1]))
	}
	return printLine(l.w, span{faint, when + "  "}, span{bright, name}, span{text: "  " + strings.Join(words, "; ")})
}

// diffJSON is how an item differs, as diff and watch print it.
type diffJSON struct {
	Time      *engram.Time   `json:"time,omitempty"` // from when on, of watch
	Name      string         `json:"name"`
	Came      bool           `json:"came,omitempty"`
	Went      bool           `json:"went,omitempty"`
	Reason    string         `json:"reason,omitempty"` // why it went
	By        string         `json:"by,omitempty"`     // who removed it, or says most of it
	Moved     *movementJSON  `json:"moved,omitempty"`
	Parent    *exchangeJSON  `json:"parent,omitempty"`
	Label     *exchangeJSON  `json:"label,omitempty"`
	Kinds     *exchangeJSON  `json:"kinds,omitempty"` // where it cannot be the same thing
	Pose      string         `json:"pose,omitempty"`  // "known now" or "not known any more"
	Described bool           `json:"described,omitempty"`
	States    []exchangeJSON `json:"states,omitempty"`
	Component string         `json:"component,omitempty"` // linked or unlinked
}

type movementJSON struct {
	Trans float64 `json:"trans"` // metres
	Rot   float64 `json:"rot"`   // radians
}

type exchangeJSON struct {
	Name string `json:"name,omitempty"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

func diffObject(d *answer.Difference) diffJSON {
	o := diffJSON{
		Name: d.Name, Came: d.Came, Went: d.Went, Reason: d.Reason, By: d.By, Moved: (*movementJSON)(d.Moved), Parent: exchangeObject(d.Parent, d.Came),
		Label: exchangeObject(d.Label, false), Kinds: exchangeObject(d.Kinds, false), Described: d.Described,
	}
	switch {
	case d.PoseKnown:
		o.Pose = "known now"
	case d.PoseUnknown:
		o.Pose = "not known any more"
	}
	switch {
	case d.Linked:
		o.Component = "linked"
	case d.Unlinked:
		o.Component = "unlinked"
	}
	for _, s := range d.States {
		x := exchangeJSON{Name: s.Name}
		if s.From != nil {
			x.From = s.From
		}
		if s.To != nil {
			x.To = s.To
		}
		o.States = append(o.States, x)
	}
	return o
}

// exchangeObject returns a text before and after; of what came there is none before.
func exchangeObject(x *answer.Exchange, came bool) *exchangeJSON {
	if x == nil {
		return nil
	}
	o := &exchangeJSON{From: x.From, To: x.To}
	if came {
		o.From = nil
	}
	return o
}

// changes puts it into words: what changed, and how.
func (o *diffJSON) changes() (list [][2]string) {
	add := func(what, how string) { list = append(list, [2]string{what, how}) }
	named := func(v any) string {
		if v == nil || v == "" {
			return "nothing"
		}
		return fmt.Sprint(v)
	}
	switch {
	case o.Came && o.Parent.To != "":
		add("came", "to "+named(o.Parent.To)+", said by "+o.By)
	case o.Came:
		add("came", "said by "+o.By)
	case o.Went && o.By == "":
		add("went", "nobody says it any more")
	case o.Went:
		add("went", strings.TrimSuffix("removed by "+o.By+": "+o.Reason, ": "))
	}
	if o.Parent != nil && !o.Came {
		add("parent", named(o.Parent.From)+" → "+named(o.Parent.To))
	}
	if o.Moved != nil {
		how := formatRounded(o.Moved.Trans, 3) + " m"
		if o.Moved.Rot > 1e-4 {
			how += ", " + shortDegrees(o.Moved.Rot)
		}
		add("moved", how)
	}
	if o.Pose != "" {
		add("pose", o.Pose)
	}
	if o.Label != nil {
		add("label", named(o.Label.From)+" → "+named(o.Label.To))
	}
	if o.Kinds != nil {
		add("kinds", named(o.Kinds.From)+" → "+named(o.Kinds.To)+", by "+o.By)
	} else if o.Described {
		add("described", "otherwise by "+o.By)
	}
	if o.Component != "" {
		add("component", o.Component)
	}
	for _, s := range o.States {
		add("state", s.Name+": "+stateText(s.From)+" → "+stateText(s.To))
	}
	return list
}

func stateText(v any) string {
	if v == nil {
		return "unknown"
	}
	return valueText(v)
}
