package rosmsg

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Parse reads the definition of the message of that name ("pkg/Name" or
// "pkg/msg/Name"): its fields, followed by the definitions it depends on, each
// after a line of "=" and one "MSG: pkg/Name". Dependencies that the text leaves
// out are taken from the built-in definitions. One that stands there several times must have
// the same fields each time. The error is Invalid and names the line.
func Parse(v Version, name, text string) (*Definition, error) {
	if len(text) > maxText {
		return nil, badDefinition(name, 0, "is %d bytes long; at most %d are allowed", len(text), maxText)
	}
	name = shortName(name)
	if err := checkTypeName(name); err != nil {
		return nil, badDefinition(name, 0, "%w", err)
	}
	p := &parser{version: v, root: name, messages: map[string]*Message{}}
	cur := &Message{Name: name}
	p.messages[name] = cur
	var again []repeated
	for line := range strings.Lines(text) {
		p.line++
		line = strings.TrimSpace(line)
		switch {
		case isSeparator(line):
			cur = nil
		case cur == nil && line == "":
		case cur == nil:
			dep, ok := strings.CutPrefix(line, "MSG:")
			if !ok {
				return nil, badDefinition(name, p.line, `expected "MSG: pkg/Name" after the line of "=", found %q`, clip(line))
			}
			dep = shortName(strings.TrimSpace(dep))
			if err := checkTypeName(dep); err != nil {
				return nil, badDefinition(name, p.line, "%w", err)
			}
			if len(p.messages) >= maxMessages {
				return nil, badDefinition(name, p.line, "more than %d messages", maxMessages)
			}
			cur = &Message{Name: dep}
			if first, ok := p.messages[dep]; ok {
				again = append(again, repeated{first, cur, p.line})
			} else {
				p.messages[dep] = cur
			}
		default:
			if err := p.parseLine(cur, line); err != nil {
				return nil, badDefinition(name, p.line, "%w", err)
			}
		}
	}
	for _, r := range again {
		if !slices.EqualFunc(r.first.Fields, r.message.Fields, func(a, b Field) bool { return p.sameField(r.first.Name, a, b) }) {
			return nil, badDefinition(name, r.line, "%s is defined for the second time, with other fields", r.message.Name)
		}
	}
	d := &Definition{Version: v, Root: p.messages[name], Messages: map[string]*Message{}, Text: text}
	if err := p.resolve(d, d.Root, 0); err != nil {
		return nil, err
	}
	return d, nil
}

// repeated is a message that is defined before, from that line on.
type repeated struct {
	first, message *Message
	line           int
}

// sameField reports whether two fields of a message are read alike. Types of messages may be written with their
// package or without.
func (p *parser) sameField(owner string, a, b Field) bool {
	of, other := shortName(a.Type.Message), shortName(b.Type.Message)
	if of != other {
		x, errX := p.find(of, owner)
		y, errY := p.find(other, owner)
		if x == nil || x != y || errX != nil || errY != nil {
			return false
		}
	}
	a.Type.Message, b.Type.Message = "", ""
	return a.Name == b.Name && a.Type == b.Type
}

type parser struct {
	version  Version
	root     string
	line     int
	fields   int
	messages map[string]*Message
	visiting []string
}

func isSeparator(line string) bool {
	return len(line) >= 3 && strings.Trim(line, "=") == ""
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// checkTypeName accepts "Name", "pkg/Name" and longer paths of identifiers.
func checkTypeName(name string) error {
	if len(name) > engram.MaxNameLen {
		return engram.Errorf(engram.Invalid, "", "message name %.40q… is %d bytes long", name, len(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if !isIdentifier(part) {
			return engram.Errorf(engram.Invalid, "", "%q is not a message name", clip(name))
		}
	}
	return nil
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// parseLine reads "type name", "type name default" or "type NAME=value".
func (p *parser) parseLine(m *Message, line string) error {
	if line == "" || line[0] == '#' || line[0] == '@' {
		return nil
	}
	typeText, rest := cutSpace(line)
	if i := strings.IndexByte(typeText, '#'); i >= 0 {
		typeText, rest = typeText[:i], ""
	}
	t, err := p.parseType(typeText)
	if err != nil {
		return err
	}
	if p.fields++; p.fields > maxFields {
		return engram.Errorf(engram.Invalid, "", "more than %d fields", maxFields)
	}
	end := strings.IndexAny(rest, " \t=#")
	if end < 0 {
		end = len(rest)
	}
	name, tail := rest[:end], strings.TrimSpace(rest[end:])
	if !isIdentifier(name) || len(name) > engram.MaxNameLen {
		return engram.Errorf(engram.Invalid, "", "expected a field name after %q, found %q", clip(typeText), clip(name))
	}
	if value, ok := strings.CutPrefix(tail, "="); ok {
		if t.Kind == Struct || t.Array != Single {
			return engram.Errorf(engram.Invalid, "", "constant %s is of type %q; only numbers and strings can be", name, clip(typeText))
		}
		// In ROS 1 a string constant is the rest of the line, "#" included.
		if p.version != ROS1 || t.Kind != String {
			value = stripComment(value)
		}
		m.Constants = append(m.Constants, Constant{Name: name, Kind: t.Kind, Value: strings.TrimSpace(value)})
		return nil
	}
	m.Fields = append(m.Fields, Field{Name: name, Type: t, Default: strings.TrimSpace(stripComment(tail))})
	return nil
}

func cutSpace(s string) (before, after string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// stripComment cuts s at the first "#" outside quotes.
func stripComment(s string) string {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return s[:i]
		}
	}
	// An apostrophe in a comment is no quote.
	if quote != 0 {
		if i := strings.IndexByte(s, '#'); i >= 0 {
			return s[:i]
		}
	}
	return s
}

var primitives = map[string]Kind{
	"bool": Bool, "int8": Int8, "uint8": Uint8, "int16": Int16, "uint16": Uint16,
	"int32": Int32, "uint32": Uint32, "int64": Int64, "uint64": Uint64,
	"float32": Float32, "float64": Float64, "string": String,
}

func (p *parser) primitive(name string) (Kind, bool) {
	if k, ok := primitives[name]; ok {
		return k, true
	}
	if p.version == ROS1 {
		switch name {
		case "time":
			return Time, true
		case "duration":
			return Duration, true
		case "byte": // an old name of int8
			return Int8, true
		case "char": // an old name of uint8
			return Uint8, true
		}
		return 0, false
	}
	switch name {
	case "byte", "char": // an octet, and an unsigned number
		return Uint8, true
	case "wstring":
		return WString, true
	}
	return 0, false
}

func (p *parser) parseType(s string) (Type, error) {
	t := Type{}
	base := s
	if i := strings.IndexByte(s, '['); i >= 0 {
		bound, ok := strings.CutSuffix(s[i+1:], "]")
		if !ok {
			return t, engram.Errorf(engram.Invalid, "", "type %q has no closing bracket", clip(s))
		}
		base = s[:i]
		t.Array = Unbounded
		if bound != "" {
			t.Array = Fixed
			if b, ok := strings.CutPrefix(bound, "<="); ok {
				t.Array, bound = Bounded, b
			}
			n, err := strconv.ParseUint(bound, 10, 32)
			if err != nil || n > maxFixedLen {
				return t, engram.Errorf(engram.Invalid, "", "%q is not an array length from 0 to %d", clip(bound), maxFixedLen)
			}
			t.Len = int(n)
		}
	}
	if i := strings.Index(base, "<="); i >= 0 {
		n, err := strconv.ParseUint(base[i+2:], 10, 32)
		if err != nil {
			return t, engram.Errorf(engram.Invalid, "", "%q is not a string bound", clip(base))
		}
		t.MaxChars, base = int(n), base[:i]
	}
	if k, ok := p.primitive(base); ok {
		t.Kind = k
	} else {
		t.Kind, t.Message = Struct, base
		if err := checkTypeName(base); err != nil {
			return t, err
		}
	}
	if t.MaxChars > 0 && t.Kind != String && t.Kind != WString {
		return t, engram.Errorf(engram.Invalid, "", "type %q: only strings have a bound", clip(s))
	}
	return t, nil
}
