package gen

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed support/engram_payload.hpp support/engram_payload_codec.hpp support/engram_payload.cpp
var cppLibrary embed.FS

// Names that C++ does not allow, or that its libraries have as macros.
const cppWords = `alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
	class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield
	decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
	inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
	register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
	template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
	wchar_t while xor xor_eq NULL EOF errno assert major minor makedev stdin stdout stderr unix linux TRUE FALSE
	DEBUG NAN INFINITY BUFSIZ RAND_MAX signbit isnan isinf SEEK_SET SEEK_CUR SEEK_END offsetof I std main
	to_payload from_payload type_name Success Status None Bool Always DOMAIN OVERFLOW UNDERFLOW`

// cppWriter writes the header and source of a model.
type cppWriter struct {
	writer
	source writer
	spaces map[*pkg]string // with "::" before and between
	names  map[any]string
	taken  map[*pkg]namer
	open   *pkg
}

// writeCpp writes one header and one source: what contains what decides the order, and
// namespaces may be made of each other.
func writeCpp(m *model, o Options) (map[string][]byte, error) {
	w := &cppWriter{writer: writer{indent: "  "}, source: writer{indent: "  "}, spaces: map[*pkg]string{}, names: map[any]string{}, taken: map[*pkg]namer{}}
	file := cmp.Or(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, o.Package), "types")
	for _, k := range m.packages {
		space := ""
		for part := range strings.SplitSeq(k.name, ".") {
			if part != "" {
				space += "::" + words(cppWords).free(part)
			}
		}
		w.spaces[k], w.taken[k] = space, words(cppWords)
	}
	for _, k := range m.packages { // types and the namespaces beside them
		for _, other := range m.packages {
			if rest, ok := strings.CutPrefix(w.spaces[other], w.spaces[k]+"::"); ok {
				first, _, _ := strings.Cut(rest, "::")
				w.taken[k][first] = true
			}
		}
		for _, e := range k.enums {
			w.names[e] = w.taken[k].free(e.short)
		}
		for _, obj := range k.objects {
			w.names[obj] = w.taken[k].free(obj.short)
		}
	}
	w.lines("// Structs of types, written by engram gen: do not edit.", "#pragma once", "", "#include <compare>", "#include <cstdint>", "#include <map>",
		"#include <optional>", "#include <string>", "#include <string_view>", "#include <tuple>", "#include <vector>", "", `#include "engram_payload.hpp"`)
	w.source.lines("// How structs of types are read and written, written by engram gen: do not edit.", `#include "`+file+`.hpp"`, "", `#include "engram_payload_codec.hpp"`,
		"", "namespace engram::payload::codec {")
	for _, k := range m.packages {
		for _, e := range k.enums {
			w.enter(k)
			w.enum(e)
		}
	}
	for _, obj := range m.objects { // what others have lists of
		w.enter(obj.pkg)
		w.line("struct " + w.names[obj] + ";")
	}
	order := byContent(m.objects)
	for _, obj := range order {
		w.enter(obj.pkg)
		w.object(obj)
	}
	w.enter(nil)
	for _, obj := range order {
		w.layout(obj)
	}
	w.source.lines("", "}  // namespace engram::payload::codec", "")
	for _, obj := range order {
		name := strings.TrimPrefix(w.name(obj), "::")
		w.source.lines(
			fmt.Sprintf("std::string %s::to_payload() const { return ::engram::payload::codec::write(*this); }", name),
			fmt.Sprintf("%s %[1]s::from_payload(std::string_view bytes, const ::engram::payload::Sender* sender) {", name),
			fmt.Sprintf("  return ::engram::payload::codec::read<%s>(bytes, sender);", name), "}")
	}
	out := map[string][]byte{file + ".hpp": []byte(w.String()), file + ".cpp": []byte(w.source.String())}
	for _, name := range []string{"engram_payload.hpp", "engram_payload_codec.hpp", "engram_payload.cpp"} {
		b, err := cppLibrary.ReadFile("support/" + name)
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, nil
}

// byContent puts objects after those that are part of their memory.
func byContent(all []*object) (order []*object) {
	seen := map[*object]bool{}
	var visit func(o *object)
	visit = func(o *object) {
		if seen[o] || o.library {
			return
		}
		seen[o] = true
		if o.base != nil {
			visit(o.base)
		}
		for _, m := range o.members {
			m.shape.each(func(s *shape) { // lists and dicts too: their default functions need it
				if s.object != nil {
					visit(s.object)
				}
			})
		}
		order = append(order, o)
	}
	for _, o := range all {
		visit(o)
	}
	return order
}

