package urdf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (p *reader) joint(e tag) (err error) {
	j := Joint{Axis: [3]float64{1, 0, 0}, Line: e.line}
	if j.Name, err = p.name(e, "name", "<joint>"); err != nil {
		return err
	}
	if j.Name == "" {
		return p.refuse(e.line, "<joint>", "it has no name")
	}
	element := fmt.Sprintf("joint %q", j.Name)
	word, _ := e.attr("type")
	typ := slices.Index(jointTypeNames[:], word)
	if typ < 0 {
		return p.refuse(e.line, element, "type %q is none of %s", word, strings.Join(jointTypeNames[:], ", "))
	}
	j.Type = JointType(typ)
	var seen []string
	err = p.children(e, func(e tag) (bool, error) {
		switch e.name {
		case "origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "safety_controller", "calibration":
			if slices.Contains(seen, e.name) { // ROS reads the first only
				p.doubt(e.line, element, "a second <%s> is left out; the first counts", e.name)
				return false, nil
			}
			seen = append(seen, e.name)
			return false, p.jointPart(&j, element, e)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if err := p.checkJoint(&j, element); err != nil {
		return err
	}
	p.robot.Joints = append(p.robot.Joints, j)
	return nil
}

// jointPart reads one element of a joint.
func (p *reader) jointPart(j *Joint, element string, e tag) (err error) {
	in := element + " <" + e.name + ">"
	switch e.name {
	case "origin":
		return p.origin(j, in, e)
	case "parent":
		j.Parent, err = p.name(e, "link", in)
	case "child":
		j.Child, err = p.name(e, "link", in)
	case "axis":
		if !j.Type.hasAxis() {
			return nil
		}
		xyz, ok := e.attr("xyz")
		if !ok {
			p.doubt(e.line, in, "it has no xyz; 1 0 0 is taken")
			return nil
		}
		err = p.numbers(j.Axis[:], xyz, in+" xyz", e.line)
	case "limit":
		j.Limit = &Limit{}
		numbers := []number{
			{name: "lower", to: &j.Limit.Lower}, {name: "upper", to: &j.Limit.Upper},
			{name: "effort", to: &j.Limit.Effort, required: true}, {name: "velocity", to: &j.Limit.Velocity, required: true},
		}
		if p.robot.Minor >= 2 {
			numbers = append(numbers, number{name: "acceleration"}, number{name: "deceleration"}, number{name: "jerk"})
		}
		err = p.attributes(e, in, numbers)
	case "mimic":
		j.Mimic = &Mimic{Multiplier: 1}
		if j.Mimic.Joint, err = p.name(e, "joint", in); err != nil {
			return err
		}
		if j.Mimic.Joint == "" {
			return p.refuse(e.line, in, "it names no joint")
		}
		err = p.attributes(e, in, []number{{name: "multiplier", to: &j.Mimic.Multiplier}, {name: "offset", to: &j.Mimic.Offset}})
	case "dynamics":
		_, damping := e.attr("damping")
		_, friction := e.attr("friction")
		if !damping && !friction {
			return p.refuse(e.line, in, "it has neither damping nor friction")
		}
		err = p.attributes(e, in, []number{{name: "damping"}, {name: "friction"}})
	case "safety_controller":
		err = p.attributes(e, in, []number{{name: "soft_lower_limit"}, {name: "soft_upper_limit"}, {name: "k_position"}, {name: "k_velocity", required: true}})
	case "calibration":
		err = p.attributes(e, in, []number{{name: "rising"}, {name: "falling"}})
	}
	return err
}

// origin reads where the joint is in the parent link.
func (p *reader) origin(j *Joint, in string, e tag) error {
	if xyz, ok := e.attr("xyz"); ok {
		if err := p.numbers(j.XYZ[:], xyz, in+" xyz", e.line); err != nil {
			return err
		}
	}
	rpy, hasRPY := e.attr("rpy")
	if hasRPY {
		if err := p.numbers(j.RPY[:], rpy, in+" rpy", e.line); err != nil {
			return err
		}
	}
	quat, hasQuat := e.attr("quat_xyzw")
	switch {
	case !hasQuat:
		return nil
	case p.robot.Minor < 1:
		p.doubt(e.line, in, "quat_xyzw is left out; it belongs to version 1.1 of the format, and <robot> does not say version=\"1.1\"")
		return nil
	case hasRPY:
		return p.refuse(e.line, in, "it has both rpy and quat_xyzw")
	}
	var q [4]float64
	if err := p.numbers(q[:], quat, in+" quat_xyzw", e.line); err != nil {
		return err
	}
	n := math.Hypot(math.Hypot(q[0], q[1]), math.Hypot(q[2], q[3]))
	if math.Abs(n-1) > 1e-3 {
		return p.refuse(e.line, in, "quaternion %v has the length %g instead of 1", q, n)
	}
	for i := range q {
		q[i] /= n
	}
	j.Quat = &q
	return nil
}

// number is an attribute that holds a number.
type number struct {
	name     string
	to       *float64 // nil to look at its form only
	required bool
}

func (p *reader) attributes(e tag, in string, numbers []number) error {
	for _, n := range numbers {
		s, ok := e.attr(n.name)
		if !ok && n.required {
			return p.refuse(e.line, in, "it has no %s; a number is required", n.name)
		}
		if !ok {
			continue
		}
		x, err := p.number(s, in+" "+n.name, e.line)
		if err != nil {
			return err
		}
		if n.to != nil {
			*n.to = x
		}
	}
	return nil
}

// checkJoint checks what can be said of a joint alone and normalises its axis.
func (p *reader) checkJoint(j *Joint, element string) error {
	switch {
	case j.Parent == "":
		return p.refuse(j.Line, element, "it has no <parent link=…>")
	case j.Child == "":
		return p.refuse(j.Line, element, "it has no <child link=…>")
	case j.Parent == j.Child:
		return p.refuse(j.Line, element, "a loop: link %q is its own parent", j.Child)
	}
	if !j.Type.hasAxis() {
		j.Axis = [3]float64{}
	} else {
		n := math.Hypot(math.Hypot(j.Axis[0], j.Axis[1]), j.Axis[2])
		// Any axis of a sensible file has about unit length; one of 1e-100 is a
		// zero that went through arithmetic.
		if !(n > 1e-9) || math.IsInf(n, 0) {
			return p.refuse(j.Line, element, "axis %v has the length %g and gives no direction", j.Axis, n)
		}
		for i := range j.Axis {
			j.Axis[i] /= n
		}
	}
	if j.Type == Revolute || j.Type == Prismatic {
		if j.Limit == nil {
			return p.refuse(j.Line, element, "a %s joint needs a <limit>; if it turns without end it is continuous", j.Type)
		}
		if j.Limit.Lower > j.Limit.Upper { // limits move no link
			p.doubt(j.Line, element, "its lower limit %g is above the upper limit %g", j.Limit.Lower, j.Limit.Upper)
		}
	}
	if j.Mimic != nil && !j.Type.hasValue() {
		p.doubt(j.Line, element, "its <mimic> is left out; a %s joint has no single value", j.Type)
		j.Mimic = nil
	}
	return nil
}
