package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
)

// Content is what a file says of a world.
type Content struct {
	Items      []Item
	Joints     []Joint
	States     []State
	Maps       []Map
	Components []Component
	// Without are what is taken back beside items, by the items.
	Without []Without
	// Notes are what a reader shall know: what was not carried over, or does not do what it
	// seems to.
	Notes []string
	// Robot is whose memory World it is stated in; "" if that is not known.
	Robot string
}

// Without says what is taken back beside an item.
type Without struct {
	Name string
	world.Withdrawal
	At string
}

// Item is an item with where the file says it, such as "kitchen.yaml:7".
type Item struct {
	world.NamedItem
	At string

	said []string // members of its description; nil is all
}

// complete has what the file does not say of an item stay as its provider has stated it. The error is
// Conflict if it would have another parent and its place would be lost.
func (it *Item) complete(f *world.Forest, provider, robot string) error {
	old, err := f.Get(it.Name)
	if err != nil {
		if it.Structure == nil {
			it.Structure = &world.Structure{} // that it is, by itself
		}
		return nil
	}
	own, _ := world.Own(f, it.Name, provider, robot)
	if it.Description != nil && it.said != nil && own.Description != nil {
		d := *own.Description
		d.Time = 0
		for _, member := range it.said {
			members[member](&d, it.Description)
		}
		it.Description = &d
	}
	if it.Structure == nil || it.Placement != nil || old.Placement == nil {
		return nil
	}
	parent := ""
	if old.Structure != nil {
		parent = old.Structure.Parent
	}
	switch {
	case it.Structure.Parent == parent: // what others say already, the provider's own pose may be in another one
		if p, s := own.Placement, own.Structure; p != nil && p.Frame == "" && s != nil && s.Parent != parent {
			q := *p
			q.Frame, it.Placement = s.Parent, &q
		}
	case it.Structure.Parent != "":
		return engram.Errorf(engram.Conflict, it.Name, "it has a place already, in %q; say what its pose in %q is, or move it there first",
			cmp.Or(old.Placement.Frame, parent), it.Structure.Parent)
	case old.Placement.Frame == "": // it stays where it is, by itself
		p := *old.Placement
		p.Frame, p.Time, it.Placement = parent, 0, &p
	}
	return nil
}

// members copy one member of a description.
var members = map[string]func(to, from *world.Description){
	"kinds":        func(to, from *world.Description) { to.Kinds = from.Kinds },
	"label":        func(to, from *world.Description) { to.Label = from.Label },
	"spoken_names": func(to, from *world.Description) { to.SpokenNames = from.SpokenNames },
	"class":        func(to, from *world.Description) { to.Class = from.Class },
	"shape":        func(to, from *world.Description) { to.Shape = from.Shape },
	"box":          func(to, from *world.Description) { to.Box = from.Box },
	"detection":    func(to, from *world.Description) { to.Detection = from.Detection },
	"place":        func(to, from *world.Description) { to.Place = from.Place },
	"robot":        func(to, from *world.Description) { to.Robot = from.Robot },
	"maintainer":   func(to, from *world.Description) { to.Maintainer = from.Maintainer },
	"properties":   func(to, from *world.Description) { to.Properties = from.Properties },
}

// Joint is an articulation with its name.
type Joint struct {
	Name string
	world.Articulation
	At string
}

// State is a state of an item, and how sure it is.
type State struct {
	world.State
	Confidence float64
	At         string
}

// Map is a map with its data; nil if these are not in the file.
type Map struct {
	Name string
	world.Map
	Data []byte
	At   string
}

// Component is a component with its name.
type Component struct {
	Name string
	world.Component
	At string
}

// MaxProblems bounds the errors that are told of one file.
const MaxProblems = 20

// problems gathers what is wrong with a file.
type problems []error

// add notes an error about something at a place of a file.
func (p *problems) add(at string, err error) {
	if err == nil {
		return
	}
	*p = append(*p, engram.Errorf(engram.CodeOf(err), at, "%w", err))
}

