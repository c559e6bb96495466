package rosmsg

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// wideForm is how a wide string is serialised. CDR leaves it to the vendor: older
// Fast CDR writes the number of characters and four bytes for each, newer Fast CDR
// the number of bytes and UTF-16. The first that makes sense of the whole message
// is taken.
type wideForm uint8

const (
	wideCount wideForm = iota
	wideBytes
)

// text reads a string and, unless it is single and empty, writes it.
func (t *Transcoder) text(o *op) bool {
	s, ok := t.stringBytes(o.kind == WString)
	if !ok {
		return false
	}
	if o.tap > 0 {
		t.taps[t.base+o.tap-1].Text = s
	}
	if o.ntag == 0 {
		return true
	}
	if o.text != nil {
		s = o.text(s)
	}
	if len(s) == 0 && o.code == opString {
		return true
	}
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	t.out = append(t.out, o.tag[:o.ntag]...)
	t.out = protowire.AppendVarint(t.out, uint64(len(s)))
	t.out = append(t.out, s...)
	return true
}

func (t *Transcoder) stringBytes(wide bool) ([]byte, bool) {
	length, ok := t.uint32()
	if !ok {
		return nil, false
	}
	n := int(length)
	if wide && t.wide == wideCount {
		n *= 4
	}
	if n > len(t.src)-t.off {
		return nil, t.failed("a string is longer than the rest of the message")
	}
	s := t.src[t.off : t.off+n]
	t.off += n
	switch {
	case wide && t.wide == wideCount:
		return t.utf32(s)
	case wide:
		return t.utf16(s)
	case t.cdr && n > 0 && s[n-1] == 0:
		s = s[:n-1] // CDR counts the terminating NUL
	}
	return s, true
}

func (t *Transcoder) utf32(s []byte) ([]byte, bool) {
	units := make([]uint16, 0, len(s)/4)
	for i := 0; i < len(s); i += 4 {
		// u16string becomes wstring unit by unit, so surrogates stand in pairs.
		switch c := t.bits(4, t.off-len(s)+i); {
		case c <= 0xFFFF:
			units = append(units, uint16(c))
		case c <= utf8.MaxRune:
			units = utf16.AppendRune(units, rune(c))
		default:
			return nil, t.failed("a wide string holds what is no character")
		}
	}
	return []byte(string(utf16.Decode(units))), true
}

func (t *Transcoder) utf16(s []byte) ([]byte, bool) {
	if len(s)%2 != 0 {
		return nil, t.failed("a wide string has an odd length")
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(t.bits(2, t.off-len(s)+2*i))
	}
	return []byte(string(utf16.Decode(units))), true
}
