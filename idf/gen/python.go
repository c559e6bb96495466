package gen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// Names that a member or a class of Python cannot have: keywords, what the classes have,
// and what their modules use.
const pythonWords = `False None True and as assert async await break class continue def del elif else
	except finally for from global if import in is lambda nonlocal not or pass raise return try while with
	TYPE from_payload to_payload
	bool bytes dict float int list str tuple annotations dataclass ClassVar member np npt
	Array Duration Enumeration Image Link NumericType PackedElementField Payload PointCloud Pose Quaternion Time Value Vector3`

// Names that a value of an enumeration cannot have, beside keywords.
const pythonEnumWords = ` mro name value numerator denominator real imag conjugate bit_length bit_count
	to_bytes from_bytes as_integer_ratio keys make is_integer`

// pythonWriter writes the modules of a model.
type pythonWriter struct {
	writer
	modules map[*pkg]string
	names   map[any]string // of objects and enums, in their modules
	taken   map[*pkg]namer
	pkg     *pkg
	used    map[string]bool // what the module takes from the library, numpy and dataclasses
}

// writePython writes a package with a module per namespace.
func writePython(m *model, _ Options) (map[string][]byte, error) {
	p := &pythonWriter{modules: map[*pkg]string{}, names: map[any]string{}, taken: map[*pkg]namer{}}
	files, shorts := words(pythonWords), map[string]int{}
	for _, k := range m.packages {
		name := strings.ReplaceAll(k.name, ".", "_")
		if name == "" {
			name = "messages"
		}
		p.modules[k] = files.free(name)
	}
	for _, k := range m.packages {
		names := words(pythonWords)
		for _, module := range p.modules {
			names[module] = true
		}
		for _, e := range k.enums {
			p.names[e] = names.free(e.short)
			shorts[p.names[e]]++
		}
		for _, o := range k.objects {
			p.names[o] = names.free(o.short)
			shorts[p.names[o]]++
		}
		p.taken[k] = names
	}
	out := map[string][]byte{}
	index := "\"\"\"Classes of types, written by engram gen: do not edit.\"\"\"\n\n"
	for _, k := range m.packages {
		out[p.modules[k]+".py"] = p.module(k, m)
		var names []string
		for _, name := range p.names {
			if shorts[name] == 1 && !strings.HasPrefix(name, "_") && p.has(k, name) {
				names = append(names, fmt.Sprintf("%s as %s", name, name))
			}
		}
		slices.Sort(names)
		if len(names) > 0 {
			index += "from ." + p.modules[k] + " import (\n    " + strings.Join(names, ",\n    ") + ",\n)\n"
		}
	}
	out["__init__.py"] = []byte(index)
	out["py.typed"] = nil
	return out, nil
}

func (p *pythonWriter) has(k *pkg, name string) bool {
	return slices.ContainsFunc(k.enums, func(e *enum) bool { return p.names[e] == name }) ||
		slices.ContainsFunc(k.objects, func(o *object) bool { return p.names[o] == name })
}

func (p *pythonWriter) module(k *pkg, m *model) []byte {
	p.writer, p.pkg, p.used = writer{indent: "    "}, k, map[string]bool{}
	for _, e := range k.enums {
		p.enum(e)
	}
	for _, o := range m.objects { // each after its base
		if o.pkg == k {
			p.object(o)
		}
	}
	body := p.String()
	head := writer{indent: "    "}
	title := k.name
	if title == "" {
		title = "no package"
	}
	head.lines(`"""Types of `+title+`, written by engram gen: do not edit."""`, "", "from __future__ import annotations", "")
	if p.used["dataclass"] {
		head.lines("from dataclasses import dataclass", "from typing import ClassVar", "")
	}
	if p.used["np"] {
		head.line("import numpy as np")
	}
	if p.used["npt"] {
		head.line("import numpy.typing as npt")
	}
	if p.used["np"] || p.used["npt"] {
		head.line("")
	}
	delete(p.used, "dataclass")
	delete(p.used, "np")
	delete(p.used, "npt")
	if len(p.used) > 0 {
		head.line(pythonImport("engram.payload", slices.Sorted(maps.Keys(p.used))))
	}
	if len(k.uses) > 0 {
		var names []string
		for _, u := range k.uses {
			names = append(names, p.modules[u])
		}
		head.lines("", pythonImport(".", names))
	}
	return []byte(head.String() + body)
}

func pythonImport(from string, names []string) string {
	if line := "from " + from + " import " + strings.Join(names, ", "); len(line) <= 88 {
		return line
	}
	return "from " + from + " import (\n    " + strings.Join(names, ",\n    ") + ",\n)"
}

