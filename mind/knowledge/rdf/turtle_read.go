package rdf

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// turtleReader reads Turtle, and N-Triples and N-Quads, which are lines of it.
type turtleReader struct {
	*output
	data    []byte
	at      int
	format  Format
	doc     *Document
	depth   int
	escapes bool // whether escapes in IRIs may stand for any character
}

func readTurtle(data []byte, format Format, out *output, doc *Document) error {
	r := &turtleReader{output: out, data: data, format: format, doc: doc, escapes: format != Turtle}
	for {
		r.space()
		if r.at == len(r.data) {
			return nil
		}
		statement := r.statement
		if format != Turtle {
			statement = r.lineOf
		}
		if err := statement(); err != nil {
			return err
		}
	}
}

func (r *turtleReader) faultf(format string, args ...any) error {
	return r.fault(1+bytes.Count(r.data[:min(r.at, len(r.data))], []byte("\n")), format, args...)
}

// space skips white space and comments.
func (r *turtleReader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		case '#':
			end := bytes.IndexAny(r.data[r.at:], "\r\n")
			if end < 0 {
				end = len(r.data) - r.at
			}
			r.escapes = r.escapes || string(r.data[r.at:r.at+end]) == escapesNote
			r.at += end
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (r *turtleReader) peek() byte {
	r.space()
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

func (r *turtleReader) expect(c byte) error {
	if r.peek() != c {
		return r.faultf("there is %s where %q is expected", r.here(), c)
	}
	r.at++
	return nil
}

// here quotes what stands next, for errors.
func (r *turtleReader) here() string {
	rest := r.data[r.at:]
	if len(rest) == 0 {
		return "the end"
	}
	if i := bytes.IndexAny(rest, "\r\n"); i > 0 {
		rest = rest[:i]
	}
	return strconv.Quote(string(rest[:min(len(rest), 20)]))
}

// keyword takes a word without regard of case, if no letter follows it.
func (r *turtleReader) keyword(word string) bool {
	end := r.at + len(word)
	if end > len(r.data) || !strings.EqualFold(string(r.data[r.at:end]), word) {
		return false
	}
	if end < len(r.data) {
		if c := r.data[end]; isNameByte(c) || c == ':' {
			return false
		}
	}
	r.at = end
	return true
}

// lineOf reads a statement of N-Triples or N-Quads.
func (r *turtleReader) lineOf() error {
	var q Quad
	for i, to := range []*Term{&q.S, &q.P, &q.O, &q.Graph} {
		if i == 3 && (r.format == NTriples || r.peek() == '.') {
			break
		}
		c := r.peek()
		var err error
		switch {
		case c == '<':
			*to, err = r.absolute()
		case c == '_' && i != 1:
			*to, err = r.blankLabel()
		case c == '"' && i == 2:
			*to, err = r.literal()
		default:
			err = r.faultf("there is %s where a %s is expected", r.here(), [...]string{"subject", "predicate", "object", "graph"}[i])
		}
		if err != nil {
			return err
		}
	}
	if err := r.expect('.'); err != nil {
		return err
	}
	return r.add(q)
}

// absolute reads an IRI of N-Triples or N-Quads.
func (r *turtleReader) absolute() (Term, error) {
	iri, err := r.iriRef()
	if err == nil && scheme(iri) == 0 {
		err = r.faultf("the IRI <%s> is relative", iri)
	}
	return NewIRI(iri), err
}

// statement reads one of Turtle: a directive or triples of a subject.
func (r *turtleReader) statement() error {
	at := r.data[r.at] == '@'
	if at {
		r.at++
	}
	var err error
	switch {
	case at && !bytes.HasPrefix(r.data[r.at:], []byte("prefix")) && !bytes.HasPrefix(r.data[r.at:], []byte("base")):
		return r.faultf("there is %s where a directive is expected: @prefix or @base, in small letters", r.here())
	case r.keyword("prefix"):
		err = r.prefix()
	case r.keyword("base"):
		var iri string
		r.space()
		if iri, err = r.iriRef(); err == nil {
			r.doc.Base = resolve(r.doc.Base, iri)
		}
	case at:
		return r.faultf("there is %s where @prefix or @base is expected", r.here())
	default:
		return r.triples()
	}
	if err == nil && at {
		err = r.expect('.')
	}
	return err
}

func (r *turtleReader) prefix() error {
	r.space()
	end := bytes.IndexByte(r.data[r.at:], ':')
	if end < 0 {
		return r.faultf("a prefix has no colon")
	}
	name := string(r.data[r.at : r.at+end])
	if name != "" && !isPrefixName(name) {
		return r.faultf("%q is no prefix", name)
	}
	r.at += end + 1
	r.space()
	iri, err := r.iriRef()
	if err == nil {
		r.doc.Prefixes[name] = resolve(r.doc.Base, iri)
	}
	return err
}

func (r *turtleReader) triples() error {
	var subject Term
	var err error
	alone := false
	switch r.peek() {
	case '[':
		subject, alone, err = r.properties()
	case '(':
		subject, err = r.collection()
	default:
		subject, err = r.resource()
	}
	if err != nil {
		return err
	}
	if !(alone && r.peek() == '.') {
		if err := r.predicates(subject); err != nil {
			return err
		}
	}
	return r.expect('.')
}

// predicates reads what is said of a subject.
func (r *turtleReader) predicates(subject Term) error {
	for {
		predicate, err := r.verb()
		if err != nil {
			return err
		}
		for {
			object, err := r.object()
			if err != nil {
				return err
			}
			if err := r.triple(subject, predicate, object); err != nil {
				return err
			}
			if r.peek() != ',' {
				break
			}
			r.at++
		}
		if r.peek() != ';' {
			return nil
		}
		for r.peek() == ';' {
			r.at++
		}
		if c := r.peek(); c == '.' || c == ']' {
			return nil
		}
	}
}

func (r *turtleReader) verb() (Term, error) {
	c := r.peek()
	if c == 'a' && (r.at+1 == len(r.data) || !isNameByte(r.data[r.at+1]) && r.data[r.at+1] != ':' && r.data[r.at+1] != '.') {
		r.at++
		return NewIRI(NS + "type"), nil
	}
	if c == '_' {
		return Term{}, r.faultf("a blank node is no predicate")
	}
	return r.resource()
}

// resource reads an IRI or a blank node's label.
func (r *turtleReader) resource() (Term, error) {
	switch c := r.peek(); {
	case c == '<':
		iri, err := r.iriRef()
		return NewIRI(resolve(r.doc.Base, iri)), err
	case c == '_' && r.at+1 < len(r.data) && r.data[r.at+1] == ':':
		return r.blankLabel()
	case c == ':' || isNameByte(c):
		return r.prefixed()
	case c == '{':
		return Term{}, r.faultf("this is %s", braces)
	}
	return Term{}, r.faultf("there is %s where a name is expected", r.here())
}

func (r *turtleReader) object() (Term, error) {
	switch c := r.peek(); {
	case c == '[':
		t, _, err := r.properties()
		return t, err
	case c == '(':
		return r.collection()
	case c == '"' || c == '\'':
		return r.literal()
	case c == '+' || c == '-' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	case r.keyword("true"):
		return NewTyped("true", NSXSD+"boolean"), nil
	case r.keyword("false"):
		return NewTyped("false", NSXSD+"boolean"), nil
	}
	return r.resource()
}

// properties reads [...] and says whether it has any property.
func (r *turtleReader) properties() (Term, bool, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return Term{}, false, r.tooDeep(1 + bytes.Count(r.data[:r.at], []byte("\n")))
	}
	r.at++
	node := r.blank()
	if r.peek() == ']' {
		r.at++
		return node, false, nil
	}
	if err := r.predicates(node); err != nil {
		return node, true, err
	}
	return node, true, r.expect(']')
}

func (r *turtleReader) collection() (Term, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return Term{}, r.tooDeep(1 + bytes.Count(r.data[:r.at], []byte("\n")))
	}
	r.at++
	first, last := NewIRI(NS+"nil"), Term{}
	for r.peek() != ')' {
		item, err := r.object()
		if err != nil {
			return first, err
		}
		cell := r.blank()
		if last.IsZero() {
			first = cell
		} else if err := r.triple(last, NewIRI(NS+"rest"), cell); err != nil {
			return first, err
		}
		last = cell
		if err := r.triple(cell, NewIRI(NS+"first"), item); err != nil {
			return first, err
		}
		if r.options.Lists {
			if err := r.triple(cell, NewIRI(NS+"type"), NewIRI(NS+"List")); err != nil {
				return first, err
			}
		}
	}
	r.at++
	if last.IsZero() {
		return first, nil
	}
	return first, r.triple(last, NewIRI(NS+"rest"), NewIRI(NS+"nil"))
}