// err returns all as one error; its code is that of the first.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	told := map[string]bool{}
	p = slices.DeleteFunc(slices.Clone(p), func(err error) bool {
		again := told[err.Error()]
		told[err.Error()] = true
		return again
	})
	slices.SortStableFunc(p, func(a, b error) int { // by file, then line, where these are known
		fileA, lineA := placeOf(a)
		fileB, lineB := placeOf(b)
		return cmp.Or(strings.Compare(fileA, fileB), cmp.Compare(lineA, lineB))
	})
	if len(p) > MaxProblems {
		p = append(p[:MaxProblems:MaxProblems], engram.Errorf(engram.Invalid, "", "%d more errors", len(p)-MaxProblems))
	}
	return joined(p)
}

// placeOf returns the file and the line that an error is about, which begin it; 0 if it has no line.
func placeOf(err error) (file string, line int) {
	e, is := errors.AsType[*engram.Error](err)
	if !is {
		return "", 0
	}
	i := strings.LastIndexByte(e.Thing, ':')
	if i < 0 {
		return e.Thing, 0
	}
	line, _ = strconv.Atoi(e.Thing[i+1:])
	return e.Thing[:i], line
}

// joined are several errors, a line each; the code is that of the first.
type joined []error

func (j joined) Error() string {
	text := j[0].Error()
	for _, e := range j[1:] {
		text += "\n" + e.Error()
	}
	return text
}

func (j joined) Unwrap() []error { return j }

// SetSource says where all statements come from; without it they are prior knowledge.
func (c *Content) SetSource(s world.Source) {
	for i := range c.Items {
		c.Items[i].Source = s
	}
	for i := range c.Joints {
		c.Joints[i].Source = s
	}
	for i := range c.States {
		c.States[i].Source = s
	}
}

// Add adds what another file says.
func (c *Content) Add(o *Content) {
	c.Items = append(c.Items, o.Items...)
	c.Joints = append(c.Joints, o.Joints...)
	c.States = append(c.States, o.States...)
	c.Maps = append(c.Maps, o.Maps...)
	c.Components = append(c.Components, o.Components...)
	c.Without = append(c.Without, o.Without...)
	c.Notes = append(c.Notes, o.Notes...)
}

// Check returns what is wrong with the content as a whole, in a world as it is: items that are
// there twice, loops of parents, with those of the world, values that cannot be. What the files
// do not say of an item that there is stays as it is. The provider is who will say it: what does
// not count of what it says is in the notes.
func (c *Content) Check(f *world.Forest, provider string) error {
	var p problems
	c.checkEach(&p)
	at := map[string]string{}
	var items []world.NamedItem
	for i := range c.Items {
		it := &c.Items[i]
		if first, twice := at[it.Name]; twice {
			p.add(it.At, engram.Errorf(engram.AlreadyExists, it.Name, "the item is stated twice, first at %s", first))
			continue
		}
		at[it.Name] = it.At
		if it.Check(it.Name) == nil {
			p.add(it.At, it.complete(f, provider, c.Robot))
		}
		c.leavePlace(it, f, provider)
		c.noteKinds(it, f)
		items = append(items, it.NamedItem)
	}
	for i, err := range world.CheckParents(f, items) {
		p.add(at[items[i].Name], err)
	}
	for i := range c.Items {
		it := &c.Items[i]
		if it.Structure != nil && it.Structure.Parent != "" && at[it.Structure.Parent] == "" && !f.Has(it.Structure.Parent) {
			parent := it.Structure.Parent
			why := "does not exist yet"
			if len(f.Statements(parent)) > 0 {
				why = "is not there any more, since " + world.Absence(f, parent)
			}
			c.Notes = append(c.Notes, fmt.Sprintf("%s: the parent %s of %s %s; %s waits for it", it.At, parent, it.Name, why, it.Name))
		}
	}
	c.checkRest(f, &p, at)
	return p.err()
}

// leavePlace leaves out where a robot is, in which others have no say, and tells so.
func (c *Content) leavePlace(it *Item, f *world.Forest, provider string) {
	if !world.PlacesItself(f, it.NamedItem, provider, c.Robot) {
		return
	}
	if it.Placement = nil; it.Structure != nil {
		it.Structure = &world.Structure{}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%s: where the robot %s is counts from the provider %s only, not from %s, and is not stated", it.At, it.Name, it.Name, provider))
}

// noteKinds tells that an item becomes something else, such as a robot a place.
func (c *Content) noteKinds(it *Item, f *world.Forest) {
	if old, err := f.Get(it.Name); err == nil && world.Unlike(old.Description, it.Description) {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: %s was of the kind %s, and is %s now; if these are two things, give one another name",
			it.At, it.Name, strings.Join(old.Description.Kinds, ", "), strings.Join(it.Description.Kinds, ", ")))
	}
}

