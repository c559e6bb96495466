package rosmsg

import (
	"slices"
	"strings"
)

// resolve fills in the full names of the messages that m's fields refer to and
// gathers all that m depends on in d.
func (p *parser) resolve(d *Definition, m *Message, depth int) error {
	if _, done := d.Messages[m.Name]; done {
		if slices.Contains(p.visiting, m.Name) {
			return badDefinition(p.root, 0, "%s contains itself", m.Name)
		}
		return nil
	}
	if depth > maxDepth {
		return badDefinition(p.root, 0, "messages are nested deeper than %d", maxDepth)
	}
	d.Messages[m.Name] = m
	p.visiting = append(p.visiting, m.Name)
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Type.Kind != Struct {
			continue
		}
		if p.timeKind(f, m.Name) {
			continue
		}
		dep, err := p.find(f.Type.Message, m.Name)
		if err != nil {
			return err
		}
		if dep == nil {
			return badDefinition(p.root, 0, "field %s of %s has the type %s, which is not defined", f.Name, m.Name, f.Type.Message)
		}
		f.Type.Message = dep.Name
		if err := p.resolve(d, dep, depth+1); err != nil {
			return err
		}
	}
	p.visiting = p.visiting[:len(p.visiting)-1]
	return nil
}

// timeKind turns the messages that ROS 2 has for times into the kinds they are.
func (p *parser) timeKind(f *Field, owner string) bool {
	if p.version != ROS2 {
		return false
	}
	name := shortName(f.Type.Message)
	if !strings.Contains(name, "/") {
		name = packageOf(owner) + "/" + name
	}
	switch name {
	case "builtin_interfaces/Time":
		f.Type.Kind = Time
	case "builtin_interfaces/Duration":
		f.Type.Kind = Duration
	default:
		return false
	}
	f.Type.Message = ""
	return true
}

func packageOf(name string) string {
	pkg, _, _ := strings.Cut(name, "/")
	return pkg
}

// find looks a message up as a field of owner names it: by its full name, in the
// owner's package, as the Header, and last by its name in any package if that is
// clear.
func (p *parser) find(name, owner string) (*Message, error) {
	name = shortName(name)
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = []string{packageOf(owner) + "/" + name, name}
		if name == "Header" {
			candidates = append(candidates, "std_msgs/Header")
		}
	}
	for _, c := range candidates {
		if m, ok := p.messages[c]; ok {
			return m, nil
		}
	}
	var only *Message
	if !strings.Contains(name, "/") {
		for full, m := range p.messages {
			if strings.HasSuffix(full, "/"+name) {
				if only != nil {
					return nil, badDefinition(p.root, 0, "%s in %s may be %s or %s", name, owner, min(only.Name, full), max(only.Name, full))
				}
				only = m
			}
		}
		if only != nil {
			return only, nil
		}
	}
	for _, c := range candidates {
		if body, ok := builtinBody(p.version, c); ok {
			m := &Message{Name: c}
			for line := range strings.Lines(body) {
				if err := p.parseLine(m, strings.TrimSpace(line)); err != nil {
					return nil, badDefinition(c, 0, "%w", err)
				}
			}
			p.messages[c] = m
			return m, nil
		}
	}
	return nil, nil
}