// iriRef reads <...> without resolving it.
func (r *turtleReader) iriRef() (string, error) {
	if r.at == len(r.data) || r.data[r.at] != '<' {
		return "", r.faultf("there is %s where an IRI in <> is expected", r.here())
	}
	end := bytes.IndexByte(r.data[r.at:], '>')
	if end < 0 {
		return "", r.faultf("an IRI has no end")
	}
	raw := string(r.data[r.at+1 : r.at+end])
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c <= ' ' || strings.IndexByte("<\"{}|^`", c) >= 0 {
			return "", r.faultf("an IRI has %q in it", c)
		}
	}
	iri, err := r.unescape(raw, false)
	if err == nil && !r.escapes && iri != raw && strings.ContainsFunc(iri, badInIRI) {
		err = r.faultf("an IRI has an escape in it for a character that IRIs do not have: <%s>", raw)
	}
	r.at += end + 1
	return iri, err
}

// unescape replaces \u and \U, and in texts the other escapes.
func (r *turtleReader) unescape(raw string, text bool) (string, error) {
	if !utf8.ValidString(raw) {
		return "", r.faultf("a text is not UTF-8")
	}
	if !strings.Contains(raw, `\`) {
		return raw, nil
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(raw, `\`)
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		if after == "" {
			return "", r.faultf(`a text ends with \`)
		}
		c := after[0]
		raw = after[1:]
		if c == 'u' || c == 'U' {
			digits := 4
			if c == 'U' {
				digits = 8
			}
			if len(raw) < digits {
				return "", r.faultf(`\%c has fewer than %d digits`, c, digits)
			}
			code, err := strconv.ParseUint(raw[:digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				return "", r.faultf(`\%c%s is no character`, c, raw[:digits])
			}
			b.WriteRune(rune(code))
			raw = raw[digits:]
			continue
		}
		i := strings.IndexByte(`tbnrf"'\`, c)
		if !text || i < 0 {
			return "", r.faultf(`\%c is no escape here`, c)
		}
		b.WriteByte("\t\b\n\r\f\"'\\"[i])
	}
}