// checkEach finds what is wrong with each thing by itself. Of what there are problems already but items no more is told: it was
// not read as it is meant.
func (c *Content) checkEach(p *problems) {
	read := map[string]bool{}
	for _, err := range *p {
		file, line := placeOf(err)
		read[fmt.Sprintf("%s:%d", file, line)] = true
	}
	add := func(at string, wrong error) {
		if !read[at] {
			p.add(at, wrong)
		}
	}
	for i := range c.Items {
		for _, err := range c.Items[i].Checks(c.Items[i].Name) {
			p.add(c.Items[i].At, err)
		}
	}
	for i := range c.Joints {
		add(c.Joints[i].At, c.Joints[i].Check(c.Joints[i].Name))
	}
	for i := range c.States {
		add(c.States[i].At, engram.CheckName(c.States[i].Name))
	}
	for i := range c.Maps {
		add(c.Maps[i].At, c.Maps[i].Check(c.Maps[i].Name))
	}
	for i := range c.Components {
		add(c.Components[i].At, c.Components[i].Check(c.Components[i].Name))
	}
}

func (c *Content) checkRest(f *world.Forest, p *problems, items map[string]string) {
	has := func(name string) bool { return items[name] != "" || f.Has(name) }
	once := func(at, what, name string, seen map[string]string) {
		if first, twice := seen[name]; twice {
			p.add(at, engram.Errorf(engram.AlreadyExists, name, "the %s is stated twice, first at %s", what, first))
		}
		seen[name] = at
	}
	joints, maps, components, states := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for i := range c.Joints {
		j := &c.Joints[i]
		once(j.At, "articulation", j.Name, joints)
		for _, name := range []string{j.Base, j.Moved} {
			if !has(name) {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the articulation %s names %s, which is no item yet", j.At, j.Name, name))
			}
		}
	}
	for _, s := range c.States {
		once(s.At, "state", s.Item+"/"+s.Name, states)
		if !has(s.Item) {
			p.add(s.At, engram.Errorf(engram.NotFound, s.Item, "there is no such item to be %s", s.Name))
		}
	}
	for i := range c.Maps {
		m := &c.Maps[i]
		once(m.At, "map", m.Name, maps)
		for _, name := range m.Describes {
			if !has(name) {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the map %s describes %s, which is no item yet", m.At, m.Name, name))
			}
		}
	}
	for i := range c.Components {
		once(c.Components[i].At, "component", c.Components[i].Name, components)
	}
}

// Partly says that not all of a content was stated, since the server refused some of it after it had stated other
// things.
type Partly struct {
	Stated []string // what was stated, in words, such as "item cup"
	Err    error    // of the rest
}

// Error implements error.
func (p *Partly) Error() string { return p.Err.Error() }

// Unwrap returns why the rest was not stated.
func (p *Partly) Unwrap() error { return p.Err }

func statedOf(entries []Entry) []world.Stated {
	all := make([]world.Stated, len(entries))
	for i := range entries {
		all[i] = entries[i].Stated
	}
	return all
}

// State writes the content to a model, which was checked, and returns the mark of all of it: all is stated, or nothing and
// an error, or the error is a [Partly].
func (c *Content) State(ctx context.Context, m world.Model) (world.Mark, error) {
	return c.state(ctx, m, false)
}

// DryRun returns the error that State would return, as far as it can be foreseen, and states nothing.
func (c *Content) DryRun(ctx context.Context, m world.Model) error {
	_, err := c.state(ctx, m, true)
	return err
}

func (c *Content) state(ctx context.Context, m world.Model, dryRun bool) (world.Mark, error) {
	all := statedOf(c.Entries())
	failed, mark, err := m.StateAll(ctx, dryRun, all...)
	if err != nil || failed == nil {
		return mark, err
	}
	entries := c.Entries()
	var p problems
	partly := &Partly{}
	for i, err := range failed {
		if p.add(entries[i].At, err); err == nil {
			partly.Stated = append(partly.Stated, entries[i].words())
		}
	}
	if partly.Err = p.err(); mark == (world.Mark{}) {
		return mark, partly.Err
	}
	return mark, partly
}
