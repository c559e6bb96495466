package idf

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

// xmlNode is an element of an XML type file.
type xmlNode struct {
	name     string
	line     int
	attrs    []xmlAttr
	children []*xmlNode
	// doc is the text of the comments that stand before the element, and trailing
	// that of those that follow it on its last line.
	doc      string
	trailing string
	endLine  int
}

type xmlAttr struct {
	name, value string
	line        int
}

// maxXMLDepth is how deep elements may be nested.
const maxXMLDepth = 64

// parseXML reads the XML of type files as ArmarX's reader does: element names may
// hold "::" and attribute values may hold "<", which XML forbids and which is why
// this is not encoding/xml. Elements hold elements; text is refused. Errors are
// Invalid and begin with file:line.
func parseXML(file string, text []byte) (*xmlNode, error) {
	p := &xmlParser{file: file, b: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), line: 1}
	if !utf8.Valid(p.b) {
		for len(p.b) > 0 {
			r, n := utf8.DecodeRune(p.b)
			if r == utf8.RuneError && n == 1 {
				break
			}
			p.skip(n)
		}
		return nil, p.errorf(p.line, "a byte that is not UTF-8; save the file as UTF-8")
	}
	if i := bytes.IndexFunc(p.b, isXMLControl); i >= 0 {
		r := p.b[i]
		p.skip(i)
		return nil, p.errorf(p.line, "the control character U+%04X, which XML forbids", r)
	}
	root, err := p.document()
	if err != nil {
		return nil, err
	}
	return root, nil
}

// isXMLControl reports whether XML 1.0 forbids the character (section 2.2).
func isXMLControl(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }

type xmlParser struct {
	file string
	b    []byte // what is left
	line int    // of its first byte
	doc  string // comments that no element has taken yet
	last *xmlNode
}

func (p *xmlParser) errorf(line int, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", p.file, line), format, args...)
}

func (p *xmlParser) skip(n int) {
	p.line += bytes.Count(p.b[:n], []byte{'\n'})
	p.b = p.b[n:]
}

func (p *xmlParser) space() {
	n := 0
	for n < len(p.b) && isXMLSpace(p.b[n]) {
		n++
	}
	p.skip(n)
}

func isXMLSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// until skips to after the mark and returns what was before it.
func (p *xmlParser) until(mark, what string) ([]byte, error) {
	n := bytes.Index(p.b, []byte(mark))
	if n < 0 {
		return nil, p.errorf(p.line, "%s is not ended with %q", what, mark)
	}
	s := p.b[:n]
	p.skip(n + len(mark))
	return s, nil
}

func (p *xmlParser) document() (*xmlNode, error) {
	var root *xmlNode
	for {
		p.space()
		if len(p.b) == 0 {
			break
		}
		line := p.line
		n, err := p.markup(0)
		if err != nil {
			return nil, err
		}
		if n != nil && root != nil {
			return nil, p.errorf(line, "a second root element <%s>; a file has one", n.name)
		}
		if n != nil {
			root = n
		}
	}
	if root == nil {
		return nil, p.errorf(p.line, "no element; expected <AronTypeDefinition>")
	}
	return root, nil
}

// markup reads one comment, instruction or element; the element, or nil.
func (p *xmlParser) markup(depth int) (*xmlNode, error) {
	switch {
	case bytes.HasPrefix(p.b, []byte("<!--")):
		line := p.line
		p.skip(4)
		s, err := p.until("-->", "the comment")
		if err != nil {
			return nil, err
		}
		p.comment(line, commentText(string(s)))
		return nil, nil
	case bytes.HasPrefix(p.b, []byte("<?")):
		_, err := p.until("?>", "the instruction")
		return nil, err
	case bytes.HasPrefix(p.b, []byte("<!")):
		return nil, p.errorf(p.line, "DOCTYPE and CDATA are not supported in type files")
	case p.b[0] == '<':
		return p.element(depth)
	}
	n := bytes.IndexAny(p.b, "<\r\n")
	if n < 0 {
		n = len(p.b)
	}
	return nil, p.errorf(p.line, "unexpected text %.40q; expected an element", strings.TrimSpace(string(p.b[:n])))
}