// enter opens the namespace of a package, and closes the one that is open.
func (w *cppWriter) enter(k *pkg) {
	if k == w.open && k != nil {
		return
	}
	if w.open != nil && w.spaces[w.open] != "" {
		w.lines("", "}  // namespace "+strings.TrimPrefix(w.spaces[w.open], "::"))
	}
	if w.open = k; k == nil {
		return
	}
	w.line("")
	if w.spaces[k] != "" {
		w.lines("namespace "+strings.TrimPrefix(w.spaces[k], "::")+" {", "")
	}
}

func (w *cppWriter) name(v any) string {
	switch v := v.(type) {
	case *object:
		if v.library {
			return "::engram::payload::" + v.short
		}
		return w.spaces[v.pkg] + "::" + w.names[v]
	case *enum:
		if v.pkg == nil {
			return "::engram::payload::" + v.short
		}
		return w.spaces[v.pkg] + "::" + w.names[v]
	}
	return ""
}

func (w *cppWriter) doc(text string) {
	for _, line := range wrapped(text, 95-2*w.depth) {
		if strings.HasSuffix(line, `\`) { // would go on in the next line
			line += " ."
		}
		w.line(strings.TrimRight("/// "+line, " "))
	}
}

func (w *cppWriter) enum(e *enum) {
	w.doc(e.doc)
	w.line("enum class " + w.names[e] + " : std::int32_t {")
	w.depth++
	names, seen := words(cppWords), map[string]bool{}
	var keys []string
	for _, v := range e.values {
		keys = append(keys, fmt.Sprintf("{%q, %d}", v.key, v.number))
		if seen[v.key] {
			continue
		}
		seen[v.key] = true
		name := v.key
		if name[0] >= '0' && name[0] <= '9' {
			name = "K" + name
		}
		w.doc(v.doc)
		w.line(fmt.Sprintf("%s = %d,", names.free(name), v.number))
	}
	w.depth--
	w.lines("};", "")
	w.source.lines("", "template <>", "struct KeysOf<"+w.name(e)+"> {", fmt.Sprintf("  static constexpr std::string_view name = %q;", e.name),
		"  static constexpr Key keys[] = {")
	for _, k := range keys {
		w.source.line("      " + k + ",")
	}
	w.source.lines("  };", "};")
}

// members returns the names of an object's members in C++, by member.
func (w *cppWriter) members(o *object) map[*member]string {
	names := words(cppWords)
	for b := o; b != nil; b = b.base {
		names[w.names[b]] = true
	}
	out := map[*member]string{}
	for _, m := range o.all() {
		name := m.name
		if strings.Contains(name, "__") || len(name) > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z' {
			name = "m" + strings.ReplaceAll(name, "__", "_") // C++ keeps those names to itself
		}
		out[m] = names.free(name)
	}
	return out
}

func (w *cppWriter) object(o *object) {
	w.line("")
	w.doc(o.doc)
	name, names := w.names[o], w.members(o)
	head := "struct " + name
	if o.base != nil {
		head += " : " + w.name(o.base)
	}
	w.line(head + " {")
	w.depth++
	for _, m := range o.members {
		doc := m.doc
		if m.unit != "" && !strings.Contains(doc, m.unit) {
			doc += " (" + m.unit + ")"
		}
		w.doc(doc)
		w.line(w.typeOf(m.shape, o) + " " + names[m] + cppZero(m.shape) + ";")
	}
	if len(o.members) > 0 {
		w.line("")
	}
	w.lines(fmt.Sprintf("static constexpr std::string_view type_name = %q;", o.name), "",
		fmt.Sprintf("bool operator==(const %s&) const = default;", name),
		"/// The payload's bytes, members in the order of their numbers.",
		"std::string to_payload() const;",
		"/// Reads a payload of this type or, with a sender, of that type: by the names of members.",
		fmt.Sprintf("static %s from_payload(std::string_view bytes, const ::engram::payload::Sender* sender = nullptr);", name))
	w.depth--
	w.line("};")
	w.source.lines("", "template <>", "struct LayoutOf<"+w.name(o)+"> {", fmt.Sprintf("  static constexpr std::string_view name = %q;", o.name),
		"  static Layout get();", "};")
}

// layout writes how an object is read and written.
func (w *cppWriter) layout(o *object) {
	name, names, s := w.name(o), w.members(o), &w.source
	all := slices.Clone(o.all())
	slices.SortFunc(all, func(a, b *member) int { return a.number - b.number })
	s.lines("", "Layout LayoutOf<"+name+">::get() {")
	if len(all) == 0 {
		s.lines("  return {name, {}};", "}")
		return
	}
	s.lines("  using T = "+name+";", "  static constexpr Member members[] = {")
	oneofs := map[string]int{}
	for _, m := range all {
		more := ""
		if m.oneof != "" {
			if oneofs[m.oneof] == 0 {
				oneofs[m.oneof] = len(oneofs) + 1
			}
			more = fmt.Sprintf(", %d", oneofs[m.oneof])
		}
		s.line(fmt.Sprintf("      member<T, &T::%s%s>(%d, %q%s),", names[m], cppForms(m.shape), m.number, m.name, more))
	}
	s.lines("  };", "  return {name, members};", "}")
}

// cppForms returns the forms of the whole numbers in a shape, where they are not plain.
func cppForms(s *shape) string {
	form := func(s *shape) string {
		switch {
		case s == nil || s.kind != scalar:
		case strings.HasPrefix(s.word, "sint"):
			return "Form::zigzag"
		case strings.Contains(s.word, "fixed"):
			return "Form::fixed"
		}
		return "Form::plain"
	}
	value, key := s, (*shape)(nil)
	for value.item != nil {
		if value.key != nil {
			key = value.key
		}
		value = value.item
	}
	v, k := form(value), form(key)
	switch {
	case k != "Form::plain":
		return ", " + v + ", " + k
	case v != "Form::plain":
		return ", " + v
	}
	return ""
}

var cppScalars = map[string]string{
	"bool": "bool", "string": "std::string", "bytes": "::engram::payload::Bytes", "float": "float", "double": "double",
	"int32": "std::int32_t", "sint32": "std::int32_t", "sfixed32": "std::int32_t", "int64": "std::int64_t", "sint64": "std::int64_t", "sfixed64": "std::int64_t",
	"uint32": "std::uint32_t", "fixed32": "std::uint32_t", "uint64": "std::uint64_t", "fixed64": "std::uint64_t",
}

var cppSpecials = map[string]string{"time": "Time", "duration": "Duration", "link": "Link", "matrix": "Matrix", "ndarray": "NDArray", "value": "Value"}

// typeOf returns the type of a shape, which is of a member of o.
func (w *cppWriter) typeOf(s *shape, o *object) string {
	switch s.kind {
	case objects:
		return w.name(s.object)
	case enums:
		return w.name(s.enum)
	case list:
		return "std::vector<" + w.typeOf(s.item, o) + ">"
	case dict:
		return "std::map<" + w.typeOf(s.key, o) + ", " + w.typeOf(s.item, o) + ">"
	case tuple:
		var parts []string
		for _, part := range s.parts {
			parts = append(parts, w.typeOf(part, o))
		}
		return "std::tuple<" + strings.Join(parts, ", ") + ">"
	case optional:
		if s.item.kind == objects && o.pkg != nil && (s.item.object == o || s.item.object.reaches(o, map[*object]bool{})) {
			return "::engram::payload::Box<" + w.typeOf(s.item, o) + ">"
		}
		return "std::optional<" + w.typeOf(s.item, o) + ">"
	case special:
		return "::engram::payload::" + cppSpecials[s.word]
	}
	return cppScalars[s.word]
}

// reaches reports whether an object is made of target, in any way.
func (o *object) reaches(target *object, seen map[*object]bool) bool {
	if o == target {
		return true
	}
	if seen[o] {
		return false
	}
	seen[o] = true
	found := false
	for _, m := range o.all() {
		m.shape.each(func(s *shape) { found = found || s.object != nil && s.object.reaches(target, seen) })
	}
	return found
}

func cppZero(s *shape) string {
	switch {
	case s.kind == enums:
		return "{}"
	case s.kind == scalar && s.word == "bool":
		return " = false"
	case s.kind == scalar && s.word != "string" && s.word != "bytes":
		return " = 0"
	}
	return ""
}
