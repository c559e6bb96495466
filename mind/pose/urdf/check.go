package urdf

import (
	"fmt"
	"math"
)

// checkTree checks that links and joints form one tree, finds its root and
// resolves mimics.
func (p *reader) checkTree() error {
	robot := &p.robot
	if len(robot.Links) == 0 {
		return p.refuse(1, "<robot>", "it has no link")
	}
	links := make(map[string]*Link, len(robot.Links))
	for i := range robot.Links {
		l := &robot.Links[i]
		if first := links[l.Name]; first != nil {
			return p.refuse(l.Line, fmt.Sprintf("link %q", l.Name), "the name is taken by the link on line %d", first.Line)
		}
		links[l.Name] = l
	}
	joints := make(map[string]*Joint, len(robot.Joints))
	above := make(map[string]*Joint, len(robot.Joints)) // by child link
	for i := range robot.Joints {
		j := &robot.Joints[i]
		element := fmt.Sprintf("joint %q", j.Name)
		if first := joints[j.Name]; first != nil {
			return p.refuse(j.Line, element, "the name is taken by the joint on line %d", first.Line)
		}
		joints[j.Name] = j
		for _, name := range []string{j.Parent, j.Child} {
			if links[name] == nil {
				return p.refuse(j.Line, element, "there is no link %q", name)
			}
		}
		if first := above[j.Child]; first != nil {
			return p.refuse(j.Line, element, "link %q has two parents: joint %q on line %d leads to it from %q", j.Child, first.Name, first.Line, first.Parent)
		}
		above[j.Child] = j
	}
	if err := p.findRoot(above); err != nil {
		return err
	}
	return p.resolveMimics(joints)
}

// findRoot finds the one link without a parent. A link from which the way up does
// not end there stands on a loop or above one.
func (p *reader) findRoot(above map[string]*Joint) error {
	robot := &p.robot
	for i := range robot.Links {
		l := &robot.Links[i]
		if above[l.Name] != nil {
			continue
		}
		if robot.Root != "" {
			return p.refuse(l.Line, fmt.Sprintf("link %q", l.Name), "a second root: neither it nor %q has a parent", robot.Root)
		}
		robot.Root = l.Name
	}
	reached := map[string]bool{robot.Root: robot.Root != ""}
	for i := range robot.Links {
		var way []string
		on := map[string]bool{}
		for name := robot.Links[i].Name; !reached[name]; name = above[name].Parent {
			if on[name] {
				j := above[name]
				return p.refuse(j.Line, fmt.Sprintf("joint %q", j.Name), "a loop: link %q is above itself", name)
			}
			on[name] = true
			way = append(way, name)
		}
		for _, name := range way {
			reached[name] = true
		}
	}
	return nil
}

// resolveMimics checks every mimic and replaces chains by their first joint.
func (p *reader) resolveMimics(joints map[string]*Joint) error {
	written := make(map[string]*Mimic)
	for name, j := range joints {
		written[name] = j.Mimic
	}
	for i := range p.robot.Joints {
		j := &p.robot.Joints[i]
		if j.Mimic == nil {
			continue
		}
		element := fmt.Sprintf("joint %q <mimic>", j.Name)
		resolved := *j.Mimic
		for steps := 0; ; steps++ {
			source := joints[resolved.Joint]
			switch {
			case source == nil:
				return p.refuse(j.Line, element, "there is no joint %q", resolved.Joint)
			case source == j && steps == 0:
				return p.refuse(j.Line, element, "the joint mimics itself")
			case source == j || steps > len(joints):
				return p.refuse(j.Line, element, "the mimics form a cycle through joint %q", source.Name)
			case !source.Type.hasValue():
				return p.refuse(j.Line, element, "joint %q is %s and has no single value", source.Name, source.Type)
			}
			next := written[source.Name]
			if next == nil {
				break
			}
			resolved = Mimic{
				Joint:      next.Joint,
				Multiplier: resolved.Multiplier * next.Multiplier,
				Offset:     resolved.Multiplier*next.Offset + resolved.Offset,
			}
		}
		if math.IsInf(resolved.Multiplier, 0) || math.IsNaN(resolved.Offset) || math.IsInf(resolved.Offset, 0) {
			return p.refuse(j.Line, element, "the multipliers of the chain to joint %q overflow", resolved.Joint)
		}
		j.Mimic = &resolved
	}
	return nil
}
