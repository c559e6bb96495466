package idf

import (
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// encoder writes messages from plain Go values.
type encoder struct {
	buf []byte
	// json takes the values for those of a JSON text: numbers and bytes may be
	// strings, and a Value may be an object with a tag.
	json bool
	// partial takes what fits of a value of another type: what has no member of
	// that name is left out, an enumeration or a link may become a string.
	partial bool
}

// begin writes the tag of a delimited record and returns where its content begins;
// end puts the length before it.
func (e *encoder) begin(n protowire.Number) int {
	e.buf = protowire.AppendTag(e.buf, n, protowire.BytesType)
	e.buf = append(e.buf, 0)
	return len(e.buf)
}

func (e *encoder) end(start int) {
	n := len(e.buf) - start
	extra := protowire.SizeVarint(uint64(n)) - 1
	if extra > 0 {
		e.buf = slices.Grow(e.buf, extra)[:len(e.buf)+extra]
		copy(e.buf[start+extra:], e.buf[start:start+n])
	}
	protowire.AppendVarint(e.buf[:start-1], uint64(n))
}

// message writes the content of a message that stands depth messages deep. shape
// is that of the member it is for, or nil.
func (e *encoder) message(l *layout, v any, depth int, shape *idfv1.Shape) error {
	if depth > maxDepth {
		return errNesting(engram.Invalid)
	}
	switch l.special {
	case isValue:
		return e.variant(v, depth)
	case isTime, isDuration, isLink:
		if done, err := e.special(l, v); done || err != nil {
			return err
		}
	case isArray, isMatrix:
		return e.array(l, v, shape)
	case isList, isDict:
		return e.member(l.members[0], v, depth)
	case isOptional:
		if v == nil {
			return nil
		}
		return e.member(l.members[0], v, depth)
	case isTuple:
		return e.tuple(l, v, depth)
	}
	return e.object(l, v, depth)
}

func (e *encoder) object(l *layout, v any, depth int) error {
	object, ok := asMap(v)
	if !ok {
		return mismatch(v, "an object ("+l.name+")")
	}
	values := make([]any, len(l.members))
	given := make([]bool, len(l.members))
	var unknown []string
	for name, v := range object {
		m := l.byName[name]
		switch {
		case m == nil, e.partial && m.name != name:
			unknown = append(unknown, name)
		case given[m.index]:
			return under(m.name, memberErrorf(engram.Invalid, "is given twice, by its name and its JSON name"))
		default:
			values[m.index], given[m.index] = v, true
		}
	}
	if len(unknown) > 0 && !e.partial {
		return l.unknownMember(engram.TypeMismatch, slices.Min(unknown))
	}
	return e.members(l, values, given, depth)
}

func (e *encoder) tuple(l *layout, v any, depth int) error {
	items, ok := asList(v)
	if !ok || len(items) != len(l.members) {
		return mismatch(v, "a list of "+strconv.Itoa(len(l.members))+" items")
	}
	given := make([]bool, len(items))
	for i := range items {
		given[i] = items[i] != nil
	}
	return e.members(l, items, given, depth)
}

// members writes the given values of members, by rising number.
func (e *encoder) members(l *layout, values []any, given []bool, depth int) error {
	var chosen oneofs
	for _, m := range l.byNumber {
		v := values[m.index]
		if !given[m.index] || v == nil && (m.list || !m.takesNull()) {
			continue
		}
		if err := chosen.choose(m); err != nil {
			return under(m.name, err)
		}
		if err := e.member(m, v, depth); err != nil {
			if l.special == isTuple {
				return under(indexSegment(m.index), err)
			}
			return under(m.name, err)
		}
	}
	return nil
}

// oneofs holds the member that was written of each oneof.
type oneofs map[int]*member

// choose refuses a second member of a oneof.
func (o *oneofs) choose(m *member) error {
	if m.oneof == 0 {
		return nil
	}
	if other := (*o)[m.oneof]; other != nil {
		return memberErrorf(engram.Invalid, "excludes %s, which is given too", other.name)
	}
	if *o == nil {
		*o = oneofs{}
	}
	(*o)[m.oneof] = m
	return nil
}

// takesNull reports whether an element of the member may be null.
func (m *member) takesNull() bool {
	return m.msg != nil && (m.msg.special == isValue || m.msg.special == isOptional)
}

// isVariant reports whether the member is a single Value.
func (m *member) isVariant() bool { return m.isMessage() && !m.list && m.msg.special == isValue }

// member writes all records of a member.
func (e *encoder) member(m *member, v any, depth int) error {
	switch {
	case m.dict:
		return e.dict(m, v, depth)
	case m.list:
		return e.list(m, v, depth)
	}
	return e.single(m, v, depth, m.presence)
}

// single writes one value; a zero only if always is true.
func (e *encoder) single(m *member, v any, depth int, always bool) error {
	switch {
	case m.kind == protoreflect.GroupKind:
		e.buf = protowire.AppendTag(e.buf, m.number, protowire.StartGroupType)
		if err := e.message(m.msg, v, depth+1, m.shape); err != nil {
			return err
		}
		e.buf = protowire.AppendTag(e.buf, m.number, protowire.EndGroupType)
	case m.msg != nil:
		start := e.begin(m.number)
		if err := e.message(m.msg, v, depth+1, m.shape); err != nil {
			return err
		}
		e.end(start)
	case m.wire == protowire.BytesType:
		b, err := e.delimited(m, v)
		if err != nil {
			return err
		}
		if len(b) > 0 || always {
			e.buf = protowire.AppendTag(e.buf, m.number, protowire.BytesType)
			e.buf = protowire.AppendBytes(e.buf, b)
		}
	default:
		num, err := e.numeric(m, v)
		if err != nil {
			return err
		}
		if num != 0 || always {
			e.buf = protowire.AppendTag(e.buf, m.number, m.wire)
			e.buf = m.appendNumeric(e.buf, num)
		}
	}
	return nil
}

func (e *encoder) list(m *member, v any, depth int) error {
	if m.packed {
		return e.packedList(m, v)
	}
	items, ok := asList(v)
	if !ok {
		return mismatch(v, "a list")
	}
	for i, item := range items {
		if item == nil && !m.takesNull() {
			return under(indexSegment(i), mismatch(nil, m.words()))
		}
		if err := e.single(m, item, depth, true); err != nil {
			return under(indexSegment(i), err)
		}
	}
	return nil
}

func (e *encoder) packedList(m *member, v any) error {
	undo := len(e.buf)
	start := e.begin(m.number)
	if floats, ok := v.([]float64); ok && m.kind == protoreflect.DoubleKind {
		for _, f := range floats {
			e.buf = protowire.AppendFixed64(e.buf, math.Float64bits(f))
		}
	} else if err := e.packedItems(m, v); err != nil {
		return err
	}
	if len(e.buf) == start {
		e.buf = e.buf[:undo]
		return nil
	}
	e.end(start)
	return nil
}

func (e *encoder) packedItems(m *member, v any) error {
	items, ok := asList(v)
	if !ok {
		return mismatch(v, "a list")
	}
	for i, item := range items {
		num, err := e.numeric(m, item)
		if err != nil {
			return under(indexSegment(i), err)
		}
		e.buf = m.appendNumeric(e.buf, num)
	}
	return nil
}

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
			return 0, memberErrorf(engram.TypeMismatch, "%s has no value %s%s", en.name, shorten(key), nearest(key, en.names))
		}
	}
	if i, ok := n.int64(); ok && i == int64(int32(i)) {
		return uint64(i), nil
	}
	return 0, mismatch(v, "a value of "+en.name)
}
