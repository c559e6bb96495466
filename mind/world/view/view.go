// Package view answers questions about a world ([answer.Service]) from the forests of a [world.Memory]: [Of] from one that
// the caller has, [Local] from those that a server keeps for who asks. All that is computed of items for who asks is
// here; how it is printed is not.
package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// view is a world at a time, with what is needed to say how sure it is. One goroutine uses it.
type view struct {
	*world.Forest
	at    engram.Time
	looks []world.Look
	notes map[string][]string // by item
	maps  map[string][]string // by item, the maps that describe it; nil before it was asked
}

// newView returns a forest as it is told of at a time, with what sensors saw up to then.
func newView(f *world.Forest, at engram.Time, looks []world.Look) *view {
	v := &view{Forest: f, at: at, looks: looks, notes: map[string][]string{}}
	for n := range f.Notes() {
		v.notes[n.Name] = append(v.notes[n.Name], n.Text)
	}
	return v
}

// forestOf returns the forest that a question asks of, and the time that it tells of.
func forestOf(ctx context.Context, m *world.Memory, q *answer.Question) (f *world.Forest, at engram.Time, err error) {
	if f, err = present(ctx, m, q); err != nil {
		return nil, 0, err
	}
	at = engram.Now()
	if q.At != nil {
		at = *q.At
	}
	if q.At != nil || q.AsOf != nil {
		f, err = m.Past(ctx, at, q.AsOf)
	}
	return f, at, err
}

// present returns the present forest, once it has what a question waits for.
func present(ctx context.Context, m *world.Memory, q *answer.Question) (*world.Forest, error) {
	if len(q.After) == 0 {
		return m.View(ctx)
	}
	marks := make([]world.Mark, len(q.After))
	for i, mark := range q.After {
		marks[i] = world.Mark(mark)
	}
	ctx, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	return m.View(ctx, marks...)
}

// viewOf returns the world that a question asks of.
func viewOf(ctx context.Context, m *world.Memory, q *answer.Question) (*view, error) {
	f, at, err := forestOf(ctx, m, q)
	if err != nil {
		return nil, err
	}
	looks, err := m.Looks(ctx, engram.Interval{Start: engram.MinTime, End: at.Add(1)}, q.AsOf)
	if err != nil {
		return nil, err
	}
	return newView(f, at, looks), nil
}

// account returns what is known of where an item is.
func (v *view) account(m *world.Merged) world.Account {
	return world.AccountOf(v.Forest, m, v.at, v.looks)
}

// must returns the item of the name.
func (v *view) must(name string) (*world.Merged, error) {
	m, err := v.Get(name)
	if err != nil {
		return nil, Unknown(v.Forest, name)
	}
	return m, nil
}

// place returns the one place that is called so: an item's name, or what places are called, the
// greater before the lesser, such as Munich/Karlstrasse/3006.
func (v *view) place(called string) (*world.Merged, error) {
	if m, err := v.Get(called); err == nil {
		return m, nil
	}
	within := strings.Split(called, "/")
	slices.Reverse(within)
	found := slices.Collect(v.ByPlace(within[0], within[1:]...))
	switch len(found) {
	case 0:
		return nil, engram.Errorf(engram.NotFound, called, "no item has this name, and no place is called so; 'engram world tree' lists them")
	case 1:
		return found[0], nil
	}
	var names []string
	for _, m := range found {
		names = append(names, m.Name)
	}
	return nil, engram.Errorf(engram.Conflict, called, "several places are called so: %s; name one of them", listed(names))
}

// listed puts one name or more into words.
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Unknown returns the error for a name of which there is no item: what was meant, or what became of it.
func Unknown(f *world.Forest, name string) error {
	if s, ok := f.Removed(name); ok {
		why := ""
		if r := s.Item.Removed.Reason; r != "" {
			why = ": " + r
		}
		if s, by := world.FromFuture(f, name, engram.Now()); s != nil {
			why += "; " + fromFuture(s, by)
		}
		at := s.Item.Removed.Time
		if at == 0 {
			at = s.Time
		}
		text := world.Corrected(f, &s.Said, at).String()[:len("2006-01-02 15:04:05")]
		return engram.Errorf(engram.NotFound, name, "it was removed at %s by %s%s; --at shows the time before", text, s.Who(), why)
	}
	switch near := nearest(f, name); {
	case near != "":
		return engram.Errorf(engram.NotFound, name, "there is no such item; did you mean %s?", near)
	case f.Len() == 0:
		return engram.Errorf(engram.NotFound, name, "there is no such item, nor any other: the world is empty")
	}
	return engram.Errorf(engram.NotFound, name, "there is no such item; 'engram world tree' lists them")
}

// nearest returns the name of the item that is called most like a name that was typed; "" if none is. What several are called
// is the last one's, or that one's whose name it is.
func nearest(f *world.Forest, typed string) (name string) {
	s, called := spelling.NewSearch(typed), "" // what the item is called
	offer := func(m *world.Merged, as string) {
		if (as != called || name != called || as == m.Name) && s.Offer(as) {
			name, called = m.Name, as
		}
	}
	for m := range f.All() {
		if label := m.Label(); label != "" {
			offer(m, label)
		}
		if m.Description != nil {
			for _, spoken := range m.Description.SpokenNames {
				offer(m, spoken)
			}
		}
		offer(m, m.Name)
	}
	return name
}

// Missing says that there is no item of a name, or none any more.
func Missing(f *world.Forest, name string) string {
	if len(f.Statements(name)) == 0 {
		return "there is no item " + name + " yet"
	}
	return "there is no item " + name + " any more, since " + world.Absence(f, name)
}

// ofRobot reports whether an item is a robot whose pose its frames in the pose store have.
func ofRobot(m *world.Merged) bool {
	return m != nil && m.Placement == nil && m.Description != nil && m.Description.Robot != nil
}

// remarks are what must not be overlooked of an item, but that it is provisional.
func (v *view) remarks(m *world.Merged, a *world.Account) []string {
	var texts []string
	switch {
	case a.Parent == "":
	case !a.There:
		text := "waits for its parent " + a.Parent
		if len(v.Statements(a.Parent)) > 0 {
			text += ", which " + a.Absent
		}
		texts = append(texts, text)
	case m.Placement != nil && world.Aligned(v.Forest, m): // as most are
	case ofRobot(m) || v.onRobot(a.Parent): // its pose is that of its frames
	case m.Placement == nil:
		texts = append(texts, "no pose")
	default:
		texts = append(texts, "not aligned with "+a.Parent)
	}
	if s, by := world.FutureOf(v.Forest, m, v.at); s != nil {
		texts = append(texts, fromFuture(s, by))
	}
	if len(v.notes) > 0 {
		texts = append(texts, v.notes[m.Name]...)
	}
	return texts
}

func (v *view) onRobot(parent string) bool {
	m, err := v.Get(parent)
	return err == nil && ofRobot(m)
}

// fromFuture says that something is said to be of the future.
func fromFuture(s *world.Said, by time.Duration) string {
	return fmt.Sprintf("from the future: %s says it %s ahead of this clock", s.Who(), words.Duration(by.Round(time.Second)))
}

// Speakers are the providers whose statements count for an item, after their robots.
func Speakers(m *world.Merged) (names []string) {
	for _, s := range []*world.Statement{m.Placed, m.Structured, m.Described} {
		if s == nil {
			continue
		}
		if name := s.Who(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Kinds returns what kinds an item is of.
func Kinds(m *world.Merged) []string {
	if m.Description == nil {
		return nil
	}
	return m.Description.Kinds
}
