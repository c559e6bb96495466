package idf

import (
	"bytes"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// filterMap is an object or a dict for CEL: a map whose values are decoded when
// they are asked for. It belongs to one evaluation. It implements traits.Mapper.
type filterMap struct {
	layout *layout // of the object, or of the message that the dict is in
	b      []byte  // the object; of a dict the records, with others between them
	depth  int
	isDict bool
	dict   *member // the dict; nil for one inside a Value

	in      *filterInput // of the evaluation
	decoded map[*member]ref.Val
	finds   int           // in a dict
	full    traits.Mapper // all of it, once that was asked for
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
	var last []byte // of equal keys the last is in force
	found := false
	err := o.eachEntry(func(entry []byte) error {
		k, err := lastRecord(entry, 1, false)
		if string(k) == string(name) {
			last, found = entry, true
		}
		return err
	})
	switch {
	case err != nil:
		return errorVal(err), false
	case !found:
		return nil, false
	}
	return o.entryValue(last), true
}

func (o *filterMap) hasStringKeys() bool {
	return o.dict == nil || o.dict.key().kind == protoreflect.StringKind
}

// eachEntry calls visit with each encoded entry of a dict.
func (o *filterMap) eachEntry(visit func(entry []byte) error) error {
	skipped := 0
	for b := o.b; len(b) > 0; {
		if o.dict == nil {
			entry, rest, found, err := nextRecord(b, 1)
			if err == nil && found {
				o.in.charge(1)
				err = visit(entry)
			}
			if err != nil {
				return err
			}
			b = rest
			continue
		}
		r, n, err := o.layout.seek(b, o.dict)
		if err == nil && r.m != nil {
			o.in.charge(1)
			err = visit(r.b)
		} else {
			skipped++
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	o.in.charge(skipped / recordsPerStep)
	return nil
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
	if v, ok := o.decoded[m]; ok {
		return v, true
	}
	v, ok := o.decode(m)
	if ok && o.in.loops && (m.list || m.msg != nil) {
		if o.decoded == nil {
			o.decoded = map[*member]ref.Val{}
		}
		o.decoded[m] = v
	}
	return v, ok
}

func (o *filterMap) decode(m *member) (ref.Val, bool) {
	switch {
	case m.dict:
		return &filterMap{isDict: true, dict: m, layout: o.layout, b: o.b, depth: o.depth + 1, in: o.in}, true
	case m.list:
		return o.list(m), true
	}
	rec, ok, err := o.last(m)
	switch {
	case err != nil:
		return errorVal(under(m.name, err)), false
	case !ok && m.presence:
		o.in.unset = append(o.in.unset, m.name)
		return nil, false
	}
	rec.m = m
	return o.single(&rec), true
}

// single returns the value in one record.
func (o *filterMap) single(rec *occurrence) ref.Val {
	switch m := rec.m; {
	case m.msg != nil:
		return filterMessage(m.msg, rec.b, o.depth+1, o.in)
	case m.kind == protoreflect.StringKind:
		return filterString(rec.b, o.in)
	case m.kind == protoreflect.BytesKind:
		return types.Bytes(rec.b)
	}
	return filterScalar(rec.m, rec.num)
}

// last returns the record of a single member that is in force.
func (o *filterMap) last(m *member) (rec occurrence, ok bool, err error) {
	var content parts
	records := 0
	for b := o.b; len(b) > 0; records++ {
		r, n, err := o.layout.seek(b, m)
		if err != nil {
			return rec, false, err
		}
		b = b[n:]
		switch {
		case r.m == nil:
		case r.m != m: // of the same oneof
			rec, ok, content = occurrence{}, false, parts{}
		case m.msg != nil:
			content.add(r.b)
			rec, ok = r, true
			rec.b = content.b
		default:
			rec, ok = r, true
		}
	}
	o.in.charge(records / recordsPerStep)
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

// list returns a list.
func (o *filterMap) list(m *member) ref.Val {
	var items []ref.Val
	skipped := 0
	for b := o.b; len(b) > 0; {
		r, n, err := o.layout.seek(b, m)
		if err != nil {
			return errorVal(err)
		}
		b = b[n:]
		switch {
		case r.m == nil:
			skipped++
		case r.isPacked():
			o.in.charge(m.packedLen(r.b) / 2)
			items = slices.Grow(items, m.packedLen(r.b))
			for rest := r.b; len(rest) > 0; {
				if r.num, rest, err = m.consumeScalar(rest); err != nil {
					return errorVal(under(m.name, err))
				}
				items = append(items, filterScalar(m, r.num))
			}
		default:
			o.in.charge(1)
			items = append(items, o.single(&r))
		}
	}
	o.in.charge(skipped / recordsPerStep)
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// entryValue returns the value of a dict's entry.
func (o *filterMap) entryValue(entry []byte) ref.Val {
	if o.dict == nil {
		value, err := lastRecord(entry, 2, true)
		if err != nil {
			return errorVal(err)
		}
		return filterVariant(value, o.depth, o.in)
	}
	e := filterMap{layout: o.dict.msg, b: entry, depth: o.depth, in: o.in}
	elem := o.dict.elem()
	if v, ok := e.decode(elem); ok || v != nil {
		return v
	}
	return filterMessage(elem.msg, nil, o.depth+1, o.in) // a message without content
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
	e := filterMap{layout: o.dict.msg, b: entry, in: o.in}
	v, _ := e.decode(o.dict.key())
	return v
}

// all returns the whole as one of CEL's own maps.
func (o *filterMap) all() traits.Mapper {
	if o.full != nil {
		return o.full
	}
	whole := map[ref.Val]ref.Val{}
	if o.isDict {
		err := o.eachEntry(func(entry []byte) error {
			whole[o.entryKey(entry)] = o.entryValue(entry)
			return nil
		})
		if err != nil {
			whole[types.String("")] = errorVal(err)
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
		if o.layout == p.layout && o.dict == p.dict && bytes.Equal(o.b, p.b) {
			return types.True
		}
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
