package world

import (
	"iter"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Component is a piece of hardware or a driver. An item of the same name says where it is.
type Component struct {
	Kind            string   // what it is, such as "camera"; "" withdraws it
	Robot           string   // that it is on; "" is none
	Inputs, Outputs []string // topics or IDs
	Frame           string   // name of the item in whose frame its data are; "" is the item of its name
	View            *View    // what a sensor reaches, in the optical frame that Frame names
	Running         bool
	StartedBy       string // a launch file or a skill
	Properties      map[string]any
}

// ComponentStatement is what one provider says of a component at present.
type ComponentStatement struct {
	Name string
	Said
	Component *Component
}

// frame returns the name of the item in whose frame its data are.
func (s *ComponentStatement) frame() string {
	if s.Component.Frame != "" {
		return s.Component.Frame
	}
	return s.Name
}

// Check returns an Invalid error if there can be no such component.
func (c *Component) Check(name string) error {
	if c.Kind == "" {
		return engram.Errorf(engram.Invalid, name, "the component has no kind; say what it is, such as camera")
	}
	if v := c.View; v != nil {
		if err := v.check(name); err != nil {
			return err
		}
		if math.IsInf(v.MaxRange, 0) {
			return engram.Errorf(engram.Invalid, name, "its field of view has no end; say how far it reaches as max_range, metres")
		}
	}
	return engram.CheckName(name)
}

// PutComponent takes a statement on a component, as [Builder.Put] does on an item.
func (b *Builder) PutComponent(s ComponentStatement) {
	b.f.components.hear(s.Name, &s, func(s *ComponentStatement) *Said { return &s.Said }, b.edit)
}

func (r *Rules) componentStamp(s *ComponentStatement) (stamp, bool) {
	return stamp{time: s.Time.Add(r.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot}, s.Component.Kind != ""
}

// Components are the components of a forest.
type Components struct{ f *Forest }

// Components returns the components.
func (f *Forest) Components() Components { return Components{f} }

// All yields all components by name.
func (c Components) All() iter.Seq[*ComponentStatement] {
	return c.f.components.each(c.f.rules.componentStamp)
}

// Get returns the component of the name, which is that of the item of this name if there is
// one: the two are linked as long as both are there. The newest statement counts. The error
// is NotFound.
func (c Components) Get(name string) (*ComponentStatement, error) {
	if s := c.f.components.newest(name, c.f.rules.componentStamp); s != nil {
		return s, nil
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such component; ask for all components")
}

// Link joins a component and the item of its name.
type Link struct {
	Item      *Merged
	Component *ComponentStatement
}

// Links yields the components that have an item, with it, by name. Nobody states links:
// they are there while both are.
func (c Components) Links() iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for s := range c.All() {
			if n := c.f.item(s.Name); n != nil && !yield(Link{n.merged, s}) {
				return
			}
		}
	}
}

// Pipe is what one component writes and another one reads.
type Pipe struct{ From, Through, To string }

// Pipes returns the pipes of components, by the names of who writes, of what, of who reads.
func (c Components) Pipes() []Pipe {
	readers := map[string][]string{}
	for s := range c.All() {
		for _, in := range s.Component.Inputs {
			readers[in] = append(readers[in], s.Name)
		}
	}
	var pipes []Pipe
	for s := range c.All() {
		outputs := slices.Sorted(slices.Values(s.Component.Outputs))
		for _, out := range slices.Compact(outputs) {
			for _, to := range slices.Compact(readers[out]) {
				pipes = append(pipes, Pipe{s.Name, out, to})
			}
		}
	}
	return pipes
}
