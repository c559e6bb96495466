package knowledge

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A TextMatch says how the text of a literal is compared with a pattern's.
// All but Same ignore case and diacritics: "KUCHE" is "Küche". An empty text
// of a pattern, but for Same, has every literal.
type TextMatch uint8

// The ways to compare texts.
const (
	AnyText   TextMatch = iota // every text
	Same                       // the same text, case included: literal('3001')
	Exact                      // exact(T) and icase(T): the same text but for case
	Prefix                     // prefix(T)
	Substring                  // substring(T)
	Word                       // word(T): T begins where a word does and ends where one does
	Like                       // like(T): "*" stands for any text, no other character is special; of two stars the second is itself
)

// A Qualifier says which literals a pattern has.
type Qualifier uint8

// The qualifiers of literals.
const (
	AnyLiteral Qualifier = iota // typed, tagged or plain
	Plain                       // neither typed nor tagged: plain(T)
	Typed                       // with a datatype: type(_, _)
	Tagged                      // with a language tag: lang(_, _)
)

// A Pattern is a condition on literals, as literal(...) states it in Prolog.
// The zero Pattern is every literal.
type Pattern struct {
	Match     TextMatch
	Text      string
	Qualifier Qualifier
	Type      string // of a Typed one: the datatype's IRI, or any if ""
	Lang      string // of a Tagged one: the tag, or any if ""; "en" is not "en-US"
}

// Matches says whether a term is a literal that the pattern has.
func (p Pattern) Matches(t rdf.Term) bool {
	m := p.matcher()
	return m.matches(t)
}

// matcher is a pattern that is used many times.
type matcher struct {
	Pattern
	folded []byte
	buffer []byte // the last text that was folded
}

func (p Pattern) matcher() matcher {
	m := matcher{Pattern: p}
	if p.Match != AnyText && p.Match != Same {
		m.folded = appendFolded(nil, p.Text)
	}
	return m
}

func (m *matcher) matches(t rdf.Term) bool {
	if t.Kind != rdf.Literal {
		return false
	}
	switch m.Qualifier {
	case Plain:
		if t.Type != "" || t.Lang != "" {
			return false
		}
	case Typed:
		if t.Type == "" || m.Type != "" && t.Type != m.Type {
			return false
		}
	case Tagged:
		if t.Lang == "" || m.Lang != "" && t.Lang != m.Lang {
			return false
		}
	}
	switch {
	case m.Match == AnyText:
		return true
	case m.Match == Same:
		return t.Value == m.Text
	case len(m.folded) == 0:
		return true
	}
	m.buffer = appendFolded(m.buffer[:0], t.Value)
	text := m.buffer
	switch m.Match {
	case Exact:
		return bytes.Equal(text, m.folded)
	case Prefix:
		return bytes.HasPrefix(text, m.folded)
	case Substring:
		return bytes.Contains(text, m.folded)
	case Word:
		return hasWord(text, m.folded)
	case Like:
		return like(text, m.folded)
	}
	return false
}

// appendFolded appends a text without case and diacritics.
func appendFolded(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return appendFoldedRunes(b, s[i:])
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

func appendFoldedRunes(b []byte, s string) []byte {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			if parts := norm.NFD.PropertiesString(string(c)).Decomposition(); len(parts) > 0 {
				c, _ = utf8.DecodeRune(parts)
			}
		}
		b = utf8.AppendRune(b, unicode.ToLower(c))
	}
	return b
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// hasWord says whether word stands in text from the beginning of a word to the
// end of one. The word itself may be several.
func hasWord(text, word []byte) bool {
	for {
		if rest, ok := bytes.CutPrefix(text, word); ok {
			if c, _ := utf8.DecodeRune(rest); len(rest) == 0 || !isWord(c) {
				return true
			}
		}
		text = bytes.TrimLeftFunc(text, isWord)
		text = bytes.TrimLeftFunc(text, func(c rune) bool { return !isWord(c) })
		if len(text) == 0 {
			return false
		}
	}
}

// like matches a pattern with stars. The character after a star is itself,
// even if it is a star.
func like(text, pattern []byte) bool {
	var star, retry []byte // what follows the last star, and the text after its first character
	starred := false
	for {
		switch {
		case len(pattern) == 0 && len(text) == 0:
			return true
		case len(pattern) > 0 && pattern[0] == '*':
			pattern = pattern[1:]
			if len(pattern) == 0 {
				return true
			}
			c, n := utf8.DecodeRune(pattern)
			i := bytes.IndexRune(text, c)
			if i < 0 {
				return false
			}
			star, retry, starred = pattern, text[i+n:], true
			pattern, text = pattern[n:], text[i+n:]
			continue
		case len(pattern) > 0 && len(text) > 0 && sameRune(&pattern, &text):
			continue
		case !starred:
			return false
		}
		c, n := utf8.DecodeRune(star)
		i := bytes.IndexRune(retry, c)
		if i < 0 {
			return false
		}
		retry = retry[i+n:]
		pattern, text = star[n:], retry
	}
}

func sameRune(a, b *[]byte) bool {
	c, n := utf8.DecodeRune(*a)
	d, m := utf8.DecodeRune(*b)
	if c != d {
		return false
	}
	*a, *b = (*a)[n:], (*b)[m:]
	return true
}
