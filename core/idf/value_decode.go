package idf

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// decoder makes plain Go values of encoded messages.
type decoder struct {
	records
	written bool // leave out members that were not written
}

// message decodes a message that stands depth messages deep.
func (d *decoder) message(l *layout, b []byte, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errNesting(engram.Corrupt)
	}
	if l.special == isValue {
		return decodeVariant(b, depth)
	}
	if l.special >= isTime {
		if v, ok, err := l.decodeSpecial(b); ok || err != nil {
			return v, err
		}
	}
	from, to, err := d.open(l, b)
	if err != nil {
		return nil, err
	}
	defer d.close(from)
	switch l.special {
	case isList, isDict:
		v := emptyOf(l.members[0])
		if from < to {
			v, err = d.value(from, to, depth)
		}
		return v, err
	case isOptional:
		if from == to {
			return nil, nil
		}
		return d.value(from, to, depth)
	case isTuple:
		items := make([]any, len(l.members))
		err = d.members(l, from, to, depth, func(m *member, v any) { items[m.index] = v })
		return items, err
	}
	object := make(map[string]any, len(l.members))
	err = d.members(l, from, to, depth, func(m *member, v any) { object[m.name] = v })
	return object, err
}

// members decodes each member that has a value, whether written or zero.
func (d *decoder) members(l *layout, from, to, depth int, set func(*member, any)) error {
	for i, m := range l.members {
		if from == to || d.stack[from].m.index != i {
			if !m.presence && !d.written {
				set(m, emptyOf(m))
			}
			continue
		}
		end := d.group(from, to)
		v, err := d.value(from, end, depth)
		if err != nil {
			return under(m.name, err)
		}
		set(m, v)
		from = end
	}
	return nil
}

// value decodes a member from all its occurrences.
func (d *decoder) value(from, to, depth int) (any, error) {
	m := d.stack[from].m
	switch {
	case m.dict:
		return d.dict(m, from, to, depth)
	case m.list:
		return d.list(m, from, to, depth)
	case m.msg != nil:
		return d.message(m.msg, merged(d.stack[from:to]), depth+1)
	}
	return m.scalar(&d.stack[to-1])
}

func (d *decoder) list(m *member, from, to, depth int) (any, error) {
	n := to - from
	for i := from; i < to; i++ {
		if o := &d.stack[i]; o.isPacked() {
			n += m.packedLen(o.b) - 1
		}
	}
	items := make([]any, 0, n)
	for i := from; i < to; i++ {
		o := d.stack[i]
		if o.isPacked() {
			for rest := o.b; len(rest) > 0; {
				var err error
				if o.num, rest, err = m.consumeScalar(rest); err != nil {
					return nil, under(indexSegment(len(items)), err)
				}
				items = append(items, m.numeric(o.num))
			}
			continue
		}
		v, err := d.element(m, &o, depth)
		if err != nil {
			return nil, under(indexSegment(len(items)), err)
		}
		items = append(items, v)
	}
	return items, nil
}

func (d *decoder) element(m *member, o *occurrence, depth int) (any, error) {
	if m.msg != nil {
		return d.message(m.msg, o.b, depth+1)
	}
	return m.scalar(o)
}

func (d *decoder) dict(m *member, from, to, depth int) (any, error) {
	dict := make(map[string]any, to-from)
	for i := from; i < to; i++ {
		if err := d.entry(m, d.stack[i].b, depth+1, dict); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

func (d *decoder) entry(m *member, b []byte, depth int, dict map[string]any) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	from, to, err := d.open(m.msg, b)
	if err != nil {
		return err
	}
	defer d.close(from)
	key, from, err := d.key(m, from, to)
	if err != nil {
		return err
	}
	var v any
	switch {
	case from < to:
		v, err = d.value(from, to, depth)
	case m.elem().msg != nil: // a message without content
		v, err = d.message(m.elem().msg, nil, depth+1)
	default:
		v = emptyOf(m.elem())
	}
	if err != nil {
		return under(keySegment(key), err)
	}
	dict[key] = v
	return nil
}

// key returns the text of the key of an opened dict entry, and where the value's
// occurrences begin.
func (s *records) key(m *member, from, to int) (string, int, error) {
	if from == to || s.stack[from].m != m.key() {
		return m.key().keyText(0), from, nil
	}
	end := s.group(from, to)
	if m.key().kind != protoreflect.StringKind {
		return m.key().keyText(s.stack[end-1].num), end, nil
	}
	key, err := text(s.stack[end-1].b)
	return key, end, err
}

// keyText returns a dict's key that is not a string as text.
func (m *member) keyText(num uint64) string {
	switch {
	case m.kind == protoreflect.StringKind:
		return ""
	case m.kind == protoreflect.BoolKind:
		return strconv.FormatBool(num != 0)
	case isUnsigned64(m.kind):
		return strconv.FormatUint(num, 10)
	}
	return strconv.FormatInt(integer(m.kind, num), 10)
}

// scalar returns a member's value that is not a message.
func (m *member) scalar(o *occurrence) (any, error) {
	switch m.kind {
	case protoreflect.StringKind:
		return text(o.b)
	case protoreflect.BytesKind:
		return append([]byte{}, o.b...), nil
	}
	return m.numeric(o.num), nil
}

// numeric returns the value of a varint or fixed record.
func (m *member) numeric(num uint64) any {
	switch m.kind {
	case protoreflect.BoolKind:
		return num != 0
	case protoreflect.EnumKind:
		return m.enum.value(int32(num))
	case protoreflect.FloatKind:
		return math.Float32frombits(uint32(num))
	case protoreflect.DoubleKind:
		return math.Float64frombits(num)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return uint32(num)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return num
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return integer(m.kind, num)
	}
	return int32(integer(m.kind, num))
}

func (e *enumeration) value(n int32) Enum { return Enum{Key: e.keys[n], Number: n} }

func (e Enum) append(b []byte) []byte {
	if e.Key == "" {
		return strconv.AppendInt(b, int64(e.Number), 10)
	}
	return append(b, e.Key...)
}

// emptyOf returns what a member without presence has if it is not written.
func emptyOf(m *member) any {
	switch {
	case m.dict:
		return map[string]any{}
	case m.list:
		return []any{}
	case m.kind == protoreflect.StringKind:
		return ""
	case m.kind == protoreflect.BytesKind:
		return []byte{}
	case m.msg != nil:
		return nil
	}
	return m.numeric(0)
}
