package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/world"
)

// worldView is a world at a time, with what is needed to say how sure it is.
type worldView struct {
	*world.Forest
	at    engram.Time
	looks []world.Look
	notes map[string][]string // by item
}

// addAfterFlags gives a command the flags to wait for what was written.
func addAfterFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("after", nil, "wait until the world has all that was written up to this MARK of\na write, in any process and on any robot; may be repeated")
	cmd.Flags().Duration("timeout", 5*time.Second, "how long to wait for what --after names")
}

// addWorldReadFlags gives a command the flags that say of which world it tells.
func addWorldReadFlags(cmd *cobra.Command) {
	addOutputFlag(cmd)
	cmd.Flags().String("at", "", "the world at this time: absolute, -10s or now-10s (default: now)")
	cmd.Flags().String("as-of", "", "the world as it was known at this time, when what came later had not arrived")
	addAfterFlags(cmd)
}

// readWorld calls f with the world that the command's flags name.
func readWorld(cmd *cobra.Command, f func(format string, v *worldView) error) error {
	at, known, err := worldTimeFlags(cmd)
	if err != nil {
		return err
	}
	marks, err := marksFlag(cmd)
	if err != nil {
		return err
	}
	return withWorld(cmd, func(format string, _ *client.Client, w *world.Memory) error {
		v := &worldView{at: at, notes: map[string][]string{}}
		forest, err := viewAfter(cmd, w, marks)
		if err != nil {
			return err
		}
		if known != nil || cmd.Flags().Changed("at") {
			if forest, err = w.Past(cmd.Context(), at, known); err != nil {
				return err
			}
		}
		v.Forest = forest
		if v.looks, err = w.Looks(cmd.Context(), engram.Interval{Start: engram.MinTime, End: at.Add(1)}, known); err != nil {
			return err
		}
		for n := range forest.Notes() {
			v.notes[n.Name] = append(v.notes[n.Name], n.Text)
		}
		return f(format, v)
	})
}

// viewAfter returns the present world, with all that was written up to marks.
func viewAfter(cmd *cobra.Command, w *world.Memory, marks []world.Mark) (*world.Forest, error) {
	timeout, _ := cmd.Flags().GetDuration("timeout")
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	return w.View(ctx, marks...)
}

func marksFlag(cmd *cobra.Command) ([]world.Mark, error) {
	texts, _ := cmd.Flags().GetStringArray("after")
	if timeout, _ := cmd.Flags().GetDuration("timeout"); timeout < 0 {
		return nil, usagef("--timeout %v: 0 or more", timeout)
	}
	marks := make([]world.Mark, len(texts))
	for i, text := range texts {
		var err error
		if marks[i], err = world.ParseMark(strings.TrimPrefix(text, "mark ")); err != nil {
			return nil, usagef("--after: %w", err)
		}
	}
	return marks, nil
}

// worldTimeFlags returns the times of --at, now if it is not given, and of --as-of, nil if it is not.
func worldTimeFlags(cmd *cobra.Command) (at engram.Time, known *engram.Time, err error) {
	if at, _, err = worldTimeFlag(cmd, "at"); err != nil {
		return 0, nil, err
	}
	asOf, given, err := worldTimeFlag(cmd, "as-of")
	if err != nil || !given {
		return at, nil, err
	}
	return at, &asOf, nil
}

// worldTimeFlag returns the time of a flag, now if it is not given. The world's latest time
// is now.
func worldTimeFlag(cmd *cobra.Command, name string) (t engram.Time, given bool, err error) {
	now := engram.Now()
	text, _ := cmd.Flags().GetString(name)
	if !cmd.Flags().Changed(name) {
		return now, false, nil
	}
	at, err := parseTimeArg(text)
	if err != nil {
		return 0, true, usagef("--%s: %w", name, err)
	}
	return at.resolve(now, now), true, nil
}

// account returns what is known of where an item is; the item is there.
func (v *worldView) account(name string) world.Account {
	a, _ := v.Account(name, v.at, v.looks)
	return a
}

// must returns the item of the name.
func (v *worldView) must(name string) (*world.Merged, error) {
	m, err := v.Get(name)
	if err != nil {
		return nil, unknownItem(v.Forest, name)
	}
	return m, nil
}

// place returns the one place that is called so: an item's name, or what places are called, the
// greater before the lesser, such as Munich/Karlstrasse/3006.
func (v *worldView) place(called string) (*world.Merged, error) {
	if m, err := v.Get(called); err == nil {
		return m, nil
	}
	parts := strings.Split(called, "/")
	var within []string
	for i := len(parts) - 2; i >= 0; i-- {
		within = append(within, parts[i])
	}
	var found []*world.Merged
	var names []string
	for m := range v.ByPlace(parts[len(parts)-1], within...) {
		found = append(found, m)
		names = append(names, m.Name)
	}
	switch len(found) {
	case 0:
		return nil, engram.Errorf(engram.NotFound, called, "no item has this name, and no place is called so; 'engram world tree' lists them")
	case 1:
		return found[0], nil
	}
	return nil, engram.Errorf(engram.Conflict, called, "several places are called so: %s; name one of them", listed(names, "and"))
}

// ofRobot reports whether an item is a robot whose pose its frames in the pose store have.
func ofRobot(m *world.Merged) bool {
	return m != nil && m.Placement == nil && m.Description != nil && m.Description.Robot != nil
}

// parentOf returns an item's parent, or nil.
func (v *worldView) parentOf(m *world.Merged) *world.Merged {
	path, _ := v.PathToRoot(m.Name) // the item is there
	if len(path) < 2 {
		return nil
	}
	return path[1]
}

// remarks are what must not be overlooked of an item.
func (v *worldView) remarks(m *world.Merged, a *world.Account) []string {
	var texts []string
	if a.Provisional != "" {
		texts = append(texts, "provisional: "+a.Provisional)
	}
	switch {
	case a.Parent == "":
	case !a.There:
		text := "waits for its parent " + a.Parent
		if len(v.Statements(a.Parent)) > 0 {
			text += ", which " + a.Absent
		}
		texts = append(texts, text)
	case ofRobot(m) || ofRobot(v.parentOf(m)): // its pose is that of its frames
	case m.Placement == nil:
		texts = append(texts, "no pose")
	default:
		if _, err := v.Pose(a.Parent, m.Name); err != nil {
			texts = append(texts, "not aligned with "+a.Parent)
		}
	}
	if s, by := world.FromFuture(v.Forest, m.Name, v.at); s != nil {
		texts = append(texts, fromFuture(s, by))
	}
	return append(texts, v.notes[m.Name]...)
}

// fromFuture says that something is said to be of the future.
func fromFuture(s *world.Said, by time.Duration) string {
	return fmt.Sprintf("from the future: %s says it %s ahead of this clock", s.Who(), words.Duration(by.Round(time.Second)))
}
