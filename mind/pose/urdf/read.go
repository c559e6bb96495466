package urdf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

// MaxBytes is the largest description that Read accepts; one of a humanoid with
// all its sensors has some hundred kilobytes.
const MaxBytes = 32 << 20

// newestMinor is that of the newest version of the format that is known, 1.2.
const newestMinor = 2

// maxDoubts bounds what a description that is all doubtful takes in main memory.
const maxDoubts = 100

// Read reads a description; file is its name in errors. The error is Invalid (or
// Exhausted beyond [MaxBytes], or the reader's own) and names file, line and
// element. What is taken although it is doubtful is in [Robot.Doubts].
func Read(r io.Reader, file string) (*Robot, error) { return read(r, file, MaxBytes) }

func read(r io.Reader, file string, maxBytes int64) (*Robot, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > maxBytes {
		return nil, engram.Errorf(engram.Exhausted, file, "the description is larger than %d bytes", maxBytes)
	}
	text, encoding := decode(text)
	p := &reader{file: file, scan: newScanner(text), encoding: encoding}
	if err := p.document(); err != nil {
		return nil, err
	}
	if !isKnown(encoding) {
		p.doubt(1, "<?xml encoding>", "the encoding %q is not known; the text is read as UTF-8", encoding)
	}
	if err := p.checkTree(); err != nil {
		return nil, err
	}
	return &p.robot, nil
}

// reader walks the tags.
type reader struct {
	file     string
	scan     *scanner
	encoding string   // that the text declares
	xacro    []string // prefixes of its elements
	robot    Robot
}

func (p *reader) refuse(line int, element, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, line), "%s: %w", element, fmt.Errorf(format, args...))
}

// doubt notes what is taken although it is doubtful.
func (p *reader) doubt(line int, element, format string, args ...any) {
	if len(p.robot.Doubts) == maxDoubts {
		return
	}
	p.robot.Doubts = append(p.robot.Doubts, p.refuse(line, element, format, args...))
}

// next returns the next tag and refuses what xacro should have expanded.
func (p *reader) next() (tag, error) {
	t, err := p.scan.next()
	if m, ok := errors.AsType[*malformed](err); ok {
		return t, engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, m.line), "not well-formed XML: %w", err)
	}
	for _, a := range t.attrs {
		if prefix, ok := strings.CutPrefix(a.name, "xmlns:"); ok && strings.Contains(a.value, "xacro") {
			p.xacro = append(p.xacro, prefix)
		}
	}
	if prefix, name, ok := strings.Cut(t.name, ":"); ok && err == nil && (prefix == "xacro" || slices.Contains(p.xacro, prefix)) {
		return t, p.refuse(t.line, "<xacro:"+name+">", "an unexpanded xacro element; run xacro on the file first")
	}
	return t, err
}

// children calls visit for each element directly below e, which was just begun; visit
// returns false to have the element's own children skipped.
func (p *reader) children(e tag, visit func(e tag) (consumed bool, err error)) error {
	if e.empty {
		return nil
	}
	for depth := 0; ; {
		t, err := p.next()
		if err != nil {
			return err
		}
		if t.end {
			if depth--; depth < 0 {
				return nil
			}
			continue
		}
		consumed := false
		if depth == 0 {
			if consumed, err = visit(t); err != nil {
				return err
			}
		}
		if !consumed && !t.empty {
			depth++
		}
	}
}

// document reads the first element <robot>. Of what stands beside it, only the form
// is looked at.
func (p *reader) document() error {
	found, first := false, ""
	for {
		t, err := p.next()
		switch {
		case errors.Is(err, io.EOF) && found:
			return nil
		case errors.Is(err, io.EOF) && first != "":
			return p.refuse(1, "<"+first+">", "the outermost element must be <robot>")
		case errors.Is(err, io.EOF):
			return p.refuse(1, "<robot>", "the file holds no XML element; a <robot> is expected")
		case err != nil:
			return err
		case t.name == "robot" && !found:
			found = true
			err = p.readRobot(t)
		default:
			if first == "" {
				first = t.name
			}
			err = p.children(t, func(tag) (bool, error) { return false, nil })
		}
		if err != nil {
			return err
		}
	}
}

