package idf

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Same reports whether both types have the same name and the same members, so
// that one can stand for the other.
func (t *Type) Same(o *Type) bool { return typeDiff(t, o) == "" }

// CheckExtends returns nil if every member of core is in t with the same number,
// name and type, and a TypeMismatch that names the first member that is not. A
// member's message may itself extend the core's, under the same or another name;
// the known types must be the same. An enumeration may have more values. Every
// type extends [engram.ValueType], which stands for any data.
func (t *Type) CheckExtends(core *Type) error {
	if core.Name() == engram.ValueType {
		return nil
	}
	c := comparison{seen: map[[2]protoreflect.MessageDescriptor]bool{}, extends: true}
	if s := c.messages("", t.desc, core.desc); s != "" {
		return engram.Errorf(engram.TypeMismatch, t.Name(), "does not extend %s: %s", core.Name(), s)
	}
	return nil
}

// Extending returns those of some types that extend one of others, as the payloads may that are asked for by these.
func Extending(some, others []*Type) []*Type {
	return slices.DeleteFunc(slices.Clone(some), func(t *Type) bool {
		return !slices.ContainsFunc(others, func(o *Type) bool { return t.CheckExtends(o) == nil })
	})
}

// typeDiff returns the first difference of t from known in words, or "".
func typeDiff(t, known *Type) string {
	if t.Name() != known.Name() {
		return fmt.Sprintf("its name is %s, not %s", t.Name(), known.Name())
	}
	c := comparison{seen: map[[2]protoreflect.MessageDescriptor]bool{}}
	return c.messages("", t.desc, known.desc)
}

// comparison compares two types member by member. Messages that contain
// themselves are taken to be equal while they are compared.
type comparison struct {
	seen    map[[2]protoreflect.MessageDescriptor]bool
	extends bool // the first may have more than the second
}

func (c *comparison) messages(path string, a, b protoreflect.MessageDescriptor) string {
	pair := [2]protoreflect.MessageDescriptor{a, b}
	if a == b || c.seen[pair] {
		return ""
	}
	c.seen[pair] = true
	if wa, wb := wrapperOf(a), wrapperOf(b); wa != wb {
		return fmt.Sprintf("%s is a %s, not a %s", orWhole(path), wrapperWords(wa), wrapperWords(wb))
	}
	for i := range b.Fields().Len() {
		want := b.Fields().Get(i)
		p := joinPath(path, string(want.Name()))
		got := a.Fields().ByName(want.Name())
		if got == nil {
			if other := a.Fields().ByNumber(want.Number()); other != nil {
				return fmt.Sprintf("member %s is missing: its number %d is that of %s", p, want.Number(), other.Name())
			}
			return fmt.Sprintf("member %s is missing", p)
		}
		if s := c.fields(p, got, want); s != "" {
			return s
		}
	}
	if c.extends || a.Fields().Len() == b.Fields().Len() {
		return ""
	}
	for i := range a.Fields().Len() {
		if f := a.Fields().Get(i); b.Fields().ByName(f.Name()) == nil {
			return fmt.Sprintf("member %s is not in the other", joinPath(path, string(f.Name())))
		}
	}
	return ""
}

func (c *comparison) fields(path string, a, b protoreflect.FieldDescriptor) string {
	if s := fieldDiff(a, b); s != "" && !(c.extends && sameButMessage(a, b)) {
		return "member " + path + s
	}
	if s := c.shapes(path, a, b); s != "" {
		return s
	}
	if !c.extends && oneofName(a) != oneofName(b) {
		return fmt.Sprintf("member %s is in the oneof %q, not %q", path, oneofName(a), oneofName(b))
	}
	switch {
	case a.IsMap(): // by their entries' value
		a, b = a.MapValue(), b.MapValue()
		path += "[]"
	case a.IsList():
		path += "[]"
	}
	if b.Enum() != nil {
		return c.enums(path, a.Enum(), b.Enum())
	}
	if b.Message() == nil {
		return ""
	}
	if _, ok := knownTypes()[string(b.Message().FullName())]; ok {
		// Both copies agree with the known one; else they would not be types.
		if a.Message().FullName() != b.Message().FullName() {
			return fmt.Sprintf("member %s is %s, not %s", path, a.Message().FullName(), b.Message().FullName())
		}
		return ""
	}
	return c.messages(path, a.Message(), b.Message())
}

