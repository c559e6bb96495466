package files

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/world"
)

// Content is what a file says of a world.
type Content struct {
	Items      []Item
	Joints     []Joint
	States     []State
	Maps       []Map
	Components []Component
	// Notes are what a reader shall know: what was not carried over, or does not do what it
	// seems to.
	Notes []string
}

// Item is an item with where the file says it, such as "kitchen.yaml:7".
type Item struct {
	world.NamedItem
	At string

	said []string // members of its description; nil is all
}

// complete has what the file does not say of an item stay as it is in a world. The error is
// Conflict if it would have another parent and its place would be lost.
func (it *Item) complete(f *world.Forest) error {
	old, err := f.Get(it.Name)
	if err != nil {
		if it.Structure == nil {
			it.Structure = &world.Structure{} // that it is, by itself
		}
		return nil
	}
	if it.Description != nil && it.said != nil && old.Description != nil {
		d := *old.Description
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
	case it.Structure.Parent == parent:
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
	if len(p) > MaxProblems {
		p = append(p[:MaxProblems:MaxProblems], engram.Errorf(engram.Invalid, "", "%d more errors", len(p)-MaxProblems))
	}
	return joined(p)
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
	c.Notes = append(c.Notes, o.Notes...)
}

// Check returns what is wrong with the content as a whole, in a world as it is: items that are
// there twice, loops of parents, with those of the world, values that cannot be. What the files
// do not say of an item that there is stays as it is. The provider is who will say it: what does
// not count of what it says is in the notes.
func (c *Content) Check(f *world.Forest, provider string) error {
	var p problems
	at := map[string]string{}
	parents := map[string]string{}
	for i := range c.Items {
		it := &c.Items[i]
		if first, twice := at[it.Name]; twice {
			p.add(it.At, engram.Errorf(engram.AlreadyExists, it.Name, "the item is stated twice, first at %s", first))
			continue
		}
		at[it.Name] = it.At
		if err := it.Check(it.Name); err != nil {
			p.add(it.At, err)
		} else {
			p.add(it.At, it.complete(f))
		}
		if it.Structure != nil {
			parents[it.Name] = it.Structure.Parent
		}
		c.noteRobot(it, provider)
	}
	rooted := map[string]bool{}
	for i := range c.Items {
		it := &c.Items[i]
		p.add(it.At, c.checkLoop(f, it, parents, rooted))
		if it.Structure != nil && it.Structure.Parent != "" && at[it.Structure.Parent] == "" && !f.Has(it.Structure.Parent) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: the parent %s of %s does not exist yet; %s waits for it", it.At, it.Structure.Parent, it.Name, it.Name))
		}
	}
	c.checkRest(f, &p, at)
	return p.err()
}

// noteRobot tells that others have no say in where a robot is.
func (c *Content) noteRobot(it *Item, provider string) {
	if it.Is(world.KindRobot) && it.Name != provider && (it.Placement != nil || it.Structure != nil && it.Structure.Parent != "") {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: where the robot %s is counts from the provider %s only, not from %s", it.At, it.Name, it.Name, provider))
	}
}

// checkLoop returns a Conflict error if an item is above itself. Names whose way is known to
// end at a root are in rooted, so that a deep tree costs one step per item.
func (c *Content) checkLoop(f *world.Forest, it *Item, parents map[string]string, rooted map[string]bool) error {
	if it.Structure == nil {
		return nil
	}
	way, on := []string{it.Name}, map[string]bool{it.Name: true}
	for name := it.Structure.Parent; name != "" && !rooted[name]; {
		if name == it.Name {
			if len(way) == 1 {
				return nil // its own parent: told already
			}
			return engram.Errorf(engram.Conflict, it.Name, "it would be above itself: %v", append(way, name))
		}
		if on[name] {
			return nil // on a loop above, which is told of its own items
		}
		way, on[name] = append(way, name), true
		if parent, said := parents[name]; said {
			name = parent
			continue
		}
		path, err := f.PathToRoot(name)
		if err != nil || len(path) < 2 {
			break
		}
		name = path[1].Name
	}
	for _, name := range way {
		rooted[name] = true
	}
	return nil
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
		p.add(j.At, j.Check(j.Name))
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
		p.add(s.At, engram.CheckName(s.Name))
	}
	for i := range c.Maps {
		m := &c.Maps[i]
		once(m.At, "map", m.Name, maps)
		p.add(m.At, m.Check(m.Name))
		for _, name := range m.Describes {
			if !has(name) {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the map %s describes %s, which is no item yet", m.At, m.Name, name))
			}
		}
	}
	for i := range c.Components {
		x := &c.Components[i]
		once(x.At, "component", x.Name, components)
		p.add(x.At, x.Check(x.Name))
	}
}

// State writes the content to a model, which was checked, and returns the mark of all of it.
func (c *Content) State(ctx context.Context, m world.Model) (mark world.Mark, err error) {
	last := func(next world.Mark) {
		if next.Number > 0 {
			mark = next
		}
	}
	if len(c.Items) > 0 {
		items := make([]world.NamedItem, len(c.Items))
		for i := range c.Items {
			items[i] = c.Items[i].NamedItem
			items[i].Source = cmp.Or(items[i].Source, world.PriorKnowledge)
		}
		refused, next, err := m.Update(ctx, items...)
		if err != nil {
			return mark, err
		}
		last(next)
		if len(refused) > 0 {
			at := map[string]string{}
			for i := range c.Items {
				at[c.Items[i].Name] = c.Items[i].At
			}
			var p problems
			for _, r := range refused {
				p.add(at[r.Name], r.Err)
			}
			return mark, p.err()
		}
	}
	for i := range c.Joints {
		joint := c.Joints[i].Articulation
		joint.Source = cmp.Or(joint.Source, world.PriorKnowledge)
		next, err := m.Articulate(ctx, c.Joints[i].Name, joint)
		if err != nil {
			return mark, engram.Errorf(engram.CodeOf(err), c.Joints[i].At, "%w", err)
		}
		last(next)
	}
	for _, s := range c.States {
		s.State.Source = cmp.Or(s.State.Source, world.PriorKnowledge)
		next, err := m.SetState(ctx, s.State, s.Confidence)
		if err != nil {
			return mark, engram.Errorf(engram.CodeOf(err), s.At, "%w", err)
		}
		last(next)
	}
	for i := range c.Maps {
		next, err := m.SetMap(ctx, c.Maps[i].Name, c.Maps[i].Map, c.Maps[i].Data)
		if err != nil {
			return mark, engram.Errorf(engram.CodeOf(err), c.Maps[i].At, "%w", err)
		}
		last(next)
	}
	for i := range c.Components {
		next, err := m.SetComponent(ctx, c.Components[i].Name, c.Components[i].Component)
		if err != nil {
			return mark, engram.Errorf(engram.CodeOf(err), c.Components[i].At, "%w", err)
		}
		last(next)
	}
	return mark, nil
}
