package idf

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// delimited returns the content of a string or bytes record.
func (e *encoder) delimited(m *member, v any) ([]byte, error) {
	s, isString := asString(v)
	if e.partial && !isString {
		s, isString = partialString(v)
	}
	if m.kind == protoreflect.StringKind {
		if !isString {
			return nil, mismatch(v, m.words())
		}
		if !utf8.ValidString(s) {
			return nil, memberErrorf(engram.Invalid, "the string %s is not UTF-8", shorten(s))
		}
		return []byte(s), nil
	}
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	if e.json && isString {
		return parseBase64(s)
	}
	if object, ok := v.(map[string]any); ok && e.json && object["sha256"] != nil {
		return nil, memberErrorf(engram.TypeMismatch, "is a summary of bytes, not the bytes; write the JSON with all bytes")
	}
	return nil, mismatch(v, m.words())
}

// partialString returns the string that a value of another kind becomes.
func partialString(v any) (string, bool) {
	switch v := v.(type) {
	case Enum:
		return v.String(), true
	case engram.ID:
		return v.String(), true
	}
	return "", false
}

// parseBase64 reads base64 of either alphabet, padded or not.
func parseBase64(s string) ([]byte, error) {
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, memberErrorf(engram.Invalid, "the string %s is not base64: %v", shorten(s), err)
	}
	return b, nil
}

// number returns v as a number.
func (e *encoder) number(v any) number {
	if s, ok := v.(string); ok && e.json {
		return parseNumber(s)
	}
	return numberOf(v)
}

// numeric returns the varint or fixed value of a scalar.
func (e *encoder) numeric(m *member, v any) (uint64, error) {
	switch m.kind {
	case protoreflect.BoolKind:
		if b, ok := asBool(v); ok {
			return protowire.EncodeBool(b), nil
		}
		return 0, mismatch(v, m.words())
	case protoreflect.EnumKind:
		return m.enum.parse(e.number(v), v)
	}
	n := e.number(v)
	if n.kind == notNumber {
		return 0, mismatch(v, m.words())
	}
	var num uint64
	var ok bool
	switch m.kind {
	case protoreflect.FloatKind:
		var f float32
		f, ok = n.float32()
		num = uint64(math.Float32bits(f))
	case protoreflect.DoubleKind:
		var f float64
		f, ok = n.float64()
		num = math.Float64bits(f)
	default:
		return m.fromInteger(n)
	}
	if !ok {
		return 0, m.unfit(n)
	}
	return num, nil
}

// fromInteger returns the wire value of an integer of the member's kind.
func (m *member) fromInteger(n number) (uint64, error) {
	if isUnsigned64(m.kind) {
		if u, ok := n.uint64(); ok {
			return u, nil
		}
		return 0, m.unfit(n)
	}
	i, ok := n.int64()
	if !ok {
		return 0, m.unfit(n)
	}
	switch m.kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		if i != int64(int32(i)) {
			return 0, m.unfit(n)
		}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if i != int64(uint32(i)) {
			return 0, m.unfit(n)
		}
	}
	switch m.kind {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.EncodeZigZag(i), nil
	case protoreflect.Sfixed32Kind:
		return uint64(uint32(i)), nil
	}
	return uint64(i), nil
}

func (m *member) unfit(n number) error {
	return memberErrorf(engram.OutOfRange, "the number %s does not fit %s", n, m.words())
}

// appendNumeric appends a scalar's value as it stands on the wire.
func (m *member) appendNumeric(b []byte, num uint64) []byte {
	switch m.wire {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, uint32(num))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, num)
	}
	return protowire.AppendVarint(b, num)
}

// parse returns the wire value of an enumeration's value, given as n or as v.
func (en *enumeration) parse(n number, v any) (uint64, error) {
	key, isKey := asString(v)
	if e, ok := v.(Enum); ok && e.Key != "" {
		key, isKey = e.Key, true
	}
	if isKey {
		if i, ok := en.numbers[key]; ok {
			return uint64(int64(i)), nil
		}
		if n.kind == notNumber || key != n.String() {
			return 0, memberErrorf(engram.TypeMismatch, "%s has no value %s%s", en.name, shorten(key), meant(key, en.names))
		}
	}
	if i, ok := n.int64(); ok && i == int64(int32(i)) {
		return uint64(i), nil
	}
	return 0, mismatch(v, "a value of "+en.name)
}
