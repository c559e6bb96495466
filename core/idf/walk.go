package idf

import (
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Kind is the kind of member that a walk stops at; kinds can be or-ed.
type Kind uint16

// The kinds of members.
const (
	KindLink   Kind = 1 << iota
	KindNumber      // integers, floats and numbers inside Values; not the elements of arrays
	KindPose        // foxglove.Pose
	KindTime        // google.protobuf.Timestamp
	KindImage       // foxglove.RawImage and CompressedImage
	KindString
	KindFlag        // bools and enums, as integers
	KindBytes       // bytes; arrays and matrices as a whole
	KindVector      // foxglove.Vector3 and Point3
	KindOrientation // foxglove.Quaternion

	allKinds = 1<<iota - 1
)

// Found is one member that a walk stopped at.
type Found struct {
	Kind  Kind
	Path  []byte // dotted, with [i] and ["key"]; empty for the payload itself; valid during the call
	Num   float64
	Int   int64  // integers, exactly (uint64 above the highest int64 wrap); times in ns
	Bytes []byte // the encoded member: link text, string, bytes, pose and other messages; not copied
	Type  string // of a message, such as a pose or an image: its full name
}

// Walk finds members of the given kinds in encoded bytes, in the order they stand
// there, without decoding the rest, and calls visit with each until it returns
// false. It does not look inside what it stops at, so that with KindPose and
// KindNumber the numbers of poses are not visited. A list's elements and those in
// Values are members too; dict keys, zeros that are not written and times out of
// range are not found. The error is Corrupt and names the member. Plans are
// compiled once per type and kinds; a walk does not allocate.
func (t *Type) Walk(b []byte, kinds Kind, visit func(*Found) bool) error {
	plan := walkPlanOf(t, kinds)
	if plan == nil {
		return nil
	}
	w := walkers.Get().(*walker)
	w.kinds, w.visit = kinds, visit
	w.path, w.counts = w.path[:0], w.counts[:0]
	_, err := w.message(plan, b, 1)
	if err != nil {
		err = t.fail(under(string(w.path), err))
	}
	w.visit, w.found = nil, Found{}
	walkers.Put(w)
	return err
}

// Has reports whether payloads of the type may hold members of a kind.
func (t *Type) Has(kinds Kind) bool { return walkPlanOf(t, kinds) != nil }

// Link is a link found in a payload.
type Link struct {
	Path string
	ID   engram.ID
}

// Links returns the links in a payload with the paths of the members that hold
// them. Texts that are not IDs are left out, and so is the root, which an empty
// text stands for.
func (t *Type) Links(b []byte) ([]Link, error) {
	var links []Link
	err := t.Walk(b, KindLink, func(f *Found) bool {
		if id, err := engram.Parse(string(f.Bytes)); err == nil && !id.IsRoot() {
			links = append(links, Link{Path: string(f.Path), ID: id})
		}
		return true
	})
	return links, err
}

// walker is one walk under way.
type walker struct {
	kinds  Kind
	visit  func(*Found) bool
	found  Found
	path   []byte // of the member that the walk has come to
	counts []int  // of elements seen, per list of the messages around
}

func (w *walker) name(name string) {
	if len(w.path) > 0 {
		w.path = append(w.path, '.')
	}
	w.path = append(w.path, name...)
}

func (w *walker) index(i int) {
	w.path = append(strconv.AppendInt(append(w.path, '['), int64(i), 10), ']')
}

func (w *walker) key(k []byte) {
	w.path = append(w.path, '[')
	plain := true
	for _, c := range k {
		plain = plain && c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && c != 0x7f
	}
	if plain {
		w.path = append(append(append(w.path, '"'), k...), '"')
	} else {
		w.path = strconv.AppendQuote(w.path, string(k))
	}
	w.path = append(w.path, ']')
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// emit calls visit with what was found at the current path.
func (w *walker) emit(kind Kind, f Found) bool {
	f.Kind, f.Path = kind, w.path
	w.found = f
	return w.visit(&w.found)
}

// message walks a message that stands depth messages deep; more is false if the
// visitor wants no more. At an error the path is that of the message.
func (w *walker) message(p *walkPlan, b []byte, depth int) (more bool, err error) {
	if depth > maxDepth {
		return false, errNesting(engram.Corrupt)
	}
	if p.stop != 0 {
		return w.emit(p.stop, Found{Bytes: b, Type: p.layout.name}), nil
	}
	switch p.layout.special {
	case isValue:
		return w.variant(b, depth)
	case isTime:
		return w.time(b)
	case isLink:
		text, err := lastRecord(b, 1, false)
		if err != nil {
			return false, err
		}
		return w.emit(KindLink, Found{Bytes: text}), nil
	}
	base := len(w.counts)
	for range p.lists {
		w.counts = append(w.counts, 0)
	}
	end := len(w.path)
	for len(b) > 0 {
		num, wire, n := consumeTag(b)
		if n < 0 {
			return false, errWire(n)
		}
		f := p.field(num)
		if f == nil {
			v := protowire.ConsumeFieldValue(num, wire, b[n:])
			if v < 0 {
				return false, errWire(v)
			}
			b = b[n+v:]
			continue
		}
		o, n, err := p.layout.next(b)
		if err != nil {
			return false, err
		}
		b = b[n:]
		w.member(p, f)
		if more, err = w.record(f, &o, base, depth); err != nil || !more {
			return more, err
		}
		w.path = w.path[:end]
	}
	w.counts = w.counts[:base]
	return true, nil
}

// member appends a member's name to the path. That of a wrapper's own field is not
// part of it.
func (w *walker) member(p *walkPlan, f *walkField) {
	switch p.layout.special {
	case isList, isDict, isOptional:
		return
	case isTuple:
		w.index(f.m.index)
		return
	}
	w.name(f.m.name)
}

// record walks one record of a member.
func (w *walker) record(f *walkField, o *occurrence, base, depth int) (more bool, err error) {
	if f.m.dict {
		return w.entry(f, o.b, depth+1)
	}
	if !f.m.list {
		return w.value(f, o, depth)
	}
	end := len(w.path)
	count := base + f.list
	if !o.isPacked() {
		w.index(w.counts[count])
		w.counts[count]++
		return w.value(f, o, depth)
	}
	for rest := o.b; len(rest) > 0; {
		if o.num, rest, err = f.m.consumeScalar(rest); err != nil {
			return false, err
		}
		w.index(w.counts[count])
		w.counts[count]++
		if !w.number(f.m, o.num) {
			return false, nil
		}
		w.path = w.path[:end]
	}
	return true, nil
}

// entry walks an entry of a dict.
func (w *walker) entry(f *walkField, b []byte, depth int) (more bool, err error) {
	if depth > maxDepth {
		return false, errNesting(engram.Corrupt)
	}
	var key, value occurrence
	var content parts
	for rest := b; len(rest) > 0; {
		o, n, err := f.m.msg.next(rest)
		if err != nil {
			return false, err
		}
		switch rest = rest[n:]; {
		case o.m == nil:
		case o.m == f.m.key():
			key = o
		case o.m.msg != nil:
			content.add(o.b)
			value = o
			value.b = content.b
		default:
			value = o
		}
	}
	if f.m.key().kind == protoreflect.StringKind {
		w.key(key.b)
	} else {
		w.key([]byte(f.m.key().keyText(key.num)))
	}
	if value.m == nil {
		return true, nil
	}
	return w.value(f.elem, &value, depth)
}

// value walks a single value of a member.
func (w *walker) value(f *walkField, o *occurrence, depth int) (more bool, err error) {
	switch {
	case f.sub != nil:
		return w.message(f.sub, o.b, depth+1)
	case f.m.kind == protoreflect.StringKind:
		return w.emit(KindString, Found{Bytes: o.b}), nil
	case f.m.kind == protoreflect.BytesKind:
		return w.emit(KindBytes, Found{Bytes: o.b}), nil
	}
	return w.number(f.m, o.num), nil
}

func (w *walker) number(m *member, num uint64) bool {
	switch m.kind {
	case protoreflect.DoubleKind:
		return w.float(math.Float64frombits(num))
	case protoreflect.FloatKind:
		return w.float(float64(math.Float32frombits(uint32(num))))
	case protoreflect.BoolKind, protoreflect.EnumKind:
		i := integer(m.kind, num)
		return w.emit(KindFlag, Found{Num: float64(i), Int: i})
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return w.emit(KindNumber, Found{Num: float64(num), Int: int64(num)})
	}
	return w.integer(integer(m.kind, num))
}

func (w *walker) integer(i int64) bool {
	return w.emit(KindNumber, Found{Num: float64(i), Int: i})
}

func (w *walker) float(f float64) bool {
	return w.emit(KindNumber, Found{Num: f, Int: int64(f)})
}

func (w *walker) time(b []byte) (more bool, err error) {
	sec, nanos, err := readSeconds(b)
	if err != nil {
		return false, err
	}
	t, ok := timeOf(sec, nanos)
	if !ok {
		return true, nil
	}
	return w.emit(KindTime, Found{Int: int64(t), Num: float64(t)}), nil
}

// variant walks a Value.
func (w *walker) variant(b []byte, depth int) (more bool, err error) {
	if depth > maxDepth {
		return false, errNesting(engram.Corrupt)
	}
	v, err := readVariant(b)
	if err != nil {
		return false, err
	}
	switch v.kind {
	case variantList:
		return w.variantList(v.b, depth+2)
	case variantDict:
		return w.variantDict(v.b, depth+3)
	}
	if variantKinds[v.kind]&w.kinds == 0 {
		return true, nil
	}
	switch v.kind {
	case variantBool:
		i := int64(v.num & 1)
		return w.emit(KindFlag, Found{Num: float64(i), Int: i}), nil
	case variantArray:
		return w.emit(KindBytes, Found{Bytes: v.b}), nil
	case variantInt32:
		return w.integer(int64(v.int32())), nil
	case variantInt64:
		return w.integer(protowire.DecodeZigZag(v.num)), nil
	case variantUint64:
		return w.emit(KindNumber, Found{Num: float64(v.num), Int: int64(v.num)}), nil
	case variantFloat:
		return w.float(float64(math.Float32frombits(uint32(v.num)))), nil
	case variantDouble:
		return w.float(math.Float64frombits(v.num)), nil
	case variantString:
		return w.emit(KindString, Found{Bytes: v.b}), nil
	case variantTime:
		return w.time(v.b)
	}
	text, err := lastRecord(v.b, 1, false)
	if err != nil {
		return false, err
	}
	return w.emit(KindLink, Found{Bytes: text}), nil
}

// variantKinds are the kinds of what a Value may hold.
var variantKinds = [variantUint64 + 1]Kind{
	variantInt32: KindNumber, variantInt64: KindNumber, variantUint64: KindNumber, variantFloat: KindNumber, variantDouble: KindNumber,
	variantString: KindString, variantTime: KindTime, variantLink: KindLink, variantBool: KindFlag, variantArray: KindBytes,
}

func (w *walker) variantList(b []byte, depth int) (more bool, err error) {
	end := len(w.path)
	for i := 0; ; i++ {
		item, rest, found, err := nextRecord(b, 1)
		if err != nil || !found {
			return err == nil, err
		}
		w.index(i)
		if more, err := w.variant(item, depth); err != nil || !more {
			return more, err
		}
		w.path, b = w.path[:end], rest
	}
}

func (w *walker) variantDict(b []byte, depth int) (more bool, err error) {
	end := len(w.path)
	for {
		entry, rest, found, err := nextRecord(b, 1)
		if err != nil || !found {
			return err == nil, err
		}
		key, value, err := dictEntry(entry)
		if err != nil {
			return false, err
		}
		w.key(key)
		if more, err := w.variant(value, depth); err != nil || !more {
			return more, err
		}
		w.path, b = w.path[:end], rest
	}
}
