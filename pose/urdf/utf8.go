package urdf

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// UTF8 returns a description that [Read] takes as UTF-8, with its lines, for who keeps it
// as text: the names in it stay what Read makes of them.
func UTF8(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	s := newScanner(text)
	if _, err := s.next(); err == nil && s.latin1() {
		before, after, marked := bytes.Cut(text, []byte("\ufeff")) // the mark of the order of bytes, which is no text
		if marked && len(bytes.TrimSpace(before)) == 0 {
			return string(before) + fromLatin1(string(after))
		}
		return fromLatin1(string(text))
	}
	return strings.ToValidUTF8(string(text), "\ufffd") // no name has such bytes
}

// latin1 reports whether the document declares ISO 8859-1 or a relative of that.
func (s *scanner) latin1() bool {
	e := strings.ToLower(s.encoding)
	return strings.HasPrefix(e, "iso-8859-1") || e == "latin1" || e == "windows-1252" || e == "cp1252"
}

// fromLatin1 takes each byte as a character.
func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