// comment keeps a comment for the element that ended on this line, or for the one
// that comes next.
func (p *xmlParser) comment(line int, text string) {
	if p.last != nil && p.last.endLine == line {
		p.last.trailing = joinLines(p.last.trailing, text)
		return
	}
	p.doc = joinLines(p.doc, text)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// commentText returns a comment's lines without the space around them.
func commentText(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (p *xmlParser) name() string {
	n := 0
	for n < len(p.b) && isXMLName(p.b[n]) {
		n++
	}
	s := string(p.b[:n])
	p.skip(n)
	return s
}

func isXMLName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == ':' || c == '-' || c == '.' || c >= utf8.RuneSelf
}

func (p *xmlParser) element(depth int) (*xmlNode, error) {
	n := &xmlNode{line: p.line, doc: p.doc}
	p.doc, p.last = "", nil
	if depth >= maxXMLDepth {
		return nil, p.errorf(p.line, "elements nested over %d deep", maxXMLDepth)
	}
	p.skip(1)
	if n.name = p.name(); n.name == "" {
		return nil, p.errorf(n.line, "expected an element's name after <")
	}
	empty, err := p.attributes(n)
	if err != nil {
		return nil, err
	}
	if !empty {
		if err := p.content(n, depth); err != nil {
			return nil, err
		}
	}
	n.endLine = p.line
	p.last = n
	return n, nil
}

// attributes reads up to the end of a start tag; whether the element ends there too.
func (p *xmlParser) attributes(n *xmlNode) (empty bool, err error) {
	for {
		p.space()
		switch {
		case len(p.b) == 0:
			return false, p.errorf(n.line, "the tag <%s is not ended with >", n.name)
		case p.b[0] == '>':
			p.skip(1)
			return false, nil
		case bytes.HasPrefix(p.b, []byte("/>")):
			p.skip(2)
			return true, nil
		}
		a := xmlAttr{line: p.line}
		if a.name = p.name(); a.name == "" {
			return false, p.errorf(p.line, "expected an attribute or > in <%s>, found %.10q", n.name, p.b[:1])
		}
		p.space()
		if len(p.b) == 0 || p.b[0] != '=' {
			return false, p.errorf(a.line, "attribute %s of <%s> has no value; write %s='…'", a.name, n.name, a.name)
		}
		p.skip(1)
		p.space()
		if len(p.b) == 0 || p.b[0] != '"' && p.b[0] != '\'' {
			return false, p.errorf(a.line, "the value of attribute %s of <%s> is not in quotes", a.name, n.name)
		}
		quote := string(p.b[:1])
		p.skip(1)
		value, err := p.until(quote, "the value of attribute "+a.name)
		if err != nil {
			return false, err
		}
		if a.value, err = p.unescape(a.line, string(value)); err != nil {
			return false, err
		}
		for _, other := range n.attrs {
			if other.name == a.name {
				return false, p.errorf(a.line, "attribute %s of <%s> is written twice", a.name, n.name)
			}
		}
		n.attrs = append(n.attrs, a)
	}
}

// content reads the elements up to and with the end tag of n.
func (p *xmlParser) content(n *xmlNode, depth int) error {
	for {
		p.space()
		if len(p.b) == 0 {
			return p.errorf(n.line, "<%s> is not ended with </%s>", n.name, n.name)
		}
		if bytes.HasPrefix(p.b, []byte("</")) {
			line := p.line
			p.skip(2)
			name := p.name()
			p.space()
			if name != n.name || len(p.b) == 0 || p.b[0] != '>' {
				return p.errorf(line, "expected </%s>, which ends <%s> of line %d; found </%s", n.name, n.name, n.line, name)
			}
			p.skip(1)
			p.doc = "" // comments that precede nothing
			return nil
		}
		child, err := p.markup(depth + 1)
		if err != nil {
			return err
		}
		if child != nil {
			n.children = append(n.children, child)
		}
	}
}

var xmlEntities = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

func (p *xmlParser) unescape(line int, s string) (string, error) {
	before, rest, found := strings.Cut(s, "&")
	if !found {
		return s, nil
	}
	var b strings.Builder
	for found {
		b.WriteString(before)
		name, after, ok := strings.Cut(rest, ";")
		if !ok {
			return "", p.errorf(line, "& in a value; write &amp;")
		}
		text, ok := xmlEntities[name]
		if digits, isNumber := strings.CutPrefix(name, "#"); isNumber {
			base := 10
			if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
				digits, base = hex, 16
			}
			r, err := strconv.ParseUint(digits, base, 32)
			ok = err == nil && r > 0 && utf8.ValidRune(rune(r))
			text = string(rune(r))
		}
		if !ok {
			return "", p.errorf(line, "unknown entity &%.20s; expected &lt; &gt; &amp; &quot; &apos; or a number", name+";")
		}
		b.WriteString(text)
		before, rest, found = strings.Cut(after, "&")
	}
	b.WriteString(before)
	return b.String(), nil
}
