package idf

import (
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// filterMap is an object or a dict for CEL: a map whose values are decoded when
// they are asked for. It belongs to one evaluation. It implements traits.Mapper.
type filterMap struct {
	layout *layout
	b      []byte
	depth  int
	lists  map[*member]ref.Val // the lists and dicts of an object that were decoded

	isDict  bool
	entries [][]byte
	entry   *member // the dict; nil for one inside a Value

	finds int           // in the entries
	full  traits.Mapper // all of it, once that was asked for
}

// maxDictFinds is how often a dict is searched entry by entry before it is made a
// map.
const maxDictFinds = 4

// Find implements traits.Mapper.
func (o *filterMap) Find(key ref.Val) (ref.Val, bool) {
	name, isString := key.(types.String)
	switch {
	case o.full != nil:
		return o.full.Find(key)
	case !o.isDict:
		if !isString {
			return nil, false
		}
		return o.member(string(name))
	case !isString || !o.hasStringKeys() || o.finds >= maxDictFinds:
		return o.all().Find(key)
	}
	o.finds++
	for i := len(o.entries) - 1; i >= 0; i-- { // of equal keys the last is in force
		k, err := lastRecord(o.entries[i], 1, false)
		if err != nil {
			return errorVal(err), false
		}
		if string(k) == string(name) {
			return o.entryValue(o.entries[i]), true
		}
	}
	return nil, false
}

func (o *filterMap) hasStringKeys() bool {
	return o.entry == nil || o.entry.key().kind == protoreflect.StringKind
}

// member returns the value of the object's member of that name; not found if there
// is none or it is not set. An error is returned as the value.
func (o *filterMap) member(name string) (ref.Val, bool) {
	m := o.layout.named(name)
	if m == nil {
		return nil, false
	}
	return o.value(m)
}

func (o *filterMap) value(m *member) (ref.Val, bool) {
	if m.list || m.dict {
		v, ok := o.lists[m]
		if !ok {
			if o.lists == nil {
				o.lists = map[*member]ref.Val{}
			}
			v = o.list(m)
			o.lists[m] = v
		}
		return v, true
	}
	rec, ok, err := o.last(m)
	switch {
	case err != nil:
		return errorVal(under(m.name, err)), false
	case !ok && m.presence:
		return nil, false
	}
	rec.m = m
	return o.single(&rec), true
}

// single returns the value in one record.
func (o *filterMap) single(rec *occurrence) ref.Val {
	switch m := rec.m; {
	case m.msg != nil:
		return filterMessage(m.msg, rec.b, o.depth+1)
	case m.kind == protoreflect.StringKind:
		return types.String(rec.b)
	case m.kind == protoreflect.BytesKind:
		return types.Bytes(rec.b)
	}
	return filterScalar(rec.m, rec.num)
}

// last returns the record of a single member that is in force.
func (o *filterMap) last(m *member) (rec occurrence, ok bool, err error) {
	for b := o.b; len(b) > 0; {
		r, n, err := o.layout.seek(b, m)
		if err != nil {
			return rec, false, err
		}
		b = b[n:]
		switch {
		case r.m == m && ok && m.msg != nil: // two parts of one message
			rec.b = append(rec.b[:len(rec.b):len(rec.b)], r.b...)
		case r.m == m:
			rec, ok = r, true
		case r.m != nil:
			rec, ok = occurrence{}, false
		}
	}
	return rec, ok, nil
}

// seek reads the record at the begin of b if it is of member m, or of another of
// its oneof; other records it skips.
func (l *layout) seek(b []byte, m *member) (o occurrence, n int, err error) {
	num, wire, n := consumeTag(b)
	if n < 0 {
		return o, 0, errWire(n)
	}
	if num != m.number {
		if other := l.find(num); m.oneof == 0 || other == nil || other.oneof != m.oneof {
			v := protowire.ConsumeFieldValue(num, wire, b[n:])
			if v < 0 {
				return o, 0, errWire(v)
			}
			return o, n + v, nil
		}
	}
	return l.next(b)
}

// list returns a list or a dict.
func (o *filterMap) list(m *member) ref.Val {
	var items []ref.Val
	var entries [][]byte
	for b := o.b; len(b) > 0; {
		r, n, err := o.layout.seek(b, m)
		if err != nil {
			return errorVal(err)
		}
		b = b[n:]
		switch {
		case r.m == nil:
		case m.dict:
			entries = append(entries, r.b)
		case r.isPacked():
			for rest := r.b; len(rest) > 0; {
				if r.num, rest, err = m.consumeScalar(rest); err != nil {
					return errorVal(under(m.name, err))
				}
				items = append(items, filterScalar(m, r.num))
			}
		default:
			items = append(items, o.single(&r))
		}
	}
	if m.dict {
		return &filterMap{isDict: true, entries: entries, entry: m, depth: o.depth + 1}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// entryValue returns the value of a dict's entry.
func (o *filterMap) entryValue(entry []byte) ref.Val {
	if o.entry == nil {
		value, err := lastRecord(entry, 2, true)
		if err != nil {
			return errorVal(err)
		}
		return filterVariant(value, o.depth)
	}
	e := filterMap{layout: o.entry.msg, b: entry, depth: o.depth}
	elem := o.entry.elem()
	if v, ok := e.value(elem); ok || v != nil {
		return v
	}
	return filterMessage(elem.msg, nil, o.depth+1) // a message without content
}

// entryKey returns the key of a dict's entry.
func (o *filterMap) entryKey(entry []byte) ref.Val {
	if o.hasStringKeys() {
		k, err := lastRecord(entry, 1, false)
		if err != nil {
			return errorVal(err)
		}
		return types.String(k)
	}
	e := filterMap{layout: o.entry.msg, b: entry, depth: o.depth}
	v, _ := e.value(o.entry.key())
	return v
}

// all returns the whole as one of CEL's own maps.
func (o *filterMap) all() traits.Mapper {
	if o.full != nil {
		return o.full
	}
	whole := map[ref.Val]ref.Val{}
	if o.isDict {
		for _, entry := range o.entries {
			whole[o.entryKey(entry)] = o.entryValue(entry)
		}
	} else {
		for _, m := range o.layout.members {
			if v, ok := o.value(m); ok || v != nil {
				whole[types.String(m.name)] = v
			}
		}
	}
	o.full = types.NewRefValMap(types.DefaultTypeAdapter, whole)
	return o.full
}

// Get implements traits.Indexer.
func (o *filterMap) Get(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok && v == nil {
		return types.NewErr("no such key: %v", key)
	}
	return v
}

// Contains implements traits.Container.
func (o *filterMap) Contains(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok && v != nil {
		return v
	}
	return types.Bool(ok)
}

// Iterator implements traits.Iterable.
func (o *filterMap) Iterator() traits.Iterator { return o.all().Iterator() }

// Size implements traits.Sizer.
func (o *filterMap) Size() ref.Val { return o.all().Size() }

// Equal implements ref.Val.
func (o *filterMap) Equal(other ref.Val) ref.Val {
	if p, ok := other.(*filterMap); ok {
		other = p.all()
	}
	return o.all().Equal(other)
}

// Type implements ref.Val.
func (o *filterMap) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *filterMap) Value() any { return o.all().Value() }

// ConvertToType implements ref.Val.
func (o *filterMap) ConvertToType(t ref.Type) ref.Val { return o.all().ConvertToType(t) }

// ConvertToNative implements ref.Val.
func (o *filterMap) ConvertToNative(t reflect.Type) (any, error) { return o.all().ConvertToNative(t) }