// doc writes a docstring, if there is something to say.
func (p *pythonWriter) doc(text string) {
	lines := wrapped(text, 84-4*p.depth-6)
	if lines == nil {
		return
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(lines[i], `\`, `\\`), `"""`, `\"\"\"`)
	}
	last := len(lines) - 1
	if strings.HasSuffix(lines[last], `"`) && !strings.HasSuffix(lines[last], `\"`) {
		lines[last] = strings.TrimSuffix(lines[last], `"`) + `\"`
	}
	lines[0] = `"""` + lines[0]
	if last == 0 {
		p.line(lines[0] + `"""`)
		return
	}
	p.lines(lines...)
	p.line(`"""`)
}

func (p *pythonWriter) enum(e *enum) {
	p.used["Enumeration"] = true
	names, renamed, keys := words(pythonWords+pythonEnumWords), []string{}, []string{}
	seen := map[string]bool{}
	for _, v := range e.values {
		name := v.key
		if seen[v.key] || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "_") {
			name = "K" + name
		}
		seen[v.key] = true
		name = names.free(name)
		keys = append(keys, name)
		if name != v.key {
			renamed = append(renamed, fmt.Sprintf("%q: %q", name, v.key))
		}
	}
	p.lines("", "")
	option := ""
	if len(renamed) > 0 {
		option = ", keys={" + strings.Join(renamed, ", ") + "}"
	}
	p.line(fmt.Sprintf("class %s(Enumeration, type=%q%s):", p.names[e], e.name, option))
	p.depth++
	if e.doc != "" {
		p.doc(e.doc)
		p.line("")
	}
	for i, v := range e.values {
		p.line(fmt.Sprintf("%s = %d", keys[i], v.number))
		p.doc(v.doc)
	}
	p.depth--
}

func (p *pythonWriter) object(o *object) {
	p.used["dataclass"] = true
	base := "Payload"
	if o.base == nil {
		p.used[base] = true
	} else {
		base = p.reference(o.base.pkg, p.names[o.base])
	}
	p.lines("", "", "@dataclass(kw_only=True, eq=False)", fmt.Sprintf("class %s(%s):", p.names[o], base))
	p.depth++
	if o.doc != "" {
		p.doc(o.doc)
		p.line("")
	}
	p.line(fmt.Sprintf("TYPE: ClassVar[str] = %q", o.name))
	if len(o.members) > 0 {
		p.line("")
	}
	names := maps.Clone(p.taken[p.pkg])
	if o.base != nil {
		for _, m := range o.base.all() {
			names[pythonMember(maps.Clone(p.taken[o.base.pkg]), m.name)] = true
		}
	}
	for _, m := range o.members {
		p.used["member"] = true
		name := pythonMember(names, m.name)
		args := fmt.Sprintf("%d, %q", m.number, m.shape.String())
		if name != m.name {
			args += fmt.Sprintf(", name=%q", m.name)
		}
		if m.unit != "" {
			args += ", unit=" + strconv.Quote(m.unit)
		}
		if m.oneof != "" {
			args += fmt.Sprintf(", oneof=%q", m.oneof)
		}
		line := fmt.Sprintf("%s: %s = member(%s)", name, p.hint(m.shape), args)
		if len(line) <= 84 {
			p.line(line)
		} else {
			p.lines(fmt.Sprintf("%s: %s = member(", name, p.hint(m.shape)), "    "+args, ")")
		}
		p.doc(m.doc)
	}
	p.depth--
}

// pythonMember returns the name of a member's attribute.
func pythonMember(names namer, name string) string {
	if strings.HasPrefix(name, "_") { // the class would have it as its own
		name = "m" + name
	}
	return names.free(name)
}

func (p *pythonWriter) reference(k *pkg, name string) string {
	if k == p.pkg {
		return name
	}
	return p.modules[k] + "." + name
}

var pythonHints = map[string]string{
	"time": "Time", "duration": "Duration", "link": "Link", "value": "Value",
	"bool": "bool", "string": "str", "bytes": "bytes", "float": "float", "double": "float",
}

// hint returns the type hint of a shape.
func (p *pythonWriter) hint(s *shape) string {
	switch s.kind {
	case objects:
		if s.object.library {
			p.used[s.object.short] = true
			return s.object.short
		}
		return p.reference(s.object.pkg, p.names[s.object])
	case enums:
		if s.enum.pkg == nil {
			p.used[s.enum.short] = true
			return s.enum.short
		}
		return p.reference(s.enum.pkg, p.names[s.enum])
	case list:
		return "list[" + p.hint(s.item) + "]"
	case dict:
		return "dict[" + p.hint(s.key) + ", " + p.hint(s.item) + "]"
	case tuple:
		var parts []string
		for _, part := range s.parts {
			parts = append(parts, p.hint(part))
		}
		return "tuple[" + strings.Join(parts, ", ") + "]"
	case optional:
		return p.hint(s.item) + " | None"
	case special:
		if s.word == "matrix" || s.word == "ndarray" {
			if t := s.limits.GetDtype(); t != idfv1.DType_DTYPE_UNSPECIFIED {
				p.used["np"], p.used["npt"] = true, true
				return "npt.NDArray[np." + strings.ToLower(t.String()) + "]"
			}
			p.used["Array"] = true
			return "Array"
		}
		p.used[pythonHints[s.word]] = true
		return pythonHints[s.word]
	}
	if hint := pythonHints[s.word]; hint != "" {
		return hint
	}
	return "int"
}
