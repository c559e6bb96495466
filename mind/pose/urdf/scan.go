package urdf

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The scanner accepts what TinyXML-2, the XML parser of ROS, accepts, and refuses the
// rest. That is not XML 1.0: any version and encoding may be declared, comments may
// contain "--", ampersands and "<" may stand in values, elements and text may stand
// beside the outermost element. encoding/xml refuses files for these that every robot
// runs with.

const (
	maxDepth      = 498  // open elements, as in TinyXML-2
	maxAttributes = 1024 // of an element
)

// tag is the start or the end of an element.
type tag struct {
	name  string
	attrs []attribute
	line  int
	end   bool // </name>
	empty bool // <name/>
}

type attribute struct{ name, value string }

// attr returns an attribute's value and whether it is there.
func (t *tag) attr(name string) (string, bool) {
	for _, a := range t.attrs {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}

// malformed is a fault in the form of the document.
type malformed struct {
	line int
	text string
}

func (m *malformed) Error() string { return m.text }

// scanner splits a document into tags.
type scanner struct {
	text     []byte
	pos      int
	line     int
	open     []opened
	content  bool   // something other than declarations was read
	encoding string // the one declared
}

type opened struct {
	name string
	line int
}

// newScanner begins with a text. What follows a NUL is not read.
func newScanner(text []byte) *scanner {
	text, _, _ = bytes.Cut(text, []byte{0})
	s := &scanner{text: text, line: 1}
	s.space()
	s.text = bytes.TrimPrefix(s.text[s.pos:], []byte("\ufeff"))
	s.pos = 0
	return s
}

func (s *scanner) refuse(line int, format string, args ...any) error {
	return &malformed{line, fmt.Sprintf(format, args...)}
}

// next returns the next tag; the error is io.EOF or a *malformed.
func (s *scanner) next() (tag, error) {
	for {
		s.space()
		if s.pos == len(s.text) {
			if len(s.open) > 0 {
				o := s.open[len(s.open)-1]
				return tag{}, s.refuse(s.line, "the file ends inside <%s> of line %d", o.name, o.line)
			}
			return tag{}, io.EOF
		}
		line := s.line
		switch {
		case s.skip("<?"):
			if s.content {
				return tag{}, s.refuse(line, "a declaration <?…?> stands only at the beginning")
			}
			body, ok := s.until("?>")
			if !ok {
				return tag{}, s.refuse(line, "the declaration has no end ?>")
			}
			s.declared(body)
			continue
		case s.skip("<!--"):
			if _, ok := s.until("-->"); !ok {
				return tag{}, s.refuse(line, "the comment has no end -->")
			}
		case s.skip("<![CDATA["):
			if _, ok := s.until("]]>"); !ok {
				return tag{}, s.refuse(line, "the CDATA section has no end ]]>")
			}
		case s.skip("<!"):
			if _, ok := s.until(">"); !ok {
				return tag{}, s.refuse(line, "<! has no end >")
			}
		case s.skip("<"):
			s.content = true
			return s.tag(line)
		default:
			if _, ok := s.until("<"); !ok || s.pos == len(s.text) {
				return tag{}, s.refuse(line, "there is text without an XML element after it")
			}
			s.pos--
		}
		s.content = true
	}
}

// declared notes the encoding of a declaration.
func (s *scanner) declared(body []byte) {
	if _, after, ok := strings.Cut(string(body), "encoding"); ok && s.encoding == "" {
		after = strings.TrimLeft(after, "= \t\r\n")
		if len(after) > 0 {
			s.encoding, _, _ = strings.Cut(after[1:], after[:1])
		}
	}
}

// tag reads on after the "<" of a line.
func (s *scanner) tag(line int) (tag, error) {
	s.space()
	t := tag{line: line, end: s.skip("/")}
	if t.name = s.name(); t.name == "" {
		return t, s.refuse(line, "< is not followed by a name")
	}
	for {
		s.space()
		switch {
		case s.pos == len(s.text):
			return t, s.refuse(line, "the file ends inside the tag <%s", t.name)
		case s.skip("/>"):
			t.empty, t.end = true, false
			return t, nil
		case s.skip(">"):
			return t, s.nest(&t)
		}
		at := s.line
		name := s.name()
		if name == "" {
			return t, s.refuse(at, "<%s>: %q is not an attribute", t.name, s.text[s.pos:][:utf8Len(s.text[s.pos:])])
		}
		if _, twice := t.attr(name); twice {
			return t, s.refuse(at, "<%s>: attribute %s stands there twice", t.name, name)
		}
		if len(t.attrs) == maxAttributes {
			return t, s.refuse(at, "<%s>: more than %d attributes", t.name, maxAttributes)
		}
		value, ok := s.value()
		if !ok {
			return t, s.refuse(at, "<%s>: attribute %s has no value in quotes", t.name, name)
		}
		t.attrs = append(t.attrs, attribute{name, value})
	}
}

// nest keeps account of the open elements. An end without a beginning ends the
// document.
func (s *scanner) nest(t *tag) error {
	switch {
	case !t.end && len(s.open) == maxDepth:
		return s.refuse(t.line, "<%s>: elements are nested more than %d deep", t.name, maxDepth)
	case !t.end:
		s.open = append(s.open, opened{t.name, t.line})
		return nil
	case len(s.open) == 0:
		s.pos = len(s.text)
		return io.EOF
	}
	last := s.open[len(s.open)-1]
	if last.name != t.name {
		return s.refuse(t.line, "</%s> ends <%s> of line %d", t.name, last.name, last.line)
	}
	s.open = s.open[:len(s.open)-1]
	return nil
}

// value reads what follows an attribute's name.
func (s *scanner) value() (string, bool) {
	s.space()
	if !s.skip("=") {
		return "", false
	}
	s.space()
	for _, quote := range []string{`"`, `'`} {
		if s.skip(quote) {
			v, ok := s.until(quote)
			return unescape(string(v)), ok
		}
	}
	return "", false
}

// name reads a name; it is empty if there is none.
func (s *scanner) name() string {
	begin := s.pos
	for s.pos < len(s.text) && (nameStart(s.text[s.pos]) || s.pos > begin && namePart(s.text[s.pos])) {
		s.pos++
	}
	return string(s.text[begin:s.pos])
}

func nameStart(c byte) bool {
	return c >= utf8.RuneSelf || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '_'
}

func namePart(c byte) bool { return '0' <= c && c <= '9' || c == '.' || c == '-' }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func (s *scanner) space() {
	for ; s.pos < len(s.text) && isSpace(s.text[s.pos]); s.pos++ {
		if s.text[s.pos] == '\n' {
			s.line++
		}
	}
}

func (s *scanner) skip(prefix string) bool {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(prefix)) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// until reads to the end mark and past it.
func (s *scanner) until(mark string) (body []byte, ok bool) {
	body, _, ok = bytes.Cut(s.text[s.pos:], []byte(mark))
	if ok {
		s.line += bytes.Count(body, []byte("\n"))
		s.pos += len(body) + len(mark)
	}
	return body, ok
}

func utf8Len(b []byte) int {
	_, n := utf8.DecodeRune(b)
	return n
}

var entities = map[string]string{"quot": `"`, "amp": "&", "apos": "'", "lt": "<", "gt": ">"}

// unescape replaces the entities that are known, and leaves other ampersands. Each of
// the ends of lines is one "\n" then.
func unescape(v string) string {
	if strings.Contains(v, "\r") {
		v = strings.NewReplacer("\r\n", "\n", "\n\r", "\n", "\r", "\n").Replace(v)
	}
	if !strings.Contains(v, "&") {
		return v
	}
	pieces := strings.Split(v, "&")
	out := slices.Clone(pieces[:1])
	for _, piece := range pieces[1:] {
		name, rest, ok := strings.Cut(piece, ";")
		with, known := entities[name]
		if number, is := strings.CutPrefix(name, "#"); is && ok {
			with, known = reference(number)
		}
		if !ok || !known {
			out = append(out, "&", piece)
			continue
		}
		out = append(out, with, rest)
	}
	v, _, _ = strings.Cut(strings.Join(out, ""), "\x00") // as a text of C ends
	return v
}

// reference returns the character of a number, such as 228 or xe4, nothing for a number
// that is no character's.
func reference(number string) (string, bool) {
	base, digits := 10, "0123456789"
	if hex, is := strings.CutPrefix(number, "x"); is {
		number, base, digits = hex, 16, "0123456789abcdefABCDEF"
	}
	if strings.Trim(number, digits) != "" {
		return "", false
	}
	n, err := strconv.ParseUint("0"+number, base, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return "", true
	}
	return string(rune(n)), true
}
