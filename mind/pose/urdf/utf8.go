package urdf

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// UTF8 returns a description that [Read] takes as UTF-8, with its lines, for who keeps it
// as text: the names in it stay what Read makes of them.
func UTF8(text []byte) string {
	text, _ = decode(text)
	return strings.ToValidUTF8(string(text), "\ufffd") // no name has such bytes
}

// decode returns a text as UTF-8 if its encoding is known, else as it is, and the encoding
// that it declares. UTF-16 and UTF-32 are known by their first bytes, other encodings by their
// declaration. A text that is UTF-8 is taken as such whatever it declares, as its writer's
// tools did.
func decode(text []byte) (decoded []byte, declared string) {
	if wide := wideOf(text); wide != nil {
		text = wide(text)
	}
	s := newScanner(text)
	_, _ = s.next() // what is wrong with it is told when it is read
	declared = s.encoding
	if utf8.Valid(text) {
		return text, declared
	}
	other, known := latin[strings.ToLower(declared)]
	if !known {
		return text, declared
	}
	mark := len(text) - len(bytes.TrimPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("\ufeff"))) // of UTF-8, before what is none
	decoded = append(make([]byte, 0, 2*len(text)), text[:mark]...)
	for _, b := range text[mark:] {
		r, differs := other[b]
		if !differs {
			r = rune(b)
		}
		decoded = utf8.AppendRune(decoded, r)
	}
	return decoded, declared
}

// latin are the encodings of a byte per character that are known, as they are declared, by
// where they differ from ISO 8859-1, in which the bytes are the characters. There are few, since
// package pose is used without dependencies; others are converted before.
var latin = map[string]map[byte]rune{
	"iso-8859-1": nil, "iso8859-1": nil, "iso_8859-1": nil, "latin1": nil, "latin-1": nil,
	"iso-8859-15": latin9, "iso8859-15": latin9, "iso_8859-15": latin9, "latin9": latin9, "latin-9": latin9,
	"windows-1252": windows1252, "cp1252": windows1252,
}

var latin9 = map[byte]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'}

var windows1252 = func() map[byte]rune {
	m := map[byte]rune{}
	for i, r := range []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ") {
		m[byte(0x80+i)] = r
	}
	return m
}()

// isKnown reports whether a declared encoding is one that is known. That of a text which is
// UTF-8 may be one that it was in before.
func isKnown(encoding string) bool {
	e := strings.ToLower(encoding)
	if _, known := latin[e]; known {
		return true
	}
	switch e {
	case "", "utf-8", "utf8", "ascii", "us-ascii", "ansi_x3.4-1968":
		return true
	}
	for _, wide := range [...]string{"utf-16", "utf16", "utf-32", "utf32", "ucs-2", "ucs-4", "iso-10646-ucs-"} {
		if strings.HasPrefix(e, wide) {
			return true
		}
	}
	return false
}

// wideOf returns what makes UTF-8 of a text in UTF-16 or UTF-32, of which it has the mark of
// the order of bytes or begins with ASCII; nil if it is no such text.
func wideOf(text []byte) func([]byte) []byte {
	ascii := func(b byte) bool { return b > 0 && b < utf8.RuneSelf }
	var b [8]byte
	copy(b[:], text)
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}), ascii(b[0]) && b[1]|b[2]|b[3] == 0 && ascii(b[4]) && b[5]|b[6]|b[7] == 0:
		return func(t []byte) []byte { return fromUTF32(t, binary.LittleEndian) }
	case bytes.HasPrefix(text, []byte{0, 0, 0xfe, 0xff}), b[0]|b[1]|b[2] == 0 && ascii(b[3]) && b[4]|b[5]|b[6] == 0 && ascii(b[7]):
		return func(t []byte) []byte { return fromUTF32(t, binary.BigEndian) }
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), ascii(b[0]) && b[1] == 0 && ascii(b[2]) && b[3] == 0:
		return func(t []byte) []byte { return fromUTF16(t, binary.LittleEndian) }
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}), b[0] == 0 && ascii(b[1]) && b[2] == 0 && ascii(b[3]):
		return func(t []byte) []byte { return fromUTF16(t, binary.BigEndian) }
	}
	return nil
}

func fromUTF16(text []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, 0, len(text)/2+1)
	for ; len(text) >= 2; text = text[2:] {
		units = append(units, order.Uint16(text))
	}
	if len(text) > 0 { // it was cut off
		units = append(units, utf8.RuneError)
	}
	return []byte(string(utf16.Decode(units)))
}

func fromUTF32(text []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(text)/4+1)
	for ; len(text) >= 4; text = text[4:] {
		r := order.Uint32(text)
		if r > utf8.MaxRune {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, rune(r))
	}
	if len(text) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
