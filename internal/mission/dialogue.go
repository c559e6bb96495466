package mission

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram/skill/command"
)

// Dialogue is what a person says who is the operator. One goroutine uses it.
type Dialogue struct {
	m    *Mission
	next int // of the five sentences
	wait sync.WaitGroup
}

// Dialogue begins one.
func (m *Mission) Dialogue() *Dialogue { return &Dialogue{m: m} }

// Next returns the next of the five sentences, "" after the last one.
func (d *Dialogue) Next() string {
	if d.next >= len(Sentences) {
		return ""
	}
	return Sentences[d.next]
}

// Line takes a line that was typed: a sentence, nothing for the next of the five, or "help". The
// station replies when it does not understand, and when what was asked for has ended; what
// lasts goes on until ctx ends.
func (d *Dialogue) Line(ctx context.Context, line string) {
	line = strings.TrimSpace(line)
	switch strings.ToLower(line) {
	case "":
		if line = d.Next(); line == "" {
			d.m.Reply("all of the five sentences are said; \"help\" says what else can be")
			return
		}
	case "help", "?", "help me", "h":
		d.help(ctx)
		return
	}
	said, err := d.m.Say(ctx, line)
	var unclear *command.NotUnderstood
	switch {
	case errors.As(err, &unclear):
		d.m.Reply("%v%s", unclear, d.hint(ctx, unclear))
		return
	case err != nil:
		if ctx.Err() == nil {
			d.m.Reply("%v", err)
		}
	case d.is(line):
		d.next++
	}
	if said == nil {
		return
	}
	d.wait.Go(func() {
		switch err := said.Wait(ctx); {
		case ctx.Err() != nil:
		case err != nil:
			for _, one := range strings.Split(err.Error(), "\n") { // of each who failed
				d.m.Reply("%s", one)
			}
		default:
			d.m.Reply("done: %q", line)
		}
	})
}

// Close waits until nothing is replied any more, after ctx of the lines has ended.
func (d *Dialogue) Close() { d.wait.Wait() }

// is reports whether a line is the next of the five sentences, whatever its case and stops.
func (d *Dialogue) is(line string) bool {
	bare := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" ,.!:", r) }), " ")
	}
	return d.Next() != "" && bare(line) == bare(d.Next())
}

// hint says what has to be said before, where that is why something was not understood.
func (d *Dialogue) hint(ctx context.Context, e *command.NotUnderstood) string {
	v, err := d.m.vocabulary(ctx)
	if err != nil {
		return ""
	}
	object := func(t command.Thing) bool { return t.Kind == "object" }
	if strings.Contains(e.Why, "no object") && !slices.ContainsFunc(v.Things, object) {
		return "; what there is, is known after \"Everybody, read the configurations\""
	}
	if e.Near == "" {
		return "; \"help\" says what can be said"
	}
	return ""
}

// help says what can be said, to whom, and of what.
func (d *Dialogue) help(ctx context.Context) {
	v, err := d.m.vocabulary(ctx)
	if err != nil {
		d.m.Reply("%v", err)
		return
	}
	var who, things []string
	for i := range v.Agents {
		who = append(append(who, v.Agents[i].Name), v.Agents[i].Groups...)
	}
	slices.Sort(who)
	who = append(slices.Compact(who), "everybody")
	for _, t := range v.Things {
		if t.Kind == "object" {
			things = append(things, t.Name)
		}
	}
	d.m.Reply("whom, and what to do, such as %q. Whom: %s. Objects: %s. What to do:", Sentences[3], strings.Join(who, ", "),
		cmp.Or(strings.Join(things, ", "), "none is known before \"Everybody, read the configurations\""))
	for _, verb := range v.Verbs {
		var can []string
		for i := range v.Agents {
			if slices.Contains(v.Agents[i].Skills, verb.Skill) {
				can = append(can, v.Agents[i].Name)
			}
		}
		if len(can) > 0 {
			d.m.print("    " + verb.Pattern + strings.Repeat(" ", max(1, 36-len(verb.Pattern))) + strings.Join(can, ", "))
		}
	}
	if next := d.Next(); next != "" {
		d.m.Reply("an empty line says %q", next)
	}
}