func (p *reader) readRobot(e tag) (err error) {
	name, ok := e.attr("name")
	if !ok {
		return p.refuse(e.line, "<robot>", "it has no name")
	}
	if p.robot.Name, err = p.text(name, "<robot> name", e.line); err != nil {
		return err
	}
	if v, ok := e.attr("version"); ok {
		minor, ok := strings.CutPrefix(v, "1.")
		n, err := strconv.ParseUint(minor, 10, 16)
		if !ok || err != nil {
			return p.refuse(e.line, "<robot>", "version %q of the format is not known; 1.0 to 1.%d are", v, newestMinor)
		}
		if p.robot.Minor = int(n); n > newestMinor {
			p.doubt(e.line, "<robot>", "version %q of the format is read as 1.%d, the newest that is known", v, newestMinor)
		}
	}
	return p.children(e, func(e tag) (bool, error) {
		switch e.name {
		case "link":
			return true, p.link(e)
		case "joint":
			return true, p.joint(e)
		}
		return false, nil
	})
}

// text returns a name, which must be UTF-8.
func (p *reader) text(s, in string, line int) (string, error) {
	switch {
	case utf8.ValidString(s):
		return s, nil
	case !isKnown(p.encoding):
		return "", p.refuse(line, in, "%q is not UTF-8, and the encoding %s, which the file declares, is not known; convert it to UTF-8, as iconv -f %[2]s -t UTF-8 does, and declare that", s, p.encoding)
	case p.encoding != "":
		return "", p.refuse(line, in, "%q is not UTF-8, nor what the file declares, %s; declare the encoding that it is in, or convert it to UTF-8", s, p.encoding)
	}
	return "", p.refuse(line, in, "%q is not UTF-8; declare the encoding, as in <?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>, or convert it to UTF-8", s)
}

// name returns an attribute that names something; it is empty if there is none.
func (p *reader) name(e tag, attr, in string) (string, error) {
	s, ok := e.attr(attr)
	if !ok || s == "" {
		return "", nil
	}
	s, err := p.text(s, in, e.line)
	if err == nil {
		if err = engram.CheckName(s); err != nil {
			err = p.refuse(e.line, in, "%w", err)
		}
	}
	return s, err
}

func (p *reader) link(e tag) (err error) {
	l := Link{Line: e.line}
	if l.Name, err = p.name(e, "name", "<link>"); err != nil {
		return err
	}
	if l.Name == "" {
		return p.refuse(e.line, "<link>", "it has no name")
	}
	err = p.meshes(e, &l)
	p.robot.Links = append(p.robot.Links, l)
	return err
}

// meshes reads to the end of a link and notes the meshes at any depth.
func (p *reader) meshes(e tag, l *Link) error {
	return p.children(e, func(e tag) (bool, error) {
		if name, _ := e.attr("filename"); e.name == "mesh" && name != "" && !slices.Contains(l.Meshes, name) {
			l.Meshes = append(l.Meshes, name)
		}
		switch e.name {
		case "visual", "collision", "geometry":
			return true, p.meshes(e, l)
		}
		return false, nil
	})
}

// number reads a number as a C++ stream in the C locale does: blanks before it, none
// after it, no infinities and no hexadecimals.
func (p *reader) number(s, in string, line int) (float64, error) {
	digits := strings.TrimLeft(s, " \t\n\v\f\r")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(x, 0) || strings.Trim(digits, "0123456789+-.eE") != "" {
		return 0, p.refuse(line, in, "%q is not a finite number", s)
	}
	return x, nil
}

// numbers reads as many numbers as v has room for, with spaces between them.
func (p *reader) numbers(v []float64, s, in string, line int) error {
	fields := slices.DeleteFunc(strings.Split(s, " "), func(f string) bool { return f == "" })
	if len(fields) != len(v) {
		return p.refuse(line, in, "%q holds %d numbers; %d are expected, with spaces between them", s, len(fields), len(v))
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
