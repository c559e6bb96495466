package files

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
)

// Entry is one of the things that a content says, as it is stated.
type Entry struct {
	world.Stated
	At string
	// Members are those of an item's description that the file says; others stay. It says all unless it is Partial.
	Members []string
	Partial bool
}

// words names an entry, such as "item cup".
func (e *Entry) words() string {
	switch v := e.What.(type) {
	case world.Withdrawal:
		return "what there is beside " + e.Name
	case world.Item:
		return "item " + e.Name
	case world.Articulation:
		return "articulation " + e.Name
	case world.State:
		return "state " + v.Item + "/" + v.Name
	case world.Map:
		return "map " + e.Name
	}
	return "component " + e.Name
}

// Entries returns all that is stated, what is taken back first: it may be stated otherwise by the same file.
func (c *Content) Entries() (all []Entry) {
	for _, x := range c.Without {
		all = append(all, Entry{Stated: world.Stated{Name: x.Name, What: x.Withdrawal}, At: x.At})
	}
	for _, x := range c.Items {
		x.Source = cmp.Or(x.Source, world.PriorKnowledge)
		all = append(all, Entry{Stated: world.Stated{Name: x.Name, What: x.Item}, At: x.At, Members: x.said, Partial: x.said != nil})
	}
	for _, x := range c.Joints {
		x.Source = cmp.Or(x.Source, world.PriorKnowledge)
		all = append(all, Entry{Stated: world.Stated{Name: x.Name, What: x.Articulation}, At: x.At})
	}
	for _, x := range c.States {
		x.Source = cmp.Or(x.Source, world.PriorKnowledge)
		all = append(all, Entry{Stated: world.Stated{What: x.State, Confidence: x.Confidence}, At: x.At})
	}
	for _, x := range c.Maps {
		all = append(all, Entry{Stated: world.Stated{Name: x.Name, What: x.Map, Data: x.Data}, At: x.At})
	}
	for _, x := range c.Components {
		all = append(all, Entry{Stated: world.Stated{Name: x.Name, What: x.Component}, At: x.At})
	}
	return all
}

// ContentOf returns the content of entries. The error is Invalid for a member that no description has.
func ContentOf(entries []Entry) (*Content, error) {
	c := &Content{}
	for i := range entries {
		e := &entries[i]
		switch v := e.What.(type) {
		case world.Withdrawal:
			c.Without = append(c.Without, Without{e.Name, v, e.At})
		case world.Item:
			it := Item{NamedItem: world.NamedItem{Name: e.Name, Item: v}, At: e.At}
			if e.Partial {
				it.said = slices.Concat([]string{}, e.Members)
			}
			for _, member := range e.Members {
				if members[member] == nil {
					return nil, engram.Errorf(engram.Invalid, e.Name, "a description has no member %q", member)
				}
			}
			c.Items = append(c.Items, it)
		case world.Articulation:
			c.Joints = append(c.Joints, Joint{e.Name, v, e.At})
		case world.State:
			c.States = append(c.States, State{v, e.Confidence, e.At})
		case world.Map:
			c.Maps = append(c.Maps, Map{e.Name, v, e.Data, e.At})
		case world.Component:
			c.Components = append(c.Components, Component{e.Name, v, e.At})
		}
	}
	return c, nil
}

// CheckIn is [Content.Check] in the present world of a model, with what else [Content.DryRun] finds where that fails. The error is
// one of several, a line each, or says that the world could not be asked.
func (c *Content) CheckIn(ctx context.Context, m world.Model, provider string) error {
	f, err := m.View(ctx)
	if err != nil {
		return err
	}
	wrong := Problems(c.Check(f, provider))
	if len(wrong) == 0 {
		return nil
	}
	told := map[string]bool{}
	for _, err := range wrong {
		told[err.Error()] = true
	}
	for _, err := range Problems(c.DryRun(ctx, m)) {
		// What is stated twice the check tells itself, in other words.
		if engram.CodeOf(err) != engram.AlreadyExists && !told[err.Error()] {
			wrong = append(wrong, err)
		}
	}
	return joined(wrong)
}

// Problems returns the errors that one of several is made of.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	if several, is := err.(interface{ Unwrap() []error }); is {
		return several.Unwrap()
	}
	return []error{err}
}

// Refused reports whether an error says what is wrong with a content, and so that nothing of it was stated, or of which part of
// it: [Partly]. Else it is why nobody could say that.
func Refused(err error) bool {
	_, refused := errors.AsType[joined](err)
	return refused
}

// RefusedFor returns the error of a content for what is wrong with it; nil for nothing.
func RefusedFor(wrong []error) error {
	if len(wrong) == 0 {
		return nil
	}
	return joined(wrong)
}
