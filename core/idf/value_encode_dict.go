package idf

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// dictKey is a key on its way into an encoded dict.
type dictKey struct {
	text string
	num  uint64 // of a key that is not a string
}

func (e *encoder) dict(m *member, v any, depth int) error {
	dict, ok := asMap(v)
	if !ok {
		return mismatch(v, "a dict")
	}
	if depth+1 > maxDepth && len(dict) > 0 {
		return errNesting(engram.Invalid)
	}
	keys := make([]dictKey, 0, len(dict))
	for text := range dict {
		k := dictKey{text: text}
		if err := m.key().parseKey(&k); err != nil {
			return under(keySegment(text), err)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, m.key().compareKeys)
	for i, k := range keys {
		if i > 0 && m.key().compareKeys(k, keys[i-1]) == 0 {
			return under(keySegment(k.text), memberErrorf(engram.Invalid, "is the same key as %q", keys[i-1].text))
		}
		v := dict[k.text]
		if v == nil && !m.elem().takesNull() {
			return under(keySegment(k.text), mismatch(nil, m.elem().words()))
		}
		start := e.begin(m.number)
		e.buf = protowire.AppendTag(e.buf, 1, m.key().wire)
		if m.key().wire == protowire.BytesType {
			e.buf = protowire.AppendString(e.buf, k.text)
		} else {
			e.buf = m.key().appendNumeric(e.buf, k.num)
		}
		if err := e.single(m.elem(), v, depth+1, true); err != nil {
			return under(keySegment(k.text), err)
		}
		e.end(start)
	}
	return nil
}

// parseKey checks a dict key, and reads one that is not a string.
func (m *member) parseKey(k *dictKey) error {
	switch m.kind {
	case protoreflect.StringKind:
		if !utf8.ValidString(k.text) {
			return memberErrorf(engram.Invalid, "the key is not UTF-8")
		}
		return nil
	case protoreflect.BoolKind:
		if k.text != "true" && k.text != "false" {
			return memberErrorf(engram.TypeMismatch, "the key is neither true nor false")
		}
		k.num = protowire.EncodeBool(k.text == "true")
		return nil
	}
	n := parseNumber(k.text)
	if n.kind != anInteger {
		return memberErrorf(engram.TypeMismatch, "the key is not an integer")
	}
	var err error
	k.num, err = m.fromInteger(n)
	return err
}

// compareKeys orders keys as protobuf's deterministic form does.
func (m *member) compareKeys(a, b dictKey) int {
	switch {
	case m.kind == protoreflect.StringKind:
		return strings.Compare(a.text, b.text)
	case isUnsigned64(m.kind):
		return cmp.Compare(a.num, b.num)
	}
	return cmp.Compare(integer(m.kind, a.num), integer(m.kind, b.num))
}
