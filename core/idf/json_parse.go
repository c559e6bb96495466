package idf

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

// jsonNumber is a number of a JSON text as it was written.
type jsonNumber string

// maxJSONNesting is how deep a JSON text may be nested: no payload needs more, for
// a message is an object within a list at most.
const maxJSONNesting = 2*maxDepth + maxArrayDims

// parseJSON reads a JSON text (RFC 8259) into nil, bool, jsonNumber, string, []any
// and map[string]any. Keys that stand twice in an object are refused. A byte order mark before
// the text, and NaN, Infinity and -Infinity, are read as Python writes them.
func parseJSON(text string) (any, error) {
	p := jsonParser{text: strings.TrimPrefix(text, "\ufeff")}
	v, err := p.value(1)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.fail("something follows the value")
	}
	return v, nil
}

type jsonParser struct {
	text string
	at   int
}

// fail is an error about the place the parser has come to.
func (p *jsonParser) fail(msg string) error {
	before := p.text[:p.at]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[1+strings.LastIndexByte(before, '\n'):])
	return memberErrorf(engram.Invalid, "not JSON at line %d, column %d: %s", line, column, msg)
}

func (p *jsonParser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// take skips white space and then c, if it stands there.
func (p *jsonParser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *jsonParser) value(depth int) (any, error) {
	if depth > maxJSONNesting {
		return nil, p.fail("nested deeper than any payload can be")
	}
	if p.space(); p.at == len(p.text) {
		return nil, p.fail("the text ends where a value must stand")
	}
	switch c := p.text[p.at]; c {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		return p.string()
	case 't', 'f', 'n':
		for word, v := range map[string]any{"true": true, "false": false, "null": nil} {
			if strings.HasPrefix(p.text[p.at:], word) {
				p.at += len(word)
				return v, nil
			}
		}
	}
	n := scanNumber(p.text[p.at:])
	for _, word := range [...]string{"NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			n = len(word)
		}
	}
	if n == 0 {
		return nil, p.fail("a value must stand here")
	}
	p.at += n
	return jsonNumber(p.text[p.at-n : p.at]), nil
}

func (p *jsonParser) object(depth int) (any, error) {
	p.at++
	object := map[string]any{}
	if p.take('}') {
		return object, nil
	}
	for {
		p.space()
		start := p.at
		if p.at == len(p.text) || p.text[p.at] != '"' {
			return nil, p.fail("a key in quotes must stand here")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, ok := object[key]; ok {
			p.at = start
			return nil, p.fail("the key " + shorten(key) + " stands here for the second time")
		}
		if !p.take(':') {
			return nil, p.fail(`":" must stand here`)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		object[key] = v
		if p.take('}') {
			return object, nil
		}
		if !p.take(',') {
			return nil, p.fail(`"," or "}" must stand here`)
		}
	}
}

func (p *jsonParser) list(depth int) (any, error) {
	p.at++
	items := []any{}
	if p.take(']') {
		return items, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if p.take(']') {
			return items, nil
		}
		if !p.take(',') {
			return nil, p.fail(`"," or "]" must stand here`)
		}
	}
}

// string reads the string that begins here. One without escapes is not copied.
func (p *jsonParser) string() (string, error) {
	p.at++
	start := p.at
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			s := p.text[start:p.at]
			if !utf8.ValidString(s) {
				p.at = start
				return "", p.fail("the string is not UTF-8")
			}
			p.at++
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.fail("a control character in a string must be escaped")
		}
	}
	return "", p.fail("a string without an end")
}

// escaped reads a string from its first escape on.
func (p *jsonParser) escaped(start int) (string, error) {
	b := []byte(p.text[start:p.at])
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			if !utf8.Valid(b) {
				p.at = start
				return "", p.fail("the string is not UTF-8")
			}
			p.at++
			return string(b), nil
		case c == '\\':
			var err error
			if b, err = p.escape(b); err != nil {
				return "", err
			}
		case c < ' ':
			return "", p.fail("a control character in a string must be escaped")
		default:
			b = append(b, c)
			p.at++
		}
	}
	return "", p.fail("a string without an end")
}

// escape appends what the escape that stands here means.
func (p *jsonParser) escape(b []byte) ([]byte, error) {
	if p.at+1 < len(p.text) {
		if i := strings.IndexByte(`"\/bfnrt`, p.text[p.at+1]); i >= 0 {
			p.at += 2
			return append(b, "\"\\/\b\f\n\r\t"[i]), nil
		}
	}
	r, ok := p.unicode(p.at)
	if !ok {
		return nil, p.fail("an escape that JSON does not know")
	}
	if utf16.IsSurrogate(r) {
		low, _ := p.unicode(p.at + 6)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return nil, p.fail("half of a surrogate pair")
		}
		p.at += 6
	}
	p.at += 6
	return utf8.AppendRune(b, r), nil
}

// unicode reads an escape of the form \u00e9.
func (p *jsonParser) unicode(at int) (rune, bool) {
	if at+6 > len(p.text) || p.text[at] != '\\' || p.text[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[at+2:at+6], 16, 16)
	return rune(n), err == nil
}
