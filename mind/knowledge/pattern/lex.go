package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

// Bounds of what is read.
const (
	maxText    = 64 << 10 // bytes of a question
	maxNesting = 100
	maxClauses = 1000
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenVar
	tokenName
	tokenIRI
	tokenText
	tokenRegexp
	tokenNumber
	tokenSign
)

// token is a word or sign of a text.
type token struct {
	kind   tokenKind
	text   string // its meaning: a variable without ?, a text without quotes
	quoted bool   // a name with quotes is no keyword
	pos    int
	end    int
}

// lexer splits a text.
type lexer struct {
	what string // "the question", "the class expression"
	text string
	tok  token
}

// failed is an error of a text, thrown by panic and caught where reading began.
type failed struct{ err error }

func (l *lexer) fail(pos int, format string, args ...any) {
	panic(failed{errorAt(l.what, l.text, pos, fmt.Sprintf(format, args...), nil)})
}

// errorAt is an error that names the column of a byte, and the line if there are several.
func errorAt(what, text string, pos int, msg string, cause error) error {
	where := ""
	if pos >= 0 && pos <= len(text) {
		line := strings.LastIndexByte(text[:pos], '\n') + 1
		where = fmt.Sprint(", column ", utf8.RuneCountInString(text[line:pos])+1)
		if strings.Contains(text, "\n") {
			where = fmt.Sprint(", line ", strings.Count(text[:line], "\n")+1, where)
		}
	}
	err := engram.Errorf(engram.Invalid, "", "%s%s: %s", what, where, msg)
	err.Err = cause
	return err
}

// reading runs a parser over a text.
func reading(what, text string, parse func(*parser)) (err error) {
	if len(text) > maxText {
		return engram.Errorf(engram.Exhausted, "", "%s has %d bytes; %d are the most", what, len(text), maxText)
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failed)
			if !ok {
				panic(r)
			}
			err = f.err
		}
	}()
	p := &parser{lexer: lexer{what: what, text: text}}
	if !utf8.ValidString(text) {
		p.fail(0, "it is not UTF-8")
	}
	p.scan(0)
	parse(p)
	if p.tok.kind != tokenEnd {
		p.unexpected("the end")
	}
	return nil
}

func (l *lexer) next() { l.scan(l.tok.end) }

// scan reads the token at or after a place.
func (l *lexer) scan(at int) {
	s := l.text
	for at < len(s) {
		c, n := utf8.DecodeRuneInString(s[at:])
		if c == '#' {
			if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
				at += i
			} else {
				at = len(s)
			}
			continue
		}
		if !unicode.IsSpace(c) {
			break
		}
		at += n
	}
	l.tok = token{pos: at, end: at}
	if at == len(s) {
		return
	}
	t := &l.tok
	rest := s[at:]
	switch c, n := utf8.DecodeRuneInString(rest); {
	case c == '?':
		name := identifier(rest[1:])
		if name == "" {
			l.fail(at, "a variable is ? and a name, such as ?room")
		}
		t.kind, t.text, t.end = tokenVar, name, at+1+len(name)
	case c == '<':
		if iri, ok := iriAt(rest); ok {
			t.kind, t.text, t.end = tokenIRI, iri, at+len(iri)+2
			return
		}
		l.sign(rest)
	case c == '"':
		t.kind = tokenText
		t.text, t.end = l.quoted(at, '"')
	case c == '~':
		if len(rest) < 2 || rest[1] != '"' {
			l.fail(at, `~ is followed by a regular expression in quotes, such as ~"Karl.*"`)
		}
		t.kind = tokenRegexp
		t.text, t.end = l.regexp(at + 1)
	case c >= '0' && c <= '9' || (c == '-' || c == '+') && n < len(rest) && (rest[1] >= '0' && rest[1] <= '9'):
		size := numberSize(rest)
		t.kind, t.text, t.end = tokenNumber, rest[:size], at+size
	case c == '\'' || c == ':' || isNameStart(c):
		l.name(at)
	default:
		l.sign(rest)
	}
}

func (l *lexer) sign(rest string) {
	t := &l.tok
	t.kind = tokenSign
	for _, sign := range []string{">=", "<=", "^^"} {
		if strings.HasPrefix(rest, sign) {
			t.text, t.end = sign, t.pos+2
			return
		}
	}
	c, n := utf8.DecodeRuneInString(rest)
	if !strings.ContainsRune(";.,{}()[]!^+*<>@=", c) {
		l.fail(t.pos, "%q has no meaning here", c)
	}
	t.text, t.end = rest[:n], t.pos+n
}

