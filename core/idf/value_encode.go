package idf

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
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

// message writes the content of a message that stands depth messages deep. An array that is
// given as lists of numbers is of dtype.
func (e *encoder) message(l *layout, v any, depth int, dtype DType) error {
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
		return e.array(l, v, dtype)
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
		if err := e.message(m.msg, v, depth+1, m.dtype); err != nil {
			return err
		}
		e.buf = protowire.AppendTag(e.buf, m.number, protowire.EndGroupType)
	case m.msg != nil:
		start := e.begin(m.number)
		if err := e.message(m.msg, v, depth+1, m.dtype); err != nil {
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