// sameButMessage reports whether two fields that differ do so only in the name of
// their message.
func sameButMessage(a, b protoreflect.FieldDescriptor) bool {
	if a.Number() != b.Number() || a.Name() != b.Name() || a.IsMap() != b.IsMap() ||
		a.Cardinality() != b.Cardinality() || a.HasPresence() != b.HasPresence() {
		return false
	}
	if a.IsMap() {
		if a.MapKey().Kind() != b.MapKey().Kind() {
			return false
		}
		a, b = a.MapValue(), b.MapValue()
	}
	return a.Kind() == b.Kind() && a.Message() != nil
}

// shapes compares what two members restrict. A member that extends another may
// restrict what the other leaves open.
func (c *comparison) shapes(path string, a, b protoreflect.FieldDescriptor) string {
	sa, sb := shapeOf(a), shapeOf(b)
	if proto.Equal(sa, sb) || sb == nil && c.extends {
		return ""
	}
	if c.extends && (sb.GetRows() == 0 || sb.GetRows() == sa.GetRows()) &&
		(sb.GetCols() == 0 || sb.GetCols() == sa.GetCols()) &&
		(sb.GetNdim() == 0 || sb.GetNdim() == sa.GetNdim()) &&
		(sb.GetDtype() == 0 || sb.GetDtype() == sa.GetDtype()) &&
		(sb.GetEncoding() == "" || sb.GetEncoding() == sa.GetEncoding()) &&
		(sb.GetVoxel() == "" || sb.GetVoxel() == sa.GetVoxel()) {
		return ""
	}
	return fmt.Sprintf("member %s is of shape %s, not %s", path, shapeWords(sa), shapeWords(sb))
}

func (c *comparison) enums(path string, a, b protoreflect.EnumDescriptor) string {
	if a == b {
		return ""
	}
	numbers := make(map[string]protoreflect.EnumNumber, a.Values().Len())
	for i := range a.Values().Len() {
		v := a.Values().Get(i)
		numbers[enumKey(v)] = v.Number()
	}
	for i := range b.Values().Len() {
		want := b.Values().Get(i)
		key := enumKey(want)
		got, ok := numbers[key]
		if !ok {
			return fmt.Sprintf("member %s has no value %s", path, key)
		}
		if got != want.Number() {
			return fmt.Sprintf("member %s has the value %s = %d, not %d", path, key, got, want.Number())
		}
	}
	if n, m := a.Values().Len(), b.Values().Len(); n != m && !c.extends {
		return fmt.Sprintf("member %s has %d values, not %d", path, n, m)
	}
	return ""
}

// fieldDiff returns how a differs from b in number, name, type or cardinality, in
// words that follow the member's name, or "".
func fieldDiff(a, b protoreflect.FieldDescriptor) string {
	switch {
	case a.Number() != b.Number():
		return fmt.Sprintf(" has number %d, not %d", a.Number(), b.Number())
	case a.Name() != b.Name():
		return fmt.Sprintf(" is named %s, not %s", a.Name(), b.Name())
	}
	if wa, wb := fieldWords(a), fieldWords(b); wa != wb {
		return fmt.Sprintf(" is %s, not %s", wa, wb)
	}
	return ""
}

// fieldWords returns what stands before a field's name in a .proto file.
func fieldWords(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "map<" + kindWord(fd.MapKey()) + ", " + kindWord(fd.MapValue()) + ">"
	case fd.IsList():
		return "repeated " + kindWord(fd)
	case fd.Cardinality() == protoreflect.Required:
		return "required " + kindWord(fd)
	case fd.HasPresence() && fd.Message() == nil && oneofName(fd) == "":
		return "optional " + kindWord(fd)
	}
	return kindWord(fd)
}

// kindWord returns a field's scalar type, or the full name of its message or enum.
// Equal words mean equal kinds.
func kindWord(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.Kind() == protoreflect.GroupKind:
		return "group " + string(fd.Message().FullName())
	case fd.Message() != nil:
		return string(fd.Message().FullName())
	case fd.Enum() != nil:
		return "enum " + string(fd.Enum().FullName())
	}
	return fd.Kind().String()
}

// oneofName returns the name of the oneof a field was written in, or "".
func oneofName(fd protoreflect.FieldDescriptor) protoreflect.Name {
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return o.Name()
	}
	return ""
}

// joinPath appends a member's name to the path of the message it is in. Of long
// paths it keeps the end, so that deeply nested types do not fill the memory.
func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	if len(path) > 1024 {
		path = "…" + path[len(path)-512:]
	}
	return path + "." + name
}

func orWhole(path string) string {
	if path == "" {
		return "the whole"
	}
	return "member " + path
}