func isNameStart(c rune) bool { return c == '_' || unicode.IsLetter(c) }

func isNamePart(c rune) bool {
	return isNameStart(c) || unicode.IsDigit(c) || c == '-' || c == '%' || unicode.Is(unicode.Mn, c)
}

// identifier returns the name of a variable that a text begins with.
func identifier(s string) string {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return s[:i]
		}
	}
	return s
}

// localSize returns how long the name is that a text begins with.
func localSize(s string) int {
	i := 0
	for i < len(s) {
		c, n := utf8.DecodeRuneInString(s[i:])
		if c == '.' {
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); i == 0 || i+1 == len(s) || !isNamePart(next) {
				break
			}
		} else if !isNamePart(c) {
			break
		}
		i += n
	}
	return i
}

func (l *lexer) name(at int) {
	t := &l.tok
	t.kind = tokenName
	s := l.text
	if s[at] == '\'' {
		t.text, t.end = l.quoted(at, '\'')
		t.quoted = true
		if t.text == "" || strings.Contains(t.text, ":") {
			l.fail(at, "a local name is not empty and has no colon; an IRI stands as <…>")
		}
		return
	}
	end := at
	if s[at] != ':' {
		end += localSize(s[at:])
	}
	if end == len(s) || s[end] != ':' {
		t.text, t.end = s[at:end], end
		return
	}
	prefix := s[at:end]
	end++
	t.quoted = true
	if end < len(s) && s[end] == '\'' {
		local, end := l.quoted(end, '\'')
		t.text, t.end = prefix+":"+local, end
		return
	}
	end += localSize(s[end:])
	t.text, t.end = s[at:end], end
}

// iriAt returns the IRI that stands in < and >.
func iriAt(s string) (string, bool) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '>':
			return s[1:i], i > 1
		case c <= ' ' || strings.IndexByte("<\"{}|^`\\", c) >= 0:
			return "", false
		case i == 1 && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			return "", false
		}
	}
	return "", false
}

// numberSize returns how long the number is that a text begins with.
func numberSize(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if s[0] == '-' || s[0] == '+' {
		i = 1
	}
	i = digits(i)
	if i+1 < len(s) && s[i] == '.' && s[i+1] >= '0' && s[i+1] <= '9' {
		i = digits(i + 1)
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if k := digits(j); k > j {
			i = k
		}
	}
	return i
}

// quoted returns the text in quotes that begin at a place, and where it ends.
func (l *lexer) quoted(at int, quote byte) (string, int) {
	s := l.text
	var b strings.Builder
	for i := at + 1; i < len(s); i++ {
		switch c := s[i]; c {
		case quote:
			return b.String(), i + 1
		case '\\':
			n := l.escape(&b, i, quote)
			i += n
		default:
			b.WriteByte(c)
		}
	}
	l.fail(at, "the quote %c is not closed", quote)
	return "", 0
}

// escape adds what a backslash at a place stands for, and returns how much follows it.
func (l *lexer) escape(b *strings.Builder, at int, quote byte) int {
	s := l.text[at+1:]
	if s == "" {
		l.fail(at, "the quote %c is not closed", quote)
	}
	switch c := s[0]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\\', '"', '\'':
		b.WriteByte(c)
	case 'u', 'U':
		n := 4
		if c == 'U' {
			n = 8
		}
		if len(s) > n {
			if v, err := strconv.ParseUint(s[1:n+1], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
				b.WriteRune(rune(v))
				return n + 1
			}
		}
		l.fail(at, `\%c is followed by %d hexadecimal digits of a character`, c, n)
	default:
		l.fail(at, `\%c is not known; a backslash itself is \\`, c)
	}
	return 1
}

// regexp returns the regular expression in quotes that begin at a place: only \" stands for
// something else.
func (l *lexer) regexp(at int) (string, int) {
	s := l.text
	var b strings.Builder
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), i + 1
		case s[i] == '\\' && i+1 < len(s):
			if s[i+1] != '"' {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	l.fail(at, `the quote " is not closed`)
	return "", 0
}
