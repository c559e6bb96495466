package prolog

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// syntaxError is a fault in a text, at the byte at.
type syntaxError struct {
	at  int
	msg string
}

func (e *syntaxError) Error() string { return e.msg }

type tokenKind uint8

const (
	tokEnd    tokenKind = iota // the end of the text
	tokStop                    // the full stop that ends a clause
	tokAtom                    // a name or symbols
	tokQuoted                  // an atom in quotes, which is no operator in prefix position
	tokVar
	tokNumber
	tokString
	tokCodes
	tokPunct // ( ) [ ] { } , |
)

type token struct {
	kind tokenKind
	text string
	num  Term
	at   int
	// called: an opening parenthesis follows without a space.
	called bool
	// apart: a space stands before it.
	apart bool
}

// lexer makes tokens of a text.
type lexer struct {
	text string
	at   int
}

func isAlnum(r rune) bool  { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
func isSymbol(r rune) bool { return r != 0 && strings.ContainsRune(`+-*/\^<>=~:.?@#&$`, r) }

func (l *lexer) fault(at int, format string, args ...any) error {
	return &syntaxError{at, fmt.Sprintf(format, args...)}
}

func (l *lexer) peek() rune {
	r, n := utf8.DecodeRuneInString(l.text[l.at:])
	if n == 0 {
		return 0
	}
	return r
}

// skip passes over spaces and comments.
func (l *lexer) skip() error {
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		switch {
		case unicode.IsSpace(r):
			l.at += n
		case r == '%':
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				l.at = len(l.text)
				return nil
			}
			l.at += end + 1
		case strings.HasPrefix(l.text[l.at:], "/*"):
			end := strings.Index(l.text[l.at+2:], "*/")
			if end < 0 {
				return l.fault(l.at, "the comment that begins here does not end")
			}
			l.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) next() (t token, err error) {
	before := l.at
	if err := l.skip(); err != nil {
		return t, err
	}
	t.at, t.apart = l.at, l.at > before
	if l.at >= len(l.text) {
		return t, nil
	}
	r, n := utf8.DecodeRuneInString(l.text[l.at:])
	switch {
	case r == utf8.RuneError && n == 1:
		return t, l.fault(l.at, "a byte is not UTF-8")
	case unicode.IsDigit(r) && r < 0x80:
		t.kind = tokNumber
		t.num, err = l.number()
	case r == '_' || unicode.IsUpper(r):
		t.kind, t.text = tokVar, l.while(isAlnum)
	case unicode.IsLetter(r):
		t.kind, t.text = tokAtom, l.while(isAlnum)
	case r == '\'':
		t.kind = tokQuoted
		t.text, err = l.quoted('\'')
	case r == '"':
		t.kind = tokString
		t.text, err = l.quoted('"')
	case r == '`':
		t.kind = tokCodes
		t.text, err = l.quoted('`')
	case strings.ContainsRune("()[]{},|", r):
		l.at++
		t.kind, t.text = tokPunct, string(r)
		if r == '|' && l.peek() == '|' {
			l.at++
			t.kind, t.text = tokAtom, "||"
		}
	case r == '!' || r == ';':
		l.at++
		t.kind, t.text = tokAtom, string(r)
	case r == '.' && l.stops(l.at+1):
		l.at++
		t.kind = tokStop
	case isSymbol(r):
		t.kind, t.text = tokAtom, l.while(isSymbol)
	default:
		return t, l.fault(l.at, "the character %q has no meaning here", r)
	}
	t.called = l.at < len(l.text) && l.text[l.at] == '('
	return t, err
}

// stops tells whether a point before the place at ends a clause.
func (l *lexer) stops(at int) bool {
	r, n := utf8.DecodeRuneInString(l.text[at:])
	return n == 0 || unicode.IsSpace(r) || r == '%'
}

func (l *lexer) while(is func(rune) bool) string {
	start := l.at
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !is(r) {
			break
		}
		l.at += n
	}
	return l.text[start:l.at]
}

func isDecimal(r rune) bool { return '0' <= r && r <= '9' }

// digits reads digits of a base, with single underscores between them.
func (l *lexer) digits(base int) string {
	var b strings.Builder
	for l.at < len(l.text) {
		c := l.text[l.at]
		if c == '_' && b.Len() > 0 && l.at+1 < len(l.text) && digitValue(l.text[l.at+1]) < base {
			l.at++
			continue
		}
		if digitValue(c) >= base {
			break
		}
		b.WriteByte(c)
		l.at++
	}
	return b.String()
}

func digitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'Z':
		return int(c-'A') + 10
	}
	return 99
}

