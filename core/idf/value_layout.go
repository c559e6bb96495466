package idf

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// layout is a message descriptor as the codecs of this package want it: what it
// stands for, and its members by name, by number and in both orders.
type layout struct {
	name     string
	special  special
	members  []*member // as declared; member.index is the position here
	byNumber []*member // by rising number
	byName   map[string]*member
	oneofs   bool // some members exclude each other

	dense  []*member // by number, for the low ones
	sparse map[protowire.Number]*member
}

// special says what a message stands for, if not for an object.
type special uint8

const (
	isObject   special = iota
	isList             // the wrapper of one repeated field, members[0]
	isDict             // the wrapper of one map, members[0]
	isOptional         // the wrapper of one member that may be null, members[0]
	isTuple            // the wrapper of items in order
	isTime
	isDuration
	isLink
	isArray
	isMatrix
	isValue
)

var specialOf = map[string]special{
	"google.protobuf.Timestamp": isTime,
	"google.protobuf.Duration":  isDuration,
	"engram.idf.v1.Link":        isLink,
	"engram.idf.v1.NDArray":     isArray,
	"engram.idf.v1.Matrix":      isMatrix,
	engram.ValueType:            isValue,
}

// member is a field of a message.
type member struct {
	name   string
	index  int
	number protowire.Number
	kind   protoreflect.Kind
	wire   protowire.Type // of one value

	list, dict bool
	packed     bool // written packed; both forms are read
	presence   bool // unset differs from zero
	oneof      int  // 1 + the index of the oneof it is in; 0 for none

	msg   *layout // of a message, or of a dict's entries: members key and value
	enum  *enumeration
	dtype DType // of an array that is given as lists of numbers
}

// key and elem are the two members of a dict's entries.
func (m *member) key() *member  { return m.msg.members[0] }
func (m *member) elem() *member { return m.msg.members[1] }

// isMessage reports whether the member, or each element of a list, is a message.
func (m *member) isMessage() bool { return m.msg != nil && !m.dict }

// enumeration knows an enum's values both ways.
type enumeration struct {
	name    string
	keys    map[int32]string
	numbers map[string]int32 // by key and by protobuf name
	names   []string         // keys, as declared
}

// find returns the member of that number, or nil.
func (l *layout) find(n protowire.Number) *member {
	if int(n) < len(l.dense) {
		return l.dense[n]
	}
	return l.sparse[n]
}

// layoutKey is the key of a type's layout in its cache.
type layoutKey struct{}

// layoutOf returns a type's layout, compiled at first use.
func layoutOf(t *Type) *layout {
	if l, ok := t.cache.Load(layoutKey{}); ok {
		return l.(*layout)
	}
	l, _ := t.cache.LoadOrStore(layoutKey{}, newLayout(t.desc, nil))
	return l.(*layout)
}

// newLayout compiles a descriptor; seen holds the messages met so far, which may
// contain themselves; nil for none.
func newLayout(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]*layout) *layout {
	if l, ok := seen[md.FullName()]; ok {
		return l
	}
	if seen == nil {
		seen = map[protoreflect.FullName]*layout{}
	}
	fds := md.Fields()
	l := &layout{name: string(md.FullName()), byName: make(map[string]*member, fds.Len())}
	seen[md.FullName()] = l
	for i := range fds.Len() {
		m := newMember(fds.Get(i), seen)
		m.index = i
		l.members = append(l.members, m)
		l.oneofs = l.oneofs || m.oneof > 0
	}
	for i, m := range l.members { // a name wins over another member's JSON name
		l.byName[m.name] = m
		if j := fds.Get(i).JSONName(); fds.ByName(protoreflect.Name(j)) == nil {
			l.byName[j] = m
		}
	}
	l.byNumber = slices.SortedFunc(slices.Values(l.members), func(a, b *member) int { return cmp.Compare(a.number, b.number) })
	l.indexNumbers()
	l.special = l.stand(md)
	return l
}

// denseLimit is up to which number members are found by index.
const denseLimit = 128

func (l *layout) indexNumbers() {
	for _, m := range l.byNumber {
		if m.number >= denseLimit {
			if l.sparse == nil {
				l.sparse = map[protowire.Number]*member{}
			}
			l.sparse[m.number] = m
			continue
		}
		for len(l.dense) <= int(m.number) {
			l.dense = append(l.dense, nil)
		}
		l.dense[m.number] = m
	}
}

// stand tells what the message stands for. A wrapper that has not a wrapper's form
// is taken for what it is, an object.
func (l *layout) stand(md protoreflect.MessageDescriptor) special {
	switch wrapperOf(md) {
	case idfv1.Wrapper_WRAPPER_LIST:
		if len(l.members) == 1 && l.members[0].list {
			return isList
		}
	case idfv1.Wrapper_WRAPPER_DICT:
		if len(l.members) == 1 && l.members[0].dict {
			return isDict
		}
	case idfv1.Wrapper_WRAPPER_OPTIONAL:
		if len(l.members) == 1 && l.members[0].presence {
			return isOptional
		}
	case idfv1.Wrapper_WRAPPER_TUPLE:
		return isTuple
	}
	return specialOf[l.name]
}

func newMember(fd protoreflect.FieldDescriptor, seen map[protoreflect.FullName]*layout) *member {
	m := &member{
		name:     string(fd.Name()),
		number:   fd.Number(),
		kind:     fd.Kind(),
		wire:     wireType(fd.Kind()),
		list:     fd.IsList(),
		dict:     fd.IsMap(),
		packed:   fd.IsPacked(),
		presence: fd.HasPresence(),
		dtype:    listDType(shapeOf(fd)),
	}
	if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
		m.oneof = od.Index() + 1
	}
	if md := fd.Message(); md != nil {
		m.msg = newLayout(md, seen)
	}
	if m.dict { // a restriction of a dict is on its values
		m.elem().dtype = m.dtype
	}
	if ed := fd.Enum(); ed != nil {
		m.enum = newEnumeration(ed)
	}
	return m
}

func newEnumeration(ed protoreflect.EnumDescriptor) *enumeration {
	e := &enumeration{name: string(ed.FullName()), keys: map[int32]string{}, numbers: map[string]int32{}}
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		key, n := enumKey(v), int32(v.Number())
		if _, ok := e.keys[n]; !ok { // of aliases the first is shown
			e.keys[n] = key
		}
		e.numbers[key] = n
		e.names = append(e.names, key)
	}
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		if _, ok := e.numbers[string(v.Name())]; !ok {
			e.numbers[string(v.Name())] = int32(v.Number())
		}
	}
	return e
}
