package urdf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// MaxBytes is the largest description that Read accepts; one of a humanoid with
// all its sensors has some hundred kilobytes.
const MaxBytes = 32 << 20

// Read reads a description; file is its name in errors. The error is Invalid (or
// Exhausted beyond [MaxBytes], or the reader's own) and names file, line and
// element.
func Read(r io.Reader, file string) (*Robot, error) { return read(r, file, MaxBytes) }

func read(r io.Reader, file string, maxBytes int64) (*Robot, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	p := &reader{file: file, dec: xml.NewDecoder(limited)}
	err := p.document()
	if limited.N <= 0 {
		return nil, engram.Errorf(engram.Exhausted, file, "the description is larger than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, err
	}
	if err := p.checkTree(); err != nil {
		return nil, err
	}
	return &p.robot, nil
}

// reader walks the XML tokens.
type reader struct {
	file  string
	dec   *xml.Decoder
	robot Robot
}

func (p *reader) refuse(line int, element, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, line), "%s: %w", element, fmt.Errorf(format, args...))
}

// next returns the next start or end of an element and the line on which it
// begins, and refuses what xacro should have expanded.
func (p *reader) next() (xml.Token, int, error) {
	for {
		line, _ := p.dec.InputPos()
		tok, err := p.dec.Token()
		if err != nil {
			if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
				return nil, line, engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, syntax.Line), "not well-formed XML: %w", err)
			}
			return nil, line, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if strings.Contains(tok.Name.Space, "xacro") {
				return nil, line, p.refuse(line, "<xacro:"+tok.Name.Local+">", "an unexpanded xacro element; run xacro on the file first")
			}
			return tok, line, nil
		case xml.EndElement:
			return tok, line, nil
		}
	}
}

// children calls visit for each element directly below the one just begun; visit
// returns false to have the element's own children skipped.
func (p *reader) children(visit func(e xml.StartElement, line int) (consumed bool, err error)) error {
	for depth := 0; ; {
		tok, line, err := p.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, line), "the file ends inside an element: %w", io.ErrUnexpectedEOF)
			}
			return err
		}
		if e, ok := tok.(xml.StartElement); ok {
			consumed := false
			if depth == 0 {
				if consumed, err = visit(e, line); err != nil {
					return err
				}
			}
			if !consumed {
				depth++
			}
		} else if depth--; depth < 0 {
			return nil
		}
	}
}

func (p *reader) document() error {
	tok, line, err := p.next()
	if errors.Is(err, io.EOF) {
		return engram.Errorf(engram.Invalid, p.file, "the file holds no XML element; a <robot> is expected")
	}
	if err != nil {
		return err
	}
	e, ok := tok.(xml.StartElement)
	if !ok || e.Name.Local != "robot" {
		return p.refuse(line, "<"+e.Name.Local+">", "the outermost element must be <robot>")
	}
	p.robot.Name = attr(e, "name")
	return p.children(func(e xml.StartElement, line int) (bool, error) {
		switch {
		case e.Name.Space != "":
			return false, nil
		case e.Name.Local == "link":
			return true, p.link(e, line)
		case e.Name.Local == "joint":
			return true, p.joint(e, line)
		}
		return false, nil
	})
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

func (p *reader) link(e xml.StartElement, line int) error {
	l := Link{Name: attr(e, "name"), Line: line}
	if l.Name == "" {
		return p.refuse(line, "<link>", "it has no name")
	}
	err := p.meshes(&l)
	p.robot.Links = append(p.robot.Links, l)
	return err
}

// meshes reads to the end of a link and notes the meshes at any depth.
func (p *reader) meshes(l *Link) error {
	return p.children(func(e xml.StartElement, _ int) (bool, error) {
		if name := attr(e, "filename"); e.Name.Local == "mesh" && name != "" && !slices.Contains(l.Meshes, name) {
			l.Meshes = append(l.Meshes, name)
		}
		switch e.Name.Local {
		case "visual", "collision", "geometry":
			return true, p.meshes(l)
		}
		return false, nil
	})
}

func (p *reader) joint(e xml.StartElement, line int) error {
	j := Joint{Name: attr(e, "name"), Axis: [3]float64{1, 0, 0}, Line: line}
	if j.Name == "" {
		return p.refuse(line, "<joint>", "it has no name")
	}
	element := fmt.Sprintf("joint %q", j.Name)
	typ := slices.Index(jointTypeNames[:], attr(e, "type"))
	if typ < 0 {
		return p.refuse(line, element, "type %q is none of %s", attr(e, "type"), strings.Join(jointTypeNames[:], ", "))
	}
	j.Type = JointType(typ)
	var seen []string
	err := p.children(func(e xml.StartElement, line int) (bool, error) {
		name := e.Name.Local
		switch name {
		case "origin", "parent", "child", "axis", "limit", "mimic":
			if slices.Contains(seen, name) {
				return false, p.refuse(line, element, "a second <%s>", name)
			}
			seen = append(seen, name)
		}
		return false, p.jointPart(&j, element, e, line)
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
func (p *reader) jointPart(j *Joint, element string, e xml.StartElement, line int) (err error) {
	in := element + " <" + e.Name.Local + ">"
	number := func(dst *float64, name string) {
		if s := attr(e, name); s != "" && err == nil {
			*dst, err = p.number(s, in+" "+name, line)
		}
	}
	switch e.Name.Local {
	case "origin":
		if err = p.vector(&j.XYZ, attr(e, "xyz"), in+" xyz", line); err == nil {
			err = p.vector(&j.RPY, attr(e, "rpy"), in+" rpy", line)
		}
	case "axis":
		err = p.vector(&j.Axis, attr(e, "xyz"), in+" xyz", line)
	case "parent":
		j.Parent = attr(e, "link")
	case "child":
		j.Child = attr(e, "link")
	case "limit":
		j.Limit = &Limit{}
		number(&j.Limit.Lower, "lower")
		number(&j.Limit.Upper, "upper")
		number(&j.Limit.Velocity, "velocity")
		number(&j.Limit.Effort, "effort")
	case "mimic":
		j.Mimic = &Mimic{Joint: attr(e, "joint"), Multiplier: 1}
		number(&j.Mimic.Multiplier, "multiplier")
		number(&j.Mimic.Offset, "offset")
	}
	return err
}

func (p *reader) number(s, in string, line int) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, p.refuse(line, in, "%q is not a finite number", s)
	}
	return x, nil
}

// vector reads three numbers; an empty text leaves v as it is.
func (p *reader) vector(v *[3]float64, s, in string, line int) error {
	if s == "" {
		return nil
	}
	fields := strings.Fields(s)
	if len(fields) != 3 {
		return p.refuse(line, in, "%q holds %d numbers; 3 are expected", s, len(fields))
	}
	for i, f := range fields {
		x, err := p.number(f, in, line)
		if err != nil {
			return err
		}
		v[i] = x
	}
	return nil
}
