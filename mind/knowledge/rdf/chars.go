package rdf

import (
	"strings"
	"unicode/utf8"
)

// isLetter says whether names of XML and Turtle may begin with a character: PN_CHARS_BASE.
func isLetter(c rune) bool {
	switch {
	case c < 0xC0:
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	case c <= 0x2FF:
		return c != 0xD7 && c != 0xF7
	case c <= 0x1FFF:
		return c >= 0x370 && c != 0x37E
	case c <= 0x2FEF:
		return c == 0x200C || c == 0x200D || c >= 0x2070 && c <= 0x218F || c >= 0x2C00
	case c <= 0xFFFD:
		return c >= 0x3001 && c <= 0xD7FF || c >= 0xF900 && c <= 0xFDCF || c >= 0xFDF0
	}
	return c >= 0x10000 && c <= 0xEFFFF
}

// isNameChar says whether names may have a character after the first one, dots aside: PN_CHARS.
func isNameChar(c rune) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == 0xB7 || c >= 0x300 && c <= 0x36F || c == 0x203F || c == 0x2040
}

// isName says whether a text is a name: its first character is a letter or one of first, and others are in names or dots,
// or one of more.
func isName(s, first, more string) bool {
	for i, c := range s {
		switch {
		case isLetter(c), strings.ContainsRune(first, c):
		case i > 0 && (isNameChar(c) || c == '.'), i > 0 && strings.ContainsRune(more, c):
		default:
			return false
		}
	}
	return s != "" && utf8.ValidString(s)
}

// asciiDigits may begin local names and labels in Turtle.
const asciiDigits = "0123456789"

// isNCName says whether a text is a name of XML without colon, as rdf:ID and rdf:nodeID have.
func isNCName(s string) bool { return isName(s, "_", "") }