func (r *turtleReader) blankLabel() (Term, error) {
	if !bytes.HasPrefix(r.data[r.at:], []byte("_:")) {
		return Term{}, r.faultf("there is %s where _: is expected", r.here())
	}
	r.at += 2
	label := r.word(func(c byte) bool { return isNameByte(c) || c == '.' })
	if label == "" {
		return Term{}, r.faultf("a blank node has no label")
	}
	if !isName(label, "_"+asciiDigits, "") {
		return Term{}, r.faultf("%q is no label of a blank node", label)
	}
	return r.named(label), nil
}

// word takes bytes, but no dots at its end: those end the statement.
func (r *turtleReader) word(in func(byte) bool) string {
	start := r.at
	for r.at < len(r.data) && in(r.data[r.at]) {
		r.at++
	}
	for r.at > start && r.data[r.at-1] == '.' {
		r.at--
	}
	return string(r.data[start:r.at])
}

// isPrefixName says whether Turtle can have a prefix, other than the empty one.
func isPrefixName(s string) bool { return isName(s, "", "") && !strings.HasSuffix(s, ".") }

// isNameByte says what names consist of; all that is not ASCII counts, and is looked at when the name is whole.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= utf8.RuneSelf
}

// prefixed reads prefix:local.
func (r *turtleReader) prefixed() (Term, error) {
	prefix := r.word(func(c byte) bool { return isNameByte(c) || c == '.' })
	if r.at == len(r.data) || r.data[r.at] != ':' {
		return Term{}, r.faultf("%q has no colon", prefix)
	}
	iri, ok := r.doc.Prefixes[prefix]
	if !ok {
		return Term{}, r.faultf("the prefix %q is not declared", prefix)
	}
	r.at++
	var b strings.Builder
	b.WriteString(iri)
	for {
		part := r.word(func(c byte) bool { return isNameByte(c) || c == '.' || c == ':' })
		first := b.Len() == len(iri)
		if part != "" && !(first && isName(part, "_:"+asciiDigits, ":") || !first && isName("_"+part, "_", ":")) {
			return Term{}, r.faultf("%q is no local name", b.String()[len(iri):]+part)
		}
		b.WriteString(part)
		rest := r.data[r.at:]
		if len(rest) > 0 && rest[0] == '.' && b.Len() > len(iri) { // dots within the name
			n := len(rest) - len(bytes.TrimLeft(rest, "."))
			if n < len(rest) && (rest[n] == '%' || rest[n] == '\\') {
				b.Write(rest[:n])
				r.at += n
				continue
			}
			break
		}
		if len(rest) > 2 && rest[0] == '%' && isHex(rest[1]) && isHex(rest[2]) {
			b.Write(rest[:3])
			r.at += 3
			continue
		}
		if len(rest) > 1 && rest[0] == '\\' && strings.IndexByte("_~.-!$&'()*+,;=/?#@%", rest[1]) >= 0 {
			b.WriteByte(rest[1])
			r.at += 2
			continue
		}
		break
	}
	return NewIRI(b.String()), nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (r *turtleReader) literal() (Term, error) {
	quote := r.data[r.at : r.at+1]
	long := bytes.Repeat(quote, 3)
	if r.format == Turtle && bytes.HasPrefix(r.data[r.at:], long) {
		quote = long
	}
	r.at += len(quote)
	start := r.at
	for {
		i := bytes.IndexAny(r.data[r.at:], string(quote[:1])+"\\")
		if i < 0 {
			return Term{}, r.faultf("a text has no end")
		}
		r.at += i
		if r.data[r.at] == '\\' {
			r.at = min(r.at+2, len(r.data))
			continue
		}
		if bytes.HasPrefix(r.data[r.at:], quote) {
			break
		}
		r.at++
	}
	end := r.at
	r.at += len(quote)
	raw := string(r.data[start:end])
	if len(quote) == 1 && strings.ContainsAny(raw, "\r\n") {
		return Term{}, r.faultf("a text with single quotes has a line break")
	}
	text, err := r.unescape(raw, true)
	if err != nil {
		return Term{}, err
	}
	switch {
	case r.at < len(r.data) && r.data[r.at] == '@':
		r.at++
		lang := r.word(func(c byte) bool { return c < utf8.RuneSelf && isNameByte(c) && c != '_' })
		if !isLang(lang) {
			return Term{}, r.faultf("%q is no language", lang)
		}
		return NewTagged(text, lang), nil
	case bytes.HasPrefix(r.data[r.at:], []byte("^^")):
		r.at += 2
		var datatype Term
		if r.format == Turtle {
			datatype, err = r.resource()
		} else {
			datatype, err = r.absolute()
		}
		if err == nil && (datatype.Kind != IRI || datatype.Value == "") {
			err = r.faultf("a datatype is no IRI")
		}
		return NewTyped(text, datatype.Value), err
	}
	return NewText(text), nil
}

func (r *turtleReader) number() (Term, error) {
	start := r.at
	if c := r.data[r.at]; c == '+' || c == '-' {
		r.at++
	}
	digits := func() int {
		from := r.at
		for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
			r.at++
		}
		return r.at - from
	}
	n := digits()
	datatype := "integer"
	rest := r.data[r.at:]
	if len(rest) > 1 && rest[0] == '.' && (rest[1] >= '0' && rest[1] <= '9' || n > 0 && (rest[1]|0x20 == 'e')) {
		r.at++
		n += digits()
		datatype = "decimal"
	}
	if n > 0 && r.at < len(r.data) && r.data[r.at]|0x20 == 'e' {
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		if digits() == 0 {
			n = 0
		}
		datatype = "double"
	}
	if n == 0 {
		return Term{}, r.faultf("%q is no number", r.data[start:r.at])
	}
	return NewTyped(string(r.data[start:r.at]), NSXSD+datatype), nil
}