func (l *lexer) number() (Term, error) {
	start := l.at
	if l.text[l.at] == '0' && l.at+1 < len(l.text) {
		base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[l.text[l.at+1]]
		if base > 0 && l.at+2 < len(l.text) && digitValue(l.text[l.at+2]) < base {
			l.at += 2
			return l.integer(start, l.digits(base), base)
		}
		if l.text[l.at+1] == '\'' && l.at+2 < len(l.text) {
			l.at += 2
			switch r, n := utf8.DecodeRuneInString(l.text[l.at:]); {
			case r == '\\':
				r, _, err := l.escape('\'')
				return Int(r), err
			case r == '\'' && strings.HasPrefix(l.text[l.at:], "''"):
				l.at += 2
				return Int('\''), nil
			default:
				l.at += n
				return Int(r), nil
			}
		}
	}
	whole := l.digits(10)
	if l.at+1 < len(l.text) && l.text[l.at] == '\'' { // 16'FF
		if base, err := strconv.Atoi(whole); err == nil && 2 <= base && base <= 36 && digitValue(l.text[l.at+1]) < base {
			l.at++
			return l.integer(start, l.digits(base), base)
		}
	}
	text, float := whole, false
	if l.at+1 < len(l.text) && l.text[l.at] == '.' && isDecimal(rune(l.text[l.at+1])) {
		l.at++
		text += "." + l.while(isDecimal)
		float = true
	}
	if l.at < len(l.text) && (l.text[l.at] == 'e' || l.text[l.at] == 'E') {
		at := l.at + 1
		if at < len(l.text) && (l.text[at] == '+' || l.text[at] == '-') {
			at++
		}
		if at < len(l.text) && isDecimal(rune(l.text[at])) {
			exp := l.text[l.at:at]
			l.at = at
			text += exp + l.while(isDecimal)
			float = true
		}
	}
	if !float {
		return l.integer(start, whole, 10)
	}
	for name, f := range map[string]float64{"Inf": math.Inf(1), "NaN": math.NaN()} {
		if strings.HasPrefix(l.text[l.at:], name) {
			l.at += len(name)
			return Float(f), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, l.fault(start, "the number %s is too large", text)
	}
	return Float(f), nil
}

// maxDigits is how many digits an integer is read with.
const maxDigits = 10_000

func (l *lexer) integer(start int, digits string, base int) (Term, error) {
	n, err := strconv.ParseInt(digits, base, 64)
	if err == nil {
		return Int(n), nil
	}
	if len(digits) <= maxDigits {
		if z, ok := new(big.Int).SetString(digits, base); ok {
			return z, nil
		}
	}
	return nil, l.fault(start, "the integer has more than %d digits", maxDigits)
}

// quoted reads up to the closing quote.
func (l *lexer) quoted(quote rune) (string, error) {
	start := l.at
	l.at++
	var b strings.Builder
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		switch {
		case r == quote:
			l.at += n
			if l.peek() != quote {
				return b.String(), nil
			}
			l.at += n
			b.WriteRune(quote)
		case r == '\\':
			r, none, err := l.escape(quote)
			if err != nil {
				return "", err
			}
			if !none {
				b.WriteRune(r)
			}
		case r == utf8.RuneError && n == 1:
			return "", l.fault(l.at, "a byte is not UTF-8")
		default:
			l.at += n
			b.WriteRune(r)
		}
	}
	return "", l.fault(start, "the quote %c that begins here does not end", quote)
}

// escape reads what a backslash begins; none says that it stands for nothing.
func (l *lexer) escape(quote rune) (r rune, none bool, err error) {
	start := l.at
	l.at++
	r, n := utf8.DecodeRuneInString(l.text[l.at:])
	l.at += n
	switch r {
	case '\n', 'c':
		if r == 'c' {
			l.while(unicode.IsSpace)
		}
		return 0, true, nil
	case 'a':
		return '\a', false, nil
	case 'b':
		return '\b', false, nil
	case 'e':
		return 0x1b, false, nil
	case 'f':
		return '\f', false, nil
	case 'n':
		return '\n', false, nil
	case 'r':
		return '\r', false, nil
	case 's':
		return ' ', false, nil
	case 't':
		return '\t', false, nil
	case 'v':
		return '\v', false, nil
	case '0', '1', '2', '3', '4', '5', '6', '7':
		l.at--
		return l.code(start, l.digits(8), 8, true)
	case 'x':
		return l.code(start, l.digits(16), 16, true)
	case 'u', 'U':
		n := 4
		if r == 'U' {
			n = 8
		}
		if len(l.text)-l.at < n {
			break
		}
		l.at += n
		return l.code(start, l.text[l.at-n:l.at], 16, false)
	case '\\', '\'', '"', '`':
		return r, false, nil
	}
	return 0, false, l.fault(start, `there is no escape \%c; a backslash is written \\`, r)
}

func (l *lexer) code(start int, digits string, base int, closed bool) (rune, bool, error) {
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > unicode.MaxRune || 0xd800 <= n && n < 0xe000 {
		return 0, false, l.fault(start, "the escape is no character")
	}
	if closed && l.peek() == '\\' {
		l.at++
	}
	return rune(n), false, nil
}
